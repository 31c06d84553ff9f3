"""Repeat a run with seeds: measured error and coverage beside what is stated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.protocol.jobs import AGGREGATOR, Mechanism
from shuffledp.protocol.questions import Asked, Question, question
from shuffledp.randomness import SeededSource

Floats = npt.NDArray[np.floating[Any]]
_CONFIDENCE = 0.95
# Numbers that are known for sure, such as the share of all users, scatter by this; limits that are
# a whole number of users divided by all of them may be off by as much.
_ROUNDING = 1e-12
# The errors of one run and those stated, which intervals held the truth, and whether all for all at
# once did.
Run = tuple[Floats, Floats, npt.NDArray[np.bool_], bool]


@dataclass(frozen=True)
class Simulation:
    """Measured against stated error over R repetitions with fixed data.

    Attributes
    ----------
    repetitions : int
        R.
    measured_rmse, stated_rmse : float
        Root mean squared error of an item's frequency (of the mean), over items and repetitions,
        measured, and as the standard errors of the estimates state it.
    coverage : float
        Share of 95% intervals that held the truth.
    coverage_error : float
        Standard error of that share, items taken as independent.
    joint_coverage : float
        Share of repetitions in which all 95% intervals "for all at once" held the truth.
    joint_coverage_error : float
        Standard error of that share.
    largest_bias : float
        Largest |mean error| over items in units of its standard error; about 3 to 4.5 at most
        where the estimator is unbiased.
    """

    repetitions: int
    measured_rmse: float
    stated_rmse: float
    coverage: float
    coverage_error: float
    joint_coverage: float
    joint_coverage_error: float
    largest_bias: float

    def to_dict(self) -> dict[str, float]:
        """JSON-able form."""
        return asdict(self)


def simulate(
    randomizer: Mechanism,
    values: npt.ArrayLike,
    *,
    wanted: Question | None = None,
    repetitions: int = 100,
    seed: int = 0,
    tell: Callable[[int], None] | None = None,
) -> Simulation:
    """Randomize and estimate the same values over and over.

    Parameters
    ----------
    randomizer : Randomizer or MultiMessage
        With a sampler and an estimator.
    values : array_like, shape (n,)
        Inputs.
    wanted : Question, optional
        What is asked of the reports; the mechanism's usual estimates by default.
    repetitions : int
        R >= 2.
    seed : int
        The r-th repetition has the seed ``seed + r``.
    tell : callable
        Called with the number of repetitions done.
    """
    repetitions = _check.count("repetitions", repetitions, low=2, high=10**6)
    seed = _check.count("seed", seed, low=0, high=2**62)
    values = np.asarray(values)
    if not values.size:
        raise rejected("values", "empty", "at least one value")
    wanted = wanted or question(randomizer, None, Asked())
    truth = wanted.truth(values)
    runs = []
    for r in range(repetitions):
        runs.append(_one(randomizer, wanted, values, truth, seed + r))
        if tell is not None:
            tell(r + 1)
    return _summary(*map(np.array, zip(*runs, strict=True)))


def _one(
    mechanism: Mechanism, wanted: Question, values: np.ndarray, truth: Floats, seed: int
) -> Run:
    sums = wanted.sums(mechanism.simulate(values, seed=seed))
    sums = wanted.released(sums, SeededSource(seed, stream=AGGREGATOR))
    answer = wanted.answer(sums, len(values))
    held, all_held = (
        (low - _ROUNDING <= truth) & (truth <= high + _ROUNDING)
        for low, high in (
            answer.interval(confidence=_CONFIDENCE),
            answer.interval_of_all(confidence=_CONFIDENCE),
        )
    )
    return answer.estimates - truth, answer.noise, held, bool(all_held.all())


def _summary(errors: Any, stated: Any, inside: Any, together: Any) -> Simulation:
    repetitions = len(errors)
    spread = np.maximum(errors.std(axis=0, ddof=1), _ROUNDING)
    share, joint = float(inside.mean()), float(together.mean())
    return Simulation(
        repetitions=repetitions,
        measured_rmse=float(math.sqrt(np.square(errors).mean())),
        stated_rmse=float(math.sqrt(np.square(stated).mean())),
        coverage=share,
        coverage_error=float(math.sqrt(max(share * (1.0 - share), 1e-12) / inside.size)),
        joint_coverage=joint,
        joint_coverage_error=float(math.sqrt(max(joint * (1.0 - joint), 1e-12) / repetitions)),
        largest_bias=float(np.max(np.abs(errors.mean(axis=0)) / spread) * math.sqrt(repetitions)),
    )
