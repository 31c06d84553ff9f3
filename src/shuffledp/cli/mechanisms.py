"""Commands about one mechanism: its name comes first, its own options are read from its class."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from shuffledp.accounts.sources import source_class, source_names
from shuffledp.cli.types import MatrixFile, Number, Numbers, Tables, Whole
from shuffledp.mechanism.base import known_name, spelled
from shuffledp.mechanism.parameters import Parameter, parameters_of
from shuffledp.randomizers import Randomizer

Action = Callable[..., Any]

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
# Where a context keeps the mechanism that the command line names.
_NAMED = "shuffledp.mechanism"


class MechanismCommand(click.Command):
    """A command whose first word names a mechanism, with that mechanism's parameters as options.

    Parameters
    ----------
    name : str
        Of the command.
    action : callable
        ``action(description, **options)``; the description is the mechanism as a table: its name,
        and the parameters that were given or have defaults.
    summary, example : str
        For ``--help``.
    options : sequence of click.Option
        The command's own, whatever the mechanism.
    partial : bool
        Parameters may be missing, and have no defaults: what is not given is not in the table.
    tasks : mapping, optional
        Other first words that the command takes: what makes the options of one, and its summary.
    """

    def __init__(
        self,
        name: str,
        action: Action,
        *,
        summary: str,
        example: str,
        options: Sequence[click.Option],
        partial: bool = False,
        tasks: Mapping[str, tuple[Callable[[str], list[click.Option]], str]] | None = None,
    ) -> None:
        words = f"{summary}\n\n\b\nExample:\n  {example}"
        super().__init__(
            name, callback=self._run, params=[_Named(["mechanism"]), *options], help=words
        )
        self._action, self._partial = action, partial
        self._tasks = {} if tasks is None else tasks

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the mechanism first; without a word the command is a question, not a mistake."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        if args and not args[0].startswith("-"):
            known = self.names()
            name = spelled(args[0])
            # A shell that asks how a word may go on has typed half a name.
            if name in known or not ctx.resilient_parsing:
                ctx.meta[_NAMED] = known_name("mechanism", name, known)
                args = [name, *args[1:]]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The mechanism's own options, once it is named, before the command's."""
        name: str | None = ctx.meta.get(_NAMED)
        own: list[click.Option] = []
        if name is not None and name in self._tasks:
            own = self._tasks[name][0](name)
        elif name is not None:
            own = mechanism_options(name, partial=self._partial)
        argument, *others = super().get_params(ctx)
        return [argument, *own, *others]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the command does, and what the mechanism is."""
        super().format_help_text(ctx, formatter)
        name: str | None = ctx.meta.get(_NAMED)
        if name is not None:
            formatter.write_paragraph()
            _, summary = self._tasks.get(name, ("", ""))
            summary = summary or source_class(name).summary
            formatter.write_text(f"{name}: {summary}.")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The mechanisms by what they are for, until one is named."""
        if ctx.meta.get(_NAMED) is not None:
            return
        wide = max(map(len, self.names()))
        if self._tasks:
            with formatter.section("Tasks"):
                formatter.write_dl([(k.ljust(wide), says) for k, (_, says) in self._tasks.items()])
        for task, members in by_task(source_names()).items():
            with formatter.section(task):
                formatter.write_dl(
                    [(one.ljust(wide), source_class(one).summary) for one in members]
                )

    def read(self, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The mechanism as a table, and the command's own options, of words that are not run."""
        with self.make_context(self.name, [*words]) as context:
            return self._parted(context)

    def _run(self, **values: Any) -> Any:
        del values
        description, others = self._parted(click.get_current_context())
        return self._action(description, **others)

    def _parted(self, context: click.Context) -> tuple[dict[str, Any], dict[str, Any]]:
        values = dict(context.params)
        mechanism = values.pop("mechanism")
        others = {one.name for one in super().get_params(context)}
        own = {key: values.pop(key) for key in [*values] if key not in others}
        # Of what may be missing, None says that it is; a flag that is not set is no parameter.
        given = {
            key: value
            for key, value in own.items()
            if value is not None and not (self._partial and value is False)
        }
        return {"name": mechanism, **given}, values

    def names(self) -> tuple[str, ...]:
        """What the first word may be."""
        return (*self._tasks, *source_names())


class _Named(click.Argument):
    """The mechanism's name: completed by a shell from all of them."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        command = typing.cast(MechanismCommand, ctx.command)
        return [CompletionItem(name) for name in command.names() if name.startswith(incomplete)]


def by_task(names: Iterable[str]) -> dict[str, list[str]]:
    """Mechanisms by what they are for, in the order in which a reader looks for them."""
    found: dict[str, list[str]] = {task: [] for task in _TASKS}
    for name in names:
        found[task_of(name)].append(name)
    return {task: members for task, members in found.items() if members}


def task_of(name: str) -> str:
    """What a mechanism is for."""
    return getattr(source_class(name), "task", _TASKS[-1])


def mechanism_options(name: str, *, partial: bool = False) -> list[click.Option]:
    """An option for each parameter of a mechanism, as its class declares it."""
    return [_option(one, partial=partial) for one in parameters_of(source_class(name))]


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
