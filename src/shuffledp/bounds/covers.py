"""Finitely many labels that dominate all others for noise on an interval, in balls.

Label stealing (docs/theory-stealing.md, section 6) of a report x + Z, in units in which the inputs
fill [0, 1]; Z is Laplace or normal noise with the density f, f_x(y) = f(y - x), a = e^eps.  The
labelled part of an input x is (1 - kappa) f_x with the gain b (f_x0 - a f_x1)/f_x,
b = (1 - theta)/(1 - kappa).  Triples (x0, x1, x) that span the interval are enough (Lemma 6.1):

    (A) (1, v, 0),    (B) (u, 1, 0),    (C) (1, 0, x),    v, u, x from 0 to 1.

Between two places of a grid, the gain of (A) and (B) is a mixture of the gains at the places,
stretched about its mean, and of a remainder (Lemma 6.5); the law of (C) is a mixture of slightly
smaller laws (Theorem 6.3).  Grids, cells and stretches are proposals: any valid ones give a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.bounds.interval_cells import (
    Outputs,
    Shrink,
    above,
    cell_gains,
    constant,
    constant_ends,
)
from shuffledp.errors import NotCertified
from shuffledp.kernel.positive_sum import Atom

__all__ = ["Cover", "Label", "Reservoir", "Row", "Share", "check", "labels", "reservoir"]

_NOTHING = arb(0)
# How far labelled parts of (C) reach beyond the last edge for normal noise, in standard deviations.
_FARTHER = 1.5


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
    """A proposal: grids of inputs and cells of outputs.

    Attributes
    ----------
    edges, pool : tuple of float
        Edges of the labels' and of the reservoir's cells; 1/2 is among the latter.  For Laplace
        noise both reach from 0 to 1, and gains are constant outside. For normal noise they reach a
        standard deviation or more beyond 0 and 1, and gains are cut at the outermost edges.
    boxes : tuple of float
        Edges of the boxes in which remainders are bounded, from the first to the last of ``edges``.
    first, second : Row
        Grids of types (A) and (B).
    third : tuple of float
        Grid of type (C) from 0 to 1/2, for (1, 0, x) and (0, 1, x), which is the mirror image of
        (1, 0, 1 - x). Empty if the only inputs are 0 and 1: then (1, 0, 0) and (0, 1, 0) suffice.
    middle : float
        m/(b (1 - a)) of Lemma 6.5, from 0 to 1: gains are stretched about m.
    """

    edges: tuple[float, ...]
    pool: tuple[float, ...]
    boxes: tuple[float, ...]
    first: Row
    second: Row
    third: tuple[float, ...]
    middle: float = 1.0


class Share(NamedTuple):
    """How the laws are split into reservoir and labels.

    Attributes
    ----------
    kappa, theta : arb
        The reservoir is beta = kappa B; the victim joins it with probability theta.
    ceiling : arb, optional
        The largest gain that is kept, in the reservoir and in labels (Lemma 4.3); None for all.
    """

    kappa: arb
    theta: arb
    ceiling: arb | None = None

    @property
    def gain(self) -> arb:
        """b = (1 - theta)/(1 - kappa): the label's gain over (f_x0 - a f_x1)/f_x."""
        return (1 - self.theta) / (1 - self.kappa)

    def cut(self, atoms: list[Atom]) -> tuple[list[Atom], arb]:
        """Atoms with gains cut at the ceiling, and the integral of the excess."""
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
    """The labelled part of one triple, and the cost ``lost`` of gains left out of it."""

    triple: tuple[float, float, float]
    atoms: list[Atom]
    lost: arb


class Reservoir(NamedTuple):
    """The reservoir of the two end points.

    Attributes
    ----------
    atoms : list of Atom
        (mass, gain) of kappa B.
    mass : arb
        |beta|.
    lost : arb
        Upper bound of the integral of gains that were cut.
    unhidden : arb
        int (1 - s) g_+, the cost when nobody else is in the reservoir.
    """

    atoms: list[Atom]
    mass: arb
    lost: arb
    unhidden: arb


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
    # Normal noise: gains below the first edge are raised to it, those above the last edge are cut.
    found += [constant(gone, bottom), constant(far, top)]
    lost = _NOTHING
    if at.normal:
        lost = (at.tail(1.0, pool[-1]) - grow * far - top * far).nonnegative_part()
    join = share.theta / share.kappa
    atoms = [(share.kappa * mass, join * gain) for mass, gain in above(found)]
    atoms, cut = share.cut(atoms)
    # f_1 > a f_0 from y = 1/2 + eps/turn on for normal noise, 1/2 + eps/(2 turn) for Laplace noise.
    start = arb("0.5") + eps / (at.turn if at.normal else 2 * at.turn)
    positive = (at.above(start - 1) - grow * at.above(start)).nonnegative_part()
    if not at.normal and not start < 1:
        # Beyond 1 the ratio is constant, so that f_1 - a f_0 > 0 at most on the rest of [start, 1].
        positive = _NOTHING if start >= 1 else positive.union(_NOTHING)
    mass = share.kappa * 2 * at.tail(0.0, 0.5)
    return Reservoir(atoms, mass, share.theta * lost + cut, (1 - share.theta) * positive)


# ----------------------------------------------------------------------------------------- labels


def check(at: Outputs, cover: Cover, *, two_inputs: bool) -> None:
    """Raise NotCertified unless the theorems apply to this cover.

    ``two_inputs``: the only inputs are 0 and 1, so that no grid of inputs is needed.
    """
    edges, pool = cover.edges, cover.pool
    rising = all(l < r for row in (edges, pool, cover.boxes) for l, r in pairwise(row))
    whole = cover.boxes[0] == edges[0] and cover.boxes[-1] == edges[-1]
    if at.normal:
        wide = bool(edges[0] + at.scale <= 0) and bool(edges[-1] - at.scale >= 1)
        wide = wide and pool[0] <= 0.0 and pool[-1] >= 1.0
    else:
        wide = edges[0] == pool[0] == 0.0 and edges[-1] == pool[-1] == 1.0
    grids = ((cover.first.places, 1.0), (cover.second.places, 1.0), (cover.third, 0.5))
    spans = (two_inputs and not cover.third) or all(
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
    centred = 0.0 <= cover.middle <= 1.0
    if not (rising and whole and wide and spans and stretched and centred):
        raise NotCertified("label stealing: the cover does not reach over all inputs and outputs")


def labels(
    at: Outputs, cover: Cover, eps: arb, share: Share, edges: Sequence[float]
) -> Iterator[Callable[[], Label]]:
    """The labels of the cover, on cells with these edges; each is made when it is called.

    ``edges``: the cover's edges or some of them, with the first and the last.
    """
    grow = eps.exp()
    if not cover.third:
        for triple in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
            yield lambda triple=triple: _label(
                at, triple, edges, grow, share, ({0.0}, 1.0), _NOTHING
            )
        return
    for which, row in enumerate((cover.first, cover.second)):
        for j, v in enumerate(row.places):
            etas = {*row.stretch[max(j - 1, 0) : j + 1]}
            # With stretches about the mean, the larger stretch serves both neighbouring steps.
            etas = {max(etas)} if cover.middle == 1.0 else etas
            triple = (v, 1.0, 0.0) if which else (1.0, v, 0.0)
            following = row.places[min(j + 1, len(row.places) - 1)]
            more = _NOTHING if which or not at.normal else grow * at.tail(following, edges[-1])
            yield lambda triple=triple, etas=etas, more=more: _label(
                at, triple, edges, grow, share, (etas, cover.middle), more
            )
    for j, x in enumerate(cover.third):
        near = cover.third[max(j - 1, 0) : j + 2]
        step = _NOTHING
        for l, r in pairwise(near):
            step = step.max(arb(r) - l)
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
    stretch: tuple[set[float], float],
    more: arb,
) -> Label:
    """A label of type (A) or (B): X' = (X - m)/(1 - eta) + m (Lemma 6.5).

    ``stretch``: the values of eta, of which the largest X' is taken, and m/(b (1 - a)).

    Normal noise beyond the edges: Lemma 6.5, "(A), (B)".  ``more``: upper bound of int r_+ there.
    """
    x0, x1, x = triple
    inner = edges if at.normal else sorted({*edges, *triple})
    found, lost = cell_gains(at, triple, inner, grow), more
    if not at.normal:
        found += constant_ends(at, triple, edges, grow)
    else:
        left, right = edges[0], edges[-1]
        below = at.ratio(x0, x, left) if x1 == 1.0 and x0 < 1.0 else _NOTHING
        cut = (at.ratio(x0, x, right) - grow * at.ratio(x1, x, right)).max(_NOTHING)
        rising = x0 == 1.0 and x1 < 1.0
        cut = cut if rising else _NOTHING
        found += [constant(at.tail(x, left), below), constant(at.tail(x, right), cut)]
        if rising:
            lost = lost + excess(at, x1, right, grow)
    etas, middle = stretch
    middle, atoms = share.gain * (1 - grow) * middle, []
    least, most = 1 - arb(max(etas)), 1 - arb(min(etas))
    for mass, gain in above(found):
        away = share.gain * gain - middle
        atoms.append(((1 - share.kappa) * mass, (away / least).max(away / most) + middle))
    atoms, over = share.cut(atoms)
    return Label(triple, atoms, (1 - share.theta) * lost / least + over)


def excess(at: Outputs, v: float, right: float, grow: arb) -> arb:
    """int over y > right of (f_1 - a f_v - C f_0)_+, C = max(gain of (1, v, 0) at ``right``, 0).

    If that gain is >= 0, gains rise from there on.  Otherwise f_1 > a f_v only from
    (1 + v)/2 + eps/(turn (1 - v)) on.
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
    """A label of type (C), (1, 0, x) or (0, 1, x): the labelled part is (1 - kappa) k f_x.

    k is that of Theorem 6.3.  For normal noise, gains rise without bound on one side: there the
    labelled part ends somewhat beyond the last edge, and larger gains are cut.  On the other side
    gains beyond the first edge are negative, and nothing is labelled.
    """
    triple, lost = (first, 1.0 - first, x), _NOTHING
    if not at.normal:
        t = step / at.scale
        k = (-t * t / 8).exp()
        inner = sorted({*edges, x})
        made = above(cell_gains(at, triple, inner, grow) + constant_ends(at, triple, edges, grow))
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
    """Return a k <= e^(-(h (|y - x| + h)/sigma^2)^2/8) for all y of a cell (Theorem 6.3)."""

    def k(left: float, right: float) -> arb:
        far = abs(arb(left) - x).max(abs(arb(right) - x)) + step
        t = step * far * at.turn
        return (-t * t / 8).exp()

    return k
