"""Items as vectors of bits, from the definitions: RAPPOR and optimized unary encoding."""

from __future__ import annotations

from shuffledp.arithmetic.balls import arb
from shuffledp.theorems import SYMMETRIC_PAIRS

from .bits import Coordinate
from .outputs import Law, Parameters, check_inputs, hit_or_miss, positive, whole
from .ranges import DOMAIN, EPS0
from .record import Record

__all__ = ["RECORDS"]


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


# -------------------------------------------------------------------------------- bits added up


def _flipped_coordinate(mechanism: Parameters) -> Coordinate:
    """Each bit flipped with probability 1/(e^(eps0/2) + 1)."""
    flip = 1 / ((positive(mechanism, "eps0") / 2).exp() + 1)
    return Coordinate(flip, 1 - flip, mechanism["d"], symmetric=True, several=True)


def _rare_coordinate(mechanism: Parameters) -> Coordinate:
    """A 1 is sent as a fair coin, a 0 as 1 with probability 1/(e^eps0 + 1)."""
    rare = 1 / (positive(mechanism, "eps0").exp() + 1)
    return Coordinate(rare, arb(0.5), mechanism["d"], symmetric=False, several=True)


RECORDS = {
    "rappor": Record(
        ranges={"d": DOMAIN, "eps0": EPS0},
        law=_rappor,
        pair=lambda _: (0, 1),
        pair_step=SYMMETRIC_PAIRS,
        alike=lambda m: m["d"],
        coordinate=_flipped_coordinate,
    ),
    "oue": Record(
        ranges={"d": DOMAIN, "eps0": EPS0},
        law=_oue,
        pair=lambda _: (0, 1),
        pair_step=SYMMETRIC_PAIRS,
        alike=lambda m: m["d"],
        coordinate=_rare_coordinate,
    ),
}
