"""Readings of reports made of other mechanisms' reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from shuffledp.audit.readings.base import Labels, Reading, reading_of, value_of
from shuffledp.errors import NotCertified
from shuffledp.randomizers import Hierarchy, Joint, Parallel, PoissonSubsample

# Cells of the product of all parts' cells.
_MOST_CELLS = 512


@reading_of.register
def _joint(randomizer: Joint, inputs: tuple[Any, ...]) -> Reading:
    """Products of the parts' cells, coarser where there are many parts; up to nine parts."""
    parts = randomizer.randomizers
    most = int(_MOST_CELLS ** (1.0 / len(parts)) * (1.0 + 1e-9))
    if most < 2:
        raise NotCertified(f"joint: {len(parts)} parts, and no audit of more than 9 at once")
    rows = [randomizer.part_inputs(x) for x in inputs]
    every = [
        reading_of(part, tuple(row[j] for row in rows)).merged(most) for j, part in enumerate(parts)
    ]
    mass = np.ones((len(inputs), 1))
    names: list[str] = [""]
    for reading in every:
        mass = (mass[:, :, None] * reading.mass[:, None, :]).reshape(len(inputs), -1)
        names = [f"{a}; {b}" if a else b for a in names for b in reading.names]

    def classify(given: Any) -> Labels:
        labels = np.zeros(len(given), dtype=np.int64)
        bad = np.zeros(len(given), dtype=bool)
        for j, reading in enumerate(every):
            own = reading.classify(given[f"part{j}"])
            bad |= own == len(reading.names)
            labels = labels * len(reading.names) + np.minimum(own, len(reading.names) - 1)
        return np.where(bad, len(names), labels)

    return Reading(tuple(names), mass, classify, err=sum(r.err for r in every))


@value_of.register(Joint)
@value_of.register(Parallel)
def _tuple_of(randomizer: Any, x: Any) -> tuple[Any, ...]:
    parts = zip(randomizer.randomizers, randomizer.part_inputs(x), strict=True)
    return tuple(value_of(part, value) for part, value in parts)


@value_of.register
def _plain(randomizer: Hierarchy, x: Any) -> Any:
    """A place, though it is made of parts."""
    del randomizer
    return x


@reading_of.register(Parallel)
@reading_of.register(Hierarchy)
def _parallel(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """The parts' cells side by side, in their shares; ``choice`` says which part it is."""
    rows = [randomizer.part_inputs(x) for x in inputs]
    most = max(2, _MOST_CELLS // len(randomizer.randomizers))
    every = [
        reading_of(part, tuple(row[j] for row in rows)).merged(most)
        for j, part in enumerate(randomizer.randomizers)
    ]
    mass = np.hstack([share * r.mass for share, r in zip(randomizer.shares, every, strict=True)])
    names = tuple(f"part {j + 1}: {name}" for j, r in enumerate(every) for name in r.names)
    starts = np.cumsum([0, *(len(r.names) for r in every)])

    def classify(given: Any) -> Labels:
        labels = np.full(len(given), len(names))
        for j, reading in enumerate(every):
            mine = given["choice"] == j
            own = reading.classify(given[f"part{j}"][mine])
            labels[mine] = np.where(own == len(reading.names), len(names), own + starts[j])
        return labels

    return Reading(names, mass, classify, err=max(r.err for r in every))


@reading_of.register
def _subsample(randomizer: PoissonSubsample, inputs: tuple[Any, ...]) -> Reading:
    """The mechanism's cells in the share of the rate, and the empty message."""
    inner = reading_of(randomizer.randomizer, inputs)
    share, count = randomizer.share, len(inner.names)
    mass = np.column_stack([share * inner.mass, np.full(len(inputs), 1.0 - share)])

    def classify(given: Any) -> Labels:
        labels = np.full(len(given), count)
        present = given["choice"] == 1
        own = inner.classify(given["part0"][present])
        labels[present] = np.where(own == count, count + 1, own)
        return np.where(given["choice"] > 1, count + 1, labels)

    return Reading((*inner.names, "no report"), mass, classify, err=inner.err)


@value_of.register
def _inner_value(randomizer: PoissonSubsample, x: Any) -> Any:
    return value_of(randomizer.randomizer, x)
