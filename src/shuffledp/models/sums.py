"""Sum of many whole numbers of one law: certified expectations of positive parts.

P(S = s) = norm^N tau^-s P_tau(S = s), P_tau the law of the tilted steps' sum, of which a discrete
Fourier transform gives a window, with bounds on aliases and rounding (docs/theory-crowds.md,
Lemma 5.1, for steps of any width).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.numerics.roots import bracketed_root
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
# Windows of so many standard deviations, and so many of the widest step: e^-72 is left out.
_WIDE, _WIDER = 12.0, 48
_MOST_POINTS = 1 << 20
# Weights tau^-s beyond it are of sums that hardly occur; tau is at most e^it.
_FARTHEST, _STEEPEST = 500.0, 30.0
# Chernoff bounds are tried at these shares of the normal law's best tilt.
_TRIED = (0.5, 1.0, 1.6, 2.4)
_PARTS = 60
# Of log tau, which any value may be: the bound is a stationary point of it.
_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Sum:
    """S, a sum of ``count`` independent steps.

    Attributes
    ----------
    law : ndarray, shape (2 L + 1,)
        P(-L), .., P(L) of one step.
    count : int
        How many, >= 0.
    rel : float
        Bound on the relative errors of ``law``.
    """

    law: Array
    count: int
    rel: float

    def log_positive(self, gains: Array) -> float:
        """A lower bound of log sum_s ( sum_f g(f) P(S = s - f) )_+; -inf where none is found.

        Parameters
        ----------
        gains : ndarray, shape (2 F + 1,)
            g(-F), .., g(F), from below.
        """
        if self.count == 0:
            total = math.fsum(np.maximum(gains, 0.0))
            return math.log(total) - 4 * U if total > 0.0 else -math.inf
        log_tau = _balance(gains)
        if log_tau is None:
            return -math.inf
        reach = self.law.size // 2
        steps = np.arange(-reach, reach + 1.0)
        grown = self.law * np.exp(log_tau * steps)
        norm = math.fsum(grown)
        tilted = grown / norm
        window = self._window(tilted, steps)
        if window is None:
            return -math.inf
        start, points = window
        law, more, less = self._sum_law(tilted, steps, start, points)
        # Each step's tilted probabilities are off by that, relatively.
        each = self.rel + (2 * reach + 16 + 4 * abs(log_tau) * reach) * U
        rel = math.expm1(min(self.count * each * 1.01, 1.0))
        low = np.maximum(law * (1.0 - rel) - more, 0.0)
        high = (np.maximum(law, 0.0) + less) * (1.0 + rel)
        total, at = _positive(gains, low, high, log_tau, start)
        if not total > 0.0:
            return -math.inf
        level, moved = self.count * math.log(norm), at * log_tau
        value = level - moved + math.log(total)
        size = self.count * (each / U + abs(math.log(norm))) + abs(moved) + abs(value) + 1.0
        return value - 4 * U * size

    def _window(self, tilted: Array, steps: Array) -> tuple[int, int] | None:
        """First sum and length, a power of two; None for too many."""
        mean = float(tilted @ steps)
        variance = self.count * float(tilted @ (steps - mean) ** 2)
        reach = math.ceil(_WIDE * math.sqrt(variance)) + _WIDER * (steps.size // 2)
        points = 1 << math.ceil(math.log2(2 * reach + 4))
        if points > _MOST_POINTS:
            return None
        return round(self.count * mean) - points // 2, points

    def _sum_law(
        self, tilted: Array, steps: Array, start: int, points: int
    ) -> tuple[Array, float, float]:
        """P_tau(S = s), s = start, ..; by how much true values may be smaller, and larger."""
        reach = steps.size // 2
        angle = 2.0 * math.pi / points * np.arange(points // 2 + 1)
        phi = np.zeros(angle.size, dtype=complex)
        for step, chance in zip(steps, tilted, strict=True):
            phi += chance * np.exp(1j * step * angle)
        # Angles up to L pi are off by 2 units of themselves, and sums of 2 L + 1 terms.
        off = (16 + 10 * reach) * U
        modulus = np.abs(phi)
        log_size = self.count * np.log(np.maximum(modulus, 1e-300))
        turn = self.count * np.angle(phi) - start * angle
        power = np.exp(np.maximum(log_size, -745.0)) * np.exp(1j * turn)
        # |phi^^N - phi^N| <= N off/(|phi| + off) (|phi| + off)^N; rounding in the exponent.
        raised = np.exp(np.minimum(self.count * np.log(modulus + off), 1.0))
        doubt = self.count * off / (modulus + off)
        doubt += 16 * U * (np.abs(log_size) + math.pi * (self.count + abs(start)) + 4.0)
        weight = np.full(angle.size, 2.0)
        weight[[0, -1]] = 1.0
        rounding = float(weight @ (raised * doubt)) / points
        # 6 log2(L) u for each value of a transform (Higham 2002, section 24.1).
        rounding += 6.0 * math.log2(points) * U * float(weight @ np.abs(power)) / points
        rounding = 1.01 * rounding + 1e-300
        found = np.fft.irfft(power.conj(), points)
        return found, rounding + self._outside(tilted, steps, start, points), rounding

    def _outside(self, tilted: Array, steps: Array, start: int, points: int) -> float:
        """P_tau(S outside the window), by Chernoff on both sides."""
        middle = float(tilted @ steps)
        mean, width = self.count * middle, steps.size // 2
        variance = self.count * float(tilted @ (steps - middle) ** 2)
        total = 0.0
        for sign, reach in ((1.0, start + points - mean), (-1.0, mean - start + 1.0)):
            best = 1.0
            for share in _TRIED:
                r = share * reach / (variance + width * reach / 3.0)
                bound = float(tilted @ np.exp(r * sign * (steps - middle)))
                log = self.count * math.log(bound) - r * reach
                # The mean is off by rounding, which counts, and so does the sum.
                log += 64 * U * (abs(mean) + variance + self.count + 1.0) * (1.0 + r * width)
                best = min(best, math.exp(min(log, 0.0)))
            total += best
        return total


def _balance(gains: Array) -> float | None:
    """log tau >= 0 at which sum_f g(f) tau^f turns positive; None where it does not."""
    half = gains.size // 2
    powers = np.arange(-half, half + 1)

    def sign(log_tau: float) -> float:
        logs = log_tau * powers
        return float(gains @ np.exp(logs - logs.max()))

    steepest = _STEEPEST / half
    before = 0.0
    if sign(0.0) >= 0.0:
        return 0.0
    for log_tau in np.geomspace(1e-8, steepest, _PARTS):
        if sign(float(log_tau)) > 0.0:
            return bracketed_root(sign, before, float(log_tau), absolute=_NEAR)
        before = float(log_tau)
    return None


def _positive(
    gains: Array, low: Array, high: Array, log_tau: float, start: int
) -> tuple[float, int]:
    """sum_s tau^(at - s) (sum_f g_f tau^f P_tau(s - f))_+, from below, and ``at``."""
    half = gains.size // 2
    powers = np.exp(log_tau * np.arange(-half, half + 1))
    grown = gains * powers
    rounding = (8.0 + gains.size + 2.0 * log_tau * half) * U
    kept = np.convolve(np.maximum(grown, 0.0), low, "valid") * (1.0 - rounding)
    step = kept - np.convolve(np.maximum(-grown, 0.0), high, "valid") * (1.0 + rounding)
    sums = start + half + np.arange(step.size)
    positive = np.flatnonzero(step > 0.0)
    if not positive.size:
        return 0.0, start
    at = int(sums[positive[0]])
    log_weight = -(sums[positive] - at) * log_tau
    near = log_weight > -_FARTHEST
    terms = step[positive][near] * np.exp(log_weight[near])
    return math.fsum(terms) * (1.0 - 4 * U * (4.0 + _FARTHEST)), at
