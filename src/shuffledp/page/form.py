"""What the page's form asks, from text: the fields are the command line's options.

A field is read by the same class that reads the option (`shuffledp.cli.types`), and what is wrong
with it is said in the same words. Files are never opened: a matrix, or a table of a mechanism, is
given as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import click

from shuffledp import _check, protocol_names
from shuffledp.accounts import VIEWS
from shuffledp.amplification.analyses import analyses
from shuffledp.cli.mechanisms import GENERIC, mechanism_options, names
from shuffledp.cli.numbers import added_noise
from shuffledp.cli.types import MatrixFile, Number, Numbers, Tables, Whole, matrix_of
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism import known_name, mechanism_class

# The longest text of one field; a request as a whole is bounded by the server.
LONGEST_FIELD = 4096
# Of a curve: enough for a smooth line, few enough to be worked out while somebody waits.
MOST_POINTS = 61
# Of sums, the first is what is taken where none is given.
RELATIONS = ("replace-one", "replace-special")
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
_VIEW = ("view", "ones", "relation", "added")
_OWN = ("mechanism", "n", "delta", "rounds", "trust", "analysis", "rtol", *_VIEW)


@dataclass(frozen=True)
class Question:
    """One account that is asked for.

    Attributes
    ----------
    description : dict
        The mechanism as a table: its name and the parameters that were given.
    n : int or float
        Users, as typed; the library checks it.
    delta : float
        Target.
    rounds : int
        In which every user takes part.
    trust : str
        "all" or "published".
    analysis : str or None
        One alone in place of the best.
    rtol : float or None
        Relative width wanted; by default the command line's.
    view : dict
        What the analyst sees: "messages" alone, or "sums" with ones, relation and added noise.
    command : str
        What gives the same on the command line.
    """

    description: dict[str, Any]
    n: Any
    delta: float
    rounds: int
    trust: str
    analysis: str | None
    rtol: float | None
    view: dict[str, Any]
    command: str


def question(fields: Mapping[str, str]) -> Question:
    """Read the form.

    Raises
    ------
    ParameterError
        A field is missing, is not one, or does not say what it should.
    """
    fields = {key: value.strip() for key, value in fields.items()}
    for key, value in fields.items():
        if len(value) > LONGEST_FIELD:
            raise rejected(key, value, f"at most {LONGEST_FIELD:,} characters")
    name = known_name("mechanism", _given(fields, "mechanism"), names())
    options = {str(option.name): option for option in mechanism_options(name)}
    for key, value in fields.items():
        if key not in options and key not in _OWN:
            known = ", ".join([*_OWN, *options])
            raise rejected(key, value, f"no such field, but one of {known}")
    description: dict[str, Any] = {"name": name}
    for key, option in options.items():
        value = _read(option, fields.get(key, ""))
        if value is not None:
            description[key] = value
    rounds = _check.count("rounds", _typed("rounds", fields, Whole(), 1), high=10**9)
    rtol = _typed("rtol", fields, Number(), None)
    trust = fields.get("trust") or "all"
    return Question(
        description=description,
        n=_typed("n", fields, Whole()),
        delta=_typed("delta", fields, Number()),
        rounds=rounds,
        trust=_check.trust(trust),
        analysis=fields.get("analysis") or None,
        rtol=rtol,
        view=_view(fields, rounds),
        command=_command(name, options, fields, rounds=rounds, trust=trust),
    )


def _view(fields: Mapping[str, str], rounds: int) -> dict[str, Any]:
    """What the analyst sees, as the command line takes it; of sums one round."""
    view = _check.choice("view", fields.get("view") or "messages", VIEWS)
    if view == "messages":
        for key in _VIEW[1:]:
            if fields.get(key):
                raise rejected(key, fields[key], "none but with view = 'sums'")
        return {"view": view}
    if rounds > 1:
        raise rejected("rounds", rounds, "1 with view = 'sums'; deployment files take more")
    if fields.get("analysis"):
        raise rejected("analysis", fields["analysis"], "none with sums, of which there is one")
    if (fields.get("trust") or "all") != "all":
        raise rejected("trust", fields["trust"], "'all' with view = 'sums'")
    relation = _check.choice("relation", fields.get("relation") or RELATIONS[0], RELATIONS)
    ones = _typed("ones", fields, Whole(), 1)
    added = added_noise(fields.get("added") or None)
    return {"view": view, "ones": ones, "relation": relation, "added": added}


def number(key: str, fields: Mapping[str, str], *, whole: bool = False) -> Any:
    """A number of another form; None where nothing was typed."""
    return _typed(key, fields, Whole() if whole else Number(), None)


def points(fields: Mapping[str, str]) -> int:
    """How many points of a curve are wanted."""
    return _check.count("points", _typed("points", fields, Whole(), 9), low=2, high=MOST_POINTS)


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Any]:
    """What the page has to know to draw its form: mechanisms, their parameters, the analyses."""
    return {
        "mechanisms": [_entry(name) for name in names()],
        "analyses": [
            {"key": found.key, "end": found.end, "title": found.theorem.title}
            for found in analyses()
        ],
    }


def _entry(name: str) -> dict[str, Any]:
    cls = None if name == GENERIC else mechanism_class(name)
    return {
        "name": name,
        "summary": "any eps0-LDP randomizer" if cls is None else cls.summary,
        # Protocols are for one round (docs/theory-parts.md says what composes).
        "rounds": name not in protocol_names(),
        "parameters": [_field(option) for option in mechanism_options(name)],
    }


def _field(option: click.Option) -> dict[str, Any]:
    default = option.default
    shown = default is not None and not option.required and not option.is_flag
    return {
        "key": option.name,
        "kind": _kind(option),
        "required": option.required,
        "default": str(default) if shown else "",
        "start": _STARTS.get(str(option.name), "") if option.required else "",
        "help": option.help or "",
    }


def _kind(option: click.Option) -> str:
    if option.is_flag:
        return "flag"
    return next((word for cls, word in _KINDS if isinstance(option.type, cls)), "word")


def _given(fields: Mapping[str, str], key: str) -> str:
    if not fields.get(key):
        raise ParameterError(f"{key} is missing")
    return fields[key]


_NEEDED = object()


def _typed(
    key: str, fields: Mapping[str, str], kind: click.ParamType, default: Any = _NEEDED
) -> Any:
    """The field by the class that reads the option of that name."""
    value = fields.get(key, "").strip()
    if not value and default is not _NEEDED:
        return default
    return kind.convert(_given(fields, key), click.Option([f"--{key}", key]), None)


def _read(option: click.Option, text: str) -> Any:
    """A parameter from its text; None where its default is meant."""
    key = str(option.name)
    if option.is_flag:
        if text.lower() not in _YES + _NO:
            raise rejected(key, text, "yes or no: 1 or 0")
        return True if text.lower() in _YES else None
    if not text:
        if option.required:
            raise ParameterError(f"{key} is missing: wanted {_first(option.help)}")
        return None
    if isinstance(option.type, MatrixFile):
        return matrix_of(key, text, text, as_json=text.startswith("["))
    if isinstance(option.type, Tables) and not text.startswith(("[", "{")):
        raise rejected(key, text, "JSON as it is; files are not opened from here")
    return option.type.convert(text, option, None)


def _first(words: str | None) -> str:
    return (words or "a value").split(". ")[0].rstrip(".")


def _command(
    name: str,
    options: Mapping[str, click.Option],
    fields: Mapping[str, str],
    *,
    rounds: int,
    trust: str,
) -> str:
    """The words that give the same on the command line, parameters as they were typed."""
    words = ["shuffledp", "epsilon", name]
    for key, option in options.items():
        typed = fields.get(key, "")
        if option.is_flag:
            words += [option.opts[0]] if typed.lower() in _YES else []
        elif typed and isinstance(option.type, MatrixFile):
            words += [option.opts[0], f"{key}.json" if typed.startswith("[") else f"{key}.csv"]
        elif typed:
            words += [option.opts[0], typed]
    words += ["-n", fields["n"], "--delta", fields["delta"]]
    if rounds > 1:
        words += ["--rounds", fields["rounds"]]
    elif fields.get("analysis"):
        words += ["--analysis", fields["analysis"]]
    words += ["--trust", trust] if trust != "all" else []
    for key in _VIEW:
        words += [f"--{key}", fields[key]] if fields.get(key) else []
    return shlex.join(words)
