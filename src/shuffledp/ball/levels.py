"""Mechanisms whose density is a base measure times a number from 1 to e^eps0, in ball arithmetic.

From the definitions in the papers, not from tables of masses: an output's *favour* for an input is
f with R_x = (1 + (e^eps0 - 1) f) S, S the base measure. S is the blanket where every output is
favoured by some input not at all; where that is not so it is said.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.errors import NotCertified, ParameterError

from ._flint import arb
from .outputs import Law, OutputClass, Parameters, positive, rational_ball, whole

__all__ = ["LEVEL_MECHANISMS", "Favours", "Point", "is_one_bit", "place", "window_parts"]

_CIRCLE = 2**31 - 1
_TIE = Fraction(1, 10**6)
Favours = tuple[Fraction, ...]
# A point u w + v of the piecewise mechanism's outputs, w = e^(eps0/2).
Point = tuple[Fraction, Fraction]


def place(mechanism: Parameters, x: Any, *, low: float, high: float) -> Fraction:
    """Where in the mechanism's interval a value lies, from 0 to 1, exactly."""
    first, last = mechanism.get("low", low), mechanism.get("high", high)
    for key, value in (("low", first), ("high", last), ("input", x)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ParameterError(f"{key} = {value!r}: wanted a finite number")
        if not math.isfinite(value):
            raise ParameterError(f"{key} = {value!r}: wanted a finite number")
    if not first < last:
        raise ParameterError(f"low, high = {first!r}, {last!r}: wanted low < high")
    if not first <= x <= last:
        raise ParameterError(f"input = {x!r}: wanted a number from {first!r} to {last!r}")
    return (Fraction(x) - Fraction(first)) / (Fraction(last) - Fraction(first))


def _two_levels(parts: Iterable[tuple[arb, Favours]], eps0: arb) -> Law:
    """Base masses and favours as classes of equal ratios."""
    merged: dict[Favours, arb] = {}
    for mass, favours in parts:
        merged[favours] = merged[favours] + mass if favours in merged else mass
    gain = eps0.expm1()
    law = []
    for favours, mass in merged.items():
        if mass.is_zero():
            continue
        level = None
        if all(f in (0, 1) for f in favours):
            level = tuple(eps0 if f else arb(0) for f in favours)
        probability = tuple(mass * (1 + gain * rational_ball(f)) for f in favours)
        law.append(OutputClass(mass, probability, level))
    return law


def _flags(hits: Iterable[bool]) -> Favours:
    return tuple(Fraction(int(hit)) for hit in hits)


# ------------------------------------------------------------------------- patterns of outputs


def _extremal(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Kairouz, Oh, Viswanath 2016: R_x(y) proportional to e^eps0 where pattern[x][y] = 1, else 1.

    An output that all inputs favour has the blanket e^eps0/Z, and ratios one.
    """
    pattern, eps0 = checked_pattern(mechanism), positive(mechanism, "eps0")
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < len(pattern):
            raise ParameterError(f"input = {x!r}: wanted an integer from 0 to {len(pattern) - 1}")
    ones = sum(pattern[0])
    total = ones * eps0.exp() + (len(pattern[0]) - ones)
    counts: dict[tuple[bool, ...], int] = {}
    for column in zip(*pattern, strict=True):
        key = tuple(not all(column) and column[x] == 1 for x in inputs)
        grown = (all(column), *key)
        counts[grown] = counts.get(grown, 0) + 1
    parts = [
        (count * (eps0.exp() if by_all else arb(1)) / total, _flags(key))
        for (by_all, *key), count in counts.items()
    ]
    return _two_levels(parts, eps0)


def checked_pattern(mechanism: Parameters) -> list[list[int]]:
    """Rows of zeros and ones, the same number of ones in each, neither none nor all."""
    rows = mechanism.get("pattern")
    if not isinstance(rows, Sequence) or len(rows) < 2:
        raise ParameterError(f"pattern = {rows!r}: wanted at least two rows of zeros and ones")
    found = [list(row) for row in rows]
    width, ones = len(found[0]), sum(found[0])
    for i, row in enumerate(found):
        if len(row) != width or any(v not in (0, 1) for v in row) or sum(row) != ones:
            raise ParameterError(
                f"pattern[{i}] = {row!r}: wanted zeros and ones, as many ones as in other rows"
            )
    if not 0 < ones < width:
        raise ParameterError("pattern: wanted some outputs favoured, not all")
    return found


# ------------------------------------------------------------------------ means in an interval


def _bit(places: Sequence[Fraction], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    """Duchi et al.: P(1) = 1/2 + x (E - 1)/(2 (E + 1)) = (1 + (E - 1) a)/(E + 1), x = 2a - 1."""
    base = share / (eps0.exp() + 1)
    return [(base, tuple(places)), (base, tuple(1 - a for a in places))]


def _duchi(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    eps0 = positive(mechanism, "eps0")
    places = [place(mechanism, x, low=-1.0, high=1.0) for x in inputs]
    return _two_levels(_bit(places, eps0, arb(1)), eps0)


def window_parts(starts: Sequence[Point], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
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

    def at(point: Point) -> arb:
        return rational_ball(point[0]) * w + rational_ball(point[1])

    ordered = sorted(points, key=lambda p: float(at(p).mid()))
    base = share / (w * (w + 1))
    parts = []
    for left, right in itertools.pairwise(ordered):
        length = at(right) - at(left)
        if not length > 0:
            raise NotCertified("piecewise: the order of two ends is not clear in balls")
        hits = [not (at(l) > at(left)) and not (at(r) < at(right)) for l, r in windows]
        parts.append((base * length, _flags(hits)))
    return parts


def _piecewise(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    eps0 = positive(mechanism, "eps0")
    places = [place(mechanism, x, low=-1.0, high=1.0) for x in inputs]
    return _two_levels(_window(places, eps0, arb(1)), eps0)


def _window(places: Sequence[Fraction], eps0: arb, share: arb) -> list[tuple[arb, Favours]]:
    return window_parts([(a, Fraction(0)) for a in places], eps0, share)


def _hybrid(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Wang et al. 2019: above eps* = 0.61 piecewise with probability 1 - 1/w, else Duchi's.

    eps* = log((-5 + 2 (6353 - 405 sqrt 241)^(1/3) + 2 (6353 + 405 sqrt 241)^(1/3))/27).
    """
    eps0 = positive(mechanism, "eps0")
    places = [place(mechanism, x, low=-1.0, high=1.0) for x in inputs]
    if is_one_bit(mechanism):
        return _two_levels(_bit(places, eps0, arb(1)), eps0)
    rest = (-eps0 / 2).exp()
    # The two have different outputs: no output is both.
    return [
        *_two_levels(_window(places, eps0, 1 - rest), eps0),
        *_two_levels(_bit(places, eps0, rest), eps0),
    ]


def is_one_bit(mechanism: Parameters) -> bool:
    """Whether the hybrid mechanism is Duchi's alone: eps0 below eps*."""
    eps0 = positive(mechanism, "eps0")
    root = 405 * arb(241).sqrt()
    turning = ((2 * (6353 - root).root(3) + 2 * (6353 + root).root(3) - 5) / 27).log()
    if not (eps0 > turning or eps0 < turning):
        raise NotCertified("hybrid: eps0 is too close to the turning point")
    return bool(eps0 < turning)


# ----------------------------------------------------------------------------- the unit sphere


def _privunit(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Bhowmick et al. 2018: uniform on the cap of share c around x w.p. E c/Z, else off it.

    Inputs are quarter turns on a great circle. Every point is off the cap of the opposite input.
    Caps of a share m <= 1/2 at the four turns: opposite ones are disjoint, neighbours share
    what `orthogonal_overlap` says. A cap above 1/2 is all but the cap of 1 - c opposite to it.
    """
    from .caps import orthogonal_overlap

    d, eps0 = whole(mechanism, "d", 2), positive(mechanism, "eps0")
    c = mechanism.get("c")
    if not isinstance(c, float) or not 0.0 < c < 1.0:
        raise ParameterError(f"c = {c!r}: wanted a share in (0, 1)")
    for x in inputs:
        if isinstance(x, bool) or x not in (0, 1, 2, 3):
            raise ParameterError(f"input = {x!r}: wanted a quarter turn, 0 to 3")
    share = Fraction(c)
    small = min(share, 1 - share)
    shared: arb | None = arb(0)
    if any((x - y) % 2 for x in inputs for y in inputs):
        shared = orthogonal_overlap(small, d)
    m, total = rational_ball(small), rational_ball(share) * eps0.expm1() + 1
    parts = [(1 - 4 * m + 4 * shared, frozenset[int]())]
    for j in range(4):
        parts.append((m - 2 * shared, frozenset({j})))
        parts.append((shared, frozenset({j, (j + 1) % 4})))
    merged: dict[Favours, arb] = {}
    for mass, inside in parts:
        hits = _flags(x in inside if share == small else (x + 2) % 4 not in inside for x in inputs)
        merged[hits] = merged.get(hits, arb(0)) + mass
    # Shares that cancel exactly, as 1 - 4 m + ... + 2 m of antipodal inputs.
    found = []
    for hits, mass in merged.items():
        if not mass >= 0 and mass.contains(0):
            continue
        found.append((mass / total, hits))
    return _two_levels(found, eps0)


# ---------------------------------------------------------------------------------------- sets


def _wheel(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Wang et al. 2020 on a circle of 2^31 - 1 points; arcs of p rounded to whole points.

    Inputs -1, -2: the law that dominates all pairs of sets (docs/theory.md, Theorem 4.14), two
    independent hits of probability s p. Inputs 0, 1, 2: disjoint sets, by whether the point is on
    an arc of each: on its own it is with probability q E/Z, q = 1 - (1 - p)^s, on the others', all
    independent, with probability q.
    """
    domain, s = whole(mechanism, "domain", 2), whole(mechanism, "s", 1)
    eps0, p = positive(mechanism, "eps0"), mechanism.get("p")
    if not isinstance(p, float) or not 0.0 < p <= 1.0:
        raise ParameterError(f"p = {p!r}: wanted the length of an arc, in (0, 1]")
    points = Fraction(p) * _CIRCLE
    if abs(points % 1 - Fraction(1, 2)) < _TIE:
        raise NotCertified("wheel: it is not clear to which number of points p is rounded")
    arc = Fraction(max(1, round(points)), _CIRCLE)
    if 2 * s > domain or not s * arc < 1:
        raise ParameterError("wheel: wanted 2 s <= domain and s p < 1")
    total = rational_ball(s * arc) * eps0.expm1() + 1
    # That law is no input's: with the input of all others there is none.
    if len(inputs) == 2 and all(x in (-1, -2) for x in inputs):
        return _two_levels(_hit_parts(s * arc, total, sorted(set(inputs)), inputs), eps0)
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < domain // s:
            raise ParameterError(f"input = {x!r}: wanted the number of a set")
    distinct = sorted(set(inputs))
    if len(distinct) > 3:
        raise ParameterError(f"inputs = {inputs!r}: wanted at most three different sets")
    if s == 1:
        return _two_levels(_hit_parts(arc, total, distinct, inputs), eps0)
    q = 1 - (1 - arc) ** s
    own = rational_ball(q) * eps0.exp() / total
    law = []
    for hits in itertools.product((False, True), repeat=len(distinct)):
        mass = rational_ball(math.prod((q if h else 1 - q for h in hits), start=Fraction(1)))
        ratio = [own / rational_ball(q) if h else (1 - own) / rational_ball(1 - q) for h in hits]
        probability = tuple(mass * ratio[distinct.index(x)] for x in inputs)
        law.append(OutputClass(mass / total, probability))
    return law


def _hit_parts(
    hit: Fraction, total: arb, distinct: Sequence[int], inputs: Sequence[int]
) -> list[tuple[arb, Favours]]:
    """Independent hits: density e^eps0/Z where an input is hit, else 1/Z."""
    parts = []
    for hits in itertools.product((False, True), repeat=len(distinct)):
        mass = math.prod((hit if h else 1 - hit for h in hits), start=Fraction(1))
        flags = _flags(hits[distinct.index(x)] for x in inputs)
        parts.append((rational_ball(mass) / total, flags))
    return parts


def _pckv(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Gu et al. 2020: one of s pairs (key, value), the value rounded to a sign, then k-RR.

    With e^eps = s (E - 1) + 1 in the k-RR over 2D symbols a symbol has probability
    (1 + (E - 1) f)/Z, Z = s (E - 1) + 2D, f the sum over the pairs of P(pair becomes the symbol).
    With padding there are s dummy keys more, held with value 0 by who has nothing. Inputs: 0 and 1
    hold the first s keys with values +1 and -1, 2 the last s with +1, or with padding nothing. Of
    fewer than 2s keys: 3 holds the last s with -1; 4 what 0 or 3 alone hold, with the other sign,
    up to s keys, and then some of those of both, with +1.
    """
    domain, s = whole(mechanism, "domain", 1), whole(mechanism, "s", 1)
    eps0, padding = positive(mechanism, "eps0"), bool(mechanism.get("padding", False))
    if s > domain:
        raise ParameterError(f"s = {s!r}: wanted at most the number of keys, {domain}")
    for x in inputs:
        if isinstance(x, bool) or x not in range(5 if domain < 2 * s and not padding else 3):
            raise ParameterError(f"input = {x!r}: wanted 0, 1 or 2")
    keys = domain + s if padding else domain
    total = s * eps0.expm1() + 2 * keys
    # Runs of keys with the same holders: first s, last s (of the real ones), dummies, and others.
    alone = domain - s
    others = min(max(s - alone, 0), alone)
    fewest = max(s - alone - others, 0)
    cuts = {0, s, alone, domain, keys}
    if alone < s:
        cuts |= {alone + fewest, s + others}
    parts = []
    for start, end in itertools.pairwise(sorted(cuts)):
        first, last, dummy = start < s, alone <= start < domain, start >= domain
        fourth = alone <= start < alone + fewest or s <= start < s + others
        for positive_sign in (False, True):
            favours = []
            for x in inputs:
                if x == 2 and padding:
                    favours.append(Fraction(int(dummy), 2))
                    continue
                held = (first, first, last, last, fourth if positive_sign else start < alone)[x]
                sign = (True, False, True, False, positive_sign)[x]
                favours.append(Fraction(int(held and sign == positive_sign)))
            parts.append(((end - start) / total, tuple(favours)))
    return _two_levels(parts, eps0)


LEVEL_MECHANISMS = {
    "extremal": _extremal,
    "duchi": _duchi,
    "piecewise": _piecewise,
    "hybrid": _hybrid,
    "privunit": _privunit,
    "wheel": _wheel,
    "pckv-grr": _pckv,
}
