"""Label stealing where one large gain decides: that one exactly, the rest by positive sums.

Split measures of gains at ``start``: c = c_s + c_b, d_i = d_i^s + d_i^b. With c_v = c_s + v c_b and
d_{i,v} likewise, F(c; d) = F(c_s; d^s) + int_0^1 F'(v) dv, and in

    F'(v) = c_b prod_i (c_v + d_{i,v}) + sum_i d_i^b int_0^1 c_v prod_{l != i} (u c_v + d_{l,v}) du

every term has one distinguished gain x > start. E(.)_+ of F'(v) is convex in v, so that
(F'(0) + F'(1))/2 is an upper bound (docs/theory-stealing.md, Theorem 9.1). What surrounds x is
bounded for every x by

    h(x) = min over alpha of e^{alpha x} J(alpha), and of the mean plus e^{-alpha x} J^-(alpha),

J^- being that of the gains negated.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.arithmetic.intervals import exp_or_infinite
from shuffledp.stealing.bound import Gains, completed_above, excess_of
from shuffledp.stealing.jump_worst import Family, LargestSums, Sums
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import LARGEST_EXPONENT
from shuffledp.stealing.rounding import halved_sum

U = UNIT_ROUNDOFF
# Jumps against those of the type with the most, where types go into another group; few for some.
_SHARES = (0.95, 0.8, 0.5, 0.2, 0.05)


class Alone(NamedTuple):
    """The free numbers of the bound with one distinguished gain; any are valid.

    Attributes
    ----------
    kappa, theta : float
        Share of the blanket in the reservoir, and probability with which the victim joins it.
    start : float
        Gains above it are jumps, start >= 0.
    ceiling : float
        Where there are other jumps beside the distinguished one they are cut at it, > 0.
    floor : float
        Gains below -floor count as -floor, floor >= 0.
    alpha : float
        Tilt of the sum without jumps.
    forward, backward : tuple of float
        Tilts of the sums beside a jump, of the gains and of the gains negated.
    smooth : float
        h alpha of all sums.
    """

    kappa: float
    theta: float
    start: float
    ceiling: float
    floor: float
    alpha: float
    forward: tuple[float, ...]
    backward: tuple[float, ...]
    smooth: float


class Beside(NamedTuple):
    """What each tilt is worth beside jumps, to choose by.

    ``mass``, shape (X,), of the jumps, and ``each``, shape (tilts, X), what their sums bound h by
    for the first group: forward tilts, then backward ones, infinite where these do not serve.
    """

    mass: Array
    each: Array


def family_of(gains: Gains, floor: float) -> Family:
    """Upper measures of both parts, left-over at gain 0, and gains of at least -floor."""
    common = gains.reservoir
    first, types = common.raised(), [completed_above(law, common) for law in gains.types]
    excess = [excess_of(law, first) for law in types]
    return Family(first, types, excess).mapped(lambda gain: np.maximum(gain, -floor))


def log_bound_alone(gains: Gains, n: int, at: Alone) -> float:
    """Upper bound of log delta, for every data set (Theorem 9.3).

    Parameters
    ----------
    gains : Gains
        Measures of the constant shares ``at.kappa`` and ``at.theta``.
    n : int
        Users, the victim included; n >= 3.
    at : Alone
        Any choice is valid; where alpha times a gain is beyond 600 the bound is infinite.
    """
    return log_bound_by(LargestSums, gains, n, at)


def log_bound_by(
    sums_of: Callable[[Family, Sequence[Sequence[int]]], Sums], gains: Gains, n: int, at: Alone
) -> float:
    """The bound made of what ``sums_of`` a family and groups of its types says of J.

    An upper bound if that is one: with others it is a number to choose by.
    """
    return log_bound_and_tilts(sums_of, gains, n, at)[0]


def log_bound_and_tilts(
    sums_of: Callable[[Family, Sequence[Sequence[int]]], Sums], gains: Gains, n: int, at: Alone
) -> tuple[float, list[Beside]]:
    """The same, with what each tilt is worth beside the jumps: silent ones, and cut ones."""
    common = gains.reservoir
    mass = math.fsum(common.mass)
    empty = math.exp((n - 2) * math.log1p(-mass * (1.0 - 4 * U)) * (1.0 - 8 * U)) * (1.0 + 8 * U)
    paid = gains.positive * empty + common.lost + n * common.dropped
    paid += max(law.lost for law in gains.types)
    whole = family_of(gains, at.floor)
    silent = whole.mapped(lambda gain: np.where(gain > at.start, 0.0, gain))
    cut = whole.mapped(lambda gain: np.minimum(gain, at.ceiling))
    if not _steepest(silent, cut, at) <= LARGEST_EXPONENT:
        return math.inf, []
    groups = groups_of(whole.types, at.start)
    sharp = np.zeros(len(groups))
    sums = sums_of(silent, groups)
    shared = _exp(sums.log(sharp, n, at.alpha, at.smooth))
    room = _room(whole, groups, at.start)
    one = np.zeros((len(groups), len(groups)))
    behind = _Behind(sums_of(silent.mapped(np.negative), groups), room, n, at, empty)
    tilts: list[Beside] = []
    for largest, over in (
        (sums, 0.0),
        (sums_of(cut, groups), _overshoot(whole, at.ceiling, n)),
    ):
        around = _Around(largest, room, n, at, behind, over)
        (own, *labels), beside = around.beside([whole.reservoir, *whole.types], at.start)
        tilts.append(beside)
        shared += 0.5 * (n - 1) * own
        one += 0.5 * (n - 1) * np.array([np.max([labels[j] for j in g], axis=0) for g in groups])
    # Of users in two groups each with a jump, as many others are in the one as in the other.
    both = 0.5 * (one + one.T + shared[:, None] + shared[None, :])
    total = paid + float(both.max())
    return math.log(total) + 64 * U * (1.0 + abs(math.log(total))), tilts


def _room(whole: Family, groups: Sequence[Sequence[int]], start: float) -> Array:
    """log of how much larger a group's h may be than the first's and not matter.

    Its users have jumps of a share r of the first's, N_0, and the reservoir has R_0: with h = q h_0
    q N_0 + r N_0 + R_0 + q R_0 is at most 2 (N_0 + R_0) for q = 1 + (1 - r) N_0/(N_0 + R_0).
    """
    size = np.array([max(_size(whole.types[j], start) for j in group) for group in groups])
    if not size[0] > 0.0:
        return np.zeros(len(groups))
    return np.log1p(np.maximum(size[0] - size, 0.0) / (size[0] + _size(whole.reservoir, start)))


def _size(law: Measure, start: float) -> float:
    return float(law.mass @ np.maximum(law.gain - start, 0.0))


def groups_of(types: Sequence[Measure], start: float) -> list[list[int]]:
    """Types with about as much in jumps, those with the most first; any partition is valid."""
    size = [_size(law, start) for law in types]
    top = max(size)
    found: list[list[int]] = [[] for _ in range(len(_SHARES) + 1)]
    for j, part in enumerate(size):
        found[sum(part < share * top for share in _SHARES)].append(j)
    return [group for group in found if group]


def _steepest(silent: Family, cut: Family, at: Alone) -> float:
    """The largest exponent alpha x."""
    top = [max(float(law.gain.max(initial=0.0)) for law in (f[0], *f[1])) for f in (silent, cut)]
    forward = max(at.forward, default=0.0)
    return max(
        max(at.alpha, forward) * top[0],
        forward * top[1],
        max(at.backward, default=0.0) * at.floor,
    )


def _overshoot(whole: Family, ceiling: float, n: int) -> float:
    """What cutting the others at the ceiling costs, for one distinguished jump and one user."""

    def over(law: Measure) -> float:
        above = law.gain > ceiling
        parts = law.mass[above] * (law.gain[above] - ceiling)
        # A product below the floats is one of them at most.
        return float(parts.sum()) * (1.0 + parts.size * U) + parts.size * 5e-324

    total = over(whole.reservoir) + max(over(law) for law in whole.types)
    return total * _growth(whole, n) * (1.0 + 16 * U) if total > 0.0 else 0.0


def _growth(family: Family, n: int) -> float:
    """Upper bound of (c + d)^(n - 1) of the masses, at least 1; infinite beyond the floats."""
    log = (n - 1) * math.log1p(max(*family.excess, 0.0)) * (1.0 + 8 * U)
    return exp_or_infinite(log) * (1.0 + 8 * U)


class _Behind:
    """The mean plus e^{-alpha x} J^-(alpha) for large x, ``turned`` the sums of gains negated.

    Jumps that are cut in place of silent only lower E(-x - S)_+, and raise the mean.
    """

    def __init__(self, turned: Sums, room: Array, n: int, at: Alone, empty: float) -> None:
        self._empty, self._groups, self._n = empty, turned.groups, n
        self.rest = [(alpha, turned.log(room, n - 1, alpha, at.smooth)) for alpha in at.backward]

    def line(self, family: Family) -> tuple[float, Array] | None:
        """Slope, and start for each group; None unless all means are losses."""
        c1 = _mean(family.reservoir)
        d1 = [_mean(law) for law in family.types]
        if c1 > 0.0 or max(d1) > 0.0:
            return None
        start = np.array([c1 + max(d1[j] for j in g) * (1.0 - self._empty) for g in self._groups])
        slope = _growth(family, self._n) / (self._n - 1) * (1.0 + 16 * U)
        return slope, start + 16 * U * np.abs(start)


class _Around:
    """h(x): what E(x + S)_+ of the others is at most, S their sum, for every data set.

    Parameters
    ----------
    sums : Sums
        Of the others' gains; h is given for data sets of each group of types alone.
    room : ndarray
        log of how much larger h may be for a group than for the first and not matter.
    n : int
        Users, the victim included.
    at : Alone
        Tilts.
    behind : _Behind
        What serves for large x.
    over : float
        What is added to every value.
    """

    def __init__(
        self,
        sums: Sums,
        room: Array,
        n: int,
        at: Alone,
        behind: _Behind,
        over: float,
    ) -> None:
        self._over, self._groups, self._rest = over, len(sums.groups), behind.rest
        self._line = behind.line(sums.family)
        self._forward = [(alpha, sums.log(room, n - 1, alpha, at.smooth)) for alpha in at.forward]

    def beside(self, laws: Sequence[Measure], start: float) -> tuple[list[Array], Beside]:
        """Integral of h over the jumps of each measure, rounded up, for each group of the others.

        And what each tilt bounds h by there.
        """
        jumps = [law.gain > start for law in laws]
        pairs = list(zip(laws, jumps, strict=True))
        values, each = self._expected(np.concatenate([law.gain[jump] for law, jump in pairs]))
        found, first = [], 0
        for law, jump in pairs:
            mass = law.mass[jump]
            # Positive terms: any order of summing is off by less than their number in units.
            total = values[:, first : first + mass.size] @ mass
            found.append(total * (1.0 + (mass.size + 8) * U))
            first += mass.size
        return found, Beside(np.concatenate([law.mass[jump] for law, jump in pairs]), each)

    def _expected(self, x: Array) -> tuple[Array, Array]:
        """Upper bounds of h at each x >= 0, one row for each group; of the first, by each tilt.

        For each x the same tilt for all groups: that which is best for the first.
        """
        ways: list[Callable[[Array, slice], Array]] = [
            functools.partial(self._ahead, alpha, log_j) for alpha, log_j in self._forward
        ]
        if self._line is not None:
            ways += [functools.partial(self._behind, *self._line, *rest) for rest in self._rest]
        each = np.full((len(self._forward) + len(self._rest), x.size), math.inf)
        for k, way in enumerate(ways):
            value = way(x, slice(1))[0]
            # What is not a number is not the best of them.
            each[k] = np.where(np.isnan(value), math.inf, value)
        which = each.argmin(axis=0)
        best = np.full((self._groups, x.size), math.inf)
        for k, way in enumerate(ways):
            some = (which == k) & (each[k] < math.inf)
            best[:, some] = way(x[some], slice(None))
        return (best + self._over) * (1.0 + 32 * U), each

    @staticmethod
    def _ahead(alpha: float, log_j: Array, x: Array, groups: slice) -> Array:
        """e^{alpha x} J for some groups."""
        return _exp(_sum_up(alpha * x[None, :], log_j[groups, None]))

    @staticmethod
    def _behind(
        slope: float, start: Array, alpha: float, log_j: Array, x: Array, groups: slice
    ) -> Array:
        """The mean plus e^{-alpha x} J^-(alpha) for some groups."""
        line = slope * x[None, :] + start[groups, None]
        line += 8 * U * (slope * x[None, :] + np.abs(start[groups, None]))
        rest = _exp(_sum_up(-alpha * x[None, :], log_j[groups, None]))
        return np.maximum(line + rest + 4 * U * (np.abs(line) + rest), 0.0)


def _sum_up(one: Array, two: Array) -> Array:
    """A sum, rounded up, of products that were rounded once."""
    return one + two + 8 * U * (np.abs(one) + np.abs(two))


def _exp(x: Array) -> Array:
    """e^x, at least e^-700; infinite beyond e^700."""
    return np.where(x > 700.0, math.inf, np.exp(np.clip(x, -700.0, 700.0)) * (1.0 + 8 * U))


def _mean(law: Measure) -> float:
    """Upper bound of the sum of masses times gains."""
    total, err = halved_sum(law.mass * law.gain)
    return total + err + 4 * U * float(law.mass @ np.abs(law.gain)) * (1.0 + 1e-6) + 1e-300
