"""What a pure guarantee is worth in concentrated differential privacy."""

from __future__ import annotations

import math

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF


def pure_rho(eps0: float) -> float:
    """rho = eps0^2/2 (Bun, Steinke 2016, Proposition 1.4), rounded up: 0 for eps0 = 0 alone."""
    if eps0 == 0.0:
        return 0.0
    # The next float, because a square below the normal floats has no relative rounding.
    return math.nextafter(0.5 * eps0 * eps0 * (1.0 + 8 * UNIT_ROUNDOFF), math.inf)
