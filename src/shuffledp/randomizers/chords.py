"""How far a noise density is from the chord of two inputs: what a cover of an interval rests on.

Inputs and distances are in units of the interval of inputs. For inputs a and b = a + h and
x = (1 - l) a + l b, the chord is (1 - l) f_a + l f_b, the geometric interpolation f_a^(1-l) f_b^l.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.arithmetic.intervals import exp_or_infinite
from shuffledp.randomizers.law import JointLaw

U = UNIT_ROUNDOFF


class Chords(Protocol):
    """A log-concave density against chords of inputs h apart."""

    @property
    def noise(self) -> float:
        """Scale of the noise."""
        ...

    def below(self, h: float, more: float = 0.0) -> tuple[float, float]:
        """(k, reach): f_x >= k chord wherever a or b is at most ``reach`` away from the output.

        ``more`` is added to the reach there would be without it.
        """
        ...

    def above(self, h: float) -> tuple[float, float]:
        """(k, reach): f_x <= k chord; <= chord at outputs farther than ``reach`` from a and b."""
        ...


@dataclass(frozen=True)
class LaplaceChords:
    """f_x(y) proportional to e^{-|y - x|/noise}.

    With t = h/noise: by Hoeffding's lemma the chord is at most e^{t^2/8} times the geometric
    interpolation, which is at most f_x. Where y is not between a and b, f_x is the geometric
    interpolation, so at most the chord; between them it is at most e^{t/2} times it.
    """

    noise: float

    def below(self, h: float, more: float = 0.0) -> tuple[float, float]:
        """(e^{-t^2/8}, inf)."""
        del more
        return math.exp(-((h / self.noise) ** 2) / 8.0) * (1.0 - 8 * U), math.inf

    def above(self, h: float) -> tuple[float, float]:
        """(e^{t/2}, h)."""
        return exp_or_infinite(0.5 * h / self.noise) * (1.0 + 8 * U), h


@dataclass(frozen=True)
class GaussianChords:
    """f_x(y) proportional to e^{-(y - x)^2/(2 noise^2)}.

    The log ratio of f_a and f_b is t = h (y - m)/noise^2 with m their middle: by Hoeffding's lemma
    the chord is at most e^{t^2/8} times the geometric interpolation, and f_x is
    e^{l (1 - l) h^2/(2 noise^2)} times that, which is at least 1 and at most e^{h^2/(8 noise^2)}.
    """

    noise: float
    # Outputs farther than this from the input are left out of what is said of it.
    reach: float

    def below(self, h: float, more: float = 0.0) -> tuple[float, float]:
        """(e^{-(h (reach + h)/noise^2)^2/8}, reach)."""
        reach = self.reach + more
        far = h * (reach + h) / self.noise**2
        return math.exp(-(far**2) / 8.0) * (1.0 - 8 * U), reach

    def above(self, h: float) -> tuple[float, float]:
        """(e^{h^2/(8 noise^2)}, inf)."""
        return exp_or_infinite((h / self.noise) ** 2 / 8.0) * (1.0 + 8 * U), math.inf


@dataclass(frozen=True)
class IntervalDensity:
    """Self-decomposable, log-concave, symmetric noise on an interval, as label stealing sees it.

    Attributes
    ----------
    law : callable
        Places of inputs in [0, 1] -> law on cells with edges.
    distances : callable
        A row's log densities -> distances of outputs from that row's input.
    chords : Chords
        How far the density is from chords.
    bounded : bool
        Whether likelihood ratios are bounded.
    two_inputs : bool
        Whether the end points are all inputs there are.
    quantum : float
        Inputs are multiples of it; 0 for all real numbers.
    """

    law: Callable[[tuple[float, ...]], JointLaw]
    distances: Callable[[Array], Array]
    chords: Chords
    bounded: bool
    two_inputs: bool = False
    quantum: float = 0.0
