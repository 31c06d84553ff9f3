"""Places of dots: more of them where a chord adds more to the delta of all rounds.

A chord over a panel of length d at a loss l is above the curve by a^2 h''(a) d^2/12 on average, and
a^2 h''(a) is the density p of the round's loss there. Let p_o be the density of the sum of the
other rounds' losses. Then that excess adds to delta(eps)

    (d^2/12) int [ p(l) p_o(eps - l) + p(-l) p_o(eps + l) ] dl,

by parts twice. The sum over panels is least if all panels add the same.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
# Losses, masses, infinite mass, number of rounds.
Law = tuple[Array, Array, float, int]

# Estimates of eps err by a few per cent: the density is smoothed by this share of eps.
_BLURRED = 0.05
# Number of standard deviations beyond which a smoothed transform (e^(-6^2/2)), or a sum, is
# negligible.
_FAR = 6.0
# Most frequencies: ten milliseconds with a hundred losses. If more are needed, the density is
# smoothed more.
_MOST_FREQUENCIES = 1 << 12
# Values below this share of the largest tilted density are rounding errors.
_LOST = 1e-12
# Fewest and most panels.
_FEWEST, MOST = 48, 2000
# Most panels that a single one of many flows may require; otherwise it would take all dots.
_MOST_EACH = 150.0
# Share of dots that are laid out evenly: half of these by length, half along the estimates' own
# places, which follow the curve.
_EVEN = 0.2
# Share of a moment's budget left to a tail's bound, number of places at which that bound is tried,
# and their ratio.
_LEFT_OUT, _STARTS, _FARTHER = 0.05, 40, 1.15
# Weights are raised to e^-_FALLEN of the largest, if they are at least e^-_SEEN of it.
_FALLEN, _SEEN = 6.0, 40.0
# First steps of a law from estimates, as parts of its scale, and the growth of steps beyond `_NEAR`
# scales: a hundred scales take 60 values.
_PARTS, _NEAR, _GROWTH = 8.0, 4.0, 1.12
_MOST_STEPS = 400


class Flow(NamedTuple):
    """Contribution of chords to delta, over d^2/12, per nat: ``density`` between ``ends``."""

    ends: Array
    density: Array


def flow(own: Law, others: Sequence[Law], *, epsilon: float, tilt: float) -> Flow:
    """Density, over l, of one round losing +-l while all rounds together lose eps.

    Parameters
    ----------
    own : Law
        An estimate of the law of the round whose dots are placed.
    others : sequence of Law
        Estimates of the laws of all other rounds.
    epsilon : float
        eps > 0 in nats.
    tilt : float
        An estimate of the tilt of all rounds' contour at this eps.
    """
    loss, mass = own[0], own[1]
    return _spread(loss, mass * _density(others, epsilon - loss, tilt, _BLURRED * epsilon))


def _spread(loss: Array, weight: Array) -> Flow:
    """Weights of losses +-l as a density over l: each stands for its surroundings."""
    size, place = np.unique(np.abs(loss), return_inverse=True)
    weight = np.asarray(np.bincount(place, weights=weight), dtype=np.float64)
    ends = np.concatenate([[0.0], 0.5 * (size[:-1] + size[1:]), size[-1:]])
    kept = np.flatnonzero(np.diff(ends) > 0.0)
    ends = np.append(ends[kept], ends[-1])
    return Flow(ends, weight[kept] / np.diff(ends))


def joined(flows: Sequence[tuple[Flow, float]]) -> Flow:
    """Several flows, each divided by its budget, as one flow with the budget 1."""
    ends = np.unique(np.concatenate([found.ends for found, _ in flows]))
    middle = 0.5 * (ends[:-1] + ends[1:])
    total, most = np.zeros(middle.size), max(_MOST_EACH, 0.3 * MOST / len(flows))
    for found, budget in flows:
        at = np.searchsorted(found.ends, middle) - 1
        inside = (at >= 0) & (at < found.density.size)
        density = found.density / budget
        panels = math.sqrt(float((np.cbrt(density) * np.diff(found.ends)).sum()) ** 3 / 12.0)
        density = density * min((most / max(panels, 1.0)) ** 2, 1.0)
        total[inside] += density[np.clip(at, 0, density.size - 1)][inside]
    return Flow(ends, total)


class Aim(NamedTuple):
    """A flow for a moment, over its budget, and whether the law is followed far enough for it."""

    flow: Flow
    reached: bool


def moment_flow(
    own: Law,
    order: float,
    rtol: float,
    last: float,
    tail: Callable[[float, float], float] | None,
) -> Aim:
    """The density, over l, of the contribution of losses +-l to E (P/Q)^A, with the budget 1.

    If chords enlarge a^2 h'' = p(l) by d^2/12 on a panel of length d, they enlarge the moment by
    A (A-1) e^{(A-1) l} times that (docs/theory-composition.md, Lemma 4.1).

    Parameters
    ----------
    own : Law
        An estimate of the law of one round.
    order : float
        A > 1.
    rtol : float
        Relative width of the divergence to aim at.
    last : float
        The eps from which on the curve is 0; inf if there is none.
    tail : callable, optional
        As for ``rounds.renyi.upper_renyi``.
    """
    loss, log_mass, rise = own[0], np.log(own[1]), order - 1.0
    far = np.maximum(rise * np.abs(loss), 1e-6)
    # An estimate of log of e^{rise l} - A + rise e^{-l}; near 0 it is A rise l^2/2.
    small = math.log(0.5 * order * rise) + 2.0 * np.log(np.maximum(np.abs(loss), 1e-150))
    term = np.where(far < 1.0, small, np.where(loss > 0.0, rise * loss, math.log(rise) - loss))
    log_total = float(np.logaddexp.reduce(log_mass + np.minimum(term, 1e5)))
    grown = float(np.logaddexp(0.0, log_total))
    log_budget = math.log(rtol) + grown + math.log(max(grown, 1e-300))
    log_weight = math.log(order * rise) + log_mass + rise * loss - log_budget
    # Where little is added, panels are kept so narrow that the moment's factor grows little on
    # them.
    top = float(log_weight.max())
    log_weight = np.where(
        log_weight > top - _SEEN, np.maximum(log_weight, top - _FALLEN), log_weight
    )
    goal = log_budget + math.log(_LEFT_OUT)
    if last == math.inf and tail is not None:
        start = max(float(loss[-1]), 1e-3)
        tried = (start * _FARTHER**k for k in range(_STARTS))
        last = next((each for each in tried if tail(order, each) <= goal), math.inf)
    reached = own[2] <= 0.0 or math.log(order) + math.log(own[2]) + rise * last <= goal
    return Aim(_spread(loss, np.exp(np.minimum(log_weight, 600.0))), reached)


def places(found: Flow, *, fewest: int = _FEWEST, most: int = MOST) -> tuple[float, ...]:
    """The eps at which to evaluate a curve so that chords add about a budget of 1.

    A sum of d^3 f is least if all terms are equal, with d proportional to f^{-1/3}: for N panels it
    is (int f^{1/3})^3/N^2. Panels are dyadic: [j 2^k, (j+1) 2^k] nats. Dots for other flows are
    then mostly the same numbers, and the curve is evaluated there once.

    Parameters
    ----------
    found : Flow
        The contribution of chords, over the budget.
    fewest, most : int
        Fewest and most panels.
    """
    width = np.diff(found.ends)
    if width.size == 0:
        return ()
    root = np.cbrt(found.density)
    size = float((root * width).sum())
    panels = min(max(math.sqrt(size**3 / 12.0), fewest), most)
    # Some panels are spread evenly over the pieces of the table and over lengths: estimates may say
    # that nothing is added, and curves with few corners have few pieces.
    even = 0.5 / width.size + 0.5 * width / width.sum()
    part = even if size <= 0.0 else _EVEN * even + (1.0 - _EVEN) * root * width / size
    upto = np.append(0.0, np.cumsum(part))
    return _dyadic(found.ends, upto, math.ceil(panels))


def _dyadic(ends: Array, upto: Array, count: int) -> tuple[float, ...]:
    """Ends of ``count`` dyadic panels on [0, ends[-1]]: the one with the largest share is halved.

    ``upto``: the share of [0, ends[k]] in all panels.
    """
    last = float(ends[-1])

    def panel(start: float, length: float) -> tuple[float, float, float]:
        share = np.interp((start, start + length), ends, upto)
        return float(share[0] - share[1]), start, length

    panels = [panel(0.0, 2.0 ** math.ceil(math.log2(last)))]
    while len(panels) < count:
        _, start, length = heapq.heappop(panels)
        for half in (start, start + 0.5 * length):
            if half < last:
                heapq.heappush(panels, panel(half, 0.5 * length))
    return (*sorted(start for _, start, _ in panels), last)


def steps(scale: float, reach: float) -> Array:
    """The eps from 0 to ``reach`` at which estimates determine the shape of a curve."""
    found, step = [0.0], min(scale, reach) / _PARTS
    while found[-1] < reach and len(found) < _MOST_STEPS:
        if found[-1] > _NEAR * scale:
            step *= _GROWTH
        found.append(found[-1] + step)
    found[-1] = reach
    return np.array(found)


def chords(eps: Array, values: Array, mirror: Array | None = None) -> tuple[Law, Law]:
    """Estimated loss laws of chords through values of a curve and its mirror, for one round."""
    sides = [_convex(eps, one) for one in (values, values if mirror is None else mirror)]
    top = min(side[1][0] for side in sides)
    jumps, vertex, first = [], [], []
    for e, v in sides:
        value = np.append(top, v[1:])
        rate = np.append(-np.diff(value) / (np.exp(e[:-1]) * np.expm1(np.diff(e))), 0.0)
        jumps.append(np.maximum(-np.diff(rate), 0.0))
        vertex.append(e[1:])
        first.append(float(rate[0]))
    centre = max(1.0 - top - sum(first), 1e-300)
    laws = []
    for this, other in ((0, 1), (1, 0))[: 1 if mirror is None else 2]:
        loss = np.concatenate([-vertex[other][::-1], [0.0], vertex[this]])
        mass = np.concatenate([jumps[other][::-1], [centre], jumps[this] * np.exp(vertex[this])])
        keep = mass > 0.0
        laws.append((loss[keep], mass[keep], float(sides[this][1][-1]), 1))
    return laws[0], laws[-1]


def _convex(eps: Array, values: Array) -> tuple[Array, Array]:
    """The convex envelope of points as a function of e^eps."""
    kept: list[int] = []
    a, v = np.expm1(eps), np.minimum(np.minimum.accumulate(values), 1.0)
    for k in range(a.size):
        while len(kept) >= 2:
            i, j = kept[-2], kept[-1]
            if (v[i] - v[j]) * (a[k] - a[j]) > (v[j] - v[k]) * (a[j] - a[i]):
                break
            kept.pop()
        kept.append(k)
    return eps[kept], v[kept]


def _density(parts: Sequence[Law], at: Array, tilt: float, blur: float) -> Array:
    """An estimate of the P-density of a sum of losses at some places, smoothed, up to a factor.

    By Fourier inversion of the tilted laws: without a tilt, the far tail would be rounding errors.
    """
    log_value, spread, centre, laws = 0.0, 0.0, 0.0, []
    for loss, mass, _, count in parts:
        if count > 0:
            exponent = np.log(mass) + tilt * loss
            peak = float(exponent.max())
            weight = np.exp(exponent - peak)
            log_value += count * (peak + math.log(weight.sum()))
            weight /= weight.sum()
            mean = float(weight @ loss)
            centre += count * mean
            spread += count * float(weight @ (loss - mean) ** 2)
            laws.append((loss, weight, count))
    spread = math.sqrt(spread)
    # The period keeps copies of the law apart.
    reach = max(abs(centre - float(at.min())), abs(centre - float(at.max())))
    period = 2.0 * (reach + _FAR * (spread + blur))
    blur = max(blur, _FAR * period / (2.0 * math.pi * _MOST_FREQUENCIES))
    step = 2.0 * math.pi / period
    t = step * np.arange(math.ceil(_FAR / (blur * step)) + 1)
    value = np.exp(-0.5 * (blur * t) ** 2).astype(np.complex128)
    value[0] *= 0.5
    for loss, weight, count in laws:
        value *= (np.exp(1j * np.outer(t, loss)) @ weight) ** count
    found = np.real(np.exp(-1j * np.outer(at, t)) @ value) * step / math.pi
    found = np.where(found > _LOST * float(found.max()), found, 0.0)
    return found * np.exp(np.minimum(log_value - tilt * at, 600.0))


__all__ = [
    "MOST",
    "Aim",
    "Flow",
    "Law",
    "chords",
    "flow",
    "joined",
    "moment_flow",
    "places",
    "steps",
]
