"""Mechanisms given by a matrix: any finite channel, and patterns of outputs that inputs favour.

All their inputs are looked at one by one: nothing is known of their symmetries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from shuffledp.arithmetic.balls import arb, fmpq
from shuffledp.errors import ParameterError
from shuffledp.theorems import ALL_PAIRS, ALL_TRIPLES, LEAST_COMMON

from .bits import Bit, Bits, Matrix, bits_between
from .levels import flags, two_levels
from .outputs import Law, OutputClass, Parameters, check_inputs, positive, rational_ball
from .ranges import EPS0, is_minus_zero
from .record import Others, Pair, Record

__all__ = ["RECORDS"]

# So many inputs are looked at one by one; and up to so many, 4,032 ordered pairs, where every input
# gives every output: then nearly all pairs are excluded by products of matrices in half a second.
_MOST_INPUTS, _MOST_TOGETHER = 12, 64
# Of the class: how far sums of probabilities may be from one.
_SLACK = 1e-9


# ------------------------------------------------------------------------------ any finite channel


def _channel(mechanism: Parameters, inputs: tuple[int, ...]) -> Law:
    """Any finite channel: rows are inputs, each divided by its exact sum."""
    matrix = mechanism.get("matrix")
    check_inputs(inputs, len(_exact_rows(matrix)))
    law = []
    for values in _classes(tuple(map(tuple, matrix or ())), inputs):
        balls = [rational_ball(v) for v in values]
        law.append(OutputClass(balls[0], tuple(balls[1:]), None, values))
    return law


# A search for eps asks for the same inputs at several precisions and in both directions. Of floats
# the key is: hashes of thousands of fractions take longer than what is kept.
@lru_cache(maxsize=1024)
def _classes(
    matrix: tuple[tuple[Any, ...], ...], inputs: tuple[int, ...]
) -> list[tuple[Fraction, ...]]:
    """Blanket and rows of outputs, those with the same ratios added up."""
    rows = _exact_rows(matrix)
    merged: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for column in zip(*rows, strict=True):
        chosen = (min(column), *(column[x] for x in inputs))
        if not any(chosen):
            continue
        total = sum(chosen)
        key = tuple(c / total for c in chosen)
        merged[key] = [
            a + b for a, b in zip(merged.get(key, [Fraction(0)] * len(key)), chosen, strict=True)
        ]
    return [tuple(values) for values in merged.values()]


def _exact_rows(matrix: Any) -> tuple[tuple[Fraction, ...], ...]:
    try:
        return _divided_by_sums(tuple(map(tuple, matrix)))
    except TypeError as error:
        raise ParameterError(f"matrix = {matrix!r}: wanted rows of finite numbers") from error


# The laws of all pairs and triples of inputs of one channel ask for the same rows.
@lru_cache(maxsize=8)
def _divided_by_sums(matrix: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Fraction, ...], ...]:
    """Rows of fractions, each divided by its exact sum."""
    try:
        rows = [[Fraction(entry) for entry in row] for row in matrix]
    except (ValueError, OverflowError) as error:
        raise ParameterError(f"matrix = {matrix!r}: wanted rows of finite numbers") from error
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise ParameterError("matrix: wanted at least two rows, all of the same length")
    sums = [sum(row, Fraction(0)) for row in rows]
    for i, (row, total) in enumerate(zip(rows, sums, strict=True)):
        if min(row) < 0 or abs(total - 1) > Fraction(1, 10**9):
            raise ParameterError(
                f"matrix[{i}] sums to {float(total)!r}: wanted probabilities summing to one"
            )
    return tuple(
        tuple(entry / total for entry in row) for row, total in zip(rows, sums, strict=True)
    )


# ------------------------------------------------------------------------- patterns of outputs


def _extremal(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Kairouz, Oh, Viswanath 2016: R_x(y) proportional to e^eps0 where pattern[x][y] = 1, else 1.

    An output that all inputs favour has the blanket e^eps0/Z, and ratios one.
    """
    pattern, eps0 = _checked_pattern(mechanism), positive(mechanism, "eps0")
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < len(pattern):
            raise ParameterError(f"input = {x!r}: wanted an integer from 0 to {len(pattern) - 1}")
    ones = sum(pattern[0])
    total = ones * eps0.exp() + (len(pattern[0]) - ones)
    counts: dict[tuple[bool, ...], int] = {}
    for column in zip(*pattern, strict=True):
        key = tuple(not all(column) and column[x] == 1 for x in inputs)
        grown = (all(column), *key)
        counts[grown] = counts.get(grown, 0) + 1
    parts = [
        (count * (eps0.exp() if by_all else arb(1)) / total, flags(key))
        for (by_all, *key), count in counts.items()
    ]
    return two_levels(parts, eps0)


def _checked_pattern(mechanism: Parameters) -> list[list[int]]:
    """Rows of zeros and ones, the same number of ones in each, neither none nor all."""
    rows = mechanism.get("pattern")
    if not isinstance(rows, Sequence) or len(rows) < 2:
        raise ParameterError(f"pattern = {rows!r}: wanted at least two rows of zeros and ones")
    found = [list(row) for row in rows]
    width, ones = len(found[0]), sum(found[0])
    for i, row in enumerate(found):
        if len(row) != width or any(v not in (0, 1) for v in row) or sum(row) != ones:
            raise ParameterError(
                f"pattern[{i}] = {row!r}: wanted zeros and ones, as many ones as in other rows"
            )
    if not 0 < ones < width:
        raise ParameterError("pattern: wanted some outputs favoured, not all")
    return found


def _fewest_common(mechanism: Parameters) -> Pair:
    """The first pair of rows with the fewest favoured outputs in common."""
    pattern = _checked_pattern(mechanism)
    rows = [sum(1 << j for j, v in enumerate(row) if v) for row in pattern]
    return min(
        itertools.combinations(range(len(rows)), 2),
        key=lambda pair: (rows[pair[0]] & rows[pair[1]]).bit_count(),
    )


# -------------------------------------------------------------------------------- two outputs


def _channel_bits(mechanism: Parameters) -> Bits | None:
    """Of two outputs that are used: the rows with the least and the largest share of a 1."""
    matrix = mechanism["matrix"]
    used = _used(matrix)
    if len(used) != 2:
        return None

    def law(x: int) -> Bit:
        first, second = (arb(_exact(matrix[x][y])) for y in used)
        return Bit(first, second)

    rows = [(_exact(row[used[0]]), _exact(row[used[1]])) for row in matrix]

    def less(x: tuple[Any, Any], y: tuple[Any, Any]) -> bool:
        """P(1) of one is smaller: by products, so that nothing is divided by zero."""
        return bool(x[1] * y[0] < y[1] * x[0])

    low = high = 0
    for i, row in enumerate(rows):
        low = i if less(row, rows[low]) else low
        high = i if less(rows[high], row) else high
    if not less(rows[low], rows[high]):
        return None
    return Bits((low, high), law, mirrored=False, outputs=len(matrix[0]))


def _pattern_bits(mechanism: Parameters) -> Bits | None:
    """Each of two outputs favoured by somebody."""
    rows = [tuple(row) for row in mechanism["pattern"]]
    if len(rows[0]) != 2 or set(rows) != {(0, 1), (1, 0)}:
        return None
    return bits_between(mechanism, rows.index((1, 0)), rows.index((0, 1)))


def _used(matrix: Sequence[Sequence[float]]) -> list[int]:
    return [y for y in range(len(matrix[0])) if any(row[y] > 0 for row in matrix)]


def _exact(value: float) -> fmpq:
    top, bottom = float(value).as_integer_ratio()
    return fmpq(top, bottom)


# ------------------------------------------------------------------------------ what may be given


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(x) is float for x in value)


def _probabilities(value: Any, _: Parameters) -> bool:
    if not _is_rows(value) or not all(_is_numbers(row) for row in value):
        return False
    sums = all(abs(math.fsum(row) - 1.0) <= _SLACK for row in value)
    return sums and all(x >= 0.0 and not is_minus_zero(x) for row in value for x in row)


def _is_pattern(value: Any, _: Parameters) -> bool:
    """Rows of zeros and ones with equal numbers of ones: some of the outputs, not all."""
    if not _is_rows(value) or not all(type(x) is int and x in (0, 1) for row in value for x in row):
        return False
    ones = {sum(row) for row in value}
    return len(ones) == 1 and 0 < ones.pop() < len(value[0])


def _is_rows(value: Any) -> bool:
    """At least two rows of one length."""
    if not isinstance(value, list) or len(value) < 2:
        return False
    if not all(isinstance(row, list) and row for row in value):
        return False
    return len({len(row) for row in value}) == 1


# ---------------------------------------------------------------------------------- the records


def _channel_size(mechanism: Parameters) -> int:
    return len(mechanism["matrix"])


def _pattern_size(mechanism: Parameters) -> int:
    return len(mechanism["pattern"])


def _channel_others(mechanism: Parameters) -> Others | None:
    whole = all(float(x) > 0.0 for row in mechanism["matrix"] for x in row)
    return _all(_channel_size(mechanism), whole=whole)


def _pattern_others(mechanism: Parameters) -> Others | None:
    return _all(_pattern_size(mechanism), whole=True)


def _all(inputs: int, *, whole: bool) -> Others | None:
    """All ordered pairs, and all inputs; ``whole``: every input gives every output."""
    if inputs > (_MOST_TOGETHER if whole else _MOST_INPUTS):
        return None
    values = tuple(range(inputs))
    return Others("listed", ALL_TRIPLES, tuple(itertools.permutations(values, 2)), values)


def _channel_matrix(mechanism: Parameters) -> Matrix:
    rows = mechanism["matrix"]
    return Matrix(len(rows), len(rows[0]), lambda: [[arb(_exact(x)) for x in row] for row in rows])


def _pattern_matrix(mechanism: Parameters) -> Matrix:
    pattern = mechanism["pattern"]

    def weights() -> list[list[arb]]:
        grow = positive(mechanism, "eps0").exp()
        return [[grow if hit else arb(1) for hit in row] for row in pattern]

    return Matrix(len(pattern), len(pattern[0]), weights)


RECORDS = {
    "channel": Record(
        ranges={"matrix": ("rows of probabilities that add up to one", _probabilities)},
        law=_channel,
        listed=_channel_size,
        pair_step=ALL_PAIRS,
        others=_channel_others,
        bits=_channel_bits,
        matrix=_channel_matrix,
    ),
    "extremal": Record(
        ranges={
            "pattern": ("rows of zeros and ones, equally many ones in each", _is_pattern),
            "eps0": EPS0,
        },
        law=_extremal,
        pair=_fewest_common,
        pair_step=LEAST_COMMON,
        listed=_pattern_size,
        others=_pattern_others,
        bits=_pattern_bits,
        matrix=_pattern_matrix,
    ),
}
