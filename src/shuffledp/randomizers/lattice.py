"""Noise on the integers: discrete Laplace and discrete Gaussian, clamped or not."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers.base import DEFAULT_CELLS, Randomizer, Reports, WorstPairs, WorstTriples
from shuffledp.randomizers.chords import IntervalDensity, LaplaceChords
from shuffledp.randomizers.exact import discrete_gaussian, two_sided_geometric
from shuffledp.randomizers.law import CellEdges, JointLaw
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.values import RefusedRows, real_values, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import CLAMPED_END_POINTS, END_POINTS, SHIFTED_TRIPLES

U = UNIT_ROUNDOFF
Integers = npt.NDArray[np.int64]
# Up to this many classes are kept as they are, so that small n is exact.
_MOST_ATOMS = 1024
# Atoms with a wider range of log ratios are better handled as cells without width.
_WIDEST = 20.0
# Runs of integers for label stealing, which groups them by how much the gains vary.
_STEALING_CELLS = 2048
_FEWEST = 64
_FEW_TIMES = 4
# Largest input up to which label stealing evaluates all shifts that may matter: 460 of them, ...
_MOST_SHIFTS = 28
# ... and, where those that span the range are enough, three times this many. Beyond it: a cover.
_MOST_SPANNING = 128
_MOST_INTEGERS = 1 << 22
_SMALLEST_MASS = 1e-300
# e^-691 < 1e-300.
_FARTHEST = 691.0


class LatticeNoise(MeanRandomizer):
    """Report x + K for an integer x in 0 .. top, K symmetric and unimodal on the integers.

    Theorem 4.8 of docs/theory.md: the end points are the worst pair of the blanket bound.
    """

    top: int
    clamped: bool

    @abstractmethod
    def _unclamped(self) -> Randomizer | None:
        """The same without clamping; None where there is none."""

    @abstractmethod
    def _noise(self, size: int, source: RandomSource) -> Integers:
        """Draws of K."""

    @property
    def _margin(self) -> int:
        """Reports are clamped to -margin .. top + margin."""
        return 0

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((0, self.top),), CLAMPED_END_POINTS if self.clamped else END_POINTS)

    def worst_triples(self) -> WorstTriples | None:
        """Those that span the range, and all with x1 between x and x0; the ends first."""
        return _shifts(self.top, self._unclamped())

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them or in the middle."""
        others = dict.fromkeys((0, self.top, self.top // 2))
        return tuple((0, self.top, x2) for x2 in others)

    @property
    def message_bits(self) -> float:
        """log2 of the number of reports where clamped; 64 for an integer where not."""
        return math.log2(self.top + 2 * self._margin + 1) if self.clamped else 64.0

    @property
    def low(self) -> float:
        """The smallest input, 0."""
        return 0.0

    @property
    def high(self) -> float:
        """The largest input, top."""
        return float(self.top)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.top + 1)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = values.astype(np.int64) + self._noise(len(values), source)
        if self.clamped:
            return np.clip(reports, -self._margin, self.top + self._margin)
        return reports

    def _reports(self, reports: ArrayLike) -> Floats:
        """Whole numbers in the range of reports."""
        low, high = -np.inf, np.inf
        if self.clamped:
            low, high = -self._margin, self.top + self._margin
        column = real_values(reports, max(low, -(2.0**63)), min(high, 2.0**63), name="reports")
        whole = column == np.floor(column)
        if not bool(whole.all()):
            raise RefusedRows("reports", column, ~whole, "a whole number")
        return column

    def _inputs(self, inputs: tuple[Any, ...]) -> list[int]:
        return [_check.count("input", x, low=0, high=self.top) for x in inputs]


def _shifts(top: int, before: Randomizer | None) -> WorstTriples | None:
    """(x0, x1, (x,)) that span 0 .. top, or with x < x1 < x0; by shifts, mirror images once.

    For symmetric log-concave noise all others are dominated by these (Lemma 5.6 (i)).
    """
    if top > _MOST_SHIFTS:
        return None
    found = []
    for u, v in itertools.product(range(-top, top + 1), repeat=2):
        low, high = min(u, v, 0), max(u, v, 0)
        kept = high - low == top or (0 < v < u <= top)
        if u != v and kept and (u, v) >= (-u, -v):
            found.append((u - low, v - low, (-low,)))
    # The pair of the end points comes first: its reservoir dominates.
    found.sort(key=lambda triple: -abs(triple[0] - triple[1]))
    return WorstTriples(tuple(found), SHIFTED_TRIPLES, apart=True, before=before)


def _check_lattice(instance: DiscreteLaplace | DiscreteGaussian) -> None:
    top = _check.count("top", instance.top, high=_check.LARGEST_DOMAIN)
    object.__setattr__(instance, "top", top)
    if not isinstance(instance.clamped, bool):
        raise rejected("clamped", instance.clamped, "True or False")


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(LatticeNoise):
    """Two-sided geometric noise, f(k) = (1 - a)/(1 + a) a^|k|, a = e^{-eps0/top}.

    Added to an integer in 0 .. top. Likelihood ratios are constant below 0 and above top, so
    clamping reports to 0 .. top loses nothing: the law of the ratios is the same. The blanket has
    gamma = 2 a^{ceil(top/2)}/(1 + a), times (1 + 1/a)/2 where top is even.

    Clamped, an end stands for everything beyond it, whose mean does not depend on the input (the
    noise has no memory): the estimator counts a report of 0 as -a/(1 - a), one of top as
    top + a/(1 - a).

    Parameters
    ----------
    top : int
        The largest input, 1 to 1e9.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300; eps0/top for neighbouring integers.
    clamped : bool
        Whether reports are clamped to 0 .. top.

    Notes
    -----
    Ghosh, Roughgarden, Sundararajan 2009. Reports are int64, drawn from their exact probabilities
    (to 2^-1280).
    """

    name: ClassVar[str] = "discrete-laplace"
    summary: ClassVar[str] = "two-sided geometric noise on integers"
    top: int
    eps0: float
    clamped: bool = False

    def __post_init__(self) -> None:
        _check_lattice(self)
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    def _unclamped(self) -> Randomizer | None:
        return DiscreteLaplace(top=self.top, eps0=self.eps0) if self.clamped else None

    def worst_triples(self) -> WorstTriples | None:
        """Those that span the range of inputs: x0 or x1 next to the other's, or that between."""
        if self.top > _MOST_SPANNING:
            return WorstTriples((), SHIFTED_TRIPLES, before=self._unclamped())
        top = self.top
        others = tuple((0, top, (x,)) for x in range(top + 1))
        seconds = tuple((top, v, (0,)) for v in range(1, top))
        firsts = tuple((u, top, (0,)) for u in range(1, top))
        found = (*others, *seconds, *firsts)
        return WorstTriples(found, SHIFTED_TRIPLES, apart=True, before=self._unclamped())

    def interval_density(self, log_delta: float) -> IntervalDensity | None:
        """Scale 1/eps0 in units of the range; inputs and outputs are multiples of 1/top."""
        del log_delta
        return IntervalDensity(
            law=self._law_at_places,
            distances=lambda log_density: np.maximum(-log_density, 0.0) / self.eps0,
            chords=LaplaceChords(1.0 / self.eps0),
            bounded=True,
            quantum=1.0 / self.top,
        )

    def _law_at_places(self, places: tuple[float, ...]) -> JointLaw:
        return self._law_at([round(p * self.top) for p in places], _STEALING_CELLS, edges=True)

    @property
    def rate(self) -> float:
        """eps0/top = -log a."""
        return self.eps0 / self.top

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Outputs up to 0, each integer between (or runs of them), and outputs from top on."""
        return self._law_at(self._inputs(inputs), cells, edges=self.top - 1 > _MOST_ATOMS)

    def _law_at(self, at: list[int], cells: int, *, edges: bool) -> JointLaw:
        starts = _run_starts(at, self.top, cells)
        first, last = starts[:-1], starts[1:] - 1
        rows = [self._run_mass(x, first, last) for x in at]
        farther = np.where(2 * first >= self.top, 0, self.top)
        rows.append(self._run_mass(farther, first, last))
        ends = np.array([[self._beyond(x), self._beyond(self.top - x)] for x in at])
        blanket_ends = np.full((1, 2), self._beyond(self.top))
        ends = np.concatenate([ends, blanket_ends])
        mass = np.column_stack([ends[:, 0], np.array(rows), ends[:, 1]])
        found = None
        if edges:
            found = self._edges(at, np.append(0, np.append(first, self.top)), last, farther)
        return JointLaw(mass[:-1], mass[-1], 64 * U * (1.0 + self.eps0), edges=found)

    def _run_mass(self, x: int | Integers, first: Integers, last: Integers) -> Array:
        """a^near (1 - a^length)/(1 + a) for runs of integers on one side of x."""
        near = np.where(first >= x, first - x, x - last)
        grown = -np.expm1(-self.rate * (last - first + 1))
        return np.exp(-self.rate * near) * grown / (1.0 + math.exp(-self.rate))

    def _beyond(self, distance: int) -> float:
        """P(K >= distance)."""
        return math.exp(-self.rate * distance) / (1.0 + math.exp(-self.rate))

    def _edges(
        self, at: list[int], first: Integers, last: Integers, farther: Integers
    ) -> CellEdges:
        last = np.append(0, np.append(last, self.top))
        farther = np.append(self.top, np.append(farther, 0))
        logs = np.array(
            [[-self.rate * np.abs(y - x) for y in (first, last)] for x in (*at, farther)]
        )
        return CellEdges(
            left=logs[:-1, 0],
            right=logs[:-1, 1],
            blanket_left=logs[-1, 0],
            blanket_right=logs[-1, 1],
            err=16 * U * (1.0 + self.eps0),
            log_linear=True,
            wiggle=_run_wiggle(logs[:, 0], logs[:, 1], last - first + 1),
        )

    def variance(self, frequency: float = 0.0) -> float:
        """2a/(1 - a)^2; clamped a/(1 - a)^2 (2 - P(K <= -x) - P(K >= top - x)), largest in between.

        The latter at x = top/2, or next to it.
        """
        del frequency
        # a/(1 - a)^2 = 1/(2 sinh(rate/2))^2.
        unit = 1.0 / (2.0 * math.sinh(0.5 * self.rate)) ** 2
        if not self.clamped:
            return 2.0 * unit
        middle = self.top // 2
        return unit * (2.0 - self._beyond(middle) - self._beyond(self.top - middle))

    def variance_over(self, values: np.ndarray) -> float:
        """Clamped: averaged over these inputs."""
        if not self.clamped:
            return self.variance()
        x = np.asarray(values, dtype=np.float64)
        unit = 1.0 / (2.0 * math.sinh(0.5 * self.rate)) ** 2
        ends = np.exp(-self.rate * x) + np.exp(-self.rate * (self.top - x))
        return unit * (2.0 - float(ends.mean()) / (1.0 + math.exp(-self.rate)))

    def _noise(self, size: int, source: RandomSource) -> Integers:
        return two_sided_geometric(self.eps0, self.top, size, source)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        column = self._reports(reports)
        if not self.clamped:
            return column
        overshoot = 1.0 / math.expm1(self.rate)
        column = np.where(column == 0.0, -overshoot, column)
        return np.where(column == self.top, self.top + overshoot, column)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(LatticeNoise):
    """Discrete Gaussian noise, f(k) proportional to e^{-k^2/(2 sigma^2)}, on the integers.

    Added to an integer in 0 .. top. The blanket is the mass function of the farther end point.

    Clamped, reports are cut to -margin .. top + margin. The end points are still the worst pair
    (docs/theory-noise.md, Theorem 1.1). There is no unbiased estimator in closed form for clamped
    reports, and none is offered: clamping gives the local guarantee, a margin of several sigma
    makes the bias small, and the discrete Laplace has both.

    Parameters
    ----------
    top : int
        The largest input.
    sigma : float
        Parameter of the law, from 0.01; its standard deviation is slightly below.
    clamped : bool
        Whether reports are clamped.
    margin : int
        How far beyond the inputs clamped reports reach.

    Notes
    -----
    Canonne, Kamath, Steinke 2020. At most 4 million integers (top + 75 sigma). Reports are int64,
    drawn exactly (to 2^-1280).
    """

    name: ClassVar[str] = "discrete-gaussian"
    summary: ClassVar[str] = "discrete Gaussian noise on integers"
    top: int
    sigma: float
    clamped: bool = False
    margin: int = 0

    def __post_init__(self) -> None:
        _check_lattice(self)
        sigma = _check.real("sigma", self.sigma, low=0.01, high=1e6)
        object.__setattr__(self, "sigma", sigma)
        margin = _check.count("margin", self.margin, low=0, high=_MOST_INTEGERS)
        object.__setattr__(self, "margin", margin)
        if margin and not self.clamped:
            raise rejected("margin", margin, "0 where reports are not clamped")
        size = self.top + 2 * self._reach + 1
        _check.count("integers, top + 75 sigma,", size, high=_MOST_INTEGERS)

    def _unclamped(self) -> Randomizer | None:
        return DiscreteGaussian(top=self.top, sigma=self.sigma) if self.clamped else None

    @property
    def _margin(self) -> int:
        return self.margin

    @property
    def _reach(self) -> int:
        """Integers beyond the inputs that are looked at: P(|K| > reach) < 1e-299."""
        return math.ceil(self.sigma * math.sqrt(2.0 * _FARTHEST) + 1.0)

    @property
    def eps0(self) -> float:
        """inf; clamped log P(K <= -margin)/P(K <= -margin - top), rounded up."""
        if not self.clamped:
            return math.inf
        near, far = (self._log_beyond(self.margin + x) for x in (0, self.top))
        value = (near - far) * (1.0 + 64 * U) + 4.0 * self._rel
        return value if value <= _check.LARGEST_EPS0 else math.inf

    @property
    def local_rho(self) -> float:
        """top^2/(2 sigma^2), whatever is clamped (Canonne, Kamath, Steinke 2020, Theorem 4).

        For integers u, v: sum exp(-(A (y-u)^2 - (A-1)(y-v)^2)/(2 sigma^2)) is e^{A (A-1) (u-v)^2 /
        (2 sigma^2)} times a sum around a shifted centre, which is largest for an integer one.
        """
        return 0.5 * (self.top / self.sigma) ** 2 * (1.0 + 16 * U)

    def local_epsilon(self, delta: float) -> float:
        """The loss at the first k with P(K <= k) > delta: delta(eps) <= P(loss > eps).

        The loss is (top^2 - 2 k top)/(2 sigma^2), which falls in k.
        """
        if self.eps0 < math.inf:
            return self.eps0
        mass = _masses(self.sigma, self._reach)
        grown = 1.0 + self._rel + 4.0 * mass.size * U
        below = np.cumsum(np.append(mass[:0:-1], mass)) * grown
        k = int(np.searchsorted(below + _SMALLEST_MASS, delta, side="right")) - self._reach
        loss = self.top * (self.top - 2.0 * k) / (2.0 * self.sigma**2)
        return max(loss, 0.0) * (1.0 + 16 * U)

    @property
    def _rel(self) -> float:
        """Relative error of a mass: its exponent's absolute error; sums in pairs add little."""
        reach = (self.top + self._reach) / self.sigma
        return (256.0 + 8.0 * min(reach**2, 1600.0)) * U

    def _log_beyond(self, distance: int) -> float:
        """log P(K >= distance), distance >= 0, for any distance."""
        span = np.arange(distance, distance + self._reach + 1, dtype=np.float64)
        exponent = -0.5 * (span - distance) * (span + distance) / self.sigma**2
        total = float(np.exp(np.maximum(exponent, -745.0)).sum())
        return math.log(total) - 0.5 * (distance / self.sigma) ** 2 - _log_norm(self.sigma)

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Each integer, or runs of them, from 37 sigma below 0 to 37 sigma above top."""
        at = self._inputs(inputs)
        low, high = -self._reach, self.top + self._reach
        y = np.arange(low, high + 1)
        pmf = _masses(self.sigma, self.top + self._reach)
        farther = np.where(2 * y >= self.top, 0, self.top)
        rows = np.array([pmf[np.abs(y - x)] for x in (*at, farther)])
        logs = np.array([-0.5 * ((y - x) / self.sigma) ** 2 for x in (*at, farther)])
        tail = np.full(len(at), (y.size + 1) * _SMALLEST_MASS)
        if self.clamped and self.margin < self._reach:
            rows, logs, y = self._clamp(rows, logs, y)
        rows = np.where(rows < _SMALLEST_MASS, 0.0, rows)
        rows[-1] = np.where(rows[-1] < 10.0 * _SMALLEST_MASS, 0.0, rows[-1])
        narrow = float((logs[:-1] - logs[-1]).max()) <= _WIDEST
        if y.size <= (_MOST_ATOMS if narrow else _FEWEST * self.clamped):
            return JointLaw(rows[:-1], rows[-1], self._rel, tail)
        starts = _group_starts(rows, logs, y, {*at, -(-self.top // 2)}, cells)
        last = np.append(starts[1:], y.size) - 1
        mass = np.add.reduceat(rows, starts, axis=1)
        return JointLaw(
            mass=mass[:-1],
            blanket=mass[-1],
            rel=self._rel + 2.0 * float((last - starts).max()) * U,
            tail=tail,
            edges=CellEdges(
                left=logs[:-1, starts],
                right=logs[:-1, last],
                blanket_left=logs[-1, starts],
                blanket_right=logs[-1, last],
                err=16 * U * (1.0 + 3200.0) + 2.0 * self._rel,
                log_linear=True,
                wiggle=_run_wiggle(logs[:, starts], logs[:, last], last - starts + 1),
            ),
        )

    def _clamp(self, rows: Array, logs: Array, y: Integers) -> tuple[Array, Array, Integers]:
        """Everything beyond the margins joins the ends; their log densities are log masses."""
        left = int(np.searchsorted(y, -self.margin))
        right = int(np.searchsorted(y, self.top + self.margin))
        inner = slice(left + 1, right)
        parts = [rows[:, : left + 1].sum(axis=1), rows[:, right:].sum(axis=1)]
        made = np.column_stack([parts[0], rows[:, inner], parts[1]])
        log_norm = _log_norm(self.sigma)
        ends = [np.log(np.maximum(part, 1e-320)) + log_norm for part in parts]
        logs = np.column_stack([ends[0], logs[:, inner], ends[1]])
        return made, logs, np.append(y[left], y[left + 1 : right + 1])

    def variance(self, frequency: float = 0.0) -> float:
        """sum k^2 f(k), slightly below sigma^2; not defined where clamped."""
        del frequency
        if self.clamped:
            raise self._without("an unbiased estimator of clamped reports")
        mass = _masses(self.sigma, self._reach)
        k = np.arange(mass.size, dtype=np.float64)
        return 2.0 * math.fsum(k * k * mass)

    def _noise(self, size: int, source: RandomSource) -> Integers:
        return discrete_gaussian(self.sigma, size, source)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        if self.clamped:
            raise self._without("an unbiased estimator of clamped reports")
        return self._reports(reports)


@lru_cache(maxsize=8)
def _masses(sigma: float, reach: int) -> Array:
    """f(k) for k = 0 .. reach; relative error as in ``_rel``."""
    k = np.arange(reach + 1, dtype=np.float64)
    mass = np.exp(np.maximum(-0.5 * (k / sigma) ** 2 - _log_norm(sigma), -745.0))
    mass.setflags(write=False)
    return mass


@lru_cache(maxsize=8)
def _log_norm(sigma: float) -> float:
    """log sum_k e^{-k^2/(2 sigma^2)}; what is left out is below e^-700 of it."""
    k = np.arange(1, math.ceil(40.0 * sigma) + 2, dtype=np.float64)
    return math.log1p(2.0 * math.fsum(np.exp(np.maximum(-0.5 * (k / sigma) ** 2, -745.0))))


def _run_starts(at: list[int], top: int, cells: int) -> Integers:
    """Runs of 1 .. top-1: single integers if there are few, else even ones, cut at the inputs."""
    middle = -(-top // 2)
    if top - 1 <= max(_MOST_ATOMS, _FEW_TIMES * cells):
        return np.arange(1, top + 1)
    even = np.unique(np.linspace(1, top, min(cells, top)).astype(np.int64))
    near = np.unique(np.geomspace(1, top // 2, max(8, cells // 8)).astype(np.int64))
    kinks = np.array([*at, *(x + 1 for x in at), middle, 1, top])
    starts = np.unique(np.concatenate([even, near, top - near, kinks]))
    return starts[(starts >= 1) & (starts <= top)]


def _run_wiggle(first: Array, last: Array, size: Integers) -> Array:
    """How far the values of a - c b on a run of integers are from a uniform density.

    m points at equal distances have (m + 1)/(m - 1) times the variance of the uniform density
    between the outer ones. Distances vary like the ratios do, and enter squared: once more than in
    a density.
    """
    moves = np.zeros(size.size)
    for i, row in enumerate(first):
        for j, other in enumerate(first[:i]):
            moves = np.maximum(moves, np.abs((row - other) - (last[i] - last[j])))
    m = np.maximum(size, 2).astype(np.float64)
    return np.where(size > 1, moves + np.log((m + 1.0) / (m - 1.0)), 0.0)


def _group_starts(
    rows: Array, logs: Array, y: Integers, kinks: set[int], cells: int
) -> npt.NDArray[np.intp]:
    """Runs of integers with about equal shares of the change of ratios, weighed by mass.

    Single integers where that is not many times more.
    """
    if y.size <= _FEW_TIMES * cells:
        return np.arange(y.size)
    ratio = logs[:-1] - logs[-1]
    moves = np.minimum(np.abs(np.diff(ratio, axis=1, prepend=ratio[:, :1])).max(axis=0), 1.0)
    share = np.zeros(y.size)
    for power in (1 / 3, 1 / 12, 1 / 48):
        cost = moves * np.maximum(rows.max(axis=0), 1e-320) ** power
        share += cost * (cells / 3.0 / max(float(cost.sum()), 1e-300))
    bins = np.floor(np.cumsum(np.minimum(share, 1.0)))
    fresh = np.diff(bins, prepend=-1.0) != 0.0
    fresh |= np.isin(y, list(kinks)) | np.isin(y - 1, list(kinks))
    fresh[[0, 1, -1]] = True
    return np.flatnonzero(fresh)
