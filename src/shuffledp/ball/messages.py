"""Messages of multi-message protocols in ball arithmetic, one user's among blanket messages.

Inputs are 0 and 1, two values of the victim, and 2: a blanket message. With T blanket messages that
may be sent, each with probability g, an upper end is the exact loss of one data message among
T + 1 draws from the law of input 2, where "not sent" is an output of its own, of probability 1 - g.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb, fmpq
from shuffledp.errors import ParameterError

from .outputs import Law, OutputClass, Parameters
from .protocols import ONE_BIT, chance
from .registry import seen

__all__ = ["ONE_BIT", "is_protocol", "message_law"]


def is_protocol(mechanism: Parameters) -> bool:
    """Whether the table is of a multi-message protocol."""
    return seen(mechanism).kind == "protocol"


def message_law(mechanism: Mapping[str, Any], inputs: Sequence[int]) -> Law:
    """Joint law of a message under several of the inputs 0, 1 and 2, exactly.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters} of a protocol.
    inputs : sequence of int
        0 and 1: the victim's message; 2: a blanket message.
    """
    if any(x not in {0, 1, 2} or isinstance(x, bool) for x in inputs):
        raise ParameterError(f"inputs = {tuple(inputs)!r}: wanted 0, 1 or 2 (a blanket message)")
    rows_of = seen(mechanism).rows
    if rows_of is None:
        raise ParameterError(f"{mechanism['name']}: wanted a protocol")
    rows = rows_of(mechanism)
    rate = chance(mechanism.get("rate", 1.0), "rate")
    rows = [(a, b, rate * w) for a, b, w in rows]
    if rate < 1:
        rows.append((Fraction(0), Fraction(0), 1 - rate))
    found = []
    for row in rows:
        probability = tuple(row[x] for x in inputs)
        if any(probability):
            rational = (Fraction(0), *probability)
            found.append(OutputClass(arb(0), tuple(map(_ball, probability)), rational=rational))
    return found


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
