"""Joint: one report that holds the outputs of several mechanisms on several attributes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.outputs import Law
from shuffledp.ball.record import Masses, Others, Pair, Parts, WorstPairs
from shuffledp.mechanism import OrNone, Whole
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
from shuffledp.theorems import JOINT_PAIRS, PART_TRIPLES

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
        return composed.clone_eps0(composed.total_eps0([r.eps0 for r in self.randomizers]))

    def local_epsilon(self, delta: float) -> float:
        """Basic composition over the attributes that may differ; delta is shared equally.

        Each differs as its own part's relation says.
        """
        pure = composed.total_eps0(self._largest([float(r.eps0) for r in self.randomizers]))
        share = delta / self._differing * (1.0 - 4 * U)
        each = [float(r.local_epsilon(share)) for r in self.randomizers]
        return min(pure, composed.total_eps0(self._largest(each)))

    def local_renyi(self, order: float) -> float:
        """The sum over the attributes that may differ, the largest ones."""
        return composed.total_eps0(self._largest([r.local_renyi(order) for r in self.randomizers]))

    @property
    def local_rho(self) -> float:
        """The same sum."""
        return composed.total_eps0(self._largest([r.local_rho for r in self.randomizers]))

    def _largest(self, values: Sequence[float]) -> list[float]:
        return sorted(values, reverse=True)[: self._differing]

    def parts(self) -> Parts:
        """All parts in every report."""
        return Parts(self.randomizers, self.part_inputs, most=self.hamming)

    def unrestricted(self) -> Joint:
        """Without ``hamming``, and of parts without limits."""
        return Joint(tuple(part.unrestricted() for part in self.randomizers))

    def worst_pairs(self) -> WorstPairs:
        """The parts' worst pairs together, in every attribute that may differ."""
        found = composed.assignments(self.randomizers, self._differing)
        return WorstPairs(composed.as_pairs(found), JOINT_PAIRS)

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

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All attributes' first triples, then their second ones, and so on.

        Where only some attributes may differ, those with the weakest local guarantee do.
        """
        each = [part.datasets() for part in self.randomizers]
        order = sorted(range(len(each)), key=lambda j: -float(self.randomizers[j].eps0))
        differing = set(order[: self._differing])
        found = []
        for k in range(max(len(triples) for triples in each)):
            chosen = [triples[min(k, len(triples) - 1)] for triples in each]
            x0 = tuple(t[0] for t in chosen)
            x1 = tuple(t[1] if j in differing else t[0] for j, t in enumerate(chosen))
            found.append((x0, x1, tuple(t[2] for t in chosen)))
            if k > _MOST_TRIPLES:
                break
        if self.hamming is None:
            (x0, x1, _), *_rest = found
            found += [(x0, x1, x2) for x2 in composed.third_inputs(self.randomizers, each)]
        return tuple(dict.fromkeys(found))

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


_MOST_TRIPLES = 8
