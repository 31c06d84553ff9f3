"""Reports a second: every mechanism's sampler against the random words it draws, and the stages.

The yardstick is the time of drawing the same random words, in the same calls, and throwing them
away: less work a sampler with these draws cannot do.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shuffledp as sd
from bench import cases
from bench.engine import table
from bench.timing import SLOW
from shuffledp.randomness import RandomSource, SeededSource, SystemSource, Words

USERS, MANY = 10**6, 10**7
# Vectors of 100 floats: a tenth as many.
FEWER = {"privunit": 10**5}
RUNS = 3

HEAD = """\
## Reports a second

CPU time, median of {runs} run(s), one where that took longer than {slow:g} s. `words`: 64-bit words
drawn for a report. `over the words`: time over that of drawing these words alone, from the
operating system (what `randomize` does) and from NumPy's Philox (`simulate`).
"""
STAGES = "\n## Stages, {many:,} reports of k-RR with k = 100, eps0 = 4\n"


class Counting(RandomSource):
    """A source that notes how many words were asked for, call by call."""

    def __init__(self, inner: RandomSource) -> None:
        self._inner = inner
        self.calls: list[int] = []

    def words(self, size: int) -> Words:
        """Words of the inner source."""
        self.calls.append(size)
        return self._inner.words(size)


def report(*, runs: int = RUNS, users: int = USERS, many: int = MANY) -> str:
    """Both tables."""
    rows = [["mechanism", "n", "words", "randomize", "over the words", "simulate",
             "over the words", "aggregate"]]  # fmt: skip
    rows += [mechanism("k-rr", sd.KRR(k=100, eps0=cases.EPS0), many, runs)]
    for name, randomizer in cases.tabulated().items():
        rows.append(mechanism(name, randomizer, min(users, FEWER.get(name, users)), runs))
    return "\n".join(
        [
            HEAD.format(runs=runs, slow=SLOW),
            table(rows),
            STAGES.format(many=many),
            table([["stage", "reports a second", "seconds"], *stages(many, runs)]),
        ]
    )


def mechanism(name: str, randomizer: sd.Randomizer, n: int, runs: int) -> list[str]:
    """A row: reports a second of one mechanism."""
    values = inputs(randomizer, n)
    row = [name, f"{n:.0e}".replace("e+0", "e")]
    for kind in (SystemSource, lambda: SeededSource(0)):
        counting = Counting(kind())
        reports = randomizer.randomize_with(values, counting)
        whole = seconds(lambda kind=kind: randomizer.randomize_with(values, kind()), runs)
        alone = seconds(lambda kind=kind, calls=counting.calls: replay(kind(), calls), runs)
        if len(row) == 2:
            row.append(f"{sum(counting.calls) / n:.3g}")
        row += [rate(n, whole), f"{whole / alone:.2f}" if sum(counting.calls) else "-"]
    try:
        row.append(rate(n, seconds(lambda: randomizer.aggregate(reports), runs)))
    except sd.NotCertified:
        row.append("-")
    return row


def inputs(randomizer: sd.Randomizer, n: int) -> np.ndarray:
    """Values of n users: items, sets of items, unit vectors or numbers."""
    rng = np.random.default_rng(0)
    if isinstance(randomizer, sd.PrivUnit | sd.GaussianBall | sd.LaplaceBall):
        rows = rng.normal(size=(n, randomizer.d))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if isinstance(randomizer, sd.PCKVGRR):
        keys = rng.integers(0, randomizer.domain, (n, 1)) + np.arange(randomizer.s)
        return np.stack([keys % randomizer.domain, rng.uniform(-1, 1, keys.shape)], axis=2)
    width = getattr(randomizer, "s", 0)
    size = len(randomizer.matrix) if isinstance(randomizer, sd.Channel) else None
    size = getattr(randomizer, "items", size)
    if size is None:
        low, high = (float(getattr(randomizer, end)) for end in ("low", "high"))
        binary = getattr(randomizer, "binary", False)
        return rng.integers(0, 2, n) * 1.0 if binary else rng.uniform(low, high, n)
    if width:
        first = rng.integers(0, size, (n, 1))
        return (first + np.arange(width)) % size
    return rng.integers(0, size, n)


def replay(source: RandomSource, calls: list[int]) -> None:
    """The same draws and nothing else."""
    for size in calls:
        source.words(size)


def stages(many: int, runs: int) -> list[list[str]]:
    """Shuffle in memory and out of core, aggregate, and all of it from a Parquet file."""
    from shuffledp.protocol import Column, Job, Shuffler, shuffle_reports
    from shuffledp.protocol.engines import DuckEngine, Settings

    randomizer = sd.KRR(k=100, eps0=cases.EPS0)
    values = inputs(randomizer, many)
    reports = randomizer.randomize(values)

    def out_of_core() -> None:
        with Shuffler(memory=64 << 20) as shuffler:
            for part in np.array_split(reports, max(1, many >> 16)):
                shuffler.add(part)
            for _ in shuffler.batches():
                pass

    rows = [
        stage("the system's words, one a report", many, lambda: SystemSource().words(many), runs),
        stage("randomize", many, lambda: randomizer.randomize(values), runs),
        stage("shuffle in memory", many, lambda: shuffle_reports(reports), 1),
        stage("shuffle out of core, 64 MB", many, out_of_core, 1),
        stage("aggregate", many, lambda: randomizer.aggregate(reports), runs),
    ]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "values.parquet"
        parquet(path, values)
        job = Job(randomizer.to_dict(), Column(name="value"))
        started = time.perf_counter()
        rows.append(
            stage(
                "DuckDB: Parquet to estimates",
                many,
                lambda: DuckEngine(path).run(job, Settings(spill=Path(place))),
                1,
            )
        )
        wall = time.perf_counter() - started
        rows.append(["  the same by the clock", *_row(many, wall)])
    return rows


def parquet(path: Path, values: np.ndarray) -> None:
    """A file of one column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"value": values}), path)


def stage(name: str, n: int, run: Callable[[], Any], runs: int) -> list[str]:
    """A row of the second table."""
    return [name, *_row(n, seconds(run, runs))]


def _row(n: int, spent: float) -> list[str]:
    return [rate(n, spent), f"{spent:.2f}"]


def seconds(run: Callable[[], Any], runs: int) -> float:
    """Median CPU time; one run is enough where that is long."""
    spent = []
    while len(spent) < runs and not (spent and spent[0] > SLOW):
        started = time.process_time()
        run()
        spent.append(time.process_time() - started)
    return statistics.median(spent)


def rate(n: int, spent: float) -> str:
    """Reports a second."""
    return f"{n / max(spent, 1e-9):.2g}".replace("e+0", "e")
