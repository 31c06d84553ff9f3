"""Readings of reports that are one of few outputs, or sets that contain items or do not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import Floats, Labels, Reading, few, reading_of, value_of
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
# Entries of a table of all inputs: four inputs of 4 million outputs, 128 MB; some times as much
# memory, and ten seconds, while equal columns are found.
_MOST_ENTRIES = 1 << 24
# Inputs of mechanisms whose reports support some of them and others not: 2^8 patterns, and four
# times as many cells with two items beside them, take about three seconds to plan.
MOST_SUPPORTED = 8
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


def rows_of(reports: Any, width: int, kinds: str) -> Any:
    """Reports as rows of this width and one of these kinds of numbers; None where they are not."""
    rows = np.asarray(reports)
    rows = rows[:, None] if rows.ndim == 1 else rows
    fits = rows.ndim == 2 and rows.shape[1] == width and rows.dtype.kind in kinds
    return rows if fits else None


# ------------------------------------------------------------------------------- single outputs


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


# ------------------------------------------------------------------ which items a report supports


def patterns(
    items: Sequence[int],
    weights: Sequence[Callable[[tuple[int, ...]], float]],
    supports: Callable[[Any], tuple[Any, Any]],
    *,
    words: str,
    width: int,
) -> Reading:
    """Cells are which of the items a report supports.

    Parameters
    ----------
    items : sequence of int
        At most ``MOST_SUPPORTED`` inputs and two bystanders: there are 2^items patterns.
    weights : sequence of callable
        For each input, pattern -> its probability up to a factor.
    supports : callable
        Rows of whole numbers -> (a bool array for each item, bool array of rows outside the space).
    words : str
        What supporting is called.
    width : int
        Numbers of a report.
    """
    every = list(itertools.product((0, 1), repeat=len(items)))
    names = []
    for pattern in every:
        held = (str(x) for x, bit in zip(items, pattern, strict=True) if bit)
        names.append(f"{words} {', '.join(held) or 'none'}")
    powers = 1 << np.arange(len(items))[::-1]
    mass = np.array([[weight(pattern) for pattern in every] for weight in weights])

    def classify(reports: Any) -> Labels:
        rows = rows_of(reports, width, "iu")
        if rows is None:
            return np.full(len(reports), len(names))
        found, bad = supports(rows)
        return np.where(bad, len(names), np.column_stack(found).astype(np.int64) @ powers)

    return Reading(tuple(names), mass / mass.sum(axis=1, keepdims=True), classify)


def favoured(
    items: Sequence[int],
    inputs: Sequence[int],
    base: Callable[[tuple[int, ...]], float],
    own: tuple[float, float],
) -> list[Callable[[tuple[int, ...]], float]]:
    """Weights where the user's own item alone is favoured.

    Parameters
    ----------
    items, inputs : sequence of int
        The inputs are among the items.
    base : callable
        Pattern -> its probability if no item were favoured, up to a factor.
    own : tuple of two floats
        By how much the pattern is likelier where it has not, and where it has, the own item.
    """
    places = [items.index(x) for x in inputs]
    return [lambda pattern, at=at: base(pattern) * own[pattern[at]] for at in places]


def independent(rate: float) -> Callable[[tuple[int, ...]], float]:
    """Probability of a pattern of independent bits, each of them set at this rate."""
    return lambda pattern: math.prod(rate if bit else 1.0 - rate for bit in pattern)


def with_bystanders(inputs: Sequence[int], domain: int, count: int = 1) -> list[int]:
    """The inputs, and items that nobody asked about: noise there has its law as well."""
    seen = list(dict.fromkeys(inputs))
    rest = (x for x in (domain - 1, domain // 2, *range(min(domain, 8))) if x not in seen)
    return [*seen, *itertools.islice(dict.fromkeys(rest), count)]


def _bits(items: Sequence[int], d: int) -> Callable[[Any], tuple[Any, Any]]:
    """The items' bits of reports packed in bytes; stray last bits are outside."""

    def supports(rows: Any) -> tuple[Any, Any]:
        stray = (rows[:, -1] & ((1 << (-d % 8)) - 1)) != 0
        wide = (rows < 0).any(axis=1) | (rows > 255).any(axis=1)
        return [rows[:, x // 8] >> (7 - x % 8) & 1 for x in items], stray | wide

    return supports


@reading_of.register(RAPPOR)
@reading_of.register(OUE)
def _unary(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """Independent bits: of the own item with p*, of others with q*."""
    few(randomizer, inputs, MOST_SUPPORTED)
    d, rates = randomizer.items, randomizer.support
    items = with_bystanders(inputs, d, 2)
    own = (rates.own_miss / rates.other_miss, rates.own / rates.other)
    weights = favoured(items, inputs, independent(rates.other), own)
    return patterns(items, weights, _bits(items, d), words="bits set:", width=-(-d // 8))


@reading_of.register
def _sampling(randomizer: SamplingRAPPOR, inputs: tuple[Any, ...]) -> Reading:
    """Mixture over the user's s items of RAPPOR: the first two of each set, and one in none."""
    few(randomizer, inputs, MOST_SUPPORTED)
    d, s = randomizer.items, randomizer.s
    sets = [value_of(randomizer, x) for x in inputs]
    firsts = list(dict.fromkeys(x for one in sets for x in one[:2]))[:4]
    touched = {x for one in sets for x in one}
    items = [*firsts, *(x for x in with_bystanders(firsts, d) if x not in touched)]
    w = math.exp(0.5 * randomizer.eps0)
    base = independent(1.0 / (w + 1.0))

    def weight(own: list[int]) -> Callable[[tuple[int, ...]], float]:
        def of(pattern: tuple[int, ...]) -> float:
            inside = [bit for x, bit in zip(items, pattern, strict=True) if x in own]
            return base(pattern) * (sum(w if bit else 1.0 / w for bit in inside) + s - len(inside))

        return of

    weights = [weight(own) for own in sets]
    return patterns(items, weights, _bits(items, d), words="bits set:", width=-(-d // 8))


@value_of.register
def _window(randomizer: SamplingRAPPOR, x: Any) -> list[int]:
    """The items x .. x + s - 1, modulo d, in order."""
    return sorted((x + i) % randomizer.items for i in range(randomizer.s))


@reading_of.register
def _subset(randomizer: SubsetSelection, inputs: tuple[Any, ...]) -> Reading:
    """Which items are in the set: e^eps0 or 1 times the share of k-sets with that pattern."""
    few(randomizer, inputs, MOST_SUPPORTED)
    d, k = randomizer.items, randomizer.size
    items = with_bystanders(inputs, d)

    def share(pattern: tuple[int, ...]) -> float:
        found, left, inside = 1.0, d, k
        for bit in pattern:
            found *= (inside if bit else left - inside) / left if left else 1.0
            left, inside = left - 1, inside - bit
        return found

    def supports(rows: Any) -> tuple[Any, Any]:
        bad = (rows[:, 1:] <= rows[:, :-1]).any(axis=1) | (rows < 0).any(axis=1)
        bad |= (rows >= d).any(axis=1)
        return [(rows == x).any(axis=1) for x in items], bad

    weights = favoured(items, inputs, share, (1.0, math.exp(randomizer.eps0)))
    return patterns(items, weights, supports, words="in the set:", width=k)


@reading_of.register
def _hashed(randomizer: LocalHash, inputs: tuple[Any, ...]) -> Reading:
    """Which items hash to z: independent hits with 1/l, times e^eps0 for the own one (at most 3).

    What is run hits any three items independently (docs/theory.md, section 4); no more are asked.
    """
    few(randomizer, inputs, _MOST_HASHED)
    l, m = randomizer.l, (randomizer.items - 1).bit_length()
    items = with_bystanders(inputs, randomizer.items, 1)[:_MOST_HASHED]

    def supports(rows: Any) -> tuple[Any, Any]:
        wide = rows.astype(np.int64)
        bad = ((wide < 0) | (wide >= l)).any(axis=1)
        digits = [[j for j in range(m) if x >> j & 1] for x in items]
        return [wide[:, some].sum(axis=1) % l == wide[:, m] for some in digits], bad

    weights = favoured(items, inputs, independent(1.0 / l), (1.0, math.exp(randomizer.eps0)))
    return patterns(items, weights, supports, words="hashed to the answer:", width=m + 1)


@reading_of.register
def _wheel(randomizer: Wheel, inputs: tuple[Any, ...]) -> Reading:
    """Which of the disjoint sets cover the point: independent but for the own one's density."""
    few(randomizer, inputs, _MOST_HASHED)
    names = list(dict.fromkeys(inputs))
    s = randomizer.s
    p = randomizer.arc / CIRCLE
    hit = -math.expm1(s * math.log1p(-p))
    on = math.exp(randomizer.eps0) / (1.0 + s * p * math.expm1(randomizer.eps0))
    weights = favoured(names, inputs, independent(hit), ((1.0 - hit * on) / (1.0 - hit), on))

    def covered(rows: Any, x: Any) -> Any:
        items = (np.full(len(rows), item) for item in value_of(randomizer, x))
        starts = [polynomial(rows[:, :-1] % CIRCLE, item) for item in items]
        return np.any([(rows[:, -1] - start) % CIRCLE < randomizer.arc for start in starts], axis=0)

    def supports(rows: Any) -> tuple[Any, Any]:
        wide = rows.astype(np.int64)
        bad = ((wide < 0) | (wide >= CIRCLE)).any(axis=1)
        return [covered(wide, x) for x in names], bad

    return patterns(names, weights, supports, words="covered by sets", width=3 * s + 1)


@value_of.register
def _wheel_set(randomizer: Wheel, x: Any) -> list[int]:
    """j stands for the items j s .. j s + s - 1."""
    return list(range(x * randomizer.s, (x + 1) * randomizer.s))
