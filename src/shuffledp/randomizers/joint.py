"""Joint: one report that holds the outputs of several mechanisms; laws of reports made of parts."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.outputs import Law, OutputClass, rational_ball
from shuffledp.ball.record import Definition, Masses, Others, Pair, three
from shuffledp.errors import NotCertified
from shuffledp.mechanism.parameters import or_none, whole
from shuffledp.randomizers import composed
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.composed import PartsRandomizer
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import (
    Aggregate,
    PartsAggregate,
    PartsEstimate,
    joined,
    parts_of,
)
from shuffledp.theorems import PART_TRIPLES

_MOST_CLASSES = 20_000
# Classes of outputs of all combinations of labels together.
_MOST_MASSES = 300_000
# Of one part: labels that dominate all of its own.
Options = list[list[Masses]]


def joint_law(parts: Sequence[Definition], rows: Sequence[tuple[Any, ...]]) -> Law:
    """All parts in one report; a row has one input for each part."""
    groups: dict[tuple[Definition, str], tuple[tuple[Any, ...], int]] = {}
    for part, column in zip(parts, zip(*rows, strict=True), strict=True):
        key = (part, repr(column))
        groups[key] = (column, groups[key][1] + 1 if key in groups else 1)
    total: Law = [_nothing(Fraction(1), len(rows))]
    for (part, _), (column, times) in groups.items():
        law = _power(_part_law(part, column), times)
        if len(total) * len(law) > _MOST_CLASSES:
            raise NotCertified(f"joint: more than {_MOST_CLASSES:,} classes of outputs")
        total = [_times(x, y) for x in total for y in law]
    return total


def one_of_law(
    parts: Sequence[Definition], shares: Sequence[Fraction], rows: Sequence[tuple[Any, ...]]
) -> Law:
    """One of the parts, and which one; with the rest of the shares a report that says nothing."""
    found: Law = []
    for part, share, column in zip(parts, shares, zip(*rows, strict=True), strict=True):
        found += _scaled(_part_law(part, column), share)
    absent = 1 - sum(shares, Fraction(0))
    return [*found, _nothing(absent, len(rows))] if absent > 0 else found


def _part_law(part: Definition, inputs: Sequence[Any]) -> Law:
    """The law of one part; NotCertified if outputs are cut off."""
    law = part.output_law(inputs)
    if any(c.beyond for c in law):
        raise NotCertified(f"{part.name!r}: outputs are cut off, which no part's may be")
    return law


def _power(law: Law, times: int) -> Law:
    """The joint law of equal independent parts, by how many of them fell in each class."""
    if math.comb(times + len(law) - 1, times) > _MOST_CLASSES:
        raise NotCertified(f"joint: more than {_MOST_CLASSES:,} classes of outputs")
    size = len(law[0].probability)
    found = []
    for chosen in itertools.combinations_with_replacement(range(len(law)), times):
        ways = math.factorial(times)
        made = _nothing(Fraction(1), size)
        for j in sorted(set(chosen)):
            ways //= math.factorial(chosen.count(j))
        for j in chosen:
            made = _times(made, law[j])
        found.append(_scaled([made], Fraction(ways))[0])
    return found


def _nothing(mass: Fraction, rows: int) -> OutputClass:
    """Outputs that say nothing, of this mass under every input."""
    zero = tuple(arb(0) for _ in range(rows))
    balls = tuple(rational_ball(mass) for _ in range(rows))
    return OutputClass(rational_ball(mass), balls, zero)


def _times(x: OutputClass, y: OutputClass) -> OutputClass:
    level = None
    if x.level is not None and y.level is not None:
        level = tuple(a + b for a, b in zip(x.level, y.level, strict=True))
    both = zip(x.probability, y.probability, strict=True)
    return OutputClass(x.blanket * y.blanket, tuple(a * b for a, b in both), level)


def _scaled(law: Law, share: Fraction) -> Law:
    ball = rational_ball(share)
    return [
        OutputClass(c.blanket * ball, tuple(p * ball for p in c.probability), c.level) for c in law
    ]


# ------------------------------------ labels of three inputs, docs/theory-stealing.md, section 5.8


def is_settled(part: Definition) -> bool:
    """Whether labels of the part dominate all of its own inside of other reports."""
    if part.alike:
        return True
    found = part.others()
    return found is not None and found.how in {"mixed", "corners"}


def options_of_labels(part: Definition, *, together: bool) -> Options:
    """Labels of one part that dominate all of its own, beside other parts or together with them."""
    found = part.others()
    if part.alike:
        chosen = [(0, 1, x) for x in range(min(part.alike, 3))]
        # Together with others, pairs of equal inputs, another holding it or a different one.
        chosen += [(0, 0, 0), (0, 0, 1)] if together else []
    elif found is not None and found.how == "mixed":
        chosen = list(itertools.product(found.inputs, repeat=3))
    elif found is not None and found.labels is not None:
        return list(found.labels())
    else:
        raise NotCertified(f"label-stealing of {part.name} as a part is not recomputed")
    return [masses_of(_part_law(part, triple)) for triple in chosen]


def masses_beside(
    parts: Sequence[Definition], shares: Sequence[Fraction], row: Sequence[Any]
) -> list[Masses]:
    """One of the parts in a report, each under its inputs 0, 1 and that of the row."""
    return [
        masses
        for part, share, x in zip(parts, shares, row, strict=True)
        for masses in _shared(masses_of(_part_law(part, (0, 1, x))), rational_ball(share))
    ]


def with_absent(law: list[Masses], rate: Fraction) -> list[Masses]:
    """A label of a report with the probability ``rate``, else the constant message."""
    rest = rational_ball(1 - rate)
    found = _shared(law, rational_ball(rate))
    return [*found, (rest, rest, rest)] if rate < 1 else found


def labels_side_by_side(
    options: Sequence[Options], shares: Sequence[Fraction]
) -> Iterator[list[Masses]]:
    """Labels of one of the parts in each report."""
    longest = sum(max(map(len, option), default=0) for option in options)
    if math.prod(map(len, options)) * longest > _MOST_MASSES:
        raise NotCertified("label-stealing: too many parts side by side")
    by = [rational_ball(share) for share in shares]
    for chosen in itertools.product(*options):
        parts = [_shared(law, p) for law, p in zip(chosen, by, strict=True)]
        yield [masses for part in parts for masses in part]


def labels_together(options: Sequence[Options], most: int) -> Iterator[list[Masses]]:
    """Labels of all parts in one report: 1 to ``most`` of the victim's attributes differ.

    What balls leave open is looked at: a triple too many makes no bound smaller.
    """
    if math.prod(sum(map(len, option)) for option in options) > _MOST_MASSES:
        raise NotCertified("label-stealing: too many parts in one report")
    for chosen in itertools.product(*options):
        if sum(map(_differs, chosen)) > most or all(map(_is_one, chosen)):
            continue
        total: list[Masses] = [(arb(1), arb(1), arb(1))]
        for law in chosen:
            both = itertools.product(total, law)
            total = [(p0 * q0, p1 * q1, x * y) for (p0, p1, x), (q0, q1, y) in both]
        yield total


def masses_of(law: Law) -> list[Masses]:
    """Masses of a law under three inputs."""
    return [three(one.probability) for one in law]


def _shared(law: list[Masses], by: arb) -> list[Masses]:
    return [(by * p0, by * p1, by * x) for p0, p1, x in law]


def _differs(law: list[Masses]) -> bool:
    """Whether the victim's two laws are different for sure."""
    return any(not (p0 - p1).contains(0) for p0, p1, _ in law)


def _is_one(law: list[Masses]) -> bool:
    """Whether they are one law for sure: worked out alike, ball by ball."""
    return all(p0.mid() == p1.mid() and p0.rad() == p1.rad() for p0, p1, _ in law)


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
    hamming: Annotated[int | None, or_none(whole(high=lambda m: len(m.randomizers)))] = field(
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
