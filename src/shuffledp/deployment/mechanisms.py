"""What a deployment's table of a mechanism means: the part of a file that needs the classes."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

from shuffledp.accounts import shuffle
from shuffledp.amplification.messages import Messages
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.sources import Family
from shuffledp.mechanism.base import known_name, mechanism_class, mechanism_from_dict
from shuffledp.mechanism.parameters import Parameter, parameters_of
from shuffledp.multimessage import MultiMessage, protocol_names
from shuffledp.randomizers import Hierarchy, Randomizer, randomizer_names
from shuffledp.views.noise import AddedNoise
from shuffledp.views.sums import Sums, summed

GENERIC = Family.name


def mechanism_names() -> tuple[str, ...]:
    """What ``randomizer.name`` may be."""
    return (*randomizer_names(), *protocol_names(), GENERIC)


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
    name = known_name("randomizer.name", value["name"], mechanism_names())
    try:
        return _described({**value, "name": name})
    except ParameterError as error:
        message = str(error)
        own = message.split(" ", 1)[0] in value or " is missing" in message
        raise ParameterError(f"randomizer{'.' if own else ': '}{message}") from None


def _described(value: dict[str, Any]) -> dict[str, Any]:
    """All parameters, defaults included, checked by the class that they are for."""
    if value["name"] != GENERIC:
        found = built(value).to_dict()
        return {k: [list(r) for r in v] if isinstance(v, tuple) else v for k, v in found.items()}
    for key, given in value.items():
        if key not in {"name", "eps0", "adaptive"}:
            raise ParameterError(f"{key} = {given!r}: unknown key, wanted one of eps0, adaptive")
    if "eps0" not in value:
        raise ParameterError("eps0 is missing: generic wanted eps0, adaptive")
    return built(value).to_dict()


def accountant(randomizer: Mapping[str, Any], settings: Mapping[str, Any]) -> Messages:
    """All messages; ``settings`` are n, rtol and trust."""
    return typing.cast(Messages, shuffle(built(randomizer), **settings).seen)


def sums(
    randomizer: Mapping[str, Any],
    n: int,
    *,
    ones: int,
    relation: str,
    rounds: int = 1,
    added: Mapping[str, Any] | None = None,
) -> Sums:
    """Sums of n honest reports; refused where nothing is certified of them.

    Raises
    ------
    ParameterError
        For mechanisms, numbers of ones and relations that have no sums.
    """
    if is_protocol(randomizer) or randomizer["name"] == GENERIC:
        raise ParameterError(
            f'view = "sums": {randomizer["name"]}: wanted one mechanism, a report a user'
        )
    try:
        noise = None if added is None else AddedNoise(**added)
        made = built(randomizer)
        found = summed(made, n, ones=ones, relation=relation, rtol=None, added=noise)
    except NotCertified as error:
        raise ParameterError(f'view = "sums": {error}') from None
    try:
        return found.again(rounds)
    except ParameterError as error:
        raise ParameterError(f"accounting.{error}") from None


def size_of(mechanism: Any) -> int | None:
    """Number of items of a mechanism for items 0 .. k-1; None for others."""
    if isinstance(mechanism, Hierarchy):
        return mechanism.domain
    return getattr(mechanism, "items", None)


def domain_fault(randomizer: Mapping[str, Any], count: int) -> str:
    """What was wanted, where a domain of so many items does not fit the mechanism; else empty."""
    size = size_of(built(randomizer))
    if size == count:
        return ""
    wanted = "no domain, this mechanism is for numbers" if size is None else f"{size} items"
    return f"{wanted} for {randomizer['name']}"


def declared(name: str) -> tuple[Parameter, ...]:
    """The parameters of a mechanism's table."""
    return parameters_of(Family if name == GENERIC else mechanism_class(name))


def built(randomizer: Mapping[str, Any]) -> Any:
    """The mechanism of a table."""
    if randomizer["name"] == GENERIC:
        return Family(**{key: value for key, value in randomizer.items() if key != "name"})
    return mechanism_from_dict(randomizer, MultiMessage if is_protocol(randomizer) else Randomizer)
