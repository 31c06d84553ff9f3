"""Repeat a run with seeds: measured error and coverage beside what theory says."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.estimates import FrequencyEstimate, MeanEstimate
from shuffledp.randomizers import Randomizer

Floats = npt.NDArray[np.float64]
_CONFIDENCE = 0.95


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
    randomizer: Randomizer,
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
    randomizer : Randomizer
        With a sampler and an estimator.
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
    repetitions = _check.count("repetitions", repetitions, low=2, high=10**6)
    seed = _check.count("seed", seed, low=0, high=2**62)
    workers = _check.count("workers", workers, high=256)
    column = np.asarray(values)
    if not column.size:
        raise rejected("values", "empty", "at least one value")
    errors, inside = [], []
    truth = true_values(randomizer, column)
    jobs = ((randomizer, column, truth, seed + r) for r in range(repetitions))
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
    return _summary(randomizer, column, truth, np.array(errors), np.array(inside))


def _tell(tell: Callable[[int], None] | None, done: int) -> None:
    if tell is not None:
        tell(done)


def true_values(randomizer: Randomizer, values: np.ndarray) -> Floats:
    """What an estimate aims at: frequencies of the items, or the mean."""
    size = getattr(randomizer, "items", None)
    if size is None:
        return np.atleast_1d(np.asarray(values, dtype=np.float64).mean(axis=0))
    return np.bincount(np.asarray(values).astype(np.int64), minlength=size) / len(values)


def _one(job: tuple[Randomizer, np.ndarray, Floats, int]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    randomizer, values, truth, seed = job
    found = randomizer.estimate(randomizer.simulate(values, seed=seed))
    low, high = found.interval(confidence=_CONFIDENCE)
    estimate = found.frequencies if isinstance(found, FrequencyEstimate) else _mean(found)
    error = np.atleast_1d(estimate - truth)
    held = (np.atleast_1d(low) <= truth) & (truth <= np.atleast_1d(high))
    return error, held


def _mean(found: MeanEstimate) -> Floats:
    return np.atleast_1d(np.asarray(found.mean, dtype=np.float64))


def _summary(
    randomizer: Randomizer,
    values: np.ndarray,
    truth: Floats,
    errors: Floats,
    inside: npt.NDArray[np.bool_],
) -> Simulation:
    n, repetitions = len(values), len(errors)
    if getattr(randomizer, "items", None) is None:
        variances = np.full(truth.shape, randomizer.variance())
    else:
        variances = np.array([randomizer.variance(float(f)) for f in truth])
    spread = np.maximum(errors.std(axis=0, ddof=1), 1e-300)
    share = float(inside.mean())
    return Simulation(
        repetitions=repetitions,
        measured_rmse=float(math.sqrt(np.square(errors).mean())),
        theoretical_rmse=float(math.sqrt(variances.mean() / n)),
        coverage=share,
        coverage_error=float(math.sqrt(max(share * (1.0 - share), 1e-12) / inside.size)),
        largest_bias=float(np.max(np.abs(errors.mean(axis=0)) / spread) * math.sqrt(repetitions)),
    )
