"""Seconds that were measured once: a table beside the pictures, which tests do not make again.

python -m papers.printed_numbers --measure
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import shuffledp as sd
from papers.printed.algorithms import clone_delta, halved_epsilon
from papers.printed.items import TABLE_5

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "printed_times.csv"
CURVE = 20  # points of a curve


@cache
def _table() -> dict[str, float]:
    with MEASURED.open(encoding="utf-8") as file:
        return {row["key"]: float(row["seconds"]) for row in csv.DictReader(file)}


def seconds_of(key: str) -> float:
    """CPU seconds of one thread, as they were measured."""
    return _table()[key]


def measure(path: Path) -> Path:
    """Measure all of them again."""
    found: dict[str, float] = {}
    for eps0, n in TABLE_5:
        once = _timed(lambda e=eps0, n=n: sd.generic(eps0=e, n=n).epsilon(delta=0.01 / n))
        found[f"vr-table5-{eps0:g}-{n}"] = once
    found["clone-sums"] = _timed(lambda: _by_sums(3.0, 10**6))
    found["clone-contour"] = _timed(
        lambda: sd.generic(eps0=3.0, n=10**6).epsilon(delta=1e-8, analysis="clone")
    )
    found["curve"] = _timed(_curve)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["key", "seconds"])
        out.writerows((key, f"{value:.3g}") for key, value in found.items())
    return path


def _by_sums(eps0: float, n: int) -> float:
    """The clone's binomial sums in 20 halvings, without the short cuts of its authors."""
    return halved_epsilon(lambda e: clone_delta(math.exp(-eps0), eps0, n, e), 1e-8, cap=eps0)


def _curve() -> None:
    """eps of 10-RR at eps0 = 4 over n, both ends."""
    for k in range(CURVE):
        n = round(10 ** (3 + 3 * k / (CURVE - 1)))
        sd.shuffle(sd.KRR(k=10, eps0=4.0), n=n).epsilon(delta=1e-6)


def _timed(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return max(time.process_time() - started, 1e-6)


if __name__ == "__main__":
    print(measure(MEASURED))
