"""Post-processing of estimates: it costs no privacy, and it makes them biased."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.errors import rejected

Floats = npt.NDArray[np.floating[Any]]


def project_to_simplex(frequencies: Floats) -> Floats:
    """The nearest probabilities in Euclidean distance: max(f - t, 0) that sums to one.

    (Held, Wolfe, Crowder 1974; t by sorting.)
    """
    f = np.asarray(frequencies, dtype=np.float64)
    if f.ndim != 1 or f.size == 0 or not bool(np.isfinite(f).all()):
        raise rejected("frequencies", f.shape, "a row of finite numbers")
    ordered = np.sort(f)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, f.size + 1)
    kept = int(np.flatnonzero(ordered > excess)[-1])
    return np.maximum(f - excess[kept], 0.0)
