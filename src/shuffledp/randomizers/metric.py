"""Laplace noise under metric privacy: neighbours are values at most a given distance apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.noises import Noise
from shuffledp.ball.record import WorstPairs
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.line import Line
from shuffledp.mechanism.parameters import Follows, IntervalHigh, IntervalLow, Positive
from shuffledp.neighbours import REPLACEMENT, Relation, within
from shuffledp.randomizers.additive import IntervalNoise
from shuffledp.randomizers.base import Input
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.noise import Floats, bits_for, scales_between
from shuffledp.theorems import METRIC_ENVELOPE

U = UNIT_ROUNDOFF
# The lattice's step is at most this fraction of the distance, in binary digits, where the sampler
# has them: what rounding adds to the distance is then below the numerical width of every bound.
_FINER = 20
# Places in [0, 1] are floats.
_FINEST = 50
# Cells between the middle of the two values and the end of the interval: gains are then known to
# a relative eps0/2000.
_CELLS = 2000
# Distances are rounded up to an even number of these steps of the interval: the middle is a float.
_GRID = 2.0**50
# Inputs of the envelope's law.
ENVELOPE_INPUTS = ((0,), (1,))


@dataclass(frozen=True, kw_only=True, repr=False)
class MetricLaplace(IntervalNoise):
    """Laplace noise of a given scale added to a value in [low, high]; neighbours differ by little.

    f_x(y) = e^{-|y - x|/scale}/(2 scale), so that f_x <= e^{|x - x'|/scale} f_x': metric (geo-)
    privacy of 1/scale for each unit of distance. Neighbouring datasets: one user's value moved by
    at most ``distance``; all others hold anything in [low, high]. The blanket, of mass e^{-(high -
    low)/(2 scale)}, does not depend on the distance; the law below uses its outer part.

    With the value at the end of the interval and one ``distance`` further inside, and the same
    mirrored, half of the outputs of each make one law whose gains dominate those of every pair of
    neighbours, for every eps and n (docs/theory-noise.md, Theorem 3.1). At distance = high - low it
    is Laplace's own.

    Reports are those of values rounded to a lattice, which can move neighbours apart by a step of
    it; upper ends are those of a distance larger by that (docs/theory.md, Lemma R2).

    Inputs of its law are values, or (0,) and (1,) for the two laws of the envelope.

    Parameters
    ----------
    scale : float
        Scale of the noise, in the units of the input; (high - low)/scale <= 300.
    low, high : float
        The interval of inputs.
    distance : float, optional
        Largest distance of two neighbouring values; high - low by default.

    Notes
    -----
    Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013 (geo-indistinguishability); Wang et al.
    2024, section 6 (amplification by p, beta and q). The sampler is that of ``Laplace``, on a finer
    lattice where the distance is small.

    Examples
    --------
    >>> import shuffledp as sd
    >>> hours = sd.MetricLaplace(scale=6.0, low=0.0, high=24.0, distance=1.0)
    >>> near, any_two = (
    ...     sd.shuffle(hours.at(distance), n=1000, rtol=1e-3).epsilon(delta=1e-6)
    ...     for distance in (1.0, 24.0)
    ... )
    >>> near.upper < any_two.upper / 8
    True
    """

    in_files: ClassVar[bool] = False
    name: ClassVar[str] = "metric-laplace"
    summary: ClassVar[str] = "Laplace noise on an interval, neighbours up to a distance apart"
    scale: Annotated[float, Positive(high=1e100)]
    low: IntervalLow = 0.0
    high: IntervalHigh = 1.0
    distance: Annotated[
        float | None, Follows(Positive(high=lambda m: m.high - m.low), lambda m: m.high - m.low)
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.local_epsilon("(high - low)/scale", self.eps0)

    @property
    def eps0(self) -> float:
        """(high - low)/scale, rounded up: pure privacy of any two values, neighbours or not."""
        return scales_between(self.low, self.high, self.scale)

    @property
    def reach(self) -> float:
        """The distance, as a number."""
        return self.high - self.low if self.distance is None else self.distance

    def local_epsilon(self, delta: float) -> float:
        """(distance + step)/scale, rounded up: of one report alone, for neighbours."""
        del delta
        return min(self.eps0, self.separation * self.eps0 * (1.0 + 4 * U))

    @property
    def local_rho(self) -> float:
        """By the pure guarantee of neighbours."""
        return 0.5 * self.local_epsilon(0.5) ** 2 * (1.0 + 8 * U)

    @property
    def separation(self) -> float:
        """Largest distance of two neighbours after rounding to the lattice, of high - low.

        Their places in [0, 1] come from floats, each with an error of at most 3u.
        """
        share = self.reach / (self.high - self.low) * (1.0 + 4 * U)
        return min(1.0, (share + 2.0**-self.bits + 8 * U) * (1.0 + 4 * U))

    @property
    def bits(self) -> int:
        """The lattice has 2^bits steps from low to high, which it is at least Laplace's own."""
        wanted = bits_for((self.high - self.low) / self.reach, _FINER)
        return max(super().bits, min(wanted, _FINEST))

    def at(self, distance: float) -> MetricLaplace:
        """The same mechanism for neighbours at most this far apart."""
        return dataclasses.replace(self, distance=distance)

    @property
    def relation(self) -> Relation:
        """One value moved by at most the distance, if that is not all of the interval."""
        return REPLACEMENT if self.reach >= self.high - self.low else within(self.reach)

    def unrestricted(self) -> Laplace:
        """Laplace's own: any two values of the interval."""
        return self._laplace

    @property
    def _laplace(self) -> Laplace:
        return Laplace(eps0=self.eps0, low=self.low, high=self.high)

    def worst_pairs(self) -> WorstPairs:
        """The envelope; mirrored, the other direction has the same law."""
        return WorstPairs((ENVELOPE_INPUTS,), METRIC_ENVELOPE)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at an end or next to it, others at the far end, with the victim, or halfway."""
        inner = max(self.low, self.high - self.reach)
        if Fraction(self.high) - Fraction(inner) > Fraction(self.reach):
            inner = math.nextafter(inner, self.high)
        others = (self.low, self.high, inner, 0.5 * (self.low + self.high))
        return tuple((self.high, inner, x2) for x2 in dict.fromkeys(others))

    # ------------------------------------------------------------------------------- its law

    def line(self, inputs: Sequence[Input]) -> Line | None:
        """That of Laplace's own for values; None of the envelope."""
        values = not any(isinstance(x, tuple) for x in inputs)
        return self._laplace.line(inputs) if values else None

    def cells(self, inputs: Sequence[Input]) -> Cells | None:
        """Cells of the envelope of all neighbours; None of values.

        On the interval [0, 1], with the distance d: the outputs beyond 1 - d/2 of the pair
        (1, 1 - d) against the blanket, and the same with the pair exchanged (docs/theory-noise.md,
        Theorem 3.1). Exchanged it is the same law.
        """
        if set(inputs) != set(ENVELOPE_INPUTS):
            return None
        step = min(1.0, 2.0 * math.ceil(self.separation * _GRID / 2.0) / _GRID)
        noise = Noise(arb(1), 1 / arb(self.eps0), arb(0), arb(1))
        middle = 1.0 - 0.5 * step
        line = Line(noise, arb(1), arb(1.0 - step), None)
        edges = [float(y) for y in np.linspace(middle, 1.0, _CELLS + 1)]
        right = line.cells_beyond(arb(middle), edges)
        return Cells([*right, *(cell.swap() for cell in right)], arb(0), arb(0))

    # ---------------------------------------------------------------------------- running it

    def variance(self, frequency: float = 0.0) -> float:
        """2 scale^2 for every input; the lattice adds less than 2^-60 of it."""
        return self._laplace.variance(frequency)

    @property
    def _finest(self) -> float:
        return self.eps0

    def tail(self, size: Fraction) -> arb:
        """That of Laplace."""
        return self._laplace.tail(size)

    def inverse_tail(self, tail: Floats, doubt: Floats) -> tuple[Floats, Floats]:
        """That of Laplace."""
        return self._laplace.inverse_tail(tail, doubt)
