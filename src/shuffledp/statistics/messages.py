"""Laws of what a count is a sum of: one message's part, and an aggregator's noise.

With K(s) = log E e^(s X), each law gives K, K' and K'' at a real s (``cumulants``), and
log of E e^((s + it) X)/E e^(s X) (``turned``): all that contour integration needs of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Complex = npt.NDArray[np.complexfloating[Any, Any]]

# Tilts are searched up to here: e^1500 is above every ratio of two floats, 2^2098 = e^1454.
_LARGEST_TILT = 1500.0
# Standard deviations of Gaussian noise that are summed: e^-(9^2/2) = 1e-18 is left out.
_WIDE = 9.0
# From this scale on a sum over the whole numbers is the integral to e^-(3^2 pi^2/2) = 5e-20, by
# Poisson's formula: discrete Gaussian noise has the cumulants of a normal law.
_NORMAL = 3.0
# In place of a transform that is 0, so that its log is a number.
_NOTHING = 1e-300


@dataclass(frozen=True)
class Step:
    """The law of one user's, or one message's, part of a count: -1, 0 or 1.

    Attributes
    ----------
    up, stay, down : float
        Their probabilities, which sum to one; each of them to its own relative precision.
    """

    up: float
    stay: float
    down: float = 0.0

    @property
    def flipped(self) -> Step:
        """The law of minus the step."""
        return Step(self.down, self.stay, self.up)

    @property
    def events(self) -> float:
        """The probability that it is not 0."""
        return self.up + self.down

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the largest step that can occur."""
        possible = [at for at, p in ((-1, self.down), (0, self.stay), (1, self.up)) if p > 0.0]
        return possible[0], possible[-1]

    @property
    def mean(self) -> float:
        """Its mean."""
        return self.up - self.down

    @property
    def variance(self) -> float:
        """Its variance: nothing cancels."""
        return self.up * self.stay + self.down * self.stay + 4.0 * self.up * self.down

    @property
    def most_tilt(self) -> float:
        """No limit but that of floats."""
        return _LARGEST_TILT

    def cumulants(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """From the probabilities in proportion to e^(s step)."""
        level, (down, stay, up) = self._tilted(tilt)
        return level, up - down, up * stay + down * stay + 4.0 * up * down

    def turned(self, tilt: Floats, t: Floats) -> Complex:
        """log(1 + up (e^it - 1) + down (e^-it - 1)), with the tilted probabilities."""
        _, (down, _, up) = self._tilted(tilt)
        change = -2.0 * np.sin(0.5 * t) ** 2 * (up + down) + 1j * np.sin(t) * (up - down)
        return np.log1p(np.where(np.abs(1.0 + change) < _NOTHING, _NOTHING - 1.0, change))

    def _tilted(self, tilt: Floats) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
        """K, and the probabilities of -1, 0 and 1 in proportion to e^(s step)."""
        masses = (self.down, self.stay, self.up)
        logs = np.stack(
            [tilt * at + (math.log(p) if p > 0.0 else -math.inf) for at, p in enumerate(masses, -1)]
        )
        top = logs.max(axis=0)
        mass = np.exp(logs - top)
        whole = mass.sum(axis=0)
        down, stay, up = mass / whole
        return top + np.log(whole), (down, stay, up)


@dataclass(frozen=True)
class IntegerNoise:
    """Noise on the whole numbers: P(z) in proportion to e^(-|z|/scale), or to e^(-z^2/(2 scale^2)).

    Attributes
    ----------
    kind : {"discrete-laplace", "discrete-gaussian"}
        Which of the two.
    scale : float
        In counts.
    """

    kind: Literal["discrete-laplace", "discrete-gaussian"]
    scale: float

    @property
    def flipped(self) -> IntegerNoise:
        """The law of minus the noise: the same."""
        return self

    @property
    def mean(self) -> float:
        """0."""
        return 0.0

    @property
    def variance(self) -> float:
        """Laplace: 1/(2 sinh^2(1/(2 scale)))."""
        return float(self.cumulants(np.zeros(1))[2][0])

    @property
    def events(self) -> float:
        """As a Poisson law of that variance."""
        return self.variance

    @property
    def reach(self) -> tuple[float, float]:
        """Every whole number."""
        return -math.inf, math.inf

    @property
    def most_tilt(self) -> float:
        """1/scale for Laplace noise."""
        return 1.0 / self.scale if self.kind == "discrete-laplace" else _LARGEST_TILT

    def cumulants(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """Laplace: e^K = (1 - q)^2/((1 - q e^s)(1 - q e^-s)), q = e^(-1/scale)."""
        if self.kind == "discrete-gaussian":
            return self._gaussian(tilt)
        rate = 1.0 / self.scale
        level = np.full(tilt.shape, 2.0 * math.log(-math.expm1(-rate)))
        mean, variance = np.zeros(tilt.shape), np.zeros(tilt.shape)
        for sign in (1.0, -1.0):
            u, rest = np.exp(sign * tilt - rate), -np.expm1(sign * tilt - rate)
            level -= np.log(rest)
            mean += sign * u / rest
            variance += u / rest**2
        return level, mean, variance

    def turned(self, tilt: Floats, t: Floats) -> Complex:
        """Laplace: the log of (1 - e^u)(1 - e^v)/((1 - e^(u + it))(1 - e^(v - it))).

        u = s - 1/scale and v = -s - 1/scale.
        """
        if self.kind == "discrete-laplace":
            u, v = (sign * tilt - 1.0 / self.scale for sign in (1.0, -1.0))
            return -np.log1p(np.exp(u) / np.expm1(u) * np.expm1(1j * t)) - np.log1p(
                np.exp(v) / np.expm1(v) * np.expm1(-1j * t)
            )
        if self.scale >= _NORMAL:
            return self.scale**2 * (1j * t * tilt - 0.5 * t * t)
        middle, values, mass = self._around(tilt)
        total = sum(mass[..., j] * np.exp(1j * t * z) for j, z in enumerate(values))
        return np.log(np.where(np.abs(total) < _NOTHING, _NOTHING, total)) + 1j * t * middle

    def _gaussian(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        square = self.scale**2
        level = 0.5 * square * tilt**2
        if self.scale >= _NORMAL:
            return level, square * tilt, np.full(tilt.shape, square)
        middle, z, mass = self._around(tilt)
        # sum of e^(-(x - scale^2 s)^2/(2 scale^2)) over whole x, here and at s = 0.
        heights = (
            np.exp(-0.5 * (z + off) ** 2 / square).sum(axis=-1)
            for off in ((middle - square * tilt)[..., None], 0.0)
        )
        here, none = heights
        mean = mass @ z
        return level + np.log(here / none), middle + mean, mass @ (z * z) - mean**2

    def _around(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """The middle of the tilted law, whole numbers around it, and their probabilities."""
        square = self.scale**2
        middle = np.rint(square * tilt)
        reach = math.ceil(_WIDE * self.scale) + 2
        z = np.arange(-reach, reach + 1.0)
        mass = np.exp(-0.5 * (z + (middle - square * tilt)[..., None]) ** 2 / square)
        return middle, z, mass / mass.sum(axis=-1, keepdims=True)


Law = Step | IntegerNoise
