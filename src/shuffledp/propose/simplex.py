"""The minimum of a function of few numbers, without derivatives (Nelder, Mead 1965).

The coefficients of the simplex depend on the dimension (Gao, Han 2012).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["least"]

Array = npt.NDArray[np.float64]


def least(
    value: Callable[[Array], float], first: Array, steps: Array, *, calls: int, near: float
) -> Array:
    """The best point found, from ``first`` and points one step away along each axis.

    Parameters
    ----------
    value : callable
        The function to minimise.
    first, steps : array
        The start, and the step along each axis.
    calls : int
        Number of evaluations, approximately.
    near : float
        The search ends when all values are nearer to each other than this.
    """
    d = first.size
    farther, shorter, shrunk = 1.0 + 2.0 / d, 0.75 - 0.5 / d, 1.0 - 1.0 / d
    points = np.vstack([first, first + np.diag(steps)])
    values = np.array([value(x) for x in points])
    calls -= len(points)
    while calls > 0:
        order = np.argsort(values)
        points, values = points[order], values[order]
        if values[-1] - values[0] <= near:
            break
        centre = points[:-1].mean(axis=0)
        away = centre - points[-1]
        trial = centre + away
        found, calls = value(trial), calls - 1
        if found < values[0]:
            longer = centre + farther * away
            better, calls = value(longer), calls - 1
            if better < found:
                trial, found = longer, better
        elif found >= values[-2]:
            inside = centre + (shorter if found < values[-1] else -shorter) * away
            better, calls = value(inside), calls - 1
            if better >= min(found, values[-1]):
                points[1:] = points[0] + shrunk * (points[1:] - points[0])
                values[1:] = [value(x) for x in points[1:]]
                calls -= len(points) - 1
                continue
            trial, found = inside, better
        points[-1], values[-1] = trial, found
    return points[int(np.argmin(values))]
