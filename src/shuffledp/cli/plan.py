"""``shuffledp plan``: mechanisms for a task by their error, and the deployment file of one."""

from __future__ import annotations

import dataclasses
import os
import shlex
from typing import Any

import click

from shuffledp.accounts.sources import source_from_dict
from shuffledp.cli.mechanisms import MechanismCommand, mechanism_label
from shuffledp.cli.progress import progress, teller
from shuffledp.cli.text import print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, rejected
from shuffledp.planner import TASKS, make_task

_SUMMARY = """Choose the most accurate mechanism at a central guarantee.

The first word is a task: frequencies, mean, ranges or heavy-hitters. Every mechanism for it is
calibrated to the same eps and delta, after all rounds and at the minimum batch. The table is by
error to three digits, from the mechanisms' exact variances; of equal errors the fewest bits come
first. --output writes the deployment file of the first that sends one noisy message a user.

Or the first word is a mechanism: --output writes the deployment file of that one, as it is given,
with every key explained. A file that is there is not written over."""
_EXAMPLES = """shuffledp plan frequencies --values 50 -n 500000 --epsilon 1 --delta 1e-8
  shuffledp plan mean --low 0 --high 24 -n 200000 --epsilon 2 --delta 1e-7 -o deployment.toml
  shuffledp plan k-rr --k 50 --eps0 7.3 -n 500000 --delta 1e-8 -o deployment.toml"""
# Keys of a deployment's population beside its users.
_POPULATION = (
    click.Option(["--participation"], type=Number(), help="Share of them whose report arrives."),
    click.Option(["--minimum-batch"], type=Whole(), help="The shuffler releases no smaller batch."),
    click.Option(
        ["--colluding"], type=Number(), help="Share of a batch in league with the analyst."
    ),
)


def _plan(
    description: dict[str, Any],
    *,
    n: Any,
    output: str | None,
    plot: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    population = {"users": n, **{one.name: given.pop(one.name) for one in _POPULATION}}
    _check_given(n, given["delta"], output)
    task = description["name"] in TASKS
    with files_written([("output", output), ("plot", plot)]) as held:
        if task:
            made = _ranked(description, population, **given)
            best = made.found.recommended
            text = None if best is None else made.text(best)
            if plot is not None and made.found.rows:
                from shuffledp import plots

                plots.save(plots.picture(made.found.plot), held.path(plot))
        else:
            made = None
            text = _as_given(description, population, plot=plot, as_json=as_json, **given)
        if output is not None and text is not None:
            held.write(output, text)
    if as_json and made is not None:
        print_json(made.found.to_dict())
    elif made is not None or output is None:
        click.echo(text if made is None else f"{made.found}\n", nl=False)
    if output is not None and text is not None:
        click.echo(f"wrote {output}; next: shuffledp account {shlex.quote(output)}", err=True)


def _check_given(n: Any, delta: Any, output: str | None) -> None:
    """What a task and a mechanism both want; a file that is there may be edited by now."""
    if n is None:
        raise ParameterError("n is missing: wanted -n, the users who are asked for a report")
    if delta is None:
        raise ParameterError("delta is missing: wanted --delta, at which eps is bounded")
    if output is not None and os.path.lexists(output):
        raise rejected("output", output, "a new name; that file is there already")


def _ranked(
    description: dict[str, Any],
    population: dict[str, Any],
    *,
    epsilon: Any,
    delta: Any,
    rounds: Any,
    most_bits: Any,
    most_eps0: Any,
) -> Any:
    """The plan of a task."""
    from shuffledp.deployment.plan import planned

    if epsilon is None:
        raise ParameterError("epsilon is missing: wanted --epsilon, the central eps to meet")
    about = {key: value for key, value in description.items() if key != "name"}
    task = make_task(description["name"], **about)
    with progress("planning") as status:
        return planned(
            task,
            title=task.label[0].upper() + task.label[1:],
            population=population,
            where="plan",
            report=teller(status, task.name),
            epsilon=epsilon,
            delta=delta,
            rounds=rounds,
            limit=most_bits,
            local=most_eps0,
        )


def _as_given(
    description: dict[str, Any],
    population: dict[str, Any],
    *,
    plot: str | None,
    as_json: bool,
    epsilon: Any,
    delta: Any,
    rounds: Any,
    **limits: Any,
) -> str:
    """The deployment file of one mechanism with its parameters."""
    from shuffledp.deployment.text import deployment_text

    for name, value in {**limits, "plot": plot, "json": as_json or None}.items():
        if value is not None:
            wanted = f"none with a mechanism, for tasks alone: {', '.join(TASKS)}"
            raise rejected(name, value, wanted)
    table = source_from_dict(description).to_dict()
    tables = {
        "title": f"{mechanism_label(table)}, {population['users']:,} users",
        "population": population,
        "randomizer": table,
        "target": {"delta": delta, "at_most": epsilon},
        "accounting": {"rounds": rounds} if rounds != 1 else {},
    }
    return deployment_text(tables)


def _task_options(name: str) -> list[click.Option]:
    """An option for each parameter of a task."""
    task: Any = TASKS[name]
    return [
        click.Option(
            [f"--{one.name}"],
            type=Whole() if str(one.type).startswith("int") else Number(),
            required=one.default is dataclasses.MISSING,
            help=one.metadata["words"],
        )
        for one in dataclasses.fields(task)
    ]


def _summary_of(name: str) -> str:
    return (TASKS[name].__doc__ or "").replace("``", "").rstrip(".")


plan = MechanismCommand(
    "plan",
    _plan,
    summary=_SUMMARY,
    example=_EXAMPLES,
    tasks={name: (_task_options, _summary_of(name)) for name in TASKS},
    options=(
        click.Option(["-n", "--n"], type=Whole(), help="Users who are asked for a report."),
        *_POPULATION,
        click.Option(["--epsilon"], type=Number(), help="Central eps to meet, in nats."),
        click.Option(["--delta"], type=Number(), help="Central delta to meet."),
        click.Option(
            ["--rounds"],
            type=Whole(),
            default=1,
            show_default=True,
            help="Rounds in which every user takes part.",
        ),
        click.Option(["--most-bits"], type=Whole(), help="Bits that a user may send in a round."),
        click.Option(
            ["--most-eps0"], type=Number(), help="What a report alone may give away, in nats."
        ),
        click.Option(["-o", "--output"], metavar="FILE.toml", help="The deployment file."),
        click.Option(["--plot"], metavar="FILE", help="A picture: .png, .svg or .pdf."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON and nothing else."),
    ),
)
