"""The parts of ``shuffledp audit``: each is made, or continued from a checkpoint."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from numpy import __version__ as numpy_version

from shuffledp import __version__
from shuffledp.cli.progress import Left, Progress
from shuffledp.errors import ParameterError, rejected, unreadable

# A program that is larger is not read: a second or two at most.
_LARGEST_PROGRAM = 1 << 30
# Messages of a batch, if nothing else is asked for.
_MESSAGES = 1_000
# What tells one source of reports from another.
_SOURCE = ("command", "reports", "own", "shuffler")


def source_of(deployment: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """Where the reports come from, for files: nothing is computed from it."""
    # The order of the inputs is drawn by NumPy.
    source: dict[str, Any] = {"by": f"shuffledp {__version__}, NumPy {numpy_version}"}
    source |= {name: given[name] for name in _SOURCE if given.get(name)}
    for name in ("command", "shuffler"):
        if given.get(name):
            source[f"{name} files"] = program_files(given[name])
    for name, path in (("deployment", deployment), ("reports", given.get("reports"))):
        if path is not None:
            try:
                digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            except OSError as error:
                raise ParameterError(f"{name} = {path!r}: {unreadable(error)}") from None
            source[name] = {"file": Path(path).name, "sha256": digest}
    return source


def check_timeout(seconds: float) -> None:
    """Refuse a time that is none before anything runs, whatever is audited."""
    from shuffledp import _check
    from shuffledp.audit.sources import LONGEST_TIME

    _check.positive("timeout", seconds, high=LONGEST_TIME)


def program_files(line: str) -> dict[str, str]:
    """SHA-256 of the program that a command names first, and of the file after it, if there is one.

    The file after it is the first word that does not begin with a dash: what an interpreter is
    given. Nothing else that the program may load or ask is looked at.
    """
    from shuffledp.audit.sources import split

    words = split(line)
    rest = [word for word in words[1:] if not word.startswith("-")]
    paths = [(words[0], shutil.which(words[0]))]
    paths += [(word, word) for word in rest[:1] if os.path.isfile(word)]  # noqa: PTH113 (long words)
    return {word: _sha256(Path(path)) for word, path in paths if path is not None}


def named_files(line: str) -> list[str]:
    """Files that a command names: words, parts of one (``--config=FILE``), ``python -m MODULE``.

    They are the audited program, or what it reads: no result may be written in their place. These
    are all that ``program_files`` hashes, and every other word that is a file.
    """
    from shuffledp.audit.sources import split

    words = split(line)
    parts = [part for word in words for part in (word, *word.split())]
    parts += [part.partition("=")[2] for part in parts]
    for before, word in itertools.pairwise(tuple(parts)):
        if before == "-m":
            module = word.replace(".", os.sep)
            parts += [f"{module}.py", os.path.join(module, "__main__.py")]  # noqa: PTH118 (a text)
    parts.append(shutil.which(words[0]) or "")
    return [part for part in parts if os.path.isfile(part)]  # noqa: PTH113 (long words)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        if path.stat().st_size > _LARGEST_PROGRAM:
            return f"not read, larger than {_LARGEST_PROGRAM:,} bytes"
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        return f"not read, {unreadable(error)}"
    return digest.hexdigest()


def of_program(
    claimed: Any, alpha: float, given: dict[str, Any], status: Progress, checkpoint: Any
) -> Any:
    """Reports against the declared law."""
    from shuffledp import audit as audits
    from shuffledp.audit.saved import PROGRAM

    plan = _program_plan(claimed, alpha, given)
    if given["reports"]:
        return _of_file(plan, given)
    start = None
    if checkpoint is not None:
        known = checkpoint.start(PROGRAM, plan.to_dict())
        start = None if known is None else audits.tally_from_dict(known["tally"], plan)
    done = 0 if start is None else int(start.counts.sum())
    if done:
        _say(checkpoint, f"{done:,} of {plan.total:,} reports")
    tally = audits.collected(
        plan,
        _written(program_of(plan.randomizer, given)),
        tell=Left(status, "reports", plan.total, done),
        start=start,
        keep=_keeper(checkpoint, PROGRAM, plan, lambda tally: tally.to_dict()),
    )
    _kept(checkpoint, PROGRAM, plan, tally.to_dict())
    status.update("judging")
    return audits.result_of(plan, tally)


def _program_plan(claimed: Any, alpha: float, given: dict[str, Any]) -> Any:
    from shuffledp.audit import AuditPlan
    from shuffledp.deployment.model import GENERIC, is_protocol
    from shuffledp.randomizers import randomizer_from_dict

    table = claimed.randomizer
    if is_protocol(table) or table["name"] == GENERIC:
        raise ParameterError(
            f"randomizer.name = {table['name']!r}: wanted one mechanism that sends one report; "
            "an audit tests its law"
        )
    numbers: dict[str, Any] = {"alpha": alpha, "seed": given["seed"]}
    if given["count"] is not None:
        numbers["reports"] = given["count"]
    deltas = AuditPlan.deltas if given["deltas"] is None else tuple(given["deltas"])
    if given["deltas"] is None and claimed.target.delta is not None:
        # The one that the deployment is accounted for at, and the usual ones.
        deltas = tuple(dict.fromkeys((claimed.target.delta, *deltas)))
    numbers |= {"deltas": deltas, "rounds": claimed.accounting.rounds}
    with _as_typed(reports="count", deltas="delta"):
        plan = AuditPlan(randomizer=randomizer_from_dict(table), n=messages_of(claimed), **numbers)
        plan.check_total()
    return plan


@contextlib.contextmanager
def _as_typed(**options: str) -> Iterator[None]:
    """Errors name the option that was typed, where a plan's argument has another name."""
    try:
        yield
    except ParameterError as error:
        name, equals, rest = str(error).partition(" = ")
        if not equals or name not in options:
            raise
        raise ParameterError(f"{options[name]} = {rest}") from None


def messages_of(claimed: Any) -> int | None:
    """Messages of the shuffle to which an audit of a deployment is lifted; None: to none."""
    from shuffledp.deployment.accounting import situations

    # Who sees sums sees no messages: what a shuffle of them shows says nothing of the deployment.
    # Nor does one of uniform orders where another shuffler is declared, or several users change.
    usual = claimed.view == "messages" and not claimed.widened
    honest = situations(claimed)[0][1] if usual else 0
    return honest if honest > 1 else None


def program_of(randomizer: Any, given: dict[str, Any]) -> Callable[[Any], Any]:
    """The command, or the package's own randomizer."""
    from shuffledp.audit import Command

    if given["command"]:
        return Command.parsed(given["command"], randomizer, timeout=given["timeout"])
    return randomizer.randomize


def _written(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of a command, its lines as well as its reports."""
    return getattr(program, "written", program)


def _of_file(plan: Any, given: dict[str, Any]) -> Any:
    from shuffledp import audit as audits

    rows = audits.recorded(given["reports"], plan)
    if given["count"] is not None and given["count"] != rows.each:
        raise ParameterError(
            f"count = {given['count']}: wanted {rows.each}, the reports of each input in the file"
        )
    plan = dataclasses.replace(plan, reports=rows.each)
    return audits.result_of(plan, audits.counted(plan, rows.order, rows.reports))


def of_domain(
    result: Any, alpha: float, given: dict[str, Any], status: Progress, checkpoint: Any
) -> Any:
    """Values outside the domain."""
    from shuffledp.audit import audit_domain, outside_values
    from shuffledp.audit.domain import domain_from_dict
    from shuffledp.audit.plan import plain
    from shuffledp.audit.saved import OUTSIDE

    values = [plain(v) for v in outside_values(result.plan)]
    plan = {"alpha": alpha, "values": values}
    known = None if checkpoint is None else checkpoint.start(OUTSIDE, plan)
    if known is not None:
        return domain_from_dict(known, result.plan, result.tally)
    status.update("values outside the domain")
    program = program_of(result.plan.randomizer, given)
    found = audit_domain(program, result.plan, result.tally, alpha=alpha)
    if checkpoint is not None:
        table = found.to_dict()
        checkpoint.keep(OUTSIDE, table["plan"], table["tally"])
    return found


def of_estimates(
    plan: Any, alpha: float, given: dict[str, Any], status: Progress, checkpoint: Any
) -> Any:
    """Estimates from batches of known values."""
    from shuffledp.audit import EstimatesPlan, audit_estimates
    from shuffledp.audit.estimates import estimates_start
    from shuffledp.audit.saved import ESTIMATES
    from shuffledp.audit.sums import plain_sums

    with _as_typed(batches="estimates"):
        settings = EstimatesPlan(audit=plan, batches=given["estimates"], alpha=alpha)
    known = None if checkpoint is None else checkpoint.start(ESTIMATES, settings.to_dict())
    start = [] if known is None else estimates_start(known)[1]
    if start:
        _say(checkpoint, f"{len(start):,} of {settings.batches:,} batches of estimates")
    return audit_estimates(
        program_of(plan.randomizer, given),
        settings,
        tell=Left(status, "batches of estimates", settings.batches, len(start)),
        start=start,
        keep=_keeper(checkpoint, ESTIMATES, settings, plain_sums),
    )


def of_shuffler(
    claimed: Any, alpha: float, given: dict[str, Any], status: Progress, checkpoint: Any
) -> Any:
    """Batches of marked messages."""
    from shuffledp.audit import ShufflerPlan, audit_shuffler
    from shuffledp.audit.saved import SHUFFLER
    from shuffledp.audit.shuffler import lines_program
    from shuffledp.audit.shuffler_counts import shuffler_start
    from shuffledp.audit.sources import Lines, split

    plan = ShufflerPlan(
        **(_declared(claimed, given["messages"])),
        batches=given["batches"],
        shards=given["shards"],
        alpha=_less(claimed, alpha, given["batches"]),
        seed=given["seed"],
        longest=given["longest"],
    )
    known = None if checkpoint is None else checkpoint.start(SHUFFLER, dataclasses.asdict(plan))
    start = None if known is None else shuffler_start(known)[1]
    done = 0 if start is None else start.done
    if done:
        _say(checkpoint, f"{done:,} of {plan.batches:,} batches of messages")
    run = Lines(split(given["shuffler"]), given["timeout"])
    return audit_shuffler(
        lines_program(run.timed),
        plan,
        tell=Left(status, "batches of messages", plan.batches, done),
        start=start,
        keep=_keeper(checkpoint, SHUFFLER, plan, lambda tally: tally.to_dict()),
    )


def _declared(claimed: Any, messages: int | None) -> dict[str, Any]:
    """Messages of a batch, and what a shuffler is declared to do beside ordering them.

    Shards whose users are public leave one by one: a batch is one of theirs, and the minimum that
    of all together. Where they are secret, all shards are one order (theory-shufflers.md, 2.2).
    """
    if claimed is None:
        return {"messages": messages or _MESSAGES}
    population, declared = claimed.population, claimed.shuffler
    minimum = population.minimum_batch
    if declared is None:
        return {"messages": messages or max(_MESSAGES, minimum or 0), "minimum": minimum}
    apart = declared.shards if declared.apart else 1
    chosen = messages or max(_MESSAGES, -(-(minimum or 0) // apart))
    if declared.fills:
        chosen = population.users // apart
        if messages not in (None, chosen):
            wanted = f"{chosen:,}, one of every user, where absent ones are filled in"
            raise rejected("messages", messages, wanted)
    return {
        "messages": chosen,
        "minimum": None if apart > 1 or declared.fills else minimum,
        "dummies": declared.dummies,
        "one_of": apart,
        "fills": declared.fills,
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
        raise rejected("batches", batches, f"at most {most:,} with this shuffler.distance")
    return rest


def of_unknown(alpha: float, given: dict[str, Any], status: Progress, checkpoint: Any) -> Any:
    """A command of which no law is declared."""
    from shuffledp.audit import UnknownPlan, audit_unknown
    from shuffledp.audit.blackbox import any_reports, unknown_from_dict
    from shuffledp.audit.saved import UNKNOWN
    from shuffledp.audit.sources import Lines, asked_lines, split

    with _as_typed(reports="count", epsilons="epsilon"):
        plan = UnknownPlan(
            pair=pair_of(given["pair"]),
            alpha=alpha,
            epsilons=tuple(given["epsilons"] or ()),
            claimed=given["claimed"],
            seed=given["seed"],
            **({} if given["count"] is None else {"reports": given["count"]}),
        )
    run = Lines(split(given["command"]), given["timeout"])

    def program(values: Any) -> Any:
        asked = asked_lines(values)
        return any_reports(run("\n".join(asked) + "\n", len(asked)))

    known = None if checkpoint is None else checkpoint.start(UNKNOWN, plan.to_dict())
    start = None if known is None else unknown_from_dict(known)
    done = 0 if start is None else 2 * plan.choosing + sum(map(sum, start.second))
    if done:
        _say(checkpoint, f"{done:,} of {2 * plan.reports:,} reports")
    return audit_unknown(
        program,
        plan,
        tell=Left(status, "reports", 2 * plan.reports, done),
        start=start,
        keep=_keeper(checkpoint, UNKNOWN, plan, lambda tally: tally),
    )


def pair_of(text: str) -> tuple[Any, Any]:
    """Two values as JSON, with a comma between them."""
    try:
        found = json.loads(f"[{text}]", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        found = []
    if len(found) != 2:
        raise rejected("pair", text, "two values as JSON with a comma between them, such as 0,1")
    return found[0], found[1]


def _finite(text: str) -> float:
    """A number that JSON has: Python reads NaN, Infinity and 1e999 as well."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _keeper(
    checkpoint: Any, part: str, plan: Any, table: Callable[[Any], Any]
) -> Callable[[Any], None] | None:
    if checkpoint is None:
        return None
    written = plan.to_dict() if hasattr(plan, "to_dict") else dataclasses.asdict(plan)
    return lambda counts: checkpoint.keep(part, written, table(counts))


def _kept(checkpoint: Any, part: str, plan: Any, tally: Any) -> None:
    if checkpoint is not None:
        checkpoint.keep(part, plan.to_dict(), tally)


def _say(checkpoint: Any, words: str) -> None:
    click.echo(f"shuffledp: audit continues from {str(checkpoint.path)!r}: {words}", err=True)
