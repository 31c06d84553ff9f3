"""Readings of reports that are one of few outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import Floats, Labels, Reading, reading_of, value_of
from shuffledp.errors import NotCertified
from shuffledp.randomizers import (
    KRR,
    PCKVGRR,
    BinaryRR,
    Channel,
    Duchi,
    Extremal,
    HadamardResponse,
)

# Outputs up to here are a cell each; more are put together, outputs of one law in so many runs.
MOST_OUTPUTS = 64
_RUNS = 8
# Entries of a table of all inputs: four inputs of 4 million outputs, 128 MB; some times as much
# memory, and ten seconds, while equal columns are found.
_MOST_ENTRIES = 1 << 24


def whole(reports: Any, size: int) -> tuple[Labels, Any]:
    """Reports as whole numbers, and which of them are not one of 0 .. size-1."""
    column = np.asarray(reports)
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        return np.zeros(len(column), dtype=np.int64), np.ones(len(column), dtype=bool)
    with np.errstate(invalid="ignore"):
        bad = ~((column >= 0) & (column < size))
        if column.dtype.kind == "f":
            bad |= column != np.floor(column)
    return np.where(bad, 0, column).astype(np.int64), bad


def outputs_reading(weights: Floats, words: str = "output") -> Reading:
    """Outputs 0 .. m-1 with probabilities proportional to ``weights``, shape (I, m)."""
    table = weights / weights.sum(axis=1, keepdims=True)
    size = table.shape[1]
    if size <= MOST_OUTPUTS:
        groups = np.arange(size)
        names = tuple(f"{words} {y}" for y in range(size))
    else:
        groups, names = _runs(table, words)
    sums = [np.bincount(groups, weights=row, minlength=len(names)) for row in table]

    def classify(reports: Any) -> Labels:
        column, bad = whole(reports, size)
        return np.where(bad, len(names), groups[column])

    return Reading(names, np.array(sums, dtype=np.float64), classify)


def _runs(table: Floats, words: str) -> tuple[Labels, tuple[str, ...]]:
    """Outputs of one law together, a large class in a few runs of consecutive outputs."""
    _, kinds = np.unique(table, axis=1, return_inverse=True)
    kinds = kinds.ravel()
    groups = np.empty(table.shape[1], dtype=np.int64)
    names: list[str] = []
    for kind in range(int(kinds.max()) + 1):
        members = np.flatnonzero(kinds == kind)
        for run in np.array_split(members, min(_RUNS, len(members))):
            groups[run] = len(names)
            last = "" if len(run) == 1 else f" to {run[-1]}"
            names.append(f"{words} {run[0]}{last}" + f" ({len(run)} of them)" * (len(run) > 1))
    return groups, tuple(names)


def _check_table(randomizer: Any, outputs: int, inputs: tuple[Any, ...]) -> None:
    """Refuse tables that do not fit."""
    if outputs * len(inputs) > _MOST_ENTRIES:
        msg = f"{randomizer.name}: {outputs:,} outputs, and no audit of more than "
        raise NotCertified(msg + f"{_MOST_ENTRIES // len(inputs):,} under {len(inputs)} inputs")


@reading_of.register(KRR)
@reading_of.register(BinaryRR)
def _response(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """e^eps0 for the own output, 1 for others."""
    _check_table(randomizer, randomizer.items, inputs)
    table = np.ones((len(inputs), randomizer.items))
    table[np.arange(len(inputs)), np.array(inputs)] = math.exp(randomizer.eps0)
    return outputs_reading(table)


@reading_of.register
def _channel(randomizer: Channel, inputs: tuple[Any, ...]) -> Reading:
    return outputs_reading(randomizer.probabilities[list(inputs)])


@reading_of.register
def _extremal(randomizer: Extremal, inputs: tuple[Any, ...]) -> Reading:
    return outputs_reading(
        np.where(randomizer.matrix[list(inputs)], math.exp(randomizer.eps0), 1.0)
    )


@reading_of.register
def _duchi(randomizer: Duchi, inputs: tuple[Any, ...]) -> Reading:
    return outputs_reading(bit_table(randomizer, inputs), "bit")


def bit_table(randomizer: Any, inputs: tuple[Any, ...]) -> Floats:
    """P(0) and P(1): 1/2 + x tanh(eps0/2)/2 on [-1, 1]."""
    x = np.array([(v - randomizer.middle) / randomizer.half for v in inputs])
    one = 0.5 + 0.5 * x * math.tanh(0.5 * randomizer.eps0)
    return np.column_stack([1.0 - one, one])


@reading_of.register
def _pckv(randomizer: PCKVGRR, inputs: tuple[Any, ...]) -> Reading:
    """1 + favour (e^eps0 - 1) for the symbols that an input's pairs may become."""
    _check_table(randomizer, randomizer.symbols, inputs)
    gain = math.expm1(randomizer.eps0)
    table = np.ones((len(inputs), randomizer.symbols))
    for row, x in enumerate(inputs):
        for slot, (key, value) in enumerate(value_of(randomizer, x)):
            real = int(key) if key >= 0 else randomizer.domain + slot
            table[row, 2 * real] += 0.5 * (1.0 - value) * gain
            table[row, 2 * real + 1] += 0.5 * (1.0 + value) * gain
    return outputs_reading(table, "symbol")


@value_of.register
def _pckv_value(randomizer: PCKVGRR, x: Any) -> list[list[float]]:
    """The pairs that the law's input stands for."""
    return [[float(key), value] for key, value in randomizer.pairs_of(x)]


@reading_of.register
def _hadamard(randomizer: HadamardResponse, inputs: tuple[Any, ...]) -> Reading:
    """Columns by the block they are in and the signs of the inputs' rows there."""
    size, count = 2 * randomizer.half_block, randomizer.columns
    _check_table(randomizer, count, inputs)
    block, column = np.divmod(np.arange(count), size)
    rows = []
    for x in inputs:
        even = _even(column & (x // randomizer.blocks + 1))
        favoured = (block == x % randomizer.blocks) & even
        rows.append(np.where(favoured, math.exp(randomizer.eps0), 1.0))
    return outputs_reading(np.array(rows), "column")


def _even(words: Labels) -> Any:
    """Whether an even number of binary digits is set, of numbers below 2^32."""
    for step in (16, 8, 4, 2, 1):
        words = words ^ (words >> step)
    return words & 1 == 0
