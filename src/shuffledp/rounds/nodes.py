"""The transform of a sum of losses on a row of nodes rho + i t_j, and its errors.

t_j = j D = x + y with giant steps x and baby steps y, so that with e1(z) = e^z - 1

    e1(i(x+y)l) = e1(ixl) e1(iyl) + e1(ixl) + e1(iyl)

and the sum over losses is one matrix product. phi_i(t)^{T_i} is exp(T_i log phi_i), never a power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from shuffledp.contour import Nodes, Payoff, Stop
from shuffledp.contour.stop import RATIO, smoothed_away, stop_by_windows
from shuffledp.numerics.elementary import Complex, complex_log1p, rotation_minus_one
from shuffledp.numerics.rounding import capped, grown
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.rounds.loss import LossLaw
from shuffledp.rounds.tilt import LEAST, Tilt, Tilted, tilted

U = UNIT_ROUNDOFF
_FLOOR = 1e-3
# The true transform is at most about 1 unit: beyond this there is no value, only its error.
_LARGEST_REAL = 300.0
_CHUNK = 1 << 15
_LEAST_WINDOWS = 16


class LossSum:
    """S = sum of T_i losses of each law i, less eps; relative to N(rho) e^{-rho eps}.

    N(r) = prod N_i(r)^{T_i}, N_i(r) = sum of mass e^{r loss}. Masses need not sum to one.

    Parameters
    ----------
    parts : sequence of (LossLaw, int)
        Each law and how often it occurs.
    tilt : Tilt
        Where the contour crosses the real axis; any rho > 0 is valid.
    epsilon : float
        eps in nats; any number.
    room : float
        Upper bound of S.
    """

    # Where no early stop is found the smoothing ends the nodes.
    must_stop = False

    def __init__(
        self, parts: Sequence[tuple[LossLaw, int]], tilt: Tilt, epsilon: float, *, room: float
    ) -> None:
        self.parts, self.epsilon = parts, epsilon
        self.alpha, self.log_scale = tilt.rho, tilt.log_scale
        self.scale_error = 64 * U * (1.0 + abs(tilt.log_scale) + tilt.log_size)
        self.highest = room
        self.laws = [(tilted(law, tilt.rho), count) for law, count in parts]
        self.size = sum(law.loss.size for law, _ in self.laws)
        self.variance = math.fsum(count * law.variance for law, count in self.laws)
        # At t = 0 every transform is 1 up to the errors of its weights.
        self.axis_err = math.fsum(count * (law.rel + law.rest) for law, count in self.laws)

    @property
    def mass(self) -> float:
        """Upper bound of the transform everywhere, in units of the scale."""
        return math.exp(1.01 * self.axis_err) if self.axis_err < 0.5 else math.inf

    def log_growth(self, b: float) -> float:
        """Upper bound of log N(b) e^{-b eps} less the scale's."""
        total, size = -b * self.epsilon, abs(b * self.epsilon)
        for law, count in self.parts:
            exponent = b * law.loss
            peak = float(exponent.max())
            # Products may underflow, each by less than the smallest float.
            total_mass = float((law.mass * np.exp(exponent - peak)).sum()) + LEAST * law.loss.size
            log = peak + math.log(total_mass)
            total += count * log
            size += count * (abs(log) + abs(peak) + law.loss.size + 16.0)
        return total - self.log_scale + 16 * U * (size + abs(self.log_scale) + 1.0)

    def nodes(self, step: float, count: int) -> Iterator[Nodes]:
        """N(s) e^{-s eps} at the nodes, in blocks of bounded memory."""
        columns = max(16, math.isqrt(count) + 1)
        rows = count // columns + 1
        y = np.arange(columns, dtype=np.float64) * step
        babies = [rotation_minus_one(np.outer(y, law.loss)) for law, _ in self.laws]
        chunk = max(1, _CHUNK // columns)
        for start in range(0, rows, chunk):
            stop = min(start + chunk, rows)
            x = np.arange(start, stop, dtype=np.float64) * (columns * step)
            t = x[:, None] + y[None, :]
            inside = np.arange(start * columns, stop * columns).reshape(t.shape) <= count
            yield Nodes(start == 0, t, inside, *self._values(x, t, babies))

    @np.errstate(over="ignore", invalid="ignore")
    def _values(self, x: Array, t: Array, babies: list[Complex]) -> tuple[Complex, Array]:
        real, imag = np.zeros_like(t), -t * self.epsilon
        log_base, spread = np.zeros_like(t), np.zeros_like(t)
        size = np.abs(imag)
        for (law, count), baby in zip(self.laws, babies, strict=True):
            excess, error = _transform(law, x, baby, t)
            re, im, modulus = complex_log1p(excess)
            base = np.maximum(modulus, _FLOOR)
            error = error + 24 * U * np.abs(excess) * (1.0 + np.abs(excess))
            real += count * re
            imag += count * im
            log_base += count * np.log(base)
            spread += count * (error / base)
            size += count * (np.abs(re) + np.abs(im))
        power = np.exp(np.clip(real, -745.0, _LARGEST_REAL)) * np.exp(1j * imag)
        err = grown(log_base, spread) + np.abs(power) * U * (96.0 + 16.0 * size)
        return capped(power, np.where(real <= _LARGEST_REAL, err, np.inf), self.mass)

    def early_stop(
        self, payoff: Payoff, *, smoothing: float, step: float, log_guard: float
    ) -> Stop | None:
        """Stop where |phi|^T is certified to be negligible up to where the smoothing takes over."""
        if not self.variance > 0.0:
            return None
        alpha, h = self.alpha, smoothing
        far = math.sqrt(2.0 * (log_guard + 1.0)) / h
        t = 2.0 / math.sqrt(self.variance)
        windows = [(t, self._log_modulus(t))]
        while windows[-1][0] * RATIO < far:
            if len(windows) > _LEAST_WINDOWS and windows[-1][1] > -log_guard:
                return None
            t = windows[-1][0] * RATIO
            windows.append((t, self._log_modulus(t)))
        unit = math.sqrt(self.variance) * payoff.kappa(alpha)
        if not unit > 0.0:
            return None
        budget = math.exp(-log_guard) / unit
        if smoothed_away(payoff, alpha, h, windows[-1][0] * RATIO, step)[0] > budget:
            return None
        return stop_by_windows(payoff, alpha, windows, smoothing=h, step=step, budget=budget)

    def _log_modulus(self, t: float) -> float:
        """Upper bound of log prod |phi_i(t')|^{T_i} on all of [t, RATIO t]."""
        return math.fsum(
            count * (math.log(min(_window_bound(law, t), 1.0)) + law.rel + law.rest)
            for law, count in self.laws
        )


def _window_bound(law: Tilted, t: float) -> float:
    """|phi| <= sum over windows W sqrt(1 - (2 sin(t w/2)/w)^2 V), each at most w = pi/(1.3 t) wide.

    (docs/theory.md, Theorem 6.5, window by window.)
    """
    width = math.pi / (RATIO * t) * (1.0 - 1e-9)
    place = law.loss - law.loss[0]
    reach = float(place[-1])
    if reach > 1e6 * width:
        return 1.0
    index = np.floor(place / width).astype(np.intp)
    mass = np.bincount(index, weights=law.weight)
    safe = np.maximum(mass, 1e-300)
    centre = np.bincount(index, weights=law.weight * place) / safe
    square = np.bincount(index, weights=law.weight * (place - centre[index]) ** 2) / safe
    # Sums in any order; a rounded centre only makes the square larger.
    pad = (2.0 * place.size + 64.0) * U
    spread = np.maximum(np.sqrt(0.99 * square) - pad * reach, 0.0)
    x = np.minimum((2.0 * math.sin(0.5 * t * width) / width * spread) ** 2, 1.0)
    return max(float((mass * np.sqrt(1.0 - x)).sum()) * (1.0 + pad), 1e-300)


def _transform(law: Tilted, x: Array, baby: Complex, t: Array) -> tuple[Complex, Array]:
    """phi(t) - 1 on the block, and a bound on its error."""
    giant = rotation_minus_one(np.outer(x, law.loss))
    weighted = giant * law.weight
    flat = baby @ law.weight
    excess = weighted @ baby.T + weighted.sum(axis=1)[:, None] + flat[None, :]
    size = 3.0 * (np.abs(giant) @ law.weight)[:, None] + (np.abs(baby) @ law.weight)[None, :]
    reach = float((law.weight * np.abs(law.loss)).sum())
    error = (4.0 * law.loss.size + 160.0) * U * size + 8 * U * reach * t
    return excess, error + (law.rel + law.rest) * (1.0 + 1e-9)
