"""What every engine does with a batch, and what it hands back: engines differ in nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.estimates import Aggregate
from shuffledp.protocol.columns import Column
from shuffledp.randomizers import Randomizer, randomizer_from_dict
from shuffledp.randomness import RandomSource, SeededSource, SystemSource

# Rows of a block: a simulation's random stream belongs to a block, whoever works on it.
BLOCK_ROWS = 1 << 16
_LARGEST_EXACT = 2.0**53


@dataclass(frozen=True)
class Outcome:
    """Sums over reports, and how many rows gave none; outcomes of disjoint blocks add up.

    Whole-number sums are added; others are kept block by block and added exactly rounded at the
    end, so that the result does not depend on who added what first.

    Attributes
    ----------
    count : int
        Reports.
    whole : ndarray or None
        Sums that are whole numbers (support counts).
    parts : tuple of ndarray
        Sums that are not, one entry a block.
    nulls, outside : int
        Rows left out by the column's policies.
    """

    count: int = 0
    whole: np.ndarray | None = None
    parts: tuple[np.ndarray, ...] = ()
    nulls: int = 0
    outside: int = 0

    @staticmethod
    def of(aggregate: Aggregate, *, nulls: int = 0, outside: int = 0) -> Outcome:
        """The outcome of one block."""
        sums = np.asarray(aggregate.sums, dtype=np.float64)
        exact = bool(np.all((sums == np.floor(sums)) & (np.abs(sums) < _LARGEST_EXACT)))
        whole, parts = (sums, ()) if exact else (None, (sums,))
        return Outcome(aggregate.count, whole, parts, nulls, outside)

    def __add__(self, other: Outcome) -> Outcome:
        whole = self.whole if other.whole is None else other.whole
        if self.whole is not None and other.whole is not None:
            whole = self.whole + other.whole
        return Outcome(
            self.count + other.count,
            whole,
            (*self.parts, *other.parts),
            self.nulls + other.nulls,
            self.outside + other.outside,
        )

    def aggregate(self) -> Aggregate:
        """All sums; ParameterError where there was no report."""
        parts = list(self.parts) if self.whole is None else [*self.parts, self.whole]
        if not parts:
            raise rejected("input", "0 rows", "at least one row with a value")
        if len(parts) == 1:
            return Aggregate(self.count, parts[0])
        stacked = np.stack(parts).reshape(len(parts), -1)
        total = np.array([math.fsum(column) for column in stacked.T])
        return Aggregate(self.count, total.reshape(parts[0].shape))


@dataclass(frozen=True)
class Job:
    """Randomize a column: mechanism, column, and for a simulation a seed.

    Parameters
    ----------
    randomizer : dict
        ``Randomizer.to_dict()``; a job has to travel to other processes.
    column : Column
        What to read, and what to do with values outside the domain.
    seed : int, optional
        Simulation only. None: randomness from the operating system.
    """

    randomizer: dict[str, Any]
    column: Column
    seed: int | None = None
    _made: dict[str, Randomizer] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seed is not None:
            _check.count("seed", self.seed, low=0, high=2**63 - 1)
        self.column.check(self.mechanism)

    @property
    def mechanism(self) -> Randomizer:
        """The randomizer itself."""
        if "made" not in self._made:
            self._made["made"] = randomizer_from_dict(self.randomizer)
        return self._made["made"]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Job, (self.randomizer, self.column, self.seed))

    def source(self, block: int) -> RandomSource:
        """Random numbers of one block: the system's, or the seed's stream of that number."""
        if self.seed is None:
            return SystemSource()
        return SeededSource(self.seed, stream=block)

    def reports(self, rows: pa.Array, block: int) -> tuple[np.ndarray, Outcome]:
        """Reports of a block of rows, and what was left out (count and sums are not in yet)."""
        encoded = self.column.encode(rows, self.mechanism)
        reports = self.mechanism.randomize_with(encoded.values, self.source(block))
        return reports, Outcome(nulls=encoded.nulls, outside=encoded.outside)

    def outcome(self, reports: np.ndarray) -> Outcome:
        """Sums over reports."""
        return Outcome.of(self.mechanism.aggregate(reports))


def in_blocks(arrays: Iterator[pa.Array], rows: int = BLOCK_ROWS) -> Iterator[pa.Array]:
    """Re-cut a stream of arrays into blocks of exactly so many rows, the last one shorter."""
    held: list[pa.Array] = []
    count = 0
    for array in arrays:
        start = 0
        while len(array) - start:
            take = min(rows - count, len(array) - start)
            held.append(array.slice(start, take))
            count, start = count + take, start + take
            if count == rows:
                yield pa.concat_arrays(held)
                held, count = [], 0
    if held:
        yield pa.concat_arrays(held)
