"""What an event is told, as files have it: equal, and written, by all that it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from shuffledp.errors import rejected

_WANTED = "a mapping from names to numbers, text, and lists or mappings of them"


def plain(given: Any) -> dict[str, Any]:
    """A mapping with lists in place of arrays, tuples and their like, and Python's own numbers.

    NumPy's arrays say of each number by itself whether it is equal, and write only the ends of
    what is long: of two events it has to be known whether they are one.

    Parameters
    ----------
    given : mapping
        From names to values.

    Raises
    ------
    ParameterError
        If there is anything else in it.
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise rejected("event", given, _WANTED)
    return {str(name): _value(value) for name, value in given.items()}


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    if hasattr(value, "tolist"):
        found = value.tolist()
        # A number that Python has none for, such as NumPy's long double, stays what it is.
        if type(found) is type(value):
            raise rejected("event", value, _WANTED)
        return _value(found)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_value(inner) for inner in value]
    raise rejected("event", value, _WANTED)


def text_of(given: Mapping[str, Any]) -> str:
    """All of a plain mapping as one text, whatever the order of its names."""
    return json.dumps(given, sort_keys=True)


__all__ = ["plain", "text_of"]
