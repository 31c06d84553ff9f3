"""How many points of a circle to sum, and at which radii to bound the terms left out.

Floats without error terms choose these numbers. Any choice is valid: `bounds.circle` adds what
the chosen numbers leave out.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shuffledp.bounds.circle import Plan

__all__ = ["Tilted", "plan"]

Array = npt.NDArray[np.float64]
# Most points that are summed: about a second.
_MOST_POINTS = 1 << 15
# Radii that are tried for Chernoff's inequality, as logs of their ratios to rho.
_STEPS = np.geomspace(1e-9, 20.0, 72)
# Sizes M are powers of this, so that similar data sets share their points.
_LADDER = math.sqrt(2.0)

# Numbers of points are multiples of this.
_SHARED = 4


class Tilted:
    """Laws under the tilt rho, in floats.

    Parameters
    ----------
    shares, rests : pair of float
        P(1) and P(0) of the two kinds of bits, under the tilt.
    log_rho : float
        log rho >= 0.
    noise : (str, float, int) or None
        Kind, scale and number of noises.
    """

    def __init__(
        self,
        shares: tuple[float, float],
        rests: tuple[float, float],
        log_rho: float,
        noise: tuple[str, float, int] | None = None,
    ) -> None:
        self.shares, self.rests, self.log_rho, self.noise = shares, rests, log_rho, noise
        # Only radii of at most 1 bound the tails below.
        floor = max(log_rho * (1.0 + 1e-12) + 1e-15, float(_STEPS[0]))
        self.down_steps = np.append(_STEPS[floor < _STEPS], floor)
        self._up = self._log_means(_STEPS)
        self._down = self._log_means(-self.down_steps)

    def variance(self, high: int, low: int) -> float:
        """Variance of the sum of the bits."""
        return sum(n * s * r for n, s, r in zip((high, low), self.shares, self.rests, strict=True))

    def spread(self, high: int, low: int) -> float:
        """An estimate of the variance of the sum of the bits and all noise."""
        found = self.variance(high, low)
        if self.noise is not None:
            kind, scale, times = self.noise
            found += times * (2.0 if kind == "discrete-laplace" else 1.0) * scale * scale
        return found

    @property
    def drift(self) -> float:
        """An estimate of the mean of all noise under the tilt."""
        if self.noise is None:
            return 0.0
        kind, scale, times = self.noise
        if kind == "discrete-gaussian":
            return times * scale * scale * self.log_rho
        up, down = (1.0 / math.expm1(1.0 / scale + s * self.log_rho) for s in (-1.0, 1.0))
        return times * (up - down)

    def above(self, high: int, low: int) -> Array:
        """log E e^(t (W - an estimate of its mean)) under the tilt, for all steps t; maybe inf."""
        return high * self._up[0] + low * self._up[1] + self._up[2]

    def below(self, high: int, low: int) -> Array:
        """The same quantity at -t, for the steps that bound tails below."""
        return high * self._down[0] + low * self._down[1] + self._down[2]

    def _log_means(self, t: Array) -> tuple[Array, Array, Array]:
        """log E e^(tX), centred, for one bit of each kind, and for all noise."""
        found = []
        for s, r in zip(self.shares, self.rests, strict=True):
            if s * r == 0.0:
                found.append(np.zeros_like(t))
                continue
            # log (r + s e^t) - s t, without loss of digits near t = 0.
            log = np.logaddexp(math.log(r), math.log(s) + t) - s * t
            found.append(np.where(np.abs(t) < 1e-4, 0.5 * s * r * t * t, log))
        return found[0], found[1], self._noise(t) - t * self.drift

    def _noise(self, t: Array) -> Array:
        if self.noise is None:
            return np.zeros_like(t)
        kind, scale, times = self.noise
        if kind == "discrete-laplace":
            rate, there = 1.0 / scale, self.log_rho + t
            inside = np.abs(there) < rate
            at = np.where(inside, there, 0.0)
            logs = [-np.log(-np.expm1(x - rate)) for x in (at, -at, self.log_rho, -self.log_rho)]
            return np.where(inside, times * (logs[0] + logs[1] - logs[2] - logs[3]), math.inf)
        if scale > 1.0:
            return 0.5 * times * scale * scale * t * (t + 2.0 * self.log_rho)
        k = np.arange(-16, 41)[:, None] + round(scale * scale * self.log_rho)
        held = -0.5 * (k / scale) ** 2 + k * self.log_rho
        return times * (_log_sum(held + k * t[None, :]) - _log_sum(held))


def _log_sum(logs: Array) -> Array:
    top = logs.max(axis=0)
    found: Array = top + np.log(np.exp(logs - top).sum(axis=0))
    return found


def plan(
    tilted: Tilted, counts: tuple[tuple[int, int], ...], *, goal: float, offset: float, log_b: float
) -> Plan | None:
    """The least M at which aliases and points left out are below e^-goal; None if too large.

    Parameters
    ----------
    tilted : Tilted
        The laws under the tilt.
    counts : tuple of (int, int)
        Numbers of bits of both kinds: one M serves all of these pairs.
    goal : float
        Accuracy in nats, relative to G(rho) rho^-j.
    offset : float
        Largest distance of j from the mean.
    log_b : float
        log (e^eps - 1).
    """
    above = np.max([tilted.above(*kind) for kind in counts], axis=0)
    up = _least((above + goal) / _STEPS, _STEPS)
    below = np.max([tilted.below(*kind) for kind in counts], axis=0)
    down = _least((below + goal) / tilted.down_steps, tilted.down_steps)
    need = max(up[0], down[0]) + offset
    if tilted.log_rho > 0.0:
        level = min(_level(tilted, high, low) for high, low in counts)
        need = max(need, (log_b - level - 10.0) / tilted.log_rho)
    if not need < math.inf:
        return None
    rung = math.ceil(math.log(max(need, 16.0)) / math.log(_LADDER))
    size = 2 * math.ceil(0.5 * _LADDER**rung)
    count = max(_points(tilted, high, low, size, goal) for high, low in counts)
    # A few more points, so that similar data sets share the computations at them.
    count = min(_SHARED * math.ceil(count / _SHARED), size // 2)
    return Plan(size, count, up[1], down[1]) if count <= _MOST_POINTS else None


def _least(sizes: Array, steps: Array) -> tuple[float, float]:
    """The least size, and its step."""
    i = int(np.argmin(sizes))
    return float(sizes[i]), float(steps[i])


def _level(tilted: Tilted, high: int, low: int) -> float:
    """An estimate of log of G(rho) rho^-mean: that of a normal law."""
    return -0.5 * tilted.spread(high, low) * tilted.log_rho**2


def _points(tilted: Tilted, high: int, low: int, size: int, goal: float) -> int:
    """Number of points from which on |G(z)/G(rho)| < e^-goal.

    |1 - p + p e^(it)|^2 = 1 - 4 p (1-p) sin^2.
    """
    first, last = 1, size // 2

    def log_size(i: int) -> float:
        sine = math.sin(math.pi * (i - 0.5) / size) ** 2
        found = 0.0
        for n, s, r in zip((high, low), tilted.shares, tilted.rests, strict=True):
            found += 0.5 * n * math.log1p(-min(4.0 * s * r * sine, 1.0 - 1e-15))
        if tilted.noise is not None:
            kind, scale, times = tilted.noise
            if kind == "discrete-laplace":
                for rate in (1.0 / scale - tilted.log_rho, 1.0 / scale + tilted.log_rho):
                    r = math.exp(-rate)
                    found -= 0.5 * times * math.log1p(4.0 * r * sine / (1.0 - r) ** 2)
            elif scale > 0.5:
                found -= 0.5 * times * (scale * math.pi * (2 * i - 1) / size) ** 2
        return found

    while first < last:
        middle = (first + last) // 2
        if log_size(middle) <= -goal:
            last = middle
        else:
            first = middle + 1
    return first
