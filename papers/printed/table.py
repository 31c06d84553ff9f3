"""The table printed / ours / verdict, as CSV.

python -m papers.printed.table
"""

from __future__ import annotations

import csv
from pathlib import Path

from papers.printed import ROWS, Row

ALL = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "printed.csv"
HEAD = ("paper", "where", "what", "printed", "ours", "verdict")


def line(row: Row) -> tuple[str, ...]:
    """A row of the CSV, ours computed."""
    return (row.paper, row.where, row.what, row.printed, *row.make())


def main() -> None:
    """Compute all rows, and write them."""
    lines = [line(row) for row in ROWS]
    with ALL.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD, *lines])


if __name__ == "__main__":
    main()
