"""ShuffledPair: the law of two likelihood ratios under a reference, and the number of messages.

One user's message is drawn from P (input x0) or from Q (input x1); the other n - 1 messages are
drawn from a reference law. All that any bound of this package needs is the law of
(a, b) = (P/ref, Q/ref) under the reference (docs/theory.md, section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array, Indices
from shuffledp.errors import ParameterError, rejected
from shuffledp.values.described import ByContent

_TOTAL_SLACK = 1e-9
# Masses and ratios that floats hold to their last digits, whatever these are multiplied by next.
SMALLEST_HELD = 1e-290
_LARGEST = 1e290


@dataclass(frozen=True, eq=False, repr=False)
class InnerMoments(ByContent):
    """How (a, b) varies within each cell, relative to the cell's means.

    Attributes
    ----------
    a, b, both : ndarray, shape (K,)
        Var(a)/E[a]^2, Var(b)/E[b]^2 and Cov(a, b)/(E[a] E[b]) on the cell.
    doubt : ndarray, shape (K,)
        Bound on the absolute error of each of the three.
    """

    a: Array
    b: Array
    both: Array
    doubt: Array

    def swap(self) -> InnerMoments:
        """Exchange the roles of P and Q."""
        return InnerMoments(self.b, self.a, self.both, self.doubt)

    def part(self, kept: slice | Indices) -> InnerMoments:
        """The same for some of the cells."""
        return InnerMoments(self.a[kept], self.b[kept], self.both[kept], self.doubt[kept])


@dataclass(frozen=True, eq=False, repr=False)
class RatioRanges(ByContent):
    """Where the two ratios lie on each cell of a continuous output, ends rounded outward.

    Attributes
    ----------
    a_low, a_high, b_low, b_high : ndarray, shape (K,)
        a_low <= P/ref <= a_high and b_low <= Q/ref <= b_high on the cell.
    bend : ndarray, shape (K,), or None
        Where known: on the cell the density of every a - c b, c >= 0, is between e^-bend and e^bend
        times the uniform density on its range; inf for cells where it is not known.
    moments : InnerMoments or None
        Given where cells are in no order: merged atoms (``merging``) or cells of two coordinates;
        then ``bend`` is not used.
    blur : ndarray, shape (K,), or None
        How far, relatively, the ends may have been moved outward: the ratios come as near to each
        end as this. Whatever is said of a density on the range needs it; None where nothing is.
    """

    a_low: Array
    a_high: Array
    b_low: Array
    b_high: Array
    bend: Array | None = None
    moments: InnerMoments | None = None
    blur: Array | None = None

    def swap(self) -> RatioRanges:
        """Exchange the roles of P and Q."""
        moments = None if self.moments is None else self.moments.swap()
        ends = (self.b_low, self.b_high, self.a_low, self.a_high)
        return RatioRanges(*ends, self.bend, moments, self.blur)

    def part(self, kept: slice | Indices) -> RatioRanges:
        """The same for some of the cells."""
        bend = None if self.bend is None else self.bend[kept]
        blur = None if self.blur is None else self.blur[kept]
        moments = None if self.moments is None else self.moments.part(kept)
        return RatioRanges(
            self.a_low[kept],
            self.a_high[kept],
            self.b_low[kept],
            self.b_high[kept],
            bend,
            moments,
            blur,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ShuffledPair(ByContent):
    """Atoms or cells (w, a, b) of the ratios' law under the reference, and n.

    Attributes
    ----------
    w : ndarray, shape (K,)
        Reference mass of each atom or cell. What is missing to 1 is the left-over: a = b = 0.
    a, b : ndarray, shape (K,)
        P-mass and Q-mass of the atom or cell divided by w (for a cell: the mean ratio).
    n : int
        Messages in the shuffle, the victim's included.
    outside : ndarray, shape (M, 2)
        P- and Q-mass of outputs where the reference has none: seen for sure.
    tail : tuple of two floats
        P- and Q-mass of far outputs left out of the cells (upper bounds on it).
    tail_doubt : tuple of two floats
        How much smaller than ``tail`` the true masses may be.
    rel : float
        Bound on the relative error of every entry of w, a, b as a float.
    leftover : tuple of two floats, or None
        Mass of the left-over and a bound on its absolute error; (0, 0) where the reference has
        none. None: 1 - sum(w), with the error that follows from ``rel``.
    ranges : RatioRanges or None
        For cells: where the ratios lie. None for atoms, whose ratios are constant.

    Notes
    -----
    The masses of P and of Q are exactly 1: sum(w a) + outside + tail = 1, and likewise for b,
    up to ``rel``. Constructors of pairs promise it; it is checked to 1e-9 here.
    """

    w: Array
    a: Array
    b: Array
    n: int
    outside: Array = field(default_factory=lambda: np.zeros((0, 2)))
    tail: tuple[float, float] = (0.0, 0.0)
    tail_doubt: tuple[float, float] = (0.0, 0.0)
    rel: float = 8 * UNIT_ROUNDOFF
    leftover: tuple[float, float] | None = None
    ranges: RatioRanges | None = None

    def __post_init__(self) -> None:
        _check.count("n", self.n)
        for name in ("w", "a", "b"):
            values = getattr(self, name)
            if values.shape != self.w.shape or values.ndim != 1:
                raise rejected(name, values.shape, f"the shape of w, {self.w.shape}")
            if not (np.all(np.isfinite(values)) and np.all(values >= 0.0)):
                raise rejected(name, values, "finite masses or ratios >= 0")
        if not float(self.w.sum()) <= 1.0 + _TOTAL_SLACK:
            raise rejected("w", float(self.w.sum()), "reference masses that sum to at most 1")
        for name, ratio, column in (("a", self.a, 0), ("b", self.b, 1)):
            total = float((self.w * ratio).sum() + self.outside[:, column].sum())
            if not abs(total + self.tail[column] - 1.0) <= _TOTAL_SLACK + self.tail[column]:
                raise rejected(f"sum of w*{name}", total, "1 together with outside and tail")

    def leftover_mass(self) -> tuple[float, float]:
        """Mass at a = b = 0, and a bound on its absolute error."""
        if self.leftover is not None:
            return self.leftover
        total = math.fsum(self.w)
        return max(0.0, 1.0 - total), total * self.rel + 2 * UNIT_ROUNDOFF

    @property
    def has_outside(self) -> bool:
        """Whether there are outputs of the victim that the reference does not have."""
        return bool(self.outside.any())

    def swap(self) -> ShuffledPair:
        """The other direction: D(Q || P) in place of D(P || Q)."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            outside=self.outside[:, ::-1],
            tail=self.tail[::-1],
            tail_doubt=self.tail_doubt[::-1],
            ranges=None if self.ranges is None else self.ranges.swap(),
        )

    def with_n(self, n: int) -> ShuffledPair:
        """The same law among another number of messages."""
        return replace(self, n=n)

    def merged(self) -> ShuffledPair:
        """Add up atoms with equal ratios; the divergence does not change.

        Cells are left as they are.
        """
        if self.ranges is not None or self.w.size == 0:
            return self
        order = np.lexsort((self.b, self.a))
        a, b = self.a[order], self.b[order]
        fresh = np.append(True, (np.diff(a) != 0.0) | (np.diff(b) != 0.0))
        if bool(fresh.all()):
            return self
        starts = np.flatnonzero(fresh)
        w = np.add.reduceat(self.w[order], starts)
        grown = self.rel + self.w.size * UNIT_ROUNDOFF
        return replace(self, w=w, a=a[starts], b=b[starts], rel=grown)

    def product(self, other: ShuffledPair) -> ShuffledPair:
        """Joint composition inside one report: independent messages, ratios multiply.

        (Su, Cheng, Wang, Theorem 9.) For pairs of atoms without outside or tail mass, whose
        left-over is absorbing: the joint blanket is the product of the blankets.
        """
        _need_plain(self, other)
        with np.errstate(over="ignore", under="ignore"):
            w, a, b = (
                np.outer(one, two).ravel()
                for one, two in ((self.w, other.w), (self.a, other.a), (self.b, other.b))
            )
        _need_range(w, "w", np.outer(self.w > 0.0, other.w > 0.0).ravel())
        _need_range(a, "a", np.outer(self.a > 0.0, other.a > 0.0).ravel())
        _need_range(b, "b", np.outer(self.b > 0.0, other.b > 0.0).ravel())
        rel = self.rel + other.rel + 2 * UNIT_ROUNDOFF
        return ShuffledPair(w=w, a=a, b=b, n=_same_n(self, other), rel=rel).merged()

    @staticmethod
    def mixture(pairs: list[ShuffledPair], weights: list[float]) -> ShuffledPair:
        """Parallel composition: each user's report runs mechanism i with probability weights[i].

        (Su, Cheng, Wang, Theorem 11; the choice is public.) Laws of the ratios mix.
        """
        if not pairs or len(pairs) != len(weights):
            raise rejected("weights", weights, f"one weight for each of {len(pairs)} pairs")
        _need_plain(*pairs)
        if not (min(weights) >= 0.0 and abs(sum(weights) - 1.0) <= _TOTAL_SLACK):
            raise rejected("weights", weights, "numbers >= 0 that sum to one")
        w = np.concatenate([p * pair.w for p, pair in zip(weights, pairs, strict=True)])
        some = [(pair.w > 0.0) & (p > 0.0) for p, pair in zip(weights, pairs, strict=True)]
        _need_range(w, "w", np.concatenate(some))
        return ShuffledPair(
            w=w,
            a=np.concatenate([pair.a for pair in pairs]),
            b=np.concatenate([pair.b for pair in pairs]),
            n=_same_n(*pairs),
            rel=max(pair.rel for pair in pairs) + 4 * UNIT_ROUNDOFF,
        ).merged()


def missed_by(gone: float, *, n: int) -> float:
    """What the tail has to have where so much of the reference's mass t is left out: 3 n t.

    The upper end only grows by what is left out. An event that ignores the others' part there loses
    at most n t under P and 2 n t under Q, in either order of the pair (docs/theory.md, section
    3.3).

    Parameters
    ----------
    gone : float
        t, rounded up.
    n : int
        Messages in the shuffle.
    """
    return 3.0 * n * gone


def _need_plain(*pairs: ShuffledPair) -> None:
    for pair in pairs:
        if pair.ranges is not None or pair.outside.size or any(pair.tail):
            raise ParameterError(
                "pair: wanted atoms whose reference covers P and Q; got cells or outside mass"
            )


def _need_range(found: Array, name: str, positive: npt.NDArray[np.bool_]) -> None:
    """Refuse what floats do not hold: what underflows is no mass that can be left out."""
    good = ~positive | ((found >= SMALLEST_HELD) & (found <= _LARGEST))
    if not bool(good.all()):
        worst = float(found[~good].min())
        raise rejected(
            name, worst, f"masses and ratios from {SMALLEST_HELD:g} to {_LARGEST:g}, or 0"
        )


def _same_n(*pairs: ShuffledPair) -> int:
    counts = {pair.n for pair in pairs}
    if len(counts) != 1:
        raise rejected("n", sorted(counts), "the same n in every pair")
    return counts.pop()
