"""Mechanisms by their tables {"name": ..., **parameters}: the class of that name, once made."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from shuffledp.errors import ParameterError

from .family import GENERIC, AnyPrivate
from .outputs import Parameters
from .record import CLASSES, Definition, not_known

__all__ = ["Given", "not_known", "record_of", "seen"]

# A mechanism, or its table.
Given = Definition | Parameters
# Tables that are kept as mechanisms: one certificate asks for one or two, many times.
_KEPT = 64


def seen(given: Given) -> Definition:
    """The mechanism of a table; a mechanism itself.

    Raises
    ------
    NotCertified
        For names that no class has.
    ParameterError
        For parameters that its class refuses.
    """
    if isinstance(given, Definition):
        return given
    return _made(json.dumps(given))


def record_of(given: Given) -> Definition:
    """The same, of mechanisms that a file may name.

    Raises
    ------
    NotCertified
        For mechanisms that no file may name, in addition.
    """
    kind = type(given) if isinstance(given, Definition) else _class_of(given.get("name"))
    if not kind.in_files:
        raise not_known(kind.name)
    return seen(given)


def _class_of(name: Any) -> type[Definition]:
    if name == GENERIC:
        return AnyPrivate
    if not isinstance(name, str) or name not in CLASSES:
        raise not_known(name)
    return CLASSES[name]


@lru_cache(maxsize=_KEPT)
def _made(written: str) -> Definition:
    table: Mapping[str, Any] = json.loads(written)
    named = {key: value for key, value in table.items() if key != "name"}
    kind = _class_of(table.get("name"))
    known = inspect.signature(kind).parameters
    needed = {key for key, one in known.items() if one.default is inspect.Parameter.empty}
    for key in sorted(needed - set(named)):
        raise ParameterError(f"{kind.name}: {key} is missing")
    for key in sorted(set(named) - set(known)):
        raise ParameterError(f"{kind.name}: {key} = {named[key]!r}: wanted no such parameter")
    return kind(**named)
