"""Labels of noise on an interval that dominate those of all pairs and inputs, in balls.

Label stealing (docs/theory-stealing.md, section 6) of a report x + Z, in units in which the inputs
fill [0, 1]; Z is Laplace or normal noise with the density f, f_x(y) = f(y - x), a = e^eps.  The
labelled part of an input x is (1 - kappa) f_x with the gain b (f_x0 - a f_x1)/f_x,
b = (1 - theta)/(1 - kappa).  Triples (x0, x1, x) that span the interval are enough (Lemma 6.1):

    (A) (1, v, 0),    (B) (u, 1, 0),    (C) (1, 0, x),    v, u, x from 0 to 1.

Between two places of a grid the gain of (A) and (B) is a mixture of those at the places, stretched
about its mean, and of a remainder (Lemma 6.5); the law of (C) is a mixture of slightly smaller laws
(Lemma 6.2).  Grids, cells and stretches are proposals: any valid ones give a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified
from shuffledp.kernel.positive_sum import Atom

__all__ = [
    "Cover",
    "Label",
    "Outputs",
    "Remainder",
    "Reservoir",
    "Row",
    "Share",
    "labels",
    "remainders",
    "reservoir",
]

_ONE, _NOTHING = arb(1), arb(0)
# Of normal noise under (C) labelled parts reach that many deviations beyond the last edge.
_FARTHER = 1.5
Shrink = Callable[[float, float], arb]


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


class Share(NamedTuple):
    """How the laws are split.

    Attributes
    ----------
    kappa, theta : arb
        beta = kappa B, and the victim joins with the probability theta.
    ceiling : arb, optional
        The largest gain that is kept, in the reservoir and in labels (Lemma 4.3).
    """

    kappa: arb
    theta: arb
    ceiling: arb | None = None

    @property
    def gain(self) -> arb:
        """b: the label's gain against (f_x0 - a f_x1)/f_x."""
        return (1 - self.theta) / (1 - self.kappa)

    def cut(self, atoms: list[Atom]) -> tuple[list[Atom], arb]:
        """Gains up to the ceiling, and the integral of what is above."""
        top = self.ceiling
        if top is None:
            return atoms, _NOTHING
        lost, kept = _NOTHING, []
        for mass, gain in atoms:
            if gain <= top:
                kept.append((mass, gain))
            else:
                lost += mass * (gain - top).nonnegative_part()
                kept.append((mass, gain.min(top)))
        return kept, lost


class Label(NamedTuple):
    """The labelled part of one triple, and what is seen for sure beside it."""

    triple: tuple[float, float, float]
    atoms: list[Atom]
    lost: arb


class Reservoir(NamedTuple):
    """The reservoir of the end points.

    Attributes
    ----------
    atoms : list of Atom
        (mass, gain) of kappa B.
    mass : arb
        |beta|.
    lost : arb
        What cutting its gains costs.
    unhidden : arb
        int (1 - s) g_+, paid where nobody else is in it.
    """

    atoms: list[Atom]
    mass: arb
    lost: arb
    unhidden: arb


class Gain(NamedTuple):
    """The gain on a cell: the mass of f_x, the gain's integral, and its range."""

    mass: arb
    total: arb
    low: arb
    high: arb


class Outputs:
    """Tails and density ratios at edges, each computed once.

    Parameters
    ----------
    normal : bool
        Normal noise, else Laplace noise.
    scale : arb
        Standard deviation, or scale, in units of the interval.
    """

    def __init__(self, scale: arb, *, normal: bool) -> None:
        self.normal, self.scale = normal, scale
        self._tails: dict[tuple[float, float], arb] = {}
        self._ratios: dict[tuple[float, float, float], arb] = {}
        # d log(f_u/f_x)/dy is ``turn`` times a difference of inputs, or of signs.
        self.turn = 1 / (scale * scale) if normal else 1 / scale
        self._unit = 1 / (scale * arb(2).sqrt()) if normal else 1 / scale

    def beyond(self, z: arb) -> arb:
        """P(Z > z); for Laplace noise z >= 0."""
        return (z * self._unit).erfc() / 2 if self.normal else (-z * self._unit).exp() / 2

    def tail(self, x: float, y: float) -> arb:
        """P(Z > |y - x|)."""
        key = (x, y)
        if key not in self._tails:
            self._tails[key] = self.beyond(abs(arb(y) - x))
        return self._tails[key]

    def above(self, z: arb) -> arb:
        """P(Z > z)."""
        if self.normal:
            return self.beyond(z)
        far = self.beyond(abs(z))
        if z >= 0:
            return far
        return 1 - far if z < 0 else far.union(1 - far)

    def mass(self, x: float, left: float, right: float) -> arb:
        """P(left < x + Z < right)."""
        if x <= left:
            return self.tail(x, left) - self.tail(x, right)
        if x >= right:
            return self.tail(x, right) - self.tail(x, left)
        return 1 - self.tail(x, left) - self.tail(x, right)

    def ratio(self, u: float, x: float, y: float) -> arb:
        """f_u(y)/f_x(y)."""
        if u == x:
            return _ONE
        key = (u, x, y)
        if key not in self._ratios:
            if self.normal:
                level = (arb(u) - x) * (2 * arb(y) - u - x) / 2
            else:
                level = abs(arb(y) - x) - abs(arb(y) - u)
            self._ratios[key] = (self.turn * level).exp()
        return self._ratios[key]

    def turns(self, u: float, x: float, middle: float) -> arb:
        """d log(f_u/f_x)/dy, in units of ``turn``, on the cell around ``middle``."""
        if self.normal:
            return arb(u) - x
        return arb((1 if middle > x else -1) - (1 if middle > u else -1))


# --------------------------------------------------------------------------------- gains on cells


def cell_gains(
    at: Outputs,
    triple: tuple[float, float, float],
    edges: Sequence[float],
    grow: arb,
    shrink: Shrink | None = None,
) -> list[Gain]:
    """The gain (f_x0 - a f_x1)/(k f_x) under k f_x on each cell, k = ``shrink(left, right)`` there.

    With g' = turn f_x1/f_x (t0 f_x0/f_x1 - a t1) and f_x0/f_x1 monotone, g is monotone on a cell
    where g' has one sign at both ends.  Elsewhere it moves from the nearer end by at most half of
    the width times the steepest slope.
    """
    x0, x1, x = triple
    ratios = [(at.ratio(x0, x, y), at.ratio(x1, x, y)) for y in edges]
    values = [u - grow * v for u, v in ratios]
    found = []
    for i, (left, right) in enumerate(pairwise(edges)):
        mass, gained = at.mass(x, left, right), at.mass(x0, left, right)
        middle = (left + right) / 2
        t0, t1 = at.turns(x0, x, middle), grow * at.turns(x1, x, middle)
        (u, v), (p, q) = ratios[i], ratios[i + 1]
        slopes = t0 * u - t1 * v, t0 * p - t1 * q
        low, high = values[i], values[i + 1]
        if slopes[0] <= 0 and slopes[1] <= 0:
            low, high = high, low
        elif not (slopes[0] >= 0 and slopes[1] >= 0):
            steep = abs((t0 * u).union(t0 * p) - (t1 * v).union(t1 * q)).upper()
            moved = at.turn * steep * (arb(right) - left) / 2
            low, high = low.min(high) - moved, low.max(high) + moved
        if shrink is not None:
            k = shrink(left, right)
            mass, low, high = k * mass, low / k, high / k
        found.append(Gain(mass, gained - grow * at.mass(x1, left, right), low, high))
    return found


def above(found: Sequence[Gain]) -> list[Atom]:
    """Two atoms a cell at the ends of the gain's range, with its mean: larger in convex order.

    Cells next to each other share one ball at their common end, which makes one atom (Lemma 4.2).
    """
    places: dict[int, Atom] = {}

    def add(gain: arb, mass: arb) -> None:
        before = places[id(gain)][0] if id(gain) in places else _NOTHING
        places[id(gain)] = before + mass, gain

    for mass, total, low, high in found:
        if high > low:
            part = ((total - low * mass) / (high - low)).nonnegative_part().min(mass)
            add(high, part)
            add(low, (mass - part).nonnegative_part())
        else:
            add(high, mass)
    return list(places.values())


def _ends(
    at: Outputs, triple: tuple[float, float, float], edges: Sequence[float], grow: arb
) -> list[Gain]:
    """Laplace noise below 0 and above 1, where gains are constant."""
    x0, x1, x = triple
    found = []
    for y in (edges[0], edges[-1]):
        value = at.ratio(x0, x, y) - grow * at.ratio(x1, x, y)
        found.append(_at(at.tail(x, y), value))
    return found


def reservoir(at: Outputs, cover: Cover, eps: arb, share: Share) -> Reservoir:
    """kappa B, B = min(f_0, f_1), with the gains theta (f_1 - a f_0)/(kappa B) (Theorem 2.1)."""
    grow, pool = eps.exp(), cover.pool
    if 0.5 not in pool or not share.kappa > 0:
        raise NotCertified("label stealing: wanted a reservoir, and an edge of its cells at 1/2")
    half = pool.index(0.5)
    low, high = pool[: half + 1], pool[half:]
    found = cell_gains(at, (1.0, 0.0, 1.0), low, grow) + cell_gains(at, (1.0, 0.0, 0.0), high, grow)
    bottom, top = found[0].low, found[-1].high
    gone, far = at.tail(1.0, pool[0]), at.tail(0.0, pool[-1])
    # Normal noise: gains below the first edge are raised to it, those above the last one are cut.
    found += [_at(gone, bottom), _at(far, top)]
    lost = _NOTHING
    if at.normal:
        lost = (at.tail(1.0, pool[-1]) - grow * far - top * far).nonnegative_part()
    join = share.theta / share.kappa
    atoms = [(share.kappa * mass, join * gain) for mass, gain in above(found)]
    atoms, cut = share.cut(atoms)
    # f_1 > a f_0 from 1/2 + eps/turn on, or 1/2 + eps/(2 turn) of Laplace noise.
    start = arb("0.5") + eps / (at.turn if at.normal else 2 * at.turn)
    positive = (at.above(start - 1) - grow * at.above(start)).nonnegative_part()
    if not at.normal and not start < 1:
        # Beyond 1 the ratio is constant: only the rest of [start, 1] can be positive.
        positive = _NOTHING if start >= 1 else positive.union(_NOTHING)
    mass = share.kappa * 2 * at.tail(0.0, 0.5)
    return Reservoir(atoms, mass, share.theta * lost + cut, (1 - share.theta) * positive)


# ----------------------------------------------------------------------------------------- labels


def check(at: Outputs, cover: Cover) -> None:
    """NotCertified unless the cover is one to which the theorems apply."""
    edges, pool = cover.edges, cover.pool
    rising = all(l < r for row in (edges, pool, cover.boxes) for l, r in pairwise(row))
    whole = cover.boxes[0] == edges[0] and cover.boxes[-1] == edges[-1]
    if at.normal:
        wide = bool(edges[0] + at.scale <= 0) and bool(edges[-1] - at.scale >= 1)
    else:
        wide = edges[0] == pool[0] == 0.0 and edges[-1] == pool[-1] == 1.0
    grids = ((cover.first.places, 1.0), (cover.second.places, 1.0), (cover.third, 0.5))
    spans = not cover.third or all(
        len(grid) > 1
        and grid[0] == 0.0
        and grid[-1] == end
        and all(l < r for l, r in pairwise(grid))
        for grid, end in grids
    )
    stretched = all(
        len(row.stretch) == len(row.places) - 1 and all(0.0 < eta < 1.0 for eta in row.stretch)
        for row in (cover.first, cover.second)
        if cover.third
    )
    if not (rising and whole and wide and spans and stretched):
        raise NotCertified("label stealing: the cover does not reach over all inputs and outputs")


def labels(
    at: Outputs, cover: Cover, eps: arb, share: Share, edges: Sequence[float]
) -> Iterator[Callable[[], Label]]:
    """The labels to look at, on cells with these edges, each made when it is called.

    ``edges``: those of the cover, or some of them, the first and the last included.
    """
    grow = eps.exp()
    if not cover.third:
        for triple in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
            yield lambda triple=triple: _label(at, triple, edges, grow, share, 0.0, _NOTHING)
        return
    for which, row in enumerate((cover.first, cover.second)):
        for j, v in enumerate(row.places):
            eta = max(row.stretch[max(j - 1, 0) : j + 1])
            triple = (v, 1.0, 0.0) if which else (1.0, v, 0.0)
            following = row.places[min(j + 1, len(row.places) - 1)]
            more = _NOTHING if which or not at.normal else grow * at.tail(following, edges[-1])
            yield lambda triple=triple, eta=eta, more=more: _label(
                at, triple, edges, grow, share, eta, more
            )
    for j, x in enumerate(cover.third):
        near = cover.third[max(j - 1, 0) : j + 2]
        step = max(arb(r) - l for l, r in pairwise(near))
        for first in (1.0, 0.0):
            yield lambda x=x, step=step, first=first: _smaller(
                at, first, x, step, edges, grow, share
            )


def _label(
    at: Outputs,
    triple: tuple[float, float, float],
    edges: Sequence[float],
    grow: arb,
    share: Share,
    eta: float,
    more: arb,
) -> Label:
    """A type of rows (A), (B): X' = (X - m)/(1 - eta) + m, m = b (1 - a) (Lemma 6.5).

    Beyond the edges of normal noise: section "(A), (B)" of Lemma 6.5.  ``more``: int r_+ there.
    """
    x0, x1, x = triple
    inner = edges if at.normal else sorted({*edges, *triple})
    found, lost = cell_gains(at, triple, inner, grow), more
    if not at.normal:
        found += _ends(at, triple, edges, grow)
    else:
        left, right = edges[0], edges[-1]
        below = at.ratio(x0, x, left) if x1 == 1.0 and x0 < 1.0 else _NOTHING
        cut = (at.ratio(x0, x, right) - grow * at.ratio(x1, x, right)).max(_NOTHING)
        rising = x0 == 1.0 and x1 < 1.0
        cut = cut if rising else _NOTHING
        found += [_at(at.tail(x, left), below), _at(at.tail(x, right), cut)]
        if rising:
            lost = lost + _excess(at, x1, right, grow)
    mean, shrunk = share.gain * (1 - grow), 1 - arb(eta)
    atoms = [
        ((1 - share.kappa) * mass, (share.gain * gain - mean) / shrunk + mean)
        for mass, gain in above(found)
    ]
    atoms, over = share.cut(atoms)
    return Label(triple, atoms, (1 - share.theta) * lost / shrunk + over)


def _at(mass: arb, gain: arb) -> Gain:
    """A constant gain."""
    return Gain(mass, mass * gain, gain, gain)


def _excess(at: Outputs, v: float, right: float, grow: arb) -> arb:
    """int over y > right of (f_1 - a f_v - C f_0)_+, C = max(gain of (1, v, 0) at ``right``, 0).

    Where that gain is >= 0 gains rise from there on.  Else f_1 > a f_v from (1 + v)/2 +
    eps/(turn (1 - v)) on only.
    """
    edge = at.ratio(1.0, 0.0, right) - grow * at.ratio(v, 0.0, right)
    if edge >= 0:
        gone = at.tail(1.0, right) - grow * at.tail(v, right) - edge * at.tail(0.0, right)
        return gone.nonnegative_part()
    gap = 1 - arb(v)
    start = (1 + arb(v)) / 2 + grow.log() / (at.turn * gap)
    start = start.max(arb(right))
    return (at.above(start - 1) - grow * at.above(start - v)).nonnegative_part()


def _smaller(
    at: Outputs, first: float, x: float, step: arb, edges: Sequence[float], grow: arb, share: Share
) -> Label:
    """A type of row (C), (1, 0, x) or (0, 1, x): the labelled part is (1 - kappa) k f_x.

    k is that of Lemma 6.2 and Remark 9.4.  Of normal noise gains rise without bound on one side:
    there the part ends somewhat beyond the last edge, and gains are cut; beyond the first edge on
    the other side they are negative and nothing is labelled.
    """
    triple, lost = (first, 1.0 - first, x), _NOTHING
    if not at.normal:
        t = step / at.scale
        k = (-t * t / 8).exp()
        inner = sorted({*edges, x})
        made = above(cell_gains(at, triple, inner, grow) + _ends(at, triple, edges, grow))
        found = [(k * mass, gain / k) for mass, gain in made]
    else:
        shrink = _shrink(at, x, step)
        last = edges[-1] if first == 1.0 else edges[0]
        wide = _FARTHER * float(at.scale.mid())
        ends = (last, last + wide) if first == 1.0 else (last - wide, last)
        cut = at.ratio(first, x, last) - grow * at.ratio(1.0 - first, x, last)
        if not cut >= 0:
            raise NotCertified("label stealing: wanted cells up to where gains are positive")
        kept = shrink(*ends) * at.mass(x, *ends)
        gone = at.tail(first, last) - grow * at.tail(1.0 - first, last) - cut * kept
        lost = gone.nonnegative_part()
        found = [*above(cell_gains(at, triple, edges, grow, shrink)), (kept, cut)]
    atoms = [((1 - share.kappa) * mass, share.gain * gain) for mass, gain in found]
    atoms, over = share.cut(atoms)
    return Label(triple, atoms, (1 - share.theta) * lost + over)


def _shrink(at: Outputs, x: float, step: arb) -> Shrink:
    """k <= e^(-(h (|y - x| + h)/sigma^2)^2/8) for all y of a cell (Remark 9.4)."""

    def k(left: float, right: float) -> arb:
        far = abs(arb(left) - x).max(abs(arb(right) - x)) + step
        t = step * far * at.turn
        return (-t * t / 8).exp()

    return k


# ------------------------------------------------------------------------------------- remainders


class Remainder:
    """The type W/eta + m between two places of rows (A) and (B) (Lemma 6.5)."""

    def __init__(
        self, boxes: list[tuple[arb, arb]], away: arb, *, kept: arb, mean: arb, rest: arb
    ) -> None:
        self._boxes, self._away = boxes, away
        self._kept, self._mean, self._rest = kept, mean, rest

    def mass(self, alpha: arb) -> arb:
        """At least d(alpha).

        d(alpha) <= 1 - |c| - (1 - kappa) + (1 - kappa) e^(alpha m) [1 + E w + E(e^|w| - 1 - |w|)],
        w = alpha W/eta; outside the cells of normal noise W is 0, and E w what is missing there.
        """
        inside = _NOTHING
        for mass, size in self._boxes:
            power = alpha * size
            inside += mass * (power.expm1() - power)
        return self._rest + self._kept * (alpha * self._mean).exp() * (
            1 + alpha * self._away + inside
        )


def remainders(at: Outputs, cover: Cover, eps: arb, share: Share, hidden: arb) -> list[Remainder]:
    """Those of all steps of rows (A) and (B); ``hidden``: |c|."""
    found: list[Remainder] = []
    if not cover.third:
        return found
    grow, kept = eps.exp(), 1 - share.kappa
    for which, row in enumerate((cover.first, cover.second)):
        scale = share.gain * (_ONE if which else grow)
        for (v, w), eta in zip(pairwise(row.places), row.stretch, strict=True):
            size, away = scale / eta, _NOTHING
            boxes = [
                (mass, size * _bend(at, v, w, left, right))
                for left, right, mass in _boxes(at, cover, v, w)
            ]
            if at.normal:
                away = size * (at.tail(w, cover.edges[-1]) + at.tail(v, cover.edges[0]))
            mean = share.gain * (1 - grow)
            found.append(Remainder(boxes, away, kept=kept, mean=mean, rest=1 - hidden - kept))
    return found


def _boxes(at: Outputs, cover: Cover, v: float, w: float) -> list[tuple[float, float, arb]]:
    """(left, right, mass under f_0); the ends of Laplace noise are boxes without width."""
    if at.normal:
        return [(l, r, at.mass(0.0, l, r)) for l, r in pairwise(cover.boxes)]
    found = [(l, r, at.mass(0.0, l, r)) for l, r in pairwise(sorted({*cover.boxes, v, w}))]
    return found + [(y, y, at.tail(0.0, y)) for y in (cover.boxes[0], cover.boxes[-1])]


def _bend(at: Outputs, v: float, w: float, left: float, right: float) -> arb:
    """sup over the box and over u in [v, w] of |(1-l) f_v + l f_w - f_u|/f_0, 0 <= v < w.

    At most (h^2/8) sup |d^2 f_u/du^2|, h = w - v; for Laplace noise where y may lie in [v, w], at
    most f(0) - f(h) as well.
    """
    step = arb(w) - v
    far = abs(arb(left) - w).max(abs(arb(right) - v))
    near = (arb(left) - w).max(v - arb(right)).max(_NOTHING)
    if at.normal:
        # u (y - u/2) is largest at y = right, and there at the u nearest to it.
        u = arb(min(max(right, v), w))
        ratio = (at.turn * u * (right - u / 2)).exp()
        bent = abs(at.turn * far * far - 1).max(abs(at.turn * near * near - 1))
        return (step * step / 8 * at.turn * bent * ratio).upper()
    b = at.scale
    top = step * step / (8 * b * b) * ((right - near) / b).exp()
    if left < w and right > v:
        top = top.max((right / b).exp() * -(-step / b).expm1())
    return top.upper()
