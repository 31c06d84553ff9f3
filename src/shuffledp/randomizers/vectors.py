"""Noise for vectors in a Euclidean ball: what such mechanisms share."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.errors import rejected
from shuffledp.randomizers.means import Floats
from shuffledp.randomizers.values import RefusedRows

# Vectors are taken this much beyond the ball: their lengths are computed in floating point.
OUTSIDE = 1e-9
LARGEST_DIMENSION = 10_000


class HasBall(Protocol):
    """Anything with a dimension and a radius."""

    @property
    def d(self) -> int:
        """Dimension."""
        ...

    @property
    def radius(self) -> float:
        """Radius of the ball around 0."""
        ...


def vector_values(instance: HasBall, values: ArrayLike) -> Floats:
    """Vectors in the ball, one row for each user."""
    rows = vector_reports(instance.d, values, name="values")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    bad = ~(lengths <= instance.radius * (1.0 + OUTSIDE))
    if bool(bad.any()):
        first = int(np.argmax(bad))
        wanted = f"at most the radius, {instance.radius:g}"
        raise rejected(f"length of values[{first}]", float(lengths[first]), wanted)
    return rows


def vector_reports(d: int, reports: ArrayLike, *, name: str = "reports") -> Floats:
    """Finite vectors, one row for each user."""
    try:
        rows = np.asarray(reports, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise rejected(name, reports, "vectors of numbers, one row for each user") from None
    if rows.size == 0:
        return rows.reshape(0, d)
    if rows.ndim != 2 or rows.shape[1] != d:
        raise rejected(f"{name} shape", rows.shape, f"one row for each user, (n, {d})")
    bad = np.asarray(~np.isfinite(rows).all(axis=1))
    if bool(bad.any()):
        raise RefusedRows(name, rows, bad, "finite numbers")
    return rows


def grown_radius(instance: HasBall, steps: float) -> float:
    """Radius of a ball that holds the lattice points next to any value that is accepted."""
    slack = OUTSIDE + 2.0 * math.sqrt(instance.d) / steps
    return instance.radius * (1.0 + 1.01 * slack)
