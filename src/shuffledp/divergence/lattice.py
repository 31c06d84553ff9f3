"""E[S]_+ of laws on a lattice h Z: the trapezoidal rule, whose nodes are finitely many.

    (1/N) sum_j M(s_j)^n kappa(s_j),   s_j = alpha + 2 pi i j/(N h),
    kappa(s) = sum_k (k h)_+ e^{-s k h} = h z/(1 - z)^2,   z = e^{-s h},

is E[S]_+ and that of copies of S shifted by multiples of N h; M comes from a fast Fourier
transform (docs/theory.md, section 6.13).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.numerics.rounding import halved_sum
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

    ``rest`` is M_A/e^log_m, ``active`` V/e^log_v, ``noise`` and ``active_noise`` the part of each
    that atoms which the lattice raised have; ``err`` and ``active_err`` bound their errors. None
    for 0.
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
    if total == 0.0:
        return None, _NEGLIGIBLE
    # What falls on one place is added up first, one after another.
    folded = int(np.bincount(place).max())
    err = (16.0 * math.log2(count) + folded) * U * total * 1.01 + _NEGLIGIBLE
    return np.fft.rfft(np.bincount(place, weights=mass, minlength=count)), err


class Sums(NamedTuple):
    """Sum over the nodes and its error, in units of e^{log_v + (n - 1) log_m}."""

    value: float
    err: float


def sum_nodes(found: Transforms, lattice: Lattice, n: int) -> Sums:
    """The trapezoidal rule of E[S]_+, and its error."""
    parts = [_value(found, j, lattice, n) for j in _blocks(lattice)]
    value, doubt = (math.fsum(column) for column in zip(*parts, strict=True))
    return Sums(value / lattice.count, doubt * (1.0 + 1e-9) / lattice.count)


def near_zero(found: Transforms, lattice: Lattice, n: int, reach: int) -> float:
    """Upper bound of P(first message noise, |S| <= reach h, some message active), in those units.

    Whatever the period is: copies of S only add to it.
    """
    if found.noise is None and found.active_noise is None:
        return 0.0
    total = math.fsum(_near(found, j, lattice, n, reach) for j in _blocks(lattice))
    lift = math.exp(lattice.alpha * lattice.h * reach) * (1.0 + 1e-9)
    return max(lift * total / lattice.count, 0.0)


def _blocks(lattice: Lattice) -> Iterator[npt.NDArray[np.intp]]:
    """Nodes 0..N/2, in blocks; the others are their conjugates."""
    half = lattice.count // 2
    for start in range(0, half + 1, _BLOCK):
        yield np.arange(start, min(start + _BLOCK, half + 1))


class _Powers(NamedTuple):
    """At some nodes: M^n - A^n over V, M^{n-1} - A^{n-1} over V, M^{n-1}, all times V; bounds."""

    difference: Complex
    less: Complex
    others: Complex
    base: Array
    size: Array
    err: float


def _powers(found: Transforms, j: npt.NDArray[np.intp], n: int) -> _Powers:
    share = math.exp(min(max(found.log_v - found.log_m, UNDERFLOW), 0.0))
    err = found.err + share * found.active_err + 32 * U
    rest, active = _nodes(found.rest, j), _nodes(found.active, j)
    whole = rest + share * active
    size = np.abs(active) + found.active_err
    base = np.maximum(np.abs(whole), np.abs(rest)) + 2.0 * err
    return _Powers(*_power_difference(whole, rest, active, n), base, size, err)


def _doubt(at: _Powers, m: int, active_err: float) -> Array:
    """Error of V sum_i M^i A^{m-1-i}: from V, from M and A, from the products."""
    first = m * at.base ** (m - 1) * (active_err + 16 * m * U * at.size)
    return first + (m * (m - 1) * at.base ** max(m - 2, 0) * at.err) * at.size


def _double(lattice: Lattice, j: npt.NDArray[np.intp]) -> Array:
    """Nodes j and N - j are conjugate; 0 and N/2 stand alone."""
    return np.where((j == 0) | (2 * j == lattice.count), 1.0, 2.0)


def _value(
    found: Transforms, j: npt.NDArray[np.intp], lattice: Lattice, n: int
) -> tuple[float, float]:
    """Nodes j: sums of the integrand of E[S]_+ and of its error."""
    at = _powers(found, j, n)
    kernel, double = _kernel(lattice, 2.0 * math.pi / lattice.count * j), _double(lattice, j)
    doubts = 1.01 * _doubt(at, n, found.active_err) + 1024 * U * np.abs(at.difference)
    value, rounding = halved_sum(double * (at.difference * kernel).real)
    return value, float((double * np.abs(kernel) * doubts).sum()) + rounding


def _near(
    found: Transforms, j: npt.NDArray[np.intp], lattice: Lattice, n: int, reach: int
) -> float:
    """Nodes j: sum of the integrand of P(noise, |S| <= reach h), its error added."""
    at, double = _powers(found, j, n), _double(lattice, j)
    noise, active_noise = _nodes(found.noise, j), _nodes(found.active_noise, j)
    window = _window(2.0 * math.pi / lattice.count * j, reach)
    near = (active_noise * at.others + noise * at.less).real * window
    known = at.base ** (n - 1)
    err = found.active_err * known + (np.abs(noise) + found.err) * _doubt(
        at, n - 1, found.active_err
    )
    err += found.err * np.abs(at.less)
    err += (np.abs(active_noise) + found.active_err) * (
        (n - 1) * at.base ** (n - 2) * at.err + 16 * n * U * known
    )
    err += 1024 * U * (np.abs(active_noise) * known + np.abs(noise) * np.abs(at.less))
    value, rounding = halved_sum(double * near)
    return value + rounding + float((double * 1.01 * (2 * reach + 1) * err).sum())


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
