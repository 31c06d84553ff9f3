"""Label stealing for additive noise on an interval: all pairs and all others' inputs.

In the labelled part only the places of x0 and x1 against the other's input x count, and for
self-decomposable noise only those that span the whole interval: x at one end and x0 or x1 at the
other, or x0 and x1 at both ends. Along each of these three edges a grid covers all inputs:
log-concave densities lie above a little less, and below a little more, than the chord of two
neighbours (docs/theory-stealing.md, section 6).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF, Array, Indices
from shuffledp.randomizers import JointLaw
from shuffledp.randomizers.chords import Chords, IntervalDensity
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.cases import LARGER, MOST, Cut, Variations, balanced, least_share
from shuffledp.stealing.cells import Rows, RowStack
from shuffledp.stealing.measures import Measure

U = UNIT_ROUNDOFF
# Groups of cells that gains are taken on: with 300 of them the
# spread of gains within a group adds less than 1e-4 to their variance.
_GROUPS, _FEW_GROUPS = 320, 80
# Less spread than the worst by that share: few groups are enough.
_CLOSE = 0.02
# Share of eps that the cover may cost next to the worst triple, and of the slack farther away.
_FINEST, _SHARE = 2e-5, 0.6
# Places on an edge where the spread is looked at; between them it is interpolated.
_PROBES = 17
# The cover of a curve is that of its scale; next to the worst triple it costs 2e-4 of that.
_FINEST_OF_CURVE = 2e-4
# Groups of a curve's: the spread within adds 5e-4 to variances, half of that to eps.
_GROUPS_OF_CURVE = (120, 40)
# Points of one edge: beyond that a bound takes more than about ten seconds.
_MOST_POINTS = 2000
# Triples that estimates look at.
_LIKELY = 4
# Shares of delta that cutting gains may cost.
_CUT_SHARES = (0.01, 0.001, 0.1, 0.4)
# Log ratios beyond it are cut off as infinite.
_LARGEST_LOG = 300.0
_LARGEST_WIDTH = 1e100
# Gains of a group are within this factor of each other, in logs.
_LOG_GROUP = 0.2
# Ratios below it count as 0: a float may have lost them.
_SMALLEST_RATIO = 1e-290


@dataclass(frozen=True)
class Bend:
    """What a row of a law is multiplied by, so that it covers its neighbourhood.

    Attributes
    ----------
    row : int
        0, 1 or 2: x0, x1 or the other's input.
    factor : float
        For outputs up to ``reach`` from the row's input.
    reach : float
        In units of the interval.
    beyond : float
        For all other outputs: 1, or 0 to leave them out.
    """

    row: int
    factor: float
    reach: float
    beyond: float


@dataclass(frozen=True)
class Melting(Bend):
    """A factor that falls with the output's distance d from the row's normal input.

    Attributes
    ----------
    h : float
        Distance of neighbours.
    noise : float
        Deviation, so that the factor is e^{-(h (d + h)/noise^2)^2/8} up to ``reach``, then 0.
    """

    h: float
    noise: float

    def factors(self, distance: Array) -> Array:
        """On cells whose farthest output is that far away, rounded down."""
        exponent = (self.h * (distance + self.h) / self.noise**2) ** 2 / 8.0
        kept = np.exp(-exponent * (1.0 + 16 * U)) * (1.0 - 16 * U)
        return np.where(distance <= self.reach, kept, 0.0)


class Triple(NamedTuple):
    """A victim's pair, the input of another, and how their laws are bent to cover neighbours."""

    x0: float
    x1: float
    x: float
    bends: tuple[Bend, ...] = ()
    groups: int = _GROUPS


class _Apart(ABC):
    """Reservoir and labels dominated apart: gains of the labels are taken against whole laws.

    beta = kappa B, the labelled part (1 - kappa) R_x, and kappa (R_x - B) left over; the victim
    joins with one probability theta whatever its report.
    """

    def __init__(self, common: Rows, *, bounded: bool) -> None:
        self._common, self._bounded = common, bounded

    @abstractmethod
    def likely(self) -> list[Rows]:
        """Labels of triples that are likely to matter."""

    @property
    def blanket_mass(self) -> float:
        """Mass of the blanket."""
        return float(self._common.third.sum())

    def gains(self, epsilon: float, choice: Cut) -> Gains:
        """Those of triples that are likely to matter: for choosing, not for certifying."""
        return self._gains(self.likely(), epsilon, choice)

    def _gains(self, laws: list[Rows], epsilon: float, choice: Cut) -> Gains:
        stay, steal = 1.0 - choice.kappa, 1.0 - choice.theta
        types = [law.measure(epsilon, share=stay, join=steal) for law in laws]
        return self._with(epsilon, choice, [law.cut(choice.ceiling) for law in types])

    def _all_gains(self, laws: RowStack, epsilon: float, choice: Cut) -> Gains:
        """The same of many."""
        stay, steal = 1.0 - choice.kappa, 1.0 - choice.theta
        types = laws.measure(epsilon, share=stay, join=steal)
        return self._with(epsilon, choice, types.cut(choice.ceiling))

    def _with(self, epsilon: float, choice: Cut, types: Sequence[Measure]) -> Gains:
        """Labels, with the reservoir that goes with the choice."""
        joined = self._common.measure(epsilon, share=choice.kappa, join=choice.theta)
        steal = 1.0 - choice.theta
        positive = math.fsum(self._common.difference(epsilon).positive) + self._common.outside
        return Gains(joined.cut(choice.ceiling), types, steal * positive * (1.0 + 2.0**-50))

    def least_share(self, log_target: float, n: int) -> float:
        """Of the end points' blanket."""
        return least_share(float(self._common.third.sum()), log_target, n)

    def first(self, epsilon: float, log_target: float, n: int) -> Cut | None:
        """A reservoir of middling size; unbounded gains cut where that costs little."""
        found = (
            self._made(kappa, _CUT_SHARES[0], epsilon, log_target)
            for kappa in self._sizes(log_target, n)
        )
        return next(found, None)

    def varied(self, choice: Cut, epsilon: float, log_target: float, n: int) -> Variations:
        """Other sizes; then other ceilings."""
        del choice
        shares = () if self._bounded else _CUT_SHARES[1:]
        return (
            lambda _: (
                self._made(kappa, _CUT_SHARES[0], epsilon, log_target)
                for kappa in self._sizes(log_target, n)
            ),
            lambda old: (self._made(old.kappa, share, epsilon, log_target) for share in shares),
        )

    def _sizes(self, log_target: float, n: int) -> Iterator[float]:
        least = least_share(float(self._common.third.sum()), log_target, n)
        return (factor * least for factor in LARGER if factor * least <= MOST)

    def _made(self, kappa: float, share: float, epsilon: float, log_target: float) -> Cut:
        """theta that makes both parts' gains alike, these cut at a cost of ``share`` of delta."""
        halves = self.gains(epsilon, Cut(kappa, 0.5, math.inf))
        if self._bounded:
            return Cut(kappa, balanced(halves), math.inf)
        # Half of the gains for half of the cost; stolen ones are 2 (1 - theta) times that.
        ceiling = _ceiling(halves, 0.5 * share * math.exp(max(log_target, -700.0)))
        theta = balanced(self.gains(epsilon, Cut(kappa, 0.5, ceiling)))
        return Cut(kappa, theta, 2.0 * (1.0 - theta) * ceiling)


class ShiftCase(_Apart):
    """Noise on a lattice: all places of x0 and x1 against the other's input.

    Parameters
    ----------
    common : Rows
        The pair of the end points against the blanket.
    laws : list of Rows
        Every (x0, x1) against x.
    bounded : bool
        Whether likelihood ratios are bounded; else large gains are cut.
    """

    def __init__(self, common: Rows, laws: list[Rows], *, bounded: bool) -> None:
        super().__init__(common, bounded=bounded)
        self._laws = RowStack.of(laws)
        order = np.argsort(-_spread(laws))
        self._likely = [laws[i] for i in order[:_LIKELY]]

    def along(self, scale: float) -> ShiftCase:
        """The case itself."""
        del scale
        return self

    def likely(self) -> list[Rows]:
        """Those with the largest spread."""
        return self._likely

    def certified_gains(self, epsilon: float, choice: Cut) -> Gains:
        """Those of all triples."""
        return self._all_gains(self._laws, epsilon, choice)


class IntervalCase(_Apart):
    """All pairs and all others' inputs of noise on an interval.

    Parameters
    ----------
    noise : IntervalDensity
        The mechanism.
    least : float
        Where eps is smaller the cover is as fine as for this eps, and where it is larger too: one
        cover serves a whole curve. 0: a cover for each eps.

    Notes
    -----
    Laws and covers are kept as long as the case is: a case serves one request.
    """

    def __init__(self, noise: IntervalDensity, *, least: float = 0.0) -> None:
        ends = noise.law((0.0, 1.0))
        common = rows_of(ends, (0, 1, None), (), noise.distances, _GROUPS)
        super().__init__(common, bounded=noise.bounded)
        self._noise = noise
        self._ends = self._rows([Triple(1.0, 0.0, 0.0), Triple(0.0, 1.0, 0.0)])
        self._covers: dict[int, RowStack] = {}
        self._least = least

    @property
    def chords(self) -> Chords:
        """How far the density is from chords."""
        return self._noise.chords

    @property
    def two_inputs(self) -> bool:
        """Whether the end points are all inputs there are."""
        return self._noise.two_inputs

    @property
    def bounded(self) -> bool:
        """Whether likelihood ratios are."""
        return self._noise.bounded

    def rows(self, triples: list[Triple]) -> list[Rows]:
        """Cells of triples."""
        return self._rows(triples)

    def gains_of(self, laws: list[Rows], epsilon: float, choice: Cut) -> Gains:
        """The measures, with these triples' labels."""
        return self._gains(laws, epsilon, choice)

    def likely(self) -> list[Rows]:
        """Others at an end."""
        return self._ends

    def along(self, scale: float) -> IntervalCase:
        """The same with one cover for all eps of a curve."""
        return IntervalCase(self._noise, least=scale)

    def _rows(self, triples: list[Triple]) -> list[Rows]:
        """All triples on the cells of one law of all their inputs."""
        inputs = sorted({x for triple in triples for x in (triple.x0, triple.x1, triple.x)})
        row = {x: i for i, x in enumerate(inputs)}
        law = self._noise.law(tuple(inputs))
        return [
            rows_of(law, (row[t.x0], row[t.x1], row[t.x]), t.bends, self._noise.distances, t.groups)
            for t in triples
        ]

    def certified_gains(self, epsilon: float, choice: Cut) -> Gains:
        """Those of a cover of all inputs, which is finer where eps is small."""
        if self._noise.two_inputs:
            return self._gains(self._ends, epsilon, choice)
        level = math.floor(2.0 * math.log2(self._least or epsilon))
        if level not in self._covers:
            triples = cover(
                2.0 ** (0.5 * level),
                self._noise.chords,
                lambda t: _spread(self._rows(t)),
                quantum=self._noise.quantum,
                finest=_FINEST_OF_CURVE if self._least else _FINEST,
                groups=_GROUPS_OF_CURVE if self._least else (_GROUPS, _FEW_GROUPS),
            )
            self._covers[level] = RowStack.of(self._rows(triples))
        return self._all_gains(self._covers[level], epsilon, choice)


def _spread(laws: list[Rows]) -> Array:
    """sqrt of int (R_x0 - R_x1)^2/R_x: what eps is in proportion to, to first order."""
    found = []
    for rows in laws:
        some = rows.third > 0.0
        change = (rows.first - rows.second)[some]
        found.append(math.sqrt(float((change * change / rows.third[some]).sum())))
    return np.array(found)


def _ceiling(gains: Gains, cost: float) -> float:
    """About where cutting gains costs this much of delta."""
    law = max(gains.types, key=lambda measure: float(measure.gain.max(initial=0.0)))
    if law.gain.size == 0:
        raise NotCertified("analysis = 'label-stealing': no ratio in the range of floats")
    order = np.argsort(law.gain)[::-1]
    gain, mass = law.gain[order], law.mass[order]
    excess = np.cumsum(mass * gain) - np.cumsum(mass) * gain
    index = int(np.searchsorted(excess, cost))
    return float(gain[min(index, gain.size - 1)])


def cover(
    epsilon: float,
    chords: Chords,
    spread: Callable[[list[Triple]], Array],
    *,
    quantum: float = 0.0,
    finest: float = _FINEST,
    groups: tuple[int, int] = (_GROUPS, _FEW_GROUPS),
) -> list[Triple]:
    """Triples along the three edges whose bent laws dominate those of all inputs.

    Parameters
    ----------
    epsilon : float
        The cover costs a small part of it.
    chords : Chords
        How far the density is from chords.
    spread : callable
        What eps is in proportion to; where it is smaller, neighbours may be farther apart.
    quantum : float
        Inputs are multiples of it; 0 for all real numbers.
    finest : float
        Share of eps that it may cost next to the worst triple.
    groups : (int, int)
        Groups of cells of triples next to the worst, and of others.
    """

    def slack(edge: Callable[[float], Triple]) -> Callable[[float], float]:
        """How much smaller the spread is than at the worst triple, as a share of it."""
        at = np.linspace(0.0, 1.0, _PROBES)
        values = spread([edge(float(v)) for v in at])
        share = (1.0 - values / values.max()).tolist()
        return lambda v: _interpolated(share, v)

    def lowered(h: float) -> float:
        return -math.log(chords.below(h)[0])

    def thinned(h: float) -> float:
        return -0.5 * epsilon * math.log(chords.below(h, 1.0)[0])

    triples = []
    for edge, cost, bend in (
        (_second_moves, lowered, _weaker),
        (_first_moves, lambda h: _raised(chords, h), _stronger),
        (_other_moves, thinned, _fewer),
    ):
        room = slack(edge)
        # Of the third edge the second half mirrors the first.
        end = 0.5 if edge is _other_moves else 1.0
        if quantum > 0.0:
            end = math.ceil(end / quantum - 0.25) * quantum
        points = _grid(
            lambda v, room=room: epsilon * max(finest, _SHARE * room(v)), cost, end, quantum
        )
        if edge is _other_moves:
            points += [1.0 - x for x in points[-2::-1]]
        if quantum > 0.0:
            points = [k * quantum for k in sorted({round(x / quantum) for x in points})]
        steps = np.diff(points)
        # Between inputs next to each other there is none.
        steps = np.where(steps > 1.5 * quantum, steps, 0.0)
        for j, point in enumerate(points):
            h = float(max(steps[max(j - 1, 0)], steps[min(j, steps.size - 1)]))
            many = groups[room(point) >= _CLOSE]
            triples.append(edge(point)._replace(bends=(bend(chords, h),), groups=many))
    return triples


def _second_moves(v: float) -> Triple:
    return Triple(1.0, v, 0.0)


def _first_moves(u: float) -> Triple:
    return Triple(u, 1.0, 0.0)


def _other_moves(x: float) -> Triple:
    return Triple(1.0, 0.0, x)


def _raised(chords: Chords, h: float) -> float:
    """About how much mass a density raised above chords has too much."""
    factor, reach = chords.above(h)
    return (factor - 1.0) * min(1.0, reach / chords.noise)


def _weaker(chords: Chords, h: float) -> Bend:
    return Bend(1, *chords.below(h), 0.0)


def _stronger(chords: Chords, h: float) -> Bend:
    return Bend(0, *chords.above(h), 1.0)


def _fewer(chords: Chords, h: float) -> Bend:
    # x0 may be the whole interval away from x.
    return Bend(2, *chords.below(h, 1.0), 0.0)


def _grid(
    allowed: Callable[[float], float],
    cost: Callable[[float], float],
    end: float,
    quantum: float = 0.0,
) -> list[float]:
    """Points from 0 to ``end``, steps as long as their cost is allowed where they begin.

    Steps are multiples of a quantum, if there is one, and one quantum costs nothing.
    """
    points, longest = [0.0], 0.25 * end
    while points[-1] < end:
        # Costs grow with the step: from the step before to the longest that is allowed.
        here, most = points[-1], allowed(points[-1])
        while cost(1.5 * longest) > most and longest > 1e-9:
            longest *= 0.8
        while longest < 0.25 * end and cost(1.5 * longest / 0.8) <= most:
            longest = min(longest / 0.8, 0.25 * end)
        h = longest
        if quantum > 0.0:
            h = max(math.floor(h / quantum), 1) * quantum
        points.append(end if here + 1.5 * h >= end else here + h)
        if len(points) > _MOST_POINTS:
            raise NotCertified("analysis = 'label-stealing': too many inputs in the cover")
    return points


def _interpolated(values: list[float], v: float) -> float:
    """Linear between values at even places in [0, 1]."""
    place = min(v, 1.0) * (len(values) - 1)
    k = min(int(place), len(values) - 2)
    return values[k] + (place - k) * (values[k + 1] - values[k])


def grouped(law: JointLaw, rows: tuple[int, int, int | None]) -> Rows:
    """Groups of cells of a law as it is: two rows against a third one, or the blanket."""
    return rows_of(law, rows, (), np.abs, _GROUPS)


def rows_of(
    law: JointLaw,
    rows: tuple[int, int, int | None],
    bends: tuple[Bend, ...],
    distances: Callable[[Array], Array],
    groups: int,
) -> Rows:
    """Groups of cells of a law: two rows against a third one, or (None) against the blanket."""
    edges = law.edges
    if edges is None or not edges.log_linear:
        raise NotCertified("label stealing: wanted cells on which log ratios are linear")
    first, second, row = rows
    masses = [law.mass[first], law.mass[second], law.blanket if row is None else law.mass[row]]
    factors: list[Array] = [np.ones(law.blanket.size) for _ in range(3)]
    for bend in bends:
        bent = rows[bend.row]
        if bent is not None:
            factors[bend.row] = _factor(
                bend, edges.left[bent], edges.right[bent], edges.err, distances
            )
    masses = [mass * factor * (1.0 - 2 * U) for mass, factor in zip(masses, factors, strict=True)]
    left, right = edges.blanket_left, edges.blanket_right
    if row is not None:
        left, right = edges.left[row], edges.right[row]
    ends = _ranges(
        [edges.left[own] - left for own in (first, second)],
        [edges.right[own] - right for own in (first, second)],
        factors,
        edges.err,
    )
    starts = _groups(masses[2], ends, groups)
    return Rows(
        *(np.add.reduceat(mass, starts) for mass in masses),
        *(
            pick.reduceat(end, starts)
            for pick, end in zip((np.minimum, np.maximum) * 2, ends, strict=True)
        ),
        rel=law.rel + (8 + law.blanket.size) * U,
        outside=float(law.tails()[first]),
    )


def _ranges(
    left: list[Array], right: list[Array], factors: list[Array], err: float | Array
) -> list[Array]:
    """Ends of r0 - r1 and of r1 on each cell, the logs of r0 and r1 being linear on it.

    ``left`` and ``right`` are these logs at the edges, before the factors. Between the edges a
    difference of two exponentials is off its chord by at most an eighth of the squared moves of
    the logs times the largest values.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bend = [np.where(factors[2] > 0.0, factors[k] / factors[2], 0.0) for k in (0, 1)]
        one = [np.exp(np.clip(left[k], -745.0, _LARGEST_LOG)) * bend[k] for k in (0, 1)]
        two = [np.exp(np.clip(right[k], -745.0, _LARGEST_LOG)) * bend[k] for k in (0, 1)]
        slack = np.expm1(err) + 32 * U
        largest = [np.maximum(one[k], two[k]) * (1.0 + slack) for k in (0, 1)]
        moves = [np.abs(right[k] - left[k]) + 2.0 * err for k in (0, 1)]
        bulge = sum(0.125 * moves[k] ** 2 * largest[k] for k in (0, 1))
        bulge = bulge * (1.0 + 32 * U) + slack * (largest[0] + largest[1])
        low = np.minimum(one[0] - one[1], two[0] - two[1]) - bulge
        high = np.maximum(one[0] - one[1], two[0] - two[1]) + bulge
        low1 = np.minimum(one[1], two[1]) * (1.0 - slack)
    # What is left out of the third law is seen for sure: no bound of the ratios there.
    unknown = factors[2] == 0.0
    for k in (0, 1):
        unknown |= (np.maximum(left[k], right[k]) + err > _LARGEST_LOG) & (factors[k] > 0.0)
    ends = (low, high, np.where(low1 > _SMALLEST_RATIO, low1, 0.0), largest[1])
    return [np.where(unknown, math.inf, end) for end in ends]


def _factor(
    bend: Bend, one: Array, two: Array, err: float | Array, distances: Callable[[Array], Array]
) -> Array:
    """The bend's factor on each cell; outputs in doubt are bent.

    ``one`` and ``two`` are the row's log densities at the cell's edges. Where ``beyond`` is 1 and
    the reach finite, the first and the last class have to lie outside the interval, and cells to be
    cut at the row's input, as those of Laplace noise are.
    """
    if isinstance(bend, Melting):
        return bend.factors(distances(np.minimum(one, two) - err))
    if bend.beyond > 0.0:
        near = distances(np.maximum(one, two) + err) <= bend.reach
        inside = np.full(one.size, fill_value=True)
        inside[[0, -1]] = math.isinf(bend.reach)
        return np.where(near & inside, bend.factor, bend.beyond)
    far = distances(np.minimum(one, two) - err) > bend.reach
    return np.where(far, bend.beyond, bend.factor)


def _groups(mass: Array, ends: list[Array], groups: int) -> Indices:
    """Starts of groups of cells: about as many as wanted, ranges narrow where mass is."""
    low, high, low1, high1 = ends
    with np.errstate(over="ignore", invalid="ignore"):
        width = (high - low) + (high1 - low1)
        # Cells without a bound are kept apart, and so are classes of constant ratios.
        known = np.isfinite(width) & (width < _LARGEST_WIDTH)
        apart = ~known | (width <= 1e-12 * (np.abs(high) + high1))
    width = np.where(known, width, 0.0)
    cost = mass * width * width
    share = np.zeros(mass.size)
    for power, weight in ((1 / 3, 0.7), (1 / 12, 0.3)):
        part = cost**power
        total = float(part.sum())
        share += weight * part / total if total > 0.0 else 0.0
    bucket = np.floor(np.cumsum(share) * groups)
    fresh = np.append(True, (np.diff(bucket) != 0.0) | apart[1:] | apart[:-1])
    fresh |= np.append(True, (mass[1:] > 0.0) != (mass[:-1] > 0.0))
    # Far out a wide group would count as its largest gain.
    with np.errstate(invalid="ignore"):
        size = np.log1p(np.minimum(np.where(known, np.abs(high), 0.0), _LARGEST_WIDTH))
    fresh |= np.append(True, np.diff(np.floor(size / _LOG_GROUP)) != 0.0)
    return np.flatnonzero(fresh)
