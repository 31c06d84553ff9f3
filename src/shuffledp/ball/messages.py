"""Messages of multi-message protocols in ball arithmetic, one user's among blanket messages.

Inputs are 0 and 1, two values of the victim, and 2: a blanket message. With T blanket messages that
may be sent, each with probability g, an upper end is the exact loss of one data message among
T + 1 draws from the law of input 2, where "not sent" is an output of its own, of probability 1 - g.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError

from .outputs import Law, OutputClass, rational_ball
from .registry import Given, seen

__all__ = ["ONE_BIT", "is_protocol", "message_law"]

# Cheu and Zhilyaev's protocol for two values, of which one bit is published: a lower end.
ONE_BIT = "cheu-zhilyaev-one-bit"


def is_protocol(given: Given) -> bool:
    """Whether it is a multi-message protocol."""
    return seen(given).kind == "protocol"


def message_law(given: Given, inputs: Sequence[int]) -> Law:
    """Joint law of a message under several of the inputs 0, 1 and 2, exactly.

    Parameters
    ----------
    given : protocol, or its table
        What each user runs.
    inputs : sequence of int
        0 and 1: the victim's message; 2: a blanket message.
    """
    if any(x not in {0, 1, 2} or isinstance(x, bool) for x in inputs):
        raise ParameterError(f"inputs = {tuple(inputs)!r}: wanted 0, 1 or 2 (a blanket message)")
    protocol = seen(given)
    rows = protocol.message_rows()
    if rows is None:
        raise ParameterError(f"{protocol.name}: wanted a protocol")
    found = []
    for row in rows:
        probability = tuple(row[x] for x in inputs)
        if any(probability):
            rational = (Fraction(0), *probability)
            found.append(
                OutputClass(arb(0), tuple(map(rational_ball, probability)), rational=rational)
            )
    return found
