"""Joint: one report that holds the outputs of several mechanisms on several attributes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.outputs import Law
from shuffledp.ball.record import Masses, Others, Pair, Parts
from shuffledp.mechanism.parameters import OrNone, Whole
from shuffledp.randomizers import composed
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.composed import PartsRandomizer
from shuffledp.randomizers.part_laws import (
    is_settled,
    joint_law,
    labels_together,
    options_of_labels,
)
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import (
    Aggregate,
    PartsAggregate,
    PartsEstimate,
    joined,
    parts_of,
)
from shuffledp.theorems import PART_TRIPLES

U = UNIT_ROUNDOFF


@dataclass(frozen=True, repr=False)
class Joint(PartsRandomizer):
    """Several mechanisms, one on each attribute of a record; all outputs in one report.

    R_x(y) = R^1_{x_1}(y_1) ... R^d_{x_d}(y_d); the blanket is the product of the blankets, so
    gamma is the product of the gammas: with many attributes it is small, and shuffling the
    attributes apart (one report each) may buy more. Inputs are tuples, one value for each
    attribute. Reports are structured arrays with fields part0, part1, ...

    Parameters
    ----------
    randomizers : sequence of Randomizer
        One for each attribute, 1 to 1000; tables as ``to_dict`` makes them will do.
    hamming : int, optional
        Neighbouring records differ in at most this many attributes; in any number by default.
        Inside another report neighbours keep it: the outer report's relation is made of its parts'.

    Notes
    -----
    Su, Cheng, Wang 2025, Theorem 9 (law); docs/theory-parts.md (worst pairs, and how atoms that
    are too many are merged).
    """

    name: ClassVar[str] = "joint"
    summary: ClassVar[str] = "several mechanisms on several attributes, in one report"
    randomizers: composed.PartsOf
    hamming: Annotated[int | None, OrNone(Whole(high=lambda m: len(m.randomizers)))] = field(
        default=None, kw_only=True
    )

    @property
    def _differing(self) -> int:
        return len(self.randomizers) if self.hamming is None else self.hamming

    @property
    def eps0(self) -> float:
        """Guarantee for records that differ in every attribute: the sum; inf if above 300.

        It is what the clones need, since the records of other users differ in every attribute.
        """
        total = _added([float(r.eps0) for r in self.randomizers])
        return total if total <= _check.LARGEST_EPS0 else math.inf

    def local_epsilon(self, delta: float) -> float:
        """Basic composition over the attributes that may differ; delta is shared equally.

        Each differs as its own part's relation says.
        """
        pure = self._together(float(r.eps0) for r in self.randomizers)
        share = delta / self._differing * (1.0 - 4 * U)
        return min(pure, self._together(r.local_epsilon(share) for r in self.randomizers))

    def _together(self, losses: Iterable[float]) -> float:
        """The sum over the attributes that may differ, the largest ones."""
        return _added(sorted(losses, reverse=True)[: self._differing])

    def parts(self) -> Parts:
        """All parts in every report."""
        return Parts(self.randomizers, self.part_inputs, most=self.hamming)

    def unrestricted(self) -> Joint:
        """Without ``hamming``, and of parts without limits."""
        return Joint(tuple(part.unrestricted() for part in self.randomizers))

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Products of the parts' classes."""
        return joint_law(self.randomizers, [self.part_inputs(x) for x in inputs])

    def others(self) -> Others | None:
        """The worst pair of records, where it is one; the labels' laws by those of the parts."""
        inner, pairs = self, self._label_pairs
        if self.hamming is not None and len(pairs) != 1:
            # Several pairs may be the worst within the limit; without it one of them may dominate.
            inner = dataclasses.replace(self, hamming=None)
            pairs = inner.worst_pairs().pairs
        if len(pairs) != 1 or not all(map(is_settled, self.randomizers)):
            return None
        return Others("parts", PART_TRIPLES, pairs, labels=inner._labels)  # noqa: SLF001

    @property
    def _label_pairs(self) -> tuple[Pair, ...]:
        """Worst pairs that differ in as many attributes as they may."""
        return tuple(
            (x0, x1)
            for x0, x1 in self.worst_pairs().pairs
            if self.hamming is None
            or sum(a != b for a, b in zip(x0, x1, strict=True)) == self.hamming
        )

    def _labels(self) -> Iterator[list[Masses]]:
        known = [options_of_labels(part, together=True) for part in self.randomizers]
        return labels_together(known, self._differing)

    def options(self) -> composed.Options:
        """As for any composed randomizer; with ``hamming`` its own worst pairs for what differs."""
        every = super().options()
        if self._differing == len(self.randomizers):
            return every
        return dataclasses.replace(every, differ=self.worst_pairs().pairs)

    # ------------------------------------------------------------------------- running it

    @property
    def message_bits(self) -> float:
        """Sum over the parts."""
        return math.fsum(part.message_bits for part in self.randomizers)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        columns = composed.unpacked(values, len(self.randomizers))
        parts = zip(self.randomizers, columns, strict=True)
        return composed.packed([part._sample(c, source) for part, c in parts])  # noqa: SLF001

    def aggregate(self, reports: Reports) -> PartsAggregate:
        """Each part's sums."""
        columns = composed.unpacked(reports, len(self.randomizers))
        sums = [r.aggregate(c) for r, c in zip(self.randomizers, columns, strict=True)]
        return joined(len(columns[0]), sums)

    def estimate(self, data: Reports | Aggregate) -> PartsEstimate:  # type: ignore[override]
        """Each part's own estimate."""
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        parts = parts_of(sums, len(self.randomizers))
        made = (r.estimate(part) for r, part in zip(self.randomizers, parts, strict=True))
        return PartsEstimate(tuple(made), sums.count)

    def variances(self, frequency: float = 0.0) -> tuple[float, ...]:
        """Per-user variance of each attribute's estimator."""
        return tuple(part.variance(frequency) for part in self.randomizers)

    def variance(self, frequency: float = 0.0) -> float:
        """The largest of the attributes' (``variances``)."""
        return max(self.variances(frequency))


def _added(losses: Sequence[float]) -> float:
    """Their sum rounded up."""
    total = math.fsum(losses)
    return total * (1.0 + 2 * U) if len(losses) > 1 else total
