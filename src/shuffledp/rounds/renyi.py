"""Renyi divergence of any order > 1 from certified privacy curves.

    E_Q[(P/Q)^A] - 1 = A (A-1) int_0^inf [ e^{(A-1) x} h(e^x) + e^{-A x} h'(e^x) ] dx,

h the curve of (P, Q) and h' that of (Q, P). It grows with the curves, and for a curve of chords it
is a sum over their losses (docs/theory-composition.md, Lemma 4.1): all of it in balls, so that
order 1,000 may look at delta = 1e-1000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below, total
from shuffledp.propose import dots as proposed
from shuffledp.rounds.curve import Curve
from shuffledp.rounds.dots import Measure, measures_above, measures_below
from shuffledp.rounds.loss import Array, LossLaw, LossPair

# Bits: terms of small losses cancel up to (A loss)^2.
_BITS = 320
# Of the width asked for: what is left to bounds of the tail may take this part of it.
_LEFT_OUT = 0.05
# How far down estimates are followed, until what lies beyond does not matter for an order.
_LEVELS, _LEVELS_FEW = (-60.0, -240.0, -960.0, -3840.0), (-60.0, -160.0)
# With no more dots than that estimates take long, too: fewer of them, less far down.
_FEW = 100
# log of what a tail may add to a moment, to be tried.
_GOALS = tuple(-4.0 * k for k in range(1, 16))
# Estimates below it count as it.
_LEAST_LOG = -1e5
# Bisections for where a tail begins.
_HALVINGS = 6
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

    @property
    def symmetric(self) -> bool:
        """Whether both directions are one curve."""
        return self.forward is self.backward


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

        def about(higher: float) -> float:
            return (higher - 1.0) * self.renyi(higher) - (higher - order) * epsilon

        # Floats choose t: each is valid.
        higher = min((ratio * order for ratio in _RATIOS), key=about)
        found = self.renyi(higher)
        if not math.isfinite(found):
            return math.inf
        t = arb(higher) - arb(order)
        return float_above((arb(higher) - 1) * arb(found) - t * arb(epsilon) + arb(order).log())


class Moments:
    """Moments of one part, from one set of dots for some orders; other orders may be asked, too.

    Parameters
    ----------
    curves : Curves
        Upper curves, or those of one pair of neighbours.
    orders : sequence of float
        What the dots are for.
    rtol : float
        Relative width of the divergence that is aimed at.
    most : int
        The most dots: with as many as that the width may be larger.
    """

    def __init__(self, curves: Curves, orders: Sequence[float], *, rtol: float, most: int) -> None:
        self.curves = curves
        self.eps = _dots(curves, orders, rtol, most)
        self._forward = curves.forward.values_at(self.eps)
        self._backward = self._forward if curves.symmetric else curves.backward.values_at(self.eps)

    def upper(self, order: float) -> tuple[float, float]:
        """Upper ends of the divergence of (P, Q) and of (Q, P)."""
        backward = None if self.curves.symmetric else self._backward.high
        with ctx.workprec(_BITS):
            made = measures_above(self.eps, self._forward.high, backward)
            found = [
                self._above(order, made[this], made[len(made) - 1 - this])
                for this in range(len(made))
            ]
        return found[0], found[-1]

    def _above(self, order: float, law: Measure, other: Measure) -> float:
        """The losses' sum, a constant up to the end and beyond, and what the tail adds."""
        a = arb(order)
        ends = self.curves.forward.eps0 <= self.curves.last
        local = math.inf if self.curves.local is None else self.curves.local(order)
        # The curve is at most its last value up to eps0, and 0 from there on; or up to where the
        # tail's bound begins to hold.
        options = [a * law.infinite * (((a - 1) * arb(self.curves.last)).exp() - 1)] if ends else []
        if self.curves.tail is not None:
            starts = {_tail_start(self.curves, order, goal) for goal in _GOALS}
            for at in starts | {self.curves.last}:
                start = max(at, law.loss[-1])
                if start < math.inf:
                    constant = a * law.infinite * (((a - 1) * arb(start)).exp() - 1)
                    beyond = self.curves.tail(order, start)
                    options.append(constant + (arb(beyond).exp() if beyond != -math.inf else 0))
        if not options:
            return local
        excess = excess_of(law, order) + (a - 1) * other.infinite
        excess += min(options, key=lambda x: float_above(x.log()) if x > 0 else -math.inf)
        return min(float_above(excess.log1p() / (a - 1)), local)

    def lower(self, order: float) -> tuple[float, float]:
        """Lower ends, of the pair that the curves are of."""
        floor = min(self.curves.forward.floor, self.curves.backward.floor)
        if floor > -math.inf:
            return math.inf, math.inf
        made = measures_below(self.eps, self._forward, self._backward, arb(0))
        if not made:
            return 0.0, 0.0
        with ctx.workprec(_BITS):
            found = [
                max(float_below(excess_of(law, order).log1p() / (arb(order) - 1)), 0.0)
                for law in made
            ]
        return found[0], found[1]


class LawMoments:
    """Moments of a part that is given by loss laws themselves."""

    def __init__(self, pair: LossPair) -> None:
        self.pair = pair

    def upper(self, order: float) -> tuple[float, float]:
        """Upper ends of the divergence of (P, Q) and of (Q, P)."""
        with ctx.workprec(_BITS):
            found = [
                math.inf
                if law.infinite > 0.0
                else float_above(excess_of(_in_balls(law), order).log1p() / (arb(order) - 1))
                for law in self.pair
            ]
        return found[0], found[1]


def _in_balls(law: LossLaw) -> Measure:
    return Measure(law.loss.tolist(), [arb(float(m)) for m in law.mass], arb(law.infinite))


def excess_of(law: Measure, order: float) -> arb:
    """E_Q[(P/Q)^A] - 1 of a law's finite losses: sum of q (t^A - 1 - A (t - 1)), t = e^loss.

    That is A (A-1) int [..] of the law's own curve, whatever its masses add up to.
    """
    a = arb(order)
    return total(
        mass * (((a - 1) * arb(loss)).exp() - a + (a - 1) * (-arb(loss)).exp())
        for loss, mass in zip(law.loss, law.mass, strict=True)
        if loss != 0.0
    )


# ----------------------------------------------------------------------------- where dots lie


class _Shape:
    """About log h and log h' along eps, down to some level."""

    def __init__(self, curves: Curves, level: float, *, coarse: bool) -> None:
        sides = (curves.forward, curves.backward)
        scale = min(*(curve.scale for curve in sides), curves.last)
        self.reach = min(max(curve.end(level) for curve in sides), curves.last)
        self.eps = proposed.steps(scale, self.reach, coarse=coarse)
        self.logs = [
            np.array([max(curve.rough(float(e)), _LEAST_LOG) for e in self.eps]) for curve in sides
        ]

    def integrals(self, points: Array, order: float) -> tuple[Array, Array]:
        """Logarithms of A (A-1) int over panels of chords, and of a curve log-linear in eps."""
        width, factor = np.diff(points), math.log(order) + math.log(order - 1.0)
        chords, curves = [], []
        for log, c in zip(self.logs, (order - 1.0, -order), strict=True):
            value = np.interp(points, self.eps, log)
            start = value[:-1] + c * points[:-1] + np.log(width) + factor
            fall = np.diff(value)
            first, second = _log_hats(c * width)
            chords.append(start + np.logaddexp(first, fall + second))
            curves.append(start + _log_mean_exp(c * width + fall))
        return np.logaddexp(*chords), np.logaddexp(*curves)


class _Aim(NamedTuple):
    """An order, log of its moment less 1 and what may be added to that, and the last eps to see."""

    order: float
    log_total: float
    log_enough: float
    end: float
    reached: bool


def _aim(curves: Curves, shape: _Shape, order: float, rtol: float) -> _Aim:
    log_total = float(np.logaddexp.reduce(shape.integrals(shape.eps, order)[1]))
    # Of log E: what is a share of the divergence, or of E - 1 where that is small.
    log_enough = log_total + math.log(rtol * max(float(np.logaddexp(0.0, log_total)), 1.0))
    # Beyond the last dot the curve counts as constant up to eps0, or to where the tail begins.
    goal = log_enough + math.log(_LEFT_OUT)
    pure = curves.forward.eps0 <= curves.last
    far = curves.last if pure else _tail_start(curves, order, goal)
    low = np.flatnonzero(math.log(order) + shape.logs[0] + (order - 1.0) * far < goal)
    end = float(shape.eps[max(int(low[0]), 1)]) if low.size else shape.reach
    return _Aim(order, log_total, log_enough, end, low.size > 0 or (pure and end >= curves.last))


def _dots(curves: Curves, orders: Sequence[float], rtol: float, most: int) -> list[float]:
    """By estimates: dots for all orders, halving the panels whose chords add the most.

    Where there may be few dots, orders that look too far down are not aimed at, unless all are: of
    them the dots give what they give.
    """
    levels, aims = _LEVELS_FEW if most <= _FEW else _LEVELS, []
    shape = _Shape(curves, levels[0], coarse=most <= _FEW)
    for level in levels:
        shape = _Shape(curves, level, coarse=most <= _FEW)
        aims = [_aim(curves, shape, order, rtol) for order in orders]
        if all(aim.reached for aim in aims) or shape.reach >= curves.last:
            break
    aims = [aim for aim in aims if aim.reached] or aims[:1]
    end = max(aim.end for aim in aims)
    points = np.array([0.0, *(end * 2.0**-k for k in range(4, -1, -1))])
    while points.size < most:
        share = np.zeros(points.size - 1)
        for aim in aims:
            chords, curve = shape.integrals(points, aim.order)
            share += np.exp(np.minimum(chords - aim.log_enough, 600.0)) - np.exp(
                np.minimum(curve - aim.log_enough, 600.0)
            )
        share = np.maximum(share, 0.0)
        if float(share.sum()) <= 1.0:
            break
        # As many as are needed, were three quarters of what a panel adds gone by halving it.
        worst = np.argsort(-share, kind="stable")
        needed = int(np.searchsorted(np.cumsum(0.75 * share[worst]), share.sum() - 1.0)) + 1
        split = np.sort(worst[: max(min(needed, most - points.size, points.size // 2), 1)])
        points = np.insert(points, split + 1, 0.5 * (points[split] + points[split + 1]))
    return points.tolist()


def _log_mean_exp(z: Array) -> Array:
    """log of int_0^1 e^(z t) dt."""
    size = np.maximum(np.abs(z), 1e-9)
    return np.maximum(z, 0.0) + np.log(-np.expm1(-size) / size)


def _log_hats(z: Array) -> tuple[Array, Array]:
    """log of int_0^1 e^(z t) (1 - t) dt and of int_0^1 e^(z t) t dt."""
    size = np.maximum(np.abs(z), 1e-3)
    near = (size - 1.0 + np.exp(-size)) / size**2  # of the hat at the smaller end, over e^size
    far = (-np.expm1(-size) - size * np.exp(-size)) / size**2
    less, more = np.log(far), np.log(near)
    top = np.maximum(z, 0.0)
    return top + np.where(z > 0.0, less, more), top + np.where(z > 0.0, more, less)


def _tail_start(curves: Curves, order: float, goal: float) -> float:
    """About the first eps at which the tail's bound is at most the goal; inf where none is."""
    tail = curves.tail
    if tail is None or not tail(order, curves.last) <= goal:
        return math.inf
    low, high = 0.0, min(1.0, curves.last)
    while not tail(order, high) <= goal:
        low, high = high, min(2.0 * high, curves.last)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if tail(order, middle) <= goal else (middle, high)
    return high


__all__ = ["Curves", "LawMoments", "Moments", "RenyiTail", "Tail", "excess_of"]
