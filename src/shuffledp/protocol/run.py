"""A deployment, a file of values -> estimates with intervals, and the certificate of this n."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.deployment import Account, Deployment, DeploymentFile, account
from shuffledp.deployment.model import GENERIC, Population
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.estimates import Aggregate, FrequencyEstimate, MeanEstimate
from shuffledp.protocol.columns import Column
from shuffledp.protocol.engines import DuckEngine, Engine, Settings
from shuffledp.protocol.jobs import Job, Outcome
from shuffledp.protocol.postprocess import project_to_simplex
from shuffledp.protocol.reports import ReportFile, read_reports
from shuffledp.protocol.simulation import simulate as simulated
from shuffledp.randomizers import Randomizer, randomizer_from_dict

Floats = npt.NDArray[np.float64]

__all__ = [
    "DuckEngine",
    "Result",
    "Row",
    "Settings",
    "column_of",
    "estimate_reports",
    "read_truth",
    "read_values",
    "run",
    "seen",
    "simulated",
    "table",
]


@dataclass(frozen=True)
class Row:
    """One estimated number.

    Attributes
    ----------
    item : str
        What it is about: an item, or "mean".
    estimate : float
        Unbiased frequency or mean.
    noise_error, sampling_error : float
        Standard errors: of the randomizers' coins with the data fixed, and (for frequencies) of
        drawing n users from a larger population.
    low, high : float
        Interval for the value among these n users, this item alone.
    low_all, high_all : float
        The same for all items at once (Bonferroni).
    post : float
        After post-processing (the estimate itself if there is none).
    """

    item: str
    estimate: float
    noise_error: float
    sampling_error: float
    low: float
    high: float
    low_all: float
    high_all: float
    post: float


@dataclass(frozen=True)
class Result:
    """What a run found.

    Attributes
    ----------
    randomizer : Randomizer
        The mechanism.
    outcome : Outcome
        Sums and counts.
    rows : tuple of Row
        Estimates.
    account : Account or None
        The accounting for the n of this run; None for reports made elsewhere.
    """

    randomizer: Randomizer
    outcome: Outcome
    rows: tuple[Row, ...]
    account: Account | None


def column_of(
    deployment: Deployment, *, name: str | None, domain: tuple[str | int, ...] | None = None
) -> Column:
    """The column the deployment names, or the one named here."""
    data = deployment.data
    chosen = name or (None if data is None else data.column)
    if chosen is None:
        raise ParameterError("column is missing: wanted --column, or column in [data]")
    settings: dict[str, Any] = {} if data is None else data.settings()
    if domain is not None:
        settings["domain"] = domain
    return Column(name=chosen, **settings)


def run(
    source: DeploymentFile,
    engine: Engine,
    column: Column,
    *,
    settings: Settings,
    confidence: float = 0.95,
    simplex: bool = False,
    seed: int | None = None,
) -> Result:
    """Randomize, shuffle, aggregate, estimate; and account for the users that were seen.

    Raises
    ------
    ParameterError
        If a value is refused, or fewer users have one than the minimum batch.
    """
    deployment = source.deployment
    if deployment.randomizer["name"] == GENERIC:
        msg = "randomizer = generic: wanted a mechanism, a family cannot be run"
        raise NotCertified(msg)
    randomizer = randomizer_from_dict(deployment.randomizer)
    job = Job(randomizer.to_dict(), column, seed)
    outcome = engine.run(job, settings)
    deployment = seen(deployment, outcome.count)
    rows = estimates(randomizer, outcome, column.items, confidence=confidence, simplex=simplex)
    return Result(randomizer, outcome, rows, account(deployment))


def seen(deployment: Deployment, count: int) -> Deployment:
    """The deployment with the users of this run; ParameterError below the minimum batch."""
    least = deployment.population.minimum_batch
    if count < 1:
        raise rejected("input", "0 rows", "at least one row with a value")
    if least is not None and count < least:
        raise ParameterError(
            f"input has {count:,} reports: wanted at least population.minimum_batch = {least:,}; "
            "nothing is released"
        )
    population = Population(
        users=count, minimum_batch=least, colluding=deployment.population.colluding
    )
    return deployment.model_copy(update={"population": population})


def estimate_reports(
    path: str | Path, *, confidence: float = 0.95, simplex: bool = False
) -> tuple[Result, ReportFile]:
    """The collector's half alone: estimates from a report file made elsewhere."""
    found = read_reports(path)
    rows = estimates(
        found.randomizer, found.outcome, found.items, confidence=confidence, simplex=simplex
    )
    return Result(found.randomizer, found.outcome, rows, None), found


def estimates(
    randomizer: Randomizer,
    outcome: Outcome,
    items: Sequence[str | int] | None,
    *,
    confidence: float,
    simplex: bool,
) -> tuple[Row, ...]:
    """Rows of the result table."""
    sums: Aggregate = outcome.aggregate()
    found = randomizer.estimate(sums)
    if isinstance(found, MeanEstimate):
        return _mean_rows(found, sums, confidence, simplex=simplex)
    return _frequency_rows(found, items, confidence, simplex=simplex)


def _frequency_rows(
    found: FrequencyEstimate, items: Sequence[str | int] | None, confidence: float, *, simplex: bool
) -> tuple[Row, ...]:
    f = found.frequencies
    low, high = found.interval(confidence=confidence)
    low_all, high_all = found.interval(confidence=confidence, simultaneous=True)
    share = np.clip(f, 0.0, 1.0)
    sampling = np.sqrt(share * (1.0 - share) / found.n)
    post = project_to_simplex(f) if simplex else f
    names = [str(i) for i in range(f.size)] if items is None else [str(i) for i in items]
    columns = (f, found.standard_errors, sampling, low, high, low_all, high_all, post)
    numbers = np.stack(columns, axis=1)
    return tuple(Row(name, *map(float, row)) for name, row in zip(names, numbers, strict=True))


def _mean_rows(
    found: MeanEstimate, sums: Aggregate, confidence: float, *, simplex: bool
) -> tuple[Row, ...]:
    if simplex:
        raise ParameterError("simplex: wanted a mechanism for frequencies, this one is for means")
    mean = np.atleast_1d(found.mean)
    error = np.atleast_1d(found.standard_error)
    low, high = (np.atleast_1d(end) for end in found.interval(confidence=confidence))
    squares = np.atleast_1d(sums.sums[1]) / found.n
    # Total spread of the reports less the noise's: what the values themselves scatter by.
    scatter = np.maximum(squares - mean**2 - found.n * error**2, 0.0)
    sampling = np.sqrt(scatter / found.n)
    names = ["mean"] if mean.size == 1 else [f"mean[{i}]" for i in range(mean.size)]
    return tuple(
        Row(name, *map(float, (m, e, s, a, b, a, b, m)))
        for name, m, e, s, a, b in zip(names, mean, error, sampling, low, high, strict=True)
    )


def table(rows: Sequence[Row]) -> str:
    """The result as CSV text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            "item",
            "estimate",
            "noise_standard_error",
            "sampling_standard_error",
            "low",
            "high",
            "low_all",
            "high_all",
            "post_processed",
        )
    )
    for row in rows:
        numbers = (
            row.estimate,
            row.noise_error,
            row.sampling_error,
            row.low,
            row.high,
            row.low_all,
            row.high_all,
            row.post,
        )
        writer.writerow((row.item, *(f"{value:.9g}" for value in numbers)))
    return out.getvalue()


def read_truth(path: str | Path) -> dict[str, float]:
    """True values to compare with: a CSV file of two columns, item and value, with a header."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise ParameterError(f"truth = {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"truth = {str(path)!r}: wanted CSV text in UTF-8") from None
    found: dict[str, float] = {}
    for place, row in enumerate(rows[1:], start=2):
        try:
            item, value = row[0], float(row[1])
        except (IndexError, ValueError):
            raise ParameterError(
                f"truth = {str(path)!r}, line {place}: {row!r}, wanted an item and a number"
            ) from None
        found[item] = value
    return found


def read_values(
    source: DeploymentFile, engine: DuckEngine, column: Column
) -> tuple[Randomizer, np.ndarray]:
    """The randomizer of a deployment, and all inputs of a column, for a simulation."""
    if source.deployment.randomizer["name"] == GENERIC:
        msg = "randomizer = generic: wanted a mechanism, a family cannot be run"
        raise NotCertified(msg)
    randomizer = randomizer_from_dict(source.deployment.randomizer)
    column.check(randomizer)
    parts = [
        column.encode(rows, randomizer).values for rows in engine.arrays(column.name, Settings())
    ]
    if not parts:
        raise rejected("input", "0 rows", "at least one row with a value")
    return randomizer, np.concatenate(parts)
