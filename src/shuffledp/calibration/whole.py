"""Search for the first whole number that meets a target, or misses it."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp.calibration.target import FINE, ROUGH, Target

# Of an accuracy: the target, and certified log delta of a whole number.
Uppers = Callable[[float], tuple[Target, Callable[[int], float]]]


def first_whole(uppers: Uppers, most: int, *, met: bool) -> tuple[int | None, dict[int, float]]:
    """The first whole number that meets the target (or misses it), and log delta where evaluated.

    Loose numbers find the place; tight ones decide it, and that there is none up to ``most``.
    """
    found: int | None = None
    known: dict[int, float] = {}
    for accuracy in (ROUGH, FINE):
        target, upper = uppers(accuracy)
        seen: dict[int, float] = {}

        def turned(
            k: int,
            target: Target = target,
            upper: Callable[[int], float] = upper,
            seen: dict[int, float] = seen,
        ) -> bool:
            if k not in seen:
                seen[k] = upper(k)
            return target.met(seen[k]) is met

        start = most if found is None and accuracy < ROUGH else found
        found, known = _smallest_whole(turned, most, start=start), seen
    return found, known


def _smallest_whole(
    good: Callable[[int], bool], most: int, *, start: int | None = None
) -> int | None:
    """Smallest whole number with the property, which has to stay once it is there."""
    low, high = 0, start or 1
    if start is None:
        while not good(high):
            if high == most:
                return None
            low, high = high, min(high * 4, most)
    else:
        low, high = _around(good, most, start)
        if low == most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    if high > 1:
        good(high - 1)
    return high


def _around(good: Callable[[int], bool], most: int, start: int) -> tuple[int, int]:
    """(without, with) the property, not far from a start that is nearly right."""
    step = max(1, start // 500)
    if good(start):
        high, low = start, max(start - step, 0)
        while low > 0 and good(low):
            high, low, step = low, max(low - 4 * step, 0), 4 * step
        return low, high
    low, high = start, min(start + step, most)
    while high > low and not good(high):
        low, high, step = high, min(high + 4 * step, most), 4 * step
    return low, high
