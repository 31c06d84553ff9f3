"""What the rows share: how ends are written, and the register of rows."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import shuffledp as sd
from papers.printed.items import ITEMS as ALL
from papers.printed.items import Item
from shuffledp.amplification.analyses import UNCERTIFIED

ITEMS = {item.key: item for item in ALL}
DIGITS = 4


@dataclass(frozen=True)
class Found:
    """Ours, as it is shown, and how what is printed fares."""

    ours: str
    verdict: str


@dataclass(frozen=True)
class Row:
    """How the row of one item is computed, and whether that takes longer than a moment."""

    make: Callable[[Item], Found]
    slow: bool


ROWS: dict[str, Row] = {}


def row(*keys: str, slow: bool = False):
    """Register the function that makes the rows of these items; it may ask for the item."""

    def registered(make: Callable[..., Found]):
        wanted = bool(inspect.signature(make).parameters)
        for key in keys:
            if key in ROWS or key not in ITEMS:
                raise ValueError(f"{key}: printed nowhere, or has a row already")
            ROWS[key] = Row(make if wanted else lambda _: make(), slow)
        return make

    return registered


def found_of(item: Item) -> Found:
    """The row of one item."""
    return ROWS[item.key].make(item)


def number(value: float, digits: int = DIGITS) -> str:
    """To the nearest of so many digits, without trailing zeros: no certified end."""
    return f"{value:.{digits}g}"


def outward(low: float, high: float, digits: int = DIGITS) -> str:
    """Both ends, rounded outward; one number where they agree."""
    first, last = down(low, digits), up(high, digits)
    return first if first == last else f"{first} to {last}"


def ends(bound: sd.Bound, digits: int = DIGITS) -> str:
    """The two ends of a certified bracket."""
    return outward(bound.lower, bound.upper, digits)


def down(value: float, digits: int = DIGITS) -> str:
    """A certified lower end: never above the value."""
    return _rounded(value, digits, ROUND_FLOOR)


def up(value: float, digits: int = DIGITS) -> str:
    """A certified upper end: never below the value."""
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if not 0.0 < abs(value) < math.inf:
        return f"{value:g}"
    # The decimal value of a float is exact, so that nothing is rounded but once.
    exact = Decimal(value)
    shown = exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), rounding=rounding)
    return f"{shown:f}" if exact.adjusted() >= -5 else f"{shown:e}"  # 0.00001234, 1.234e-6


def short(value: float) -> str:
    """A setting as it is written here: 1e-6, not 1e-06."""
    return re.sub(r"e([-+])0*", lambda found: "e" + found[1].replace("+", ""), f"{value:g}")


def percent(ratio: float) -> str:
    """A share, in per cent, to two digits."""
    return f"{100 * ratio:.0f} %" if abs(ratio) >= 0.1 else f"{100 * ratio:.2g} %"


def times(ratio: float) -> str:
    """How many times."""
    return f"{ratio:.0f} times" if ratio >= 10.0 else f"{ratio:.2g} times"


def span(values: list[float], write: Callable[[float], str] = percent) -> str:
    """From the least to the largest."""
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"


def agrees(ours: float, theirs: float, rtol: float = 1e-6) -> bool:
    """The same number, but for what the library rounds up."""
    return math.isclose(ours, theirs, rel_tol=rtol, abs_tol=1e-12)


def upper_of(acc: sd.Account, analysis: str, delta: float) -> float:
    """eps of one analysis; that of the local guarantee where it does not apply."""
    try:
        if analysis in UNCERTIFIED:
            return acc.estimate(delta=delta, analysis=analysis).value
        return acc.epsilon(delta=delta, analysis=analysis).upper
    except sd.NotCertified:
        return acc.eps0
