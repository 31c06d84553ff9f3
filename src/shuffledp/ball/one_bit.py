"""Which mechanisms report one bit, or bits that are added up; and how data sets are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shuffledp.errors import ParameterError

from .bits import Bit, Bits
from .registry import Given, seen

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


def binary_inputs(given: Given) -> tuple[Any, Any] | None:
    """The inputs with the least and the largest probability of a 1; None for other reports."""
    bits = bits_of(given)
    return None if bits is None else bits.inputs


def written_fault(given: Given, x0: Any, x1: Any, others: Sequence[tuple[Any, int]]) -> str:
    """What is wrong with how a data set is written, which is in one way; empty if nothing is.

    Parameters
    ----------
    given : mechanism, or its table
        What each user runs.
    x0, x1 : input
        The victim's: the two inputs that matter, in either order.
    others : sequence of (input, count)
        What the others hold, in the order of the victim's inputs.
    """
    inputs = binary_inputs(given) or ()
    known = [json.dumps(list(inputs)), json.dumps(list(inputs[::-1]))]
    pair = [x0, x1]
    if json.dumps(pair) not in known or json.dumps([x for x, _ in others]) != json.dumps(pair):
        return (
            f"witness: wanted the inputs {known[0]} as x0 and x1, and of the others in that order"
        )
    return ""


def bits_of(given: Given) -> Bits | None:
    """Its reports of one bit; None for other reports."""
    return seen(given).one_bit()


def bit_of(given: Given, x: Any) -> Bit:
    """The law of one of the two inputs."""
    bits = bits_of(given)
    inputs = None if bits is None else bits.inputs
    if bits is None or x not in bits.inputs:
        raise ParameterError(f"input {x!r}: wanted one of {inputs!r}")
    return bits.law(x)


def added_bits(given: Given) -> Bits | None:
    """One coordinate of what is added up, as reports of one bit: of a vector it holds 0 or 1."""
    mechanism = seen(given)
    made = mechanism.coordinate()
    if made is None:
        return mechanism.one_bit()

    def law(x: Any) -> Bit:
        # At the working precision of who asks.
        found = mechanism.coordinate()
        share = None if found is None else found.p if x == 1 else found.q
        if share is None:
            raise ParameterError(f"{mechanism.name}: reports are no vectors of bits")
        return Bit(1 - share, share)

    return Bits((0, 1), law, mirrored=made.symmetric)
