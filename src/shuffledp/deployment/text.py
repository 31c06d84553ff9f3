"""Deployment files as text: every key with the description that the schema has of it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from shuffledp.accounts.sources import source_class
from shuffledp.deployment.files import parse, tomllib
from shuffledp.deployment.messages import fields_at
from shuffledp.deployment.model import Deployment
from shuffledp.errors import rejected
from shuffledp.mechanism.parameters import parameters_of

# Characters of a line with its comment, and the column where a comment begins if there is room.
_WIDTH, _COLUMN = 100, 27
_USE = """\
# shuffledp account FILE    what it certifies, with a certificate (--report: to sign)
# shuffledp run FILE ...    runs it on a table
# A line "# key = value" is switched off: remove the "# " and give it a value.

"""
# Tables of which keys that are not given are shown, switched off.
_WHOLE = ("population", "target", "accounting")


def deployment_text(tables: Mapping[str, Any], *, head: str = "") -> str:
    """A deployment file with these tables, which ``shuffledp account`` accepts.

    Parameters
    ----------
    tables : mapping
        As in the file; what is None is left out.
    head : str
        Comments above all.

    Raises
    ------
    ParameterError
        If they are no deployment.
    """
    wanted = given_only(tables)
    parse(wanted, where="deployment")
    plain = {key: value for key, value in wanted.items() if not isinstance(value, Mapping)}
    fields = Deployment.model_fields
    parts = ["".join(_setting(k, value, fields[k].description) for k, value in plain.items())]
    parts += [
        f"[{name}]\n" + "".join(_settings(name, wanted.get(name, {})))
        for name in fields
        if name in _WHOLE or isinstance(wanted.get(name), Mapping)
    ]
    text = head + _USE + "\n".join(parts)
    # What was written is read once more: nothing is recommended that would be read otherwise.
    _check_same(tomllib.loads(text), {"accounting": {}, **wanted})
    return text


def given_only(value: Any) -> Any:
    """The value without what is not set, which TOML has no word for; lists for tuples."""
    if isinstance(value, Mapping):
        return {key: given_only(one) for key, one in value.items() if one is not None}
    return [given_only(one) for one in value] if isinstance(value, list | tuple) else value


def _settings(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one table."""
    if name == "randomizer":
        words = {one.name: one.words for one in parameters_of(source_class(given["name"]))}
        yield from (_setting(key, value, words.get(key)) for key, value in given.items())
        return
    fields = fields_at(Deployment, (name,))
    yield from (_setting(key, value, fields[key].description) for key, value in given.items())
    for key, field in fields.items() if name in _WHOLE else ():
        if key not in given:
            value = "..." if field.default is None else _written(field.default)
            yield _commented(f"# {key} = {value}", field.description)


def _setting(key: str, value: Any, words: str | None) -> str:
    return _commented(f"{key} = {_written(value)}", words)


def _commented(setting: str, words: str | None) -> str:
    """A setting, and its comment beside it if there is room, else above."""
    if not words:
        return f"{setting}\n"
    beside = f"{setting:{_COLUMN}}# {words}" if len(setting) < _COLUMN else f"{setting}  # {words}"
    if len(beside) <= _WIDTH and "\n" not in beside:
        return f"{beside}\n"
    above = textwrap.wrap(words, _WIDTH, initial_indent="#   ", subsequent_indent="#   ")
    return "\n".join([*above, setting]) + "\n"


def _written(value: Any) -> str:
    """A value as TOML on one line; matrices a row a line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_written(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return "[\n" + "".join(f"  {_written(row)},\n" for row in value) + "]"
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}"
    # Text, numbers and yes or no are written as in JSON, but for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """ParameterError for what TOML says otherwise than it was given."""
    if found != wanted:
        key = next(key for key in {**wanted, **found} if found.get(key) != wanted.get(key))
        raise rejected(key, wanted.get(key), f"what can be written as TOML, not {found.get(key)!r}")
