"""What a deployment's table of a mechanism means: the part of a file that needs the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.accounts.sources import source_from_dict, source_names
from shuffledp.errors import ParameterError
from shuffledp.mechanism.base import known_name
from shuffledp.multimessage import protocol_names
from shuffledp.randomizers import Hierarchy


def is_protocol(randomizer: Mapping[str, Any]) -> bool:
    """Whether the table is of a multi-message protocol."""
    return randomizer["name"] in protocol_names()


def checked_randomizer(value: Any) -> dict[str, Any]:
    """The table of a mechanism with all its parameters, checked."""
    if not isinstance(value, Mapping):
        raise ParameterError(f'randomizer = {value!r}: wanted a table with a key "name"')
    if "name" not in value:
        raise ParameterError(
            "randomizer.name is missing: wanted a mechanism (all: shuffledp list mechanisms)"
        )
    name = known_name("randomizer.name", value["name"], source_names())
    try:
        return _written({**value, "name": name})
    except ParameterError as error:
        message = str(error)
        own = message.split(" ", 1)[0] in value or " is missing" in message
        raise ParameterError(f"randomizer{'.' if own else ': '}{message}") from None


def _written(value: dict[str, Any]) -> dict[str, Any]:
    """All parameters, defaults included, checked by the class that they are for."""
    found = source_from_dict(value).to_dict()
    return {k: [list(r) for r in v] if isinstance(v, tuple) else v for k, v in found.items()}


def size_of(mechanism: Any) -> int | None:
    """Number of items of a mechanism for items 0 .. k-1; None for others."""
    if isinstance(mechanism, Hierarchy):
        return mechanism.domain
    return getattr(mechanism, "items", None)


def domain_fault(randomizer: Mapping[str, Any], count: int) -> str:
    """What was wanted, if a domain of this size does not fit the mechanism; else empty."""
    size = size_of(source_from_dict(randomizer))
    if size == count:
        return ""
    wanted = "no domain, this mechanism is for numbers" if size is None else f"{size} items"
    return f"{wanted} for {randomizer['name']}"
