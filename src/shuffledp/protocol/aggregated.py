"""Sums instead of reports: what an aggregator hands over, with its noise, and what it tells.

Of one coordinate the analyst gets W = S + Z, S the number of reports with a 1 there and Z the
aggregator's noise (0 if it adds none). Nothing else of the reports reaches an estimate: sums of
squares, which ``Aggregate`` has for means, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified, ParameterError
from shuffledp.protocol.answers import Answer
from shuffledp.protocol.noisy_counts import AroundNoise, EachItem, NoisyCounts, variance_of
from shuffledp.protocol.questions import Frequencies, Mean, Question, largest_scatter
from shuffledp.randomizers import Channel, Duchi, Gaussian
from shuffledp.randomizers.chances import quotient
from shuffledp.randomizers.exact import discrete_gaussian, geometric
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.unary import OUE, RAPPOR
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import Aggregate, Law
from shuffledp.views import AddedNoise, Sums

__all__ = ["Aggregated", "aggregated", "draw"]

Floats = npt.NDArray[np.floating[Any]]


def draw(noise: AddedNoise, size: int, source: RandomSource) -> npt.NDArray[np.int64]:
    """Integers with the noise's law, drawn from exact probabilities (to 2^-1280).

    Parameters
    ----------
    noise : AddedNoise
        Which law.
    size : int
        How many, independent of each other.
    source : RandomSource
        The operating system's for privacy.
    """
    if noise.kind == "discrete-gaussian":
        return discrete_gaussian(noise.scale, size, source)
    rate = quotient(1, Decimal(noise.scale))
    # A difference of two geometric numbers: P(z) proportional to e^(-|z|/scale).
    return geometric(rate, size, source) - geometric(rate, size, source)


def aggregated(wanted: Question, view: Sums) -> Aggregated:
    """The same question of sums.

    Parameters
    ----------
    wanted : Question
        Shares of listed items, or a mean.
    view : Sums
        What the analyst sees.

    Raises
    ------
    ParameterError
        If what is asked is no function of the sums, or if reports are added up that were rounded:
        the sum of rounded numbers is no function of the sum that is accounted for.
    """
    if isinstance(view.mechanism, Gaussian):
        raise ParameterError(
            'view = "sums": gaussian: wanted reports of bits to run; a sum of numbers that were '
            "rounded one by one is not the sum that is accounted for"
        )
    if view.added is not None and not isinstance(view.mechanism, Duchi):
        supports(view.mechanism)
    known = isinstance(wanted, Frequencies) and wanted.codes is None
    if not (known or isinstance(wanted, Mean)):
        raise ParameterError(
            'view = "sums": wanted shares of listed items or a mean to be asked, which sums tell'
        )
    return Aggregated(wanted, view)


def supports(mechanism: Any) -> tuple[Support, ...]:
    """How counts tell of items: one law for all of them, or for a channel of two bits one for each.

    Parameters
    ----------
    mechanism : Randomizer
        Of bits.

    Raises
    ------
    NotCertified
        If its counts have no such law.
    """
    if not isinstance(mechanism, Channel):
        return (mechanism.support,)
    rows = mechanism.probabilities
    if rows.shape != (2, 2) or rows[0, 0] == rows[1, 0]:
        msg = f"{mechanism.name}: wanted two inputs and two outputs, to run with noise on its sums"
        raise NotCertified(msg)
    order = (0, 1) if _straight(mechanism) else (1, 0)
    found = []
    for item, output in enumerate(order):
        own, other = float(rows[item, output]), float(rows[1 - item, output])
        misses = float(rows[item, 1 - output]), float(rows[1 - item, 1 - output])
        found.append(Support(own, misses[0], other, misses[1], own - other))
    return tuple(found)


def _straight(mechanism: Any) -> bool:
    """Whether output 1 is the one that input 1 favours."""
    return bool(mechanism.probabilities[1, 1] > mechanism.probabilities[0, 1])


@dataclass(frozen=True)
class Aggregated(Question):
    """A question that is answered from sums with noise on them.

    Attributes
    ----------
    wanted : Question
        What is asked.
    view : Sums
        What is added up, and the aggregator's noise.
    """

    wanted: Question
    view: Sums

    def released(self, sums: Aggregate, source: RandomSource) -> Aggregate:
        """The sums that leave the aggregator: with its noise, and no others."""
        mechanism = self.view.mechanism
        if isinstance(mechanism, RAPPOR | OUE):
            return replace(sums, sums=sums.sums + self._noise(sums.sums.size, source))
        if isinstance(mechanism, Duchi):
            return self._of_ones(mechanism, sums, source)
        return self._of_two(sums, source)

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """From released sums: errors are those of reports and noise, intervals of both laws."""
        found = self.wanted.answer(sums, users)
        if isinstance(self.wanted, Mean):
            scatter = largest_scatter(found.estimates, self.view.mechanism)
            found = replace(found, sampling=np.sqrt(scatter / sums.count))
        if self.view.added is None:
            return found
        errors = np.sqrt(np.square(found.noise) + self._more(sums.count))
        return replace(found, noise=errors, law=self._law(sums, found))

    def truth(self, values: np.ndarray) -> Floats:
        """What the estimates aim at."""
        return self.wanted.truth(values)

    def variances(self, values: np.ndarray) -> Floats:
        """Of reports and noise."""
        return self.wanted.variances(values) + self._more(len(values))

    # ------------------------------------------------------------------------------- the noise

    def _noise(self, size: int, source: RandomSource) -> Floats:
        added = self.view.added
        if added is None:
            return np.zeros(size)
        return draw(added, size, source).astype(np.float64)

    def _of_ones(self, mechanism: Duchi, sums: Aggregate, source: RandomSource) -> Aggregate:
        """A sum of unbiased values middle +- half C, from the noisy number of ones."""
        step, n = mechanism.half * mechanism.scale, sums.count
        ones = round(0.5 * n + 0.5 * (float(sums.sums[0]) - n * mechanism.middle) / step)
        noisy = ones + float(self._noise(1, source)[0])
        first = n * mechanism.middle + step * (2.0 * noisy - n)
        return replace(sums, sums=np.array([first, 0.0]))

    def _of_two(self, sums: Aggregate, source: RandomSource) -> Aggregate:
        """Reports of one bit: one sum, the number of zeros is what is left of n."""
        counts = sums.sums
        if counts.shape != (2,) or counts.sum() != sums.count:
            name = self.view.mechanism.name
            raise NotCertified(f"{name}: wanted one count for each of two items, to add noise to")
        z = float(self._noise(1, source)[0])
        return replace(sums, sums=counts + np.array([-z, z]))

    def _more(self, n: int) -> float:
        """Variance that the aggregator's noise adds to an estimate."""
        added, mechanism = self.view.added, self.view.mechanism
        if added is None:
            return 0.0
        if isinstance(mechanism, Duchi):
            # The mean moves by 2 half C/n with the number of ones.
            factor = 2.0 * mechanism.half * mechanism.scale
        else:
            factor = 1.0 / supports(mechanism)[0].gap
        return variance_of(added) * (factor / n) ** 2

    def _law(self, sums: Aggregate, found: Answer) -> Law | None:
        added, mechanism = self.view.added, self.view.mechanism
        if added is None:
            return found.law
        if isinstance(mechanism, Duchi):
            return AroundNoise(found.law, added, sums.count)  # type: ignore[arg-type]
        each = supports(mechanism)
        if len(each) == 1:
            return NoisyCounts(sums.sums, sums.count, each[0], added)
        # Of each item the count of the output that it favours.
        places = (0, 1) if _straight(mechanism) else (1, 0)
        laws = [
            NoisyCounts(sums.sums[[place]], sums.count, one, added)
            for place, one in zip(places, each, strict=True)
        ]
        return EachItem(tuple(laws))
