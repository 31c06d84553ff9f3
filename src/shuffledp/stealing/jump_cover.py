"""A cover of all inputs of noise on an interval, for the bound with one distinguished gain.

Where the third section's cover measures by the spread of gains, here what counts is what one user
adds to the exponent of the sum without jumps: n log(c + d) at its tilts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shuffledp.arithmetic.floats import Array
from shuffledp.errors import NotCertified
from shuffledp.randomizers.chords import Chords
from shuffledp.stealing.cells import Rows
from shuffledp.stealing.cover import (
    Bend,
    Melting,
    Triple,
    first_moves,
    grid,
    other_moves,
    raised_mass,
    second_moves,
    stronger,
)
from shuffledp.stealing.jumps import Alone

# What the cover may cost in log delta at the worst triple, and as a share of the slack elsewhere.
_FINEST, _SHARE = 0.012, 0.5
# Places on an edge where the slack is looked at, closer at its ends; between them it is
# interpolated.
_PROBES = np.array(
    [0.0, 0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96, 0.98, 0.99, 1.0]
)
# Groups of cells where the slack is below so much: 300 add less than 1e-4 to the gains' variance.
_GROUPS, _FEW_GROUPS = ((0.4, 300), (1.5, 150)), 60
# Mean squares of distances of outputs, in deviations, where a second law is lowered and where a
# third one is left out.
_NEAR, _FAR = 1.5, 6.0
# How much delta falls with the gain of jumps, alpha times the gain, is at least taken as that.
_LEAST_FALL = 2.0
# Triples beyond which a cover may cost that much more, and how often.
_MOST, _MORE, _COARSER = 400, 1.5, 6
# What the share of jumps counts as at the least: its logarithm stays a float.
_SMALLEST = 1e-300
# Exponents beyond it do not count.
_LARGEST = 300.0


def jump_cover(
    epsilon: float, at: Alone, n: int, chords: Chords, rows: Callable[[list[Triple]], list[Rows]]
) -> list[Triple]:
    """Triples along the three edges whose bent laws dominate those of all inputs.

    Parameters
    ----------
    epsilon : float
        eps in nats.
    at : Alone
        About the numbers that the bound will have.
    n : int
        Users, the victim included.
    chords : Chords
        How far the density is from chords.
    rows : callable
        Cells of triples.

    Raises
    ------
    NotCertified
        Where it would have more triples than a reader of a certificate looks at.
    """
    tilts = (at.alpha, at.forward[0], at.forward[-1])
    edges = (second_moves, first_moves, other_moves)
    probes = [rows(_probes(edge)) for edge in edges]
    levels = [
        n * np.array([_exponents(law, epsilon, at, tilts) for law in laws]) for laws in probes
    ]
    sizes = [np.array([_jumps(law, epsilon, at) for law in laws]) for laws in probes]
    slacks = _slacks(levels, sizes)
    steepest = max(tilts) * n
    thin = _thinned(rows([other_moves(0.0)])[0], epsilon, at)
    b = chords.noise
    jump = _at_jumps(at, b)
    costs = (
        lambda h: math.exp(epsilon) * (h / b) ** 2 / 8.0 * _NEAR,
        lambda h: raised_mass(chords, h),
        lambda h: (h / b) ** 2 / 8.0 * max(_FAR * thin, jump / steepest),
    )
    bends = (_lower, stronger, _thinner)
    triples: list[Triple] = []
    for k in range(_COARSER + 1):
        triples = []
        for edge, slack, cost, bend in zip(edges, slacks, costs, bends, strict=True):
            triples += _along(
                edge, slack, steepest / _MORE**k, cost, lambda h, b=bend: b(chords, h)
            )
        if len(triples) <= _MOST:
            return triples
    msg = f"lone-jump: a cover of all inputs has {len(triples):,} triples, wanted at most {_MOST}"
    raise NotCertified(msg)


def _slacks(levels: list[Array], sizes: list[Array]) -> list[Array]:
    """About how far in log delta each probe is below the worst: without jumps, and with one."""
    best = np.max([level.max(axis=0) for level in levels], axis=0)
    most = max(float(size.max()) for size in sizes)
    if not most > 0.0:
        return [(best - level).min(axis=1) for level in levels]
    found = []
    with_one = [
        level + np.log(np.maximum(size / most, _SMALLEST))[:, None]
        for level, size in zip(levels, sizes, strict=True)
    ]
    worst = np.max([level.max(axis=0) for level in with_one], axis=0)
    for level, one in zip(levels, with_one, strict=True):
        found.append(np.minimum((best - level).min(axis=1), (worst - one).min(axis=1)))
    return found


def _at_jumps(at: Alone, noise: float) -> float:
    """Square of the distance of outputs where jumps are, in deviations, times delta's fall.

    A law thinned by k has k of the jumps, at gains 1/k as large: in log delta that is
    (1 - k) (alpha x - 1). Ratios of e^{(y - 1/2)/noise^2} are where jumps are, those of the start
    at the largest tilt, and those of the ceiling at a middling one.
    """

    def worth(gain: float, tilt: float) -> float:
        far = noise * math.log(max(gain, 1.0)) + 0.5 / noise
        return far * far * max(tilt * gain - 1.0, _LEAST_FALL)

    middling = at.forward[len(at.forward) // 2]
    return max(worth(at.start, max(at.forward)), worth(at.ceiling, middling))


def places_of(triples: list[Triple]) -> tuple[tuple[float, ...], ...]:
    """Places of x1, of x0 and of the other's x along the edges that they move on."""
    return tuple(
        tuple((t.x0, t.x1, t.x)[row] for t in triples if t.bends[0].row == row) for row in (1, 0, 2)
    )


def _along(
    edge: Callable[[float], Triple],
    slack: Array,
    steepest: float,
    cost: Callable[[float], float],
    bend: Callable[[float], Bend],
) -> list[Triple]:
    """Bent triples along one edge, steps as long as their cost is allowed at both ends."""

    def room(v: float) -> float:
        return float(np.interp(v, _PROBES, slack))

    def allowed(v: float) -> float:
        return max(_FINEST, _SHARE * room(v)) / steepest

    points = _both_ways(allowed, cost)
    steps = np.diff(points)
    found = []
    for j, point in enumerate(points):
        h = float(max(steps[max(j - 1, 0)], steps[min(j, steps.size - 1)]))
        groups = next((g for most, g in _GROUPS if room(point) < most), _FEW_GROUPS)
        found.append(edge(point)._replace(bends=(bend(h),), groups=groups))
    return found


def _lower(chords: Chords, h: float) -> Bend:
    factor, reach = chords.below(h)
    return Melting(1, factor, reach, 0.0, h, chords.noise)


def _thinner(chords: Chords, h: float) -> Bend:
    factor, reach = chords.below(h, 1.0)
    return Melting(2, factor, reach, 0.0, h, chords.noise)


def _probes(edge: Callable[[float], Triple]) -> list[Triple]:
    return [edge(float(v))._replace(groups=_FEW_GROUPS) for v in _PROBES]


def _both_ways(allowed: Callable[[float], float], cost: Callable[[float], float]) -> list[float]:
    """A grid from 0 to 1/2 and, the other way, from 1 to 1/2."""
    up = grid(allowed, cost, 0.5)
    down = grid(lambda v: allowed(1.0 - v), cost, 0.5)
    return up + [1.0 - v for v in down[-2::-1]]


def _exponents(law: Rows, epsilon: float, at: Alone, tilts: tuple[float, ...]) -> list[float]:
    """log of the labelled part's and the left-over's transform without jumps, at some tilts."""
    mass, gain = _silent(law, epsilon, at)
    return [
        math.log1p(float(mass @ np.expm1(np.minimum(alpha * gain, _LARGEST)))) for alpha in tilts
    ]


def _jumps(law: Rows, epsilon: float, at: Alone) -> float:
    """What the labelled part has in gains beyond the start of jumps."""
    measure = law.measure(epsilon, share=1.0 - at.kappa, join=1.0 - at.theta)
    return float(measure.mass @ np.maximum(measure.gain - at.start, 0.0))


def _silent(law: Rows, epsilon: float, at: Alone) -> tuple[Array, Array]:
    measure = law.measure(epsilon, share=1.0 - at.kappa, join=1.0 - at.theta)
    gain = np.maximum(np.where(measure.gain > at.start, 0.0, measure.gain), -at.floor)
    return measure.mass, gain


def _thinned(law: Rows, epsilon: float, at: Alone) -> float:
    """What leaving out a share of a law costs against raising its mean by that.

    W/alpha with W = 1 + E e^{alpha X} (alpha X - 1).
    """
    mass, gain = _silent(law, epsilon, at)
    x = np.minimum(max(at.alpha, *at.forward) * gain, _LARGEST)
    worth = float(mass @ (1.0 + np.exp(x) * (x - 1.0)))
    return max(worth, 0.0) / max(at.alpha, *at.forward)
