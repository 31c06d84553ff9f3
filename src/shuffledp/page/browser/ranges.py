"""Kinds and ranges of mechanisms' parameters, where certificates are read without NumPy.

The classes check the same; a test compares them on every change of one thing in a table. Numbers
are of the kind that the classes write: what they would change is refused as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from shuffledp.ball.messages import PROTOCOLS
from shuffledp.ball.parameters import known_mechanisms
from shuffledp.ball.registry import RECORDS
from shuffledp.errors import rejected

__all__ = ["check_ranges"]

Check = tuple[str, Callable[[Any, Mapping[str, Any]], bool]]

# Of the classes: a domain, a local eps, numbers of an interval, and how far sums of
# probabilities may be from one.
_DOMAIN, _EPS0, _FAR, _SLACK = 10**9, 300.0, 1e100, 1e-9
# Of noise on integers: how many of them the reports may be spread over.
_INTEGERS = 1 << 22
_BASES = ("k-rr", "oue", "rappor", "olh")


def check_ranges(table: Mapping[str, Any]) -> None:
    """Raise unless every parameter of the table, and of those in it, is what it may be.

    Raises
    ------
    ParameterError
        It names the parameter, its value and what was wanted.
    """
    for key, value in table.items():
        if key == "name":
            continue
        wanted, holds = _range_of(table["name"], key)
        if not holds(value, table):
            raise rejected(key, value, wanted)
    parts = [table["randomizer"]] if "randomizer" in table else table.get("randomizers", [])
    for part in parts:
        check_ranges(part)


def _range_of(name: str, key: str) -> Check:
    if name in RECORDS:
        return RECORDS[name].ranges[key]
    return _OF.get((name, key)) or _BY_NAME[key]


def _whole(low: int, high: int = 10**15) -> Check:
    def holds(value: Any, _: Mapping[str, Any]) -> bool:
        return type(value) is int and low <= value <= high

    return f"a whole number from {low} to {high:,}", holds


def _real(low: float, high: float, *, open_low: bool = True, open_high: bool = False) -> Check:
    def holds(value: Any, _: Mapping[str, Any]) -> bool:
        if type(value) is not float or _is_minus_zero(value) or not low <= value <= high:
            return False
        return not (open_low and value == low) and not (open_high and value == high)

    return f"a number from {low:g} to {high:g}", holds


def _is_minus_zero(value: float) -> bool:
    return value == 0.0 and math.copysign(1.0, value) < 0.0


def _flag(value: Any, _: Mapping[str, Any]) -> bool:
    return type(value) is bool


def _above_low(value: Any, table: Mapping[str, Any]) -> bool:
    low = table.get("low")
    return _real(-_FAR, _FAR)[1](value, table) and type(low) is float and value > low


def _set_of(key: str, *, times: int = 1, most: int = _DOMAIN) -> Check:
    """So many of the items that another parameter counts, or at most a half of them (times 2)."""

    def holds(value: Any, table: Mapping[str, Any]) -> bool:
        items = table.get(key)
        if type(value) is not int or type(items) is not int:
            return False
        return 1 <= value <= most and times * value <= items

    return f"a whole number from 1 to {most:,}, {times} times it at most {key}", holds


def _few(value: Any, table: Mapping[str, Any]) -> bool:
    return value is None or (type(value) is int and 1 <= value <= len(table["randomizers"]))


def _table(value: Any, _: Mapping[str, Any]) -> bool:
    """Of a randomizer: a protocol and the family of all mechanisms are no parts of another one."""
    parts = set(known_mechanisms()) - set(PROTOCOLS) - {"generic"}
    return isinstance(value, dict) and value.get("name") in parts


def _tables(value: Any, table: Mapping[str, Any]) -> bool:
    return isinstance(value, list) and bool(value) and all(_table(part, table) for part in value)


def _shares(value: Any, table: Mapping[str, Any]) -> bool:
    if not _numbers(value) or len(value) != len(table["randomizers"]):
        return False
    return all(share > 0.0 for share in value) and abs(math.fsum(value) - 1.0) <= _SLACK


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(x) is float for x in value)


def _matrix(value: Any, _: Mapping[str, Any]) -> bool:
    if not _rows(value) or not all(_numbers(row) for row in value):
        return False
    sums = all(abs(math.fsum(row) - 1.0) <= _SLACK for row in value)
    return sums and all(x >= 0.0 and not _is_minus_zero(x) for row in value for x in row)


def _pattern(value: Any, _: Mapping[str, Any]) -> bool:
    """Rows of zeros and ones with equal numbers of ones: some of the outputs, not all."""
    if not _rows(value) or not all(type(x) is int and x in (0, 1) for row in value for x in row):
        return False
    ones = {sum(row) for row in value}
    return len(ones) == 1 and 0 < ones.pop() < len(value[0])


def _rows(value: Any) -> bool:
    """At least two rows of one length."""
    if not isinstance(value, list) or len(value) < 2:
        return False
    if not all(isinstance(row, list) and row for row in value):
        return False
    return len({len(row) for row in value}) == 1


def _arc(value: Any, table: Mapping[str, Any]) -> bool:
    s = table["s"]
    return type(value) is float and type(s) is int and 0.0 < value < 1.0 and s * value < 1.0


def _coin(value: Any, table: Mapping[str, Any]) -> bool:
    """Below 1/2; of dumps below (d-1)/d, which is no less."""
    d = table["d"]
    most = 0.5 if table["name"] == "cheu-zhilyaev" else 1.0 - 1.0 / max(d, 1)
    return type(value) is float and type(d) is int and 0.0 < value < most


def _whole_margin(value: Any, table: Mapping[str, Any]) -> bool:
    return type(value) is int and value >= 0 and (value == 0 or table["clamped"] is True)


def _noise(key: str, low: float, high: float) -> Check:
    """The interval's length in units of the noise, in (low, high]."""

    def holds(value: Any, table: Mapping[str, Any]) -> bool:
        if type(value) is not float or not 0.0 < value <= _FAR:
            return False
        ends = [table[end] for end in ("low", "high")]
        fits = all(type(end) is float for end in ends)
        return fits and low <= (ends[1] - ends[0]) / value <= high

    return f"a {key} with low <= (high - low)/{key} <= high, {low:g} to {high:g}", holds


def _lattice_noise(value: Any, table: Mapping[str, Any]) -> bool:
    """Reports fall on four million integers at most: the inputs, and all that is likely beside."""
    top = table["top"]
    if type(value) is not float or type(top) is not int or not 0.01 <= value <= 1e6:
        return False
    # P(|K| > reach) < e^-691 < 1e-299.
    reach = math.ceil(value * math.sqrt(2.0 * 691.0) + 1.0)
    return top + 2 * reach + 1 <= _INTEGERS


def _smaller_set(value: Any, table: Mapping[str, Any]) -> bool:
    d = table["d"]
    return type(value) is int and type(d) is int and 1 <= value < d


def _sampled_set(value: Any, table: Mapping[str, Any]) -> bool:
    return _smaller_set(value, table) and value <= 100


_INTERVAL: Check = ("a number above low", _above_low)
_FLAG: Check = ("true or false", _flag)
_BY_NAME: dict[str, Check] = {
    "adaptive": _FLAG,
    "base": (f"one of {', '.join(_BASES)}", lambda value, _: value in _BASES),
    "binary": _FLAG,
    "blankets": _whole(1),
    "blocks": _set_of("domain"),
    "branching": _whole(2),
    "c": _real(1e-100, 1.0 - 1e-9, open_low=False),
    "clamped": _FLAG,
    "d": _whole(2, _DOMAIN),
    "domain": _whole(2, _DOMAIN),
    "eps0": _real(0.0, _EPS0),
    "f": ("a number above 0 that leaves a coin", _coin),
    "hamming": ("none, or at most as many as there are parts", _few),
    "high": _INTERVAL,
    "k": _whole(2, _DOMAIN),
    "l": _whole(2),
    "low": _real(-_FAR, _FAR, open_low=False),
    "margin": _real(0.0, _FAR, open_low=False),
    "matrix": ("rows of probabilities that add up to one", _matrix),
    "p": _real(0.0, 1.0, open_high=True),
    "padding": _FLAG,
    "pattern": ("rows of zeros and ones, equally many ones in each", _pattern),
    "randomizer": ("a table of a randomizer", _table),
    "randomizers": ("tables of randomizers", _tables),
    "rate": _real(0.0, 1.0),
    "s": _set_of("domain", most=10**6),
    "scale": _real(0.0, _FAR),
    "shape": _real(0.0, _FAR),
    "sigma": _real(0.0, _FAR),
    "top": _whole(1, _DOMAIN),
    "weights": ("shares that add up to one, one a part", _shares),
    "width": _real(1e-100, 1.0 - 1e-9, open_low=False),
}
_OF: dict[tuple[str, str], Check] = {
    ("balls-into-bins", "s"): _set_of("d", times=2),
    ("discrete-gaussian", "margin"): ("a whole number, 0 unless clamped", _whole_margin),
    ("discrete-gaussian", "sigma"): (
        "a number from 0.01, for the integers there are",
        _lattice_noise,
    ),
    ("gaussian", "sigma"): _noise("sigma", 5e-324, 1e4),
    ("generalized-gaussian", "scale"): _noise("scale", 1e-9, 1e4),
    ("generalized-gaussian", "shape"): _real(1.0 / 32.0, 1000.0, open_low=False),
    ("olh", "eps0"): _real(0.0, 30.0),
    ("pckv-grr", "domain"): _whole(1, 10**8),
    ("sampling-rappor", "s"): ("a whole number below d, at most 100", _sampled_set),
    ("subset", "k"): ("a whole number below d", _smaller_set),
    ("wheel", "p"): ("a number below 1/s", _arc),
    ("wheel", "s"): _set_of("domain", times=2, most=1000),
}
