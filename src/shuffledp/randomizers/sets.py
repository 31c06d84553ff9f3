"""Sets of items, a set a user: Wheel, and RAPPOR of one item drawn from the set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, total
from shuffledp.ball.outputs import (
    Favours,
    Law,
    OutputClass,
    check_inputs,
    flags,
    rational_ball,
    two_levels,
)
from shuffledp.ball.record import Masses, Others, WorstPairs, three
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.mechanism.parameters import Domain, LocalEpsilon, follows, positive, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.encodings import RAPPOR, BitVectors
from shuffledp.randomizers.frequency import (
    SETS,
    UniformOrOwn,
    independent_hits,
)
from shuffledp.randomizers.values import blocks, item_sets
from shuffledp.randomness import RandomSource
from shuffledp.theorems import ENVELOPE, FEWEST_SHARED, OVERLAP_TRIPLES

# The circle has a prime number of points, the field that hash functions are polynomials over.
CIRCLE = 2**31 - 1
_LARGEST_SET = 1000
_ENVELOPE = (-1, -2)
# Different sets whose joint law is made: the victim's two and the others'.
_MOST_SETS = 3


# Two users' sets may have no item in common.
_TwoSets = Annotated[
    int,
    whole(low=lambda m: 2 * _check.count("s", m.s, high=_LARGEST_SET), high=_check.LARGEST_DOMAIN),
]
_Arc = Annotated[
    float | None,
    follows(positive(high=1.0), lambda m: 1.0 / (2 * m.s - 1 + m.s * math.exp(m.eps0))),
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
    s: Annotated[int, whole(high=_LARGEST_SET)]
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
    def _total(self) -> arb:
        """Z = s p e^eps0 + 1 - s p."""
        return rational_ball(self._covered) * arb(self.eps0).expm1() + 1

    @property
    def letters(self) -> int:
        """Points of the circle."""
        return CIRCLE

    @property
    def word(self) -> int:  # type: ignore[override]
        """3s + 1: the hash function and a point."""
        return 3 * self.s + 1

    @property
    def uniform_share(self) -> arb:
        """1/Z."""
        return 1 / self._total

    def rates(self) -> tuple[arb, arb, arb]:
        """p* = p e^eps0/Z, q* = p, exactly: an item's arc is on C or independent of it."""
        p, rest = arb(self.arc) / CIRCLE, rational_ball(1 - self._covered)
        own = p * arb(self.eps0).exp() / self._total
        return own, p, p * arb(self.eps0).expm1() * rest / self._total

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
        """The envelope's law under its inputs -1 and -2: two independent hits of probability s p.

        Of disjoint sets 0, 1, 2: by whether the point is on an arc of each. On its own it is with
        probability q E/Z, q = 1 - (1 - p)^s, on the others', all independent, with probability q.
        """
        eps0, covered = arb(self.eps0), self._covered
        total = self._total
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


_LARGEST_SAMPLED = 100
# The rarest class of three inputs has log mass -3 s log(1 + w): above what floats can hold.
_DEEPEST = 230.0
# Counts of set bits that are looked at, and classes of outputs: some seconds.
_MOST_COUNTS, _MOST_CLASSES = 200_000, 6_000
# Counts of set bits of three sets up to which lower ends try the third.
_MOST_TRIED = 60_000
# Items of a user up to which all overlaps of three sets are looked at.
_FEW_ITEMS = 6
# Items by which of the windows hold them, and how many of each.
_Groups = list[tuple[tuple[bool, ...], int]]
# R_0 mass by set bits in every window, and the least number of them in any set.
_Totals = dict[tuple[tuple[int, ...], int], arb]


_SetSize = Annotated[int, whole(high=lambda m: min(m.d - 1, _LARGEST_SAMPLED))]


@dataclass(frozen=True, kw_only=True)
class SamplingRAPPOR(BitVectors):
    """Sampling RAPPOR: one of the user's s items, uniform, sent through RAPPOR with d bits.

    With w = e^{eps0/2}, R_0 the law of bits that are all set with probability 1/(w + 1), and c the
    number of set bits in the user's set S: R_S(y) = R_0(y) (c w + (s - c)/w)/s. The blanket is R_0
    times the same with the least possible c, max(0, s - zeros of y). Sets that share as few items
    as possible are the worst pair. Classes of outputs: set bits in S and in S', and zeros elsewhere
    as long as they are fewer than s; of large sets rare counts are cut off, and the blanket is
    taken as R_0/w, which is smaller.

    Inputs of its law are windows: i stands for the items i .. i + s - 1, modulo d. Values are sets,
    shape (n, s); reports are bits packed in bytes as RAPPOR's.

    Parameters
    ----------
    d : int
        Number of items (bits in a report), 2 <= d <= 1e9.
    s : int
        Items of a user, 1 <= s < d, s <= 100 and s log(1 + e^{eps0/2}) <= 230.
    eps0 : float
        Local privacy of the whole report in nats; attained if 2 s <= d.

    Notes
    -----
    Sampling as in Qin, Yang, Yu, Khalil, Xiao, Ren 2016; Erlingsson, Pihur, Korolova 2014. The law
    by enumeration of counts; the total variation in Wang et al. 2024, table 2, is another.
    """

    task: ClassVar[str] = SETS
    name: ClassVar[str] = "sampling-rappor"
    summary: ClassVar[str] = "RAPPOR of one of a user's s items"
    d: Domain
    s: _SetSize
    eps0: LocalEpsilon

    def __post_init__(self) -> None:
        super().__post_init__()
        depth = self.s * self._log_one
        if not depth <= _DEEPEST:
            wanted = f"s log(1 + e^(eps0/2)) at most {_DEEPEST:g}, here {depth:g}"
            raise rejected("eps0", self.eps0, wanted)

    @property
    def _log_one(self) -> float:
        """-log of 1/(w + 1), the probability of a noise bit."""
        return 0.5 * self.eps0 + math.log1p(math.exp(-0.5 * self.eps0))

    def rates(self) -> tuple[arb, arb, arb]:
        """p* = (p + (s - 1) q)/s and q* = q, RAPPOR's own being p and q."""
        _, other, gap = self._rappor.rates()
        return other + gap / self.s, other, gap / self.s

    # ----------------------------------------------------------------------------- running it

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return item_sets(values, self.d, self.s)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        chosen = source.below(self.s, len(values))
        one = values[np.arange(len(values)), chosen]
        return self._rappor._sample(one, source)  # noqa: SLF001, a step of this mechanism

    @property
    def _rappor(self) -> RAPPOR:
        return RAPPOR(d=self.d, eps0=self.eps0)

    # -------------------------------------------------------------------------------- its law

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Law by set bits in every window; window i is the items i .. i + s - 1, modulo d.

        Raises
        ------
        NotCertified
            If there are too many classes of outputs.
        """
        check_inputs(inputs, self.d)
        w = self._grown
        groups, rest = _groups(inputs, self.d, self.s)
        if math.prod(size + 1 for _, size in groups) * (min(self.s, rest) + 1) > _MOST_COUNTS:
            raise NotCertified(f"sampling-rappor: more than {_MOST_COUNTS:,} counts of set bits")
        return self._law_of(_by_counts(groups, _few_zeros(rest, self.s, w), self.s, w))

    def cut_law(self, inputs: Sequence[Any], log_cut: float) -> Law:
        """The law of large sets with rare counts of set bits cut off; None where classes are few.

        Outputs have s zeros or more nearly always: the blanket is R_0/w or more, and here R_0/w.
        """
        try:
            return self.output_law(inputs)
        except NotCertified:
            pass
        s, w = self.s, self._grown
        groups, _ = _groups(inputs, self.d, s)
        # A set's law is at most w R_0.
        least = (arb(log_cut) - (w * len(groups)).log()).exp()
        law = self._law_of(_by_counts(groups, [(s, arb(1))], s, w, least=least))
        kept = [total(c.probability[i] for c in law) for i in range(len(inputs))]
        gone = tuple((1 - x).nonnegative_part() for x in kept)
        return [*law, OutputClass(arb(0), gone, beyond=True)]

    @property
    def _grown(self) -> arb:
        """w = e^(eps0/2)."""
        return (arb(self.eps0) / 2).exp()

    def _height(self, count: int) -> arb:
        """(c w + (s - c)/w)/s, a set's density against R_0."""
        return (count * self._grown + (self.s - count) / self._grown) / self.s

    def _law_of(self, totals: _Totals) -> Law:
        """Classes of outputs, by set bits in every window and the least of them in any set."""
        if len(totals) > _MOST_CLASSES:
            raise NotCertified(f"sampling-rappor: more than {_MOST_CLASSES:,} classes of outputs")
        law = []
        for (favoured, least), base in totals.items():
            level = None
            if all(c == least or (c == self.s and least == 0) for c in favoured):
                level = tuple(arb(0) if c == least else arb(self.eps0) for c in favoured)
            probability = tuple(base * self._height(c) for c in favoured)
            law.append(OutputClass(base * self._height(least), probability, level))
        return law

    @property
    def alike(self) -> int:
        """All sets of one item."""
        return self.d if self.s == 1 else 0

    def worst_pairs(self) -> WorstPairs:
        """Two windows that share as few items as they can; exchanged, the law is the same."""
        return WorstPairs(((0, self.s % self.d),), FEWEST_SHARED)

    def others(self) -> Others | None:
        """All sizes of the overlaps of three sets, of a few items each."""
        if self.s == 1 or self.s > _FEW_ITEMS:
            return super().others()
        return Others("overlaps", OVERLAP_TRIPLES, self.worst_pairs().pairs, labels=self._overlaps)

    def _overlaps(self) -> Iterator[list[Masses]]:
        """All overlaps of three sets of s items of d, the first two different."""
        hits = [key for key in itertools.product((False, True), repeat=3) if any(key)]
        for sizes in itertools.product(range(self.s + 1), repeat=len(hits)):
            named = list(zip(hits, sizes, strict=True))
            held = [sum(n for key, n in named if key[i]) for i in range(3)]
            both = sum(n for key, n in named if key[0] and key[1])
            if held == [self.s] * 3 and both < self.s and sum(sizes) <= self.d:
                yield self._label([(key, n) for key, n in named if n])

    def _label(self, groups: _Groups) -> list[Masses]:
        """Masses under three sets, of which these groups of items are in one or more."""
        totals = _by_counts(groups, [(self.s, arb(1))], self.s, self._grown)
        return [
            three(base * self._height(c) for c in favoured)
            for (favoured, _), base in totals.items()
        ]

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold one of the two sets or, if there are not too many classes, a third."""
        first, second, third = 0, self.s % self.d, 2 * self.s % self.d
        groups, _ = _groups((first, second, third), self.d, self.s)
        others = {first, second}
        if math.prod(size + 1 for _, size in groups) <= _MOST_TRIED:
            others.add(third)
        return tuple((first, second, x2) for x2 in sorted(others))


def _groups(
    inputs: Sequence[Any], d: int, s: int
) -> tuple[list[tuple[tuple[bool, ...], int]], int]:
    """Items by the windows that hold them, and how many are in none."""
    sizes: dict[tuple[bool, ...], int] = {}
    touched = {(x + i) % d for x in inputs for i in range(s)}
    for item in touched:
        key = tuple((item - x) % d < s for x in inputs)
        sizes[key] = sizes.get(key, 0) + 1
    return list(sizes.items()), d - len(touched)


def _few_zeros(rest: int, s: int, w: arb) -> list[tuple[int, arb]]:
    """(zeros among the rest, probability), s standing for s or more."""
    zero = w / (w + 1)
    found = []
    left = arb(1)
    for zeros in range(min(s, rest + 1)):
        share = rational_ball(Fraction(math.comb(rest, zeros)))
        p = share * zero**zeros * (1 - zero) ** (rest - zeros)
        found.append((zeros, p))
        left -= p
    if rest >= s:
        found.append((s, left))
    return found


def _by_counts(
    groups: _Groups, few: list[tuple[int, arb]], s: int, w: arb, *, least: arb | None = None
) -> _Totals:
    """R_0 mass by set bits in every window and the least number of them in any set.

    ``least``: a group's counts of less mass than it, over how many there are, are left out.
    """
    one, zero = 1 / (w + 1), w / (w + 1)
    size = len(groups[0][0])
    totals: _Totals = {}
    tables = [[math.comb(k, c) * one**c * zero ** (k - c) for c in range(k + 1)] for _, k in groups]
    kept = [
        [c for c, mass in enumerate(table) if least is None or not mass < least / len(table)]
        for table in tables
    ]
    for counts in itertools.product(*kept):
        mass = math.prod((t[c] for t, c in zip(tables, counts, strict=True)), start=arb(1))
        both = list(zip(groups, counts, strict=True))
        favoured = tuple(sum(c for (key, _), c in both if key[i]) for i in range(size))
        zeros = sum(k - c for (_, k), c in both)
        for more, share in few:
            key = (favoured, max(0, s - zeros - more))
            added = mass * share
            totals[key] = totals[key] + added if key in totals else added
    return totals
