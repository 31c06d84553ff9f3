"""Stands for `shuffledp.deployment.mechanisms` in the browser, where there are no classes.

A mechanism's table is taken as it is written, all its parameters given, and is checked by the
verifier's own tables and laws, and by `ranges`. `shuffledp verify` checks it by the mechanism's
class; `driver` lists that as not checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from shuffledp.ball import family, messages
from shuffledp.ball.parameters import check_parameters, known_mechanisms
from shuffledp.ball.views import view_of
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.page.browser.ranges import check_ranges

GENERIC = family.GENERIC
# A table in a table in a table: deeper than any mechanism of mechanisms.
_DEEPEST = 8


def mechanism_names() -> tuple[str, ...]:
    """What ``randomizer.name`` may be: those that the verifier knows."""
    return known_mechanisms()


def is_protocol(randomizer: Mapping[str, Any]) -> bool:
    """Whether the table is of a multi-message protocol."""
    return messages.is_protocol(randomizer)


def described(value: dict[str, Any]) -> dict[str, Any]:
    """The table as it is, if it has the parameters of its mechanism, of kinds they can have."""
    _plain(value, "randomizer", _DEEPEST)
    check_parameters(value)
    check_ranges(value)
    return value


def accountant(randomizer: Mapping[str, Any], settings: Mapping[str, Any]) -> NoReturn:
    """Nothing is accounted for in the browser."""
    del randomizer, settings
    raise NotCertified("the browser verifies certificates, and makes none")


def sums(
    randomizer: Mapping[str, Any],
    n: int,
    *,
    ones: int,
    relation: str,
    rounds: int = 1,
    added: Mapping[str, Any] | None = None,
) -> None:
    """Refuse what has no sums; nothing is accounted for in the browser."""
    del n, rounds
    try:
        view_of(randomizer, ones, relation, added)
    except NotCertified as error:
        raise ParameterError(f'view = "sums": {error}') from None


def domain_fault(randomizer: Mapping[str, Any], count: int) -> str:
    """Nothing: no claim is about the domain's items, which the verifier lists as not checked."""
    del randomizer, count
    return ""


def declared(name: str) -> NoReturn:
    """No schema is written in the browser."""
    raise NotCertified(f"{name}: the browser verifies certificates, and writes no schema")


def _plain(value: Any, where: str, depth: int) -> None:
    """Numbers, flags, words, and lists and tables of them; no empty list, no infinite number."""
    if depth == 0:
        raise rejected(where, value, "fewer tables in tables")
    if isinstance(value, Mapping):
        if not isinstance(value.get("name"), str):
            raise rejected(where, value, "a mechanism")
        for key, part in value.items():
            _plain(part, key, depth - 1)
    elif isinstance(value, list):
        if not value:
            raise rejected(where, value, "at least one")
        for part in value:
            _plain(part, where, depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise rejected(where, value, "a finite number")
    elif not (value is None or isinstance(value, bool | int | float | str)):
        raise ParameterError(f"{where}: wanted a number, a flag, a word, a list or a table")
