"""Readings of reports that are vectors over a finite field: which items' hyperplanes hold them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import Reading, few, reading_of
from shuffledp.audit.readings.outputs import whole
from shuffledp.audit.readings.sets import MOST_SUPPORTED, favoured, patterns, with_bystanders
from shuffledp.randomizers import PIRAPPOR, ProjectiveGeometry, field


@reading_of.register(PIRAPPOR)
@reading_of.register(ProjectiveGeometry)
def _hyperplanes(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """Outputs with each pattern of zeros, e^eps0 times as likely where the own product is one."""
    few(randomizer, inputs, MOST_SUPPORTED)
    items = with_bystanders(inputs, randomizer.items)
    q, own = randomizer.size, (1.0, math.exp(randomizer.eps0))
    normals = randomizer.normals(items)
    counts = randomizer.hit_counts(items)
    affine = isinstance(randomizer, PIRAPPOR)

    def base(pattern: tuple[int, ...]) -> float:
        return float(counts[tuple(map(bool, pattern))])

    def supports(given: Any) -> tuple[Any, Any]:
        if affine:
            bad = ((given < 0) | (given >= q)).any(axis=1)
            vectors = np.where(bad[:, None], 0, given)
        else:
            numbers, bad = whole(given[:, 0], randomizer.outputs)
            vectors = randomizer.vectors(numbers)
        vectors = vectors.astype(np.int64, copy=False)
        rows = [np.tile(normal, (len(vectors), 1)) for normal in normals]
        return [field.dot(vectors, row, q) == 0 for row in rows], bad

    # A point is one number, an affine function the numbers (a_1, .., a_t, b).
    width = randomizer.digits + 1 if affine else 1
    weights = favoured(items, inputs, base, own)
    return patterns(items, weights, supports, words="zero at:", width=width)
