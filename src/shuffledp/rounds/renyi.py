"""Renyi divergence of any order > 1 from certified hockey-stick curves.

    E_Q[(P/Q)^A] - 1 = A (A-1) int_0^inf [ e^{(A-1) x} h(e^x) + e^{-A x} h'(e^x) ] dx,

h the curve of (P, Q) and h' that of (Q, P), whatever their shape (docs/theory-composition.md,
section 4). Between evaluated points a curve is below its chord and above its neighbours' chords
continued, by convexity in e^x, so the integral is bracketed panel by panel; panels are halved
where that matters. All in logarithms: order 1,000 looks at delta = 1e-1000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.rounds.curve import Curve

U = UNIT_ROUNDOFF
Flags = npt.NDArray[np.bool_]
_MOST_POINTS = 2500
_PAD = 1e-12
_LOOSEST = 0.3
# Of the width asked for: what is left to bounds of the tail may take this part of it.
_LEFT_OUT = 0.05
_HALVINGS = 6
# Below it moments less one are among the last floats, or would be when divided by an order of 1e6.
_TINY_EXCESS = -680.0
# Panels that add less than this part of what the worst one adds wait until that is halved.
_LEAST_PART = 0.02
# Orders (A + t)/A at which a tail is tried: their best is within a few per cent of all t's.
_RATIOS = tuple(1.1**k for k in range(146))

Tail = Callable[[float, float], float]


class Curves(NamedTuple):
    """Both directions of a pair, where they end, and what may lie beyond.

    From ``last`` on both are 0, or ``tail(order, last)`` bounds what lies beyond; with neither the
    moment is not known to be finite. ``local`` bounds the divergence by another way, ``rho`` times
    the order bounds it at every order.
    """

    forward: Curve
    backward: Curve
    last: float
    tail: Tail | None = None
    local: Callable[[float], float] | None = None
    rho: float = math.inf

    def swap(self) -> Curves:
        """The other direction."""
        return self._replace(forward=self.backward, backward=self.forward)


class Excess(NamedTuple):
    """Bracket of log(E_Q[(P/Q)^A] - 1), the eps that matters most, the last one that matters."""

    low: float
    high: float
    peak: float
    last: float


class Divergence(NamedTuple):
    """Bracket of a Renyi divergence in nats, the eps that matters most, the last that matters."""

    low: float
    high: float
    peak: float
    last: float


@dataclass(frozen=True)
class RenyiTail:
    """What large losses add to a moment, from the local Renyi divergences of all orders.

    For losses L above eps, t >= 0 and any curve h(e^x) <= P(L > x):

        A (A-1) int_eps^inf e^{(A-1) x} h(e^x) dx  <=  A E_P[e^{(A-1) L}; L > eps]
                                                   <=  A e^{-t eps + (A-1+t) D_{A+t}} .
    """

    renyi: Callable[[float], float]

    def __call__(self, order: float, epsilon: float) -> float:
        """Its logarithm at an order, for losses above eps; inf where nothing is known."""
        best = math.inf
        for ratio in _RATIOS:
            higher = ratio * order
            found = self.renyi(higher)
            # A + t is ratio A: t is its difference in floats, rounded down.
            t = max((higher - order) * (1.0 - 4 * U), 0.0)
            if math.isfinite(found):
                best = min(best, (higher - 1.0) * found - t * epsilon)
        return best + math.log(order) + 1e-12 * (1.0 + abs(best)) if best < math.inf else best


def divergence(curves: Curves, order: float, *, rtol: float) -> Divergence:
    """Bracket of the Renyi divergence."""
    found = log_excess(curves, order, rtol=rtol)
    low, high = renyi_of(found.low, order, up=False), renyi_of(found.high, order, up=True)
    if curves.local is not None:
        high = min(high, curves.local(order))
    return Divergence(low, high, found.peak, found.last)


def log_excess(curves: Curves, order: float, *, rtol: float) -> Excess:
    """Bracket of log(E_Q[(P/Q)^order] - 1), such that the divergence is good to ``rtol``.

    Points are of one grid (``_grid``) and its halves, whatever the order, but for those next to
    where a tail takes over: orders share them.
    """
    eps, last, far = _first_points(curves, order, rtol)
    factor = math.log(order) + math.log(order - 1.0)
    while True:
        sides = [_side(curve, eps, c) for curve, c in _sides(curves, order)]
        upper = np.logaddexp(sides[0].upper, sides[1].upper)
        guess = np.logaddexp(sides[0].guess, sides[1].guess)
        total = _log_sum(upper)
        beyond = _up_to(curves, order, float(eps[-1]), last)
        # log E is (order - 1) times the divergence: where it is large a factor matters little.
        enough = min(rtol * max(1.0, total), _LOOSEST)
        finer = eps
        if total > -math.inf:
            # Where both are 0 (beyond a local guarantee below eps0) nothing is to be refined.
            linear = guess - np.where(upper > -math.inf, upper, 0.0)
            finer = _finer(eps, upper - total, linear, enough)
        if far.size and beyond - factor > total + math.log(_LEFT_OUT * enough):
            # The estimates had promised less: one of the points that were left out is looked at.
            finer, far = np.append(finer, far[0]), far[1:]
        if finer.size == eps.size or eps.size >= _MOST_POINTS:
            break
        eps = finer
    lower = _log_sum(np.logaddexp(sides[0].lower, sides[1].lower)) - 8 * U * eps.size
    high = float(np.logaddexp(np.logaddexp(total + factor, beyond), _beyond(curves, order, last)))
    pad = _PAD + 8 * U * (abs(high) if math.isfinite(high) else 0.0)
    pad += 16 * U * order * max(float(eps[-1]), last)
    matters = np.flatnonzero(upper >= total + math.log(_LEFT_OUT * enough))
    end = int(matters[-1]) + 1 if matters.size else eps.size - 1
    peak = int(np.argmax(upper))
    return Excess(lower + factor - pad, high + pad, float(eps[peak]), float(eps[end]))


def log_excess_below(curves: Curves, order: float, last: float, *, rtol: float) -> float:
    """Lower end of log(E_Q[(P/Q)^order] - 1), from eps up to ``last`` alone."""
    near = curves._replace(last=min(curves.last, last), tail=None)
    return log_excess(near, order, rtol=rtol).low


def _up_to(curves: Curves, order: float, looked: float, last: float) -> float:
    """log of what both curves add from the last point that is looked at.

    Up to ``last`` they are at most what they are there, h <= h(looked) and h' <= h'(looked), and h'
    from there on as well.
    """
    forward, backward = curves.forward.at(looked).high, curves.backward.at(looked).high
    found = backward - order * looked + math.log(order - 1.0)
    if looked < last:
        found = float(np.logaddexp(found, forward + (order - 1.0) * last + math.log(order)))
    return found


def _beyond(curves: Curves, order: float, last: float) -> float:
    """log of what the forward curve adds from ``last`` on: nothing, or what its tail says."""
    if last >= curves.forward.eps0:
        return -math.inf
    return math.inf if curves.tail is None else curves.tail(order, last)


def _finer(eps: Array, share: Array, linear: Array, rtol: float) -> Array:
    """Halve the panels whose chord adds the most to a curve that is log-linear in between.

    As many as are needed, were three quarters of what a panel adds gone by halving it.
    """
    excess = np.exp(np.maximum(share, -700.0)) * -np.expm1(np.minimum(linear, 0.0))
    needed = float(excess.sum()) - rtol
    if needed <= 0.0:
        return eps
    largest = np.argsort(-excess, kind="stable")
    count = int(np.searchsorted(np.cumsum(0.75 * excess[largest]), needed)) + 1
    bad = np.zeros(excess.size, dtype=np.bool_)
    bad[largest[:count]] = True
    bad &= excess > _LEAST_PART * float(excess.max())
    return np.unique(np.concatenate([eps, _middles(eps, bad)]))


def renyi_of(excess: float, order: float, *, up: bool) -> float:
    """log(1 + e^excess)/(order - 1), rounded outward."""
    if excess == -math.inf:
        return 0.0
    if excess < _TINY_EXCESS:
        # log(1 + x) = x to 1e-300 of it; among the last floats an exponential is off by one.
        value = math.exp(excess - math.log(order - 1.0))
        off = 1e-12 * value + 2.0 * math.ulp(0.0)
        return value + off if up else max(value - off, 0.0)
    value = excess + math.log1p(math.exp(-excess)) if excess > 0.0 else math.log1p(math.exp(excess))
    value = value / (order - 1.0)
    return value * (1.0 + 16 * U) if up else value * (1.0 - 16 * U)


class _Panels(NamedTuple):
    """log integrals over each panel: above, below, and of the log-linear guess."""

    upper: Array
    lower: Array
    guess: Array


def _sides(curves: Curves, order: float) -> tuple[tuple[Curve, float], tuple[Curve, float]]:
    return (curves.forward, order - 1.0), (curves.backward, -order)


def _first_points(curves: Curves, order: float, rtol: float) -> tuple[Array, float, Array]:
    """Points to begin with, where the tail takes over, and points that are left out far from 0.

    By estimates alone: where all up to another point of the grid adds next to nothing, the points
    in between are not looked at. Far out a value takes ten times as long as near 0.
    """
    # The same for both directions, so that they share points.
    scale = min(curves.forward.scale, curves.backward.scale, curves.last)
    # int_0^scale e^{(A-1) x} h >= scale h(scale).
    least = curves.forward.source.rough_log_delta(scale) + math.log(scale)
    if not math.isfinite(least):
        least = curves.forward.at(scale).low + math.log(scale)
    goal = least + math.log(_LEFT_OUT * min(rtol, 1.0))
    last = _tail_start(curves, order, goal + math.log(order * (order - 1.0)), scale)
    grid = _grid(scale, last)
    points = [0, 1]
    while points[-1] + 1 < len(grid):
        here = points[-1]
        beyond = _roughly_beyond(curves, order, grid[here], np.array(grid[here + 1 :]))
        # The first step that does not matter, if any, makes room for longer ones.
        most = int((beyond <= goal).sum())
        if here + most == len(grid) - 1:
            break
        points.append(here + max(most, 1))
    return np.array([grid[i] for i in points]), last, np.array(grid[points[-1] + 1 :])


def _grid(scale: float, last: float) -> list[float]:
    """0, a quarter of the scale times powers of 2, fourths of the way between them, and the end."""
    first = 0.25 * scale
    while first >= last:
        first *= 0.5
    found = [0.0, first]
    while found[-1] < last:
        octave = found[-1]
        found += [octave * part for part in (1.25, 1.5, 1.75, 2.0)]
    return [*(e for e in found if e < last), last]


def _roughly_beyond(curves: Curves, order: float, here: float, there: Array) -> Array:
    """About log int_here^there e^{(A-1) x} h(e^x) + e^{-A x} h'(e^x) dx at most, h its value here.

    Both fall.
    """
    sides = [
        curve.source.rough_log_delta(here) + c * here + _log_integral(c, there - here)
        for curve, c in _sides(curves, order)
    ]
    return np.logaddexp(sides[0], sides[1])


def _tail_start(curves: Curves, order: float, goal: float, scale: float) -> float:
    """Where the tail is at most the goal, about the first such place; the end where none is."""
    if curves.tail is None or not curves.tail(order, curves.last) <= goal:
        return curves.last
    low, high = 0.0, min(scale, curves.last)
    while not curves.tail(order, high) <= goal:
        low, high = high, min(2.0 * high, curves.last)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if curves.tail(order, middle) <= goal else (middle, high)
    return high


def _middles(eps: Array, bad: Flags) -> Array:
    left, right = eps[:-1][bad], eps[1:][bad]
    far = (left > 0.0) & (right > 4.0 * left)
    return np.where(far, np.sqrt(left * right), 0.5 * (left + right))


def _side(curve: Curve, eps: Array, c: float) -> _Panels:
    """Integrals of e^{c x} h(e^x) over the panels between the points."""
    found = [curve.at(float(e)) for e in eps]
    high = np.minimum.accumulate(np.array([x.high for x in found]))
    low = np.array([x.low for x in found])
    width = np.diff(eps)
    left, right, pad = _weights(c, eps[:-1], width)
    upper = np.logaddexp(high[:-1] + left, high[1:] + right) + pad
    # What rounding may add is no reason to halve a panel.
    return _Panels(upper, _below(c, eps, low, high), _log_linear(c, eps, high) + pad)


def _below(c: float, eps: Array, low: Array, high: Array) -> Array:
    """Panel by panel, a half at a time: a neighbouring chord, or the value at the right end.

    Chords continued are below a convex curve: that from the left is the better one in the left
    half, that from the right in the right half.
    """
    width = np.diff(eps)
    # Of a chord's way in e^x, from the left end of a panel to its right end, up to the middle.
    share = 1.0 / (1.0 + np.exp(0.5 * width))
    fall, rise = _continued(eps, low, high)
    first, second = low[:-1], low[1:]
    sunk, end = (_fallen(first, part) for part in (fall * share * (1.0 + 8 * U), fall))
    lifted = second + np.log1p(rise * (1.0 - share) * (1.0 - 8 * U))
    start = second + np.log1p(rise)
    one = _weights(c, eps[:-1], 0.5 * width)
    two = _weights(c, eps[:-1] + 0.5 * width, 0.5 * width)
    # A chord that has fallen below 0 is not followed.
    from_left = np.where(
        end > -np.inf, np.logaddexp(_hats(one, first, sunk), _hats(two, sunk, end)), -np.inf
    )
    from_right = np.logaddexp(_hats(one, start, lifted), _hats(two, lifted, second))
    from_both = np.where(
        sunk > -np.inf, np.logaddexp(_hats(one, first, sunk), _hats(two, lifted, second)), -np.inf
    )
    return np.maximum(np.maximum(from_left, from_right), from_both)


def _fallen(log: Array, fall: Array) -> Array:
    """log of a value after a fall by a part of it; -inf where next to nothing is left."""
    left = fall < 1.0 - 64 * U
    return np.where(left, log + np.log1p(-np.where(left, fall, 0.0)), -np.inf)


def _hats(weights: tuple[Array, Array, Array], start: Array, end: Array) -> Array:
    """log of the integral of a chord, its ends' logarithms given, rounded down."""
    left, right, pad = weights
    return np.logaddexp(start + left, end + right) - pad


def _continued(eps: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """How far neighbouring chords get over a panel, in parts of the value that they begin at.

    From the left the chord of the panel before falls, at most by ``fall`` of the left end's value:
    h(a_i+1) >= L_i - (U_i-1 - L_i) (a_i+1 - a_i)/(a_i - a_i-1), in a = e^eps; from the right that
    of the panel after rises, at least by ``rise`` of the right end's:
    h(a_i) >= L_i+1 + (L_i+1 - U_i+2) (a_i+1 - a_i)/(a_i+2 - a_i+1). Without a neighbour the one
    falls without end, the other rises by nothing.
    """
    fall, rise = np.full(eps.size - 1, np.inf), np.zeros(eps.size - 1)
    if eps.size < 3:
        return fall, rise
    ratio = _runs(eps)
    known = np.isfinite(low[1:-1])
    inner = np.where(known, low[1:-1], 0.0)
    rise[:-1] = -np.expm1(np.minimum(high[2:] - inner, 0.0)) * (1.0 - 64 * U) / ratio
    rise[:-1][~known] = 0.0
    gap = np.where(known, high[:-2] - inner, 700.0)
    log_fall = _log_expm1(np.clip(gap, 1e-300, 700.0)) + np.log(ratio) + 64 * U
    fall[1:] = np.where(known, np.exp(np.minimum(log_fall, 700.0)), np.inf)
    return fall, rise


def _runs(eps: Array) -> Array:
    """(a_i+2 - a_i+1)/(a_i+1 - a_i)."""
    steps = np.diff(eps)
    ratio = np.exp(steps[:-1]) * np.expm1(steps[1:])
    return ratio / np.expm1(steps[:-1])


def _weights(c: float, start: Array, width: Array) -> tuple[Array, Array, Array]:
    """log int e^{c x} lam dx over each panel, lam each end's hat function in e^x; their error.

    Over short panels, with k = c + 1/2, log(width/2) + k width/3 at the left and
    log(width/2) + (2 k/3 - 1/2) width at the right, to k^2 width^2/8 + width^2/24
    (docs/theory-composition.md, Lemma 4.1a). In closed form otherwise, the cancellation counted.
    """
    run = _log_expm1(width)
    plain, next_up = _log_integral(c, width), _log_integral(c + 1.0, width)
    shift = c * start - run
    left, left_err = _log_minus(width + plain, next_up)
    right, right_err = _log_minus(next_up, plain)
    size = 1.0 + np.abs(plain) + np.abs(next_up) + np.abs(run) + width
    pad = size * np.maximum(left_err, right_err)
    k = c + 0.5
    rest = (k * width) ** 2 / 8.0 + width**2 / 24.0
    short = rest < 16 * U * pad
    half = np.log(0.5 * width)
    left = np.where(short, half + k * width / 3.0 + c * start, left + shift)
    right = np.where(short, half + (2.0 * k / 3.0 - 0.5) * width + c * start, right + shift)
    pad = np.where(short, rest + 16 * U * (1.0 + np.abs(half) + np.abs(k) * width), 16 * U * pad)
    return left, right, pad + 16 * U * (1.0 + np.abs(c * start))


def _log_integral(c: float, width: Array) -> Array:
    """log int_0^width e^{c x} dx; c may be 0."""
    if c == 0.0:
        return np.log(width)
    size = np.abs(c) * width
    decaying = np.log(-np.expm1(-size)) - math.log(abs(c))
    return decaying + size if c > 0.0 else decaying


def _log_expm1(x: Array) -> Array:
    return x + np.log(-np.expm1(-x))


def _log_minus(x: Array, y: Array) -> tuple[Array, Array]:
    """log(e^x - e^y) for x > y, and by how much it magnifies errors of x and y."""
    gap = np.maximum(x - y, 1e-15)
    return x + np.log(-np.expm1(-gap)), 1.0 / np.minimum(gap, 1.0)


def _log_linear(c: float, eps: Array, high: Array) -> Array:
    """The integral if h were log-linear between the points; only a guess."""
    finite = np.isfinite(high[1:])
    with np.errstate(over="ignore"):
        slope = np.where(finite, (np.where(finite, high[1:], 0.0) - high[:-1]) / np.diff(eps), 0.0)
    slope = np.where(np.isfinite(slope), slope + c, 0.0)
    width = np.diff(eps)
    size = np.abs(slope) * width
    safe = np.where(slope == 0.0, 1.0, slope)
    log = np.where(
        size < 1e-12,
        np.log(width),
        np.log(-np.expm1(-np.maximum(size, 1e-13)))
        - np.log(np.abs(safe))
        + np.where(slope > 0.0, size, 0.0),
    )
    value = c * eps[:-1] + high[:-1] + log
    # Next to a curve's end the guess says nothing: half of what the chord gives.
    return np.where(finite, value, -np.inf)


def _log_sum(logs: Array) -> float:
    top = float(logs.max())
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.exp(np.maximum(logs - top, -745.0)).sum())) + 4 * U * logs.size


__all__ = [
    "Curves",
    "Divergence",
    "RenyiTail",
    "Tail",
    "divergence",
    "log_excess",
    "log_excess_below",
    "renyi_of",
]
