"""Gauss-Legendre panels for generalized Gaussian noise, with proven errors.

On a side of every input (|y - x|/scale)^shape is analytic, so panels have the error of
`quadrature`; towards an input, where there is a branch point, they shrink geometrically. The
suprema in that error are bounded by the mean value form, derivatives being enclosed on the
rectangle around the ellipse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from shuffledp.arithmetic.balls import acb, arb, ctx

from .power import PowerNoise
from .quadrature import Band, PanelError, bounds_of_exponential

__all__ = ["PowerPanel", "Stretch", "make_panel", "plan", "tilted_mass", "variation"]

_RADII = (1.3, 1.7, 2.2, 3.0, 5.0, 9.0)
_NODES = (8, 16, 32)
_CELLS = 4  # of a panel, to bound a variation
_ROUGH_BITS = 64


@dataclass(frozen=True)
class Stretch:
    """Outputs on one side of every input; `near` is the end at which there may be a branch point.

    Attributes
    ----------
    near, far : the ends.
    inputs : those of P, Q and the reference, with the side of them the outputs are on.
    """

    near: arb
    far: arb
    inputs: tuple[tuple[arb, int], ...]


@dataclass(frozen=True)
class PowerPanel:
    """A panel's ends, weights and gains (none where it is negligible), and its error."""

    first: arb
    last: arb
    first_is_near: bool
    weight: list[arb]
    gain: list[arb]
    error: PanelError


def tilted_mass(panel: PowerPanel, alpha: arb) -> arb:
    """E e^(alpha G) on a panel, from above."""
    total = panel.error.at(alpha, arb(0)).upper()
    for w, g in zip(panel.weight, panel.gain, strict=True):
        total += w * (alpha * g).exp()
    return total.upper()


def variation(
    noise: PowerNoise, stretch: Stretch, eps: arb, alpha: arb, panel: PowerPanel
) -> tuple[arb, tuple[arb, arb]]:
    """Integral of |(f/G')'| over a panel, and |f/G'| at its ends, from above."""
    if not panel.weight:
        return arb("inf"), (arb(0), arb(0))
    with ctx.workprec(_ROUGH_BITS):
        ends = [
            abs(_over_slope(noise, stretch, eps, alpha, y)[0]).upper()
            for y in (panel.first, panel.last)
        ]
        total, length = arb(0), (panel.last - panel.first) / _CELLS
        for k in range(_CELLS):
            centre = panel.first + (2 * k + 1) * length / 2
            value, change = _over_slope(
                noise, stretch, eps, alpha, centre + arb(0, (length / 2).upper())
            )
            total += length * abs(value) * abs(change)
        return total.upper(), (ends[0], ends[1])


def _over_slope(
    noise: PowerNoise, stretch: Stretch, eps: arb, alpha: arb, y: arb
) -> tuple[arb, arb]:
    """f/G' and its logarithmic derivative at y, f = r e^(alpha G)."""
    (p, p_side), (q, q_side), (ref, side) = stretch.inputs
    level, slope, bend = noise.derivatives(ref, y, side)
    of_p, of_q = noise.derivatives(p, y, p_side), noise.derivatives(q, y, q_side)
    a, b = (level - of_p[0]).exp(), (level - of_q[0] + eps).exp()
    (a1, a2), (b1, b2) = ((slope - x[1], bend - x[2]) for x in (of_p, of_q))
    first = a * a1 - b * b1
    second = a * (a1 * a1 + a2) - b * (b1 * b1 + b2)
    log_f = noise.log_top - level + alpha * (a - b)
    return log_f.exp() / first, -slope + alpha * first - second / first


def plan(
    noise: PowerNoise,
    stretch: Stretch,
    eps: arb,
    first: arb,
    last: arb,
    band: Band,
    log_error: float,
) -> tuple[int, float] | None:
    """How many nodes, and the ellipse, for an error of about e^log_error; None: cut further."""
    with ctx.workprec(_ROUGH_BITS):
        alone = _whole(noise, stretch, eps, first, last)
        if _size(alone, band) <= log_error:
            return 0, 1.0
        best: tuple[int, float] | None = None
        for rho in _RADII:
            bound = _error(noise, stretch, eps, first, last, 1, rho)
            size = _size(bound, band)
            if not size < math.inf:
                break
            for nodes in _NODES:
                if size + (2 - 2 * nodes) * math.log(rho) <= log_error:
                    if best is None or nodes < best[0]:
                        best = nodes, rho
                    break
    return best


def _size(error: PanelError, band: Band) -> float:
    """Roughly the logarithm of the largest error on the band."""
    if not (error.coefficient.is_finite() and error.top.is_finite() and error.swing.is_finite()):
        return math.inf
    c, top, swing = (float(x.mid()) for x in (error.coefficient, error.top, error.swing))
    if not c > 0.0:
        return -math.inf
    # Larger tilts are needed for the aliases, on the line alone.
    return math.log(c) + max(band.real * top + band.high * swing, 2.0 * band.real * top)


def _error(
    noise: PowerNoise,
    stretch: Stretch,
    eps: arb,
    first: arb,
    last: arb,
    nodes: int,
    rho: float,
) -> PanelError:
    """The rule's error (`quadrature`)."""
    centre, half = (first + last) / 2, (last - first) / 2
    r = arb(rho)
    a, b = (r + 1 / r) / 2, (r - 1 / r) / 2
    box = acb(centre + arb(0, (half * a).upper()), arb(0, (half * b).upper()))
    middle = acb(centre)
    (p, p_side), (q, q_side), (ref, side) = stretch.inputs
    slope_r = -noise.slope(ref, box, side)
    rate = slope_r * half
    log_r = noise.log_top - noise.level(ref, middle, side).real
    log_r += abs(rate.real) * a + abs(rate.imag) * b
    parts = []
    for x, x_side, level in ((p, p_side, arb(0)), (q, q_side, eps)):
        exponent = noise.level(ref, middle, side) - noise.level(x, middle, x_side) + level
        slope = -slope_r - noise.slope(x, box, x_side)
        parts.append(bounds_of_exponential(exponent, slope * half, a, b))
    (_, most_a, least_sine, _), (least_b, _, _, most_sine) = parts
    top, swing = most_a - least_b, arb.max(most_sine - least_sine, arb(0))
    factor = 8 * half * r ** (1 - 2 * nodes) / (r - 1)
    return PanelError((factor * log_r.exp()).upper(), top.upper(), swing.upper())


def _whole(noise: PowerNoise, stretch: Stretch, eps: arb, first: arb, last: arb) -> PanelError:
    """Length times the largest modulus: levels are monotone on either side of an input."""
    low, high = [], []
    for x, _ in stretch.inputs:
        near, far = sorted((abs(first - x), abs(last - x)), key=_float)
        low.append((near / noise.scale) ** noise.shape)
        high.append((far / noise.scale) ** noise.shape)
    top = (high[2] - low[0]).exp() - (low[2] - high[1] + eps).exp()
    size = (last - first) * (noise.log_top - low[2]).exp()
    return PanelError(size.upper(), top.upper(), arb(0))


def make_panel(
    noise: PowerNoise,
    stretch: Stretch,
    eps: arb,
    first: arb,
    last: arb,
    nodes: int,
    rho: float,
) -> PowerPanel:
    """Weights, gains and error of the panel that was planned."""
    if nodes:
        error = _error(noise, stretch, eps, first, last, nodes, rho)
    else:
        error = _whole(noise, stretch, eps, first, last)
    centre, half = (first + last) / 2, (last - first) / 2
    weight, gain = [], []
    (p, p_side), (q, q_side), (ref, side) = stretch.inputs
    for node, share in _gauss_legendre(nodes, ctx.prec):
        y = acb(centre + half * node)
        level = noise.level(ref, y, side).real
        a, b = (
            (level - noise.level(x, y, x_side).real) for x, x_side in ((p, p_side), (q, q_side))
        )
        weight.append(half * share * (noise.log_top - level).exp())
        gain.append((b + eps).exp() * (a - b - eps).expm1())
    near = bool(abs(first - stretch.near) < abs(last - stretch.near))
    return PowerPanel(first, last, near, weight, gain, error)


@lru_cache(maxsize=16)
def _gauss_legendre(nodes: int, bits: int) -> list[tuple[arb, arb]]:
    with ctx.workprec(bits):
        return [arb.legendre_p_root(nodes, k, weight=True) for k in range(nodes)]


def _float(x: arb) -> float:
    return float(x.mid())
