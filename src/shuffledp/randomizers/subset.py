"""Subset selection: k items of d are sent, the own one more likely among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, check_inputs, hit_or_miss, rational_ball
from shuffledp.mechanism import Domain, Follows, LocalEpsilon, Whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.chances import digits_up, exponential, quotient, times
from shuffledp.randomizers.frequency import AlikeItems, Support, occurrences
from shuffledp.randomizers.values import blocks, refuse_rows, row_reports, smallest_type
from shuffledp.randomness import RandomSource

# Up to here the binomial coefficient is multiplied out: lgamma loses bits for large d.
_FACTORS = 10_000


_SetSize = Annotated[
    int | None, Follows(Whole(high=lambda m: m.d - 1), lambda m: _best_size(m.d, m.eps0))
]


@dataclass(frozen=True, kw_only=True, repr=False)
class SubsetSelection(AlikeItems):
    """Subset selection: R_x(S) = (e^eps0 if x is in S else 1)/Z for the k-subsets S of d items.

    Z = e^eps0 C(d-1, k-1) + C(d-1, k). The blanket is uniform, gamma = d/(k e^eps0 + d - k).
    Reports are rows of k items in increasing order, in the smallest unsigned type.

    Parameters
    ----------
    d : int
        Domain size, 2 <= d <= 1e9.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
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
    def support(self) -> Support:
        """p* and q*: the item is in the subset."""
        return _support(self.d, self.size, math.exp(self.eps0), math.expm1(self.eps0))

    @property
    def message_bits(self) -> float:
        """log2 of the number of subsets, C(d, k)."""
        small = min(self.size, self.d - self.size)
        if small <= _FACTORS:
            return math.fsum(math.log2((self.d - i) / (small - i)) for i in range(small))
        logs = math.lgamma(self.d + 1) - math.lgamma(small + 1)
        return (logs - math.lgamma(self.d - small + 1)) / math.log(2.0)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Each k-subset of d items, e^eps0 times as likely if the input is in it."""
        d, k, eps0 = self.d, self.size, arb(self.eps0)
        check_inputs(inputs, d)
        # Binomials by C(d - 1, k - 1), which all of them are rational multiples of.
        total = eps0.exp() + rational_ball(Fraction(d - k, k))

        def blanket(hits: tuple[bool, ...]) -> arb | None:
            # k < d: somebody else is always missing from the subset.
            share, left, inside = Fraction(d, k), d, k
            for hit in hits:
                share *= Fraction(inside if hit else left - inside, left)
                left, inside = left - 1, inside - hit
            return rational_ball(share) / total if share else None

        return hit_or_miss(inputs, eps0, blanket, None)

    # ----------------------------------------------------------------------------- running it

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        """A uniform subset with probability gamma, rounded up, else one that has the value."""
        d, k = self.d, self.size
        uniform = digits_up(quotient(d, times(k, exponential(self.eps0)), d - k))
        reports = np.empty((len(values), k), dtype=smallest_type(d))
        for users in blocks(len(values), k):
            part = reports[users]
            free = source.coins(uniform, len(part))
            part[free] = _subsets(d, k, int(np.count_nonzero(free)), source)
            own = values[users][~free].astype(reports.dtype)[:, None]
            # k - 1 of the other d - 1 items: those from the own one on are one further.
            rest = _subsets(d - 1, k - 1, len(own), source).astype(reports.dtype)
            rest += rest >= own
            part[~free] = np.concatenate([rest, own], axis=1)
        reports.sort(axis=1)
        return reports

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        rows = row_reports(reports, self.size, self.d)
        bad = np.asarray((rows[:, 1:] <= rows[:, :-1]).any(axis=1))
        refuse_rows(rows, bad, f"{self.size:,} items in increasing order")
        return rows

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        return occurrences(reports.ravel(), self.d, items)


def _support(d: int, k: int, grow: float, gain: float) -> Support:
    """From C(d-2, k-1)/C(d, k) = k (d-k)/(d (d-1)) and the like."""
    total = k * grow + (d - k)
    return Support(
        own=k * grow / total,
        own_miss=(d - k) / total,
        other=k / total * (((k - 1) * grow + (d - k)) / (d - 1)),
        other_miss=(d - k) / total * ((k * grow + (d - k - 1)) / (d - 1)),
        gap=k / total * ((d - k) / (d - 1)) * gain,
    )


def _best_size(d: int, eps0: float) -> int:
    """The integer next to d/(e^eps0 + 1) with the smaller q*(1 - q*)/(p* - q*)^2."""
    grow, gain = math.exp(eps0), math.expm1(eps0)
    below = min(max(math.floor(d / (grow + 1.0)), 1), d - 1)

    def spread(k: int) -> float:
        rates = _support(d, k, grow, gain)
        # Without the common factor 1/(e^eps0 - 1)^2, which may leave the range of floats.
        gap = _support(d, k, grow, 1.0).gap
        return rates.other * rates.other_miss / gap / gap

    return min((below, min(below + 1, d - 1)), key=spread)


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
