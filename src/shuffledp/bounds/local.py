"""The divergence of one report in balls: delta(eps) where nothing is shuffled."""

from __future__ import annotations

from typing import Any

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import LogInterval, log_interval
from shuffledp.ball.densities import local_delta
from shuffledp.ball.gains import local_divergence
from shuffledp.ball.messages import message_law
from shuffledp.ball.power import local_power_delta
from shuffledp.ball.registry import Given, seen
from shuffledp.errors import ParameterError

__all__ = ["log_local_delta"]

# Differences of probabilities lose as many bits as eps has nats beyond the likelihood ratio's.
_BITS = 256
# log of the probability beyond which outputs of a law with infinitely many of them are cut off.
_CUT = -800.0


def log_local_delta(mechanism: Given, x0: Any, x1: Any, epsilon: float) -> LogInterval:
    """Ends of log D_eps(R_x0 || R_x1), D_eps(P || Q) = sum (P - e^eps Q)_+; -inf for exactly 0.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters} of a mechanism with a record; floats are the numbers they are.
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


def _divergence(mechanism: Given, inputs: tuple[Any, Any], eps: arb) -> arb:
    one = seen(mechanism)
    noise, power = one.added_noise(), one.added_power()
    if (noise or power) and inputs[0] == inputs[1]:
        raise ParameterError(f"x0, x1 = {inputs!r}: wanted two different inputs")
    if noise is not None:
        return local_delta(noise, inputs, eps)
    if power is not None:
        return local_power_delta(power, inputs, eps)
    if one.kind == "protocol":
        return local_divergence(message_law(one, inputs), eps)
    law = one.cut_law(inputs, log_cut=_CUT)
    return local_divergence(one.output_law(inputs) if law is None else law, eps)
