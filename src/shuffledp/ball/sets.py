"""Sets of items, and of items with values: the wheel and PCKV, from their papers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb, fmpq, fmpq_mat
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.theorems import CORNER_TRIPLES, ENVELOPE, LEAST_OVERLAP

from .levels import Favours, flags, two_levels
from .outputs import Law, OutputClass, Parameters, positive, rational_ball, whole
from .ranges import DOMAIN, EPS0, FLAG, integer, set_of
from .record import Masses, Others, Record

__all__ = ["RECORDS"]

_CIRCLE = 2**31 - 1
_TIE = Fraction(1, 10**6)


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
        return two_levels(_hit_parts(s * arc, total, sorted(set(inputs)), inputs), eps0)
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < domain // s:
            raise ParameterError(f"input = {x!r}: wanted the number of a set")
    distinct = sorted(set(inputs))
    if len(distinct) > 3:
        raise ParameterError(f"inputs = {inputs!r}: wanted at most three different sets")
    if s == 1:
        return two_levels(_hit_parts(arc, total, distinct, inputs), eps0)
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
        favours = flags(hits[distinct.index(x)] for x in inputs)
        parts.append((rational_ball(mass) / total, favours))
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
        known = isinstance(x, int) and not isinstance(x, bool)
        if not known or x not in range(5 if domain < 2 * s and not padding else 3):
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
    return two_levels(parts, eps0)


def _keys(mechanism: Parameters) -> Iterator[list[Masses]]:
    """PCKV: numbers of keys by who holds them with which sign, at the corners of what is possible.

    Four linear equations (keys in all, and held by each of three inputs): four states, a basis.
    """
    domain, s, eps0 = (
        whole(mechanism, "domain", 1),
        whole(mechanism, "s", 1),
        positive(mechanism, "eps0"),
    )
    keys = domain + s if mechanism.get("padding") else domain
    total = s * eps0.expm1() + 2 * keys
    states = list(itertools.product((-1, 0, 1), repeat=3))
    # The two symbols of a key change places if all signs change.
    states = [state for state in states if state >= tuple(-v for v in state)]
    wanted = fmpq_mat([[fmpq(v)] for v in (keys, s, s, s)])
    seen = set()
    for basis in itertools.combinations(states, 4):
        table = fmpq_mat([[fmpq(1)] * 4, *([fmpq(abs(z[i])) for z in basis] for i in range(3))])
        if table.det() == 0:
            continue
        numbers = [table.solve(wanted)[i, 0] for i in range(4)]
        if min(numbers) < 0:
            continue
        counts: dict[tuple[bool, ...], Fraction] = {}
        for number, state in zip(numbers, basis, strict=True):
            for sign in (-1, 1):
                hits = tuple(v == sign for v in state)
                counts[hits] = counts.get(hits, Fraction(0)) + Fraction(
                    int(number.p), int(number.q)
                )
        key = tuple(sorted((hits, count) for hits, count in counts.items() if count))
        if key in seen:
            continue
        seen.add(key)
        found: list[Masses] = []
        for hits, count in key:
            base = rational_ball(count) / total
            first, second, third = (base * eps0.exp() if hit else base for hit in hits)
            found.append((first, second, third))
        yield found


# ---------------------------------------------------------------------------------- the records


def _arc(value: Any, table: Parameters) -> bool:
    s = table["s"]
    return type(value) is float and type(s) is int and 0.0 < value < 1.0 and s * value < 1.0


def _corners(mechanism: Parameters) -> Others:
    return Others("corners", CORNER_TRIPLES, ((0, 1),), labels=lambda: _keys(mechanism))


# Items of a user, and keys, that the classes take.
_MOST_ITEMS, _MOST_PAIRS, _KEYS = 1000, 10**6, 10**8

RECORDS = {
    "wheel": Record(
        ranges={
            "domain": DOMAIN,
            "s": set_of("domain", times=2, most=_MOST_ITEMS),
            "eps0": EPS0,
            "p": ("a number below 1/s", _arc),
        },
        law=_wheel,
        pair=lambda _: (-1, -2),  # the law that dominates all pairs of sets
        pair_step=ENVELOPE,
        # Of one item each.
        alike=lambda m: m["domain"] if m.get("s") == 1 else 0,
    ),
    "pckv-grr": Record(
        ranges={
            "domain": integer(1, _KEYS),
            "s": set_of("domain", most=_MOST_PAIRS),
            "eps0": EPS0,
            "padding": FLAG,
        },
        law=_pckv,
        pair=lambda _: (0, 1),  # the same keys, opposite values
        pair_step=LEAST_OVERLAP,
        others=_corners,
    ),
}
