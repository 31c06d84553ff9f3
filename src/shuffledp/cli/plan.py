"""``shuffledp plan``: every mechanism for a task at one central guarantee, by its error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shuffledp import _check
from shuffledp.cli.extras import load_planning, load_plots
from shuffledp.cli.folder import (
    FIGURES,
    figure_option,
    figure_writer,
    files_in,
    out_option,
    text_writer,
)
from shuffledp.cli.progress import progress, teller
from shuffledp.cli.text import print_json
from shuffledp.planner import Curves, Plan, errors_over_n
from shuffledp.values.characters import visible

_FACTORS, _FEW = (0.01, 0.1, 10.0), (0.1, 10.0)
# For the errors at other n: a calibration begun is finished, and a plan with its figure is to take
# a minute.
_SECONDS = 8.0


@click.command(short_help="Which mechanism is the most accurate at a central guarantee.")
@click.argument("file", metavar="PLAN.toml")
@out_option
@figure_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the plan as JSON and nothing else; files only with --out.",
)
def plan(file: str, out: str | None, figure: str, as_json: bool) -> None:
    """Calibrate every mechanism for a task to the same certified central guarantee.

    A table by error to three digits (of equal ones the fewest bits first), from the mechanisms'
    exact variances; DIRECTORY/NAME.deployment.toml, for `shuffledp account`: the first of them that
    sends one noisy message a user; DIRECTORY/NAME.png, error over n. Below the table: what a
    trusted server's noise would give at the same eps and delta after all rounds, the less of
    Laplace noise at eps/rounds and Gaussian noise for all rounds together, and no shuffler.

    \b
    A plan file:
      title = "Which page was opened last"
      [task]
      kind = "frequencies"     # mean, ranges, heavy-hitters
      values = 50              # mean: low, high; heavy-hitters: bits
      [population]             # as in a deployment file
      users = 500_000
      minimum_batch = 10_000
      [target]
      epsilon = 1.0            # after all rounds
      delta = 1e-8
      rounds = 12              # optional
      [limits]                 # optional
      bits_per_user = 64
      eps0 = 4.0               # what a report alone may give away
    """  # noqa: D301
    _check.choice("figure", figure, FIGURES)
    planning = load_planning()
    loaded = planning.load_plan(file)
    directory = None if out is None and as_json else Path(out or ".")
    plots = load_plots() if figure != "none" and directory is not None else None
    stem = loaded.path.stem
    names = [f"{stem}.deployment.toml", *([] if plots is None else [f"{stem}.{figure}"])]
    with files_in(directory, names, inputs=[file]) as held, progress("planning") as status:
        tell = teller(status, stem)
        found = planning.run_plan(loaded.content, report=tell)
        writers: dict[str, Callable[[Path], None]] = {}
        if found.recommended is not None:
            text = planning.deployment_text(loaded.content, found.recommended)
            writers[f"{stem}.deployment.toml"] = text_writer(text)
        if plots is not None and found.rows:
            drawn = plots.plan_figure(found, _curves(found, tell), title=loaded.content.title)
            writers[f"{stem}.{figure}"] = figure_writer(plots, drawn, figure)
        if directory is not None:
            for name, write in writers.items():
                write(held.path(directory / name))
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(visible(loaded.content.title))
    click.echo(str(found))
    _say_written(directory, writers)


def _curves(found: Plan, tell: Callable[[str], None]) -> Curves:
    """Errors at a few other n: fewer where a calibration takes seconds."""
    factors = _FACTORS if found.rounds == 1 else _FEW
    ns = [max(1, round(found.n * factor)) for factor in factors]
    return errors_over_n(found, ns, report=tell, seconds=_SECONDS)


def _say_written(directory: Path | None, writers: dict[str, Any]) -> None:
    if directory is None or not writers:
        return
    click.echo("\nwrote " + "\n      ".join(str(directory / name) for name in writers))
    for name in writers:
        if name.endswith(".deployment.toml"):
            click.echo(f"next: shuffledp account {directory / name}")
