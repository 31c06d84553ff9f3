"""Types of float arrays, and the unit roundoff."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["UNIT_ROUNDOFF", "Array", "Indices"]

Array = npt.NDArray[np.floating[Any]]

Indices = npt.NDArray[np.intp]

# Largest relative error of one rounding to the nearest float.
UNIT_ROUNDOFF = 2.0**-53
