"""How the reports of a mechanism are read: its own, or those of its parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from shuffledp.audits.readings.base import Labels, Reading, value_of
from shuffledp.audits.readings.line import of_density, of_gaussian_ball, of_laplace_ball, of_noise
from shuffledp.audits.readings.ratios import by_ratios
from shuffledp.errors import NotCertified
from shuffledp.randomizers import (
    Density,
    DiscreteGaussian,
    DiscreteLaplace,
    GaussianBall,
    Hierarchy,
    Joint,
    LaplaceBall,
    MetricLaplace,
    Parallel,
    PoissonSubsample,
    Randomizer,
)
from shuffledp.randomizers.composed import PartsRandomizer, field

# Cells of the product of all parts' cells.
_MOST_CELLS = 512


def read(randomizer: Randomizer, inputs: tuple[Any, ...]) -> Reading:
    """How reports under these inputs are read.

    Parameters
    ----------
    randomizer : Randomizer
        The declared mechanism.
    inputs : tuple
        Inputs of its law.

    Raises
    ------
    NotCertified
        If nothing says how its reports are read.
    ParameterError
        If these are no inputs of its law, or more than can be told apart in bounded work.
    """
    for kind, reader in _READERS:
        if isinstance(randomizer, kind):
            return reader(randomizer, inputs)
    noise = isinstance(randomizer, MetricLaplace | DiscreteLaplace | DiscreteGaussian)
    if noise or randomizer.added_noise():
        return of_noise(randomizer, inputs)
    return by_ratios(randomizer, inputs)


def _joint(randomizer: Joint, inputs: tuple[Any, ...]) -> Reading:
    """Products of the parts' cells, coarser where there are many parts; up to nine parts."""
    count = len(randomizer.randomizers)
    most = int(_MOST_CELLS ** (1.0 / count) * (1.0 + 1e-9))
    if most < 2:
        raise NotCertified(f"joint: {count} parts, and no audit of more than 9 at once")
    every = _parts(randomizer, inputs, most)
    mass = np.ones((len(inputs), 1))
    names: list[str] = [""]
    for reading in every:
        mass = (mass[:, :, None] * reading.mass[:, None, :]).reshape(len(inputs), -1)
        names = [f"{a}; {b}" if a else b for a in names for b in reading.names]

    def classify(given: Any) -> Labels:
        labels = np.zeros(len(given), dtype=np.int64)
        bad = np.zeros(len(given), dtype=bool)
        for j, reading in enumerate(every):
            own = reading.classify(given[field(j)])
            bad |= own == len(reading.names)
            labels = labels * len(reading.names) + np.minimum(own, len(reading.names) - 1)
        return np.where(bad, len(names), labels)

    return Reading(tuple(names), mass, classify, err=sum(r.err for r in every))


def _parts(randomizer: Any, inputs: tuple[Any, ...], most: int) -> list[Reading]:
    rows = [randomizer.part_inputs(x) for x in inputs]
    return [
        read(part, tuple(row[j] for row in rows)).merged(most)
        for j, part in enumerate(randomizer.randomizers)
    ]


def _parallel(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """The parts' cells side by side, in their shares; ``choice`` says which part it is."""
    every = _parts(randomizer, inputs, max(2, _MOST_CELLS // len(randomizer.randomizers)))
    shares = map(float, randomizer.shares)
    mass = np.hstack([share * r.mass for share, r in zip(shares, every, strict=True)])
    names = tuple(f"part {j + 1}: {name}" for j, r in enumerate(every) for name in r.names)
    classify = _by_choice([(j, field(j), reading) for j, reading in enumerate(every)])
    return Reading(names, mass, classify, max(r.err for r in every))


def _subsample(randomizer: PoissonSubsample, inputs: tuple[Any, ...]) -> Reading:
    """The mechanism's cells in the share of the rate, and the empty message."""
    inner = read(randomizer.randomizer, inputs)
    share = float(randomizer.shares[0])
    empty = Reading(("no report",), np.ones((len(inputs), 1)), lambda r: np.zeros(len(r), int))
    mass = np.hstack([share * inner.mass, (1.0 - share) * empty.mass])
    # The empty message is choice 0.
    classify = _by_choice([(1, field(0), inner), (0, field(0), empty)])
    return Reading((*inner.names, *empty.names), mass, classify, inner.err)


def _by_choice(every: list[tuple[int, str, Reading]]) -> Any:
    """Reports of one part each, by their choice -> its cells, the parts' side by side."""
    starts = np.cumsum([0, *(len(reading.names) for *_, reading in every)])

    def classify(given: Any) -> Labels:
        labels = np.full(len(given), starts[-1])
        for start, (choice, column, reading) in zip(starts[:-1], every, strict=True):
            mine = given["choice"] == choice
            own = reading.classify(given[column][mine])
            labels[mine] = np.where(own == len(reading.names), starts[-1], own + start)
        return labels

    return classify


_READERS: tuple[tuple[Any, Any], ...] = (
    (Joint, _joint),
    (Parallel, _parallel),
    (Hierarchy, _parallel),
    (PoissonSubsample, _subsample),
    (Density, of_density),
    (GaussianBall, of_gaussian_ball),
    (LaplaceBall, of_laplace_ball),
)


@value_of.register(PartsRandomizer)
@value_of.register(PoissonSubsample)
def _tuple_of(randomizer: Any, x: Any) -> Any:
    """A tuple of the parts' values; of a hierarchy a place, of a sample the mechanism's value."""
    if isinstance(randomizer, Hierarchy):
        return x
    if isinstance(randomizer, PoissonSubsample):
        return value_of(randomizer.randomizer, x)
    parts = zip(randomizer.randomizers, randomizer.part_inputs(x), strict=True)
    return tuple(value_of(part, value) for part, value in parts)
