"""What a table of a file, or a command line, names: a mechanism, a protocol, or a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.laws.sources import Family
from shuffledp.mechanism.base import Mechanism, made, mechanism_class
from shuffledp.multimessage import protocol_names
from shuffledp.randomizers import randomizer_names

__all__ = ["GENERIC", "source_class", "source_from_dict", "source_names"]

GENERIC = Family.name


def source_names() -> tuple[str, ...]:
    """Every name that a table may have."""
    return (*randomizer_names(), *protocol_names(), GENERIC)


def source_class(name: str) -> type[Mechanism | Family]:
    """What declares the parameters of this name and says what it is."""
    return Family if name == GENERIC else mechanism_class(name)


def source_from_dict(table: Mapping[str, Any]) -> Any:
    """The mechanism, protocol or family of a table {"name": ..., **parameters}.

    Raises
    ------
    ParameterError
        If the name, a parameter or its value is none.
    """
    return made(source_class(table["name"]), {k: v for k, v in table.items() if k != "name"})
