"""One subcommand for each mechanism, its options from the class's signature and documentation."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from shuffledp import generic, protocol_names, randomizer_names, shuffle
from shuffledp.amplification import Shuffled
from shuffledp.analysis import Family
from shuffledp.cli.group import Commands, OneLineGroup
from shuffledp.cli.progress import progress
from shuffledp.cli.types import MatrixFile, Number, Numbers, Tables, Whole
from shuffledp.mechanism import Mechanism, Parameter, mechanism_class, parameters_of
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer

Action = Callable[..., Any]
GENERIC = Family.name
Source = Randomizer | MultiMessage | Family

# Added to what a class says of a parameter, where it is typed differently from Python.
_TYPED = {
    "randomizers": "Here a JSON list of tables, or a file with one.",
    "randomizer": "Here a JSON table, or a file with one.",
    "weights": "With commas: 0.3,0.7.",
    "matrix": "A file: CSV, or JSON as a list of rows.",
    "pattern": "A file: CSV, or JSON as a list of rows.",
}
_TASKS = (
    "Shares of items, one a user",
    "Shares of items, a set a user",
    "Means of numbers",
    "Means of vectors",
    "Made of other mechanisms",
    "Several messages a user (the shuffler is all they have)",
    "Any other",
)
_COMMON = (
    click.Option(
        ["--trust"],
        default="all",
        show_default=True,
        metavar="all|published",
        help="'published' leaves out what is proved only in docs/theory.md.",
    ),
    click.Option(
        ["--rtol"],
        type=Number(),
        default=1e-6,
        show_default=True,
        help="Relative width wanted of the numerical bracket.",
    ),
)


@dataclass(frozen=True)
class Request:
    """What was asked for: how to build the accountant for any n, and its description."""

    build: Callable[[Any], Shuffled]
    label: str
    n: Any


def per_mechanism(
    name: str, action: Action, *, summary: str, example: str, options: tuple[click.Option, ...]
) -> click.Group:
    """Group with one subcommand a mechanism; ``action(request, **options)`` does the work."""

    def complete(description: dict[str, Any], n: Any, trust: Any, rtol: float, **more: Any) -> Any:
        with progress(f"setting up {description['name']}"):
            source = source_from_dict(description)

        def build(users: Any) -> Shuffled:
            return accountant(source, users, rtol=rtol, trust=trust)

        return action(Request(build, mechanism_label(source.to_dict()), n), **more)

    return mechanism_group(name, complete, summary=summary, example=example, options=options)


def mechanism_group(
    name: str,
    action: Action,
    *,
    summary: str,
    example: str,
    options: tuple[click.Option, ...],
    partial: bool = False,
) -> click.Group:
    """Group with one subcommand a mechanism: ``action(description, trust=, rtol=, **options)``.

    Parameters
    ----------
    name : str
        Of the group.
    action : callable
        Its first argument is the mechanism as a table: its name, and the parameters that were
        given or have defaults.
    summary, example : str
        For ``--help``.
    options : tuple of click.Option
        Those of every subcommand, beside the mechanism's own.
    partial : bool
        Parameters may be missing, and have no defaults: what is not given is not in the table.
    """
    names = (*randomizer_names(), *protocol_names(), GENERIC)
    makers = {key: functools.partial(_command, key, action, options, partial) for key in names}
    return _MechanismGroup(
        name,
        commands=Commands(makers),
        help=f"{summary}\n\n\b\nExample:\n  {example}",
        subcommand_metavar="MECHANISM ...",
    )


class _MechanismGroup(OneLineGroup):
    """Its subcommands are mechanisms: listed by what they are for."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section for each task, all of one width."""
        wide = max(map(len, self.commands))
        room = formatter.width - 6 - wide
        for task, names in by_task(self.list_commands(ctx)).items():
            with formatter.section(task):
                rows = [(name, self.commands[name].get_short_help_str(room)) for name in names]
                formatter.write_dl([(name.ljust(wide), words) for name, words in rows])


def by_task(names: Iterable[str]) -> dict[str, list[str]]:
    """Mechanisms by what they are for, in the order in which a reader looks for them."""
    found: dict[str, list[str]] = {task: [] for task in _TASKS}
    for name in names:
        found[task_of(name)].append(name)
    return {task: members for task, members in found.items() if members}


def task_of(name: str) -> str:
    """What a mechanism is for."""
    return _TASKS[-1] if name == GENERIC else mechanism_class(name).task


def source_from_dict(description: Mapping[str, Any]) -> Source:
    """The mechanism, protocol or family of all mechanisms that a table describes."""
    name = description["name"]
    if name == GENERIC:
        return typing.cast(Family, generic(**_without_name(description), n=1).source)
    return mechanism_class(name)(**_without_name(description))  # type: ignore[return-value]


def accountant(source: Source, n: Any, *, rtol: float, trust: Any) -> Shuffled:
    """The source among n users."""
    if not isinstance(source, Family):
        return shuffle(source, n=n, rtol=rtol, trust=trust)
    return generic(**_without_name(source.to_dict()), n=n, rtol=rtol, trust=trust)


def _without_name(description: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in description.items() if key != "name"}


def described(name: str) -> type[Mechanism | Family]:
    """What declares a mechanism's parameters and says what it is: its class, or the family."""
    return Family if name == GENERIC else mechanism_class(name)


def _command(
    name: str, action: Action, options: tuple[click.Option, ...], partial: bool
) -> click.Command:
    cls = described(name)
    names = [one.name for one in parameters_of(cls)]

    def run(**values: Any) -> Any:
        own = {key: values.pop(key) for key in names}
        # Of what may be missing, None says that it is; a flag that is not set is no parameter.
        given = {k: v for k, v in own.items() if v is not None and not (partial and v is False)}
        return action({"name": name, **given}, **values)

    made = mechanism_options(name, partial=partial)
    text = f"{cls.summary}."
    # A click.Parameter keeps no state of a run, so commands may share theirs.
    params: list[click.Parameter] = [*made, *options, *_COMMON]
    return click.Command(name, callback=run, params=params, help=text, short_help=text)


def mechanism_options(name: str, *, partial: bool = False) -> list[click.Option]:
    """An option for each parameter of a mechanism, as its class declares it."""
    return [_option(one, partial=partial) for one in parameters_of(described(name))]


def _option(parameter: Parameter, *, partial: bool) -> click.Option:
    key, default, required = parameter.name, parameter.default, parameter.required
    text = " ".join(filter(None, (parameter.words, _TYPED.get(key)))) or None
    names = [f"--{key.replace('_', '-')}", key]
    if parameter.kind is bool:
        return click.Option(names, is_flag=True, default=not required and default, help=text)
    kind = _kind_of(parameter.kind)
    if required:
        return click.Option(names, type=kind, required=not partial, help=text)
    if partial:
        shown = None if default is None else str(default)
        return click.Option(names, type=kind, show_default=shown or False, help=text)
    return click.Option(names, type=kind, default=default, show_default=True, help=text)


def _kind_of(annotation: Any) -> click.ParamType:
    """How a parameter of this type is typed on a command line."""
    kinds = typing.get_args(annotation) or (annotation,)  # int | None is a number too
    if annotation is str:
        return click.STRING
    if Randomizer in kinds:
        return Tables()
    if typing.get_origin(annotation) is tuple and float in kinds:
        return Numbers()
    if int in kinds or float in kinds:
        return Whole() if int in kinds else Number()
    return MatrixFile()


def mechanism_label(description: dict[str, Any]) -> str:
    """One line for a mechanism: ``k-rr, k = 10, eps0 = 4``; a matrix by its shape."""
    words = [str(description["name"])]
    for key, value in description.items():
        if key == "name" or value is False or value is None:
            continue
        if isinstance(value, Mapping):
            words.append(f"[{mechanism_label(dict(value))}]")
        elif isinstance(value, list | tuple):
            words.append(_list_label(key, value))
        elif value is True:
            words.append(key)
        elif isinstance(value, str):
            words.append(f"{key} = {value}")
        else:
            words.append(f"{key} = {value:,}" if isinstance(value, int) else f"{key} = {value:g}")
    return ", ".join(words)


def _list_label(key: str, value: Sequence[Any]) -> str:
    """Parts in brackets, numbers with their name, a matrix by its shape."""
    if isinstance(value[0], Mapping):
        return "; ".join(f"[{mechanism_label(dict(part))}]" for part in value)
    if isinstance(value[0], list | tuple):
        return f"{len(value)} x {len(value[0])}"
    return f"{key} = " + ", ".join(f"{number:g}" for number in value)
