"""``shuffledp audit``: whether a program, and a shuffler, are what a deployment claims."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import click
from numpy import __version__ as numpy_version

from shuffledp import __version__, _check
from shuffledp.cli.progress import Left, Progress, progress
from shuffledp.cli.review import audit_text, check_reports
from shuffledp.cli.text import print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, rejected, unreadable

REFUTED_STATUS = 1
_SOURCES = ("command", "reports", "shuffler")
# Messages of a batch, if nothing else is asked for.
_MESSAGES = 1_000


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
    from shuffledp.audits.sources import LONGEST_TIME

    chosen = [name for name in _SOURCES if given.get(name)]
    _check.positive("timeout", given["timeout"], high=LONGEST_TIME)
    _sensible(chosen, file, given)
    check_reports(pages)
    inputs = [file, given["reports"]]
    for name in ("command", "shuffler"):
        if given[name]:
            inputs += _named_files(given[name])
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
    for name, owner in (("pair", "command"), ("claimed", "pair")):
        if given[name] is not None and not given[owner]:
            raise ParameterError(f"{name}: wanted --{owner} beside it")
    if given["pair"] and deployment is not None:
        raise ParameterError("pair: wanted no deployment, whose law would be tested instead")
    if sources and not given["pair"] and deployment is None:
        raise ParameterError(f"deployment is missing: wanted DEPLOYMENT.toml with --{sources[0]}")


def _audited(deployment: str | None, given: dict[str, Any], status: Progress) -> Any:
    from shuffledp.audits import Saved

    claimed = None
    if deployment is not None:
        from shuffledp.deployment import load

        claimed = load(deployment, widened=True).deployment
    source = _source_of(deployment, given)
    return Saved(_parts(claimed, given, status), source)


def _parts(claimed: Any, given: dict[str, Any], status: Progress) -> dict[str, Any]:
    asked = any(given[source] for source in ("command", "reports"))
    # Two audits share the level evenly.
    alpha = given["alpha"] / (2 if asked and given["shuffler"] else 1)
    parts: dict[str, Any] = {}
    if asked:
        parts["program"] = _of_program(claimed, alpha, given, status)
    if given["shuffler"]:
        parts["shuffler"] = _of_shuffler(claimed, alpha, given, status)
    return parts


def _source_of(deployment: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """Where the reports come from, for files: nothing is computed from it."""
    # The order of the inputs is drawn by NumPy.
    source: dict[str, Any] = {"by": f"shuffledp {__version__}, NumPy {numpy_version}"}
    source |= {name: given[name] for name in _SOURCES if given.get(name)}
    for name in ("command", "shuffler"):
        if given.get(name):
            source[f"{name} files"] = {path: _sha256(path) for path in _named_files(given[name])}
    for name, path in (("deployment", deployment), ("reports", given.get("reports"))):
        if path is not None:
            source[name] = {"file": Path(path).name, "sha256": _sha256(path)}
    return source


def _named_files(line: str) -> list[str]:
    """Files that a command names: the program, and words or parts of one (``--config=FILE``).

    They are the audited program, or what it reads: no result may be written in their place. Nothing
    else that the program may load or ask is looked at.
    """
    from shuffledp.audits.sources import split

    words = split(line)
    parts = [part for word in words for part in (word, *word.split(), word.partition("=")[2])]
    every = dict.fromkeys([shutil.which(words[0]) or "", *parts])
    return [part for part in every if os.path.isfile(part)]  # noqa: PTH113 (long words)


def _sha256(name: str) -> str:
    digest = hashlib.sha256()
    try:
        with Path(name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise ParameterError(f"{name!r}: {unreadable(error)}") from None
    return digest.hexdigest()


def _of_program(claimed: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
    """Reports against the declared law, or those of a command of which none is declared."""
    from shuffledp import audits

    plan = _program_plan(claimed, alpha, given)
    if given["reports"]:
        order, reports, each = audits.recorded(given["reports"], plan)
        if given["count"] not in (None, each):
            wanted = f"{each}, the reports of each input in the file"
            raise ParameterError(f"count = {given['count']}: wanted {wanted}")
        plan = dataclasses.replace(plan, reports=each)
        found = audits.design(plan)
        return audits.result_of(plan, audits.counted(plan, order, reports, found), found=found)
    tell = Left(status, "reports", plan.total)
    program = audits.Command.parsed(given["command"], plan.randomizer, timeout=given["timeout"])
    return audits.audit(program, plan, tell=tell)


def _program_plan(claimed: Any, alpha: float, given: dict[str, Any]) -> Any:
    from shuffledp.audits import AuditPlan

    numbers: dict[str, Any] = {"alpha": alpha}
    if given["count"] is not None:
        numbers["reports"] = given["count"]
    if given["pair"]:
        numbers |= {"inputs": _pair_of(given["pair"]), "claimed": given["claimed"]}
    else:
        asked = None if claimed.audit is None else claimed.audit.deltas
        deltas = AuditPlan.deltas if asked is None else tuple(asked)
        if asked is None and claimed.target.delta is not None:
            # The one that the deployment is accounted for at, and the usual ones.
            deltas = tuple(dict.fromkeys((claimed.target.delta, *deltas)))
        made = _mechanism_of(claimed)
        numbers |= {"deltas": deltas, "randomizer": made, "n": messages_of(claimed)}
    try:
        return AuditPlan(**numbers)
    except ParameterError as error:  # the option that was typed has another name
        name, equals, rest = str(error).partition("reports = ")
        raise ParameterError(f"count = {rest}" if equals and not name else str(error)) from None


def _mechanism_of(claimed: Any) -> Any:
    from shuffledp.deployment.model import GENERIC, is_protocol
    from shuffledp.mechanism.base import mechanism_from_dict

    table = claimed.randomizer
    if is_protocol(table) or table["name"] == GENERIC:
        raise ParameterError(
            f"randomizer.name = {table['name']!r}: wanted one mechanism that sends one report; "
            "an audit tests its law"
        )
    return mechanism_from_dict(table)


def messages_of(claimed: Any) -> int | None:
    """Messages of the shuffle to which an audit of a deployment is lifted; None: to none."""
    from shuffledp.deployment.setting import situations

    # Who sees sums sees no messages: what a shuffle of them shows says nothing of the deployment.
    # Nor does one of uniform orders where another shuffler is declared, or several users change.
    usual = claimed.view == "messages" and not claimed.widened
    honest = situations(claimed)[0][1] if usual else 0
    return honest if honest > 1 else None


def _of_shuffler(claimed: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
    """Batches of marked messages."""
    from shuffledp.audits import Command, ShufflerPlan, audit_shuffler
    from shuffledp.audits.shuffler import messages_of as messages_in

    table = None if claimed is None else claimed.audit
    asked = {} if table is None else table.model_dump(exclude_none=True, exclude={"deltas"})
    declared = asked | _declared(claimed, asked.get("messages"))
    batches = declared.get("batches", ShufflerPlan.batches)
    plan = ShufflerPlan(**declared, alpha=_less(claimed, alpha, batches))
    run = Command.parsed(given["shuffler"], timeout=given["timeout"])
    tell = Left(status, "batches of messages", plan.batches)
    return audit_shuffler(lambda sent: messages_in(run.lines(sent)), plan, tell=tell)


def _declared(claimed: Any, messages: int | None) -> dict[str, Any]:
    """Messages of a batch, and what a shuffler is declared to do beside ordering them.

    Shards whose users are public leave one by one: a batch is one of theirs, and the minimum that
    of all together. Where they are secret, all shards are one order (theory-shufflers.md, 2.2).
    """
    if claimed is None:
        return {"messages": messages or _MESSAGES}
    population, declared = claimed.population, claimed.shuffler
    least = population.least
    minimum = least if least > 1 else None  # of one message there is nothing to hold back
    if declared is None:
        return {"messages": messages or max(_MESSAGES, least), "minimum": minimum}
    apart = declared.shards if declared.apart else 1
    chosen = messages or max(_MESSAGES, -(-least // apart))
    if declared.fills:
        chosen = population.users // apart
        if messages not in (None, chosen):
            wanted = f"{chosen:,}, one of every user, where absent ones are filled in"
            raise rejected("audit.messages", messages, wanted)
    shards = (
        f"every batch was one shard's of {apart:,}: who is in which shard, how large shards are, "
        "and the minimum batch, which is that of all together"
    )
    dummies = "whether dummies can be told from messages by what they say"
    fills = "what is filled in for users who send nothing, and the minimum batch: all sent"
    kinds = ((apart > 1, shards), (declared.dummies > 0, dummies), (declared.fills, fills))
    return {
        "messages": chosen,
        "minimum": None if apart > 1 or declared.fills else minimum,
        "dummies": declared.dummies,
        "uncovered": tuple(words for one, words in kinds if one),
    }


def _less(claimed: Any, alpha: float, batches: int) -> float:
    """The level for uniform orders, where orders are declared to be near uniform ones.

    Of all batches together the orders are within batches * distance of uniform ones.
    """
    declared = None if claimed is None else claimed.shuffler
    if declared is None:
        return alpha
    rest = alpha - batches * float(declared.distance)
    if rest < 0.5 * alpha:
        most = int(0.5 * alpha / float(declared.distance))
        raise rejected("audit.batches", batches, f"at most {most:,} with this shuffler.distance")
    return rest


def _pair_of(text: str) -> tuple[Any, ...]:
    """Two values as JSON, with a comma between them; the plan refuses numbers that JSON has not."""
    try:
        found = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        found = []
    if len(found) != 2 or repr(found[0]) == repr(found[1]):
        wanted = "two different values as JSON with a comma between them, such as 0,1"
        raise rejected("pair", text, wanted)
    return tuple(found)
