"""Elementary functions of complex arrays with a small relative error where they are small.

NumPy's sine, exponential and logarithm are taken to be within 4 ulp; tests hold them to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.pair import Array

Complex = npt.NDArray[np.complexfloating[Any, Any]]
# 0.25^13/15! is below u/1e5 of the first term of e^z - 1 - z.
SERIES = 0.25


def complex_expm1(z: Complex) -> Complex:
    """e^z - 1 with small relative error near 0."""
    half = np.sin(0.5 * z.imag)
    wave = np.sin(z.imag)
    grow = np.expm1(z.real)
    out = np.empty_like(z)
    out.real = grow * (1.0 - 2.0 * half * half) - 2.0 * half * half
    out.imag = (1.0 + grow) * wave
    return out


def rotation_minus_one(phase: Array) -> Complex:
    """e^{i phase} - 1 = -2 sin^2(phase/2) + i sin(phase), without cancellation."""
    half = np.sin(0.5 * phase)
    out = np.empty(phase.shape, dtype=np.complex128)
    out.real = -2.0 * half * half
    out.imag = np.sin(phase)
    return out


def complex_expm1_minus(z: Complex) -> Complex:
    """e^z - 1 - z; by its series for |z| <= SERIES."""
    small = np.abs(z) <= SERIES
    if bool(small.all()):
        return _series_expm1_minus(z)
    out = complex_expm1(z) - z
    out[small] = _series_expm1_minus(z[small])
    return out


def _series_expm1_minus(z: Complex) -> Complex:
    total = np.ones_like(z)
    for k in range(14, 2, -1):
        total = 1.0 + total * (z / k)
    return 0.5 * z * z * total


def complex_log1p(z: Complex) -> tuple[Array, Array, Array]:
    """Real and imaginary part of log(1 + z), and |1 + z|."""
    x, y = z.real, z.imag
    modulus = np.hypot(1.0 + x, y)
    near = np.abs(z) < 0.5
    inner = np.where(near, 2.0 * x + x * x + y * y, 0.0)
    real = np.where(near, 0.5 * np.log1p(inner), np.log(np.maximum(modulus, 1e-300)))
    return real, np.arctan2(y, 1.0 + x), modulus
