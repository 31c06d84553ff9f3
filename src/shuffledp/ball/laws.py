"""Output laws of the finite mechanisms in ball arithmetic, from their definitions.

Nothing here is taken from a table of likelihood ratios: each mechanism's outputs are counted by
class from the probabilities that define it. A class holds all outputs on which the probabilities
under the inputs asked for, and the blanket, stand in the same ratios.

Parameters are floats and mean exactly the numbers those floats are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.errors import ParameterError

from ._flint import arb
from .items import sampling_rappor_law
from .lattice import gaussian_law, geometric_law, staircase_law
from .levels import LEVEL_MECHANISMS
from .outputs import (
    Law,
    OutputClass,
    Parameters,
    check_inputs,
    hit_or_miss,
    positive,
    rational_ball,
    whole,
)
from .parts import parts_law
from .registry import RECORDS

__all__ = ["FINITE_MECHANISMS", "finite_law"]


def finite_law(mechanism: Parameters, inputs: Sequence[int]) -> Law:
    """Joint law of the output under several inputs, by classes.

    Parameters
    ----------
    mechanism : {"name": ..., **parameters}
        One of the finite mechanisms (see `FINITE_MECHANISMS`).
    inputs : sequence of int
        Input indices, counted from 0; repetitions are allowed.

    Returns
    -------
    list of OutputClass
        One probability per input asked for, in that order.

    Raises
    ------
    ParameterError
        Unknown mechanism, missing or meaningless parameter, or an input outside the domain.
    """
    name = mechanism.get("name")
    if name not in FINITE_MECHANISMS:
        known = ", ".join(sorted(FINITE_MECHANISMS))
        raise ParameterError(f"mechanism name = {name!r}: wanted one of {known}")
    return FINITE_MECHANISMS[name](mechanism, tuple(inputs))


# --------------------------------------------------------- mechanisms that hit a support or miss


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


def _unary(inputs: tuple[int, ...], d: int, eps0: arb, one: arb, base: arb) -> Law:
    """One-hot encoding of d bits: bit i of another input is 1 w.p. `one`.

    The output hits input x if bit x is set. An output with some bit unset is likeliest to be
    blamed on nobody: `base` times the product over all bits of one or 1 - one is its blanket.
    """
    check_inputs(inputs, d)
    zero_bit = 1 - one
    rest = d - len(set(inputs))
    all_set = one ** (d - 1)

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        mass = base
        for hit in hits:
            mass = mass * (one if hit else zero_bit)
        if all(hits):
            if rest == 0:
                return None
            mass = mass * (1 - one**rest)
        return mass

    # All bits set: every input explains it with its own bit and d - 1 others.
    own_bit_set = base * eps0.exp() * one
    return hit_or_miss(inputs, eps0, blanket, own_bit_set * all_set)


def _rappor(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Symmetric unary encoding: one-hot, then each bit flipped w.p. 1/(e^(eps0/2) + 1)."""
    d, eps0 = whole(mechanism, "d", 2), positive(mechanism, "eps0")
    flip = 1 / ((eps0 / 2).exp() + 1)
    # A missed input x has its own bit cleared (w.p. flip), where others clear it w.p. 1 - flip.
    return _unary(inputs, d, eps0, flip, flip / (1 - flip))


def _oue(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Optimised unary encoding: own bit set w.p. 1/2, every other bit w.p. 1/(e^eps0 + 1)."""
    d, eps0 = whole(mechanism, "d", 2), positive(mechanism, "eps0")
    one = 1 / (eps0.exp() + 1)
    return _unary(inputs, d, eps0, one, 1 / (2 * (1 - one)))


def _local_hash(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Uniform h: [domain] -> [l]; the output is (h, k-RR on l values of h(x)).

    The output (h, y) hits x if h(x) = y: there are l^domain functions, and for given y each
    input is hit by 1/l of them, independently over the inputs.
    """
    domain, l = whole(mechanism, "domain", 2), whole(mechanism, "l", 2)
    eps0 = positive(mechanism, "eps0")
    check_inputs(inputs, domain)
    z = eps0.exp() + (l - 1)
    hit = arb(1) / l
    rest = domain - len(set(inputs))

    def blanket(hits: tuple[bool, ...]) -> arb | None:
        share = arb(1)
        for h in hits:
            share = share * (hit if h else 1 - hit)
        if all(hits):
            if rest == 0:
                return None
            share = share * (1 - hit**rest)
        return l * share / z

    return hit_or_miss(inputs, eps0, blanket, l * hit**domain * eps0.exp() / z)


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


# ------------------------------------------------------------------------------ any finite channel


def _channel(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Any finite channel: rows are inputs, each divided by its exact sum."""
    rows = _exact_rows(mechanism.get("matrix"))
    check_inputs(inputs, len(rows))
    merged: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for column in zip(*rows, strict=True):
        chosen = (min(column), *(column[x] for x in inputs))
        if not any(chosen):
            continue
        total = sum(chosen)
        key = tuple(c / total for c in chosen)
        merged[key] = [
            a + b for a, b in zip(merged.get(key, [Fraction(0)] * len(key)), chosen, strict=True)
        ]
    law = []
    for values in merged.values():
        balls = [rational_ball(v) for v in values]
        law.append(OutputClass(balls[0], tuple(balls[1:]), None, tuple(values)))
    return law


def _parts(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Reports made of parts."""
    return parts_law(mechanism, inputs, finite_law)


def _exact_rows(matrix: Any) -> list[list[Fraction]]:
    try:
        rows = [[Fraction(entry) for entry in row] for row in matrix]
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"matrix = {matrix!r}: wanted rows of finite numbers") from error
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise ParameterError("matrix: wanted at least two rows, all of the same length")
    for i, row in enumerate(rows):
        total = sum(row)
        if min(row) < 0 or abs(total - 1) > Fraction(1, 10**9):
            raise ParameterError(
                f"matrix[{i}] sums to {float(total)!r}: wanted probabilities summing to one"
            )
    return [[entry / sum(row) for entry in row] for row in rows]


FINITE_MECHANISMS: dict[str, Callable[[Parameters, tuple[int, ...]], Law]] = {
    "k-rr": _k_rr,
    "binary-rr": _binary_rr,
    "rappor": _rappor,
    "oue": _oue,
    "local-hash": _local_hash,
    "hadamard-response": _hadamard,
    "subset": _subset,
    "channel": _channel,
    "joint": _parts,
    "parallel": _parts,
    "poisson-subsample": _parts,
    "hierarchy": _parts,
    "sampling-rappor": sampling_rappor_law,
    "discrete-laplace": geometric_law,
    "discrete-gaussian": gaussian_law,
    "staircase": staircase_law,
    **LEVEL_MECHANISMS,
    **{name: record.law for name, record in RECORDS.items()},
}
