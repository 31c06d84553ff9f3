"""Repeat a run with seeds: measured error and coverage beside what theory says."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.protocol.columns import hash_of, size_of
from shuffledp.protocol.jobs import Mechanism, summed
from shuffledp.protocol.questions import Asked, Question, question

Floats = npt.NDArray[np.floating[Any]]
_CONFIDENCE = 0.95
# Numbers that are known for sure, such as the share of all users, scatter by this.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Simulation:
    """Measured against theoretical error over R repetitions with fixed data.

    Attributes
    ----------
    repetitions : int
        R.
    measured_rmse, theoretical_rmse : float
        Root mean squared error of an item's frequency (of the mean), over items and repetitions,
        and what the exact variance says.
    coverage : float
        Share of 95% intervals that held the truth.
    coverage_error : float
        Standard error of that share, items taken as independent.
    largest_bias : float
        Largest |mean error| over items in units of its standard error; about 3 to 4.5 at most
        where the estimator is unbiased.
    """

    repetitions: int
    measured_rmse: float
    theoretical_rmse: float
    coverage: float
    coverage_error: float
    largest_bias: float

    def to_dict(self) -> dict[str, float]:
        """JSON-able form."""
        return {
            "repetitions": self.repetitions,
            "measured_rmse": self.measured_rmse,
            "theoretical_rmse": self.theoretical_rmse,
            "coverage": self.coverage,
            "coverage_error": self.coverage_error,
            "largest_bias": self.largest_bias,
        }


def simulate(
    randomizer: Mechanism,
    values: npt.ArrayLike,
    *,
    repetitions: int = 100,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[int], None] | None = None,
) -> Simulation:
    """Randomize and estimate the same values over and over.

    Parameters
    ----------
    randomizer : Randomizer or MultiMessage
        With a sampler and an estimator; its usual estimates are looked at.
    values : array_like, shape (n,)
        Inputs.
    repetitions : int
        R >= 2.
    seed : int
        The r-th repetition has the seed ``seed + r``.
    workers : int
        Processes.
    tell : callable
        Called with the number of repetitions done.
    """
    return simulate_question(
        randomizer,
        question(randomizer, {}, Asked()),
        np.asarray(values),
        repetitions=repetitions,
        seed=seed,
        workers=workers,
        tell=tell,
    )


def simulate_question(
    randomizer: Mechanism,
    wanted: Question,
    values: np.ndarray,
    *,
    asked: Asked | None = None,
    repetitions: int = 100,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[int], None] | None = None,
) -> Simulation:
    """The same for whatever is asked of the reports."""
    repetitions = _check.count("repetitions", repetitions, low=2, high=10**6)
    seed = _check.count("seed", seed, low=0, high=2**62)
    workers = _check.count("workers", workers, high=256)
    if not values.size:
        raise rejected("values", "empty", "at least one value")
    errors, inside = [], []
    truth = wanted.truth(values)
    asked = asked or Asked()
    jobs = ((randomizer, wanted, asked, values, truth, seed + r) for r in range(repetitions))
    if workers == 1:
        results = map(_one, jobs)
        for r, (error, held) in enumerate(results):
            errors.append(error)
            inside.append(held)
            _tell(tell, r + 1)
    else:
        with ProcessPoolExecutor(workers) as pool:
            for r, (error, held) in enumerate(pool.map(_one, jobs, chunksize=4)):
                errors.append(error)
                inside.append(held)
                _tell(tell, r + 1)
    return _summary(wanted.variances(values), np.array(errors), np.array(inside))


def _tell(tell: Callable[[int], None] | None, done: int) -> None:
    if tell is not None:
        tell(done)


def _one(
    job: tuple[Mechanism, Question, Asked, np.ndarray, Floats, int],
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    mechanism, wanted, asked, values, truth, seed = job
    reports = mechanism.simulate(values, seed=seed)
    hashes = hash_of(asked.candidates, size_of(mechanism) or 1) if asked.candidates else None
    sums = summed(mechanism, reports, asked=hashes, moments=asked.moments)
    answer = wanted.answer(sums, len(values))
    low, high = answer.interval(confidence=_CONFIDENCE)
    return answer.estimates - truth, (low <= truth) & (truth <= high)


def _summary(variances: Floats, errors: Floats, inside: npt.NDArray[np.bool_]) -> Simulation:
    repetitions = len(errors)
    spread = np.maximum(errors.std(axis=0, ddof=1), _ROUNDING)
    share = float(inside.mean())
    return Simulation(
        repetitions=repetitions,
        measured_rmse=float(math.sqrt(np.square(errors).mean())),
        theoretical_rmse=float(math.sqrt(variances.mean())),
        coverage=share,
        coverage_error=float(math.sqrt(max(share * (1.0 - share), 1e-12) / inside.size)),
        largest_bias=float(np.max(np.abs(errors.mean(axis=0)) / spread) * math.sqrt(repetitions)),
    )
