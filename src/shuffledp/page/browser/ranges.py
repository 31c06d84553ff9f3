"""Whether mechanisms' parameters are what they may be, where certificates are read without NumPy.

The classes check the same; a test compares them on every change of one thing in a table. Numbers
are of the kind that the classes write: what they would change is refused as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.ball.parameters import known_mechanisms
from shuffledp.ball.registry import record_of
from shuffledp.errors import rejected

__all__ = ["check_ranges"]


def check_ranges(table: Mapping[str, Any]) -> None:
    """Raise unless every parameter of the table, and of those in it, is what it may be.

    Raises
    ------
    ParameterError
        It names the parameter, its value and what was wanted.
    NotCertified
        For mechanisms that the verifier does not know.
    """
    record = record_of(table)
    parts = () if record.parts is None else record.parts.keys
    for key, value in table.items():
        if key == "name":
            continue
        wanted, holds = record.ranges[key]
        if not holds(value, table) or (key in parts and not all(map(_is_part, _listed(value)))):
            raise rejected(key, value, wanted)
    for key in parts:
        for part in _listed(table[key]):
            check_ranges(part)


def _listed(value: Any) -> list[Any]:
    """One part, or several."""
    return value if isinstance(value, list) else [value]


def _is_part(table: Mapping[str, Any]) -> bool:
    """Of a randomizer: a protocol and the family of all mechanisms are no parts of another one."""
    return table.get("name") in known_mechanisms() and record_of(table).kind == "randomizer"
