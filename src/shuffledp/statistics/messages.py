"""Laws of what a count is a sum of: one message's part, and an aggregator's noise.

With K(s) = log E e^(s X), each law gives K, K' and K'' at a real s (``cumulants``), and
E e^((s + it) X)/E e^(s X) (``turned``): all that contour integration needs of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

# Tilts are searched up to here: e^1500 is above every ratio of two floats, 2^2098 = e^1454.
_LARGEST_TILT = 1500.0
# Standard deviations of Gaussian noise that are summed: e^-(9^2/2) = 1e-18 is left out.
_WIDE = 9.0
# Below this scale noise is summed over its values, else over the images of Poisson's formula: 23
# values, or 7 images, are all that is not left out.
_NARROW = 1.0


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
    def mean(self) -> float:
        """Its mean."""
        return self.up - self.down

    @property
    def variance(self) -> float:
        """Its variance: nothing cancels."""
        return self.up * self.stay + self.down * self.stay + 4.0 * self.up * self.down

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
    def most_tilt(self) -> float:
        """No limit but that of floats."""
        return _LARGEST_TILT

    def cumulants(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """From the probabilities in proportion to e^(s step)."""
        level, (down, stay, up) = self._tilted(tilt)
        return level, up - down, up * stay + down * stay + 4.0 * up * down

    def turned(self, tilt: Floats, t: Floats) -> tuple[Floats, Floats]:
        """Small ones to their own precision."""
        _, (down, _, up) = self._tilted(tilt)
        x = -(up + down) * 2.0 * np.sin(0.5 * t) ** 2
        y = (up - down) * np.sin(t)
        change = x * (2.0 + x) + y * y
        near = change > -0.5
        far = np.log(np.maximum((1.0 + x) ** 2 + y * y, 1e-300))
        log = 0.5 * np.where(near, np.log1p(np.where(near, change, 0.0)), far)
        return log, np.arctan2(y, 1.0 + x)

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

    def turned(self, tilt: Floats, t: Floats) -> tuple[Floats, Floats]:
        """Laplace: (1 - u)(1 - v)/((1 - u e^it)(1 - v e^-it)), u = q e^s, v = q e^-s."""
        if self.kind == "discrete-gaussian":
            found = self._images(tilt, t) / self._images(tilt, np.zeros_like(t[:, :1]))
            return np.log(np.maximum(np.abs(found), 1e-300)), np.angle(found)
        log, angle = np.zeros(t.shape), np.zeros(t.shape)
        for sign in (1.0, -1.0):
            u, rest = (
                np.exp(sign * tilt - 1.0 / self.scale),
                -np.expm1(sign * tilt - 1.0 / self.scale),
            )
            turn = 2.0 * np.sin(0.5 * t) ** 2
            log -= 0.5 * np.log1p(2.0 * turn * u / rest**2)
            angle += sign * np.arctan2(u * np.sin(t), rest + u * turn)
        return log, angle

    def beyond(self, tail: float) -> int:
        """The least z >= 0 with P(Z > z) <= tail."""
        reach = math.ceil(max(_WIDE * self.scale, -2.0 * self.scale * math.log(tail))) + 3
        z = np.arange(-reach, reach + 1) / self.scale
        mass = np.exp(-np.abs(z) if self.kind == "discrete-laplace" else -0.5 * z * z)
        after = np.cumsum((mass / mass.sum())[::-1])[::-1][reach + 1 :]
        return int(np.searchsorted(-after, -tail))

    def _gaussian(self, tilt: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums over the whole numbers around scale^2 s, where the tilted law has its middle."""
        square = self.scale**2
        middle = np.rint(square * tilt)
        reach = math.ceil(_WIDE * self.scale) + 2
        z = np.arange(-reach, reach + 1.0)
        # (z - scale^2 s)^2 about the middle, less the part that all have in common.
        off = middle - square * tilt
        mass = np.exp(-0.5 * (z + off[:, None]) ** 2 / square)
        whole = mass.sum(axis=1)
        mean = mass @ z / whole
        variance = mass @ (z * z) / whole - mean**2
        none = np.exp(-0.5 * z * z / square).sum()
        return 0.5 * square * tilt**2 + np.log(whole / none), middle + mean, variance

    def _images(self, tilt: Floats, t: Floats) -> npt.NDArray[np.complexfloating[Any, Any]]:
        """E e^((s + it) X), but for a factor that does not depend on t.

        It is the sum over k of exp(-scale^2 r^2/2 + i scale^2 s r), r = t + 2 pi k: few terms for
        wide noise; for narrow noise few values of the noise are not left out.
        """
        square, middle = self.scale**2, self.scale**2 * tilt
        total = np.zeros(t.shape, dtype=complex)
        if self.scale < _NARROW:
            reach = math.ceil(_WIDE * self.scale) + 2
            for z in range(-reach, reach + 1):
                at = np.rint(middle) + z
                total += np.exp(-0.5 * (at - middle) ** 2 / square + 1j * t * at)
            return total
        most = math.ceil(_WIDE / (2.0 * math.pi * self.scale)) + 1
        for k in range(-most, most + 1):
            r = t + 2.0 * math.pi * k
            total += np.exp(-0.5 * square * r * r + 1j * middle * r)
        return total


Law = Step | IntegerNoise
