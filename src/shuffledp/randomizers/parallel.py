"""Parallel: every report is made by one of several mechanisms, drawn with public weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.ball.outputs import Law
from shuffledp.ball.record import Masses, Others, Parts
from shuffledp.errors import rejected
from shuffledp.randomizers import composed
from shuffledp.randomizers.base import Randomizer, Reports
from shuffledp.randomizers.composed import PartsRandomizer
from shuffledp.randomizers.part_laws import (
    is_settled,
    labels_side_by_side,
    one_of_law,
    options_of_labels,
)
from shuffledp.randomizers.sampled import sampled_estimate, sampled_variance
from shuffledp.randomizers.values import RefusedRows
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import (
    Aggregate,
    PartsAggregate,
    PartsEstimate,
    joined,
    parts_of,
)
from shuffledp.theorems import PART_TRIPLES

UNIT = 1 << 64


class Mixture(PartsRandomizer):
    """One of the parts makes a report, or none of them; the report says which one.

    R_x(i, y) = p_i R^i_{x_i}(y): the draw does not depend on the value. With the rest of the
    probability the report is the constant message "absent". Shares are kept as whole numbers of
    2^-64, ``_words``, so that sampler and law agree exactly. Reports are structured arrays with the
    fields choice and part0, part1, ..., zero where another part was drawn.

    Attributes
    ----------
    may_be_absent : bool
        Whether choice 0 means that no part was drawn, and j + 1 the part j.
    """

    may_be_absent: ClassVar[bool] = False

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The probabilities of the parts."""
        return tuple(Fraction(word, UNIT) for word in self.__dict__["_words"])

    def _together(self, losses: Iterable[float]) -> float:
        """The largest of the parts': of a public choice it is at most that."""
        return max(losses)

    def local_epsilon(self, delta: float) -> float:
        """The largest of the parts' at this delta."""
        return max(float(part.local_epsilon(delta)) for part in self.randomizers)

    def parts(self) -> Parts:
        """One part in each report."""
        return Parts(self.randomizers, self.part_inputs, self.shares)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """The parts' classes side by side, and one class for a report that says nothing."""
        return one_of_law(self.randomizers, self.shares, [self.part_inputs(x) for x in inputs])

    @property
    def message_bits(self) -> float:
        """Which part, and the longest of their reports."""
        longest = max(part.message_bits for part in self.randomizers)
        return math.log2(len(self.randomizers)) + longest

    def _columns(self, values: np.ndarray) -> list[np.ndarray]:
        """Each part's values."""
        return composed.unpacked(values, len(self.randomizers))

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        words = self.__dict__["_words"]
        cuts = [UNIT - sum(words), *words] if self.may_be_absent else words
        ends = np.cumsum(np.array(cuts[:-1], dtype=np.uint64))
        choice = np.searchsorted(ends, source.words(len(values)), side="right")
        reports = []
        for j, (part, column) in enumerate(
            zip(self.randomizers, self._columns(values), strict=True), start=self.may_be_absent
        ):
            drawn = np.flatnonzero(choice == j)
            made = part._sample(column[drawn], source)  # noqa: SLF001
            whole = np.zeros((len(values), *made.shape[1:]), dtype=made.dtype)
            whole[drawn] = made
            reports.append(whole)
        return composed.packed(reports, first=choice.astype(np.min_scalar_type(len(cuts) - 1)))

    def aggregate(self, reports: Reports) -> PartsAggregate:
        """Each part's sums over the reports it made; ``count`` has all users."""
        choice, *columns = composed.unpacked(reports, len(self.randomizers), choice=True)
        last = len(columns) - 1 + self.may_be_absent
        if choice.size and int(choice.max()) > last:
            wanted = f"0 to {last}" + ", 0 where there is no report" * self.may_be_absent
            raise RefusedRows("reports choice", choice, choice > last, wanted)
        sums = [
            _aggregate_of(part, column, choice == j)
            for j, (part, column) in enumerate(
                zip(self.randomizers, columns, strict=True), start=self.may_be_absent
            )
        ]
        return joined(len(choice), sums)

    def variances(self, frequency: float = 0.0) -> tuple[float, ...]:
        """Per-user variance of each part's estimator over all users, the draw included."""
        return tuple(
            sampled_variance(r, frequency, rate=float(p))
            for r, p in zip(self.randomizers, self.shares, strict=True)
        )

    def variance(self, frequency: float = 0.0) -> float:
        """The largest of ``variances``."""
        return max(self.variances(frequency))


@dataclass(frozen=True, repr=False)
class Parallel(Mixture):
    """One of several mechanisms, drawn for each report; the message says which.

    R_x(i, y) = p_i R^i_{x_i}(y): the blanket has the parts' blankets side by side, gamma is the
    mean of the gammas, and the laws of the privacy amplification variable G mix. The draw does not
    depend on the value. Inputs are tuples, one value for each mechanism (the same value each time
    where they all look at one attribute). Reports are structured arrays with the fields choice and
    part0, part1, ..., zero where another mechanism was drawn.

    Parameters
    ----------
    randomizers : sequence of Randomizer
        The mechanisms, 1 to 1000; tables as ``to_dict`` makes them will do.
    weights : sequence of float
        Their probabilities: > 0, in sum one within 1e-9. The mechanism meant has them divided by
        their sum and rounded to multiples of 2^-64, so that sampler and law agree exactly.

    Notes
    -----
    Su, Cheng, Wang 2025, Theorem 11 (law); docs/theory-parts.md, section 2 (worst pairs).
    """

    name: ClassVar[str] = "parallel"
    summary: ClassVar[str] = "one of several mechanisms, drawn for each report"
    randomizers: composed.PartsOf
    weights: tuple[float, ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", _checked_weights(self.weights, len(self.randomizers)))
        object.__setattr__(self, "_words", words_of(self.weights))

    @property
    def eps0(self) -> float:
        """The largest of the parts'."""
        return max(float(part.eps0) for part in self.randomizers)

    def unrestricted(self) -> Parallel:
        """Of parts without limits."""
        parts = tuple(part.unrestricted() for part in self.randomizers)
        return Parallel(parts, weights=self.weights)

    def others(self) -> Others | None:
        """The parts' worst pairs together; the labels' laws by combinations of the parts' own."""
        pairs = self.worst_pairs().pairs
        if len(pairs) != 1 or not all(map(is_settled, self.randomizers)):
            return None
        return Others("parts", PART_TRIPLES, pairs, labels=self._labels)

    def _labels(self) -> Iterator[list[Masses]]:
        known = [options_of_labels(part, together=False) for part in self.randomizers]
        return labels_side_by_side(known, self.shares)

    def estimate(self, data: Reports | Aggregate) -> PartsEstimate:  # type: ignore[override]
        """Of every attribute over ALL users: what the drawn ones say, divided by their share.

        Unbiased over the draw and the mechanisms' coins.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        parts = parts_of(sums, len(self.randomizers))
        made = (
            sampled_estimate(r, part, n=sums.count, rate=float(p))
            for r, part, p in zip(self.randomizers, parts, self.shares, strict=True)
        )
        return PartsEstimate(tuple(made), sums.count)


def words_of(weights: Sequence[float]) -> tuple[int, ...]:
    """Whole numbers that sum to 2^64, nearest to the weights' shares of it, none 0."""
    exact = [Fraction(w) for w in weights]
    total = sum(exact)
    shares = [w / total * UNIT for w in exact]
    words = [max(int(share), 1) for share in shares]
    # What flooring left goes to the largest remainders; what lifting took, from the largest word.
    left = UNIT - sum(words)
    order = sorted(range(len(words)), key=lambda j: int(shares[j]) - shares[j])
    for j in order[: max(left, 0)]:
        words[j] += 1
    if left < 0:
        words[words.index(max(words))] += left
    return tuple(words)


def _aggregate_of(part: Randomizer, column: Reports, users: np.ndarray) -> Aggregate:
    """Sums over the reports of some of the users; what is refused is said of all."""
    try:
        return part.aggregate(column[users])
    except RefusedRows as error:
        raise error.among(users) from None


def _checked_weights(given: Any, count: int) -> tuple[float, ...]:
    wanted = f"{count} probabilities > 0 that sum to one"
    if isinstance(given, str | bytes) or not hasattr(given, "__len__") or len(given) != count:
        raise rejected("weights", given, wanted)
    found = tuple(_check.positive("weights", w, high=1.0) for w in given)
    if not abs(math.fsum(found) - 1.0) <= 1e-9:
        raise rejected("weights", found, wanted)
    return found
