"""The smoothed integrands at the nodes, their errors, and the sum over all of them.

At s = alpha + it, in units of 1/kappa(alpha) and of the scale,

    upper = E e^{sS} e^{h^2 (kappa(s) - kappa(alpha))/2} kappa(alpha)/kappa(s),
    lower = upper (1 - c h^2 kappa(s)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shuffledp.contour.payoff import Payoff
from shuffledp.contour.transform import Nodes
from shuffledp.numerics.rounding import halved_sum
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF


class Block(NamedTuple):
    """Real parts of the upper and lower integrand on a block of nodes, their sizes and errors.

    ``gone`` and ``gone_low`` bound what nodes that were left out come to.
    """

    first: bool
    upper: Array
    lower: Array
    size: Array
    size_low: Array
    err: Array
    err_low: Array
    gone: float = 0.0
    gone_low: float = 0.0


# What overflows is an error that says nothing, or a value that ``capped`` has left behind.
@np.errstate(over="ignore", invalid="ignore")
def integrand(nodes: Nodes, payoff: Payoff, alpha: float, h: float) -> Block:
    """Both integrands on a block of nodes."""
    t, gap = nodes.t, payoff.gap
    # kappa(s) = kappa(alpha) - t^2 + i t (2 alpha + gap)
    fade = 0.5 * (h * t) ** 2
    turn = h * h * (alpha + 0.5 * gap) * t
    weight = np.exp(-np.minimum(fade, 740.0)) * nodes.inside
    axis = 1.0 + 1j * (t / alpha)
    other = axis if gap == 0.0 else 1.0 + 1j * (t / (alpha + gap))
    kernel = np.exp(1j * turn) * (weight / (axis * other))
    value = nodes.value * kernel
    bend = payoff.bend(h)
    lift = h * alpha * (h * (alpha + gap))
    factor = (1.0 - bend * lift + 2.0 * bend * fade) - 2j * (bend * turn)
    size = np.abs(value)
    # t is known to 4 u, so its square to 8 u, and the exponent has roundings of its own.
    extra = U * (64.0 + 16.0 * fade + 8.0 * turn)
    err = nodes.err * np.abs(kernel) * (1.0 + 1e-9) + size * extra
    bulge = np.abs(factor)
    # Each part of the factor has some ten roundings; 2 turn <= h^2 (alpha + gap/2)^2 + 2 fade.
    noise = 64.0 * U * (1.0 + bend * (lift + 0.25 * gap * h * h + 2.0 * fade))
    # |factor| e^-fade on all t, as f e^-f <= 1/e and x e^{-x^2/2} <= 1/sqrt(e) at f = fade, x = ht.
    swing = 2.0 / math.e + 2.0 * h * (alpha + 0.5 * gap) * math.exp(-0.5)
    largest = (abs(1.0 - bend * lift) + bend * swing) * (1.0 + 1e-9) + 64.0 * U * bend * lift
    gone = nodes.left_out * (1.0 + 1e-9)
    return Block(
        first=nodes.first,
        upper=value.real,
        lower=(value * factor).real,
        size=size,
        size_low=size * (bulge + noise),
        err=err,
        err_low=err * (bulge + noise) + size * noise,
        gone=gone,
        gone_low=gone * largest,
    )


class Sums(NamedTuple):
    """Sums over all nodes, their errors, and a bound of the transform's modulus."""

    upper: float
    upper_err: float
    lower: float
    lower_err: float
    mass: float


def summed(blocks: Iterator[Block]) -> Sums:
    """Sum F over all nodes -J..J (F at -t is the conjugate of F at t)."""
    parts: list[tuple[float, ...]] = []
    mass = math.inf
    for first, upper, lower, size, size_low, err, err_low, gone, gone_low in blocks:
        corner = 0.0, 0.0
        # The node t = 0 counts once; it is the tilted mass.
        if first:
            mass = max(1.0, float(upper.flat[0]) + float(err.flat[0]))
            corner = -float(upper.flat[0]), -float(lower.flat[0])
        (above, above_err), (below, below_err) = halved_sum(upper), halved_sum(lower)
        # Sums of what is positive: any order rounds them by less than 1e-9.
        errors = float(err.sum()) + above_err + gone, float(err_low.sum()) + below_err + gone_low
        doubt = 2.0 * errors[0], 2.0 * errors[1]
        # Room for the rounding of what is done with the sums themselves.
        each = 2.0 * float(size.sum()), 2.0 * float(size_low.sum())
        parts.append((2.0 * above, corner[0], 2.0 * below, corner[1], *doubt, *each))
    columns = [math.fsum(column) for column in zip(*parts, strict=True)]
    return Sums(
        upper=columns[0] + columns[1],
        upper_err=columns[4] * (1 + 1e-9) + 16 * U * columns[6],
        lower=columns[2] + columns[3],
        lower_err=columns[5] * (1 + 1e-9) + 16 * U * columns[7],
        mass=mass,
    )
