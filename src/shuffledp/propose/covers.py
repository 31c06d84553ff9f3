"""Cells of outputs and grids of inputs for label stealing of noise on an interval, in plain floats.

Nothing here has to be right: any proposal gives a bound, a bad one a loose bound
(``bounds.covers``).  Units as there: inputs fill [0, 1], a = e^eps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.propose.interval import Floats, Free, Laws, Sketch

__all__ = ["COARSE", "FINE", "FINEST", "Cover", "Detail", "Row", "cover"]

_TINY = 1e-300
# Up to this z the series of e^z - 1 - z is more accurate than a difference.
_SMALL = 1e-3


class Row(NamedTuple):
    """A grid of row (A) or (B).

    Attributes
    ----------
    places : tuple of float
        v or u, from 0 to 1, increasing.
    stretch : tuple of float
        eta of Lemma 6.5 for each step of the grid, between 0 and 1.
    """

    places: tuple[float, ...]
    stretch: tuple[float, ...]


class Cover(NamedTuple):
    """What is proposed: grids of inputs and cells of outputs.

    Attributes
    ----------
    edges, pool : tuple of float
        Edges of the labels' and of the reservoir's cells; 1/2 is among the latter's.  For Laplace
        noise both reach from 0 to 1, and gains are constant outside; for normal noise they reach
        a deviation or more beyond 0 and 1, and gains are cut at the outermost edges.
    boxes : tuple of float
        Edges of the boxes in which remainders are bounded, from the first to the last of ``edges``.
    first, second : Row
        Grids of (A) and (B).
    third : tuple of float
        Grid of (C) from 0 to 1/2, on which (1, 0, x) and (0, 1, x), the mirror image of
        (1, 0, 1 - x), are looked at; none where 0 and 1 are all inputs there are: then only
        (1, 0, 0) and (0, 1, 0) are.
    """

    edges: tuple[float, ...]
    pool: tuple[float, ...]
    boxes: tuple[float, ...]
    first: Row
    second: Row
    third: tuple[float, ...]


class Detail(NamedTuple):
    """How fine a cover is.

    Attributes
    ----------
    first : float
        Relative cost in eps next to the worst label.
    share : float
        Cost elsewhere, as a share of the distance of the spread from the worst one.
    cells : float
        Relative cost in eps of cells of outputs.
    """

    first: float = 3e-5
    share: float = 0.6
    cells: float = 4e-5


# Of an end, of values that rounds are composed of, and of a reader who looks once more at an end.
FINE, COARSE, FINEST = Detail(), Detail(2e-4, 0.6, 3e-4), Detail(1.5e-5, 0.6, 1.5e-5)

# ------------------------------------------------------------------------------ cells of outputs

# Labels' cells that a bound takes at most, and at least.
_MOST_CELLS, _FEWEST_CELLS = 900, 24
# Besides, so many cells are spread evenly, as a share of the others.
_EVEN = 0.12
# Inputs of one row at most, and the shortest step between two.
_MOST_PLACES, _SHORTEST = 400, 1e-7
# Boxes for remainders.
_BOXES = 64
# In log delta: what is left out of the cells of normal noise, below delta.
_LEFT_OUT = 9.0
# A share of the remainders' room that is left over for errors of the estimate.
_ROOM = 0.9


def cover(
    noise: Sketch, n: int, eps: float, free: Free, *, two_inputs: bool, detail: Detail
) -> Cover:
    """Cells and grids for these free numbers."""
    edges = _edges(noise, n, eps, free, detail)
    half = [y for y in edges if y > 0.5]
    pool = sorted({0.5, *half[::2], half[-1], *(1 - y for y in half[::2]), 1 - half[-1]})
    boxes = _boxes(edges)
    empty = Row((), ())
    if two_inputs:
        return Cover(edges, tuple(pool), boxes, empty, empty, ())
    rows = _Grids(noise, n, eps, free, detail, np.array(boxes))
    return Cover(
        edges, tuple(pool), boxes, rows.row(second=False), rows.row(second=True), rows.third()
    )


def _boxes(edges: tuple[float, ...]) -> tuple[float, ...]:
    even = np.linspace(edges[0], edges[-1], _BOXES + 1)
    return (edges[0], *(float(y) for y in even[1:-1]), edges[-1])


def _edges(noise: Sketch, n: int, eps: float, free: Free, detail: Detail) -> tuple[float, ...]:
    """Edges by which two atoms a cell add little to the variance of (1, 0, 0) and (0, 1, 0).

    A cell of mass m on which the gain moves by w adds at most m w^2/6 against a flat law: least for
    a density of cells in proportion to (mass density)^(1/3) (rise of the gain)^(2/3).
    """
    a, b = math.exp(eps), (1 - free.theta) / (1 - free.kappa)
    top = free.ceiling / b
    if noise.normal:
        far = noise.width * math.sqrt(-2 * (min(free.log_delta, -1.0) - _LEFT_OUT))
        y = np.linspace(-far, 1 + far, 2001)
        rise = np.where(noise.ratio(y) < top + a, noise.ratio(y), 0.0) / noise.width**2
    else:
        y = np.linspace(0.0, 1.0, 501)
        rise = noise.ratio(y) * 2 / noise.width
    gap, f0, ratio = y[1] - y[0], noise.density(y), noise.ratio(y)
    gain = np.minimum(ratio - a, top)
    tilted = f0 * np.exp(np.clip(free.alpha * b * gain, -700, 50.0))
    need = (np.maximum(tilted, f0) * rise * rise) ** (1 / 3)
    variance = free.deviation**2 / n / b**2
    excess = float(need.sum() * gap) ** 3 / 6 / variance
    cells = min(max(math.sqrt(excess / (2 * detail.cells)), _FEWEST_CELLS), _MOST_CELLS)
    need = need / (need.sum() * gap) + _EVEN / (y[-1] - y[0])
    along = np.concatenate([[0.0], np.cumsum(0.5 * (need[1:] + need[:-1]) * gap)])
    places = np.interp(np.linspace(0, along[-1], int(cells) + 1), along, y)
    marks = {0.5} if not noise.normal else {noise.place(top + a)}
    inner = {float(p) for p in places[1:-1]} | {p for p in marks if y[0] < p < y[-1]}
    return tuple(sorted({float(y[0]), *inner, float(y[-1])}))


# --------------------------------------------------------------------------------- grids of inputs


class _Grids:
    """Grids on which labels cost no more than the detail allows."""

    def __init__(
        self, noise: Sketch, n: int, eps: float, free: Free, detail: Detail, boxes: Floats
    ) -> None:
        self.noise, self.detail, self.free, self.a = noise, detail, free, math.exp(eps)
        self.low, self.high = boxes[:-1], boxes[1:]
        self.b = (1 - free.theta) / (1 - free.kappa)
        laws = Laws(noise, n, eps, free.log_delta)
        pool = np.minimum(free.theta / free.kappa * laws.pool, free.ceiling)
        self.c, self.gain = free.kappa * laws.common, np.maximum(pool, laws.floor)
        self.empty, self.n = free.kappa - free.kappa * laws.blanket, n
        self.alpha, self.room = free.alpha, self._room(free.alpha, free.log_delta)
        self.y, self.widths = noise.outputs(min(free.log_delta, -20.0) - 15.0)
        # What stretching a label by eta adds to its log J, over eta: alpha^2 Var.
        self.slope = (free.alpha * free.deviation) ** 2
        self.last = (boxes[0], boxes[-1])
        below, above = (
            np.array([0.5 * math.erfc(sign * y / noise.width / math.sqrt(2)) for y in boxes])
            for sign in (-1, 1)
        )
        self.masses = np.where(boxes[:-1] < 0, np.diff(below), -np.diff(above))
        self.worst = max(self._log(1.0, 0.0), self._log(0.0, 1.0))

    def _room(self, alpha: float, log: float) -> float:
        """E(e^w - 1 - w) with which (c0 + d0)^n/(2 alpha n) is a share of e^log."""
        c0 = float(self.c @ np.exp(alpha * self.gain))
        kept = (1 - self.free.kappa) * math.exp(alpha * self.b * (1 - self.a))
        goal = math.exp((math.log(2 * alpha * self.n * _ROOM) + log) / self.n)
        room = (goal - c0 - self.empty) / kept - 1
        if not 0.0 < room < math.inf:
            raise NotCertified("label stealing: numbers at which no cover of all inputs is known")
        return room

    def _log(self, x0: float, x1: float, x: float = 0.0) -> float:
        """n times the mean of e^(alpha X) - 1 - alpha X; that of X is the same for all labels."""
        f = self.noise.density
        own = np.maximum(f(self.y - x), _TINY)
        ratio = (f(self.y - x0) - self.a * f(self.y - x1)) / own
        power = np.clip(self.free.alpha * np.minimum(self.b * ratio, self.free.ceiling), -700, 300)
        return self.n * float((own * self.widths) @ (np.expm1(power) - power))

    def _slack(self, label: Callable[[float], float], end: float = 1.0) -> Callable[[float], float]:
        """By how much a label may be stretched until it is about as bad as the worst one."""
        places = end * np.linspace(0, 1, 25) ** 2
        values = np.array([(self.worst - label(float(v))) / self.slope for v in places])
        return lambda v: max(float(np.interp(v, places, values)), 0.0)

    def stretch(self, v: float, step: float, *, second: bool) -> float:
        """The least eta at which the remainder's bound fits: E(e^(q/eta) - 1 - q/eta) <= room."""
        top, mass = self._bend(v, v + step)
        size, far = self.b * (1.0 if second else self.a), 0.0
        if self.noise.normal:
            ends = self.last[1] - v - step, v - self.last[0]
            far = sum(0.5 * math.erfc(z / self.noise.width / math.sqrt(2)) for z in ends)
        return _least(self.alpha * size * top, mass, self.alpha * size * far, self.room)

    def _bend(self, v: float, w: float) -> tuple[Floats, Floats]:
        """The certificate's bound of |chord - f_u|/f_0 in each box, and the boxes' masses."""
        low, high = self.low, self.high
        step, width = w - v, self.noise.width
        if not self.noise.normal:
            both = np.unique(np.concatenate([low, high, [v, w]]))
            low, high = np.append(both[:-1], [0.0, 1.0]), np.append(both[1:], [0.0, 1.0])
            far = np.maximum(np.maximum(low - w, v - high), 0.0)
            top = step**2 / (8 * width**2) * np.exp((high - far) / width)
            inside = np.exp(high / width) * -math.expm1(-step / width)
            top = np.where((low < w) & (high > v), np.maximum(top, inside), top)
            mass = 0.5 * (np.exp(-low / width) - np.exp(-high / width))
            mass[-2:] = 0.5 * np.exp(-low[-2:] / width)
            return top, mass
        turn, u = 1 / width**2, np.clip(high, v, w)
        far = np.maximum(np.abs(low - w), np.abs(high - v))
        near = np.maximum(np.maximum(low - w, v - high), 0.0)
        bent = np.maximum(np.abs(turn * far**2 - 1), np.abs(turn * near**2 - 1))
        top = step**2 / 8 * turn * bent * np.exp(turn * u * (high - u / 2))
        return top, self.masses

    def row(self, *, second: bool) -> Row:
        """Grid of (A) or (B), with the longest steps whose eta is allowed at both of their ends."""
        slack = self._slack(lambda v: self._log(*((v, 1.0) if second else (1.0, v))))
        power = 2.0 if self.noise.normal else 1.5

        def allowed(v: float) -> float:
            return min(max(self.detail.first, self.detail.share * slack(v)), 0.5)

        places, stretch, step = [0.0], [], 0.02
        while places[-1] < 1.0:
            v = places[-1]
            step, eta = min(4 * step, 1.0 - v), 1.0
            for _ in range(30):
                eta = self.stretch(v, step, second=second)
                limit = min(allowed(v), allowed(v + step))
                if eta <= limit or step < _SHORTEST:
                    break
                step *= max(0.1, 0.95 * (limit / eta) ** (1 / power))
            if v + step > 0.999:
                step = 1.0 - v
                eta = self.stretch(v, step, second=second)
            if not step > _SHORTEST or len(places) > _MOST_PLACES:
                raise NotCertified("label stealing: a cover of too many inputs")
            places.append(min(v + step, 1.0))
            # A larger stretch than needed costs nothing where there is slack.
            stretch.append(min(max(eta, 0.6 * min(allowed(v), allowed(places[-1]))), 0.9))
        return Row(tuple(map(float, places)), tuple(map(float, stretch)))

    def third(self) -> tuple[float, ...]:
        """Grid of (C) from 0 to 1/2."""
        slack = self._slack(lambda x: max(self._log(1.0, 0.0, x), self._log(0.0, 1.0, x)), 0.5)
        cost = (2.0 if self.noise.normal else 0.125) / self.noise.width**2
        places = [0.0]
        while places[-1] < 0.5:
            x, step = places[-1], 0.25
            for _ in range(60):
                apart = 0.5 * self.detail.share * min(slack(x), slack(x + step))
                limit = max(self.detail.first, apart)
                if cost * step**2 <= limit:
                    break
                step *= 0.8
            if len(places) > _MOST_PLACES:
                raise NotCertified("label stealing: a cover of too many inputs")
            places.append(min(x + step, 0.5))
        return tuple(places)


def _least(q: Floats, mass: Floats, linear: float, room: float) -> float:
    """The least eta with E(e^(q/eta) - 1 - q/eta) + linear/eta <= room, by Newton's method."""
    # One box alone: z^2/2 <= e^z - 1 - z = share.
    share = room / np.maximum(mass, _TINY)
    root = np.sqrt(2 * share)
    inverse = float((np.minimum(root, np.log1p(share + root)) / q).min())
    for _ in range(25):
        z = inverse * q
        rest = np.where(z < _SMALL, z * z * (0.5 + z / 6), np.expm1(z) - z)
        value = float(mass @ rest) + linear * inverse - room
        move = value / (float(mass @ (q * np.expm1(z))) + linear)
        inverse -= move
        if abs(move) < 1e-3 * inverse:
            break
    return 1.001 / inverse
