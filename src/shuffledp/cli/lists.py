"""``shuffledp list``: mechanisms, theorems, warnings, and the schema of deployment files."""

from __future__ import annotations

from typing import Any

import click

from shuffledp import _check
from shuffledp import analyses as certified_analyses
from shuffledp.accounts.sources import source_class, source_names
from shuffledp.amplification.analyses import UNCERTIFIED
from shuffledp.cli.mechanisms import by_task, task_of
from shuffledp.cli.text import print_json
from shuffledp.mechanism.parameters import parameters_of

_WHAT = ("mechanisms", "theorems", "warnings", "schema")


@click.command(name="list", short_help="Mechanisms, theorems, warnings, the schema of files.")
@click.argument("what", metavar="mechanisms|theorems|warnings|schema")
@click.option("-v", "--verbose", is_flag=True, help="Of theorems also titles, sources, validity.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def listed(what: str, verbose: bool, as_json: bool) -> None:
    """List what there is.

    \b
      mechanisms   names for the command line and for files, by what they are for
      theorems     the analyses, each with its theorem, and the published formulas
      warnings     names of warnings that --no-warn switches off
      schema       JSON Schema of the deployment file, for editors and other tools
    """  # noqa: D301
    if _check.choice("what", what, _WHAT) == "theorems":
        _theorems(as_json=as_json, verbose=verbose)
        return
    {"mechanisms": _mechanisms, "warnings": _warnings, "schema": _schema}[what](as_json=as_json)


def _mechanisms(*, as_json: bool) -> None:
    rows = [
        {
            "name": name,
            "summary": source_class(name).summary,
            "parameters": " ".join(
                one.name if one.required else f"[{one.name} = {one.default}]"
                for one in parameters_of(source_class(name))
            ),
            "task": task_of(name),
        }
        for name in source_names()
    ]
    if as_json:
        print_json(rows)
        return
    wide = max(len(row["name"]) for row in rows)
    named = {row["name"]: row for row in rows}
    for task, members in by_task(named).items():
        click.echo(f"{task}:")
        for name in members:
            click.echo(f"  {name:{wide}}  {named[name]['summary']}")
    click.echo("\nParameters: shuffledp epsilon NAME --help, or --json here")


def _theorems(*, as_json: bool, verbose: bool) -> None:
    rows = (*certified_analyses(), *UNCERTIFIED.values())
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
                for one in rows
            ]
        )
        return
    wide = max(len(one.key) for one in rows)
    for one in rows:
        formula = one.end == "estimate"
        what = "estimate" if formula else f"{one.end} bound, {one.theorem.provenance}"
        click.echo(f"{one.key:{wide}}  {what}")
        if not verbose:
            continue
        click.echo(f"    {one.theorem.title}")
        click.echo(f"    source:    {one.theorem.source}")
        click.echo(f"    holds for: {one.validity}")


def _warnings(*, as_json: bool) -> None:
    from shuffledp.review.cautions import NAMES

    rows: list[dict[str, Any]] = [{"name": name, "says": says} for name, says in NAMES.items()]
    if as_json:
        print_json(rows)
        return
    wide = max(len(row["name"]) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:{wide}}  {row['says']}")


def _schema(*, as_json: bool) -> None:
    del as_json  # it is JSON
    from shuffledp.deployment.schema import json_schema

    print_json(json_schema())
