"""E[S]_+ of laws on a lattice h Z: the trapezoidal rule, whose nodes are finitely many.

    (1/N) sum_j M(s_j)^n kappa(s_j),   s_j = alpha + 2 pi i j/(N h),
    kappa(s) = sum_k (k h)_+ e^{-s k h} = h z/(1 - z)^2,   z = e^{-s h},

is E[S]_+ and that of copies of S shifted by multiples of N h; M comes from a fast Fourier
transform (docs/theory.md, section 6.13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
UNDERFLOW = -700.0
_NEGLIGIBLE = 1e-290
_BLOCK = 1 << 15

Complex = npt.NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True)
class Lattice:
    """Points k h of the lattice, N of them in a period, and the tilt."""

    alpha: float
    h: float
    count: int

    @property
    def period(self) -> float:
        """N h."""
        return self.count * self.h


@dataclass(frozen=True)
class Transforms:
    """M_A and V = M - M_A at the nodes, A the atoms with G <= 0, by fast Fourier transforms.

    ``rest`` is M_A/e^log_m, ``active`` V/e^log_v, ``noise`` and ``active_noise`` what atoms that
    the lattice raised have in each; ``err`` and ``active_err`` bound their errors. None for 0.
    """

    rest: Complex | None
    active: Complex | None
    noise: Complex | None
    active_noise: Complex | None
    log_m: float
    log_v: float
    err: float
    active_err: float


def transform(mass: Array, place: npt.NDArray[np.intp], count: int) -> tuple[Complex | None, float]:
    """Sum of mass e^{-2 pi i j place/N} for j = 0..N/2, and a bound on the error of each."""
    total = float(mass.sum())
    err = 16 * U * math.log2(count) * total * 1.01 + _NEGLIGIBLE
    if total == 0.0:
        return None, err
    return np.fft.rfft(np.bincount(place, weights=mass, minlength=count)), err


class Sums(NamedTuple):
    """Sums over the nodes, in units of e^{log_v + (n - 1) log_m}."""

    value: float
    err: float
    near: float


def sum_nodes(found: Transforms, lattice: Lattice, n: int, reach: int) -> Sums:
    """The trapezoidal rule of E[S]_+, its error, and a bound on P(noise, |S| <= reach h)."""
    half = lattice.count // 2
    parts = [
        _block(found, np.arange(start, min(start + _BLOCK, half + 1)), lattice, n, reach)
        for start in range(0, half + 1, _BLOCK)
    ]
    value, doubt, near = (math.fsum(column) for column in zip(*parts, strict=True))
    lift = math.exp(lattice.alpha * lattice.h * reach) * (1.0 + 1e-9)
    count = lattice.count
    return Sums(value / count, doubt * (1.0 + 1e-9) / count, lift * near / count)


def _block(
    found: Transforms, j: npt.NDArray[np.intp], lattice: Lattice, n: int, reach: int
) -> tuple[float, float, float]:
    """Nodes j: sums of the integrand, of its error, and of P(noise, |S| <= reach h)'s integrand."""
    share = math.exp(min(max(found.log_v - found.log_m, UNDERFLOW), 0.0))
    err = found.err + share * found.active_err + 32 * U
    rest, active = _nodes(found.rest, j), _nodes(found.active, j)
    whole = rest + share * active
    power, less, others = _power_difference(whole, rest, active, n)
    size = np.abs(active) + found.active_err
    base = np.maximum(np.abs(whole), np.abs(rest)) + 2.0 * err

    def doubt(m: int) -> Array:
        """Of V sum_i M^i A^{m-1-i}: from V, from M and A, from the products."""
        first = m * base ** (m - 1) * (found.active_err + 16 * m * U * size)
        return first + (m * (m - 1) * base ** max(m - 2, 0) * err) * size

    angle = 2.0 * math.pi / lattice.count * j
    kernel = _kernel(lattice, angle)
    # Nodes j and N - j are conjugate; 0 and N/2 stand alone.
    double = np.where((j == 0) | (2 * j == lattice.count), 1.0, 2.0)
    value = float((double * (power * kernel).real).sum())
    doubts = 1.01 * doubt(n) + 1024 * U * np.abs(power)
    value_err = float((double * np.abs(kernel) * doubts).sum())
    if found.noise is None and found.active_noise is None:
        return value, value_err, 0.0
    noise, active_noise = _nodes(found.noise, j), _nodes(found.active_noise, j)
    near = (active_noise * others + noise * less).real * _window(angle, reach)
    known = base ** (n - 1)
    near_err = found.active_err * known + (np.abs(noise) + found.err) * doubt(n - 1)
    near_err += found.err * np.abs(less)
    near_err += (np.abs(active_noise) + found.active_err) * (
        (n - 1) * base ** (n - 2) * err + 16 * n * U * known
    )
    near_err += 1024 * U * (np.abs(active_noise) * known + np.abs(noise) * np.abs(less))
    return value, value_err, float((double * (near + 1.01 * (2 * reach + 1) * near_err)).sum())


def _nodes(values: Complex | None, j: npt.NDArray[np.intp]) -> Complex:
    return np.zeros(j.size, dtype=complex) if values is None else values[j[0] : j[-1] + 1]


def _kernel(lattice: Lattice, angle: Array) -> Complex:
    """h z/(1 - z)^2 at z = e^{-alpha h + i angle}."""
    m = math.expm1(-lattice.alpha * lattice.h)
    versed = 2.0 * np.sin(0.5 * angle) ** 2
    less = (m * (1.0 - versed) - versed) + 1j * ((1.0 + m) * np.sin(angle))
    return lattice.h * (1.0 + less) / (less * less)


def _window(angle: Array, reach: int) -> Array:
    """Sum of e^{i k angle} over |k| <= reach."""
    small = angle < 1e-12
    half = np.where(small, 1.0, 0.5 * angle)
    ratio = np.sin((2 * reach + 1) * half) / np.sin(half)
    return np.where(small, 2.0 * reach + 1.0, ratio)


def _power_difference(
    whole: Complex, rest: Complex, active: Complex, n: int
) -> tuple[Complex, Complex, Complex]:
    """D_n, D_{n-1} and M^{n-1}; D_n = V (M^{n-1} + ... + A^{n-1}), M^n - A^n in units of V.

    D_{2k} = D_k (M^k + A^k), D_{k+1} = M D_k + A^k V.
    """
    power, low, found = whole, rest, active
    for bit in bin(n - 1)[3:]:
        found = found * (power + low)
        power, low = power * power, low * low
        if bit == "1":
            found = whole * found + low * active
            power, low = power * whole, low * rest
    return whole * found + low * active, found, power
