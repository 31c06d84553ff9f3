"""The hockey-stick curve of N(0, 1) against N(mu, 1), and the mu whose curve passes a point."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _special as special
from shuffledp.numerics import LogInterval
from shuffledp.pair import Array

# ndtr, erfcx and exp are taken to be within 1e-13; arguments and differences add to that.
_REL = 1e-10
# Farther out nothing is claimed; the fourth power of it is in the range of floats.
_LARGEST_Z = 1e70
_NARROW = 2e-4
_FAR_LEFT = -5.0
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


def log_delta_gaussian(mu: float | Array, epsilon: float | Array) -> Array:
    """log of Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), to about 1e-10, for eps >= 0.

    With z = eps/mu and m(z) = (1 - Phi(z))/phi(z) it is phi(z - mu/2) (m(z - mu/2) - m(z + mu/2));
    for small mu the difference is mu (1 - z m(z)) up to a relative mu^2/8 or so.
    """
    mu, epsilon = np.asarray(mu, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    z = _standardized(mu, epsilon)
    left, right = z - 0.5 * mu, z + 0.5 * mu
    near = np.maximum(left, _FAR_LEFT)
    narrow = mu < _NARROW
    slope = _one_minus_z_mills(np.where(narrow, z, 1.0))
    wide = _mills(near) - _mills(np.where(narrow, near + 1.0, right))
    gap = np.where(narrow, mu * slope, np.maximum(wide, 1e-300))
    bulk = -0.5 * near**2 - _LOG_ROOT + np.log(gap)
    # Far to the left of the kink nearly all mass counts.
    density = np.exp(-0.5 * np.maximum(left, -38.0) ** 2 - _LOG_ROOT)
    head = special.ndtr(-np.minimum(left, _FAR_LEFT)) - density * _mills(np.maximum(right, 0.0))
    return np.where(left < _FAR_LEFT, np.log(np.maximum(head, 0.5)), bulk)


def error_of_log(mu: float | Array, epsilon: float | Array) -> Array:
    """Bound on the error of ``log_delta_gaussian``."""
    mu, epsilon = np.asarray(mu, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    z = _standardized(mu, epsilon)
    far = z > _LARGEST_Z
    z = np.where(far, 0.0, z)
    # Narrow: the curvature left out; wide: the difference of two Mills ratios cancels.
    cancelled = np.where(
        mu < _NARROW, np.minimum(mu, _NARROW) ** 2 * (1.0 + z * z), (1.0 + z * z) / mu * 1e-14
    )
    rounded = 1e-15 * (1.0 + z * z) * (1.0 + z * z)
    error = _REL + cancelled + np.minimum(rounded, 1e-9 * (1.0 + z * z))
    return np.where(far, np.inf, error)


class GaussianCurve:
    """The Gaussian mechanism's curve as a source: mu = sensitivity/sigma."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def log_delta(self, epsilon: float, *, width: float = 1.0) -> LogInterval:
        """Certified bracket, about 1e-9 wide; far out what is above all beyond."""
        del width
        farthest = 0.99 * _LARGEST_Z * self.mu
        if epsilon > farthest:
            return LogInterval(-math.inf, self.log_delta(farthest).high)
        value = float(log_delta_gaussian(self.mu, epsilon))
        error = float(error_of_log(self.mu, epsilon))
        return LogInterval(value - error, min(value + error, 0.0))

    def rough_log_delta(self, epsilon: float) -> float:
        """The value itself."""
        return min(float(log_delta_gaussian(self.mu, epsilon)), 0.0)

    def log_floor(self) -> float:
        """delta falls to 0."""
        return -math.inf


def mu_through(epsilon: float, log_delta: float) -> float:
    """About the mu with log delta_mu(eps) = log_delta."""
    if log_delta == -math.inf:
        return 0.0
    low, high = -60.0, 5.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if float(log_delta_gaussian(math.exp(middle), epsilon)) < log_delta:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _standardized(mu: Array, epsilon: Array) -> Array:
    """eps/mu; what is beyond ``_LARGEST_Z`` only stays beyond it, and in the range of floats."""
    with np.errstate(over="ignore"):
        return np.minimum(epsilon / mu, 2.0 * _LARGEST_Z)


def _mills(z: Array) -> Array:
    """(1 - Phi(z))/phi(z)."""
    return math.sqrt(0.5 * math.pi) * special.erfcx(z / math.sqrt(2.0))


def _one_minus_z_mills(z: Array) -> Array:
    """1 - z m(z), by the asymptotic series where the difference would cancel."""
    far = z > 30.0
    safe = np.where(far, z, 30.0)
    inverse = 1.0 / (safe * safe)
    series = np.zeros_like(safe)
    for k in range(12, 0, -1):
        series = inverse * (2 * k - 1) * (1.0 - series)
    return np.where(far, series, 1.0 - np.where(far, 0.0, z) * _mills(np.where(far, 0.0, z)))
