"""One round on a lattice of losses: few numbers, from which anybody can compose the rounds again.

The curve's values at eps = 0, h, 2h, ... are rounded outward and joined by chords (above) or by
chords of a convex curve below (docs/theory-composition.md, section 2.4). All losses are multiples
of h, so that the law of their sum is a power of a polynomial: what a certificate states, and
``verify`` recomputes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.pair import Array
from shuffledp.rounds.central import Given
from shuffledp.rounds.curve import LOWEST_LEVEL, STEPS, Curve, Envelope, Sharper
from shuffledp.rounds.delta import log_delta
from shuffledp.rounds.dots import Chain, convex_values, on_chords, pair_below, upper_pair
from shuffledp.rounds.loss import NO_LOSS, LossPair
from shuffledp.rounds.part import NO_DOTS, Candidate, Dots, Places, Round

_BITS = 40
_FEWEST, _MOST = 24, 384
_PER_SCALE = 8.0
# How far beyond the numerical bracket the stated values are: for a verifier of its own precision.
_ROOM, _ROOM_SLOW = 2e-4, 2e-3
# Of that, what is left for the reader.
_SEEN = 0.25
# Where a reader of a sharper bound covers a continuum of inputs with a coarser grid of its own; and
# where many types are told apart by moments, which may be sharper than a reader's sum by 1e-3.
_ROOM_COVERED, _ROOM_MANY, _SEEN_COVERED = 1e-2, 3e-3, 0.75
_DEPTH = 11.0
_MARGIN = 25.0
_STRICT = 1e-9
_HALVINGS = 60


class Grid(NamedTuple):
    """eps = 0, step, ..., last step: all exact floats."""

    step: float
    last: int

    def points(self, more: int = 0) -> Array:
        """All of them, and a few beyond."""
        return np.array([self.step * k for k in range(self.last + 1 + more)])


_NO_GRID = Grid(1.0, 1)


@dataclass(frozen=True, repr=False)
class LatticeRound(Given):
    """A round given by loss laws above and below it whose losses are multiples of a step.

    Attributes
    ----------
    grid : Grid
        The step, and how many.
    values : tuple of float
        Upper values of the curve at eps = 0, step, ..., convex as a function of e^eps.
    vertices : tuple of two tuples of (int, float)
        For the lower end: index and value of the vertices of convex curves below those of one pair
        of datasets, for the pair and its swap.
    lower_step : float
        The step of their lattice.
    lower : LossPair
        Their loss laws.
    reproduces : dict
        Which pair of datasets.
    free : tuple
        Of a round with a sharper bound: for each value the free numbers of every pair, or None
        where the first group's bound is enough. Else empty.
    """

    grid: Grid = _NO_GRID
    values: tuple[float, ...] = ()
    vertices: tuple[tuple[tuple[int, float], ...], ...] = ()
    lower_step: float = 1.0
    lower: LossPair = field(default=NO_LOSS, compare=False)
    reproduces: dict[str, Any] = field(default_factory=dict, compare=False)
    free: tuple[list[dict[str, Any]] | None, ...] = field(default=(), compare=False)

    def below(
        self, level: float, refine: int, tilt: float, around: float, places: Places = ()
    ) -> tuple[Dots, dict[str, Any]]:
        """The lower laws, the same whatever is asked for."""
        del level, refine, tilt, around, places
        if not self.vertices:
            return NO_DOTS, {}
        return Dots(self.lower, self.lower), dict(self.reproduces)


def on_lattice(
    part: Round, *, log_target: float, rounds: int, lower: bool = True, sharper: bool = False
) -> LatticeRound:
    """The round by values on a lattice, fine enough for a target after some rounds.

    Parameters
    ----------
    part : Round
        A round whose relation is symmetric.
    log_target : float
        log of delta after all rounds: one round's curve is followed to a fraction e^-11/rounds.
    rounds : int
        How many there will be.
    lower : bool
        False: without what a lower end needs.
    sharper : bool
        Values by the round's sharper bound too, where it has one, with its free numbers.

    Raises
    ------
    NotCertified
        If convexity alone makes some value smaller than a reader who has the free numbers of a
        sharper bound can see.
    """
    slow = part.steps < STEPS
    covered = sharper and part.sharper is not None and part.sharper.many
    room = _ROOM_SLOW if slow else _ROOM
    if covered:
        room = _ROOM_COVERED if slow else _ROOM_MANY
    level = max(log_target - math.log(rounds) - _DEPTH, LOWEST_LEVEL)
    bound = _AsRead(part.sharper) if sharper and part.sharper is not None else None
    source = Envelope([part.groups[0]], bound)
    curve = Curve(source, eps0=part.eps0, width=part.width, steps=part.steps)
    reach = _reach(curve, level)
    per_scale = _PER_SCALE / 2.0 if slow else _PER_SCALE
    count = min(max(math.ceil(per_scale * reach / curve.scale), _FEWEST), _MOST)
    grid = Grid(_short(reach / count, up=True), count)
    # The lower curve is 0 from the last point on: eps0 is a little beyond that, room included.
    nearer = _ROOM_SLOW if slow else _ROOM
    below = Grid(_short(reach / (count + _MARGIN * nearer), up=False), count)
    eps = grid.points()
    _, high = _brackets(curve, eps, room)
    # Vertices where next to nothing bends are left out: chords lie above, and fewer losses remain.
    chain = _strictly_convex(eps, convex_values(eps, high))
    values = on_chords(chain, eps)
    if bound is not None:
        # For a reader who sees the first one by symmetry: beyond rounding.
        values[0] = min(values[0] * (1.0 + 1e-12), 1.0)
    candidate = part.candidate(curve.scale) if lower else None
    vertices, laws = _lower(part, candidate, below, nearer)
    return LatticeRound(
        label=part.label,
        relation=part.relation,
        pair=upper_pair(np.array(chain.eps), np.array(chain.value)),
        key=("lattice", part.key, grid),
        eps0=part.eps0,
        rtol=part.rtol,
        assumptions=part.assumptions,
        upper_theorem=part.upper_theorem,
        lower_theorem=part.lower_theorem,
        at=part.at,
        grid=grid,
        values=tuple(values.tolist()),
        vertices=vertices,
        lower_step=below.step,
        lower=laws,
        reproduces={} if candidate is None else dict(candidate.witness),
        free=()
        if bound is None
        else _seen(part, bound, grid, values, _SEEN_COVERED * room if covered else _SEEN * room),
    )


class _AsRead:
    """A sharper bound as a reader computes it, who has nothing but its free numbers."""

    def __init__(self, bound: Sharper) -> None:
        self._bound = bound
        self._known: dict[float, tuple[float, list[dict[str, Any]]] | None] = {}

    def log_upper(self, epsilon: float) -> float:
        """What the numbers give; 0 where there are none."""
        found = self.reproduced(epsilon)
        return 0.0 if found is None else found[0]

    @property
    def many(self) -> bool:
        """Whether many types are looked at together."""
        return self._bound.many

    def rough(self, epsilon: float) -> float:
        """The bound's own."""
        return self._bound.rough(epsilon)

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """The bound's own, once."""
        if epsilon not in self._known:
            self._known[epsilon] = self._bound.reproduced(epsilon)
        return self._known[epsilon]


def _seen(
    part: Round, sharper: Sharper, grid: Grid, values: Array, left: float
) -> tuple[list[dict[str, Any]] | None, ...]:
    """For each value what a reader computes that is no larger: free numbers, or None."""
    plain = Curve(Envelope([part.groups[0]]), eps0=part.eps0, width=part.width, steps=part.steps)
    found: list[list[dict[str, Any]] | None] = []
    if values[0] >= _by_symmetry(grid.step, float(values[1])) * (1.0 + 1e-14):
        found.append(None)
    rest = list(zip(grid.points().tolist(), values.tolist(), strict=True))[len(found) :]
    for epsilon, value in rest:
        # A reader of another precision has to see it too.
        limit = math.log(value) - left if value > 0.0 else -math.inf
        bound = sharper.reproduced(epsilon)
        if bound is not None and value > 0.0 and bound[0] <= limit:
            found.append(bound[1])
        elif value >= 1.0 or plain.at(epsilon).high <= limit:
            found.append(None)
        else:
            raise NotCertified("a value of one round is smaller than its bound")
    return tuple(found)


def _by_symmetry(step: float, value: float) -> float:
    """Of h at a = 1 from h(e^step) <= value: (a - 1 + 2 h(a))/(a + 1), as h(1/a) is known too."""
    return (math.expm1(step) + 2.0 * value) / (math.exp(step) + 1.0)


def direction(part: LatticeRound, rounds: int, epsilon: float) -> bool:
    """Whether the swapped direction has the larger lower end of delta after some rounds."""
    ends = [log_delta([(law, rounds)], epsilon, width=1e-3).low for law in part.lower]
    return ends[1] > ends[0]


def _short(value: float, *, up: bool) -> float:
    """A little above or below, with so few digits that small multiples are exact."""
    mantissa, exponent = math.frexp(value)
    moved = math.ceil(math.ldexp(mantissa, _BITS)) + (2 if up else -3)
    return math.ldexp(moved, exponent - _BITS)


def _reach(curve: Curve, level: float) -> float:
    """Where the curve is about at the level; its last eps if it is not lower there."""
    rough = curve.source.rough_log_delta
    # Flat curves, or a target that is met at once: some eps all the same.
    low, high = 1e-2 * curve.scale, curve.last
    if math.isfinite(curve.eps0) and rough(high * (1.0 - 1e-3)) > level:
        return high
    if curve.floor > -math.inf and rough(high) > level:
        # Infinite losses: to where little is left above their probability.
        level = curve.floor + math.log1p(math.exp(min(level - curve.floor, 0.0)) + 1e-6)
    start = max(curve.scale, low)
    while start < high and rough(start) > level:
        start *= 2.0
    high = min(start, high)
    for _ in range(_HALVINGS):
        if high - low <= 1e-3 * high:
            break
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rough(middle) > level else (low, middle)
    return high


def _brackets(curve: Curve, eps: Array, room: float) -> tuple[Array, Array]:
    """Lower and upper values, moved outward by ``room``."""
    found = curve.values_at(eps)
    return found.low * (1.0 - room), np.minimum(found.high * (1.0 + room), 1.0)


def _lower(
    part: Round, candidate: Candidate | None, grid: Grid, room: float
) -> tuple[tuple[tuple[tuple[int, float], ...], ...], LossPair]:
    """Vertices and laws below the curves of the pair and of its swap."""
    if candidate is None:
        return (), NO_LOSS
    eps = grid.points(1)
    sides = [candidate.forward]
    if candidate.backward is not candidate.forward:
        sides.append(candidate.backward)
    found = []
    for source in sides:
        curve = Curve(source, eps0=part.eps0, width=part.width, steps=part.steps)
        found.append(_lowered(eps, *_brackets(curve, eps, room)))
    start = min(float(values[0]) for values in found)

    def chains(centre: float) -> list[Chain]:
        both = [_strictly_convex(eps, np.append(centre, values[1:])) for values in found]
        return both if len(both) == 2 else both * 2

    made = pair_below(chains, start)
    if made is None:
        return (), NO_LOSS
    laws, used = made
    vertices = tuple(
        tuple((round(e / grid.step), v) for e, v in zip(chain.eps, chain.value, strict=True))
        for chain in used
    )
    return vertices, laws


def _lowered(eps: Array, low: Array, high: Array) -> Array:
    """Values at all but the last point whose polygon is below the curve; the last of them is 0.

    Each value is lowered by the larger of its two intervals' gaps: how far the chord is above both
    neighbouring chords, continued.
    """
    # Differences of e^eps that are not 0 where eps is far below a rounding of 1.
    run = np.exp(eps[:-1]) * np.expm1(np.diff(eps))
    fall = np.maximum(high[:-1] - low[1:], 0.0) / run
    rise = np.maximum(low[:-1] - high[1:], 0.0) / run
    count = eps.size - 2
    gaps = np.zeros(count)
    for i in range(1, count):
        gaps[i] = _gap(low[i], low[i + 1], fall[i - 1], rise[i + 1], run[i])
    values = low[: count + 1].copy()
    # In the first interval the line from the right alone: it has no neighbour on this side.
    values[0] = min(values[0], low[1] + rise[1] * run[0])
    gaps[0] = 0.0
    values[1:count] -= np.maximum(gaps[: count - 1], gaps[1:]) * (1.0 + 1e-9)
    values[count] -= gaps[count - 1]
    # Where the right end cannot be lowered any further, the left one has to be 0.
    stuck = (values[1:] < 0.0) & (gaps > 0.0)
    values[:-1][stuck] = 0.0
    values[count] = 0.0
    return np.maximum(values * (1.0 - 1e-12), 0.0)


def _gap(left: float, right: float, fall: float, rise: float, width: float) -> float:
    """Height of the chord over the larger of both lines, where they cross."""
    start = left - right - rise * width
    if not (fall > rise and start > 0.0):
        return 0.0
    at = min(start / (fall - rise), width)
    chord = left + (right - left) * at / width
    return max(chord - (right + rise * (width - at)), chord - (left - fall * at), 0.0)


def _strictly_convex(eps: Array, values: Array) -> Chain:
    """The envelope; vertices at which next to nothing bends are left out."""
    kept: list[int] = []
    # e^eps - 1: places next to each other stay apart where eps is far below a rounding of 1.
    a = np.expm1(eps[: values.size])

    def rate(i: int, j: int) -> float:
        return float((values[i] - values[j]) / (a[j] - a[i]))

    for k in range(values.size):
        while len(kept) >= 2 and rate(kept[-2], kept[-1]) <= rate(kept[-1], k) * (1.0 + _STRICT):
            kept.pop()
        kept.append(k)
    while len(kept) >= 2 and values[kept[-2]] <= values[kept[-1]]:
        kept.pop()
    return Chain([float(eps[k]) for k in kept], [float(values[k]) for k in kept], 0.0)


__all__ = ["Grid", "LatticeRound", "direction", "on_lattice"]
