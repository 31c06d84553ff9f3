"""What every engine does with a batch, and what it hands back: engines differ in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.mechanism.base import mechanism_from_dict
from shuffledp.multimessage import MultiMessage
from shuffledp.protocol.questions import Asked, Question, question
from shuffledp.protocol.records import Values
from shuffledp.randomizers import Randomizer
from shuffledp.randomness import RandomSource, SeededSource, SystemSource
from shuffledp.statistics.estimates import Aggregate, PartsAggregate, joined

# Rows of a block: a simulation's random stream belongs to a block, whoever works on it.
BLOCK_ROWS = 1 << 16
# The stream of an aggregator's noise in a simulation: no block has that number.
AGGREGATOR = 2**62
# Whole numbers of a block up to here are added as 64-bit ones: a million blocks cannot overflow.
_LARGEST_WHOLE = 2.0**43


@dataclass(frozen=True)
class Outcome:
    """Exact sums over reports, and how many rows gave none; outcomes of disjoint blocks add up.

    Attributes
    ----------
    sums : Aggregate or None
        As whole numbers or fractions: what comes out does not depend on who added what first.
    nulls, outside : int
        Rows left out by the column's policies.
    users : int
        Users who reported, one row each; other than reports where a user sends several messages.
    repeated : int
        Rows left out because an earlier one is of the same user.
    """

    sums: Aggregate | None = None
    nulls: int = 0
    outside: int = 0
    users: int = 0
    repeated: int = 0

    @staticmethod
    def of(aggregate: Aggregate) -> Outcome:
        """The outcome of one block."""
        return Outcome(_each(_exact, aggregate))

    def __add__(self, other: Outcome) -> Outcome:
        sums = self.sums or other.sums
        if self.sums is not None and other.sums is not None:
            sums = self.sums + other.sums
        return Outcome(
            sums,
            self.nulls + other.nulls,
            self.outside + other.outside,
            self.users + other.users,
            self.repeated + other.repeated,
        )

    @property
    def count(self) -> int:
        """Reports."""
        return 0 if self.sums is None else self.sums.count

    def aggregate(self) -> Aggregate:
        """All sums, each rounded once; ParameterError where there was no report."""
        if self.sums is None:
            raise rejected("input", "0 rows", "at least one row with a value")
        return _each(lambda sums: np.asarray(sums, dtype=np.float64), self.sums)


def _each(change: Callable[[np.ndarray], np.ndarray], aggregate: Aggregate) -> Aggregate:
    """The aggregate with other sums, those of its parts if it has some."""
    if isinstance(aggregate, PartsAggregate):
        return joined(aggregate.count, [_each(change, part) for part in aggregate.parts])
    return Aggregate(aggregate.count, change(np.asarray(aggregate.sums)))


def _exact(sums: np.ndarray) -> np.ndarray:
    """Whole numbers as such, others as fractions: both add up without rounding."""
    if bool(np.all((sums == np.floor(sums)) & (np.abs(sums) < _LARGEST_WHOLE))):
        return sums.astype(np.int64)
    fractions = [Fraction(float(value)) for value in sums.flat]
    return np.array(fractions, dtype=object).reshape(sums.shape)


Mechanism = Randomizer | MultiMessage


def mechanism_of(description: dict[str, Any]) -> Mechanism:
    """A randomizer or a multi-message protocol from its table."""
    return mechanism_from_dict(description)  # type: ignore[return-value]


@dataclass(frozen=True)
class Job:
    """Randomize a column: mechanism, column, and for a simulation a seed.

    Parameters
    ----------
    randomizer : dict
        ``Randomizer.to_dict()``; a job has to travel to other processes.
    column : Column or Record
        What to read, and what to do with values outside the domain.
    seed : int, optional
        Simulation only. None: randomness from the operating system.
    asked : Asked
        What the reports are summed for.
    unit : str, optional
        Column that names the user: of every user the first row is used.
    """

    randomizer: dict[str, Any]
    column: Values
    seed: int | None = None
    asked: Asked = field(default_factory=Asked)
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.seed is not None:
            _check.count("seed", self.seed, low=0, high=2**63 - 1)
        self.column.check(self.mechanism)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The randomizer, or the protocol, itself."""
        return mechanism_of(self.randomizer)

    @cached_property
    def question(self) -> Question | None:
        """From reports to an answer; None of a prefix tree, which reads reports again and again."""
        if self.column.spelling is not None:
            return None
        return question(self.mechanism, self.column, self.asked)

    def __reduce__(self) -> tuple[Any, ...]:
        # What was made of it stays here: not every mechanism can be sent.
        return Job, (self.randomizer, self.column, self.seed, self.asked, self.unit)

    def source(self, block: int) -> RandomSource:
        """Random numbers of one block: the system's, or the seed's stream of that number."""
        if self.seed is None:
            return SystemSource()
        return SeededSource(self.seed, stream=block)

    def reports(
        self, rows: pa.Array, block: int, *, counted: bool = True
    ) -> tuple[np.ndarray, Outcome]:
        """Reports of a block of rows, and what was left out (count and sums are not in yet).

        Not ``counted``: the rows are some of the table's, nobody knows which.
        """
        before = block * BLOCK_ROWS if counted else None
        found = self.column.encode(rows, self.mechanism, before=before)
        reports = self.mechanism.randomize_with(found.inputs, self.source(block))
        nulls, outside = (int(np.count_nonzero(x)) for x in (found.nulls, found.outside))
        return reports, Outcome(nulls=nulls, outside=outside, users=len(found.inputs))

    def outcome(self, reports: np.ndarray) -> Outcome:
        """Sums over reports; of a prefix tree only how many there are."""
        if self.question is None:
            return Outcome(Aggregate(len(reports), np.zeros(1)))
        return Outcome.of(self.question.sums(reports))


def in_blocks(arrays: Iterator[pa.Array], rows: int = BLOCK_ROWS) -> Iterator[pa.Array]:
    """Re-cut a stream of arrays into blocks of exactly this many rows, the last one shorter."""
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
