"""Multi-message protocols from their definitions: the law of a message, exactly.

Rows are outputs: probabilities under two values of the victim, and of a blanket message.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shuffledp.errors import ParameterError

from .outputs import Parameters, whole
from .ranges import COUNT, DOMAIN, SHARE, real, set_of
from .record import Range, Record, Rows

__all__ = ["ONE_BIT", "RECORDS", "chance"]

_UNIT = 1 << 64
# Cheu and Zhilyaev's protocol for two values, of which one bit is published: a lower end.
ONE_BIT = "cheu-zhilyaev-one-bit"


def chance(value: Any, name: str) -> Fraction:
    """A probability as it is sampled: the nearest multiple of 2^-64."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ParameterError(f"{name} = {value!r}: wanted a number > 0 and <= 1")
    return Fraction(max(round(Fraction(value) * _UNIT), 1), _UNIT)


def _bits(p: Fraction) -> Rows:
    """Points 0 and 1; a blanket bit is 1 with probability p."""
    return [(Fraction(1), Fraction(0), 1 - p), (Fraction(0), Fraction(1), p)]


def _balcer_cheu(mechanism: Mapping[str, Any]) -> Rows:
    p = chance(mechanism.get("p"), "p")
    return _bits(min(p, Fraction(_UNIT - 1, _UNIT)))


def _balcer_et_al(mechanism: Mapping[str, Any]) -> Rows:
    del mechanism
    return _bits(Fraction(1, 2))


def _flipped_bits(mechanism: Mapping[str, Any]) -> Rows:
    """The two bits that differ of RR_f(e_0), RR_f(e_1) and RR_f(0)."""
    f = chance(mechanism.get("f"), "f")
    rows = []
    for first in (0, 1):
        for second in (0, 1):

            def likely(one: int, other: int, seen: tuple[int, int] = (first, second)) -> Fraction:
                flips = (one != seen[0]) + (other != seen[1])
                return f**flips * (1 - f) ** (2 - flips)

            rows.append((likely(1, 0), likely(0, 1), likely(0, 0)))
    return rows


def _flipped_bit(mechanism: Mapping[str, Any]) -> Rows:
    """The bit of the second value alone; a blanket message is like the first value's."""
    f = chance(mechanism.get("f"), "f")
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
    d, f = whole(mechanism, "d", 2), chance(mechanism.get("f"), "f")
    other = f / (d - 1)
    uniform = Fraction(1, d)
    return [
        (1 - f, other, uniform),
        (other, 1 - f, uniform),
        ((d - 2) * other, (d - 2) * other, (d - 2) * uniform),
    ]


def _below(most: float | None) -> Range:
    """A coin below 1/2; or, of dumps, below (d-1)/d, which is no less."""

    def holds(value: Any, table: Parameters) -> bool:
        d = table["d"]
        end = 1.0 - 1.0 / max(d, 1) if most is None else most
        return type(value) is float and type(d) is int and 0.0 < value < end

    return "a number above 0 that leaves a coin", holds


def _protocol(rows: Any, ranges: Mapping[str, Range], **more: Any) -> Record:
    """Any two values of a victim are alike."""
    return Record(ranges=ranges, kind="protocol", rows=rows, pair=lambda _: (0, 1), **more)


_FLIPPED = {"d": DOMAIN, "f": _below(0.5), "blankets": COUNT}

RECORDS = {
    "balcer-cheu": _protocol(_balcer_cheu, {"p": real(0.0, 1.0, open_high=True)}),
    "balcer-et-al": _protocol(_balcer_et_al, {"blankets": COUNT}),
    "balls-into-bins": _protocol(
        _balls, {"d": DOMAIN, "s": set_of("d", times=2), "blankets": COUNT, "rate": SHARE}
    ),
    "cheu-zhilyaev": _protocol(_flipped_bits, _FLIPPED),
    ONE_BIT: _protocol(_flipped_bit, _FLIPPED, unnamed=True),
    "mix-dump": _protocol(
        _mix_dump,
        {"d": DOMAIN, "f": _below(None), "blankets": COUNT, "rate": SHARE},
    ),
    "pure-dump": _protocol(_pure_dump, {"d": DOMAIN, "blankets": COUNT, "rate": SHARE}),
}
