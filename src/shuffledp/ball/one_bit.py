"""Which mechanisms report one bit, or bits that are added up; and how data sets are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shuffledp.errors import ParameterError

from .bits import Bit, Bits
from .outputs import Parameters
from .registry import seen

__all__ = [
    "EXACT",
    "EXACT_LOWER",
    "added_bits",
    "binary_inputs",
    "bit_of",
    "bits_of",
    "written_fault",
]

# The analyses that look at data sets of one-bit reports one by one, which are their theorems' names
# too: the largest of all data sets, and the one that a witness names.
EXACT, EXACT_LOWER = "binary-exact", "binary-exact-lower"


def binary_inputs(mechanism: Parameters) -> tuple[Any, Any] | None:
    """The inputs with the least and the largest probability of a 1; None for other reports."""
    bits = bits_of(mechanism)
    return None if bits is None else bits.inputs


def written_fault(
    mechanism: Parameters, x0: Any, x1: Any, others: Sequence[tuple[Any, int]]
) -> str:
    """What is wrong with how a data set is written, which is in one way; empty if nothing is.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    x0, x1 : input
        The victim's: the two inputs that matter, in either order.
    others : sequence of (input, count)
        What the others hold, in the order of the victim's inputs.
    """
    inputs = binary_inputs(mechanism) or ()
    known = [json.dumps(list(inputs)), json.dumps(list(inputs[::-1]))]
    pair = [x0, x1]
    if json.dumps(pair) not in known or json.dumps([x for x, _ in others]) != json.dumps(pair):
        return (
            f"witness: wanted the inputs {known[0]} as x0 and x1, and of the others in that order"
        )
    return ""


def bits_of(mechanism: Parameters) -> Bits | None:
    """Its reports of one bit; None for other reports."""
    find = seen(mechanism).bits
    return None if find is None else find(mechanism)


def bit_of(mechanism: Parameters, x: Any) -> Bit:
    """The law of one of the two inputs."""
    bits = bits_of(mechanism)
    inputs = None if bits is None else bits.inputs
    if bits is None or x not in bits.inputs:
        raise ParameterError(f"input {x!r}: wanted one of {inputs!r}")
    return bits.law(x)


def added_bits(mechanism: Parameters) -> Bits | None:
    """One coordinate of what is added up, as reports of one bit: of a vector it holds 0 or 1."""
    made = seen(mechanism).coordinate
    if made is None:
        return bits_of(mechanism)

    def law(x: Any) -> Bit:
        found = made(mechanism)
        share = found.p if x == 1 else found.q
        return Bit(1 - share, share)

    return Bits((0, 1), law, mirrored=made(mechanism).symmetric)
