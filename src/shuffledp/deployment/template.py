"""A deployment file with comments, for a start: what is set, and beside it what could be."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import tomli_w

from shuffledp.deployment.files import parse
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.plan import given_only, same_text
from shuffledp.errors import ParameterError

_WIDTH = 100  # of a line with its comment, where that fits
_COLUMN = 27  # where comments begin, if what is left of them is short
_HEAD = """\
# A deployment of a local randomizer behind a shuffler.
#   shuffledp account FILE    what it certifies, with a certificate (--report: to sign)
#   shuffledp run FILE ...    runs it on a table
# A line that begins with "# key = value" is switched off: remove the "# " to use it.

"""
# Key -> what is said of it, in the order of the file.
_TITLE = {"title": "heads the account, the figure and the report"}
_POPULATION = {
    "users": "who are asked for a report",
    "participation": "share of them whose report arrives, rounded down",
    "dropout": "or the share whose report does not arrive; one of the two",
    "minimum_batch": "messages below which the shuffler releases nothing",
    "colluding": "share of a batch whose senders tell the analyst what they sent",
}
_TARGET = {
    "delta": "eps is bounded at this delta; keep it far below 1/users",
    "epsilon": "delta is bounded at this eps, in nats",
    "at_most": "what the bounded one may be: met or missed is then said",
}
_ACCOUNTING = {
    "rounds": "in which every user takes part, with fresh randomness",
    "trust": 'or "published": without what is proved in docs/theory.md only',
    "rtol": "relative width wanted of the numerical bracket",
}
_DATA = {
    "column": "of the table that `shuffledp run` reads; the domain is public: domain = [...]",
}
# What is switched off if it is not given: values that change nothing, or that any file may have.
_OFF: dict[str, dict[str, Any]] = {
    "population": {"participation": 1.0, "colluding": 0.0},
    "target": {"at_most": 0.5},
    "accounting": {"rounds": 1, "trust": "all", "rtol": 1e-6},
}


def commented_text(tables: Mapping[str, Any], *, said: Mapping[str, str], summary: str) -> str:
    """A deployment file with these tables, all keys explained, that ``account`` accepts.

    Parameters
    ----------
    tables : mapping
        title, population, randomizer, target, and accounting and data if they are wanted; what is
        None is left out.
    said : mapping
        What to say of the mechanism's parameters.
    summary : str
        What to say of the mechanism.

    Raises
    ------
    ParameterError
        If they are no deployment.
    """
    wanted = given_only(tables)
    deployment = parse(wanted, where="deployment")
    off = {name: dict(values) for name, values in _OFF.items()}
    if "dropout" in wanted["population"]:
        del off["population"]["participation"]
    off["population"]["minimum_batch"] = _some_batch(wanted, deployment)
    words = {"name": f"{summary}; shuffledp list mechanisms", **said}
    parts = [
        _HEAD + "\n".join(_lines("title", wanted["title"], _TITLE["title"])) + "\n",
        _table("population", wanted, _POPULATION, off),
        _table("randomizer", wanted, words, off),
        _table("target", wanted, _TARGET, off),
        _table("accounting", wanted, _ACCOUNTING, off),
    ]
    if "data" in wanted:
        parts.append(_table("data", wanted, _DATA, off))
    text = "\n".join(parts)
    found = same_text(text, {"accounting": {}, **wanted})
    parse(found, where="deployment")
    return text


def _table(
    name: str, wanted: Mapping[str, Any], said: Mapping[str, str], off: Mapping[str, Any]
) -> str:
    given, other = wanted.get(name, {}), off.get(name, {})
    lines = [f"[{name}]"]
    for key in dict.fromkeys((*said, *given)):
        if key in given:
            lines += _lines(key, given[key], said.get(key, ""))
        elif key in other:
            lines += _lines(key, other[key], said[key], start="# ")
    return "\n".join(lines) + "\n"


def _lines(key: str, value: Any, words: str, *, start: str = "") -> list[str]:
    """The key with its value, and the comment beside it if there is room, else above."""
    setting = f"{start}{key} = {_written(value)}"
    if not words:
        return [setting]
    beside = f"{setting:{_COLUMN}}# {words}" if len(setting) < _COLUMN else f"{setting}  # {words}"
    if len(beside) <= _WIDTH and "\n" not in beside:
        return [beside]
    return [*textwrap.wrap(words, _WIDTH, initial_indent="#   ", subsequent_indent="#   "), setting]


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
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def _some_batch(wanted: Mapping[str, Any], deployment: Deployment) -> int:
    """Half of what arrives, if such a batch may be released; else all of it, which may."""
    arriving = deployment.population.arriving
    half = max(1, arriving // 2)
    try:
        population = {**wanted["population"], "minimum_batch": half}
        parse({**wanted, "population": population}, where="deployment")
    except ParameterError:
        return arriving
    return half
