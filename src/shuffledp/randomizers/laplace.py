"""The Laplace mechanism on an interval or on its two end points."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified
from shuffledp.mechanism import IntervalHigh, IntervalLow, LocalEpsilon, Switch
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports, WorstPairs, WorstTriples
from shuffledp.randomizers.interval import interval_input
from shuffledp.randomizers.law import CellEdges, JointLaw
from shuffledp.randomizers.means import MeanRandomizer
from shuffledp.randomizers.noise import (
    bits_for,
    laplace_cells,
    laplace_reach,
    scales_between,
    step_of,
    to_lattice,
)
from shuffledp.randomizers.values import blocks, real_values
from shuffledp.randomness import RandomSource
from shuffledp.theorems import END_POINTS, SPANNING_TRIPLES, TWO_INPUTS

U = UNIT_ROUNDOFF
# The lattice of reports is finer than the noise by this many binary digits.
FINER = 32
LEAST_EPS0 = 2.0**-50


@dataclass(frozen=True, kw_only=True)
class Laplace(MeanRandomizer):
    """Laplace noise of scale (high - low)/eps0 added to a value in [low, high].

    On [0, 1]: f_x(y) = (eps0/2) e^{-eps0 |y - x|}; the blanket is e^{-eps0/2} times the Laplace law
    centred at 1/2, gamma = e^{-eps0/2}, for inputs in [0, 1] and in {0, 1} alike.

    Reports are float64: middles of the cells of a lattice, 2^32 and more of them to the scale, that
    value and noise fall in, drawn from their exact probabilities (see ``randomizers.noise``).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    low, high : float
        The interval of inputs.
    binary : bool
        True where inputs are only the two end points.

    Notes
    -----
    Dwork, McSherry, Nissim, Smith 2006; Balle et al. 2019 (blanket).
    """

    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = "Laplace noise on an interval"
    eps0: LocalEpsilon
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    binary: Switch = False

    @classmethod
    def from_scale(cls, scale: float, *, low: float = 0.0, high: float = 1.0) -> Laplace:
        """The mechanism whose noise has this scale: eps0 = (high - low)/scale, rounded up.

        Parameters
        ----------
        scale : float
            Scale of the noise, in the units of the input.
        low, high : float
            The interval of inputs.
        """
        scale = _check.positive("scale", scale)
        ends = cls(eps0=1.0, low=low, high=high)
        return cls(eps0=scales_between(ends.low, ends.high, scale), low=ends.low, high=ends.high)

    def variance(self, frequency: float = 0.0) -> float:
        """2 ((high - low)/eps0)^2 for every input; the lattice adds less than 2^-60 of it."""
        del frequency
        scale = (self.high - self.low) / self.eps0
        return 2.0 * scale * scale

    @property
    def message_bits(self) -> float:
        """64: a float."""
        return 64.0

    @property
    def _bits(self) -> int:
        """The lattice has 2^bits steps from low to high."""
        if not self.eps0 >= LEAST_EPS0:
            msg = f"laplace: eps0 = {self.eps0:g}: no sampler below 2^-50"
            raise NotCertified(msg)
        return bits_for(self.eps0, FINER)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high, end_points=self.binary)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return self.sample_on(self._bits, values, source)

    def sample_on(self, bits: int, values: np.ndarray, source: RandomSource) -> Reports:
        """Reports on a lattice of 2^bits steps from low to high."""
        length = self.high - self.low
        step = step_of(self.eps0, bits)
        reports = np.empty(len(values))
        for users in blocks(len(values)):
            place = np.clip((values[users] - self.low) / length, 0.0, 1.0)
            cells = to_lattice(place, 1 << bits, source)
            cells += laplace_cells(step, len(place), source)
            reports[users] = self.low + length * ((cells + 0.5) * 2.0**-bits)
        return reports

    def _unbiased(self, reports: ArrayLike) -> Array:
        return self.checked_on(self._bits, reports)

    def checked_on(self, bits: int, reports: ArrayLike) -> Array:
        """Reports that a lattice of 2^bits steps can give."""
        reach = (self.high - self.low) * (laplace_reach(step_of(self.eps0, bits)) * 2.0**-bits + 1)
        return real_values(reports, self.low - reach, self.high + reach, name="reports")

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Cells inside the interval, cut at the inputs and the middle; one class on either side."""
        at = np.array([interval_input(self, x, end_points=self.binary) for x in inputs])
        return self._law_at(at, cells)

    def _law_at(self, at: Array, cells: int) -> JointLaw:
        edges = _cell_edges(at, cells)
        left, right = edges[:-1], edges[1:]
        mass = np.array([_interval_mass(self.eps0, x, left, right) for x in at])
        far_left = np.where(left + right < 1.0, 1.0, 0.0)
        blanket = np.where(
            far_left == 1.0,
            _interval_mass(self.eps0, 1.0, left, right),
            _interval_mass(self.eps0, 0.0, left, right),
        )
        mass = np.column_stack([_half_line(self.eps0, at), mass, _half_line(self.eps0, 1.0 - at)])
        ends = _half_line(self.eps0, np.array([1.0]))
        blanket = np.concatenate([ends, blanket, ends])
        return JointLaw(
            mass=mass,
            blanket=blanket,
            rel=64 * U * (1.0 + self.eps0),
            edges=self._log_densities(at, left, right),
        )

    def _log_densities(self, at: Array, left: Array, right: Array) -> CellEdges:
        # Outside [0, 1] ratios are constant, so both edges of the outer classes are end points.
        left = np.concatenate([[0.0], left, [1.0]])
        right = np.concatenate([[0.0], right, [1.0]])
        return CellEdges(
            left=-self.eps0 * np.abs(left[None, :] - at[:, None]),
            right=-self.eps0 * np.abs(right[None, :] - at[:, None]),
            blanket_left=-self.eps0 * np.maximum(left, 1.0 - left),
            blanket_right=-self.eps0 * np.maximum(right, 1.0 - right),
            err=16 * U * (1.0 + self.eps0),
            log_linear=True,
        )

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        theorem = TWO_INPUTS if self.binary else END_POINTS
        return WorstPairs(((self.low, self.high),), theorem)

    def worst_triples(self) -> WorstTriples | None:
        """Triples that span the interval, covered by chords."""
        return WorstTriples((), SPANNING_TRIPLES)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, others at one of them (by symmetry either) or halfway."""
        others = (self.low,)
        if not self.binary:
            others = (*others, 0.5 * (self.low + self.high))
        return tuple((self.low, self.high, x2) for x2 in others)


def _cell_edges(at: Array, cells: int) -> Array:
    """Even cells between kinks, and cells that shrink towards the ends of [0, 1].

    Next to the local guarantee only outputs close to an end have a gain above 0.
    """
    kinks = np.unique(np.concatenate([[0.0, 0.5, 1.0], at]))
    parts = []
    for a, b in itertools.pairwise(kinks):
        count = max(2, math.ceil(0.75 * cells * (b - a)))
        parts.append(a + (b - a) * (np.arange(count) / count))
    graded = np.geomspace(1e-12, 0.1, max(8, cells // 8))
    return np.unique(np.concatenate([*parts, graded, 1.0 - graded, [1.0]]))


def _interval_mass(eps0: float, x: float, left: Array, right: Array) -> Array:
    """Mass of [left, right], which lies on one side of x."""
    near = np.minimum(np.abs(left - x), np.abs(right - x))
    return -0.5 * np.exp(-eps0 * near) * np.expm1(-eps0 * (right - left))


def _half_line(eps0: float, distance: Array) -> Array:
    """Mass beyond a point at this distance from the input."""
    return 0.5 * np.exp(-eps0 * distance)
