"""``shuffledp init``: a deployment file to begin with, from options or from answers."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from shuffledp import _check, protocol_names
from shuffledp.cli.extras import load_deployment, load_template
from shuffledp.cli.mechanisms import (
    MechanismCommand,
    described,
    mechanism_label,
    mechanism_options,
    names,
    source_from_dict,
)
from shuffledp.cli.numbers import TRUST
from shuffledp.cli.types import Number, Whole
from shuffledp.errors import ParameterError, ShuffleDPError, rejected, unreadable
from shuffledp.mechanism import known_name, parameters_of

_FILE = "deployment.toml"
_STDOUT = "-"
_NUMBER: dict[str, Any] = {"type": Number()}
_USERS = click.Option(["-n", "--users"], type=Whole(), help="Users who are asked for a report.")
_OPTIONS = (
    _USERS,
    click.Option(["--title"], help="What it is, in a line.  [default: mechanism and users]"),
    click.Option(["--participation"], help="Share of them whose report arrives.", **_NUMBER),
    click.Option(["--dropout"], help="Or share whose report does not arrive.", **_NUMBER),
    click.Option(["--minimum-batch"], type=Whole(), help="The shuffler releases no smaller one."),
    click.Option(["--colluding"], help="Share of a batch in league with the analyst.", **_NUMBER),
    click.Option(["--delta"], help="Target delta: eps is bounded.", **_NUMBER),
    click.Option(["--epsilon"], help="Or target eps, in nats: delta is bounded.", **_NUMBER),
    click.Option(["--at-most"], help="What the bounded one may be.", **_NUMBER),
    click.Option(["--rounds"], type=Whole(), help="In which every user takes part."),
    click.Option(["--column"], help="Of the table that `shuffledp run` will read."),
    TRUST,
    click.Option(
        ["--out"],
        default=_FILE,
        show_default=True,
        metavar="FILE",
        help="A new file; one that is there is never written over. - is stdout.",
    ),
)
_POPULATION = ("users", "participation", "dropout", "minimum_batch", "colluding")
_TARGET = ("delta", "epsilon", "at_most")
# Valid tables, for those that are not asked for yet.
_ANY: dict[str, Any] = {
    "title": "any",
    "population": {"users": 10**9},
    "randomizer": {"name": "binary-rr", "eps0": 1.0},
    "target": {"delta": 1e-6},
}


def _write(description: dict[str, Any], *, trust: Any, out: str, **given: Any) -> None:
    """Make the file from options."""
    population = {key: given[key] for key in _POPULATION}
    target = {key: given[key] for key in _TARGET}
    if population["users"] is None:
        raise ParameterError("users is missing: wanted --users, who are asked for a report")
    accounting = {"rounds": given["rounds"], "trust": trust}
    data = {"column": given["column"]} if given["column"] is not None else None
    text = _text(description, given["title"], population, target, accounting, data)
    _save(text, out)


def _text(
    description: dict[str, Any],
    title: str | None,
    population: dict[str, Any],
    target: dict[str, Any],
    accounting: dict[str, Any],
    data: dict[str, Any] | None,
) -> str:
    source = source_from_dict(description)
    table, cls = source.to_dict(), described(description["name"])
    users = _check.count("users", population["users"])
    tables = {
        "title": title if title is not None else f"{mechanism_label(table)}, {users:,} users",
        "population": {**population, "users": users},
        "randomizer": table,
        "target": target,
        "accounting": accounting,
        "data": data,
    }
    said = {one.name: one.words for one in parameters_of(cls)}
    return load_template().commented_text(tables, said=said, summary=cls.summary)


def _save(text: str, out: str) -> None:
    """A new file, all of it or nothing: never over one that is there, nor through a link."""
    if out == _STDOUT:
        click.echo(text, nl=False)
        return
    path = Path(out)
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                with contextlib.suppress(OSError):
                    path.unlink()
                raise
    except FileExistsError:
        raise rejected("out", out, "a new name; that file is there already") from None
    except OSError as error:
        raise ParameterError(f"out = {out!r}: {unreadable(error)}; wanted a new file") from None
    click.echo(f"wrote {path}\nnext: shuffledp account {shlex.quote(str(path))}")


# ------------------------------------------------------------------------------- the questions


class _Asking(MechanismCommand):
    """Without arguments: questions on a terminal, help elsewhere."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing and _on_terminal():
            ask()
            ctx.exit()
        return super().parse_args(ctx, args)


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask() -> None:
    """Ask for one table after another until it is one, and write the file."""
    load_template()
    click.echo("A deployment file. Enter takes what stands in brackets; Ctrl-C ends.", err=True)
    click.echo("Mechanisms (more on each: shuffledp list mechanisms):", err=True)
    click.echo(click.wrap_text(", ".join(names()), 78, "  ", "  "), err=True)
    name = _until(lambda: known_name("mechanism", _answer("Mechanism", default="k-rr"), names()))
    description = _until(lambda: _mechanism(name))
    population = _until(_population)
    target = _until(_targets)
    accounting = _until(lambda: _accounting(description))
    title = _until(_title)
    text = _text(description, title, population, target, accounting, None)
    _until(lambda: _save(text, _answer("File to write", default=_FILE)))


@contextlib.contextmanager
def _shown() -> Iterator[None]:
    """What is refused is said, and asked again."""
    try:
        yield
    except ShuffleDPError as error:
        click.echo(f"  {error}", err=True)


def _until(question: Callable[[], Any]) -> Any:
    """Ask again until the answers are accepted; what is wrong is one line."""
    while True:
        with _shown():
            return question()


def _answer(words: str, *, default: Any = None) -> str:
    """One answer; empty where there is no default and none is given."""
    shown = "" if default is None else str(default)
    return str(click.prompt(words, default=shown, show_default=bool(shown), err=True)).strip()


def _value(words: str, kind: click.ParamType, name: str, *, default: Any = None) -> Any:
    """An answer as an option of this kind would read it; None where there is none."""
    text = _answer(words, default=default)
    return None if text == "" else kind.convert(text, click.Option([f"--{name}"]), None)


def _mechanism(name: str) -> dict[str, Any]:
    """The table of a mechanism, asked for parameter by parameter and made once."""
    found: dict[str, Any] = {"name": name}
    for option in mechanism_options(name):
        if option.is_flag:
            found[str(option.name)] = click.confirm(_said(option), default=False, err=True)
            continue
        default = None if option.required else option.default
        value = _value(_said(option), option.type, str(option.name), default=default)
        if value is None and option.required:
            raise ParameterError(f"{option.name} is missing: wanted a value")
        if value is not None:
            found[str(option.name)] = value
    source_from_dict(found)
    return found


def _said(option: click.Option) -> str:
    return f"{option.name} ({option.help})" if option.help else str(option.name)


def _population() -> dict[str, Any]:
    found = {
        "users": _value("Users who are asked for a report", Whole(), "users"),
        "participation": _value(
            "Share of them whose report arrives", Number(), "participation", default="1.0"
        ),
        "minimum_batch": _value(
            "Messages below which the shuffler releases nothing (empty: no such limit)",
            Whole(),
            "minimum-batch",
        ),
        "colluding": _value(
            "Share of a batch whose senders tell the analyst", Number(), "colluding", default="0.0"
        ),
    }
    return _tried("population", found)


def _targets() -> dict[str, Any]:
    delta = _value("delta, at which eps is bounded", Number(), "delta", default="1e-8")
    limit = _value("eps may be at most (nats; empty: no limit)", Number(), "at-most")
    return _tried("target", {"delta": delta, "at_most": limit})


def _accounting(description: Mapping[str, Any]) -> dict[str, Any]:
    if description["name"] in protocol_names():
        return {"rounds": 1}
    words = "Rounds in which every user takes part"
    return _tried("accounting", {"rounds": _value(words, Whole(), "rounds", default="1")})


def _title() -> str | None:
    title = _answer("Title (empty: mechanism and users)") or None
    if title is not None:
        _tried("title", title)
    return title


def _tried(name: str, value: Any) -> Any:
    """The table, if a deployment file may have it."""
    given = value
    if isinstance(value, dict):
        given = {key: one for key, one in value.items() if one is not None}
    load_deployment().parse({**_ANY, name: given}, where="answers")
    return value


init = _Asking(
    "init",
    _write,
    summary="Write a deployment file to begin with: every key with a comment.\n\n"
    "Without arguments it asks, on a terminal. What is not given is switched off in the file, "
    "beside what it would say; `shuffledp account` accepts it as it is.",
    example="shuffledp init k-rr --k 50 --eps0 4 --users 500000 --minimum-batch 10000 --delta 1e-8",
    options=_OPTIONS,
)
