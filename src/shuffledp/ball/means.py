"""Numbers of an interval, for their mean: Duchi et al., piecewise and hybrid, from the papers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import NotCertified
from shuffledp.theorems import CORNER_TRIPLES, LEAST_OVERLAP, MIXED_TRIPLES

from .bits import Bits, bits_between
from .levels import Favours, flags, place, two_levels
from .outputs import Law, Parameters, positive, rational_ball
from .ranges import EPS0, INTERVAL
from .record import Masses, Others, Pair, Record

__all__ = ["RECORDS"]

# Bits beyond the working precision by which two ends of windows are told apart.
_ORDER = 256
# A point u w + v of the piecewise mechanism's outputs, w = e^(eps0/2).
Point = tuple[Fraction, Fraction]


def _bit(places: Sequence[Fraction], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    """Duchi et al.: P(1) = 1/2 + x (E - 1)/(2 (E + 1)) = (1 + (E - 1) a)/(E + 1), x = 2a - 1."""
    base = share / (eps0.exp() + 1)
    return [(base, tuple(places)), (base, tuple(1 - a for a in places))]


def _duchi(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    eps0 = positive(mechanism, "eps0")
    places = [place(mechanism, x, low=-1.0, high=1.0) for x in inputs]
    return two_levels(_bit(places, eps0, arb(1)), eps0)


def _window_parts(starts: Sequence[Point], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    """Wang et al. 2019, algorithm 2, the outputs [-C, C] stretched to [0, w + 1].

    C = (w + 1)/(w - 1); with probability w/(w + 1) uniform on [l, l + C - 1],
    l = ((C + 1) x - (C - 1))/2, else uniform on the rest, of length C + 1. In units of C - 1 =
    2/(w - 1) and counted from -C, l is w a with x = 2a - 1; the density inside is w/(w + 1), and
    outside 1/((w + 1) w), which is e^-eps0 times as high. ``starts`` are these l.
    """
    w = (eps0 / 2).exp()
    zero, one = Fraction(0), Fraction(1)
    windows = [((a, b), (a, b + 1)) for a, b in starts]
    points: set[Point] = {(zero, zero), (one, one)}
    for window in windows:
        points.update(window)

    # Places are floats: a step of 1/w from one is off by 2^-53 of itself, or by less.
    with ctx.workprec(ctx.prec + _ORDER):
        fine = (eps0 / 2).exp()
        at = {p: rational_ball(p[0]) * fine + rational_ball(p[1]) for p in points}
    # Midpoints are exact balls: floats of two places may be equal.
    ordered = sorted(points, key=lambda p: arb(at[p].mid()))
    base = share / (w * (w + 1))
    parts = []
    for left, right in itertools.pairwise(ordered):
        length = at[right] - at[left]
        if not length > 0:
            raise NotCertified("piecewise: the order of two ends is not clear in balls")
        hits = [not (at[l] > at[left]) and not (at[r] < at[right]) for l, r in windows]
        parts.append((base * length, flags(hits)))
    return parts


def _piecewise(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    eps0 = positive(mechanism, "eps0")
    places = [place(mechanism, x, low=-1.0, high=1.0) for x in inputs]
    return two_levels(_window(places, eps0, arb(1)), eps0)


def _window(places: Sequence[Fraction], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    return _window_parts([(a, Fraction(0)) for a in places], eps0, share)


def _hybrid(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Wang et al. 2019: above eps* = 0.61 piecewise with probability 1 - 1/w, else Duchi's.

    eps* = log((-5 + 2 (6353 - 405 sqrt 241)^(1/3) + 2 (6353 + 405 sqrt 241)^(1/3))/27).
    """
    eps0 = positive(mechanism, "eps0")
    places = [place(mechanism, x, low=-1.0, high=1.0) for x in inputs]
    if _is_one_bit(mechanism):
        return two_levels(_bit(places, eps0, arb(1)), eps0)
    rest = (-eps0 / 2).exp()
    # The two have different outputs: no output is both.
    return [
        *two_levels(_window(places, eps0, 1 - rest), eps0),
        *two_levels(_bit(places, eps0, rest), eps0),
    ]


def _is_one_bit(mechanism: Parameters) -> bool:
    """Whether the hybrid mechanism is Duchi's alone: eps0 below eps*."""
    eps0 = positive(mechanism, "eps0")
    root = 405 * arb(241).sqrt()
    turning = ((2 * (6353 - root).root(3) + 2 * (6353 + root).root(3) - 5) / 27).log()
    if not (eps0 > turning or eps0 < turning):
        raise NotCertified("hybrid: eps0 is too close to the turning point")
    return bool(eps0 < turning)


# --------------------------------------------- labels of three inputs, theory-stealing, section 5.4


def _places(w: arb) -> list[Point]:
    """Ends of the interval and what is one or two steps 1/w from one: p + q/w as (p, q)."""
    found = []
    for p, q in itertools.product((0, 1), range(-2, 3)):
        x = p + q / w
        if (p, q) in {(0, 0), (1, 0)} or (x > 0 and x < 1):
            found.append((Fraction(p), Fraction(q)))
        elif not (x < 0 or x > 1):
            raise NotCertified("label stealing: the order of two places is not clear in balls")
    return found


def _windows(mechanism: Parameters, *, bit: bool) -> Iterator[list[Masses]]:
    """Piecewise; and hybrid, with Duchi's bit in the share 1/w."""
    eps0 = positive(mechanism, "eps0")
    w, gain = (eps0 / 2).exp(), eps0.expm1()
    rest = 1 / w if bit else arb(0)
    for triple in itertools.product(_places(w), repeat=3):
        # p + q/w is at w times that, p w + q, in units of the window.
        masses: list[Masses] = []
        for mass, favours in _window_parts(triple, eps0, 1 - rest):
            first, second, third = (mass * (1 + gain * rational_ball(f)) for f in favours)
            masses.append((first, second, third))
        if not rest.is_zero():
            places = [rational_ball(p) + rational_ball(q) / w for p, q in triple]
            base = rest / (eps0.exp() + 1)
            for own in (places, [1 - x for x in places]):
                first, second, third = (base * (1 + gain * x) for x in own)
                masses.append((first, second, third))
        yield masses


# ---------------------------------------------------------------------------------- the records


def _pair(mechanism: Parameters) -> Pair:
    return mechanism["low"], mechanism["high"]


def _bits(mechanism: Parameters) -> Bits:
    return bits_between(mechanism, *_pair(mechanism), numbers=True)


def _mixed(mechanism: Parameters) -> Others:
    """Every law is a mixture of those of the two ends."""
    ends = _pair(mechanism)
    return Others("mixed", MIXED_TRIPLES, (ends,), ends)


def _corners(mechanism: Parameters, *, bit: bool) -> Others:
    pairs = (_pair(mechanism),)
    return Others("corners", CORNER_TRIPLES, pairs, labels=lambda: _windows(mechanism, bit=bit))


def _hybrid_others(mechanism: Parameters) -> Others:
    return _mixed(mechanism) if _is_one_bit(mechanism) else _corners(mechanism, bit=True)


_RANGES = {"eps0": EPS0, **INTERVAL}

RECORDS = {
    "duchi": Record(
        ranges=_RANGES,
        law=_duchi,
        pair=_pair,
        pair_step=LEAST_OVERLAP,
        others=_mixed,
        bits=_bits,
    ),
    "piecewise": Record(
        ranges=_RANGES,
        law=_piecewise,
        pair=_pair,
        pair_step=LEAST_OVERLAP,
        others=lambda m: _corners(m, bit=False),
    ),
    "hybrid": Record(
        ranges=_RANGES,
        law=_hybrid,
        pair=_pair,
        pair_step=LEAST_OVERLAP,
        others=_hybrid_others,
    ),
}
