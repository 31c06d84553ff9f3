"""k-ary randomized response and subset selection: an output hits items or not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.record import Bits, Matrix, bits_between
from shuffledp.mechanism.parameters import Domain, LocalEpsilon, follows, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import (
    AlikeItems,
    Sizes,
    UniformOrOwn,
    least_spread,
    occurrences,
)
from shuffledp.randomizers.values import refuse_rows, smallest_type
from shuffledp.randomness import RandomSource
from shuffledp.theorems import TWO_INPUTS, Theorem


@dataclass(frozen=True, kw_only=True)
class KRR(AlikeItems, UniformOrOwn):
    """k-ary randomized response: R_x(y) = (e^eps0 if y = x else 1) / (e^eps0 + k - 1).

    Blanket: uniform, gamma = k / (e^eps0 + k - 1). Reports are values, in the smallest unsigned
    type.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 1e9; inputs and outputs are 0 .. k-1.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Kairouz, Oh, Viswanath 2014; Balle et al. 2019, section 5 (blanket).
    """

    name: ClassVar[str] = "k-rr"
    aliases: ClassVar[tuple[str, ...]] = (
        "grr",
        "generalized-randomized-response",
        "randomized-response",
    )
    summary: ClassVar[str] = "k-ary randomized response"
    k: Domain
    eps0: LocalEpsilon

    @property
    def items(self) -> int:
        """k."""
        return self.k

    @property
    def sizes(self) -> Sizes:
        """k outputs, one of which hits an input."""
        return Sizes(self.items, 1, 0)

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], int]:
        """One output for each input, the value itself; all others hit none."""
        own = {tuple(x == y for x in inputs): 1 for y in inputs}
        return {**own, (False,) * len(inputs): self.items - len(inputs)}

    def one_bit(self) -> Bits | None:
        """The report itself, if there are two values."""
        return bits_between(self.eps0, 0, 1) if self.items == 2 else None

    def output_matrix(self) -> Matrix:
        """Itself e^eps0 times as likely as another value."""
        k = self.items

        def weights() -> list[list[arb]]:
            grow = arb(self.eps0).exp()
            return [[grow if x == y else arb(1) for y in range(k)] for x in range(k)]

        return Matrix(k, k, weights, grow=lambda: arb(self.eps0).exp())

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """The truth."""
        del source
        return values

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        return occurrences(reports, self.items, items)


@dataclass(frozen=True, kw_only=True)
class BinaryRR(KRR):
    """Binary randomized response: ``KRR`` with k = 2; values are 0 for no and 1 for yes.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Warner 1965.
    """

    name: ClassVar[str] = "binary-rr"
    aliases: ClassVar[tuple[str, ...]] = ("warner", "rr")
    summary: ClassVar[str] = "binary randomized response (Warner)"
    pairs_alike: ClassVar[Theorem] = TWO_INPUTS
    k: int = field(init=False, repr=False, default=2)


# Logarithms of factorials of 1e9 are 2e10, of which small ones are differences.
_BITS = 128

_SetSize = Annotated[
    int | None, follows(whole(high=lambda m: m.d - 1), lambda m: _best_size(m.d, m.eps0))
]


@dataclass(frozen=True, kw_only=True, repr=False)
class SubsetSelection(AlikeItems, UniformOrOwn):
    """Subset selection: R_x(S) = (e^eps0 if x is in S else 1)/Z for the k-subsets S of d items.

    Z = e^eps0 C(d-1, k-1) + C(d-1, k). The blanket is uniform, gamma = d/(k e^eps0 + d - k).
    Reports are rows of k items in increasing order, in the smallest unsigned type.

    Parameters
    ----------
    d : int
        Domain size, 2 <= d <= 1e9.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    k : int, optional
        Size of the subsets, 1 <= k < d; by default the integer with the least variance at
        frequency 0, next to d/(e^eps0 + 1).

    Notes
    -----
    Ye, Barg 2018; Wang et al. 2016. With k = 1 it is k-RR.
    """

    name: ClassVar[str] = "subset"
    aliases: ClassVar[tuple[str, ...]] = ("subset-selection",)
    summary: ClassVar[str] = "subset selection, k of d items"
    d: Domain
    eps0: LocalEpsilon
    k: _SetSize = None

    @property
    def items(self) -> int:
        """d."""
        return self.d

    @property
    def size(self) -> int:
        """k."""
        return 0 if self.k is None else self.k

    @property
    def sizes(self) -> Sizes:
        """Subsets in units of C(d, k)/d, those that have an item or two of them."""
        return _subset_sizes(self.d, self.size)

    @property
    def letters(self) -> int:
        """d."""
        return self.d

    @property
    def word(self) -> int:  # type: ignore[override]
        """k."""
        return self.size

    @property
    def message_bits(self) -> float:
        """log2 of the number of subsets, C(d, k)."""
        with ctx.workprec(_BITS):
            all_in, inside, outside = (
                arb(count + 1).lgamma() for count in (self.d, self.size, self.d - self.size)
            )
            return float((all_in - inside - outside) / arb(2).log())

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], Fraction]:
        """Subsets by which of the inputs they have: drawn one by one without replacement."""
        found = {}
        for hits in itertools.product((False, True), repeat=len(inputs)):
            share, left, inside = Fraction(self.d), self.d, self.size
            for hit in hits:
                share *= Fraction(inside if hit else left - inside, left)
                left, inside = left - 1, inside - hit
            found[hits] = share
        return found

    # ----------------------------------------------------------------------------- running it

    def _uniform_reports(self, count: int, source: RandomSource) -> Reports:
        return np.sort(_subsets(self.d, self.size, count, source), axis=1)

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """The value and k - 1 of the other d - 1 items: those from the value on are one further."""
        rest = _subsets(self.d - 1, self.size - 1, len(values), source).astype(np.int64)
        own = values.astype(np.int64)[:, None]
        return np.sort(np.concatenate([rest + (rest >= own), own], axis=1), axis=1)

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        rows = super()._checked_reports(reports)
        bad = np.asarray((rows[:, 1:] <= rows[:, :-1]).any(axis=1))
        refuse_rows(rows, bad, f"{self.size:,} items in increasing order")
        return rows

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        return occurrences(reports.ravel(), self.d, items)


def _subset_sizes(d: int, k: int) -> Sizes:
    return Sizes(d, k, Fraction(k * (k - 1), d - 1))


def _best_size(d: int, eps0: float) -> int:
    """The integer next to d/(e^eps0 + 1) with the less variance."""
    below = min(max(math.floor(d / (math.exp(eps0) + 1.0)), 1), d - 1)
    return least_spread((below, min(below + 1, d - 1)), lambda k: _subset_sizes(d, k), eps0)


def _subsets(d: int, k: int, users: int, source: RandomSource) -> np.ndarray:
    """Uniform k-subsets of 0 .. d-1, unordered rows.

    Values that occur twice are drawn again until all differ. The procedure treats all items alike,
    so each set of k is as likely as any other. Of sets with more than half of the items what is
    drawn is the complement, uniform among the sets of its size: nearly all values would occur
    twice.
    """
    if k == 0:
        return np.empty((users, 0), dtype=np.uint8)
    if 2 * k > d:
        inside = np.ones((users, d), dtype=bool)
        inside[np.arange(users)[:, None], _subsets(d, d - k, users, source)] = False
        return np.nonzero(inside)[1].astype(smallest_type(d)).reshape(users, k)
    rows = source.uniform(d, users * k).reshape(users, k)
    rows.sort(axis=1)
    open_ = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1))
    while open_.size:
        part = rows[open_]
        again = np.zeros(part.shape, dtype=bool)
        again[:, 1:] = part[:, 1:] == part[:, :-1]
        part[again] = source.uniform(d, int(np.count_nonzero(again)))
        part.sort(axis=1)
        rows[open_] = part
        open_ = open_[(part[:, 1:] == part[:, :-1]).any(axis=1)]
    return rows
