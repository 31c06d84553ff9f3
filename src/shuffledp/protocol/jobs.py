"""What every engine does with a batch, and what it hands back: engines differ in nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
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
    children : tuple of Outcome
        Where a report has parts, or is one of them: those of the parts, in place of sums.
    users : int
        Users who reported, one row each; other than ``count`` where a user sends several messages.
    repeated : int
        Rows left out because an earlier one is of the same user.
    """

    count: int = 0
    whole: np.ndarray | None = None
    parts: tuple[np.ndarray, ...] = ()
    nulls: int = 0
    outside: int = 0
    children: tuple[Outcome, ...] = ()
    users: int = 0
    repeated: int = 0

    @staticmethod
    def of(aggregate: Aggregate) -> Outcome:
        """The outcome of one block."""
        if isinstance(aggregate, PartsAggregate):
            children = tuple(Outcome.of(part) for part in aggregate.parts)
            return Outcome(aggregate.count, children=children)
        sums = np.asarray(aggregate.sums, dtype=np.float64)
        exact = bool(np.all((sums == np.floor(sums)) & (np.abs(sums) < _LARGEST_EXACT)))
        whole, parts = (sums, ()) if exact else (None, (sums,))
        return Outcome(aggregate.count, whole, parts)

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
            _added(self.children, other.children),
            self.users + other.users,
            self.repeated + other.repeated,
        )

    def aggregate(self) -> Aggregate:
        """All sums; ParameterError where there was no report."""
        if self.children:
            return joined(self.count, [child.aggregate() for child in self.children])
        parts = list(self.parts) if self.whole is None else [*self.parts, self.whole]
        if not parts:
            raise rejected("input", "0 rows", "at least one row with a value")
        if len(parts) == 1:
            return Aggregate(self.count, parts[0])
        stacked = np.stack(parts).reshape(len(parts), -1)
        total = np.array([math.fsum(column) for column in stacked.T])
        return Aggregate(self.count, total.reshape(parts[0].shape))


def _added(left: tuple[Outcome, ...], right: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    if left and right:
        return tuple(x + y for x, y in zip(left, right, strict=True))
    return left or right


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
        encoded = self.column.encode(rows, self.mechanism, before=before)
        users = len(encoded.values)
        reports = self.mechanism.randomize_with(encoded.values, self.source(block))
        return reports, Outcome(nulls=encoded.nulls, outside=encoded.outside, users=users)

    def outcome(self, reports: np.ndarray) -> Outcome:
        """Sums over reports; of a prefix tree only how many there are."""
        if self.question is None:
            return Outcome(len(reports), np.zeros(1))
        return Outcome.of(self.question.sums(reports))


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
