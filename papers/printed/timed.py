"""CPU seconds that were measured once: a table beside the pictures, which tests do not make again.

python -m papers.printed.timed
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import shuffledp as sd

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "printed_times.csv"
LOCAL, USERS = (1.0, 3.0, 5.0, 7.0), (10**4, 10**6, 10**8)  # of Wang et al., Table 5


@cache
def _table() -> dict[str, float]:
    with MEASURED.open(encoding="utf-8") as file:
        return {row["key"]: float(row["seconds"]) for row in csv.DictReader(file)}


def seconds_of(key: str) -> float:
    """CPU seconds of one thread, as they were measured."""
    return _table()[key]


def measure() -> None:
    """Measure all of them again."""
    asked: dict[str, Callable[[], object]] = {
        f"generic-{eps0:g}-{n}": lambda e=eps0, n=n: sd.generic(eps0=e, n=n).epsilon(delta=0.01 / n)
        for eps0 in LOCAL
        for n in USERS
    }
    asked["clone"] = lambda: sd.generic(eps0=3.0, n=10**6).epsilon(delta=1e-8, analysis="clone")
    asked["curve"] = lambda: [
        sd.shuffle(sd.KRR(k=10, eps0=4.0), n=int(n)).epsilon(delta=1e-6)
        for n in np.geomspace(1e3, 1e6, 20)
    ]
    with MEASURED.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["key", "seconds"])
        for key, run in asked.items():
            started = time.process_time()
            run()
            out.writerow([key, f"{time.process_time() - started:.3g}"])


if __name__ == "__main__":
    measure()
