"""Multi-message protocols in ball arithmetic, from their definitions.

Inputs are 0 and 1, two values of the victim, and 2: a blanket message. With T blanket messages that
may be sent, each with probability g, an upper end is the exact loss of one data message among
T + 1 draws from the law of input 2, where "not sent" is an output of its own, of probability 1 - g.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.errors import ParameterError

from ._flint import arb, fmpq
from .outputs import Law, OutputClass, whole

__all__ = ["ONE_BIT", "PROTOCOLS", "message_law", "messages_of"]

Rows = list[tuple[Fraction, Fraction, Fraction]]
_UNIT = 1 << 64
# Cheu and Zhilyaev's protocol for two values, of which one bit is published: a lower end.
ONE_BIT = "cheu-zhilyaev-one-bit"


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
    rows = PROTOCOLS[mechanism["name"]](mechanism)
    rate = _chance(mechanism.get("rate", 1.0), "rate")
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


def messages_of(mechanism: Mapping[str, Any]) -> int:
    """Blanket messages that each user may send."""
    return 1 if mechanism["name"] == "balcer-cheu" else whole(mechanism, "blankets", 1)


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _chance(value: Any, name: str) -> Fraction:
    """A probability as it is sampled: the nearest multiple of 2^-64."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ParameterError(f"{name} = {value!r}: wanted a number > 0 and <= 1")
    return Fraction(max(round(Fraction(value) * _UNIT), 1), _UNIT)


def _bits(p: Fraction) -> Rows:
    """Points 0 and 1; a blanket bit is 1 with probability p."""
    return [(Fraction(1), Fraction(0), 1 - p), (Fraction(0), Fraction(1), p)]


def _balcer_cheu(mechanism: Mapping[str, Any]) -> Rows:
    p = _chance(mechanism.get("p"), "p")
    return _bits(min(p, Fraction(_UNIT - 1, _UNIT)))


def _balcer_et_al(mechanism: Mapping[str, Any]) -> Rows:
    del mechanism
    return _bits(Fraction(1, 2))


def _flipped_bits(mechanism: Mapping[str, Any]) -> Rows:
    """The two bits that differ of RR_f(e_0), RR_f(e_1) and RR_f(0)."""
    f = _chance(mechanism.get("f"), "f")
    rows = []
    for first in (0, 1):
        for second in (0, 1):

            def chance(one: int, other: int, seen: tuple[int, int] = (first, second)) -> Fraction:
                flips = (one != seen[0]) + (other != seen[1])
                return f**flips * (1 - f) ** (2 - flips)

            rows.append((chance(1, 0), chance(0, 1), chance(0, 0)))
    return rows


def _flipped_bit(mechanism: Mapping[str, Any]) -> Rows:
    """The bit of the second value alone; a blanket message is like the first value's."""
    f = _chance(mechanism.get("f"), "f")
    return [(1 - f, f, 1 - f), (f, 1 - f, f)]


def _bins(special: int, places: int) -> Rows:
    """Uniform on some places or on as many others; a blanket message is uniform on all."""
    share = Fraction(special, places)
    one, none = Fraction(1), Fraction(0)
    return [(one, none, share), (none, one, share), (none, none, 1 - 2 * share)]


def _balls(mechanism: Mapping[str, Any]) -> Rows:
    return _bins(whole(mechanism, "s", 1), whole(mechanism, "d", 2))


def _pure_dump(mechanism: Mapping[str, Any]) -> Rows:
    return _bins(1, whole(mechanism, "d", 2))


def _mix_dump(mechanism: Mapping[str, Any]) -> Rows:
    """d-ary randomized response that keeps a value with probability 1 - f."""
    d, f = whole(mechanism, "d", 2), _chance(mechanism.get("f"), "f")
    other = f / (d - 1)
    uniform = Fraction(1, d)
    return [
        (1 - f, other, uniform),
        (other, 1 - f, uniform),
        ((d - 2) * other, (d - 2) * other, (d - 2) * uniform),
    ]


PROTOCOLS: dict[str, Callable[[Mapping[str, Any]], Rows]] = {
    "balcer-cheu": _balcer_cheu,
    "balcer-et-al": _balcer_et_al,
    "balls-into-bins": _balls,
    "cheu-zhilyaev": _flipped_bits,
    ONE_BIT: _flipped_bit,
    "mix-dump": _mix_dump,
    "pure-dump": _pure_dump,
}
