"""Helpers of randomizers over a finite domain 0 .. k-1."""

from __future__ import annotations


def third_inputs(domain: int) -> tuple[tuple[int, int, int], ...]:
    """(0, 1, x2) for x2 = 0, 1 and, where there is one, another value."""
    return tuple((0, 1, x2) for x2 in range(min(domain, 3)))
