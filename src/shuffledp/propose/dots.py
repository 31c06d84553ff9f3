"""Where dots lie: where a chord between two of them adds the most to the delta of all rounds.

A chord over a panel of length d at a loss l is above the curve by a^2 h''(a) d^2/12 in the mean,
and a^2 h''(a) is the density p of the round's loss there. Composed with the other rounds, whose
losses add up to a density p_o, that excess adds to delta(eps)

    (d^2/12) int [ p(l) p_o(eps - l) + p(-l) p_o(eps + l) ] dl,

by parts twice. Their sum is least where all panels add alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
# Losses, masses, infinite mass, in how many rounds.
Law = tuple[Array, Array, float, int]

# Estimates of eps are some per cent off: the density is smoothed by that share of eps.
_BLURRED = 0.05
# exp(-6^2/2) of a smoothed transform is next to nothing; and so many deviations of a sum.
_FAR = 6.0
# Frequencies at most: with a hundred losses ten milliseconds. Beyond it more is smoothed.
_MOST_FREQUENCIES = 1 << 12
# Of the largest tilted density what is below rounding says nothing.
_LOST = 1e-12
# Panels at the least, and at most.
_FEWEST, MOST = 48, 2000
# Of several flows none asks for more panels than that: one that does would have all dots.
_MOST_EACH = 150.0
# Of all dots these are laid out evenly, half of them along the estimates' own, which follow the
# curve.
_EVEN = 0.2
# Of what may be added to a moment, the part that is left to a tail's bound, which is tried at so
# many places, each so many times the one before.
_LEFT_OUT, _STARTS, _FARTHER = 0.05, 40, 1.15
# Logs of what weights are raised to, and up to where, below the largest.
_FALLEN, _SEEN = 6.0, 40.0
# The first steps of a law by estimates, in parts of its scale, and how they grow beyond `_NEAR`
# scales: a hundred scales take 60 values.
_PARTS, _NEAR, _GROWTH = 8.0, 4.0, 1.12
_MOST_STEPS = 400


class Flow(NamedTuple):
    """What chords add to delta, over d^2/12, per nat of eps: ``density`` between ``ends``."""

    ends: Array
    density: Array


def flow(own: Law, others: Sequence[Law], *, epsilon: float, tilt: float) -> Flow:
    """The density with which one round loses +-l and all of them eps, over l.

    Parameters
    ----------
    own : Law
        About the law of the round whose dots are placed.
    others : sequence of Law
        About those of all other rounds.
    epsilon : float
        eps > 0 in nats.
    tilt : float
        About where the contour of all rounds crosses at this eps.
    """
    loss, mass = own[0], own[1]
    return _spread(loss, mass * _density(others, epsilon - loss, tilt, _BLURRED * epsilon))


def _spread(loss: Array, weight: Array) -> Flow:
    """Weights of losses +-l over l: each stands for what is next to it."""
    size, place = np.unique(np.abs(loss), return_inverse=True)
    weight = np.asarray(np.bincount(place, weights=weight), dtype=np.float64)
    ends = np.concatenate([[0.0], 0.5 * (size[:-1] + size[1:]), size[-1:]])
    kept = np.flatnonzero(np.diff(ends) > 0.0)
    ends = np.append(ends[kept], ends[-1])
    return Flow(ends, weight[kept] / np.diff(ends))


def joined(flows: Sequence[tuple[Flow, float]]) -> Flow:
    """Several flows, each over what may be added to its delta: one flow whose budget is 1."""
    ends = np.unique(np.concatenate([found.ends for found, _ in flows]))
    middle = 0.5 * (ends[:-1] + ends[1:])
    total = np.zeros(middle.size)
    for found, budget in flows:
        at = np.searchsorted(found.ends, middle) - 1
        inside = (at >= 0) & (at < found.density.size)
        density = found.density / budget
        panels = math.sqrt(float((np.cbrt(density) * np.diff(found.ends)).sum()) ** 3 / 12.0)
        density = density * min((_MOST_EACH / max(panels, 1.0)) ** 2, 1.0)
        total[inside] += density[np.clip(at, 0, density.size - 1)][inside]
    return Flow(ends, total)


class Aim(NamedTuple):
    """What chords add to a moment, over what they may, and whether the law is seen far enough."""

    flow: Flow
    reached: bool


def moment_flow(
    own: Law,
    order: float,
    rtol: float,
    last: float,
    tail: Callable[[float, float], float] | None,
) -> Aim:
    """The density with which losses +-l add to E (P/Q)^A, over l; what may be added is 1.

    Where chords enlarge a^2 h'' = p(l) d^2/12 on a panel of length d they enlarge the moment by
    A (A-1) e^{(A-1) l} times that (docs/theory-composition.md, Lemma 4.1).

    Parameters
    ----------
    own : Law
        About the law of one round.
    order : float
        A > 1.
    rtol : float
        Relative width of the divergence that is aimed at.
    last : float
        Where the curve is 0; inf where that is not known.
    tail : callable, optional
        As for ``rounds.renyi.upper_renyi``.
    """
    loss, log_mass, rise = own[0], np.log(own[1]), order - 1.0
    far = np.maximum(rise * np.abs(loss), 1e-6)
    # log of e^{rise l} - A + rise e^{-l}, about: next to 0 it is A rise l^2/2.
    small = math.log(0.5 * order * rise) + 2.0 * np.log(np.maximum(np.abs(loss), 1e-150))
    term = np.where(far < 1.0, small, np.where(loss > 0.0, rise * loss, math.log(rise) - loss))
    log_total = float(np.logaddexp.reduce(log_mass + np.minimum(term, 1e5)))
    grown = float(np.logaddexp(0.0, log_total))
    log_budget = math.log(rtol) + grown + math.log(max(grown, 1e-300))
    log_weight = math.log(order * rise) + log_mass + rise * loss - log_budget
    # Where little is added panels are not so wide that a moment's factor grows by much on them.
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


def places(
    found: Flow, *, finer: float = 1.0, fewest: int = _FEWEST, most: int = MOST
) -> tuple[float, ...]:
    """eps at which to evaluate a curve, so that chords add about a budget of 1.

    A sum of d^3 f is least where all terms are alike, with d as f^{-1/3}: with N panels it is
    (int f^{1/3})^3/N^2.

    Parameters
    ----------
    found : Flow
        What chords add, over the budget.
    finer : float
        So many times as many panels.
    fewest, most : int
        Panels at the least before that, and at the most after it.
    """
    width = np.diff(found.ends)
    if width.size == 0:
        return ()
    root = np.cbrt(found.density)
    size = float((root * width).sum())
    panels = min(max(math.sqrt(size**3 / 12.0), fewest) * finer, most)
    # Equal numbers for every piece of the table, too, and for equal lengths: estimates may say that
    # nothing is added, and curves with few corners are few pieces.
    even = 0.5 / width.size + 0.5 * width / width.sum()
    part = even if size <= 0.0 else _EVEN * even + (1.0 - _EVEN) * root * width / size
    upto = np.append(0.0, np.cumsum(part))
    at = np.linspace(0.0, upto[-1], math.ceil(panels) + 1)
    found_at = np.interp(at, upto, found.ends)
    return tuple(np.unique(np.append(found_at[:-1], found.ends[-1])).tolist())


def steps(scale: float, reach: float) -> Array:
    """eps from 0 to ``reach`` at which estimates tell the shape of a curve."""
    found, step = [0.0], min(scale, reach) / _PARTS
    while found[-1] < reach and len(found) < _MOST_STEPS:
        if found[-1] > _NEAR * scale:
            step *= _GROWTH
        found.append(found[-1] + step)
    found[-1] = reach
    return np.array(found)


def chords(eps: Array, values: Array, mirror: Array | None = None) -> tuple[Law, Law]:
    """About the loss laws of chords through values of a curve, and of its mirror; counts are 1."""
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
    """The convex envelope of some points as a function of e^eps."""
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
    """About the P-density of a sum of losses at some places, smoothed, up to a common factor.

    By Fourier inversion of the tilted laws: without a tilt what is far out would be rounding.
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
    # Far enough apart that copies of the law do not meet.
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
