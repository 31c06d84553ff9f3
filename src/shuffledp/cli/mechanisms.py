"""One subcommand for each registered randomizer, its options made from the class's signature."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from shuffledp import generic, protocol_names, randomizer_names, shuffle
from shuffledp.cli.group import OneLineGroup
from shuffledp.cli.types import MatrixFile, Number, Numbers, Tables, Whole
from shuffledp.multimessage import MultiMessage, protocol_class
from shuffledp.randomizers import Randomizer, randomizer_class
from shuffledp.shuffle import Shuffled

Action = Callable[..., Any]

_HELP = {
    "eps0": "Local privacy of one report, in nats.",
    "k": "Number of values a user may hold (subset: that a report names).",
    "d": "Number of values a user may hold (bits in a report).",
    "domain": "Number of values a user may hold.",
    "l": "Number of hash values.",
    "blocks": "Number of blocks of columns.",
    "top": "Largest value a user may hold; values are 0 .. TOP.",
    "clamped": "Reports are cut to the range of the values.",
    "margin": "How far beyond the values reports may reach, in their units.",
    "width": "Share of a step that is high; by default the one with the least noise.",
    "scale": "Scale of the noise, in the units of the value.",
    "shape": "Exponent of the noise: 1 Laplace, 2 Gaussian.",
    "sigma": "Standard deviation of the noise, in the units of the value.",
    "low": "Smallest value a user may hold.",
    "high": "Largest value a user may hold.",
    "binary": "Users hold LOW or HIGH and nothing between.",
    "randomizers": "The parts, as a JSON list of tables, or a file with one.",
    "randomizer": "The mechanism, as a JSON table, or a file with one.",
    "weights": "Probability of each part, with commas: 0.3,0.7.",
    "hamming": "Most attributes in which neighbouring records differ.",
    "rate": "Probability of taking part.",
    "branching": "Children of a node of the tree.",
    "base": "Mechanism of every level: k-rr, rappor, oue, blh or olh.",
    "s": "Items, or pairs, of one user.",
    "c": "Share of the sphere in the cap.",
    "p": "Length of an arc, of a circle of length 1.",
    "padding": "Users may hold fewer pairs.",
    "pattern": "1 where the input (row) favours the output (column), else 0; CSV or JSON.",
    "matrix": "P(output | input): one row an input; CSV, or JSON as a list of rows.",
}
_PROTOCOL_HELP = {
    "d": "Number of values a user may hold (bins, for balls-into-bins).",
    "s": "Special bins of an item.",
    "p": "Probability that a blanket bit is 1.",
    "f": "Probability of a flip, or of another value.",
    "blankets": "Blanket messages of each user.",
    "rate": "Probability that a blanket message is sent.",
}
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
    """Group with one subcommand a randomizer; ``action(request, **options)`` does the work."""
    group = OneLineGroup(
        name, help=f"{summary}\n\n\b\nExample:\n  {example}", subcommand_metavar="RANDOMIZER ..."
    )
    for mechanism in randomizer_names():
        group.add_command(_mechanism_command(randomizer_class(mechanism), action, options))
    for protocol in protocol_names():
        group.add_command(_mechanism_command(protocol_class(protocol), action, options))
    group.add_command(_generic_command(action, options))
    return group


def parameter_types(cls: type[Randomizer | MultiMessage]) -> dict[str, tuple[Any, Any]]:
    """Constructor parameters of a mechanism: name -> (annotation, default or empty)."""
    hints = typing.get_type_hints(cls.__init__)
    return {
        key: (hints.get(key), parameter.default)
        for key, parameter in inspect.signature(cls).parameters.items()
    }


def _mechanism_command(
    cls: type[Randomizer | MultiMessage], action: Action, options: tuple[click.Option, ...]
) -> click.Command:
    own = parameter_types(cls)

    def run(n: Any, trust: str, rtol: float, **values: Any) -> Any:
        randomizer = cls(**{key: values.pop(key) for key in own})
        request = Request(
            lambda users: shuffle(randomizer, n=users, rtol=rtol, trust=trust),  # type: ignore[arg-type]
            mechanism_label(randomizer.to_dict()),
            n,
        )
        return action(request, **values)

    words = _PROTOCOL_HELP if issubclass(cls, MultiMessage) else _HELP
    made = [_option(key, kind, default, words.get(key)) for key, (kind, default) in own.items()]
    return _command(cls.name, run, cls.summary, [*made, *options, *_COMMON])


def _generic_command(action: Action, options: tuple[click.Option, ...]) -> click.Command:
    def run(n: Any, trust: str, rtol: float, eps0: float, *, adaptive: bool, **values: Any) -> Any:
        request = Request(
            lambda users: generic(eps0=eps0, n=users, adaptive=adaptive, rtol=rtol, trust=trust),  # type: ignore[arg-type]
            mechanism_label({"name": "generic", "eps0": eps0, "adaptive": adaptive}),
            n,
        )
        return action(request, **values)

    own = [
        _option("eps0", float, inspect.Parameter.empty, _HELP["eps0"]),
        click.Option(
            ["--adaptive"],
            is_flag=True,
            help="A randomizer may depend on the messages before it.",
        ),
    ]
    return _command("generic", run, "any eps0-LDP randomizer", [*own, *options, *_COMMON])


def _command(name: str, run: Action, summary: str, params: list[click.Option]) -> click.Command:
    text = f"{summary}."
    # A click.Parameter keeps no state of a run, so commands may share theirs.
    return click.Command(name, callback=run, params=list(params), help=text, short_help=text)


def _option(key: str, annotation: Any, default: Any, text: str | None) -> click.Option:
    required = default is inspect.Parameter.empty
    names = [f"--{key.replace('_', '-')}", key]
    text = _HELP.get(key)
    if annotation is bool:
        return click.Option(names, is_flag=True, default=not required and default, help=text)
    kinds = typing.get_args(annotation) or (annotation,)  # int | None is a number too
    kind: click.ParamType = MatrixFile()
    if annotation is str:
        kind = click.STRING
    elif Randomizer in kinds:
        kind = Tables()
    elif typing.get_origin(annotation) is tuple and float in kinds:
        kind = Numbers()
    elif int in kinds or float in kinds:
        kind = Whole() if int in kinds else Number()
    if required:
        return click.Option(names, type=kind, required=True, help=text)
    return click.Option(names, type=kind, default=default, show_default=True, help=text)


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
