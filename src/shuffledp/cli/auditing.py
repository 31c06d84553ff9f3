"""The parts of ``shuffledp audit``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

from numpy import __version__ as numpy_version

from shuffledp import __version__
from shuffledp.cli.progress import Left, Progress
from shuffledp.errors import ParameterError, rejected, unreadable

# A program that is larger is not read: a second or two at most.
_LARGEST_PROGRAM = 1 << 30
# Messages of a batch, if nothing else is asked for.
_MESSAGES = 1_000
# What tells one source of reports from another.
_SOURCE = ("command", "reports", "shuffler")


def source_of(deployment: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """Where the reports come from, for files: nothing is computed from it."""
    # The order of the inputs is drawn by NumPy.
    source: dict[str, Any] = {"by": f"shuffledp {__version__}, NumPy {numpy_version}"}
    source |= {name: given[name] for name in _SOURCE if given.get(name)}
    for name in ("command", "shuffler"):
        if given.get(name):
            source[f"{name} files"] = {path: _sha256(path) for path in named_files(given[name])}
    for name, path in (("deployment", deployment), ("reports", given.get("reports"))):
        if path is not None:
            source[name] = {"file": Path(path).name, "sha256": _sha256(path)}
    return source


def check_timeout(seconds: float) -> None:
    """Refuse a time that is none before anything runs, whatever is audited."""
    from shuffledp import _check
    from shuffledp.audits.sources import LONGEST_TIME

    _check.positive("timeout", seconds, high=LONGEST_TIME)


def named_files(line: str) -> list[str]:
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
    path = Path(name)
    try:
        if path.stat().st_size > _LARGEST_PROGRAM:
            return f"not read, larger than {_LARGEST_PROGRAM:,} bytes"
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise ParameterError(f"{name!r}: {unreadable(error)}") from None
    return digest.hexdigest()


def of_program(claimed: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
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


def of_shuffler(claimed: Any, alpha: float, given: dict[str, Any], status: Progress) -> Any:
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
    """Two values as JSON, with a comma between them."""
    try:
        found = json.loads(f"[{text}]", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        found = []
    if len(found) != 2 or repr(found[0]) == repr(found[1]):
        wanted = "two different values as JSON with a comma between them, such as 0,1"
        raise rejected("pair", text, wanted)
    return tuple(found)


def _finite(text: str) -> float:
    """A number that JSON has: Python reads NaN, Infinity and 1e999 as well."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
