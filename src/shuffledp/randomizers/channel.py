"""Channel: any finite mechanism, given by its matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.ball.outputs import Law, OutputClass, check_inputs, rational_ball
from shuffledp.ball.record import Bit, Bits, Matrix, Others, WorstPairs
from shuffledp.errors import NotCertified, rejected
from shuffledp.mechanism.parameters import Rule, Switch
from shuffledp.randomizers.base import Randomizer, Reports
from shuffledp.randomizers.frequency import counted, histogram
from shuffledp.randomizers.values import blocks, smallest_type, whole_reports, whole_values
from shuffledp.randomness import Choice, RandomSource
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate
from shuffledp.theorems import ALL_PAIRS, ALL_TRIPLES
from shuffledp.values.work import Beside

_ROW_SLACK = 1e-9
LARGEST_ROWS = 1000
# Ratios of entries below this give no local guarantee.
_SMALLEST_ENTRY = 1e-300
_LARGEST_ENTRIES = 4_000_000
# Most inputs for label stealing: 12 (132 ordered pairs) take seconds; 64 (4,032 pairs) if every
# input gives every output, because nearly all pairs are then excluded together.
_MOST_INPUTS, _MOST_TOGETHER = 12, 64
# Rows closer to being linearly dependent than this: frequencies would lose half their digits.
_LEAST_SINGULAR = 1e-8


@dataclass(frozen=True, repr=False)
class Channel(Randomizer):
    """Any finite mechanism: matrix[x][y] = P(output y | input x).

    Parameters
    ----------
    matrix : sequence of sequences of float, or array
        Rows are inputs (2 to 1000), columns outputs; entries >= 0; every row sums to one within
        1e-9. The channel meant is each row divided by its exact sum.
    normalize : bool
        True for a matrix printed to a few digits, or of counts: rows may have any sum, and each is
        divided by it.

    Notes
    -----
    Reports are outputs 0 .. m-1 in the smallest unsigned type. The estimator inverts the matrix:
    weights W with W P^T = 1 for the rows P, by least squares with outputs weighted by how rare they
    are when all inputs are alike. There is one if the rows are linearly independent.
    """

    name: ClassVar[str] = "channel"
    summary: ClassVar[str] = "any finite mechanism, by its matrix"
    matrix: _Matrix
    normalize: Switch = False

    def __post_init__(self) -> None:
        super().__post_init__()
        # The matrix is normalized now.
        object.__setattr__(self, "normalize", False)
        rows = np.array(self.matrix)
        rows /= np.array([math.fsum(row) for row in self.matrix])[:, None]
        rows.setflags(write=False)
        object.__setattr__(self, "_rows", rows)

    @property
    def probabilities(self) -> Array:
        """The normalised matrix, shape (inputs, outputs)."""
        return self.__dict__["_rows"]

    @property
    def eps0(self) -> float:
        """log of the largest ratio of two entries in one column, rounded up.

        inf if one of them is 0, or the ratio is beyond what any analysis of eps0 accepts.
        """
        rows = self.probabilities
        used = rows[:, rows.max(axis=0) > 0.0]
        if bool((used < _SMALLEST_ENTRY).any()):
            return math.inf
        most, least = np.log(used.max(axis=0)), np.log(used.min(axis=0))
        slack = 8 * UNIT_ROUNDOFF * (2.0 + float(np.abs(least).max()))
        value = float((most - least).max()) + slack
        return value if value <= _check.LARGEST_EPS0 else math.inf

    def parameters(self) -> dict[str, Any]:
        """The matrix, normalized where that was asked for."""
        return {"matrix": self.matrix}

    def worst_pairs(self) -> WorstPairs:
        """All ordered pairs; equal rows cannot be told apart and are left out."""
        rows = self.probabilities
        pairs = tuple(
            (x0, x1)
            for x0, x1 in itertools.permutations(range(len(rows)), 2)
            if not np.array_equal(rows[x0], rows[x1])
        )
        return WorstPairs(pairs or ((0, 1),), ALL_PAIRS)

    # ----------------------------------------------------------------------------- its law

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Rows are inputs, each divided by its exact sum; outputs with the same ratios are one."""
        check_inputs(inputs, self.items)
        law = []
        for values in _CLASSES.of(self)(tuple(inputs)):
            balls = [rational_ball(v) for v in values]
            law.append(OutputClass(balls[0], tuple(balls[1:])))
        return law

    def others(self) -> Others | None:
        """Every input with every ordered pair, up to 12 inputs; 64 if no probability is 0."""
        return all_listed(self.items, everywhere=all(x > 0.0 for row in self.matrix for x in row))

    def one_bit(self) -> Bits | None:
        """The rows with the least and the largest share of a 1, if two outputs are used."""
        used = [y for y in range(len(self.matrix[0])) if any(row[y] > 0.0 for row in self.matrix)]
        if len(used) != 2:
            return None
        rows = [tuple(Fraction(row[y]) for y in used) for row in self.matrix]
        shares = [one / (zero + one) for zero, one in rows]
        low, high = shares.index(min(shares)), shares.index(max(shares))
        if low == high:
            return None

        def law(x: int) -> Bit:
            zero, one = rows[x]
            return Bit(rational_ball(zero), rational_ball(one))

        return Bits((low, high), law, mirrored=False, outputs=len(self.matrix[0]))

    def output_matrix(self) -> Matrix:
        """The matrix."""
        rows = self.matrix
        return Matrix(len(rows), len(rows[0]), lambda: [[arb(x) for x in row] for row in rows])

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """The (x0, x1, x2), x0 < x1, with the largest integrals of (R_x0 - R_x1)^2/R_x2.

        Among many users delta grows with this integral. One more triple has the largest ratio of
        R_x0 and R_x1 to R_x2 at an output: among few users a rare output decides.
        """
        rows = self.probabilities
        first, second = np.triu_indices(len(rows), k=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(rows > 0.0, 1.0 / rows, np.inf)
            squares = (rows[first] - rows[second]) ** 2
            # An output that x2 never sends says nothing where x0 and x1 do not either.
            spreads = np.stack(
                [np.where(squares > 0.0, squares * one, 0.0).sum(1) for one in inverse]
            )
        order = np.argsort(-np.array(spreads), axis=None, kind="stable")[:_TRIED]
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.sqrt(squares)
            ratios = np.stack([np.where(squares > 0.0, apart * one, 0.0).max(1) for one in inverse])
        rare = ratios.argmax()
        order = order if rare in order else np.append(order, rare)
        others, pairs = np.unravel_index(order, (len(rows), first.size))
        return tuple(
            (int(first[k]), int(second[k]), int(x)) for k, x in zip(pairs, others, strict=True)
        )

    # ----------------------------------------------------------------------------- running it

    @property
    def items(self) -> int:
        """Number of inputs."""
        return len(self.matrix)

    @property
    def message_bits(self) -> float:
        """log2 of the number of outputs that occur."""
        return math.log2(int((self.probabilities.max(axis=0) > 0.0).sum()))

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.items)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty(len(values), dtype=smallest_type(self.probabilities.shape[1]))
        choices: dict[int, Choice] = {}
        for users in blocks(len(values)):
            order = np.argsort(values[users], kind="stable")
            inputs, starts = np.unique(values[users][order], return_index=True)
            part = reports[users]
            for x, places in zip(inputs.tolist(), np.split(order, starts[1:]), strict=True):
                if x not in choices:
                    choices[x] = Choice([_whole(entry) for entry in self.matrix[x]])
                part[places] = source.choose(choices[x], len(places))
        return reports

    def aggregate(self, reports: Reports) -> Aggregate:
        """How often each output occurs."""
        outputs = self.probabilities.shape[1]
        checked = whole_reports(reports, outputs)
        return Aggregate(len(checked), histogram(checked, outputs).astype(np.float64))

    def estimate(self, data: Reports | Aggregate) -> FrequencyEstimate:
        """Weighted shares of the outputs, with an unbiased estimate of the variances.

        Raises
        ------
        NotCertified
            If the rows are linearly dependent, or nearly so.
        ParameterError
            If there are no reports.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        n = counted(sums, (self.probabilities.shape[1],))
        frequencies = self._weights @ (sums.sums / n)
        variances = np.square(self._weights) @ (sums.sums / n) - frequencies
        return FrequencyEstimate(frequencies, np.sqrt(np.maximum(variances, 0.0) / n), n)

    def variance(self, frequency: float = 0.0) -> float:
        """Per user, the worst over the item and over what all others hold."""
        f = _check.real("frequency", frequency, low=0.0, high=1.0)
        others = self.probabilities @ np.square(self._weights).T
        own = (self.probabilities * np.square(self._weights - 1.0)).sum(axis=1)
        np.fill_diagonal(others, 0.0)
        return float((f * own + (1.0 - f) * others.max(axis=0)).max())

    @property
    def _weights(self) -> Array:
        return _ESTIMATORS.of(self)


def all_listed(inputs: int, *, everywhere: bool) -> Others | None:
    """All ordered pairs of this many inputs, with all inputs of the others; None if too many.

    ``everywhere``: every input gives every output.
    """
    if inputs > (_MOST_TOGETHER if everywhere else _MOST_INPUTS):
        return None
    values = tuple(range(inputs))
    return Others("listed", ALL_TRIPLES, tuple(itertools.permutations(values, 2)), values)


def _classes(channel: Channel) -> Callable[[tuple[int, ...]], list[tuple[Fraction, ...]]]:
    """Blanket and rows of outputs by inputs, those with the same ratios added up."""
    entries = [[Fraction(x) for x in row] for row in channel.matrix]
    sums = [sum(row, Fraction(0)) for row in entries]
    rows = [[x / total for x in row] for row, total in zip(entries, sums, strict=True)]

    # A search for eps asks for the same inputs at several precisions and in both directions.
    @lru_cache(maxsize=1024)
    def made(inputs: tuple[int, ...]) -> list[tuple[Fraction, ...]]:
        merged: dict[tuple[Fraction, ...], list[Fraction]] = {}
        for column in zip(*rows, strict=True):
            chosen = (min(column), *(column[x] for x in inputs))
            if not any(chosen):
                continue
            total = sum(chosen)
            key = tuple(c / total for c in chosen)
            before = merged.get(key, [Fraction(0)] * len(key))
            merged[key] = [a + b for a, b in zip(before, chosen, strict=True)]
        return [tuple(values) for values in merged.values()]

    return made


def _estimator(channel: Channel) -> Array:
    """W, shape (inputs, outputs): W[v, y] is the weight of output y in the frequency of v."""
    rows = channel.probabilities
    root = np.sqrt(rows.mean(axis=0))
    used = root > 0.0
    scaled = rows[:, used] / root[used]
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    if len(values) < len(rows) or not values[-1] >= _LEAST_SINGULAR * values[0]:
        msg = (
            "channel: its rows are linearly dependent, or nearly: different frequencies give "
            "the same outputs, and no estimator is unbiased"
        )
        raise NotCertified(msg)
    weights = np.zeros_like(rows)
    weights[:, used] = (left / values) @ right / root[used]
    # One step of refinement: W P^T = 1 up to rounding.
    return weights + (np.eye(len(rows)) - weights @ rows.T) @ weights


_ESTIMATORS: Beside[Channel, Array] = Beside(_estimator)
_CLASSES: Beside[Channel, Callable[[tuple[int, ...]], list[tuple[Fraction, ...]]]] = Beside(
    _classes
)


def _whole(entry: float) -> int:
    """The entry in units of 2^-1074, which every float is a multiple of."""
    numerator, denominator = entry.as_integer_ratio()
    return numerator * ((1 << 1074) // denominator)


# Triples tried for a lower end: of a random 6 x 12 channel the best is among the first three.
_TRIED = 12


def _rows(name: str, value: Any, mechanism: Any) -> tuple[tuple[float, ...], ...]:
    """Rows of a matrix of probabilities that sum to one, or are divided by their sums."""
    wanted = "a matrix of probabilities >= 0 with at least 2 rows, each summing to one"
    array = entries_of(name, value, wanted)
    for x, row in enumerate(array):
        if not bool(np.all(np.isfinite(row) & (row >= 0.0))):
            raise rejected(f"{name} row {x}", row.tolist(), "finite probabilities >= 0")
    sums = [math.fsum(row) for row in array]
    columns = [math.fsum(column) for column in array.T]
    wrong = next((x for x, one in enumerate(sums) if not abs(one - 1.0) <= _ROW_SLACK), None)
    if wrong is None:
        return tuple(map(tuple, array.tolist()))
    if all(abs(one - 1.0) <= _ROW_SLACK for one in columns):
        wanted = "1 (within 1e-9): columns sum to one, so transpose it: rows are inputs"
        raise rejected(f"sum of {name} row {wrong}", sums[wrong], wanted)
    if mechanism.normalize is not True:
        wanted = "1 (within 1e-9), or normalize=True to divide each row by its sum"
        raise rejected(f"sum of {name} row {wrong}", sums[wrong], wanted)
    for x, one in enumerate(sums):
        if not 0.0 < one < math.inf:
            raise rejected(f"sum of {name} row {x}", one, "a finite number above 0")
    return tuple(map(tuple, (array / np.array(sums)[:, None]).tolist()))


def entries_of(name: str, value: Any, wanted: str) -> Array:
    """The entries of a matrix with 2 to 1000 rows as floats."""
    try:
        array = np.array([[float(v) for v in row] for row in value])
    except (OverflowError, TypeError, ValueError):
        raise rejected(name, value, wanted) from None
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 1:
        raise rejected(f"{name} shape", array.shape, wanted)
    if array.shape[0] > LARGEST_ROWS or array.size > _LARGEST_ENTRIES:
        limits = f"at most {LARGEST_ROWS} rows and {_LARGEST_ENTRIES} entries"
        raise rejected(f"{name} shape", array.shape, limits)
    return array


_Matrix = Annotated[tuple[tuple[float, ...], ...], Rule(_rows)]
