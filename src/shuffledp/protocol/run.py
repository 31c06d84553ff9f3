"""A deployment, a file of values -> estimates with intervals, and the certificate of this n."""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.certificate import Certificate, Release, issue
from shuffledp.deployment import Account, Deployment, DeploymentFile, account
from shuffledp.deployment.files import with_users
from shuffledp.deployment.model import GENERIC
from shuffledp.errors import NotCertified, ParameterError, rejected, unreadable
from shuffledp.outputs import writing
from shuffledp.protocol.aggregated import aggregated
from shuffledp.protocol.answers import Answer, Row, largest_rows, rows_of, table
from shuffledp.protocol.engines import DuckEngine, Engine, Settings, TextFormat
from shuffledp.protocol.engines.base import FirstRows, LocalEngine
from shuffledp.protocol.jobs import AGGREGATOR, Job, Mechanism, Outcome, mechanism_of
from shuffledp.protocol.questions import Asked, Question, found_in, question
from shuffledp.protocol.records import Values, column_of
from shuffledp.protocol.reports import ReportFile, read_reports, report_batches
from shuffledp.protocol.simulation import simulate
from shuffledp.randomness import SeededSource, SystemSource

__all__ = [
    "Asked",
    "DuckEngine",
    "Result",
    "Row",
    "Settings",
    "TextFormat",
    "asked_of",
    "column_of",
    "estimate_reports",
    "largest_rows",
    "read_items",
    "read_values",
    "run",
    "seen",
    "simulate",
    "table",
]


@dataclass(frozen=True)
class Estimates:
    """What reports tell.

    Attributes
    ----------
    randomizer : Randomizer or MultiMessage
        The mechanism.
    outcome : Outcome
        Sums and counts.
    rows : tuple of Row
        Estimates.
    notes : tuple of str
        What to know of them, a line each.
    """

    randomizer: Mechanism
    outcome: Outcome
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Result(Estimates):
    """What a run found, and what it cost.

    Attributes
    ----------
    source : DeploymentFile
        What was run.
    account : Account
        The accounting for the n of this run.
    """

    source: DeploymentFile
    account: Account

    def certificate(self, name: str, table: str) -> Certificate:
        """The certificate of this run, and of no other table of estimates than this text."""
        release = Release(
            table=name,
            sha256=hashlib.sha256(table.encode()).hexdigest(),
            users=self.outcome.users,
            declared_users=self.source.deployment.population.users,
            nulls=self.outcome.nulls,
            outside=self.outcome.outside,
        )
        return issue(self.source, self.account, release=release)


def asked_of(deployment: Deployment, **given: Any) -> Asked:
    """What the deployment asks, where nothing else is given here."""
    data = deployment.data
    found: dict[str, Any] = {}
    if data is not None:
        found = {
            "ranges": tuple(tuple(one) for one in data.ranges or ()),
            "moments": data.moments or 0,
            "candidates": tuple(data.candidates or ()),
            "simplex": data.simplex,
            "top": data.top or 0,
        }
    return Asked(**(found | {key: value for key, value in given.items() if value}))


def run(
    source: DeploymentFile,
    engine: Engine,
    column: Values,
    *,
    settings: Settings,
    asked: Asked | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Result:
    """Randomize, aggregate, estimate; and account for the users that were seen.

    Raises
    ------
    ParameterError
        If a value is refused, something cannot be asked of these reports, or fewer users have a
        value than the minimum batch.
    """
    deployment = source.deployment
    mechanism = _mechanism(deployment)
    asked = asked or asked_of(deployment)
    unit = None if deployment.data is None else deployment.data.unit
    job = Job(mechanism.to_dict(), column, seed, asked, unit)
    wanted = job.question
    if deployment.view == "sums":
        wanted = _of_sums(deployment, wanted, settings)
    enough = deployment.population.enough
    reports = settings.reports
    with contextlib.ExitStack() as stack:
        # What can go wrong after the run does so before the reports are in their place.
        held = stack.enter_context(writing([] if reports is None else [("reports", reports)]))
        kept = None if reports is None else held.path(reports)
        if kept is None and wanted is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="shuffledp-"))
            kept = Path(folder) / "reports.parquet"
        outcome = engine.run(job, replace(settings, reports=kept, enough=enough))
        deployment = seen(deployment, outcome.users)
        if wanted is not None:
            drawn_from = SystemSource() if seed is None else SeededSource(seed, stream=AGGREGATOR)
            released = wanted.released(outcome.aggregate(), drawn_from)
            answer = wanted.answer(released, outcome.users)
        else:
            answer = _found(kept, mechanism, column, asked)
        rows = rows_of(answer, confidence=confidence)
        return Result(mechanism, outcome, rows, answer.notes(), source, account(deployment))


def _of_sums(deployment: Deployment, wanted: Question | None, settings: Settings) -> Question:
    """What is asked, of sums; ParameterError where reports would have to be seen."""
    if wanted is None:
        raise ParameterError('alphabet: wanted none with view = "sums": trees read reports twice')
    if settings.reports is not None:
        # Not its name: what is written stands under another one until it is whole.
        raise ParameterError('reports: wanted none with view = "sums", where nobody sees a report')
    return aggregated(wanted, deployment.sums(deployment.population.arriving))


def _found(path: Any, mechanism: Mechanism, column: Any, asked: Asked) -> Answer:
    return found_in(mechanism, column.spelling, asked, lambda: report_batches(path))


def _mechanism(deployment: Deployment) -> Mechanism:
    if deployment.randomizer["name"] == GENERIC:
        msg = "randomizer = generic: wanted a mechanism, a family cannot be run"
        raise NotCertified(msg)
    return mechanism_of(deployment.randomizer)


def seen(deployment: Deployment, count: int) -> Deployment:
    """The deployment with the users of this run.

    Raises
    ------
    ParameterError
        Below the minimum batch, or where all of so few would be colluders.
    """
    deployment.population.enough(count)
    return with_users(deployment, count)


def estimate_reports(
    path: str | Path, *, asked: Asked | None = None, confidence: float = 0.95
) -> tuple[Estimates, ReportFile]:
    """The collector's half alone: estimates from a report file made elsewhere."""
    asked = asked or Asked()
    found = read_reports(path, asked=asked)
    if found.question is None:
        answer = _found(path, found.randomizer, found.column, asked)
    else:
        answer = found.question.answer(found.outcome.aggregate(), found.outcome.users)
    rows = rows_of(answer, confidence=confidence)
    return Estimates(found.randomizer, found.outcome, rows, answer.notes()), found


def read_text_file(name: str, path: str | Path) -> str:
    """A text file in UTF-8, its byte-order mark left out; ParameterError names what it is not."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ParameterError(f"{name} = {str(path)!r}: {unreadable(error)}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        words = "text in another encoding, wanted text in UTF-8"
        raise ParameterError(f"{name} = {str(path)!r}: {words}") from None
    if "\0" in text:
        raise ParameterError(f"{name} = {str(path)!r}: zero bytes, wanted text in UTF-8")
    return text


def read_items(name: str, path: str | Path) -> tuple[str, ...]:
    """Items in a text file, one a line; empty lines are passed over."""
    lines = re.split(r"\r\n|\r|\n", read_text_file(name, path))
    return tuple(line for line in lines if line)


def read_values(
    source: DeploymentFile, engine: LocalEngine, column: Values, asked: Asked
) -> tuple[Mechanism, Question, np.ndarray]:
    """The mechanism of a deployment, what is asked, and all inputs, for a simulation."""
    mechanism = _mechanism(source.deployment)
    column.check(mechanism)
    wanted = question(mechanism, column, asked)
    deployment = source.deployment
    if deployment.view == "sums":
        wanted = aggregated(wanted, deployment.sums(deployment.population.arriving))
    unit = None if deployment.data is None else deployment.data.unit
    parts, before = [], 0
    for batch in FirstRows(unit).of(engine, column.names, Settings()):
        counted = before if unit is None else None
        parts.append(column.encode(batch, mechanism, before=counted).inputs)
        before += len(batch)
    if not sum(len(part) for part in parts):
        raise rejected("input", "0 rows", "at least one row with a value")
    return mechanism, wanted, np.concatenate(parts)
