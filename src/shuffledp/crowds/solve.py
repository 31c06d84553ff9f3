"""The label-stealing bound of a crowd as a curve, and the largest lower end of a few data sets."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shuffledp.crowds.case import Choice, CrowdCase, Others
from shuffledp.crowds.rows import Table
from shuffledp.crowds.steps import Kind, Steps
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.stealing.positive_sum import Contour
from shuffledp.stealing.proposal import served

U = UNIT_ROUNDOFF
# Where log delta is guessed to be before anything is known, rounds of guessing, and the deepest.
_GUESS, _GUESSES, _DEEPEST = -20.0, 3, -1500.0
# eps is looked for from here on, in so many steps, until log delta is so near to the target.
_SMALLEST, _STEPS, _NEAR = 1e-9, 40, 1e-4
# Data sets that are tried for a lower end, of each victim's pair.
_MOST_SETS = 64


class Certified(NamedTuple):
    """A certified bound, and the free numbers of every pair that reproduce it.

    Attributes
    ----------
    epsilon, log_delta : float
        log delta(epsilon) <= log_delta.
    which : int
        The pair whose bound is the largest.
    numbers : tuple of (Choice, Contour)
        One for each pair.
    """

    epsilon: float
    log_delta: float
    which: int
    numbers: tuple[tuple[Choice, Contour], ...]


class Curve:
    """Upper bounds for a member of one group.

    Parameters
    ----------
    table : Table
        All groups' laws.
    counts : sequence of int
        Users of each group, the victim included.
    victim : int
        The victim's group.
    """

    def __init__(self, table: Table, counts: Sequence[int], victim: int) -> None:
        self.pairs = table.pairs[victim]
        rows = table.members[victim].rows
        others = tuple(
            Others(count - (k == victim), member.rows, member.blanket)
            for k, (count, member) in enumerate(zip(counts, table.members, strict=True))
            if count > (k == victim)
        )
        self.cases = [
            CrowdCase(rows[[x0, x1]], others, table.rel, table.ties)
            for x0, x1 in self.pairs
            if others
        ]

    def log_delta(self, epsilon: float, guess: float | None = None) -> Certified | None:
        """Upper bound at this eps > 0; None where no reservoir is large enough.

        Parameters
        ----------
        epsilon : float
            In nats.
        guess : float, optional
            About log delta, where that is known.
        """
        if not self.cases:
            return None
        found = []
        for case in self.cases:
            propose = functools.partial(case.propose, epsilon)
            about, proposal = served(propose, _GUESS if guess is None else guess)
            for _ in range(1, _GUESSES if guess is None else 1):
                if proposal is not None:
                    about = max(min(proposal.log_delta, -0.1), _DEEPEST)
                    about, proposal = served(propose, about)
            if proposal is None:
                return None
            value = case.log_bound(epsilon, proposal.choice, proposal.contour)
            found.append((value, proposal.choice, proposal.contour))
        which = max(range(len(found)), key=lambda i: found[i][0])
        numbers = tuple((choice, contour) for _, choice, contour in found)
        return Certified(epsilon, min(found[which][0], 0.0), which, numbers)

    def epsilon(self, log_target: float, *, cap: float) -> Certified | None:
        """An eps below ``cap`` that was evaluated, with a bound of at most the target.

        Parameters
        ----------
        log_target : float
            log of the target delta.
        cap : float
            eps by the local guarantee.
        """
        slack = 4 * U * (1.0 + abs(log_target))
        best: Certified | None = None

        def gap(epsilon: float) -> float:
            nonlocal best
            found = self.log_delta(epsilon, log_target)
            if found is None:
                return math.inf
            missing = found.log_delta - (log_target - slack)
            if missing <= 0.0 and (best is None or epsilon < best.epsilon):
                best = found
            return missing

        crossing(gap, _SMALLEST, min(cap, 40.0))
        return best


def crossing(gap: Callable[[float], float], low: float, high: float) -> None:
    """Evaluate a falling function of eps on the way to its sign change: secants in log eps.

    It may be infinite, on both sides: nothing is known there.
    """
    top = gap(high)
    while top > 0.0:
        # Infinite: too little is hidden to be known; farther down it may be.
        if math.isfinite(top) or high <= low:
            return
        high *= 0.5
        top = gap(high)
    bottom = math.inf
    for step in range(_STEPS):
        if -_NEAR <= top <= 0.0 or high <= low * (1.0 + 1e-9):
            return
        middle = math.sqrt(low * high) if high > 4.0 * low else 0.5 * (low + high)
        if math.isfinite(bottom) and step % 3:
            share = bottom / (bottom - top + 0.5 * _NEAR)
            middle = low * (high / low) ** min(max(share, 0.02), 0.98)
        value = gap(middle)
        if value > 0.0:
            low, bottom = middle, value
        else:
            high, top = middle, value


@dataclass(frozen=True, eq=False)
class DataSet:
    """One data set of a crowd, seen through steps: what was looked at, and in words."""

    steps: Steps
    x0: Any
    x1: Any
    others: tuple[tuple[Any, int], ...]


def data_sets(table: Table, counts: Sequence[int], victim: int) -> list[DataSet]:
    """For every pair: all others of a group hold one input, by all choices of these.

    Outputs count as 1 where the victim's first law is the larger, as -1 where the second is.
    """
    rows = table.members[victim].rows
    found = []
    for x0, x1 in table.pairs[victim]:
        signs = np.sign(rows[x0] - rows[x1])
        if signs.size == 2:
            # Two outputs: one bit, so that every sum is possible.
            signs = np.maximum(signs, 0.0)
        kinds = [range(len(member.rows)) for member in table.members]
        found += [
            _data_set(table, counts, victim, (x0, x1), held, signs)
            for held in itertools.islice(itertools.product(*kinds), _MOST_SETS)
        ]
    return found


def _data_set(
    table: Table,
    counts: Sequence[int],
    victim: int,
    pair: tuple[int, int],
    held: tuple[int, ...],
    signs: Array,
) -> DataSet:
    kinds, words = [], []
    for k, (count, member) in enumerate(zip(counts, table.members, strict=True)):
        size = count - (k == victim)
        words.append((member.inputs[held[k]], size))
        if size:
            kinds.append(Kind(size, _step(member.rows[held[k]], signs)))
    own = table.members[victim]
    first, second = (_step(own.rows[x], signs) for x in pair)
    steps = Steps(first, second, tuple(kinds), table.rel + own.rows.shape[1] * U)
    return DataSet(steps, own.inputs[pair[0]], own.inputs[pair[1]], tuple(words))


def _step(row: Array, signs: Array) -> tuple[float, float, float]:
    """P(-1), P(0), P(1)."""
    down, stay, up = (math.fsum(row[signs == f]) for f in (-1.0, 0.0, 1.0))
    return down, stay, up


class Lower(NamedTuple):
    """The largest lower end of some data sets."""

    value: float
    which: DataSet | None


def lower_log_delta(sets: Sequence[DataSet], epsilon: float) -> Lower:
    """The largest lower bound of log delta at this eps."""
    best = Lower(-math.inf, None)
    for one in sets:
        value = one.steps.log_delta(epsilon)
        if value > best.value:
            best = Lower(value, one)
    return best


def lower_epsilon(sets: Sequence[DataSet], log_target: float, *, cap: float) -> Lower:
    """The largest eps that was evaluated with delta of at least the target; 0 if there is none."""
    slack = 4 * U * (1.0 + abs(log_target))
    best = Lower(0.0, None)
    for one in sets:
        at = max(best.value, _SMALLEST)
        if one.steps.log_delta(at) < log_target + slack:
            continue
        low, high = at, min(cap, 40.0)
        while high > low * (1.0 + 1e-9):
            middle = math.sqrt(low * high) if high > 4.0 * low else 0.5 * (low + high)
            if not low < middle < high:
                break
            if one.steps.log_delta(middle) >= log_target + slack:
                low = middle
            else:
                high = middle
        best = Lower(low, one)
    return best
