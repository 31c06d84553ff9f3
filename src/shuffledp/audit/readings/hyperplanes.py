"""Readings of reports that are vectors over a finite field: which items' hyperplanes hold them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import MOST_SUPPORTED, Labels, Reading, reads
from shuffledp.audit.readings.finite import patterns, whole, with_bystanders
from shuffledp.randomizers import PIRAPPOR, ProjectiveGeometry, field, galois


@reads(PIRAPPOR, ProjectiveGeometry, most=MOST_SUPPORTED)
def _hyperplanes(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Outputs with each pattern of zeros, e^eps0 times as likely where the own product is one.

    Of the vectors counted a point has q - 1, and the vector 0, which is none, has all zeros.
    """
    del reports
    items = with_bystanders(inputs, randomizer.items)
    q, grow = randomizer.size, math.exp(randomizer.eps0)
    normals = randomizer.normals(items)
    space = galois.field(q)
    counts = field.hits(normals, q)
    affine = isinstance(randomizer, PIRAPPOR)
    if not affine:
        counts = {flags: (n - all(flags)) // (q - 1) for flags, n in counts.items()}
    every = sum(counts.values())

    def chance(row: int, pattern: tuple[int, ...]) -> float:
        own = items.index(inputs[row])
        half = sum(n for flags, n in counts.items() if flags[own])
        share = counts[tuple(map(bool, pattern))] / (half * grow + (every - half))
        return share * (grow if pattern[own] else 1.0)

    def supports(given: Any) -> tuple[Any, Any]:
        labels, bad = (_rows if affine else _points)(randomizer, given)
        vectors = labels.astype(np.int64, copy=False)
        zeros = [space.dot(vectors, np.tile(normal, (len(vectors), 1))) == 0 for normal in normals]
        return np.column_stack(zeros), bad

    return patterns(items, chance, len(inputs), supports, "zero at:")


def _rows(randomizer: Any, given: Any) -> tuple[Labels, Any]:
    """Rows (a_1, .., a_t, b), and which reports are none."""
    rows, width = np.asarray(given), randomizer.digits + 1
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype.kind not in "iu":
        return np.zeros((len(rows), width), dtype=np.int64), np.ones(len(rows), dtype=bool)
    bad = ((rows < 0) | (rows >= randomizer.size)).any(axis=1)
    return np.where(bad[:, None], 0, rows).astype(np.int64), bad


def _points(randomizer: Any, given: Any) -> tuple[Labels, Any]:
    """Vectors of numbered points, and which reports are none."""
    numbers, bad = whole(given, randomizer.outputs)
    return randomizer.vectors(numbers), bad
