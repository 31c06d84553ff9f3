"""Which parameters every mechanism's table has: no more, since what is not read is not checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.errors import ParameterError

from .registry import record_of

__all__ = ["check_parameters", "parameters_of"]


def parameters_of(name: str) -> tuple[str, ...]:
    """Names of the parameters in the table of a mechanism.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here.
    """
    return tuple(record_of({"name": name}).ranges)


def check_parameters(mechanism: Mapping[str, Any]) -> None:
    """Raise unless the table, and those of its parts, have these parameters and no other.

    Raises
    ------
    ParameterError
        For a parameter too many or too few.
    NotCertified
        For mechanisms that nothing is known of here.
    """
    if not isinstance(mechanism, Mapping) or not isinstance(mechanism.get("name"), str):
        raise ParameterError(f"{mechanism!r}: wanted a table of a mechanism")
    given = {key for key in mechanism if key != "name"}
    wanted = set(parameters_of(mechanism["name"]))
    if given != wanted:
        odd = min(given ^ wanted)
        how = "is missing" if odd in wanted else f"= {mechanism[odd]!r}: wanted no such parameter"
        raise ParameterError(f"{mechanism['name']}: {odd} {how}")
    parts = [mechanism["randomizer"]] if "randomizer" in wanted else []
    several = mechanism["randomizers"] if "randomizers" in wanted else []
    if not isinstance(several, list | tuple):
        raise ParameterError(f"randomizers = {several!r}: wanted tables of mechanisms")
    parts += several
    for part in parts:
        check_parameters(part)
