"""Wheel: sets of items as arcs on a circle, a user's own hash function for each report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import (
    Favours,
    Law,
    OutputClass,
    check_inputs,
    flags,
    rational_ball,
    two_levels,
)
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism.parameters import Follows, LocalEpsilon, Positive, Whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import SETS, Support, UniformOrOwn, independent_hits
from shuffledp.randomizers.levels import grown
from shuffledp.randomizers.values import blocks, item_sets
from shuffledp.randomness import RandomSource
from shuffledp.theorems import ENVELOPE

# The circle has a prime number of points, the field that hash functions are polynomials over.
CIRCLE = 2**31 - 1
_LARGEST_SET = 1000
_ENVELOPE = (-1, -2)
# Different sets whose joint law is made: the victim's two and the others'.
_MOST_SETS = 3


# Two users' sets may have no item in common.
_TwoSets = Annotated[
    int,
    Whole(low=lambda m: 2 * _check.count("s", m.s, high=_LARGEST_SET), high=_check.LARGEST_DOMAIN),
]
_Arc = Annotated[
    float | None,
    Follows(Positive(high=1.0), lambda m: 1.0 / (2 * m.s - 1 + m.s * math.exp(m.eps0))),
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Wheel(UniformOrOwn):
    """Wheel: s of ``domain`` items become arcs of length p; a point is sent, likelier on the arcs.

    Each report has a hash function h of its own. With C the union of the arcs [h(x), h(x) + p) of a
    user's items on the circle of length 1, l its length and Z = s p e^eps0 + 1 - s p, the point has
    density e^eps0/Z on C and (Z - l e^eps0)/((1 - l) Z) >= 1/Z elsewhere; it supports the items
    whose arcs it lies on. gamma is at least 1/Z.

    Arcs of one user overlap at random, so the density takes many values, and the joint law of two
    sets has no short form. Upper bounds use an envelope, exact for s = 1: independently for both
    sets, the point has density e^eps0/Z with probability s p, else 1/Z, under the uniform law of
    (h, point). Its gains dominate those of any two sets in convex order (docs/theory.md, Theorem
    4.14). Lower bounds are exact for what a report says of C for two or three disjoint sets,
    covered or not. No assumption on arcs or on the hash functions is left: h is a polynomial of
    degree 3s - 1 with uniform coefficients over the field of 2^31 - 1 points, so the arcs of any 3s
    items are independent.

    Inputs of its law are disjoint sets: j stands for the items j s .. j s + s - 1; -1 and -2 are
    the two inputs of the envelope. Values are sets, shape (n, s). Reports are rows of the 3s
    coefficients and the point (uint32).

    Parameters
    ----------
    domain : int
        Number of items, 2 s <= domain <= 1e9.
    s : int
        Items of a user, 1 <= s <= 1000.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    p : float, optional
        Length of an arc, s p < 1, rounded to a multiple of 1/(2^31 - 1), at least one; by default
        1/(2s - 1 + s e^eps0).

    Notes
    -----
    Wang, Qian, Du, Yang, Huang, Xu 2020.
    """

    task: ClassVar[str] = SETS
    name: ClassVar[str] = "wheel"
    summary: ClassVar[str] = "sets of s items as arcs on a circle (Wheel)"
    domain: _TwoSets
    s: Annotated[int, Whole(high=_LARGEST_SET)]
    eps0: LocalEpsilon
    p: _Arc = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.s * self.arc < CIRCLE:
            raise rejected("p", self.p, f"less than 1/s = 1/{self.s}")

    @property
    def arc(self) -> int:
        """Points of an arc, of 2^31 - 1 on the circle."""
        return max(1, round((self.p or 0.0) * CIRCLE))

    @property
    def _covered(self) -> Fraction:
        """s p, of the arcs as they are."""
        return Fraction(self.s * self.arc, CIRCLE)

    @property
    def _total(self) -> Fraction:
        """Z = s p e^eps0 + 1 - s p."""
        return 1 + self._covered * (grown(self.eps0) - 1)

    @property
    def letters(self) -> int:
        """Points of the circle."""
        return CIRCLE

    @property
    def word(self) -> int:  # type: ignore[override]
        """3s + 1: the hash function and a point."""
        return 3 * self.s + 1

    @property
    def uniform_share(self) -> Fraction:
        """1/Z."""
        return 1 / self._total

    @property
    def support(self) -> Support:
        """p* = p e^eps0/Z, q* = p, exactly: an item's arc is on C or independent of it."""
        p, total, grow = Fraction(self.arc, CIRCLE), self._total, grown(self.eps0)
        return Support.of(p * grow / total, p, p * (grow - 1) * (1 - self._covered) / total)

    # ----------------------------------------------------------------------------- running it

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return item_sets(values, self.domain, self.s)

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """A uniform hash function and a point of the value's excess over the uniform law."""
        width = 3 * self.s
        hashes = source.below(CIRCLE, len(values) * width).reshape(len(values), width)
        arcs = np.stack([polynomial(hashes, column) for column in values.T], axis=1)
        return np.column_stack([hashes, self._on_wheel(arcs, source)])

    def _on_wheel(self, arcs: np.ndarray, source: RandomSource) -> np.ndarray:
        """Points by the excess over the uniform law: s p times the indicator of C, the rest off C.

        A point of an arc chosen at random counts unless an earlier arc has it too; then it is drawn
        anew off C.
        """
        count = len(arcs)
        mine = source.below(self.s, count)
        point = (arcs[np.arange(count), mine] + source.below(self.arc, count)) % CIRCLE
        covers = (point[:, None] - arcs) % CIRCLE < self.arc
        again = np.flatnonzero(np.argmax(covers, axis=1) != mine)
        while again.size:
            point[again] = source.below(CIRCLE, again.size)
            inside = ((point[again, None] - arcs[again]) % CIRCLE < self.arc).any(axis=1)
            again = again[inside]
        return point

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        chosen = np.arange(self.domain) if items is None else items
        counts = np.zeros(len(chosen), dtype=np.int64)
        for users in blocks(len(reports), 3 * self.s + 1):
            part = reports[users].astype(np.int64)
            hashes, point = part[:, :-1], part[:, -1]
            for place, item in enumerate(chosen):
                start = polynomial(hashes, np.full(len(part), item))
                counts[place] += np.count_nonzero((point - start) % CIRCLE < self.arc)
        return counts

    # -------------------------------------------------------------------------------- its law

    def worst_pairs(self) -> WorstPairs:
        """The envelope of all pairs; exchanged, it is the same."""
        return WorstPairs((_ENVELOPE,), ENVELOPE)

    @property
    def alike(self) -> int:
        """All sets of one item."""
        return self.domain if self.s == 1 else 0

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Of the envelope's inputs -1 and -2: two independent hits of probability s p.

        Of disjoint sets 0, 1, 2: by whether the point is on an arc of each. On its own it is with
        probability q E/Z, q = 1 - (1 - p)^s, on the others', all independent, with probability q.
        """
        eps0, covered = arb(self.eps0), self._covered
        total = rational_ball(covered) * eps0.expm1() + 1
        # The envelope is no input's law: with the input of all others there is none.
        if len(inputs) == len(_ENVELOPE) and all(x in _ENVELOPE for x in inputs):
            return two_levels(_hit_parts(covered, total, inputs), eps0)
        check_inputs(inputs, self.domain // self.s)
        distinct = sorted(set(inputs))
        if len(distinct) > _MOST_SETS:
            raise ParameterError(f"inputs = {inputs!r}: wanted at most three different sets")
        if self.s == 1:
            return two_levels(_hit_parts(covered, total, inputs), eps0)
        q = 1 - (1 - Fraction(self.arc, CIRCLE)) ** self.s
        own = rational_ball(q) * eps0.exp() / total
        law = []
        for hits, share in independent_hits(len(distinct), q, Fraction(1)).items():
            mass = rational_ball(share)
            ratio = [
                own / rational_ball(q) if hit else (1 - own) / rational_ball(1 - q) for hit in hits
            ]
            probability = tuple(mass * ratio[distinct.index(x)] for x in inputs)
            law.append(OutputClass(mass / total, probability))
        return law

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Two disjoint sets; all others hold one of them or, in a large domain, a third."""
        return tuple((0, 1, x2) for x2 in range(min(3, self.domain // self.s)))


def _hit_parts(hit: Fraction, total: arb, inputs: Sequence[int]) -> list[tuple[arb, Favours]]:
    """Independent hits: density e^eps0/Z where an input is hit, else 1/Z."""
    distinct = sorted(set(inputs))
    return [
        (rational_ball(mass) / total, flags(hits[distinct.index(x)] for x in inputs))
        for hits, mass in independent_hits(len(distinct), hit, Fraction(1)).items()
    ]


def polynomial(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values at x of polynomials over the field, one for each row (Horner; products below 2^62)."""
    x = x.astype(np.int64)
    value = coefficients[:, -1].astype(np.int64)
    for column in coefficients.T[-2::-1]:
        value = (value * x + column) % CIRCLE
    return value
