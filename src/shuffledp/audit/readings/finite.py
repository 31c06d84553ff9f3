"""Readings of reports that are one of few outputs, or sets that contain items or do not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import (
    MOST_SUPPORTED,
    Floats,
    Labels,
    Reading,
    gives,
    reads,
)
from shuffledp.errors import NotCertified
from shuffledp.randomizers import (
    KRR,
    OUE,
    PCKVGRR,
    RAPPOR,
    BinaryRR,
    Channel,
    Duchi,
    Extremal,
    HadamardResponse,
    LocalHash,
    SamplingRAPPOR,
    SubsetSelection,
    Wheel,
)
from shuffledp.randomizers.wheel import CIRCLE, polynomial

# Outputs up to here are a cell each; more are put together, outputs of one law in so many runs.
MOST_OUTPUTS = 64
_RUNS = 8
# Outputs that are tabulated: 2^22 of them are a table of 32 MB.
_MOST_TABLE = 1 << 22
# Entries of a table of all inputs: four inputs of the longest one, 128 MB; some times as much
# memory, and ten seconds, while equal columns are found.
_MOST_ENTRIES = 1 << 24
# Items, or sets of them, that what is run maps independently (docs/theory.md, section 4).
_MOST_HASHED = 3


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


def outputs_reading(table: Floats, words: str = "output") -> Reading:
    """Outputs 0 .. m-1 with the claimed probabilities ``table``, shape (I, m)."""
    size = table.shape[1]
    if size <= MOST_OUTPUTS:
        groups = np.arange(size)
        names = tuple(f"{words} {y}" for y in range(size))
    else:
        groups, names = _runs(table, words)
    sums = [np.bincount(groups, weights=row, minlength=len(names)) for row in table]
    mass = np.array(sums, dtype=np.float64)

    def classify(reports: Any) -> Labels:
        column, bad = whole(reports, size)
        return np.where(bad, len(names), groups[column])

    return Reading(names, mass, classify)


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


@reads(KRR, BinaryRR)
def _response(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """e^eps0/Z and 1/Z; of a very large domain the inputs, and runs of the rest."""
    del reports
    k = randomizer.items
    total = math.exp(randomizer.eps0) + (k - 1)
    if k <= _MOST_TABLE and k * len(inputs) <= _MOST_ENTRIES:
        table = np.full((len(inputs), k), 1.0 / total)
        table[np.arange(len(inputs)), np.array(inputs)] = math.exp(randomizer.eps0) / total
        return outputs_reading(table)
    return _large_response(randomizer, inputs, total)


def _large_response(randomizer: Any, inputs: tuple[Any, ...], total: float) -> Reading:
    seen = list(dict.fromkeys(inputs))
    names = (*(f"output {x}" for x in seen), "other outputs")
    mass = np.full((len(inputs), len(names)), 1.0 / total)
    mass[:, -1] = (randomizer.items - len(seen)) / total
    for row, x in enumerate(inputs):
        mass[row, seen.index(x)] = math.exp(randomizer.eps0) / total

    def classify(given: Any) -> Labels:
        column, bad = whole(given, randomizer.items)
        labels = np.full(len(column), len(seen))
        for place, x in enumerate(seen):
            labels[column == x] = place
        return np.where(bad, len(names), labels)

    return Reading(names, mass, classify)


@reads(Channel)
def _channel(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    del reports
    return outputs_reading(randomizer.probabilities[list(inputs)])


@reads(Extremal)
def _extremal(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    del reports
    grow = np.where(randomizer.matrix[list(inputs)], math.exp(randomizer.eps0), 1.0)
    return outputs_reading(grow / grow.sum(axis=1, keepdims=True))


@reads(Duchi)
def _duchi(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    del reports
    return outputs_reading(bit_table(randomizer, inputs), "bit")


def bit_table(randomizer: Any, inputs: tuple[Any, ...]) -> Floats:
    """P(0) and P(1): 1/2 + x tanh(eps0/2)/2 on [-1, 1]."""
    x = np.array([(v - randomizer.middle) / randomizer.half for v in inputs])
    one = 0.5 + 0.5 * x * math.tanh(0.5 * randomizer.eps0)
    return np.column_stack([1.0 - one, one])


@reads(PCKVGRR)
def _pckv(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """(1 + favour (e^eps0 - 1))/Z for the symbols that an input's pairs may become."""
    del reports
    _check_table(randomizer, randomizer.symbols, inputs)
    gain = math.expm1(randomizer.eps0)
    total = randomizer.s * gain + randomizer.symbols
    table = np.full((len(inputs), randomizer.symbols), 1.0 / total)
    for row, x in enumerate(inputs):
        for slot, (key, value) in enumerate(_pckv_value(randomizer, x)):
            real = int(key) if key >= 0 else randomizer.domain + slot
            table[row, 2 * real] += 0.5 * (1.0 - value) * gain / total
            table[row, 2 * real + 1] += 0.5 * (1.0 + value) * gain / total
    return outputs_reading(table, "symbol")


@gives(PCKVGRR)
def _pckv_value(randomizer: Any, x: Any) -> list[list[float]]:
    """The pairs that the law's input stands for."""
    return [[float(key), value] for key, value in randomizer.pairs_of(x)]


@reads(HadamardResponse)
def _hadamard(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Columns by the block they are in and the signs of the inputs' rows there."""
    del reports
    size, count = 2 * randomizer.half_block, randomizer.columns
    _check_table(randomizer, count, inputs)
    total = randomizer.half_block * math.exp(randomizer.eps0) + count - randomizer.half_block
    block, column = np.divmod(np.arange(count), size)
    rows = []
    for x in inputs:
        odd = _parity(column & (x // randomizer.blocks + 1))
        favoured = (block == x % randomizer.blocks) & ~odd
        rows.append(np.where(favoured, math.exp(randomizer.eps0), 1.0) / total)
    return outputs_reading(np.array(rows), "column")


def _parity(words: Labels) -> Any:
    """Whether an odd number of binary digits is set, of numbers below 2^32."""
    folded = words.copy()
    for step in (16, 8, 4, 2, 1):
        folded ^= folded >> step
    return folded & 1 == 1


# ------------------------------------------------------------------ which items a report supports


def patterns(
    items: Sequence[int],
    chance: Any,
    inputs: int,
    supports: Any,
    words: str,
) -> Reading:
    """Cells are which of the items a report supports.

    Parameters
    ----------
    items : sequence of int
        At most ``MOST_SUPPORTED`` inputs and two bystanders: there are 2^items patterns.
    chance : callable
        (row, pattern) -> probability of the pattern under that input.
    inputs : int
        How many inputs there are.
    supports : callable
        Reports -> (bool array (n, len(items)), bool array (n,) of reports outside the space).
    words : str
        What supporting is called.
    """
    every = list(itertools.product((0, 1), repeat=len(items)))
    mass = np.array([[chance(row, p) for p in every] for row in range(inputs)])
    names = tuple(
        f"{words} " + (", ".join(str(x) for x, bit in zip(items, p, strict=True) if bit) or "none")
        for p in every
    )
    weights = 1 << np.arange(len(items))[::-1]

    def classify(reports: Any) -> Labels:
        found, bad = supports(reports)
        return np.where(bad, len(every), found.astype(np.int64) @ weights)

    return Reading(names, mass, classify)


def with_bystanders(inputs: Sequence[int], domain: int, count: int = 1) -> list[int]:
    """The inputs, and items that nobody asked about: noise there has its law as well."""
    seen = list(dict.fromkeys(inputs))
    rest = (x for x in (domain - 1, domain // 2, *range(min(domain, 8))) if x not in seen)
    return [*seen, *itertools.islice(dict.fromkeys(rest), count)]


def packed_bits(reports: Any, items: Sequence[int], d: int) -> tuple[Any, Any]:
    """The items' bits of reports packed in bytes; wrong shapes and stray last bits are outside."""
    rows = np.asarray(reports)
    width = -(-d // 8)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype != np.uint8:
        return np.zeros((len(rows), len(items)), dtype=bool), np.ones(len(rows), dtype=bool)
    stray = (rows[:, -1] & ((1 << (8 * width - d)) - 1)) != 0
    found = np.column_stack([rows[:, x // 8] >> (7 - x % 8) & 1 for x in items]).astype(bool)
    return found, stray


@reads(RAPPOR, OUE, most=MOST_SUPPORTED)
def _unary(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Independent bits: of the own item with p*, of others with q*."""
    del reports
    items = with_bystanders(inputs, randomizer.items, 2)
    rates = randomizer.support

    def chance(row: int, pattern: tuple[int, ...]) -> float:
        found = 1.0
        for item, bit in zip(items, pattern, strict=True):
            own = item == inputs[row]
            yes, no = (rates.own, rates.own_miss) if own else (rates.other, rates.other_miss)
            found *= yes if bit else no
        return found

    return patterns(
        items,
        chance,
        len(inputs),
        lambda given: packed_bits(given, items, randomizer.items),
        "bits set:",
    )


@reads(SamplingRAPPOR, most=MOST_SUPPORTED)
def _sampling(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Mixture over the user's s items of RAPPOR: the first two of each set, and one in none."""
    del reports
    d, s = randomizer.items, randomizer.s
    sets = [_window(randomizer, x) for x in inputs]
    firsts = list(dict.fromkeys(x for one in sets for x in one[:2]))[:4]
    touched = {x for one in sets for x in one}
    items = [*firsts, *(x for x in with_bystanders(firsts, d) if x not in touched)]
    w = math.exp(0.5 * randomizer.eps0)
    one, zero = 1.0 / (w + 1.0), w / (w + 1.0)

    def chance(row: int, pattern: tuple[int, ...]) -> float:
        base = math.prod(one if bit else zero for bit in pattern)
        inside = [bit for x, bit in zip(items, pattern, strict=True) if x in sets[row]]
        favour = sum(w if bit else 1.0 / w for bit in inside) + (s - len(inside))
        return base * favour / s

    return patterns(
        items, chance, len(inputs), lambda given: packed_bits(given, items, d), "bits set:"
    )


@gives(SamplingRAPPOR)
def _window(randomizer: Any, x: Any) -> list[int]:
    """The items x .. x + s - 1, modulo d, in order."""
    return sorted((x + i) % randomizer.items for i in range(randomizer.s))


@reads(SubsetSelection, most=MOST_SUPPORTED)
def _subset(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Which items are in the set: e^eps0 or 1 times the share of k-sets with that pattern."""
    del reports
    d, k = randomizer.items, randomizer.size
    items = with_bystanders(inputs, d)
    grow = math.exp(randomizer.eps0)
    unit = d / (k * grow + (d - k))

    def chance(row: int, pattern: tuple[int, ...]) -> float:
        share, left, inside = 1.0, d, k
        for bit in pattern:
            share *= (inside if bit else left - inside) / left if left else 1.0
            left, inside = left - 1, inside - bit
        return share * unit * (grow if pattern[items.index(inputs[row])] else 1.0)

    def supports(reports: Any) -> tuple[Any, Any]:
        rows = np.asarray(reports)
        if rows.ndim != 2 or rows.shape[1] != k or rows.dtype.kind not in "iu":
            return np.zeros((len(rows), len(items)), dtype=bool), np.ones(len(rows), dtype=bool)
        bad = (rows[:, 1:] <= rows[:, :-1]).any(axis=1) | (rows < 0).any(axis=1)
        bad |= (rows >= d).any(axis=1)
        return np.column_stack([(rows == x).any(axis=1) for x in items]), bad

    return patterns(items, chance, len(inputs), supports, "in the set:")


@reads(LocalHash, most=_MOST_HASHED)
def _hashed(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Which items hash to z: independent hits with 1/l, times e^eps0 for the own one (at most 3).

    What is run hits any three items independently (docs/theory.md, section 4); no more are asked.
    """
    del reports
    l, m = randomizer.l, (randomizer.items - 1).bit_length()
    items = with_bystanders(inputs, randomizer.items, 1)[:_MOST_HASHED]
    unit = l / (math.exp(randomizer.eps0) + (l - 1))

    def chance(row: int, pattern: tuple[int, ...]) -> float:
        base = math.prod(1.0 / l if bit else 1.0 - 1.0 / l for bit in pattern)
        own = pattern[items.index(inputs[row])]
        return base * unit * (math.exp(randomizer.eps0) if own else 1.0)

    def supports(given: Any) -> tuple[Any, Any]:
        rows = np.asarray(given)
        if rows.ndim != 2 or rows.shape[1] != m + 1 or rows.dtype.kind not in "iu":
            return np.zeros((len(rows), len(items)), dtype=bool), np.ones(len(rows), dtype=bool)
        wide = rows.astype(np.int64)
        bad = ((wide < 0) | (wide >= l)).any(axis=1)
        found = [
            sum((wide[:, j] for j in range(m) if x >> j & 1), np.zeros(len(wide), dtype=np.int64))
            % l
            == wide[:, m]
            for x in items
        ]
        return np.column_stack(found), bad

    return patterns(items, chance, len(inputs), supports, "hashed to the answer:")


@reads(Wheel, most=_MOST_HASHED)
def _wheel(randomizer: Any, inputs: tuple[Any, ...], reports: int) -> Reading:
    """Which of the disjoint sets cover the point: independent but for the own one's density."""
    del reports
    names = list(dict.fromkeys(inputs))
    s = randomizer.s
    p = randomizer.arc / CIRCLE
    hit = -math.expm1(s * math.log1p(-p))
    on = math.exp(randomizer.eps0) / (1.0 + s * p * math.expm1(randomizer.eps0))
    levels = ((1.0 - hit * on) / (1.0 - hit), on)

    def chance(row: int, pattern: tuple[int, ...]) -> float:
        base = math.prod(hit if bit else 1.0 - hit for bit in pattern)
        return base * levels[pattern[names.index(inputs[row])]]

    def supports(given: Any) -> tuple[Any, Any]:
        rows = np.asarray(given)
        if rows.ndim != 2 or rows.shape[1] != 3 * s + 1 or rows.dtype.kind not in "iu":
            return np.zeros((len(rows), len(names)), dtype=bool), np.ones(len(rows), dtype=bool)
        wide = rows.astype(np.int64)
        bad = ((wide < 0) | (wide >= CIRCLE)).any(axis=1)
        found = []
        for x in names:
            starts = [
                polynomial(wide[:, :-1] % CIRCLE, np.full(len(wide), item))
                for item in _wheel_set(randomizer, x)
            ]
            on_any = [(wide[:, -1] - start) % CIRCLE < randomizer.arc for start in starts]
            found.append(np.any(on_any, axis=0))
        return np.column_stack(found), bad

    return patterns(names, chance, len(inputs), supports, "covered by sets")


@gives(Wheel)
def _wheel_set(randomizer: Any, x: Any) -> list[int]:
    """j stands for the items j s .. j s + s - 1."""
    return list(range(x * randomizer.s, (x + 1) * randomizer.s))
