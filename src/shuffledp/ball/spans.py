"""Label stealing of Laplace and normal noise on an interval, in balls: cells and covers of its own.

docs/theory-stealing.md, section 6, in units of the interval: the triples (1, v, 0), (u, 1, 0) and
(1, 0, x) dominate all others, and on a grid along each of these edges laws that are bent a little
dominate those of all places between. Grids and cells are chosen here; any are valid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified

from .outputs import positive, rational_ball
from .registry import seen

__all__ = [
    "COARSE",
    "INTERVAL_BITS",
    "Bend",
    "Cells",
    "Noise",
    "Spans",
    "Triple",
    "cells_at",
    "cells_of",
    "end_points",
    "noise_on",
    "spans_of",
    "triples_of",
]

# Thousands of cells are looked at. Logarithms are taken n times: of 10^15 users 2^-70 is left.
INTERVAL_BITS = 128
Atom = tuple[arb, arb]

# How much wider cells are where there is hardly any mass.
_WIDER = 4
# How near the worst a triple is that gets many cells.
_CLOSE = 0.02
_PROBES, _MOST_POINTS = 17, 600
# Ratios of narrower noise are too heavy (the same limit as for claims).
_NARROWEST = 0.25
_INFINITE = Fraction(10**9)
# Ranges of a gain that are narrower, relatively, are rounding: the gain is constant.
_NOTHING = 2.0**-100


@dataclass(frozen=True)
class Noise:
    """Laplace or normal noise of a scale in units of the interval.

    Attributes
    ----------
    normal : bool
        Normal noise of deviation ``scale``; else Laplace noise.
    scale : arb
        Of the noise.
    width : float
        About ``scale``.
    far : Fraction
        Outputs farther than that below 0 or above 1 are left out.
    reach : Fraction
        Normal noise is bent up to that far from an input.
    bulk : (Fraction, Fraction)
        Outside of this range cells are wider.
    """

    normal: bool
    scale: arb
    width: float
    far: Fraction
    reach: Fraction
    bulk: tuple[Fraction, Fraction] = (-_INFINITE, _INFINITE)

    def beyond(self, z: arb) -> arb:
        """P(Z > z) for z >= 0."""
        if self.normal:
            return (z / (self.scale * arb(2).sqrt())).erfc() / 2
        return (-z / self.scale).exp() / 2

    def log_ratio(self, x0: arb, x: arb, y: arb) -> arb:
        """log f_x0(y)/f_x(y)."""
        if self.normal:
            return (x0 - x) * (2 * y - x0 - x) / (2 * self.scale * self.scale)
        return (abs(y - x) - abs(y - x0)) / self.scale

    def slope(self, x0: arb, x: arb, left: arb, right: arb) -> arb:
        """Derivative of that, constant where neither x0 nor x is inside of (left, right)."""
        if self.normal:
            return (x0 - x) / (self.scale * self.scale)
        middle = (left + right) / 2
        one = arb(1)
        return ((one if middle > x else -one) - (one if middle > x0 else -one)) / self.scale


class Bend(NamedTuple):
    """Row 0, 1 or 2 times a factor up to ``reach`` from its input, and times ``beyond`` farther.

    ``melting``, of normal noise, is a step h: times e^(-(h (d + h)/scale^2)^2/8) at distance d, at
    all outputs (Remark 9.4).
    """

    row: int
    factor: arb
    reach: Fraction | None
    beyond: int
    melting: Fraction | None = None


class Triple(NamedTuple):
    """Places of x0, x1 and x (None: the blanket), how a law is bent, and how many cells."""

    x0: Fraction
    x1: Fraction
    x: Fraction | None
    bend: Bend | None
    cells: int


class Detail(NamedTuple):
    """Cells of the worst triples and of others; what grids may cost.

    ``finest`` is a share of eps at the worst triple, ``share`` one of the slack elsewhere.
    """

    cells: int
    few: int
    finest: float
    share: float


# Of one claim: a part in a million of eps. Of values of one round: half a per cent of these.
DETAILED, COARSE = Detail(900, 200, 6e-6, 0.4), Detail(200, 64, 2e-4, 0.25)


def noise_on(mechanism: Mapping[str, Any], log_delta: float) -> Noise:
    """The noise in units of the interval, for a delta of about this size."""
    low, high = Fraction(mechanism["low"]), Fraction(mechanism["high"])
    if not seen(mechanism).normal:
        scale = 1 / positive(mechanism, "eps0")
        return Noise(False, scale, float(scale.mid()), Fraction(0), _INFINITE)  # noqa: FBT003
    scale = positive(mechanism, "sigma") / rational_ball(high - low)
    width = float(scale.mid())
    if width < _NARROWEST:
        raise NotCertified("label-stealing of noise this narrow is not recomputed")
    far = Fraction(width * math.sqrt(2.0 * (24.0 - log_delta)))
    reach = Fraction(width * math.sqrt(2.0 * (9.0 - log_delta)))
    return Noise(True, scale, width, far, reach)  # noqa: FBT003


def end_points(detail: Detail = DETAILED) -> Triple:
    """The pair of the end points against the blanket."""
    return Triple(Fraction(1), Fraction(0), None, None, detail.cells)


# -------------------------------------------------------------------------------------- cells


class Cells(NamedTuple):
    """Atoms (mass of the third law, gain (f_x0 - a f_x1)/third) and the mass of x0 outside them."""

    atoms: list[Atom]
    outside: arb


class Span(NamedTuple):
    """A cell or an end of the line, whatever eps is: mass, ratios to the third law and their rises.

    ``ratios`` and ``rises`` are (x0's, x1's) at both ends, ``masses`` x0's and x1's, ``width`` half
    of the cell's; of an end of the line, where ratios are constant, masses and width are None.
    """

    mass: arb
    ratios: tuple[tuple[arb, arb], tuple[arb, arb]]
    rises: tuple[tuple[arb, arb], tuple[arb, arb]]
    masses: tuple[arb, arb] | None
    half: arb | None


class Spans(NamedTuple):
    """All spans of a triple and x0's mass outside them."""

    spans: list[Span]
    outside: arb


def cells_of(noise: Noise, triple: Triple, grow: arb) -> Cells:
    """Two atoms a cell: the ends of a range of the gain, with its mean (Lemma 4.2)."""
    return cells_at(spans_of(noise, triple), grow)


def cells_at(found: Spans, grow: arb) -> Cells:
    """Those of the same spans at any eps."""
    atoms: list[Atom] = []
    for one in found.spans:
        atoms += _atoms(one, grow)
    return Cells(atoms, found.outside)


def spans_of(noise: Noise, triple: Triple) -> Spans:
    """What of a triple's cells does not depend on eps."""
    bend = triple.bend
    x0, x1 = rational_ball(triple.x0), rational_ball(triple.x1)
    edges = _edges(noise, triple)
    first_factor = bend.factor.max(arb(1)) if bend is not None and bend.row == 0 else arb(1)
    outside = first_factor * 2 * noise.beyond(rational_ball(noise.far)) if noise.normal else arb(0)
    found: list[Span] = []
    points = [rational_ball(edge) for edge in edges]
    tails = _tails(noise, triple, points)
    for k, (left, right) in enumerate(itertools.pairwise(edges)):
        x = triple.x
        if x is None:
            # The blanket is the farther end's density.
            x = Fraction(1) if left + right < 1 else Fraction(0)
        rows = triple.x0, triple.x1, x
        k0, k1, k2 = (_factor(bend, row, at, (left, right), noise) for row, at in enumerate(rows))
        m0, m1, m2 = (
            tails[at][k] - tails[at][k + 1] if left >= at else tails[at][k + 1] - tails[at][k]
            for at in rows
        )
        p0, p1, mass = k0 * m0, k1 * m1, k2 * m2
        if not mass > 0:
            outside += p0
            continue
        ends = points[k], points[k + 1]
        places = x0, x1, rational_ball(x)
        found.append(_span(noise, places, (k0 / k2, k1 / k2), ends, mass, (p0, p1)))
    if not noise.normal:
        found += _ends(noise, triple, edges)
    return Spans(found, outside)


def _tails(noise: Noise, triple: Triple, points: list[arb]) -> dict[Fraction, list[arb]]:
    """P(Z > |y - x|) at all points y, for every input x that noise is around.

    A cell's mass is the difference of two, as no input is inside of a cell.
    """
    others = (Fraction(0), Fraction(1)) if triple.x is None else (triple.x,)
    found = {}
    for x in {triple.x0, triple.x1, *others}:
        place = rational_ball(x)
        found[x] = [noise.beyond(abs(point - place)) for point in points]
    return found


def _factor(
    bend: Bend | None, row: int, at: Fraction, cell: tuple[Fraction, Fraction], noise: Noise
) -> arb:
    """What the row's density is multiplied by on all of a cell."""
    if bend is None or bend.row != row:
        return arb(1)
    left, right = cell
    if bend.melting is not None:
        far = rational_ball(max(abs(left - at), abs(right - at)) + bend.melting)
        return (-((rational_ball(bend.melting) * far / noise.scale**2) ** 2) / 8).exp()
    middle = (left + right) / 2
    near = bend.reach is None or abs(middle - at) <= bend.reach
    return bend.factor if near else arb(bend.beyond)


def _edges(noise: Noise, triple: Triple) -> list[Fraction]:
    """Edges of cells: wherever a formula changes, and even ones between."""
    marks = {Fraction(0), Fraction(1), triple.x0, triple.x1}
    marks.add(Fraction(1, 2) if triple.x is None else triple.x)
    low, high = -noise.far, 1 + noise.far
    bend = triple.bend
    if bend is not None and bend.reach is not None:
        at = (triple.x0, triple.x1, triple.x)[bend.row]
        if at is not None:
            marks |= {at - bend.reach, at + bend.reach}
    if noise.normal:
        marks |= set(noise.bulk)
        marks = {y for y in marks if low <= y <= high} | {low, high}
    ordered = sorted(marks)
    spans = [(right - left) / _wider(noise, left, right) for left, right in _pairs(ordered)]
    width = sum(spans, Fraction(0)) / triple.cells
    edges = [ordered[0]]
    for span, (left, right) in zip(spans, _pairs(ordered), strict=True):
        parts = max(1, math.ceil(span / width))
        edges += [left + (right - left) * i / parts for i in range(1, parts + 1)]
    return edges


def _wider(noise: Noise, left: Fraction, right: Fraction) -> int:
    """How much wider cells are outside of where most of the mass is."""
    low, high = noise.bulk
    return _WIDER if right <= low or left >= high else 1


def _pairs(ordered: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    return list(itertools.pairwise(ordered))


def _span(
    noise: Noise,
    places: tuple[arb, arb, arb],
    factors: tuple[arb, arb],
    ends: tuple[arb, arb],
    mass: arb,
    masses: tuple[arb, arb],
) -> Span:
    """A cell's ratios f0 r0 and f1 r1 to the third law, and how fast they rise."""
    (x0, x1, x), (l, r) = places, ends
    ratios, rises = [], []
    slopes = noise.slope(x0, x, l, r), noise.slope(x1, x, l, r)
    for y in ends:
        one = factors[0] * noise.log_ratio(x0, x, y).exp()
        two = factors[1] * noise.log_ratio(x1, x, y).exp()
        ratios.append((one, two))
        rises.append((slopes[0] * one, slopes[1] * two))
    return Span(mass, (ratios[0], ratios[1]), (rises[0], rises[1]), masses, (r - l) / 2)


def _atoms(one: Span, grow: arb) -> list[Atom]:
    """A cell's gains f0 r0 - a f1 r1 on two points; at an end of the line they are constant."""
    values = [first - grow * second for first, second in one.ratios]
    if one.masses is None or one.half is None:
        return [(one.mass, values[0])]
    # Each part of the derivative is monotone on the cell.
    first, second = (one.rises[0][i].union(one.rises[1][i]) for i in (0, 1))
    rise = first - grow * second
    span = values[0].union(values[1])
    if not (rise >= 0 or rise <= 0):
        # Between the ends the gain moves no farther than half a cell at the steepest rise.
        span = span + arb(0, (abs(rise).upper() * one.half).upper())
    low, high = arb(span.lower()), arb(span.upper())
    if not high - low > abs(high) * _NOTHING:
        return [(one.mass, high)]
    mean = ((one.masses[0] - grow * one.masses[1]) / one.mass).max(low).min(high)
    part = (mean - low) / (high - low)
    return [(one.mass * part, high), (one.mass * (1 - part), low)]


def _ends(noise: Noise, triple: Triple, edges: list[Fraction]) -> list[Span]:
    """Laplace noise below and above all edges, where ratios are constant."""
    found = []
    for y in (edges[0], edges[-1]):
        x = triple.x
        if x is None:
            x = Fraction(1) if y == edges[0] else Fraction(0)
        own, at = rational_ball(x), rational_ball(y)
        outer = y - 1 if y == edges[0] else y + 1
        k0, k1, k2 = (
            _factor(triple.bend, row, (triple.x0, triple.x1, x)[row], (outer, outer), noise)
            for row in range(3)
        )
        first, second = (
            noise.log_ratio(rational_ball(place), own, at).exp() for place in (triple.x0, triple.x1)
        )
        ratios, flat = (k0 / k2 * first, k1 / k2 * second), (arb(0), arb(0))
        mass = k2 * noise.beyond(abs(at - own))
        found.append(Span(mass, (ratios, ratios), (flat, flat), None, None))
    return found


# -------------------------------------------------------------------------------------- covers


def triples_of(
    noise: Noise, epsilon: float, *, two_inputs: bool, detail: Detail = DETAILED
) -> Iterator[Triple]:
    """Triples that dominate those of all inputs (Theorem 6.3), fine enough for about this eps."""
    zero, one = Fraction(0), Fraction(1)
    if two_inputs:
        yield Triple(one, zero, zero, None, detail.cells)
        yield Triple(zero, one, zero, None, detail.cells)
        return
    lines: tuple[tuple[Callable[[Fraction], Triple], Callable[[float], float], Any], ...] = (
        (lambda v: Triple(one, v, zero, None, 0), lambda h: _lowered(noise, h, 0.0), _weaker),
        (lambda u: Triple(u, one, zero, None, 0), lambda h: _raised(noise, h), _stronger),
        (
            lambda x: Triple(one, zero, x, None, 0),
            lambda h: 0.5 * epsilon * _lowered(noise, h, 1.0),
            _fewer,
        ),
    )
    probes = [Fraction(i, _PROBES - 1) for i in range(_PROBES)]
    spreads = [[_spread(noise, make(v)) for v in probes] for make, _, _ in lines]
    worst = max(map(max, spreads))
    for (make, cost, bend), spread in zip(lines, spreads, strict=True):

        def slack(v: float, spread: list[float] = spread) -> float:
            i = min(int(v * (_PROBES - 1)), _PROBES - 2)
            part = v * (_PROBES - 1) - i
            return max(0.0, 1.0 - ((1.0 - part) * spread[i] + part * spread[i + 1]) / worst)

        def allowed(v: float, slack: Callable[[float], float] = slack) -> float:
            return epsilon * max(detail.finest, detail.share * slack(v))

        points = _grid(allowed, cost)
        steps = [b - a for a, b in itertools.pairwise(points)]
        for j, v in enumerate(points):
            h = max(steps[max(j - 1, 0)], steps[min(j, len(steps) - 1)])
            cells = detail.cells if slack(float(v)) < _CLOSE else detail.few
            yield make(v)._replace(bend=bend(noise, h), cells=cells)


def _grid(allowed: Callable[[float], float], cost: Callable[[float], float]) -> list[Fraction]:
    """Points from 0 to 1; the cost of a step is allowed at both of its ends."""
    points = [Fraction(0)]
    while points[-1] < 1:
        here = float(points[-1])
        h = min(0.25, 1.0 - here)
        while cost(h) > min(allowed(here), allowed(min(here + h, 1.0))) and h > 1e-7:
            h *= 0.8
        # Short binary fractions: exact, and quick to compute with.
        step = Fraction(max(round(h * 2**30), 1), 2**30)
        points.append(min(points[-1] + step, Fraction(1)))
        if len(points) > _MOST_POINTS:
            raise NotCertified("label stealing: too many inputs in the verifier's cover")
    return points


def _spread(noise: Noise, triple: Triple) -> float:
    """sqrt of int (f_x0 - f_x1)^2/f_x, in floats: it only says where grids have to be fine."""
    x = float(triple.x or 0)
    u, v, b = float(triple.x0) - x, float(triple.x1) - x, noise.width
    if noise.normal:
        both = [math.exp(min(p * q / b**2, 600.0)) for p, q in ((u, u), (u, v), (v, v))]
        return math.sqrt(max(both[0] - 2.0 * both[1] + both[2], 0.0))
    total, points = 0.0, 400
    lowest = min(u, v, 0.0)
    span = max(u, v, 0.0) - lowest
    for i in range(points):
        y = lowest + (i + 0.5) / points * span
        own = math.exp(-abs(y) / b)
        change = math.exp(-abs(y - u) / b) - math.exp(-abs(y - v) / b)
        total += change * change / own * span / points
    for y in (lowest, lowest + span):
        change = math.exp(-abs(y - u) / b) - math.exp(-abs(y - v) / b)
        total += change * change / math.exp(-abs(y) / b) * b
    return math.sqrt(total / (2.0 * b))


def _below(noise: Noise, h: Fraction, more: Fraction) -> tuple[arb, Fraction | None]:
    """Lemma 6.2: (k, reach), f_x >= k chord where one of both is at most that far away."""
    step = rational_ball(h) / noise.scale
    if not noise.normal:
        return (-(step**2) / 8).exp(), None
    reach = noise.reach + more
    far = step * rational_ball(reach + h) / noise.scale
    return (-(far**2) / 8).exp(), reach


def _weaker(noise: Noise, h: Fraction) -> Bend:
    factor, reach = _below(noise, h, Fraction(0))
    return Bend(1, factor, reach, 0)


def _fewer(noise: Noise, h: Fraction) -> Bend:
    # The victim's inputs may be the whole interval away.
    factor, reach = _below(noise, h, Fraction(1))
    return Bend(2, factor, reach, 0)


def _stronger(noise: Noise, h: Fraction) -> Bend:
    step = rational_ball(h) / noise.scale
    if noise.normal:
        return Bend(0, (step**2 / 8).exp(), None, 1)
    return Bend(0, (step / 2).exp(), h, 1)


def _lowered(noise: Noise, h: float, more: float) -> float:
    """-log k, in floats."""
    t = h / noise.width
    return (
        t * t / 8.0 * (((float(noise.reach) + more + h) / noise.width) ** 2 if noise.normal else 1)
    )


def _raised(noise: Noise, h: float) -> float:
    """About how much mass the bent law has too much."""
    t = h / noise.width
    return math.expm1(t * t / 8.0) if noise.normal else math.expm1(t / 2.0) * min(1.0, t)
