"""Pairs of composed randomizers, from the pairs of their parts: they multiply, or they mix.

Exact while it fits; after that atoms near each other are merged, and what that costs is kept with
them, so that every end stays certified (docs/theory-parts.md, section 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shuffledp.numerics.combining import mixture, product
from shuffledp.numerics.merging import merged_near, merged_to
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import Input, Parts

Make = Callable[[Randomizer, tuple[Input, ...]], ShuffledPair]

_MOST_ATOMS = 1 << 16
_FINEST = 1 << 18
_LARGEST_PRODUCT = 1 << 20
# Cells kept of a continuous part where there are other parts.
_SMALLER = 1 << 12


def from_parts(parts: Parts, inputs: tuple[Input, ...], make: Make, *, cells: int) -> ShuffledPair:
    """The pair of a composed randomizer under the given inputs.

    Parameters
    ----------
    parts : Parts
        What the randomizer is made of.
    inputs : tuple
        The victim's two inputs, and for a dataset the others' input.
    make : callable
        The reduction that makes a part's own pair.
    cells : int
        About how many cells for continuous outputs; sets what fits, too.
    """
    rows = [parts.part_inputs(x) for x in inputs]
    made: dict[tuple[Randomizer, tuple[Input, ...]], ShuffledPair] = {}
    pairs = []
    for part, values in zip(parts.randomizers, zip(*rows, strict=True), strict=True):
        key = (part, values)
        if key not in made:
            made[key] = make(part, values)
        pairs.append(made[key])
    if parts.weights is not None:
        return merged_near(mixture(pairs, list(parts.weights), constant=parts.constant))
    return joint_pair(pairs, most=min(max(_MOST_ATOMS, cells), _FINEST))


def joint_pair(pairs: Sequence[ShuffledPair], *, most: int) -> ShuffledPair:
    """The product of several pairs, merged to ``most`` atoms whenever it grows far beyond that."""
    # Exact parts first, and equal ones side by side, so that equal ratios meet early.
    first = {id(pair): k for k, pair in reversed(list(enumerate(pairs)))}
    ordered = sorted(pairs, key=lambda p: (p.ranges is not None, p.w.size, first[id(p)]))
    if len(ordered) > 1:
        ordered = [merged_to(pair, _SMALLER) if pair.ranges else pair for pair in ordered]
    total = merged_near(ordered[0])
    for pair in ordered[1:]:
        total = product(*_fitting(total, pair, most))
        if total.w.size <= _LARGEST_PRODUCT // 2:
            total = merged_near(total)
    return merged_to(total, most)


def _fitting(
    total: ShuffledPair, second: ShuffledPair, most: int
) -> tuple[ShuffledPair, ShuffledPair]:
    """Both, merged as far as their product needs it: the larger one, or both to the same size."""
    if total.w.size * second.w.size <= _LARGEST_PRODUCT:
        return total, second
    least = max(min(total.w.size, second.w.size, math.isqrt(_LARGEST_PRODUCT)), 1)
    room = min(most, _LARGEST_PRODUCT // least)
    return merged_to(total, room), merged_to(second, room)
