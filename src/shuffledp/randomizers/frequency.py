"""Frequency mechanisms: reports that support items; the law, sampler and estimator they share."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx, nmod_mat
from shuffledp.ball.outputs import Law, OutputClass, check_inputs, rational_ball
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers.base import Randomizer, Reports
from shuffledp.randomizers.values import (
    blocks,
    row_reports,
    smallest_type,
    whole_reports,
    whole_values,
)
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Counts, Step
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate
from shuffledp.theorems import SYMMETRIC_PAIRS, Theorem

Floats = npt.NDArray[np.floating[Any]]
# A probability, or a number of outputs in any unit.
Rate = int | Fraction | arb
# Bits at which rates are evaluated: what is subtracted from 1 is e^-300 or more.
_BITS = 1024


@dataclass(frozen=True)
class Support:
    """Probability that a report supports an item: p* from its holders, q* from all others.

    Complements and the gap are fields of their own, because 1 - p* and p* - q* lose their bits.

    Attributes
    ----------
    own, own_miss : float
        p* and 1 - p*.
    other, other_miss : float
        q* and 1 - q*.
    gap : float
        p* - q* > 0.
    """

    own: float
    own_miss: float
    other: float
    other_miss: float
    gap: float

    @classmethod
    def of(cls, own: Rate, other: Rate, gap: Rate) -> Support:
        """The floats next to exact rates, or to the middles of balls."""
        return cls(*map(float, (own, 1 - own, other, 1 - other, gap)))

    def variance(self, share: Any, blankets: float = 0.0) -> Any:
        """[v + f p*(1 - p*) + (1 - f) q*(1 - q*)]/(p* - q*)^2 of items of the frequencies f.

        v is the variance of what a user's blanket messages add to a count.
        """
        own, other = self.own * self.own_miss, self.other * self.other_miss
        counts = share * own + (1.0 - share) * other + blankets
        return counts / self.gap / self.gap

    def law(self, counts: Floats, n: int) -> Counts:
        """The law of such counts among n reports: Bin(m, p*) + Bin(n - m, q*) for m holders."""
        users = np.full(counts.shape, float(n))
        own, other = Step(self.own, self.own_miss), Step(self.other, self.other_miss)
        return Counts(counts, users, n, own, other)


# What a set of items, one a user or several, is called in lists of mechanisms.
SETS = "Shares of items, a set a user"


class FrequencyRandomizer(Randomizer):
    """A mechanism whose report supports each item with p* or q*, whichever item of others is held.

    With C the number of n reports that support an item, (C/n - q*)/(p* - q*) is unbiased for its
    frequency f, and its variance over the randomizers' coins is 1/n times
    [f p*(1 - p*) + (1 - f) q*(1 - q*)] / (p* - q*)^2, whatever the other users hold.

    Items are 0 .. items-1. Subclasses give ``rates``, ``message_bits``, ``_sample``,
    ``_checked_reports`` and ``_supporters``.
    """

    task: ClassVar[str] = "Shares of items, one a user"
    domain: int

    @property
    def items(self) -> int:
        """Number of items: inputs are 0 .. items-1."""
        return self.domain

    @abstractmethod
    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        """The reports as an array in the message space, or ParameterError."""

    @abstractmethod
    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        """How many of the reports support each of the items (None: all of the domain)."""

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.items)

    def aggregate(self, reports: Reports, *, items: ArrayLike | None = None) -> Aggregate:
        """Support counts, which add up over batches of users.

        Parameters
        ----------
        reports : ndarray
            What ``randomize`` returned, or part of it.
        items : array_like of int, optional
            Count for these items only, in this order; all items of the domain otherwise.

        Returns
        -------
        Aggregate
            ``sums`` has one count for each item.
        """
        checked = self._checked_reports(reports)
        chosen = None if items is None else whole_values(items, self.items, name="items")
        return Aggregate(len(checked), self._supporters(checked, chosen).astype(np.float64))

    @abstractmethod
    def rates(self) -> tuple[Rate, Rate, Rate]:
        """p*, q* and p* - q*, at the working precision."""

    @property
    def support(self) -> Support:
        """p* and q*."""
        with ctx.workprec(_BITS):
            return Support.of(*self.rates())

    def estimate(self, data: Reports | Aggregate) -> FrequencyEstimate:
        """Frequencies (C/n - q*)/(p* - q*), with standard errors at the estimated frequencies.

        Raises
        ------
        ParameterError
            If there are no reports.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        n = counted(sums)
        rates = self.support
        frequencies = (sums.sums / n - rates.other) / rates.gap
        share = np.clip(frequencies, 0.0, 1.0)
        errors = np.sqrt(rates.variance(share) / n)
        return FrequencyEstimate(frequencies, errors, n, rates.law(sums.sums, n))

    def variance(self, frequency: float = 0.0) -> float:
        """[f p*(1 - p*) + (1 - f) q*(1 - q*)] / (p* - q*)^2, per user."""
        share = _check.real("frequency", frequency, low=0.0, high=1.0)
        return float(self.support.variance(share))


class UniformOrOwn(FrequencyRandomizer):
    """Reports that are uniform on all with a known probability, and else drawn for the value.

    A report is a number 0 .. letters-1, or a row of ``word`` such numbers.
    """

    word: int | None = None

    @property
    @abstractmethod
    def letters(self) -> int:
        """Number of values that a number in a report may have."""

    @property
    @abstractmethod
    def uniform_share(self) -> arb:
        """Probability that a report is drawn uniformly, whatever the value."""

    @abstractmethod
    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """Reports of the values, drawn where they are not uniform."""

    @property
    def message_bits(self) -> float:
        """log2 of the number of reports."""
        return (1 if self.word is None else self.word) * math.log2(self.letters)

    def _uniform_reports(self, count: int, source: RandomSource) -> Reports:
        """Reports that are uniform on all."""
        if self.word is None:
            return source.below(self.letters, count)
        return source.uniform(self.letters, count * self.word).reshape(count, self.word)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        """Uniform reports with probability ``uniform_share``, else the value's own."""
        shape = (len(values),) if self.word is None else (len(values), self.word)
        reports = np.empty(shape, dtype=smallest_type(self.letters))
        for users in blocks(len(values), self.word or 1):
            part, own = reports[users], values[users]
            uniform = source.coins(lambda: self.uniform_share, len(part))
            part[uniform] = self._uniform_reports(int(np.count_nonzero(uniform)), source)
            part[~uniform] = self._own_reports(own[~uniform], source)
        return reports

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        """The reports as an array in the message space, or ParameterError."""
        if self.word is None:
            return whole_reports(reports, self.letters)
        return row_reports(reports, self.word, self.letters)


class Sizes(NamedTuple):
    """How many outputs a mechanism has, in any unit.

    Attributes
    ----------
    outputs : int, Fraction or arb
        m: all of them.
    hit : int, Fraction or arb
        h: those that hit an input.
    both : int, Fraction, arb or None
        c: those that hit both of two inputs; None where that depends on the inputs.
    """

    outputs: Rate
    hit: Rate
    both: Rate | None


def hit_rates(sizes: Sizes, eps0: float) -> tuple[arb, arb, arb]:
    """p*, q* and p* - q*: h E/Z, (c E + h - c)/Z and (h - c) (E - 1)/Z, E = e^eps0."""
    outputs, hit, both = (_ball(size or 0) for size in sizes)
    grow, gain = arb(eps0).exp(), arb(eps0).expm1()
    total = outputs + hit * gain
    return hit * grow / total, (both * gain + hit) / total, (hit - both) * gain / total


def least_spread(choices: Iterable[int], sizes_of: Callable[[int], Sizes], eps0: float) -> int:
    """The choice with the least variance at frequency 0, q*(1 - q*)/(p* - q*)^2."""

    def spread(choice: int) -> float:
        _, other, gap = hit_rates(sizes_of(choice), eps0)
        return float(other * (1 - other) / (gap * gap))

    with ctx.workprec(_BITS):
        return min(choices, key=lambda choice: (spread(choice), choice))


class HitOrMiss(FrequencyRandomizer):
    """R_x(y) = (e^eps0 if the output y hits the input x else 1)/Z: a report supports what it hits.

    Z = h e^eps0 + m - h, where m outputs are all, and h of them hit an input, any input. The
    blanket is 1/Z, but e^eps0/Z on outputs that hit the whole domain. A report is uniform with
    probability m/Z, else uniform on the outputs that hit the value: ``UniformOrOwn`` draws it so.

    Subclasses give ``sizes``, ``hit_counts`` and, where some outputs hit the whole domain,
    ``hit_by_all``.
    """

    eps0: float

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """m, h and c: outputs in all, those that hit an input, those that hit both of two."""

    @abstractmethod
    def hit_counts(self, inputs: Sequence[int]) -> Mapping[tuple[bool, ...], Rate]:
        """How many outputs hit exactly which of these different inputs."""

    def hit_by_all(self) -> Rate:
        """How many outputs hit the whole domain."""
        return 0

    @property
    def letters(self) -> int:
        """m, where outputs are counted one by one."""
        return int(self.sizes.outputs)  # type: ignore[arg-type]

    @property
    def uniform_share(self) -> arb:
        """m/Z."""
        return _ball(self.sizes.outputs) / self._normaliser()

    def rates(self) -> tuple[arb, arb, arb]:
        """p* = h e^eps0/Z, q* = (c e^eps0 + h - c)/Z.

        Raises
        ------
        NotCertified
            If c is not the same for all pairs of inputs.
        """
        if self.sizes.both is None:
            raise NotCertified(
                f"{self.name}: inputs favour different numbers of outputs in common, and "
                "frequencies have no estimator by counts of their own outputs"
            )
        return hit_rates(self.sizes, self.eps0)

    def _normaliser(self) -> arb:
        """Z."""
        outputs, hit, _ = self.sizes
        return _ball(hit) * arb(self.eps0).exp() + _ball(outputs - hit)  # type: ignore[operator]

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """Outputs by which of the inputs they hit."""
        check_inputs(inputs, self.items)
        distinct, grow = sorted(set(inputs)), arb(self.eps0).exp()
        place = [distinct.index(x) for x in inputs]
        total, counts, by_all = (
            self._normaliser(),
            self.hit_counts(distinct),
            _ball(self.hit_by_all()),
        )
        law = []
        for hits in sorted({*counts, (False,) * len(distinct)}):
            count = _ball(counts.get(hits, 0))
            # Ratios of outputs that hit the whole domain are one, as where all are missed.
            if all(hits):
                # Before it is divided: of whole numbers the difference may be 0, exactly.
                count = arb(0) if len(distinct) == self.items else count - by_all
            if not any(hits):
                count = count + by_all * grow
            mass = count / total
            if mass.is_zero():
                continue
            level = tuple(arb(self.eps0) if hits[i] else arb(0) for i in place)
            probability = tuple(mass * grow if hits[i] else mass for i in place)
            law.append(OutputClass(mass, probability, level))
        return law


def _ball(count: Rate) -> arb:
    return count if isinstance(count, arb) else rational_ball(Fraction(count))


_Share = TypeVar("_Share", arb, Fraction)


def independent_hits(
    inputs: int, chance: _Share, outputs: _Share
) -> dict[tuple[bool, ...], _Share]:
    """Outputs that hit each of the inputs independently, with this probability."""
    return {
        hits: math.prod((chance if hit else 1 - chance for hit in hits), start=outputs)
        for hits in itertools.product((False, True), repeat=inputs)
    }


def orthogonal(normals: Sequence[Sequence[int]], q: int) -> dict[tuple[bool, ...], int]:
    """Vectors over the field of q elements that are orthogonal to exactly which of these.

    q^(m - rank) are orthogonal to all of a set and perhaps to more; inclusion and exclusion over
    the sets that contain it leaves those orthogonal to no more.
    """
    m = len(normals[0])
    at_least: dict[tuple[bool, ...], int] = {}
    for flags in itertools.product((False, True), repeat=len(normals)):
        rows = [list(row) for row, flag in zip(normals, flags, strict=True) if flag]
        at_least[flags] = q ** (m - (nmod_mat(rows, q).rank() if rows else 0))
    found = {}
    for flags in at_least:
        larger = (
            (-1) ** (sum(more) - sum(flags)) * number
            for more, number in at_least.items()
            if all(b >= a for a, b in zip(flags, more, strict=True))
        )
        found[flags] = sum(larger)
    return found


class AlikeItems(HitOrMiss):
    """A mechanism whose law a permutation of the items carries into that of the permuted outputs.

    Subclasses give the theorem that says so of pairs.
    """

    pairs_alike: ClassVar[Theorem] = SYMMETRIC_PAIRS

    @property
    def alike(self) -> int:
        """All items."""
        return self.items

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs are alike, in both directions."""
        return WorstPairs(((0, 1),), self.pairs_alike)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1 or a third value: by symmetry there is no other case."""
        return tuple((0, 1, x2) for x2 in range(min(self.items, 3)))


def counted(sums: Aggregate, shape: tuple[int | None, ...] = (None,)) -> int:
    """Number of users of an aggregate, at least one, with sums of this shape (None: any length)."""
    found = sums.sums.shape
    fits = len(found) == len(shape) and all(
        wanted in {None, size} for size, wanted in zip(found, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise rejected("shape of the aggregate's sums", found, f"({wanted}), of this mechanism")
    if not sums.count >= 1:
        raise rejected("reports", sums.count, "at least one report")
    return sums.count


def histogram(reports: np.ndarray, size: int) -> np.ndarray:
    """How often each of 0 .. size-1 occurs."""
    if reports.dtype.itemsize == 8:  # bincount takes no unsigned 64-bit integers
        reports = reports.astype(np.int64, copy=False)
    return np.bincount(reports, minlength=size)


def occurrences(reports: np.ndarray, size: int, items: np.ndarray | None) -> np.ndarray:
    """How often each of the items occurs, or each of 0 .. size-1, among reports 0 .. size-1."""
    if items is None:
        return histogram(reports, size)
    kinds, places = np.unique(items, return_inverse=True)
    if kinds.size == 0:
        return np.zeros(0, dtype=np.int64)
    found = np.minimum(np.searchsorted(kinds, reports), kinds.size - 1)
    return np.bincount(found[kinds[found] == reports], minlength=kinds.size)[places]
