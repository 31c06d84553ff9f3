"""Times of what the analyst may see otherwise: sums, noise on them, crowds, shufflers, batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import shuffledp as sd
from bench import cases
from bench.timing import Cell, measure

Asked = Callable[[], Any]


def asked() -> dict[str, Asked]:
    """What is timed, by its name in the table: one eps with both ends, from a fresh object."""
    bit, items = sd.BinaryRR(eps0=2.0), sd.RAPPOR(d=10, eps0=6.0)
    laplace = sd.AddedNoise(kind="discrete-laplace", scale=4.0)
    normal = sd.AddedNoise(kind="discrete-gaussian", scale=20.0)
    tiers = [(sd.BinaryRR(eps0=1.0), 5_000), (sd.BinaryRR(eps0=4.0), 5_000)]
    shuffler = sd.Shuffler(distance=1e-9, shards=4)

    def sums(mechanism: sd.Randomizer, n: int, **more: Any) -> Asked:
        return lambda: sd.shuffle(mechanism, n, view="sums", **more).epsilon(delta=cases.DELTA)

    return {
        "sums, one bit, n = 10,000": sums(bit, 10_000),
        "sums, rappor (10 bits), n = 5,000": sums(items, 5_000),
        "the same as messages": lambda: sd.shuffle(items, 5_000).epsilon(delta=cases.DELTA),
        "sums, one bit, discrete Laplace noise added, n = 10,000": sums(bit, 10_000, added=laplace),
        "sums, one bit, discrete Gaussian noise added, n = 10,000": sums(bit, 10_000, added=normal),
        "sums, rappor, discrete Laplace noise added, n = 1,000": sums(items, 1_000, added=laplace),
        "sums, one bit, 5 users at once, n = 1,000": sums(bit, 1_000, changed=5),
        "least discrete Laplace noise for a target, one bit, n = 200": lambda: sd.calibrate(
            lambda scale: sd.shuffle(
                bit,
                200,
                view="sums",
                added=sd.AddedNoise(kind="discrete-laplace", scale=scale),
            ),
            epsilon=0.5,
            delta=cases.DELTA,
            find="smallest",
            low=0.05,
            high=2000.0,
        ),
        "a crowd of two groups, n = 10,000": lambda: sd.shuffle(groups=tiers).epsilon(
            delta=cases.DELTA
        ),
        "four shards, order within 1e-9, k-rr, n = 10,000": lambda: sd.shuffle(
            sd.KRR(k=10, eps0=4.0), 10_000, shuffler=shuffler
        ).epsilon(delta=cases.DELTA),
        "DP-SGD, balls-and-bins, 100 batches": lambda: sd.sgd(
            sampler="balls-and-bins",
            n=10_000,
            batch=100,
            noise=1.0,
            clip=1.0,
            epochs=10,
            delta=cases.DELTA,
        ),
    }


def report(*, given: Mapping[str, Asked] | None = None, limit: float, budget: float) -> str:
    """The table, in Markdown.

    Parameters
    ----------
    given : mapping, optional
        What to time; all of it by default.
    limit, budget : float
        CPU seconds for one and for all of them.
    """
    cells = {name: Cell(run) for name, run in (asked() if given is None else given).items()}
    measure(cells, rounds=3, limit=limit, budget=budget)
    lines = ["## Sums, crowds, shufflers, batches", "", "| | found | seconds |", "|---|--:|--:|"]
    for name, cell in cells.items():
        if cell.median is None:
            lines.append(f"| {name} | {cell.failure} | |")
        else:
            lines.append(f"| {name} | {_found(cell.result)} | {cell.median:.2f} |")
    return "\n".join(lines)


def _found(result: Any) -> str:
    if isinstance(result, sd.Calibration):
        return f"{result.what} = {result.value:.4g}"
    # Of training the bound is one of several numbers.
    result = getattr(result, "bound", result)
    return f"eps {result.lower:.4g} to {result.upper:.4g}"
