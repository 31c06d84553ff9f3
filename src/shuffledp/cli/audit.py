"""``shuffledp audit``: whether a program, and a shuffler, are what a deployment claims."""

from __future__ import annotations

import json
from typing import Any

import click

from shuffledp.cli import auditing
from shuffledp.cli.progress import Progress, progress
from shuffledp.cli.review import audit_text, check_reports
from shuffledp.cli.text import print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError

REFUTED_STATUS = 1
_SOURCES = ("command", "reports", "shuffler")
# Options that say more of one source, and the sources each belongs to.
_BELONG = (
    ("pair", ("command",)),
    ("claimed", ("pair",)),
)


@click.command(short_help="Test a program's reports against the certified law.")
@click.argument("file", metavar="[DEPLOYMENT.toml]", required=False)
@click.option("--command", metavar="'PROGRAM ARG ...'", help="Values on stdin, reports on stdout.")
@click.option("--reports", metavar="FILE.jsonl", help='Lines {"value": ..., "report": ...}.')
@click.option("--shuffler", metavar="'PROGRAM ARG ...'", help="Messages in, messages out.")
@click.option("-N", "--count", type=Whole(), help="Reports for each input.  [default: 100,000]")
@click.option("--alpha", type=Number(), default=0.05, show_default=True, help="Level, jointly.")
@click.option("--pair", metavar="X,Y", help="Two values (JSON): no law is declared, bound eps0.")
@click.option("--claimed", type=Number(), metavar="EPS0", help="With --pair: refute this eps0.")
@click.option("--timeout", type=Number(), default=600.0, show_default=True, help="Of one call, s.")
@click.option("-o", "--output", metavar="FILE.json", help="Plan, raw counts and result.")
@click.option("--report", "pages", multiple=True, metavar="FILE", help="For a reader: .html, .md.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, nothing else.")
@click.pass_context
def audit(
    ctx: click.Context,
    file: str | None,
    output: str | None,
    pages: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Ask a program for reports under known inputs and test them against the declared law.

    The answer is "refuted" at level alpha, or "not refuted" with the smallest violation that would
    have been found; there is no other. Inputs, cells and events are settled beforehand. --output
    keeps plan, raw counts and result. A deployment says what is claimed.

    \b
    The program is called at least eight times, with one JSON value a line:
      echo 3 | ./client        # writes one JSON report a line
    Numbers are reports of most mechanisms; bits of rappor and oue are lists of 0
    and 1. No shell is run, a status other than 0 is an error.

    A shuffler gets messages, one a line, and writes those that leave, as they came. How long a
    program takes, and what else it sends, is not looked at.

    \b
    In the deployment file:
      [audit]
      deltas = [1e-6, 1e-9]    # where the central eps is bounded
      batches = 100            # of a shuffler, and what it gets:
      messages = 1_000         # of one batch
      shards = 1               # groups in which messages come in

    \b
    Exit status: 0 not refuted, 1 refuted, 2 the input was refused.
    """  # noqa: D301
    chosen = [name for name in _SOURCES if given.get(name)]
    auditing.check_timeout(given["timeout"])
    _sensible(chosen, file, given)
    check_reports(pages)
    inputs = [file, given["reports"]]
    for name in ("command", "shuffler"):
        if given[name]:
            inputs += auditing.named_files(given[name])
    outputs = [("output", output), *(("report", page) for page in pages)]
    with files_written(outputs, inputs=inputs) as held:
        with progress("auditing") as status:
            saved = _audited(file, given, status)
        text = saved.text()
        if output is not None:
            held.write(output, json.dumps(saved.to_dict(), indent=1, allow_nan=False) + "\n")
        for page in pages:
            held.write(page, audit_text(page, saved))
    if as_json:
        print_json(saved.to_dict())
    else:
        click.echo(text, nl=False)
    ctx.exit(REFUTED_STATUS if saved.verdict == "refuted" else 0)


def _sensible(chosen: list[str], deployment: str | None, given: dict[str, Any]) -> None:
    """One source of reports, a shuffler or both."""
    sources = [name for name in chosen if name != "shuffler"]
    if len(sources) > 1 or not chosen:
        words = ", ".join(f"--{name}" for name in _SOURCES)
        raise ParameterError(f"audit: wanted one of {words} (--shuffler beside another)")
    _beside(given)
    if given["pair"] and deployment is not None:
        raise ParameterError("pair: wanted no deployment, whose law would be tested instead")
    if sources and not given["pair"] and deployment is None:
        raise ParameterError(f"deployment is missing: wanted DEPLOYMENT.toml with --{sources[0]}")


def _beside(given: dict[str, Any]) -> None:
    """Options that say more of a source stand beside it."""
    for name, owners in _BELONG:
        beside = [owner for owner in owners if given.get(owner)]
        if given.get(name) is not None and given[name] is not False and not beside:
            wanted = " or ".join(f"--{owner}" for owner in owners)
            raise ParameterError(f"{name}: wanted {wanted} beside it")


def _audited(deployment: str | None, given: dict[str, Any], status: Progress) -> Any:
    from shuffledp.audits import Saved

    claimed = None
    if deployment is not None:
        from shuffledp.deployment import load

        claimed = load(deployment, widened=True).deployment
    source = auditing.source_of(deployment, given)
    return Saved(_parts(claimed, given, status), source)


def _parts(claimed: Any, given: dict[str, Any], status: Progress) -> dict[str, Any]:
    asked = any(given[source] for source in ("command", "reports"))
    # Two audits share the level evenly.
    alpha = given["alpha"] / (2 if asked and given["shuffler"] else 1)
    parts: dict[str, Any] = {}
    if asked:
        parts["program"] = auditing.of_program(claimed, alpha, given, status)
    if given["shuffler"]:
        parts["shuffler"] = auditing.of_shuffler(claimed, alpha, given, status)
    return parts
