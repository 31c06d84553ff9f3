"""Items as one of few supports: k-ary and binary randomized response, subset selection, Hadamard.

An output is likelier under the inputs that it hits, from the definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError
from shuffledp.theorems import HADAMARD_PAIRS, OTHER_BLOCK, SYMMETRIC_PAIRS, TWO_INPUTS, Theorem

from .bits import Bits, Matrix, bits_between
from .outputs import Law, Parameters, check_inputs, hit_or_miss, positive, rational_ball, whole
from .ranges import DOMAIN, EPS0, set_of
from .record import Range, Record

__all__ = ["RECORDS"]


def _k_rr(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """k-ary randomized response: the input w.p. E/Z, each other symbol w.p. 1/Z, Z = E + k - 1."""
    return _randomized_response(whole(mechanism, "k", 2), positive(mechanism, "eps0"), inputs)


def _binary_rr(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    return _randomized_response(2, positive(mechanism, "eps0"), inputs)


def _randomized_response(k: int, eps0: arb, inputs: tuple[int, ...]) -> Law:
    check_inputs(inputs, k)
    z = eps0.exp() + (k - 1)
    others = k - len(set(inputs))

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        # A symbol is the support of itself alone, and k >= 2: somebody else always misses it.
        outputs = {0: others, 1: 1}.get(sum(hits), 0)
        return outputs / z if outputs else None

    return hit_or_miss(inputs, eps0, blanket, None)


def _hadamard(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Hadamard response with one block: input x hits column y if row x + 1 has a +1 there.

    Row r of the Sylvester matrix has +1 in column y if r & y has an even number of ones.
    """
    domain, eps0 = whole(mechanism, "domain", 2), positive(mechanism, "eps0")
    check_inputs(inputs, domain)
    if mechanism.get("blocks", 1) != 1:
        return _hadamard_blocks(domain, eps0, whole(mechanism, "blocks", 2), inputs)
    size = 1 << domain.bit_length()  # the smallest power of two above domain
    z = (eps0.exp() + 1) * (size // 2)
    # Rows 1, 2, 4, ..., size/2 are all in use, and a column they all hit has no bit set: only
    # column 0 is hit by every input. (Being missed by every input needs no care: e^0 is the inf.)
    counts = _parity_counts([x + 1 for x in sorted(set(inputs))], size)
    all_hit = tuple(True for _ in set(inputs))
    counts[all_hit] -= 1

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        columns = counts.get(hits, 0)
        return columns / z if columns else None

    return hit_or_miss(inputs, eps0, blanket, eps0.exp() / z)


def _hadamard_blocks(domain: int, eps0: arb, blocks: int, inputs: tuple[int, ...]) -> Law:
    """Several blocks: input x has block x mod B, and hits columns there by row x // B + 1."""
    if blocks > domain:
        raise ParameterError(f"blocks = {blocks!r}: wanted at most the domain, {domain}")
    size = 2
    while size <= (domain + blocks - 1) // blocks:
        size *= 2
    distinct = sorted(set(inputs))
    counts: dict[tuple[bool, ...], int] = {}
    for block in {x % blocks for x in distinct}:
        inside = [x % blocks == block for x in distinct]
        rows = [x // blocks + 1 for x in distinct if x % blocks == block]
        for parities, count in _parity_counts(rows, size).items():
            even = iter(parities)
            hits = tuple(here and next(even) for here in inside)
            counts[hits] = counts.get(hits, 0) + count
    nobody = tuple(False for _ in distinct)
    idle = blocks - len({x % blocks for x in distinct})
    counts[nobody] = counts.get(nobody, 0) + idle * size
    z = eps0.exp() * (size // 2) + (blocks * size - size // 2)

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        columns = counts.get(hits, 0)
        return columns / z if columns else None

    # Every column is missed by whoever has another block.
    return hit_or_miss(inputs, eps0, blanket, None)


def _parity_counts(rows: Sequence[int], size: int) -> dict[tuple[bool, ...], int]:
    """How many columns y < size have each pattern of even parities of r & y.

    The parities are a linear map over GF(2): its image is spanned by the images of the unit
    vectors, and every point of the image has equally many preimages.
    """
    image = {0}
    for b in range(size.bit_length() - 1):
        odd = sum(1 << i for i, r in enumerate(rows) if r >> b & 1)
        image |= {point ^ odd for point in image}
    per_point = size // len(image)
    return {tuple(not point >> i & 1 for i in range(len(rows))): per_point for point in image}


def _subset(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Subset selection: each k-subset of d items, e^eps0 times as likely if the input is in it."""
    d, k, eps0 = whole(mechanism, "d", 2), whole(mechanism, "k", 1), positive(mechanism, "eps0")
    check_inputs(inputs, d)
    if not k < d:
        raise ParameterError(f"k = {k!r}: wanted an integer below d = {d}")
    # Binomials by C(d - 1, k - 1), which all of them are rational multiples of.
    z = eps0.exp() + rational_ball(Fraction(d - k, k))

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        # k < d: somebody else is always missing from the subset.
        share, left, inside = Fraction(d, k), d, k
        for hit in hits:
            share *= Fraction(inside if hit else left - inside, left)
            left, inside = left - 1, inside - hit
        return rational_ball(share) / z if share else None

    return hit_or_miss(inputs, eps0, blanket, None)


# ---------------------------------------------------------------------------------- the records


def _diagonal(mechanism: Parameters, k: int) -> Matrix:
    """Itself e^eps0 times as likely as another value."""

    def weights() -> list[list[arb]]:
        grow = positive(mechanism, "eps0").exp()
        return [[grow if x == y else arb(1) for y in range(k)] for x in range(k)]

    return Matrix(k, k, weights, diagonal=True)


def _two_values(mechanism: Parameters) -> Bits | None:
    return bits_between(mechanism, 0, 1) if mechanism.get("k") == 2 else None


def _smaller(value: Any, table: Parameters) -> bool:
    d = table["d"]
    return type(value) is int and type(d) is int and 1 <= value < d


def _hadamard_step(mechanism: Parameters) -> Theorem:
    """One row a block are singletons; one block is the whole matrix."""
    known = {mechanism["domain"]: SYMMETRIC_PAIRS, 1: HADAMARD_PAIRS}
    return known.get(mechanism["blocks"], OTHER_BLOCK)


_BELOW_D: Range = ("a whole number below d", _smaller)

RECORDS = {
    "k-rr": Record(
        ranges={"k": DOMAIN, "eps0": EPS0},
        law=_k_rr,
        pair=lambda _: (0, 1),
        pair_step=SYMMETRIC_PAIRS,
        alike=lambda m: m["k"],
        bits=_two_values,
        matrix=lambda m: _diagonal(m, m["k"]),
    ),
    "binary-rr": Record(
        ranges={"eps0": EPS0},
        law=_binary_rr,
        pair=lambda _: (0, 1),
        pair_step=TWO_INPUTS,
        alike=lambda _: 2,
        bits=lambda m: bits_between(m, 0, 1),
        matrix=lambda m: _diagonal(m, 2),
    ),
    "subset": Record(
        ranges={"d": DOMAIN, "eps0": EPS0, "k": _BELOW_D},
        law=_subset,
        pair=lambda _: (0, 1),
        pair_step=SYMMETRIC_PAIRS,
        alike=lambda m: m["d"],
    ),
    "hadamard-response": Record(
        ranges={"domain": DOMAIN, "eps0": EPS0, "blocks": set_of("domain")},
        law=_hadamard,
        pair=lambda _: (0, 1),
        pair_step=_hadamard_step,
    ),
}
