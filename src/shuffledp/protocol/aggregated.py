"""Sums instead of reports: what an aggregator hands over, with its noise, and what it tells.

Of one coordinate the analyst gets W = S + Z, S the number of reports with a 1 there and Z the
aggregator's noise (0 if it adds none). Nothing else of the reports reaches an estimate: sums of
squares, which ``Aggregate`` has for means, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified, ParameterError
from shuffledp.protocol.answers import Answer
from shuffledp.protocol.questions import Frequencies, Mean, Question, largest_scatter
from shuffledp.randomizers import Channel, Duchi, Gaussian
from shuffledp.randomizers.encodings import OUE, RAPPOR
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.integer_laws import (
    IntegerCells,
    gaussian_noise,
    laplace_noise,
    whole_sums,
)
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Counts
from shuffledp.statistics.estimates import Aggregate, Law
from shuffledp.statistics.messages import IntegerNoise, Step
from shuffledp.views.noise import AddedNoise
from shuffledp.views.sums import Sums

Floats = npt.NDArray[np.floating[Any]]


def draw(noise: AddedNoise, size: int, source: RandomSource) -> npt.NDArray[np.int64]:
    """Integers with the noise's law, drawn with exactly its probabilities.

    Parameters
    ----------
    noise : AddedNoise
        Which law.
    size : int
        How many, independent of each other.
    source : RandomSource
        The operating system's for privacy.
    """
    make = gaussian_noise if noise.kind == "discrete-gaussian" else laplace_noise
    return whole_sums(IntegerCells(partial(make, noise.scale)), np.zeros(size), source)


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
        support_of(view.mechanism)
    known = isinstance(wanted, Frequencies) and wanted.codes is None
    if not (known or isinstance(wanted, Mean)):
        raise ParameterError(
            'view = "sums": wanted shares of listed items or a mean to be asked, which sums tell'
        )
    return Aggregated(wanted, view)


def support_of(mechanism: Any) -> Support:
    """How counts tell of items; one law for all of them.

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
        return mechanism.support
    rows = mechanism.probabilities
    if rows.shape != (2, 2) or rows[0, 0] != rows[1, 1] or not rows[0, 0] > rows[1, 0]:
        raise NotCertified(
            f"{mechanism.name}: wanted two inputs and two outputs, each likelier under its own "
            "input and alike, to run with noise on its sums"
        )
    own, other = float(rows[0, 0]), float(rows[1, 0])
    return Support(own, float(rows[0, 1]), other, float(rows[1, 1]), own - other)


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

    @property
    def mechanism(self) -> Any:  # type: ignore[override]
        """Whose reports are added up."""
        return self.view.mechanism

    def released(self, sums: Aggregate, source: RandomSource) -> Aggregate:
        """The sums that leave the aggregator: with its noise, and no others."""
        mechanism, counts, n = self.mechanism, sums.sums, sums.count
        if isinstance(mechanism, RAPPOR | OUE):
            return replace(sums, sums=counts + self._noise(counts.size, source))
        z = float(self._noise(1, source)[0])
        if isinstance(mechanism, Duchi):
            # A sum of unbiased values middle +- half C, from the noisy number of ones.
            step, middle = mechanism.half * mechanism.scale, n * mechanism.middle
            ones = round(0.5 * n + 0.5 * (float(counts[0]) - middle) / step) + z
            return replace(sums, sums=np.array([middle + step * (2.0 * ones - n), 0.0]))
        if counts.shape != (2,) or counts.sum() != n:
            msg = f"{mechanism.name}: wanted one count for each of two items, to add noise to"
            raise NotCertified(msg)
        # Reports of one bit have one sum: the number of zeros is what is left of n.
        return replace(sums, sums=counts + np.array([-z, z]))

    def answer(self, sums: Aggregate, users: int) -> Answer:
        """From released sums: errors of reports and noise; limits of shares by both laws."""
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

    def _noise(self, size: int, source: RandomSource) -> Floats:
        added = self.view.added
        if added is None:
            return np.zeros(size)
        return draw(added, size, source).astype(np.float64)

    def _more(self, n: int) -> float:
        """Variance that the aggregator's noise adds to an estimate."""
        added, mechanism = self.view.added, self.view.mechanism
        if added is None:
            return 0.0
        if isinstance(mechanism, Duchi):
            # The mean moves by 2 half C/n with the number of ones.
            factor = 2.0 * mechanism.half * mechanism.scale
        else:
            factor = 1.0 / support_of(mechanism).gap
        return law_of(added).variance * (factor / n) ** 2

    def _law(self, sums: Aggregate, found: Answer) -> Law | None:
        added, mechanism, n = self.view.added, self.view.mechanism, sums.count
        if added is None:
            return found.law
        if isinstance(mechanism, Duchi):
            return None  # bits of different probabilities: normal intervals
        rates = support_of(mechanism)
        own, other = Step(rates.own, rates.own_miss), Step(rates.other, rates.other_miss)
        ones = np.ones(sums.sums.size)
        return Counts(sums.sums, n * ones, n, own, other, ((ones, law_of(added)),))


def law_of(added: AddedNoise) -> IntegerNoise:
    """The law of the noise that an aggregator adds to one sum."""
    return IntegerNoise(added.kind, added.scale)
