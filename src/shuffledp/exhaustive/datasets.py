"""All data sets of few users, as counts over inputs, and the law of the histogram under each.

A data set of m users is a vector of counts over the inputs. The law of its reports' histogram is
that of the data set without one of its users of the last input that it holds, convolved with that
input's row: sums of products of positive numbers, so that every probability is known up to a
relative error. Where inputs are exchangeable the victim's are the first two, and only one of all
ways to hold the other inputs is kept: that with falling counts.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.exhaustive.counts import Whole, how_many, one_less, places, vectors
from shuffledp.exhaustive.statistic import Statistic
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
# What underflow may lose of a probability: n times the outputs times less than 1e-303, the least
# that laws keep their bits for (``randomizers.discrete``), and far below any delta that counts.
LEAST = 1e-296
# Multiplications, of laws and of divergences at one eps: about two seconds; numbers kept, 64 MB.
MOST_WORK, MOST_KEPT = 300_000_000, 4_000_000
# The work that is quick: a tenth of a second.
QUICK_WORK = 24_000_000


# Data sets or histograms that are listed one by one.
_MOST_LISTED = 1_000_000
# Passes over all numbers of a pair for its divergence, in units of a multiplication of a law.
_PASSES = 4
# Two inputs and two outputs of so many users are ``MOST_KEPT`` numbers.
MOST_USERS = 2_000
# Of exchangeable inputs the first two are the victim's.
_VICTIMS = 2


class Cost(NamedTuple):
    """How much work there is, by counting.

    Attributes
    ----------
    datasets : int
        Of all users, as counts over inputs.
    histograms : int
        Count vectors of their reports.
    pairs : int
        Neighbouring data sets, in both orders.
    work : int
        Multiplications for all laws and for all divergences at one eps.
    """

    datasets: int
    histograms: int
    pairs: int
    work: int

    @property
    def feasible(self) -> bool:
        """Whether it is done at all."""
        few = max(self.datasets, self.histograms) <= _MOST_LISTED
        return few and self.work <= MOST_WORK and self.datasets * self.histograms <= MOST_KEPT

    @property
    def quick(self) -> bool:
        """Whether it takes no longer than other analyses do."""
        return self.work <= QUICK_WORK


def cost_of(statistic: Statistic, n: int) -> Cost:
    """About how much work all data sets of n users are.

    Parameters
    ----------
    statistic : Statistic
        The law.
    n : int
        Users, the victim included; at most ``MOST_USERS``.
    """
    inputs, outputs = statistic.rows.shape
    ways = inputs * (inputs - 1) + len(statistic.twins)
    histograms, datasets = how_many(n, outputs), how_many(n, inputs)
    pairs = how_many(n - 1, inputs) * ways
    if statistic.exchangeable and max(datasets, histograms) <= _MOST_LISTED:
        datasets, pairs = _falling(n, inputs), _falling(n - 1, inputs)
    # Laws of m users are about (m/n)^(inputs + outputs - 2) as many numbers as those of n.
    smaller = n // (inputs + outputs - 1) + 1
    work = (outputs * datasets * smaller + _PASSES * pairs) * histograms
    return Cost(datasets, histograms, pairs, work)


def _falling(users: int, inputs: int) -> int:
    """Data sets in which the counts of the third input and on do not rise.

    Of those who hold neither of the first two inputs a partition into at most inputs - 2 counts.
    """
    ways = [1] + [0] * users
    for part in range(1, inputs - 1):
        for value in range(part, users + 1):
            ways[value] += ways[value - part]
    return sum((users - rest + 1) * ways[rest] for rest in range(users + 1))


class Level(NamedTuple):
    """All data sets of m users, one a row, in the order of the last input that they hold.

    Attributes
    ----------
    counts : ndarray of int, shape (data sets, inputs)
        How many hold which input.
    parents : list of ndarray of int
        For each input: the rows, at the level before, of those data sets that with one more user
        who holds it are the data sets whose last input it is, in their order.
    """

    counts: Whole
    parents: list[Whole]


def levels(users: int, inputs: int, *, exchangeable: bool) -> list[Level]:
    """Data sets of 0, 1, .., users users."""
    counts = np.zeros((1, inputs), dtype=np.int64)
    last = np.zeros(1, dtype=np.int64)
    found = [Level(counts, [])]
    for _ in range(users):
        parents = []
        for x in range(inputs):
            may = last <= x
            if exchangeable and x >= _VICTIMS + 1:
                may &= counts[:, x] < counts[:, x - 1]
            parents.append(np.flatnonzero(may))
        unit = np.eye(inputs, dtype=np.int64)
        counts = np.concatenate([counts[rows] + unit[x] for x, rows in enumerate(parents)])
        last = np.repeat(np.arange(inputs), [len(rows) for rows in parents])
        found.append(Level(counts, parents))
    return found


class Laws(NamedTuple):
    """Laws of the histograms of all data sets of n users, and which are neighbours.

    Attributes
    ----------
    laws : ndarray, shape (data sets, histograms)
        Probabilities.
    rel : float
        They are within a factor of 1 +- rel and ``LEAST`` of the true ones.
    others : ndarray of int, shape (data sets of the others, inputs)
        How many of the others hold which input.
    pairs : tuple of (x0, x1)
        The victim's inputs, in the order of the divergence.
    first, second : ndarray of int, shape (pairs times data sets of the others,)
        Rows of ``laws``: the first pair with every data set of the others, then the next pair.
    """

    laws: Array
    rel: float
    others: Whole
    pairs: tuple[tuple[int, int], ...]
    first: Whole
    second: Whole


def laws_of(statistic: Statistic, n: int, key: str) -> Laws:
    """All laws, NotCertified where they are too many.

    Parameters
    ----------
    statistic : Statistic
        The law of one report.
    n : int
        Users, the victim included.
    key : str
        The analysis that asks.
    """
    cost = cost_of(statistic, n)
    if not cost.feasible:
        msg = (
            f"analysis = {key!r}, n = {n:,}: {cost.pairs:,} pairs of data sets with "
            f"{cost.histograms:,} histograms each are too many"
        )
        raise NotCertified(msg)
    inputs, outputs = statistic.rows.shape
    steps = levels(n, inputs, exchangeable=statistic.exchangeable)
    laws = np.ones((1, 1))
    for m in range(1, n + 1):
        laws = _one_more(laws, statistic.rows, steps[m], one_less(vectors(m, outputs)))
    # Each step multiplies by a row's entry and adds ``outputs`` products.
    rel = 1.02 * n * (statistic.rel + (outputs + 1) * U)
    others = steps[n - 1].counts
    pairs = [(0, 1)] if statistic.exchangeable else list(itertools.permutations(range(inputs), 2))
    pairs += [(x, x) for x in statistic.twins]
    with_one = _with_one(others, steps[n].counts)
    first = np.concatenate([with_one[x0] for x0, _ in pairs])
    second = np.concatenate([with_one[x1] for _, x1 in pairs])
    return Laws(np.ascontiguousarray(laws.T), rel, others, tuple(pairs), first, second)


def _one_more(laws: Array, rows: Array, level: Level, less: list[Whole]) -> Array:
    """Laws of the data sets of a level, histograms by data sets, from those of one user less."""
    found = np.zeros((len(less[0]), len(level.counts)))
    # A place past the last one: histograms that were impossible.
    before = np.vstack([laws, np.zeros((1, laws.shape[1]))])
    start = 0
    for row, parents in zip(rows.tolist(), level.parents, strict=True):
        part = found[:, start : start + len(parents)]
        # Most often the first few data sets of the level before.
        first = len(parents) == 0 or int(parents[-1]) == len(parents) - 1
        used = before[:, : len(parents)] if first else before[:, parents]
        for chance, place in zip(row, less, strict=True):
            term = used[place]
            term *= chance
            part += term
        start += len(parents)
    return found


def _with_one(others: Whole, whole: Whole) -> list[Whole]:
    """For each input: the rows of the data sets of all users who are the others and one with it."""
    inputs = others.shape[1]
    row_of = np.zeros(how_many(int(whole[0].sum()), inputs), dtype=np.int64)
    row_of[places(whole)] = np.arange(len(whole))
    return [row_of[places(others + unit)] for unit in np.eye(inputs, dtype=np.int64)]
