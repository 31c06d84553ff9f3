"""Label stealing for additive noise on an interval: all pairs and all inputs of the others.

Reservoir and labels are dominated apart (docs/theory-stealing.md, section 6).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from shuffledp.arithmetic.floats import Array
from shuffledp.errors import NotCertified
from shuffledp.randomizers import JointLaw
from shuffledp.randomizers.chords import Chords, IntervalDensity
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.cells import Rows, RowStack
from shuffledp.stealing.choices import LARGER, MOST, Cut, Variations, least_share
from shuffledp.stealing.cover import FEW_GROUPS, FINEST, GROUPS, Triple, cover
from shuffledp.stealing.groups import Bent, stack_of
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.sketch import Sketch, sketch_of

# The cover of a curve is that of its scale; next to the worst triple it costs 2e-4 of that.
_FINEST_OF_CURVE = 2e-4
# Groups of a curve's: the spread within adds 5e-4 to variances, half of that to eps.
_GROUPS_OF_CURVE = (120, 40)
# Covers that are kept: one question is about eps near each other.
_COVERS = 2
# Triples that estimates look at.
_LIKELY = 4
# Shares of delta that cutting gains may cost.
_CUT_SHARES = (0.01, 0.001, 0.1, 0.4)


def balanced(halves: Gains) -> float:
    """theta with theta V_beta = (1 - theta) V_t, V = int g^2 over the part, from theta = 1/2."""
    joined = halves.reservoir.second_moment
    stolen = max(law.second_moment for law in halves.types)
    return stolen / (joined + stolen) if joined + stolen > 0.0 else 0.5


class _Apart(ABC):
    """Reservoir and labels dominated apart: gains of the labels are taken against whole laws.

    beta = kappa B, the labelled part (1 - kappa) R_x, and kappa (R_x - B) left over; the victim
    joins with one probability theta whatever its report.
    """

    def __init__(self, common: Rows, *, bounded: bool) -> None:
        self._common, self._bounded = common, bounded
        self._kept: tuple[float, Gains] | None = None

    @abstractmethod
    def likely(self) -> list[Rows]:
        """Labels of triples that are likely to matter."""

    @property
    def spread(self) -> float:
        """sqrt of the largest int (R_x0 - R_x1)^2/R_x of the likely triples."""
        laws = self.likely()
        return max(float(_spreads(law.first, law.second, law.third)) for law in laws)

    @property
    def blanket_mass(self) -> float:
        """Mass of the blanket."""
        return float(self._common.third.sum())

    def gains(self, epsilon: float, choice: Cut) -> Gains:
        """Those of triples that are likely to matter: for choosing, not for certifying.

        Masses are in proportion to the share, gains to the probability over it.
        """
        whole, kappa, theta = self._whole(epsilon), choice.kappa, choice.theta
        return Gains(
            _scaled(whole.reservoir, kappa, theta).cut(choice.ceiling),
            [_scaled(law, 1.0 - kappa, 1.0 - theta).cut(choice.ceiling) for law in whole.types],
            (1.0 - theta) * whole.positive,
        )

    def _whole(self, epsilon: float) -> Gains:
        """Of share and probability one, at the eps asked for last."""
        if self._kept is None or self._kept[0] != epsilon:
            types = [law.measure(epsilon, share=1.0, join=1.0) for law in self.likely()]
            common = self._common.measure(epsilon, share=1.0, join=1.0)
            positive = float(self._common.difference(epsilon).positive.sum())
            self._kept = epsilon, Gains(common, types, positive + self._common.outside)
        return self._kept[1]

    def sketch(self, epsilon: float, choice: Cut) -> Sketch:
        """The same side by side."""
        return sketch_of(self.gains(epsilon, choice))

    def _gains(self, laws: list[Rows], epsilon: float, choice: Cut) -> Gains:
        stay, steal = 1.0 - choice.kappa, 1.0 - choice.theta
        types = [law.measure(epsilon, share=stay, join=steal) for law in laws]
        return self._with(epsilon, choice, [law.cut(choice.ceiling) for law in types])

    def _all_gains(self, laws: RowStack, epsilon: float, choice: Cut) -> Gains:
        """The same of many."""
        stay, steal = 1.0 - choice.kappa, 1.0 - choice.theta
        types = laws.measure(epsilon, share=stay, join=steal)
        return self._with(epsilon, choice, types.cut(choice.ceiling))

    def _with(self, epsilon: float, choice: Cut, types: Sequence[Measure]) -> Gains:
        """Labels, with the reservoir that goes with the choice."""
        joined = self._common.measure(epsilon, share=choice.kappa, join=choice.theta)
        steal = 1.0 - choice.theta
        positive = math.fsum(self._common.difference(epsilon).positive) + self._common.outside
        return Gains(joined.cut(choice.ceiling), types, steal * positive * (1.0 + 2.0**-50))

    def least_share(self, log_target: float, n: int) -> float:
        """Of the end points' blanket."""
        return least_share(float(self._common.third.sum()), log_target, n)

    def first(self, epsilon: float, log_target: float, n: int) -> Cut | None:
        """A reservoir of middling size; unbounded gains cut where that costs little."""
        found = (
            self._made(kappa, _CUT_SHARES[0], epsilon, log_target)
            for kappa in self._sizes(log_target, n)
        )
        return next(found, None)

    def varied(self, choice: Cut, epsilon: float, log_target: float, n: int) -> Variations:
        """Other sizes; then other ceilings."""
        del choice
        shares = () if self._bounded else _CUT_SHARES[1:]
        return (
            lambda _: (
                self._made(kappa, _CUT_SHARES[0], epsilon, log_target)
                for kappa in self._sizes(log_target, n)
            ),
            lambda old: (self._made(old.kappa, share, epsilon, log_target) for share in shares),
        )

    def _sizes(self, log_target: float, n: int) -> Iterator[float]:
        least = least_share(float(self._common.third.sum()), log_target, n)
        return (factor * least for factor in LARGER if factor * least <= MOST)

    def _made(self, kappa: float, share: float, epsilon: float, log_target: float) -> Cut:
        """theta that makes both parts' gains alike, these cut at a cost of ``share`` of delta."""
        halves = self.gains(epsilon, Cut(kappa, 0.5, math.inf))
        if self._bounded:
            return Cut(kappa, balanced(halves), math.inf)
        # Half of the gains for half of the cost; stolen ones are 2 (1 - theta) times that.
        ceiling = _ceiling(halves, 0.5 * share * math.exp(max(log_target, -700.0)))
        theta = balanced(self.gains(epsilon, Cut(kappa, 0.5, ceiling)))
        return Cut(kappa, theta, 2.0 * (1.0 - theta) * ceiling)


class IntervalCase(_Apart):
    """All pairs and all others' inputs of noise on an interval.

    Parameters
    ----------
    noise : IntervalDensity
        The mechanism.
    least : float
        Where eps is smaller the cover is as fine as for this eps, and where it is larger too: one
        cover serves a whole curve. 0: a cover for each eps.

    Notes
    -----
    The covers used last are kept: they are megabytes.
    """

    def __init__(self, noise: IntervalDensity, *, least: float = 0.0) -> None:
        ends = noise.law((0.0, 1.0))
        common = stack_of(ends, [Bent((0, 1, None), (), GROUPS)], noise.distances)[0]
        super().__init__(common, bounded=noise.bounded)
        self._noise = noise
        self._ends = self.rows([Triple(1.0, 0.0, 0.0), Triple(0.0, 1.0, 0.0)])
        self._covers: dict[int, RowStack] = {}
        self._least = least

    @property
    def chords(self) -> Chords:
        """How far the density is from chords."""
        return self._noise.chords

    @property
    def spread(self) -> float:
        """sqrt of int (R_x0 - R_x1)^2/R_x at the ends: what eps is in proportion to."""
        return max(float(_spreads(law.first, law.second, law.third)) for law in self._ends)

    @property
    def two_inputs(self) -> bool:
        """Whether the end points are all inputs there are."""
        return self._noise.two_inputs

    @property
    def bounded(self) -> bool:
        """Whether likelihood ratios are."""
        return self._noise.bounded

    def rows(self, triples: list[Triple]) -> list[Rows]:
        """Cells of triples."""
        return list(self._stack(triples))

    def gains_of(self, laws: list[Rows], epsilon: float, choice: Cut) -> Gains:
        """The measures, with these triples' labels."""
        return self._gains(laws, epsilon, choice)

    def likely(self) -> list[Rows]:
        """Others at an end."""
        return self._ends

    def along(self, scale: float) -> IntervalCase:
        """The same with one cover for all eps of a curve."""
        return IntervalCase(self._noise, least=scale)

    def _law(self, triples: list[Triple]) -> tuple[JointLaw, list[tuple[int, int, int]]]:
        """One law of all their inputs, and the rows of each triple."""
        inputs = sorted({x for triple in triples for x in (triple.x0, triple.x1, triple.x)})
        row = {x: i for i, x in enumerate(inputs)}
        return self._noise.law(tuple(inputs)), [(row[t.x0], row[t.x1], row[t.x]) for t in triples]

    def _stack(self, triples: list[Triple]) -> RowStack:
        """All triples on the cells of one law of all their inputs."""
        law, rows = self._law(triples)
        bent = [Bent(at, t.bends, t.groups) for at, t in zip(rows, triples, strict=True)]
        return stack_of(law, bent, self._noise.distances)

    def _spreads(self, triples: list[Triple]) -> Array:
        """sqrt of int (R_x0 - R_x1)^2/R_x: what eps is in proportion to, to first order."""
        law, rows = self._law(triples)
        first, second, third = (law.mass[list(which)] for which in zip(*rows, strict=True))
        return _spreads(first, second, third)

    def certified_gains(self, epsilon: float, choice: Cut) -> Gains:
        """Those of a cover of all inputs, which is finer where eps is small."""
        if self._noise.two_inputs:
            return self._gains(self._ends, epsilon, choice)
        level = math.floor(2.0 * math.log2(self._least or epsilon))
        if level not in self._covers:
            if len(self._covers) >= _COVERS:
                self._covers.clear()
            triples = cover(
                2.0 ** (0.5 * level),
                self._noise.chords,
                self._spreads,
                quantum=self._noise.quantum,
                finest=_FINEST_OF_CURVE if self._least else FINEST,
                groups=_GROUPS_OF_CURVE if self._least else (GROUPS, FEW_GROUPS),
            )
            self._covers[level] = self._stack(triples)
        return self._all_gains(self._covers[level], epsilon, choice)


def _scaled(law: Measure, share: float, join: float) -> Measure:
    """Of another share of the third law and another probability, but for rounding."""
    return Measure(
        share * law.mass, join / share * law.gain, join * law.lost, law.rel, share * law.dropped
    )


def _spreads(first: Array, second: Array, third: Array) -> Array:
    """sqrt of the sum of (first - second)^2/third along the last axis."""
    return np.sqrt(_squares(first, second, third).sum(axis=-1))


def _squares(first: Array, second: Array, third: Array) -> Array:
    """(first - second)^2/third, 0 where the third is."""
    change = first - second
    return np.where(third > 0.0, change * change / np.where(third > 0.0, third, 1.0), 0.0)


def _ceiling(gains: Gains, cost: float) -> float:
    """About where cutting gains costs this much of delta."""
    law = max(gains.types, key=lambda measure: float(measure.gain.max(initial=0.0)))
    if law.gain.size == 0:
        raise NotCertified("analysis = 'label-stealing': no ratio in the range of floats")
    order = np.argsort(law.gain)[::-1]
    gain, mass = law.gain[order], law.mass[order]
    excess = np.cumsum(mass * gain) - np.cumsum(mass) * gain
    index = int(np.searchsorted(excess, cost))
    return float(gain[min(index, gain.size - 1)])
