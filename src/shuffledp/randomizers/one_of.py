"""Reports of one of several mechanisms, drawn with public weights, or of none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.outputs import Law
from shuffledp.ball.record import Masses, Others, WorstPairs
from shuffledp.errors import NotCertified, rejected
from shuffledp.mechanism.parameters import converted, positive
from shuffledp.neighbours import Relation
from shuffledp.randomizers import composed
from shuffledp.randomizers.base import Randomizer, Reports
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.composed import PartsRandomizer
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.randomizers.joint import (
    is_settled,
    labels_side_by_side,
    one_of_law,
    options_of_labels,
    with_absent,
)
from shuffledp.randomizers.values import RefusedRows
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import (
    Aggregate,
    AnyEstimate,
    FrequencyEstimate,
    MeanEstimate,
    PartsAggregate,
    PartsEstimate,
    joined,
    parts_of,
)
from shuffledp.theorems import PART_TRIPLES


def sampled_estimate(part: Randomizer, sums: Aggregate, *, n: int, rate: float) -> AnyEstimate:
    """Horvitz and Thompson's estimator: the sum over those drawn, divided by n times the rate.

    For an item of frequency f whose estimator has per-user variance v(f) it is unbiased with the
    variance [v(f) + (1 - rate) f]/(rate n): sum over users of (v + x^2)/rate - x^2, x being 0 or 1.
    For a mean it is taken about the middle of the range, whence at most
    [v + (1 - rate) r^2]/(rate n), r half the range.

    Raises
    ------
    ParameterError
        If there are no reports at all, or none that can be estimated from.
    """
    if not n >= 1:
        raise rejected("reports", n, "at least one report")
    if sums.count == 0:
        return _nobody(part, n, rate)
    return _scaled(part, part.estimate(sums), n=n, drawn=sums.count, rate=rate)


def _scaled(
    part: Randomizer, found: AnyEstimate, *, n: int, drawn: int, rate: float
) -> AnyEstimate:
    share = drawn / n / rate
    if isinstance(found, PartsEstimate):
        if part.shares is not None:
            raise _unknown(part)
        parts = (
            _scaled(r, e, n=n, drawn=drawn, rate=rate)
            for r, e in zip(part.made_of, found.parts, strict=True)
        )
        return PartsEstimate(tuple(parts), n)
    if isinstance(found, FrequencyEstimate):
        frequencies = found.frequencies * share
        f = np.clip(frequencies, 0.0, 1.0)
        noise = _variances(part, f)
        return FrequencyEstimate(frequencies, np.sqrt((noise + (1.0 - rate) * f) / rate / n), n)
    middle, reach = _range(part)
    mean = middle + (found.mean - middle) * share
    noise = np.square(found.standard_error) * drawn
    error = np.sqrt((noise + (1.0 - rate) * reach**2) / rate / n)
    if np.ndim(mean) == 0:
        return MeanEstimate(float(mean), float(error), n)
    return MeanEstimate(mean, error, n)


def sampled_variance(part: Randomizer, frequency: float, *, rate: float) -> float:
    """Per-user variance of ``sampled_estimate``; for means the bound stated there."""
    if part.made_of and part.shares is None:
        # Every report has all parts: as for one part, the largest of theirs.
        return max(sampled_variance(r, frequency, rate=rate) for r in part.made_of)
    noise = part.variance(frequency)
    if isinstance(part, FrequencyRandomizer | Channel):
        return (noise + (1.0 - rate) * frequency) / rate
    return (noise + (1.0 - rate) * _range(part)[1] ** 2) / rate


def _variances(part: Randomizer, frequencies: np.ndarray) -> np.ndarray:
    """The variance is linear in the frequency."""
    none, full = part.variance(0.0), part.variance(1.0)
    return (1.0 - frequencies) * none + frequencies * full


def _nobody(part: Randomizer, n: int, rate: float) -> AnyEstimate:
    """Nobody was drawn: the sum is empty."""
    if not isinstance(part, FrequencyRandomizer):
        raise rejected("reports", 0, f"at least one report of {part.name}")
    zero = np.zeros(part.items)
    return FrequencyEstimate(zero, np.full(part.items, math.sqrt(part.variance() / rate / n)), n)


def _range(part: Randomizer) -> tuple[float, float]:
    """Middle and half length of the range of inputs."""
    low, high = getattr(part, "low", None), getattr(part, "high", None)
    if low is None or high is None:
        raise _unknown(part)
    return 0.5 * (low + high), 0.5 * (high - low)


def _unknown(part: Randomizer) -> NotCertified:
    return NotCertified(f"{part.name}: no estimator from some of the users is defined")


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
        """The same with parts without limits."""
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
        """Estimates of every attribute over ALL users: what the drawn ones say, by their share.

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


U = UNIT_ROUNDOFF


@dataclass(frozen=True, repr=False)
class PoissonSubsample(Mixture):
    """With probability ``rate`` the report of a mechanism, else the constant message "absent".

    R'_x = rate R_x + (1 - rate) [absent]: G has its old law with probability ``rate`` and is
    1 - e^eps otherwise; gamma' = rate gamma + 1 - rate. The local guarantee stays eps0. n counts
    all users, the absent ones included.

    Sending "absent" or sending nothing is the same to an analyst who knows n. What matters is the
    coin: it is the user's own, independent of the value, of the known rate, and nobody else sees
    how it fell. Only then does the victim's possible absence count, as it does here. Users who
    drop out for other reasons (no network, no consent, a value they would rather not send) are no
    part of the mechanism and hide nobody: leave them out of n, and if the analyst or the server
    can tell who took part, do not use this class at all but the plain mechanism with n the number
    of those who did.

    Reports are structured arrays with the fields choice (1 where there is a report) and part0.

    Parameters
    ----------
    randomizer : Randomizer
        What those run who take part; a table as ``to_dict`` makes it will do.
    rate : float
        Probability of taking part, 0 < rate <= 1. The mechanism meant has it rounded to the nearest
        multiple of 2^-64 (at least one), so that sampler and law agree exactly.

    Notes
    -----
    Su, Cheng, Wang 2025, Theorem 11, with a constant mechanism.
    """

    may_be_absent: ClassVar[bool] = True
    name: ClassVar[str] = "poisson-subsample"
    summary: ClassVar[str] = "a mechanism run with some probability, else an empty message"
    randomizer: Annotated[Randomizer, converted(composed.checked_part)]
    rate: Annotated[float, positive(high=1.0)] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_words", (max(round(self.rate * UNIT), 1),))

    @property
    def randomizers(self) -> tuple[Randomizer, ...]:  # type: ignore[override]
        """The one mechanism."""
        return (self.randomizer,)

    @property
    def eps0(self) -> float:
        """The mechanism's own: a report, where there is one, is not hidden by the coin."""
        return float(self.randomizer.eps0)

    def local_epsilon(self, delta: float) -> float:
        """The mechanism's own at delta/rate, where it makes sense."""
        larger = delta / float(self.shares[0]) * (1.0 - 4 * U)
        return float(self.randomizer.local_epsilon(larger)) if larger < 1.0 else 0.0

    def part_inputs(self, x: Any) -> tuple[Any, ...]:
        """The input itself."""
        return (x,)

    def worst_pairs(self) -> WorstPairs:
        """The mechanism's own: convex order of G passes to the mixture with a constant."""
        return composed.convex_pairs(self.randomizer)

    @property
    def alike(self) -> int:
        """As the mechanism's own."""
        return self.randomizer.alike

    def others(self) -> Others | None:
        """The mechanism's own, but those of noise: a constant output passes through all of them."""
        found = self.randomizer.others()
        if found is None or found.how in {"shifts", "span"}:
            return None
        made = found.labels
        if made is None:
            return found
        (share,) = self.shares
        return found._replace(labels=lambda: (with_absent(law, share) for law in made()))

    def options(self) -> composed.Options:
        """The mechanism's own."""
        return composed.options_of(self.randomizer)

    @property
    def relation(self) -> Relation:
        """The mechanism's own, whose inputs these are."""
        return self.randomizer.relation

    def unrestricted(self) -> PoissonSubsample:
        """The same with the mechanism without limits."""
        return PoissonSubsample(self.randomizer.unrestricted(), rate=self.rate)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """The mechanism's own."""
        return self.randomizer.datasets()

    # ------------------------------------------------------------------------- running it

    @property
    def message_bits(self) -> float:
        """log2(1 + 2^bits): one message more."""
        bits = self.randomizer.message_bits
        return bits + math.log2(1.0 + 2.0**-bits)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return self.randomizer._checked(values)  # noqa: SLF001

    def _columns(self, values: np.ndarray) -> list[np.ndarray]:
        return [values]

    def estimate(self, data: Reports | Aggregate) -> AnyEstimate:  # type: ignore[override]
        """Over ALL users: what those who took part say, divided by the rate; unbiased."""
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        (part,), (share,) = parts_of(sums, 1), self.shares
        return sampled_estimate(self.randomizer, part, n=sums.count, rate=float(share))
