"""The page's form: what it has to know to be drawn, and a filled-in form as words of a command.

The fields are the options of ``shuffledp epsilon``: they are read by that command, so that what is
wrong with one is said in its words. No file is opened that a request names: a matrix, or a table of
a mechanism, is given as it is.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from shuffledp import protocol_names
from shuffledp.accounts.sources import source_class, source_names
from shuffledp.amplification.analyses import analyses
from shuffledp.cli.mechanisms import mechanism_options
from shuffledp.cli.numbers import Asked, epsilon
from shuffledp.cli.types import MatrixFile, Number, Numbers, Tables, Whole
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism.base import known_name

_YES, _NO = ("1", "true", "on"), ("", "0", "false", "off")
_KINDS: tuple[tuple[type, str], ...] = (
    (Whole, "whole"),
    (Number, "number"),
    (Numbers, "numbers"),
    (Tables, "table"),
    (MatrixFile, "matrix"),
)
# What the page has typed in a field that must not be empty, before its reader does: by the name of
# the parameter, a word to begin with, and no default of anything.
_STARTS: dict[str, str] = {
    "eps0": "2",
    "k": "10",
    "d": "16",
    "domain": "16",
    "l": "4",
    "s": "4",
    "top": "10",
    "sigma": "2",
    "shape": "4",
    "scale": "1",
    "c": "0.1",
    "rate": "0.5",
    "p": "0.25",
    "f": "0.25",
    "blankets": "10",
    "matrix": "0.75,0.25\n0.25,0.75",
    "pattern": "1,0\n0,1",
    "weights": "0.5,0.5",
    "randomizer": '{"name": "k-rr", "k": 4, "eps0": 2.0}',
    "randomizers": '[{"name": "k-rr", "k": 4, "eps0": 1.0}, {"name": "duchi", "eps0": 1.0}]',
}
_NEEDED = ("mechanism", "n", "delta")
# Fields that are options of the command itself, in the order in which it is shown.
_OWN = ("n", "delta", "rounds", "trust", "analysis", "view", "ones", "relation", "added")


@dataclass(frozen=True)
class Question:
    """One account that is asked for.

    Attributes
    ----------
    asked : Asked
        The mechanism and its setting, as the command reads them.
    n : int or float
        Users, as typed; the library checks it.
    delta : float
        Target.
    command : str
        What gives the same on the command line.
    """

    asked: Asked
    n: Any
    delta: float
    command: str


def question(fields: Mapping[str, str]) -> Question:
    """Read the form.

    Raises
    ------
    ParameterError, ClickException
        A field is missing, is not one, or does not say what it should.
    """
    fields = {key: value.strip() for key, value in fields.items() if value.strip()}
    for key in _NEEDED:
        if key not in fields:
            raise ParameterError(f"{key} is missing")
    name = known_name("mechanism", fields.pop("mechanism"), source_names())
    options = {str(option.name): option for option in mechanism_options(name)}
    for key, value in fields.items():
        if key not in options and key not in _OWN:
            known = ", ".join([*_OWN, *options])
            raise rejected(key, value, f"no such field, but one of {known}")
    words = [name]
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        for key, option in options.items():
            if key in fields:
                words += _words(option, fields[key], folder)
        for key in _OWN:
            if key in fields:
                words += ["-n" if key == "n" else f"--{key}", fields[key]]
        try:
            description, given = epsilon.read(words)
        except ParameterError as error:
            raise ParameterError(str(error).replace(f"{folder}/", "")) from None
    shown = (word.removeprefix(f"{folder}/") for word in words)
    n, delta = given.pop("n"), given.pop("delta")
    setting = {key: value for key, value in given.items() if key in _OWN}
    command = shlex.join(["shuffledp", "epsilon", *shown])
    return Question(Asked(description, **setting), n, delta, command)


def _words(option: click.Option, typed: str, folder: str) -> Iterator[str]:
    """A parameter as words of a command; a matrix as a file that has the text."""
    key = str(option.name)
    if option.is_flag:
        if typed.lower() not in _YES + _NO:
            raise rejected(key, typed, "yes or no: 1 or 0")
        yield from [option.opts[0]] if typed.lower() in _YES else []
        return
    if isinstance(option.type, Tables) and not typed.startswith(("[", "{")):
        raise rejected(key, typed, "JSON as it is; files are not opened from here")
    if isinstance(option.type, MatrixFile):
        file = Path(folder) / f"{key}.{'json' if typed.startswith('[') else 'csv'}"
        file.write_text(typed, encoding="utf-8")
        typed = str(file)
    yield from (option.opts[0], typed)


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Any]:
    """What the page has to know to draw its form: mechanisms, their parameters, the analyses."""
    return {
        "mechanisms": [_entry(name) for name in source_names()],
        "analyses": [
            {"key": found.key, "end": found.end, "title": found.theorem.title}
            for found in analyses()
        ],
    }


def _entry(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "summary": source_class(name).summary,
        # Protocols are for one round (docs/theory-parts.md says what composes).
        "rounds": name not in protocol_names(),
        "parameters": [_field(option) for option in mechanism_options(name)],
    }


def _field(option: click.Option) -> dict[str, Any]:
    default = option.default
    shown = default is not None and not option.required and not option.is_flag
    kinds = (word for cls, word in _KINDS if isinstance(option.type, cls))
    return {
        "key": option.name,
        "kind": "flag" if option.is_flag else next(kinds, "word"),
        "required": option.required,
        "default": str(default) if shown else "",
        "start": _STARTS.get(str(option.name), "") if option.required else "",
        "help": option.help or "",
    }
