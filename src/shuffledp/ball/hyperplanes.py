"""Mechanisms whose outputs are vectors over a finite field, likelier on the input's hyperplane.

PI-RAPPOR (Feldman, Talwar 2021) and the projective geometry response (Feldman, Nelson, Nguyen,
Talwar 2022), from their definitions. How many vectors are on which hyperplanes follows from the
ranks of sets of their normals, which `flint` finds: an element of the field of p^m stands for the
matrix of multiplication by it over the field of p, so ranks there are m times as large.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from shuffledp.arithmetic.balls import arb, nmod_mat, nmod_poly
from shuffledp.errors import ParameterError
from shuffledp.theorems import HYPERPLANE_PAIRS, HYPERPLANE_TRIPLES

from .outputs import Law, Parameters, check_inputs, hit_or_miss, positive, whole
from .ranges import DOMAIN, EPS0
from .record import Others, Record

__all__ = ["RECORDS"]

_DOMAIN, _FIELD = 10**9, 2**31 - 1
_SIZES = "a prime or a power of a prime, below 2^31"
Flags = tuple[bool, ...]


def _root(q: int) -> tuple[int, int] | None:
    """(p, m) with q = p^m, p prime: its least divisor, to be found up to 46,340 or it is q."""
    p = next((d for d in range(2, math.isqrt(q) + 1) if q % d == 0), q)
    m, left = 0, q
    while left > 1 and left % p == 0:
        m, left = m + 1, left // p
    return (p, m) if m and left == 1 else None


def _has_no_factors(coefficients: Sequence[int], p: int) -> bool:
    _, factors = nmod_poly(coefficients, p).factor()
    return len(factors) == 1 and factors[0][1] == 1


@lru_cache(maxsize=8)
def _powers(p: int, m: int) -> list[nmod_mat]:
    """Matrices of multiplication by 1, x, .., x^(m-1) mod p and f.

    f is the polynomial x^m + d_(m-1) x^(m-1) + .. + d_0 without factors mod p whose number
    d_0 + d_1 p + .. is least; that says which element of the field the number 2 is, and so on.
    """
    candidates = (_written(number, p, m)[::-1] for number in range(p**m))
    low = next(low for low in candidates if _has_no_factors([*low, 1], p))
    # Row i is x^(i+1): the next unit vector, and x^m from f = 0.
    rows = [[int(j == i + 1) for j in range(m)] for i in range(m - 1)]
    companion = nmod_mat([*rows, [-d % p for d in low]], p)
    return [companion**i for i in range(m)]


def _rank(vectors: Sequence[Sequence[int]], p: int, m: int) -> int:
    """Rank of vectors over the field of p^m, by that of their matrices over the field of p."""
    if not vectors:
        return 0
    powers = _powers(p, m)
    rows: list[list[int]] = []
    for vector in vectors:
        blocks: list[list[int]] = [[] for _ in range(m)]
        for element in vector:
            matrix = nmod_mat(m, m, p)
            for digit, power in zip(_written(element, p, m)[::-1], powers, strict=True):
                matrix += power * digit
            for i in range(m):
                blocks[i] += [int(matrix[i, j]) for j in range(m)]
        rows += blocks
    return nmod_mat(rows, p).rank() // m


def _field(mechanism: Parameters) -> tuple[int, int, arb]:
    """Domain, size of the field and eps0."""
    domain, q = whole(mechanism, "domain", 2), whole(mechanism, "q", 2)
    if not (q <= _FIELD and _root(q)):
        raise ParameterError(f"q = {q!r}: wanted {_SIZES}")
    if domain > _DOMAIN:
        raise ParameterError(f"domain = {domain!r}: wanted at most {_DOMAIN:,}")
    return domain, q, positive(mechanism, "eps0")


def _written(number: int, q: int, length: int) -> list[int]:
    """Digits to base q, the highest first."""
    return [number // q**place % q for place in reversed(range(length))]


def _orthogonal(normals: Sequence[Sequence[int]], q: int) -> dict[Flags, int]:
    """Numbers of vectors orthogonal to exactly these normals, by which of them.

    q^(m - rank) are orthogonal to all of a set and perhaps to more; inclusion and exclusion over
    the sets that contain it leaves those orthogonal to no more.
    """
    count, m = len(normals), len(normals[0])
    base = _root(q)
    if base is None:
        raise ParameterError(f"q = {q!r}: wanted {_SIZES}")
    at_least: dict[Flags, int] = {}
    for flags in itertools.product((False, True), repeat=count):
        rows = [list(v) for v, flag in zip(normals, flags, strict=True) if flag]
        at_least[flags] = q ** (m - _rank(rows, *base))
    found = {}
    for flags in at_least:
        larger = (
            (-1) ** (sum(more) - sum(flags)) * number
            for more, number in at_least.items()
            if all(b >= a for a, b in zip(flags, more, strict=True))
        )
        found[flags] = sum(larger)
    return found


def _affine(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """PI-RAPPOR: (a, b) of t + 1 elements, E times likelier where a . x + b = 0.

    Each input favours q^t of the q^(t+1), so Z = q^t (E + q - 1). More than q^(t-1) inputs are in
    no hyperplane: only (0, 0) favours all.
    """
    domain, q, eps0 = _field(mechanism)
    check_inputs(inputs, domain)
    t = 1
    while q**t < domain:
        t += 1
    z = arb(q**t) * (eps0.exp() + (q - 1))
    counts = _orthogonal([[*_written(x, q, t), 1] for x in sorted(set(inputs))], q)

    def blanket(hits: Flags) -> arb | None:
        vectors = counts[hits] - all(hits)
        return vectors / z if vectors else None

    return hit_or_miss(inputs, eps0, blanket, eps0.exp() / z)


def _points(q: int, t: int) -> int:
    return sum(q**i for i in range(t))


def _projective(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Projective geometry response: points y, E times likelier where x . y = 0.

    The least t >= 2 with so many points; they are numbered by the vector whose first element that
    is not 0 is 1, the shorter ones after that 1 first. More inputs than a hyperplane has points
    are in no hyperplane: no point favours all.
    """
    domain, q, eps0 = _field(mechanism)
    check_inputs(inputs, domain)
    t = 2
    while _points(q, t) < domain:
        t += 1
    on, every = _points(q, t - 1), _points(q, t)
    z = on * eps0.exp() + (every - on)
    normals = []
    for x in sorted(set(inputs)):
        m = next(m for m in range(t) if x < _points(q, m + 1))
        normals.append([*[0] * (t - 1 - m), 1, *_written(x - _points(q, m), q, m)])
    counts = _orthogonal(normals, q)

    def blanket(hits: Flags) -> arb | None:
        # 0 is orthogonal to all and no point; q - 1 vectors are one.
        found = (counts[hits] - all(hits)) // (q - 1)
        return found / z if found else None

    return hit_or_miss(inputs, eps0, blanket, None)


def _power(value: Any, mechanism: Parameters) -> bool:
    del mechanism
    return type(value) is int and 2 <= value <= _FIELD and _root(value) is not None


_RANGES = {"domain": DOMAIN, "eps0": EPS0, "q": (_SIZES, _power)}


def _third(mechanism: Parameters, off: int) -> Others:
    """0 and 1, the pair; 2, on their line if that has a third input; the first off it."""
    inputs = tuple(x for x in sorted({0, 1, 2, off}) if x < mechanism["domain"])
    return Others("alike", HYPERPLANE_TRIPLES, ((0, 1),), inputs)


RECORDS = {
    "pi-rappor": Record(
        law=_affine,
        ranges=_RANGES,
        pair=lambda _: (0, 1),
        pair_step=HYPERPLANE_PAIRS,
        others=lambda m: _third(m, m["q"]),
    ),
    "projective-geometry": Record(
        law=_projective,
        ranges=_RANGES,
        pair=lambda _: (0, 1),
        pair_step=HYPERPLANE_PAIRS,
        others=lambda m: _third(m, m["q"] + 1),
    ),
}
