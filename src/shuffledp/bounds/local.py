"""Divergence of a single report in balls: delta(eps) without shuffling."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx, total
from shuffledp.arithmetic.intervals import LogInterval, log_interval
from shuffledp.ball.noises import local_delta
from shuffledp.ball.outputs import OutputClass, largest, local_divergence, rational_ball
from shuffledp.ball.record import Definition, Parts
from shuffledp.errors import NotCertified, ParameterError

__all__ = ["log_local_delta"]

# Working precision: differences of probabilities lose as many bits as eps exceeds the log ratio in
# nats.
_BITS = 256
# log of the probability beyond which outputs of laws with infinitely many outputs are cut off.
_CUT = -800.0
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
        return local_delta(noise, inputs, eps)
    parts = one.parts()
    if parts is not None and not _has_classes(one, inputs):
        return _of_parts(parts, inputs, eps)
    return local_divergence(one.cut_law(inputs, _CUT), eps)


def _has_classes(one: Definition, inputs: Inputs) -> bool:
    try:
        one.cut_law(inputs, _CUT)
    except NotCertified:
        return False
    return True


# ------------------------------------------------- mechanisms of several parts, some with noise


def _of_parts(parts: Parts, inputs: Inputs, eps: arb) -> arb:
    """D_eps of a record with noise: a report has one of the parts, or all of them."""
    columns = zip(*map(parts.part_inputs, inputs), strict=True)
    named = list(zip(parts.randomizers, columns, strict=True))
    if parts.weights is None:
        return _together([(part, xs) for part, xs in named if xs[0] != xs[1]], eps)
    # The parts that do not change have the same law under both inputs.
    return total(
        rational_ball(weight) * _divergence(part, xs, eps)
        for (part, xs), weight in zip(named, parts.weights, strict=True)
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
