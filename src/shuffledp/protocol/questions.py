"""What is asked of a column's reports: frequencies, a mean, moments, ranges, or all of a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.multimessage import MultiMessage
from shuffledp.protocol.answers import Answer, Beside, Floats
from shuffledp.protocol.columns import Column, hash_of, size_of
from shuffledp.protocol.heavy import Batches, PrefixTree, Spelling
from shuffledp.protocol.moments import HIGHEST, estimated_moments, noise_moments, power_sums
from shuffledp.protocol.postprocess import project_to_simplex
from shuffledp.protocol.records import Record, Values
from shuffledp.randomizers import Hierarchy, Joint, Randomizer
from shuffledp.randomizers.composed import field
from shuffledp.randomizers.means import MeanRandomizer
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate, MeanEstimate, parts_of

_MOST_ROWS = 4096
_TOP = 10
# Of sums of frequencies: the share of all users is 1 to this.
_ROUNDING = 1e-12
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Asked:
    """What the user wants to know, beyond what the mechanism is for.

    Attributes
    ----------
    ranges : tuple of (low, high)
        Shares of the users with low <= value < high, of a hierarchy.
    moments : int
        Moments 1 .. that many, of additive noise.
    candidates : tuple of str
        Text to count, where items are hashed.
    simplex : bool
        Post-process frequencies to the nearest probabilities.
    top : int
        Of a prefix tree: how many items to find, 10 if 0.
    """

    ranges: Ranges = ()
    moments: int = 0
    candidates: tuple[str, ...] = ()
    simplex: bool = False
    top: int = 0


class Question(ABC):
    """From reports to sums, and from sums to an answer; for simulations truth and exact errors."""

    mechanism: Any

    def sums(self, reports: np.ndarray) -> Aggregate:
        """What is summed over reports, block by block; ParameterError for impossible ones."""
        return self.mechanism.aggregate(reports)

    def released(self, sums: Aggregate, source: RandomSource) -> Aggregate:
        """What the analyst gets of the sums: all of them, where the reports are seen."""
        del source
        return sums

    @abstractmethod
    def answer(self, sums: Aggregate, users: int) -> Answer:
        """Estimates from the sums over the reports of this many users."""

    @abstractmethod
    def truth(self, values: np.ndarray) -> Floats:
        """What the estimates aim at, from encoded values."""


@dataclass(frozen=True)
class Frequencies(Question):
    """Shares of the users who hold each item, or each of the hashed candidates."""

    mechanism: Any
    names: tuple[str, ...]
    codes: tuple[int, ...] | None
    simplex: bool

    def sums(self, reports: np.ndarray) -> Aggregate:
        """How many reports support each item, or each of those asked for."""
        if self.codes is None:
            return self.mechanism.aggregate(reports)
        return self.mechanism.aggregate(reports, items=np.array(self.codes))

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """Unbiased frequencies."""
        found = estimated(self.mechanism, sums, users)
        if not isinstance(found, FrequencyEstimate):
            raise rejected("randomizer", self.mechanism.name, "a mechanism for frequencies")
        f = found.frequencies
        sampling = drawn(f, found.n)
        post = project_to_simplex(f) if self.simplex else f
        return Answer(self.names, f, found.standard_errors, sampling, post, law=found.law)

    def truth(self, values: np.ndarray) -> Floats:
        """Frequencies among these values."""
        codes = np.asarray(values).astype(np.int64)
        if self.codes is not None:
            return np.array([float(np.mean(codes == code)) for code in self.codes])
        return np.bincount(codes, minlength=size_of(self.mechanism) or 0) / len(codes)


def drawn(shares: Floats, n: int) -> Floats:
    """Standard errors of shares of a population of which n users are drawn."""
    inside = np.clip(shares, 0.0, 1.0)
    return np.sqrt(inside * (1.0 - inside) / n)


def largest_scatter(mean: Floats, mechanism: Any) -> Floats:
    """The most that values in [low, high] with this mean vary: (mean - low)(high - mean)."""
    inside = np.clip(mean, mechanism.low, mechanism.high)
    return np.maximum((inside - mechanism.low) * (mechanism.high - inside), 0.0)


@dataclass(frozen=True)
class Mean(Question):
    """The mean of numbers, or of vectors."""

    mechanism: Any

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """The mean of each coordinate."""
        found = estimated(self.mechanism, sums, users)
        if not isinstance(found, MeanEstimate):
            raise rejected("randomizer", self.mechanism.name, "a mechanism for means")
        mean = np.atleast_1d(np.asarray(found.mean, dtype=np.float64))
        error = np.atleast_1d(np.asarray(found.standard_error, dtype=np.float64))
        scatter = self._scatter(sums, mean, error, found.n)
        names = ("mean",) if mean.size == 1 else tuple(f"mean[{i}]" for i in range(mean.size))
        return Answer(names, mean, error, np.sqrt(scatter / found.n), mean, law=found.law)

    def _scatter(self, sums: Aggregate, mean: Floats, error: Floats, n: int) -> Floats:
        """Variance of the values, as far as the reports tell it."""
        mechanism: Any = self.mechanism
        if isinstance(mechanism, MultiMessage):
            share = np.clip(mean, 0.0, 1.0)
            return share * (1.0 - share)
        if not isinstance(mechanism, MeanRandomizer):  # some of the users, drawn for it
            return largest_scatter(mean, mechanism.randomizer)
        # That of the reports less the noise's.
        squares = np.atleast_1d(sums.sums[1]) / n
        return np.maximum(squares - (mean - mechanism.centre) ** 2 - n * error**2, 0.0)

    def truth(self, values: np.ndarray) -> Floats:
        """The mean of these values."""
        return np.atleast_1d(np.asarray(values, dtype=np.float64).mean(axis=0))


@dataclass(frozen=True)
class Moments(Question):
    """Moments 1 .. K of a bounded number under additive noise, and from K = 2 on the variance."""

    mechanism: Randomizer
    order: int

    def sums(self, reports: np.ndarray) -> Aggregate:
        """Powers about the middle of the interval; the mechanism's own sums check the reports."""
        count = self.mechanism.aggregate(reports).count
        return Aggregate(count, power_sums(self.mechanism, reports, self.order))

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """Moments with the errors of the noise alone, estimated from moments up to 2K."""
        del users
        found = estimated_moments(self.mechanism, sums.sums, self.order)
        names = ["mean", *(f"moment {j}" for j in range(2, self.order + 1))]
        names += ["variance"] * (self.order >= 2)
        return Answer(tuple(names), *found, found[0])

    def truth(self, values: np.ndarray) -> Floats:
        """Moments of these values, and their variance."""
        x = np.asarray(values, dtype=np.float64)
        found = [float(np.mean(x**j)) for j in range(1, self.order + 1)]
        return np.array([*found, float(x.var())] if self.order >= 2 else found)


@dataclass(frozen=True)
class RangeShares(Question):
    """Shares of the users in ranges of whole numbers; without ranges, of every value."""

    mechanism: Hierarchy
    ranges: Ranges
    names: tuple[str, ...]
    simplex: bool

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """From the consistent tree; with ``simplex`` post-processed to probabilities."""
        del users
        found = self.mechanism.estimate(sums)
        each = [found.range(low, high) for low, high in self.ranges]
        values = np.array([one.value for one in each])
        errors = np.array([max(one.standard_error, _ROUNDING) for one in each])
        sampling = drawn(values, found.n)
        post = values
        if self.simplex:
            leaves = np.append(0.0, np.cumsum(project_to_simplex(found.frequencies())))
            post = np.array([leaves[high] - leaves[low] for low, high in self.ranges])
        fewest = min(
            count * part.support.other
            for count, part in zip(found.counts, self.mechanism.randomizers, strict=True)
        )
        return Answer(self.names, values, errors, sampling, post, fewest=fewest)

    def truth(self, values: np.ndarray) -> Floats:
        """Shares among these values."""
        x = np.asarray(values)
        return np.array([float(np.mean((x >= low) & (x < high))) for low, high in self.ranges])


@dataclass(frozen=True)
class OfRecord(Question):
    """The questions of all attributes of a record."""

    mechanism: Joint
    columns: tuple[str, ...]
    questions: tuple[Question, ...]

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """All attributes' numbers, one after the other."""
        parts = parts_of(sums, len(self.questions))
        found = [q.answer(part, users) for q, part in zip(self.questions, parts, strict=True)]
        names = tuple(name for one in found for name in one.names)
        about = tuple(
            column for column, one in zip(self.columns, found, strict=True) for _ in one.names
        )
        joined = [
            np.concatenate([getattr(one, key) for one in found])
            for key in ("estimates", "noise", "sampling", "post")
        ]
        fewest = min(one.fewest for one in found)
        return Answer(names, *joined, columns=about, law=Beside(tuple(found)), fewest=fewest)

    def truth(self, values: np.ndarray) -> Floats:
        """All attributes'."""
        each = enumerate(self.questions)
        return np.concatenate([q.truth(values[field(j)]) for j, q in each])


def question(mechanism: Any, column: Values | None, asked: Asked) -> Question:
    """What can be asked of a mechanism's reports about a column, or about nothing that is known.

    Raises
    ------
    ParameterError
        If something is asked for that these reports do not hold.
    """
    if column is not None and column.spelling is not None:
        raise ParameterError("alphabet: wanted no simulation, a prefix tree reads reports twice")
    hashed = isinstance(column, Column) and column.hashed
    _only_where_it_means_something(mechanism, asked, hashed=hashed)
    if isinstance(mechanism, Joint):
        return _of_record(mechanism, column, asked)
    items = column.items if isinstance(column, Column) else None
    if isinstance(mechanism, Hierarchy):
        return _ranges(mechanism, items, asked)
    if asked.moments:
        order = _check.count("moments", asked.moments, high=HIGHEST)
        noise_moments(mechanism, order)  # NotCertified where there is no known noise
        return Moments(mechanism, order)
    if size_of(mechanism) is None or mechanism.name in {"balcer-cheu", "balcer-et-al"}:
        if asked.simplex:
            raise ParameterError(
                "simplex: wanted a mechanism for frequencies, this one is for means"
            )
        return Mean(mechanism)
    if hashed:
        size = size_of(mechanism) or 1
        codes = tuple(int(code) for code in hash_of(asked.candidates, size))
        return Frequencies(mechanism, asked.candidates, codes, simplex=False)
    names = range(size_of(mechanism) or 0) if items is None else items
    return Frequencies(mechanism, tuple(str(name) for name in names), None, asked.simplex)


def found_in(mechanism: Any, spelling: Spelling, asked: Asked, batches: Batches) -> Answer:
    """The most frequent text, by a prefix tree, from all reports.

    The frequencies are unbiased for fixed items; these were chosen for being large.
    """
    if asked.ranges or asked.moments or asked.candidates or asked.simplex:
        raise ParameterError("alphabet: wanted nothing but top to be asked of a prefix tree")
    tree = PrefixTree.of(mechanism, bits=spelling.bits)
    found = tree.find(batches, top=asked.top or _TOP)
    sampling = drawn(found.frequencies, found.n)
    names = tuple(spelling.text(int(code)) for code in found.items)
    return Answer(names, found.frequencies, found.standard_errors, sampling, found.frequencies)


def _only_where_it_means_something(mechanism: Any, asked: Asked, *, hashed: bool) -> None:
    if asked.ranges and not isinstance(mechanism, Hierarchy):
        raise ParameterError(f"ranges: wanted the mechanism hierarchy, this is {mechanism.name}")
    if asked.moments and (size_of(mechanism) is not None or isinstance(mechanism, Joint)):
        raise ParameterError(f"moments: wanted one number and additive noise, not {mechanism.name}")
    if asked.candidates and not hashed:
        raise ParameterError("candidates: wanted a column with hashed = true; items are listed")
    if hashed and not asked.candidates:
        raise ParameterError("candidates are missing: wanted the text to count, items are hashed")
    if asked.simplex and hashed:
        raise ParameterError(
            "simplex: wanted a listed domain, candidates are a part of an open one"
        )


def _of_record(mechanism: Joint, column: Values | None, asked: Asked) -> OfRecord:
    parts = mechanism.randomizers
    each = column.columns if isinstance(column, Record) else (None,) * len(parts)
    kinds = [size_of(part) is not None for part in parts]
    if asked.simplex and not any(kinds):
        raise ParameterError("simplex: wanted a mechanism for frequencies, these are for means")
    found = [
        question(part, one, Asked(simplex=asked.simplex and items))
        for part, one, items in zip(parts, each, kinds, strict=True)
    ]
    names = (field(j) if one is None else one.name for j, one in enumerate(each))
    return OfRecord(mechanism, tuple(names), tuple(found))


def _ranges(mechanism: Hierarchy, items: Any, asked: Asked) -> RangeShares:
    if asked.ranges and items is not None:
        raise ParameterError("ranges: wanted a column of whole numbers 0 .. domain-1, not of items")
    if asked.ranges:
        ranges = tuple(_range(mechanism.domain, one) for one in asked.ranges)
        names = tuple(f"[{low}, {high})" for low, high in ranges)
        return RangeShares(mechanism, ranges, names, asked.simplex)
    if mechanism.domain > _MOST_ROWS:
        raise ParameterError(
            f"ranges are missing: wanted some, the domain has {mechanism.domain:,} values"
        )
    ranges = tuple((i, i + 1) for i in range(mechanism.domain))
    names = tuple(str(i) for i in (range(mechanism.domain) if items is None else items))
    return RangeShares(mechanism, ranges, names, asked.simplex)


def _range(domain: int, given: Sequence[int]) -> tuple[int, int]:
    if len(given) != 2 or not 0 <= given[0] < given[1] <= domain:
        raise rejected("ranges", list(given), f"[low, high] with 0 <= low < high <= {domain}")
    return int(given[0]), int(given[1])


def estimated(mechanism: Any, sums: Aggregate, users: int) -> Any:
    """The mechanism's estimate; a protocol has to be told how many users there are."""
    if isinstance(mechanism, MultiMessage):
        return mechanism.estimate(sums, n=users)
    if isinstance(mechanism, Randomizer):
        return mechanism.estimate(sums)
    raise NotCertified(f"{mechanism}: wanted a mechanism")
