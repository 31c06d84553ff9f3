"""``shuffledp randomizers`` and ``shuffledp analyses``: what there is."""

from __future__ import annotations

from typing import Any

import click

from shuffledp import analyses as certified_analyses
from shuffledp import protocol_names, randomizer_names
from shuffledp.cli.mechanisms import by_task, task_of
from shuffledp.cli.text import print_json
from shuffledp.mechanism import parameters_of
from shuffledp.multimessage import MultiMessage, protocol_class
from shuffledp.published import UNCERTIFIED
from shuffledp.randomizers import Randomizer, randomizer_class

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.command(short_help="The mechanisms there are, with their parameters.")
@_JSON
def randomizers(as_json: bool) -> None:
    """List the mechanisms with their parameters: names for the command line and for files."""
    rows = [_describe(randomizer_class(name)) for name in randomizer_names()]
    rows += [_describe(protocol_class(name)) for name in protocol_names()]
    rows.append(
        {"name": "generic", "summary": "any eps0-LDP randomizer", "parameters": "eps0 [adaptive]"}
    )
    rows = [{**row, "task": task_of(row["name"])} for row in rows]
    if as_json:
        print_json(rows)
        return
    wide = max(len(row["name"]) for row in rows)
    named = {row["name"]: row for row in rows}
    for task, names in by_task(named).items():
        click.echo(f"{task}:")
        for name in names:
            click.echo(f"  {name:{wide}}  {named[name]['summary']}")
            click.echo(f"  {'':{wide}}  parameters: {named[name]['parameters']}")
    click.echo("\nParameters in brackets are optional. Next: shuffledp epsilon NAME --help")


@click.command(short_help="The analyses there are, each with its theorem.")
@_JSON
def analyses(as_json: bool) -> None:
    """List the analyses, each with its theorem, and the published formulas, which are estimates."""
    listed = (*certified_analyses(), *UNCERTIFIED.values())
    if as_json:
        print_json(
            [
                {
                    "key": one.key,
                    "end": one.end,
                    "certified": one.end != "estimate",
                    "validity": one.validity,
                    "theorem": one.theorem.to_dict(),
                }
                for one in listed
            ]
        )
        return
    for one in listed:
        formula = one.end == "estimate"
        what = "estimate" if formula else f"{one.end} bound; {one.theorem.provenance}"
        click.echo(f"{one.key}  ({what})")
        click.echo(f"    {one.theorem.title}")
        click.echo(f"    source:    {one.theorem.source}")
        click.echo(f"    holds for: {one.validity}")


def _describe(cls: type[Randomizer | MultiMessage]) -> dict[str, Any]:
    words = [
        one.name if one.required else f"[{one.name} = {one.default}]" for one in parameters_of(cls)
    ]
    return {"name": cls.name, "summary": cls.summary, "parameters": " ".join(words)}
