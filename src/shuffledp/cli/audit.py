"""``shuffledp audit``: whether a program, and a shuffler, are what a deployment claims."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import click

from shuffledp.cli.extras import load_deployment
from shuffledp.cli.progress import Progress, progress
from shuffledp.cli.text import print_json
from shuffledp.cli.types import Number, Numbers, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError

REFUTED_STATUS = 1
_NAMES = {
    "DomainResult": "domain",
    "EstimatesResult": "estimates",
    "ShufflerResult": "shuffler",
}
_SOURCES = ("command", "reports", "own", "shuffler", "check")


@click.command(short_help="Test a program's reports against the certified law.")
@click.option("--deployment", metavar="FILE.toml", help="What is claimed.")
@click.option("--command", metavar="'PROGRAM ARG ...'", help="Values on stdin, reports on stdout.")
@click.option("--reports", metavar="FILE.jsonl", help='Lines {"value": ..., "report": ...}.')
@click.option("--own", is_flag=True, help="Audit this package's own randomizer.")
@click.option("--shuffler", metavar="'PROGRAM ARG ...'", help="Messages in, messages out.")
@click.option("--check", metavar="FILE.json", help="Judge the saved counts of an audit again.")
@click.option("-N", "--count", type=Whole(), help="Reports for each input.  [default: 100,000]")
@click.option("--alpha", type=Number(), default=0.05, show_default=True, help="Level, jointly.")
@click.option("--seed", type=Whole(), default=0, show_default=True, help="Of the inputs' order.")
@click.option("--delta", "deltas", type=Numbers(), metavar="D,D,...", help="For the central eps.")
@click.option("--outside", is_flag=True, help="Also give it values outside the domain.")
@click.option("--estimates", type=Whole(), metavar="R", help="Also estimate from R batches.")
@click.option("--batches", type=Whole(), default=100, show_default=True, help="For --shuffler.")
@click.option("--messages", type=Whole(), help="Of a batch for --shuffler.  [default: 1,000]")
@click.option("--timeout", type=Number(), default=600.0, show_default=True, help="Of one call, s.")
@click.option("--output", metavar="FILE.json", help="Plan, raw counts and result.")
@click.option("--text", "text_file", metavar="FILE.md", help="The result as it is printed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, nothing else.")
@click.pass_context
def audit(
    ctx: click.Context,
    deployment: str | None,
    check: str | None,
    output: str | None,
    text_file: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask a program for reports under known inputs and test them against the declared law.

    The answer is "refuted" at level alpha, or "not refuted" with the smallest violation that would
    have been found; there is no other. Inputs, cells and events are settled beforehand. --output
    keeps all raw counts: --check judges them again.

    \b
    The program is called at least eight times, with one JSON value a line:
      echo 3 | ./client        # writes one JSON report a line
    Numbers are reports of most mechanisms; bits of rappor and oue are lists of 0
    and 1. No shell is run, a status other than 0 is an error.

    \b
    Exit status: 0 not refuted, 1 refuted, 2 the input was refused.
    """  # noqa: D301
    chosen = [name for name in _SOURCES if given.get(name) or (name == "check" and check)]
    _sensible(chosen, deployment, more=[name for name in ("estimates", "outside") if given[name]])
    inputs = [deployment, check, given["reports"]]
    with files_written([("output", output), ("text", text_file)], inputs=inputs) as held:
        with progress("auditing") as status:
            parts = _audited(deployment, check, given, status)
        table = _table(parts)
        text = "\n".join(part.text() for part in parts)
        if output is not None:
            held.write(output, json.dumps(table, indent=1, allow_nan=False) + "\n")
        if text_file is not None:
            held.write(text_file, text)
    if as_json:
        print_json(table)
    else:
        click.echo(text, nl=False)
    refuted = any(part.verdict == "refuted" for part in parts)
    ctx.exit(REFUTED_STATUS if refuted else 0)


def _sensible(chosen: list[str], deployment: str | None, *, more: list[str]) -> None:
    """One source of reports, a shuffler or both; or saved counts alone."""
    sources = [name for name in chosen if name != "shuffler"]
    if len(sources) > 1 or not chosen:
        words = ", ".join(f"--{name}" for name in _SOURCES)
        raise ParameterError(f"audit: wanted one of {words} (--shuffler beside another)")
    if "check" in chosen:
        if deployment is not None or "shuffler" in chosen:
            raise ParameterError("check: wanted no other file or program beside saved counts")
    elif more and not {"command", "own"} & set(sources):
        raise ParameterError(f"{more[0]}: wanted --command or --own beside it")
    elif sources and deployment is None:
        raise ParameterError(f"deployment is missing: wanted --deployment FILE with --{sources[0]}")


def _audited(
    deployment: str | None, check: str | None, given: dict[str, Any], status: Progress
) -> list[Any]:
    from shuffledp.audit import result_from_file

    if check is not None:
        return [result_from_file(check)]
    claimed = None if deployment is None else load_deployment().load(deployment).deployment
    parts = []
    asked = any(given[source] for source in ("command", "reports", "own"))
    # Several audits share the level evenly.
    others = sum(bool(given[name]) for name in ("shuffler", "estimates", "outside"))
    alpha = given["alpha"] / max(1, asked + others)
    if asked:
        parts.append(_of_program(claimed, alpha, given, status))
    if given["outside"]:
        parts.append(_of_domain(parts[0], alpha, given, status))
    if given["estimates"]:
        parts.append(_of_estimates(parts[0].plan, alpha, given, status))
    if given["shuffler"]:
        parts.append(_of_shuffler(claimed, alpha, given, status))
    return parts


def _of_program(claimed: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
    from shuffledp import audit as audits
    from shuffledp.deployment.accounting import situations
    from shuffledp.deployment.model import GENERIC, is_protocol
    from shuffledp.randomizers import randomizer_from_dict

    table = claimed.randomizer
    if is_protocol(table) or table["name"] == GENERIC:
        raise ParameterError(
            f"randomizer.name = {table['name']!r}: wanted one mechanism that sends one report; "
            "an audit tests its law"
        )
    honest = situations(claimed)[0][1]
    numbers: dict[str, Any] = {"alpha": alpha, "seed": given["seed"]}
    if given["count"] is not None:
        numbers["reports"] = given["count"]
    if given["deltas"] is not None:
        numbers["deltas"] = tuple(given["deltas"])
    plan = audits.AuditPlan(
        randomizer=randomizer_from_dict(table), n=honest if honest > 1 else None, **numbers
    )
    if given["reports"]:
        return _of_file(plan, given)
    tally = audits.collected(
        plan,
        _program(plan, given),
        tell=lambda done: status.update(f"{done:,} of {plan.total:,} reports"),
    )
    status.update("judging")
    return audits.result_of(plan, tally)


def _program(plan: Any, given: dict[str, Any]) -> Callable[[Any], Any]:
    """The command, or the package's own randomizer."""
    from shuffledp.audit import Command

    if given["command"]:
        return Command.parsed(given["command"], plan.randomizer, timeout=given["timeout"])
    return plan.randomizer.randomize


def _of_domain(result: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
    from shuffledp.audit import audit_domain

    status.update("values outside the domain")
    return audit_domain(_program(result.plan, given), result.plan, result.tally, alpha=alpha)


def _of_estimates(plan: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
    from shuffledp.audit import EstimatesPlan, audit_estimates

    settings = EstimatesPlan(audit=plan, batches=given["estimates"], alpha=alpha)
    return audit_estimates(
        _program(plan, given),
        settings,
        tell=lambda done: status.update(f"{done:,} of {settings.batches:,} batches"),
    )


def _of_file(plan: Any, given: dict[str, Any]) -> Any:
    from shuffledp import audit as audits

    rows = audits.recorded(given["reports"], plan)
    if given["count"] is not None and given["count"] != rows.each:
        raise ParameterError(
            f"count = {given['count']}: wanted {rows.each}, the reports of each input in the file"
        )
    plan = dataclasses.replace(plan, reports=rows.each)
    return audits.result_of(plan, audits.counted(plan, rows.order, rows.reports))


def _of_shuffler(claimed: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
    from shuffledp.audit import ShufflerPlan, audit_shuffler
    from shuffledp.audit.shuffler import lines_program
    from shuffledp.audit.sources import Lines, split

    minimum = None if claimed is None else claimed.population.minimum_batch
    messages = given["messages"] or max(1_000, minimum or 0)
    plan = ShufflerPlan(
        messages=messages,
        batches=given["batches"],
        minimum=minimum,
        alpha=alpha,
        seed=given["seed"],
    )
    run = Lines(split(given["shuffler"]), given["timeout"])
    return audit_shuffler(
        lines_program(run),
        plan,
        tell=lambda done: status.update(f"{done:,} of {plan.batches:,} batches"),
    )


def _table(parts: list[Any]) -> dict[str, Any]:
    """One table: the first audit's, with what else was audited in it by name."""
    first, *others = parts
    return first.to_dict() | {_NAMES[type(part).__name__]: part.to_dict() for part in others}
