"""The integrand of the composition contour on a row of nodes rho + i t_j, and its errors.

t_j = j D = x + y with giant steps x and baby steps y, so that with e1(z) = e^z - 1

    e1(i(x+y)l) = e1(ixl) e1(iyl) + e1(ixl) + e1(iyl)

and the sum over losses is one matrix product. phi_i(t)^{T_i} is exp(T_i log phi_i), never a power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.composition.loss import LossLaw
from shuffledp.composition.tilt import Tilt, Tilted, tilted
from shuffledp.divergence.rounding import capped, grown, halved_sum
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
Complex = npt.NDArray[np.complexfloating[Any, Any]]
Whole = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]
_FLOOR = 1e-3
# The true transform is at most about 1 unit: beyond this there is no value, only its error.
_LARGEST_REAL = 300.0
_CHUNK = 1 << 15
_RATIO = 1.3
_LEAST_WINDOWS = 16


class Contribution(NamedTuple):
    """Sums over all nodes -J..J, their errors, and a bound on the transform at t = 0."""

    upper: float
    upper_err: float
    lower: float
    lower_err: float
    mass: float


class EarlyStop(NamedTuple):
    """Where the nodes may stop: last node, smoothing, and bounds on what lies beyond."""

    edge: float
    smoothing: float
    rest_upper: float
    rest_lower: float


class Rows:
    """The tilted laws of all parts, ready to be evaluated on rows of nodes."""

    def __init__(self, parts: Sequence[tuple[LossLaw, int]], tilt: Tilt, epsilon: float) -> None:
        self.laws = [(tilted(law, tilt.rho), count) for law, count in parts]
        self.rho, self.epsilon = tilt.rho, epsilon
        self.variance = math.fsum(count * law.variance for law, count in self.laws)
        # At t = 0 every transform is 1 up to the errors of its weights.
        self.axis_err = math.fsum(count * (law.rel + law.rest) for law, count in self.laws)

    def sums(self, step: float, count: int, h: float) -> Contribution:
        """Sum of the smoothed integrand times rho (rho + 1) ... in units of the scale."""
        columns = max(16, math.isqrt(count) + 1)
        rows = count // columns + 1
        y = np.arange(columns, dtype=np.float64) * step
        babies = [_complex_expm1(y, law.loss) for law, _ in self.laws]
        chunk = max(1, _CHUNK // columns)
        parts = []
        for start in range(0, rows, chunk):
            x = np.arange(start, min(start + chunk, rows), dtype=np.float64) * (columns * step)
            index = np.arange(start * columns, start * columns + x.size * columns)
            parts.append(self._block(x, y, babies, index.reshape(x.size, columns), count, h))
        total = [math.fsum(column) for column in zip(*parts, strict=True)]
        return Contribution(
            upper=total[0],
            upper_err=total[2] * (1.0 + 1e-9) + 16 * U * total[4],
            lower=total[1],
            lower_err=total[3] * (1.0 + 1e-9) + 16 * U * total[5],
            mass=self.mass,
        )

    @property
    def mass(self) -> float:
        """Upper bound of the transform everywhere, in units of the scale."""
        return math.exp(1.01 * self.axis_err) if self.axis_err < 0.5 else math.inf

    def _block(
        self, x: Array, y: Array, babies: list[Complex], index: Whole, last: int, h: float
    ) -> tuple[float, ...]:
        t = x[:, None] + y[None, :]
        real, imag = np.zeros_like(t), -t * self.epsilon
        log_base, spread = np.zeros_like(t), np.zeros_like(t)
        size = np.abs(imag)
        for (law, count), baby in zip(self.laws, babies, strict=True):
            excess, error = _transform(law, x, baby, t)
            re, im, modulus = _complex_log1p(excess)
            base = np.maximum(modulus, _FLOOR)
            error = error + 24 * U * np.abs(excess) * (1.0 + np.abs(excess))
            real += count * re
            imag += count * im
            log_base += count * np.log(base)
            spread += count * (error / base)
            size += count * (np.abs(re) + np.abs(im))
        return self._weigh(t, index <= last, h, real, imag, log_base, spread, size)

    @np.errstate(over="ignore", invalid="ignore")
    def _weigh(
        self,
        t: Array,
        inside: Flags,
        h: float,
        real: Array,
        imag: Array,
        log_base: Array,
        spread: Array,
        size: Array,
    ) -> tuple[float, ...]:
        rho = self.rho
        fade, turn = 0.5 * (h * t) ** 2, 0.5 * h * h * t * (2.0 * rho + 1.0)
        lift = math.exp(0.5 * h * h * rho * (rho + 1.0))
        kernel = lift * np.exp(-np.minimum(fade, 740.0)) * np.exp(1j * turn) * inside
        # Each node but t = 0 stands for its conjugate too.
        kernel = kernel * np.where(t == 0.0, 1.0, 2.0)
        kernel = kernel / ((rho + 1j * t) * (rho + 1.0 + 1j * t))
        power = np.exp(np.clip(real, -745.0, _LARGEST_REAL)) * np.exp(1j * imag)
        err = grown(log_base, spread) + np.abs(power) * U * (96.0 + 16.0 * size)
        power, err = capped(power, np.where(real <= _LARGEST_REAL, err, np.inf), self.mass)
        value = power * kernel
        whole = np.abs(value)
        err = err * np.abs(kernel) * (1.0 + 1e-9)
        err = err + whole * U * (96.0 + 4.0 * fade + 4.0 * np.abs(turn))
        factor = (h * h * math.exp(0.125 * h * h)) * (
            rho * (rho + 1.0) - t * t + 1j * t * (2.0 * rho + 1.0)
        )
        bulge = 1.0 + np.abs(factor) * (1.0 + 32 * U)
        low = value * (1.0 - factor)
        (upper, upper_err), (lower, lower_err) = halved_sum(value.real), halved_sum(low.real)
        return (
            upper,
            lower,
            float(err.sum()) + upper_err,
            float(((err + 64 * U * whole) * bulge).sum()) + lower_err,
            float(whole.sum()),
            float((whole * bulge).sum()),
        )

    # ------------------------------------------------------------------ where |phi|^T is nothing

    def early_stop(self, h: float, log_guard: float, step: float) -> EarlyStop | None:
        """Stop early where |phi|^T is certified to be negligible up to where smoothing is.

        Nodes are ``step`` apart: an interval of length l holds at most l/step + 1 of them.
        """
        if not self.variance > 0.0:
            return None
        far = math.sqrt(2.0 * (log_guard + 1.0)) / h
        grid = [2.0 / math.sqrt(self.variance)]
        logs = [self._log_modulus(grid[0])]
        while grid[-1] * _RATIO < far:
            if len(grid) > _LEAST_WINDOWS and logs[-1] > -log_guard:
                return None
            grid.append(grid[-1] * _RATIO)
            logs.append(self._log_modulus(grid[-1]))
        cut = grid[-1] * _RATIO
        rho = self.rho
        exponent = math.exp(-0.5 * min(h * cut, 37.0) ** 2) * (1.0 / (h * h * cut) + step)
        kernel = 1.0 / (math.hypot(rho, cut) * math.hypot(rho + 1.0, cut))
        lower_kernel = h * h * math.exp(0.125 * h * h)
        upper, lower = exponent * kernel, exponent * (kernel + lower_kernel)
        budget = math.exp(-log_guard) / (math.sqrt(self.variance) * rho * (rho + 1.0))
        if upper > budget:
            return None
        edge = cut
        for t, log in zip(reversed(grid), reversed(logs), strict=True):
            size = math.exp(min(log, 0.0)) * (1.0 + 1e-9)
            kernel = 1.0 / (math.hypot(rho, t) * math.hypot(rho + 1.0, t))
            length = (_RATIO - 1.0) * t + step
            if upper + size * length * kernel > budget:
                break
            upper += size * length * kernel
            lower += size * length * (kernel + lower_kernel)
            edge = t
        return EarlyStop(edge, h, upper, lower) if edge < cut else None

    def _log_modulus(self, t: float) -> float:
        """Upper bound of log prod |phi_i(t')|^{T_i} on all of [t, 1.3 t]."""
        return math.fsum(
            count * (math.log(min(_window_bound(law, t), 1.0)) + law.rel + law.rest)
            for law, count in self.laws
        )


def _window_bound(law: Tilted, t: float) -> float:
    """|phi| <= sum over windows W sqrt(1 - (2 sin(t w/2)/w)^2 V), each at most w = pi/(1.3 t) wide.

    (docs/theory.md, Theorem 6.5, window by window.)
    """
    width = math.pi / (_RATIO * t) * (1.0 - 1e-9)
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
    giant = _complex_expm1(x, law.loss)
    weighted = giant * law.weight
    flat = baby @ law.weight
    excess = weighted @ baby.T + weighted.sum(axis=1)[:, None] + flat[None, :]
    size = 3.0 * (np.abs(giant) @ law.weight)[:, None] + (np.abs(baby) @ law.weight)[None, :]
    reach = float((law.weight * np.abs(law.loss)).sum())
    error = (4.0 * law.loss.size + 160.0) * U * size + 8 * U * reach * t
    return excess, error + (law.rel + law.rest) * (1.0 + 1e-9)


def _complex_expm1(t: Array, loss: Array) -> Complex:
    """e^{i t l} - 1, shape (t, l), without cancellation."""
    phase = np.outer(t, loss)
    half = np.sin(0.5 * phase)
    out = np.empty(phase.shape, dtype=np.complex128)
    out.real = -2.0 * half * half
    out.imag = np.sin(phase)
    return out


def _complex_log1p(z: Complex) -> tuple[Array, Array, Array]:
    """Real and imaginary part of log(1 + z), and |1 + z|."""
    x, y = z.real, z.imag
    modulus = np.hypot(1.0 + x, y)
    near = np.abs(z) < 0.5
    inner = np.where(near, 2.0 * x + x * x + y * y, 0.0)
    real = np.where(near, 0.5 * np.log1p(inner), np.log(np.maximum(modulus, 1e-300)))
    return real, np.arctan2(y, 1.0 + x), modulus
