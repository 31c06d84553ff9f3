"""The register of rows, and how numbers are written in them.

A row is one thing that a paper prints: its place, what it is, how it reads, and the function that
computes ours. Notation of all rows: E = e^eps0, w = e^(eps0/2), a = e^eps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

import shuffledp as sd
from shuffledp.amplification.analyses import UNCERTIFIED

FMT = "Feldman, McMillan, Talwar 2021"
VR = "Wang et al. 2024"
SU = "Su, Cheng, Wang 2025"
INDEX = "Beyond Pure Local DP, 2026"
DELTA = 1e-6  # of a row that says no other
DIGITS = 4


class Found(NamedTuple):
    """Ours, as it is shown, and how what is printed fares."""

    ours: str
    verdict: str


Make = Callable[[], Found]


class Row(NamedTuple):
    """What is printed, how ours is computed, and whether that takes longer than a moment."""

    paper: str
    where: str
    what: str
    printed: str
    make: Make
    slow: bool = False


ROWS: list[Row] = []


def row(
    paper: str, where: str, what: str, printed: str, *, slow: bool = False
) -> Callable[[Make], Make]:
    """Register the function that makes this row."""

    def registered(make: Make) -> Make:
        ROWS.append(Row(paper, where, what, printed, make, slow))
        return make

    return registered


def no_number(
    paper: str, where: str, what: str, printed: str, verdict: str = "nothing to compute"
) -> None:
    """Register a row that has no number of ours."""
    row(paper, where, what, printed)(lambda: Found("-", verdict))


def says(holds: bool, otherwise: str = "does not", yes: str = "holds") -> str:  # noqa: FBT001
    """The verdict."""
    return yes if holds else otherwise


def number(value: float, digits: int = DIGITS) -> str:
    """To the nearest with this many digits, without trailing zeros: no certified end."""
    return f"{value:.{digits}g}"


def numbers(values: Sequence[float], digits: int = DIGITS) -> str:
    """The same of several, with commas between them."""
    return ", ".join(number(value, digits) for value in values)


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
    """A setting as it is written here: 1e-6, not 1e-06; 1e6, not 1e+06."""
    text = f"{value:g}" if value < 1000 else f"{value:.0e}"
    return re.sub(r"e([-+])0*", lambda found: "e" + found[1].replace("+", ""), text)


def percent(ratio: float) -> str:
    """A share, in per cent, to two digits."""
    return f"{100 * ratio:.0f} %" if abs(ratio) >= 0.1 else f"{100 * ratio:.2g} %"


def span(values: Sequence[float], write: Callable[[float], str] = percent) -> str:
    """From the least to the largest."""
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"


def factors(values: Sequence[float]) -> str:
    """The span of ratios, to three digits."""
    return span(values, lambda ratio: number(ratio, 3))


def agrees(ours: float, theirs: float, rtol: float = 1e-6) -> bool:
    """The same number, but for what the library rounds up."""
    return math.isclose(ours, theirs, rel_tol=rtol, abs_tol=1e-12)


def upper_of(acc: sd.Account, analysis: str, delta: float = DELTA) -> float:
    """eps of one analysis; that of the local guarantee where it does not apply."""
    try:
        if analysis in UNCERTIFIED:
            return acc.estimate(delta=delta, analysis=analysis).value
        return acc.epsilon(delta=delta, analysis=analysis).upper
    except sd.NotCertified:
        return acc.eps0


def order(
    paper: str,
    what: str,
    printed: str,
    formula: Callable[[float, float, int], float],
    eps: Callable[[float, int], float],
    at: tuple[tuple[float, ...], int, float, str],
    note: str = "",
    *,
    slow: bool = True,
) -> None:
    """A row of a table of orders: eps over the order, at several eps0.

    Parameters
    ----------
    formula, eps
        The order as a function of eps0, log(1/delta) and n; ours as one of eps0 and n.
    at
        eps0, n, delta, and how delta is written.
    note
        What the verdict adds.
    """
    local, n, delta, said = at

    def make() -> Found:
        found = [eps(eps0, n) / formula(eps0, math.log(1 / delta), n) for eps0 in local]
        words = f"eps/order {numbers(found, 3)} at eps0 = {', '.join(f'{e:g}' for e in local)}"
        verdict = f"holds{note}" if max(found) <= 2 * min(found) else "does not: no constant"
        return Found(f"{words}, n = {short(n)}, delta = {said}", verdict)

    row(paper, "Table 1", what, printed, slow=slow)(make)
