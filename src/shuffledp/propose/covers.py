"""Cells of outputs and grids of inputs for label stealing with noise on an interval, in floats.

Any proposal gives a valid bound, and a bad one a loose bound (``bounds.covers``).  Units are as
there: inputs fill [0, 1], a = e^eps.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.bounds.covers import Cover, Row
from shuffledp.errors import NotCertified
from shuffledp.propose.grids import Detail, Grids
from shuffledp.propose.interval import Free, Sketch

__all__ = [
    "COARSE",
    "FEW",
    "FINE",
    "Detail",
    "cover",
    "edges_for",
    "with_grids",
    "without_grids",
]


# For an end, for values that rounds are composed of, and among few users, where the bound itself is
# several per cent above the lower end.
FINE, COARSE, FEW = Detail(), Detail(2e-4, 0.6, 3e-4), Detail(8e-5, 0.6, 4e-5)
# How often a cover with too many inputs is made again, and the factor by which it is coarser each
# time.
_AGAIN, _COARSER = 3, 5.0

# ------------------------------------------------------------------------------ cells of outputs

# Most and fewest cells for the labels.
_MOST_CELLS, _FEWEST_CELLS = 900, 24
# Further cells that are spread evenly, as a share of the others.
_EVEN = 0.12
# Number of boxes for remainders.
_BOXES = 64
# Depth in log delta, below delta, of what the cells of normal noise leave out.
_LEFT_OUT = 9.0


def cover(
    noise: Sketch, n: int, eps: float, free: Free, *, two_inputs: bool, detail: Detail
) -> Cover:
    """Cells and grids for these free numbers."""
    edges = edges_for(noise, n, eps, free, cells=detail.cells)
    made = without_grids(edges)
    if two_inputs:
        return made
    for again in range(_AGAIN + 1):
        coarser = detail._replace(first=detail.first * _COARSER**again)
        try:
            return with_grids(made, Grids(noise, n, eps, free, coarser, np.array(made.boxes)))
        except NotCertified:
            if again == _AGAIN:
                raise
    return made


def without_grids(edges: tuple[float, ...]) -> Cover:
    """Cells with these edges, for inputs at the two ends of the interval only."""
    half = [y for y in edges if y > 0.5]
    pool = sorted({0.5, *half[::2], half[-1], *(1 - y for y in half[::2]), 1 - half[-1]})
    empty = Row((), ())
    return Cover(edges, tuple(pool), _boxes(edges), empty, empty, ())


def with_grids(cells: Cover, rows: Grids) -> Cover:
    """The same cells with grids of inputs, for all inputs."""
    return cells._replace(
        first=rows.row(second=False),
        second=rows.row(second=True),
        third=rows.third(),
        middle=rows.middle,
    )


def _boxes(edges: tuple[float, ...]) -> tuple[float, ...]:
    even = np.linspace(edges[0], edges[-1], _BOXES + 1)
    return (edges[0], *(float(y) for y in even[1:-1]), edges[-1])


def edges_for(
    noise: Sketch,
    n: int,
    eps: float,
    free: Free,
    *,
    cells: float,
    top: float | None = None,
    count: int | None = None,
) -> tuple[float, ...]:
    """Edges at which two atoms per cell add little to the variance of (1, 0, 0) and (0, 1, 0).

    A cell of mass m on which the gain changes by w adds at most m w^2/6, compared with a flat law.
    The sum is least for a density of cells proportional to
    (mass density)^(1/3) (slope of the gain)^(2/3).

    ``cells`` is that of ``Detail``. ``top`` is the largest gain that counts, by default the
    ceiling. ``count`` is the number of cells, if given.
    """
    a, b = math.exp(eps), (1 - free.theta) / (1 - free.kappa)
    cut = free.ceiling / b
    most = cut if top is None else top / b
    if noise.normal:
        far = noise.width * math.sqrt(-2 * (min(free.log_delta, -1.0) - _LEFT_OUT))
        y = np.linspace(-far, 1 + far, 2001)
        rise = np.where(noise.ratio(y) < most + a, noise.ratio(y), 0.0) / noise.width**2
    else:
        y = np.linspace(0.0, 1.0, 501)
        rise = noise.ratio(y) * 2 / noise.width
    gap, f0, ratio = y[1] - y[0], noise.density(y), noise.ratio(y)
    gain = np.minimum(ratio - a, cut)
    tilted = f0 * np.exp(np.clip(free.alpha * b * gain, -700, 50.0))
    need = (np.maximum(tilted, f0) * rise * rise) ** (1 / 3)
    variance = free.scale**2 / n / b**2
    excess = float(need.sum() * gap) ** 3 / 6 / variance
    wanted = math.sqrt(excess / (2 * cells)) if count is None else count
    wanted = min(max(wanted, _FEWEST_CELLS), _MOST_CELLS)
    need = need / (need.sum() * gap) + _EVEN / (y[-1] - y[0])
    along = np.concatenate([[0.0], np.cumsum(0.5 * (need[1:] + need[:-1]) * gap)])
    places = np.interp(np.linspace(0, along[-1], int(wanted) + 1), along, y)
    marks = {0.5} if not noise.normal else {noise.place(cut + a)}
    inner = {float(p) for p in places[1:-1]} | {p for p in marks if y[0] < p < y[-1]}
    return tuple(sorted({float(y[0]), *inner, float(y[-1])}))
