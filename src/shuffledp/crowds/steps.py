"""Lower ends: one data set of a crowd, its reports mapped to -1, 0 or 1, and only their sum seen.

With S the sum of the others' steps and v0, v1 the victim's laws of a step,

    D >= sum_s ( sum_f (v0(f) - a v1(f)) P(S = s - f) )_+ .

P(S = s) = e^K tau^-s P_tau(S = s); the law of the tilted steps' sum comes from a discrete Fourier
transform, with bounds on aliases and rounding (docs/theory-crowds.md, Lemma 5.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
_STEPS = np.array([-1.0, 0.0, 1.0])
# Windows of so many standard deviations, and more for small variances: e^-72 is left out.
_WIDE, _WIDER = 12.0, 48
_MOST_POINTS = 1 << 22
# |phi^ - phi| of a transform of three masses, and of its angles.
_PHI = 16 * U
# Weights tau^-s beyond it are of sums that hardly occur.
_FARTHEST = 500.0
# Chernoff bounds are tried at these shares of the normal law's best tilt.
_TRIED = (0.5, 1.0, 1.6, 2.4)


@dataclass(frozen=True)
class Kind:
    """Others with one law of a step: how many, and P(-1), P(0), P(1)."""

    count: int
    law: tuple[float, float, float]


@dataclass(frozen=True)
class Steps:
    """A victim's two laws of a step, and the others'.

    Attributes
    ----------
    first, second : tuple of float
        P(-1), P(0), P(1) of the victim's step in the two data sets.
    kinds : tuple of Kind
        The others, at least one user each.
    rel : float
        Bound on the relative errors of the others' probabilities: those of a sum are off by that
        for each of the others. The victim's are off by it once.
    """

    first: tuple[float, float, float]
    second: tuple[float, float, float]
    kinds: tuple[Kind, ...]
    rel: float

    def log_delta(self, epsilon: float) -> float:
        """Lower bound of log D at this eps >= 0; -inf where none is found."""
        if epsilon > LARGEST_EPSILON:
            return -math.inf
        gains, tau = self._gains(epsilon)
        if tau is None:
            return -math.inf
        tilted, level, size = self._tilted(tau)
        window = _window(tilted)
        if window is None:
            return -math.inf
        start, points = window
        law, doubt = _sum_law(tilted, start, points)
        others = math.fsum(count for count, _ in tilted)
        # Probabilities and their tilted floats, one factor for each of the others.
        rel = math.expm1(min(others * (self.rel + 16 * U) * 1.01, 1.0))
        total, at = _positive(gains, law, doubt, rel, tau, start)
        if not total > 0.0:
            return -math.inf
        moved = at * math.log(tau)
        value = level - moved + math.log(total)
        return value - 32 * U * (size + abs(moved) + abs(value) + 1.0)

    def _gains(self, epsilon: float) -> tuple[Array, float | None]:
        """Lower bounds of v0 - a v1 at the three steps, and the tilt at which they balance."""
        a = math.exp(epsilon)
        first, second = np.array(self.first), np.array(self.second)
        err = (self.rel + 8 * U) * (first + a * second)
        gains = (first - second) - math.expm1(epsilon) * second - err
        if gains[2] <= 0.0:
            return gains, None
        # g_1 tau^2 + g_0 tau + g_-1 = 0 has one root > 0; where none is, sums speak for nothing.
        root = gains[1] ** 2 - 4.0 * gains[2] * gains[0]
        if root <= 0.0:
            return gains, 1.0
        with np.errstate(over="ignore"):
            tau = (-gains[1] + math.sqrt(root)) / (2.0 * gains[2])
        return gains, min(max(tau, 1.0), 1e30)

    def _tilted(self, tau: float) -> tuple[list[tuple[int, Array]], float, float]:
        """Each kind's tilted law, K, and the sum of moduli that K's rounding is a share of."""
        kinds, level, size = [], 0.0, 0.0
        for kind in self.kinds:
            law = np.array(kind.law) * tau**_STEPS
            norm = math.fsum(law)
            kinds.append((kind.count, law / norm))
            level += kind.count * math.log(norm)
            # A sum of three powers is off by a few units, its logarithm by as much.
            size += kind.count * (abs(math.log(norm)) + 1.0)
        return kinds, level, size


def _moments(kinds: Sequence[tuple[int, Array]]) -> tuple[float, float]:
    mean = math.fsum(count * float(law @ _STEPS) for count, law in kinds)
    variance = math.fsum(
        count * float(law @ (_STEPS - float(law @ _STEPS)) ** 2) for count, law in kinds
    )
    return mean, variance


def _window(kinds: Sequence[tuple[int, Array]]) -> tuple[int, int] | None:
    """First sum and length, a power of two; None for too many."""
    mean, variance = _moments(kinds)
    reach = math.ceil(_WIDE * math.sqrt(variance)) + _WIDER
    points = 1 << math.ceil(math.log2(2 * reach + 4))
    return None if points > _MOST_POINTS else (round(mean) - points // 2, points)


def _sum_law(
    kinds: Sequence[tuple[int, Array]], start: int, points: int
) -> tuple[Array, tuple[float, float]]:
    """P_tau(S = s), s = start, .. ; and how much smaller, and larger, the true values may be."""
    angle = 2.0 * math.pi / points * np.arange(points // 2 + 1)
    log_size, turn, size = np.zeros(angle.size), np.zeros(angle.size), np.zeros(angle.size)
    near = np.zeros(angle.size)
    for count, law in kinds:
        real = law[1] + (law[0] + law[2]) * np.cos(angle)
        imaginary = (law[2] - law[0]) * np.sin(angle)
        modulus = np.hypot(real, imaginary)
        log_size += count * np.log(np.maximum(modulus, 1e-300))
        turn += count * np.arctan2(imaginary, real)
        raised = count * np.log(np.minimum(modulus + _PHI, 1.0 + _PHI))
        size += raised
        near += count / (modulus + _PHI)
    power = np.exp(np.maximum(log_size, -745.0)) * np.exp(1j * (turn - start * angle))
    # |prod phi^^N - prod phi^N| <= sum_k N_k _PHI/(|phi_k| + _PHI) prod (|phi| + _PHI)^N, and the
    # rounding of sizes and angles, N pi and start pi at the most, in the exponent.
    counts = math.fsum(count for count, _ in kinds)
    off = _PHI * near + 16 * U * (np.abs(log_size) + math.pi * (counts + abs(start)) + 4.0)
    weight = np.full(angle.size, 2.0)
    weight[[0, -1]] = 1.0
    error = np.exp(np.minimum(size, 1.0)) * off
    rounding = float(weight @ error) / points
    # 6 log2(L) u for each value of a transform (Higham 2002, section 24.1).
    rounding += 6.0 * math.log2(points) * U * float(weight @ np.abs(power)) / points
    found = np.fft.irfft(power.conj(), points)
    rounding = 1.01 * rounding + 1e-300
    return found, (rounding + _outside(kinds, start, points), rounding)


def _outside(kinds: Sequence[tuple[int, Array]], start: int, points: int) -> float:
    """P_tau(S outside the window), by Chernoff on both sides."""
    mean, variance = _moments(kinds)
    total = 0.0
    for sign, reach in ((1.0, start + points - mean), (-1.0, mean - start + 1.0)):
        best = 1.0
        for share in _TRIED:
            r = share * reach / (variance + reach / 3.0)
            log = -r * reach
            for count, law in kinds:
                centred = sign * (_STEPS - float(law @ _STEPS))
                log += count * math.log(float(law @ np.exp(r * centred)))
            # Means are off by rounding, which counts.
            log += 64 * U * (abs(mean) + variance + 1.0) * (1.0 + r) * points
            best = min(best, math.exp(min(log, 0.0)))
        total += best
    return total


def _positive(
    gains: Array, law: Array, doubt: tuple[float, float], rel: float, tau: float, start: int
) -> tuple[float, int]:
    """sum_s tau^(at - s) (sum_f g_f tau^f P_tau(s - f))_+, from below, and ``at``."""
    low = np.maximum(law * (1.0 - rel) - doubt[0], 0.0)
    high = np.maximum(law, 0.0) * (1.0 + rel) + doubt[1] * (1.0 + rel)
    step = np.zeros(law.size - 2)
    for f, gain in zip((-1, 0, 1), gains, strict=True):
        part = slice(1 - f, law.size - 1 - f)
        mass = low[part] if gain > 0.0 else high[part]
        step += gain * tau**f * mass
    sums = start + 1 + np.arange(step.size)
    positive = np.flatnonzero(step > 0.0)
    if not positive.size:
        return 0.0, start
    sums = sums[positive]
    # Measured from the end where tau^-s is largest: no weight is above one.
    at = int(sums[0] if tau >= 1.0 else sums[-1])
    log_weight = -(sums - at) * math.log(tau)
    # Sums before the first that counts have weights above one, which may be any.
    log_weight = np.minimum(log_weight, 0.0)
    weight = np.where(log_weight > -_FARTHEST, np.exp(np.maximum(log_weight, -_FARTHEST)), 0.0)
    size = math.fsum(np.abs(gains) * tau**_STEPS) * float(law.max())
    terms = np.maximum(step - 32 * U * size, 0.0)[positive] * weight
    # Powers of tau: an exponent's rounding.
    return math.fsum(terms) * (1.0 - 4 * U * (4.0 + _FARTHEST)), at
