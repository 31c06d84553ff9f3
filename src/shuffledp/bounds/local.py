"""Divergence of a single report in balls: delta(eps) without shuffling."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx, total
from shuffledp.arithmetic.intervals import LogInterval, log_interval
from shuffledp.ball.noises import Noise, check_inputs
from shuffledp.ball.outputs import OutputClass, largest, rational_ball
from shuffledp.ball.record import Definition
from shuffledp.errors import NotCertified, ParameterError

__all__ = ["delta_gaussian", "log_local_delta"]

# Working precision: differences of probabilities lose as many bits as eps exceeds the log ratio in
# nats.
_BITS = 256
# log of the probability beyond which outputs of laws with infinitely many outputs are cut off.
_CUT = -800.0
# Steps by which the place of a ratio is narrowed, each to some 0.3 of what it was.
_HALVINGS = 80
# Noise of a shape above 1 is beyond 2^64 scales with a probability below e^-(2^64).
_FAR = 64
# Most combinations of classes of those parts that have classes.
_MOST_CLASSES = 20_000

Inputs = tuple[Any, Any]
# A part of a mechanism and its two inputs.
Changed = tuple[Definition, Inputs]


def log_local_delta(mechanism: Definition, x0: Any, x1: Any, epsilon: float) -> LogInterval:
    """Both ends of log D_eps(R_x0 || R_x1), D_eps(P || Q) = sum (P - e^eps Q)_+; -inf for 0.

    Parameters
    ----------
    mechanism : Definition
        The mechanism that a user runs.
    x0, x1 : inputs
        Two different inputs.
    epsilon : float
        eps in nats.

    Raises
    ------
    ParameterError
        For mechanisms without a law of their own, and for equal inputs of noise.
    """
    with ctx.workprec(_BITS):
        found = _divergence(mechanism, (x0, x1), arb(epsilon))
        return log_interval(found.lower(), found.upper())


def _divergence(mechanism: Definition, inputs: Inputs, eps: arb) -> arb:
    """D_eps of two inputs at any real eps, negative ones included."""
    if eps >= 0:
        return _beyond(mechanism, inputs, eps)
    if eps < 0:
        # The sum of P - e^eps Q is 1 - e^eps, and (x)_+ = x + (-x)_+.
        return -eps.expm1() + eps.exp() * _beyond(mechanism, inputs[::-1], -eps)
    # eps is a ball around 0: delta, which does not increase in eps, lies between the ends' values.
    return _divergence(mechanism, inputs, eps.lower()).union(
        _divergence(mechanism, inputs, eps.upper())
    )


def _beyond(one: Definition, inputs: Inputs, eps: arb) -> arb:
    """D_eps of two inputs at eps >= 0."""
    noise = one.added_noise()
    if noise is not None:
        if inputs[0] == inputs[1]:
            raise ParameterError(f"x0, x1 = {inputs!r}: wanted two different inputs")
        return _of_noise(noise, inputs, eps)
    if one.made_of and not _has_classes(one, inputs):
        return _of_parts(one, inputs, eps)
    return total(
        arb(0).union(c.probability[0].upper()) if c.beyond else c.excess(eps).max(arb(0))
        for c in one.cut_law(inputs, _CUT)
    )


def _has_classes(one: Definition, inputs: Inputs) -> bool:
    try:
        one.cut_law(inputs, _CUT)
    except NotCertified:
        return False
    return True


# ------------------------------------------------- mechanisms of several parts, some with noise


def _of_parts(one: Definition, inputs: Inputs, eps: arb) -> arb:
    """D_eps of a record with noise: a report has one of the parts, or all of them."""
    columns = zip(*map(one.part_inputs, inputs), strict=True)
    named = list(zip(one.made_of, columns, strict=True))
    if one.shares is None:
        return _together([(part, xs) for part, xs in named if xs[0] != xs[1]], eps)
    # The parts that do not change have the same law under both inputs.
    return total(
        rational_ball(weight) * _divergence(part, xs, eps)
        for (part, xs), weight in zip(named, one.shares, strict=True)
        if xs[0] != xs[1]
    )


def _together(changed: Sequence[Changed], eps: arb) -> arb:
    """D_eps of independent parts: sum over classes c of the finite ones of p_c D_(eps - log(p/q)).

    With two or more parts of noise, the bracket reaches from the largest divergence of one part to
    the least that one part has left when all others spend their pure guarantees.
    """
    finite = [(part, xs) for part, xs in changed if _has_classes(part, xs)]
    noises = [(part, xs) for part, xs in changed if not _has_classes(part, xs)]
    laws = [part.cut_law(xs, _CUT) for part, xs in finite]
    if math.prod(map(len, laws)) > _MOST_CLASSES:
        raise NotCertified(f"joint: more than {_MOST_CLASSES:,} classes of outputs")
    found = []
    for chosen in itertools.product(*laws):
        p, q = (math.prod((c.probability[i] for c in chosen), start=arb(1)) for i in (0, 1))
        if any(c.beyond for c in chosen):
            found.append(arb(0).union(p.upper()))
        elif q.is_zero():
            found.append(p)
        elif not p.is_zero():
            left = eps - total(_log_ratio(c) for c in chosen)
            found.append(p * _of_noises(noises, left))
    return total(found)


def _log_ratio(c: OutputClass) -> arb:
    if c.level is not None:
        return c.level[0] - c.level[1]
    return (c.probability[0] / c.probability[1]).log()


def _of_noises(noises: Sequence[Changed], eps: arb) -> arb:
    if not noises:
        return (-eps.expm1()).max(arb(0))
    if len(noises) == 1:
        return _divergence(*noises[0], eps)
    least = largest([_divergence(part, xs, eps) for part, xs in noises])
    most: list[arb] = []
    for k, (part, xs) in enumerate(noises):
        others = [arb(one.eps0) for one, _ in (*noises[:k], *noises[k + 1 :])]
        if all(x.is_finite() for x in others):
            most.append(_divergence(part, xs, eps - total(others)))
    for part, xs in noises:
        if math.isfinite(part.eps0) and not _divergence(part, xs, arb(part.eps0)) <= 0:
            raise NotCertified(f"{part.name}: eps0 = {part.eps0!r} is not shown to be one")
    if not most:
        raise NotCertified("joint: two parts of noise without a pure guarantee")
    return least.union(functools.reduce(lambda a, b: a.min(b), most))


# ------------------------------------------------------------------------------ noise on a line


def delta_gaussian(mu: arb, epsilon: arb) -> arb:
    """D_eps(N(0, 1) || N(mu, 1)) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu > 0.

    Balle and Wang 2018, Theorem 8: the delta of the Gaussian mechanism, mu = sensitivity/sigma.
    """
    z, root = epsilon / mu, arb(2).sqrt()
    near, far = ((z - mu / 2) / root).erfc(), ((z + mu / 2) / root).erfc()
    return (near - epsilon.exp() * far) / 2


def _of_noise(noise: Noise, inputs: Sequence[float], eps: arb) -> arb:
    """D_eps of the noise at two different inputs, eps >= 0."""
    x0, x1 = check_inputs(noise, inputs)
    distance = abs(x0 - x1)
    if noise.eps0 is not None:
        # Exactly zero where the distance is that of the ends.
        excess = eps - noise.eps0 * (distance / (noise.high - noise.low))
        if noise.ends is not None:
            # The guarantee of the truncated law too (docs/theory-noise.md, Theorem 1.2).
            return arb(0) if eps >= noise.eps0 else _of_truncated(noise, noise.ends, (x0, x1), eps)
        return arb(0) if excess >= 0 else -(excess / 2).expm1()
    if noise.shape == 2:
        return delta_gaussian(distance * arb(2).sqrt() / noise.scale, eps)
    return _of_power(noise, distance, eps)


def _of_truncated(noise: Noise, ends: tuple[arb, arb], inputs: tuple[arb, arb], eps: arb) -> arb:
    """Laplace noise within two ends: log P/Q falls on a line from x0 to x1, and is constant beyond.

    It is above eps up to a place between them, or nowhere.
    """
    x0, x1 = inputs
    p, q = noise.inside(x0), noise.inside(x1)
    gap = abs(x0 - x1) / noise.scale + (q / p).log() - eps
    if gap <= 0:
        return arb(0)
    if not gap > 0:
        # At most P (1 - e^-gap).
        return arb(0).union(-(-gap.upper()).expm1())
    far = noise.scale * gap / 2
    above = (ends[0], x0 + far) if x0 < x1 else (x0 - far, ends[1])
    mine, other = noise.masses(x0, above)[0] / p, noise.masses(x1, above)[0] / q
    return (mine - eps.exp() * other).max(arb(0))


def _of_power(noise: Noise, distance: arb, eps: arb) -> arb:
    """Noise of another shape at 0 and at the distance.

    Between the inputs log P/Q falls from P's to Q's. On P's far side it falls towards the input
    for shape > 1, from infinity, and rises towards it for shape < 1, from 0; on Q's far side it is
    below 0. So for eps >= 0 it exceeds eps from one point, or from the end of the line, to another.
    """
    x0, x1 = arb(0), distance
    most = (x1 / noise.scale) ** noise.shape

    def excess(y: arb) -> arb:
        near, far = ((abs(y - x) / noise.scale) ** noise.shape for x in (x0, x1))
        return far - near - eps

    def to_the_left(k: int) -> arb:
        return x0 - noise.scale * arb(2) ** k

    if noise.shape < 1 and eps > 0:
        if eps >= most:
            return arb(0)
        start, end = _crossing(excess, x0, to_the_left), _crossing(excess, x0, x1)
    elif eps < most:
        # At shape 1 log P/Q does not change beyond P's input; for less it stays above 0.
        start, end = None, _crossing(excess, x0, x1)
    elif noise.shape <= 1:
        return arb(0)
    elif excess(to_the_left(_FAR)) < 0:
        return arb(0).union(noise.beyond(noise.scale * arb(2) ** _FAR).upper())
    else:
        start, end = None, _crossing(excess, to_the_left, x0)
    inner = [None if start is None else start[0], end[0]]
    total = noise.masses(x0, inner)[0] - eps.exp() * noise.masses(x1, inner)[0]
    doubt = arb(0)
    for crossing in (start, end):
        if crossing is not None:
            a, b = sorted(crossing, key=lambda y: float(y.mid()))
            doubt += noise.masses(x0, (a, b))[0] + eps.exp() * noise.masses(x1, (a, b))[0]
    # What is between the brackets adds something between 0 and the doubt.
    return arb.max(total, arb(0)).union(arb.max(total, arb(0)) + doubt.upper())


_Place = arb | Callable[[int], arb]


def _crossing(excess: Callable[[arb], arb], inside: _Place, outside: _Place) -> tuple[arb, arb]:
    """(inside, outside): points close to each other with excess > 0 and < 0."""
    low = _found(inside, lambda y: bool(excess(y) > 0))
    high = _found(outside, lambda y: bool(excess(y) < 0))
    for _ in range(_HALVINGS):
        before = low, high
        # The crossing itself may be in the middle, where nothing can be told.
        for share in (0.45, 0.55):
            middle = (low + (high - low) * share).mid()
            value = excess(middle)
            if value > 0:
                low = middle
            elif value < 0:
                high = middle
        if (low, high) == before:
            break
    return low, high


def _found(place: _Place, fits: Callable[[arb], bool]) -> arb:
    if isinstance(place, arb):
        return place
    for k in range(-60, 2000):
        y = place(k).mid()
        if fits(y):
            return y
    raise NotCertified("generalized-gaussian: no output with such a ratio was found")
