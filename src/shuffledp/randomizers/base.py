"""Randomizer: what every local randomizer has to say of itself, and their registry by name."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.noises import check_inputs
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.line import Line
from shuffledp.bounds.local import log_local_delta
from shuffledp.errors import NotCertified
from shuffledp.mechanism.base import (
    Mechanism,
    mechanism_names,
)
from shuffledp.neighbours import REPLACEMENT
from shuffledp.search import least_epsilon
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate, MeanEstimate

Input = Any
Reports = np.ndarray
# Relative distance of a local eps from the least one, and the largest that is looked for.
_NEAR, _LARGEST = 1e-12, 1e9


class Randomizer(Mechanism):
    """A local randomizer R: input -> law of the output; one report a user.

    Attributes
    ----------
    eps0 : float
        Pure local guarantee of any two values, neighbours or not, in nats; inf where there is none.
    """

    noun: ClassVar[str] = "randomizer"

    @abstractmethod
    def datasets(self) -> tuple[tuple[Input, Input, Input], ...]:
        """Triples (x0, x1, x2) worth trying for a lower bound: victim x0 or x1, all others x2.

        Both directions are always tried; any triple gives a valid lower bound.
        """

    def line(self, inputs: Sequence[Input]) -> Line | None:
        """Noise on a line between two inputs, at the working precision; None of other mechanisms.

        Parameters
        ----------
        inputs : sequence
            The victim's two values, and the others' value where that is the reference: else it is
            the blanket.
        """
        noise = self.added_noise()
        if noise is None:
            return None
        x0, x1, *others = check_inputs(noise, inputs)
        return Line(noise, x0, x1, others[0] if others else None)

    def cells(self, inputs: Sequence[Input]) -> Cells | None:
        """Cells of a continuous output that is not noise on a line; None of other mechanisms.

        Parameters
        ----------
        inputs : sequence
            As for ``line``.
        """
        del inputs

    def unrestricted(self) -> Randomizer:
        """The same mechanism where any value may be replaced by any other: what clones need."""
        if self.relation != REPLACEMENT:
            msg = f"{self.name}: nothing is known of it for neighbours of other relations"
            raise NotCertified(msg)
        return self

    def assumptions(self) -> tuple[str, ...]:
        """What its bounds take for granted beside the protocol, in words; its parts' as well."""
        return tuple(dict.fromkeys(words for part in self.made_of for words in part.assumptions()))

    @abstractmethod
    def aggregate(self, reports: Reports) -> Aggregate:
        """Sums over reports, all that ``estimate`` needs; aggregates of batches add up.

        Raises
        ------
        ParameterError
            If a report is outside the message space.
        """

    @abstractmethod
    def estimate(self, data: Reports | Aggregate) -> FrequencyEstimate | MeanEstimate:
        """Unbiased estimate with standard errors, from reports or from their aggregate."""

    # -----------------------------------------------------------------------------------

    def local_epsilon(self, delta: float) -> float:
        """Upper bound of eps at this delta for one report alone, in nats (inf if unknown).

        ``eps0``, or without one the least eps of the worst pairs. For neighbours by ``relation``;
        ``eps0`` is for any two values.
        """
        eps0 = float(self.eps0)
        return eps0 if math.isfinite(eps0) else _worst_epsilon(self, delta)

    def local_renyi(self, order: float) -> float:
        """Upper bound of the Renyi divergence of one report alone, in nats (inf if unknown).

        For neighbours by ``relation``; no pure guarantee is needed.

        Parameters
        ----------
        order : float
            A > 1.
        """
        least = min(float(self.eps0), order * self.local_rho)
        return math.nextafter(least * (1.0 + 8 * UNIT_ROUNDOFF), math.inf) if least else 0.0

    @property
    def local_rho(self) -> float:
        """rho with ``local_renyi(A)`` <= rho A for every A > 1 (zCDP); inf if unknown.

        eps0^2/2 for a pure guarantee (Bun, Steinke 2016, Proposition 1.4).
        """
        return pure_rho(float(self.eps0))


@lru_cache(maxsize=4096)
def _worst_epsilon(randomizer: Randomizer, delta: float) -> float:
    """The least eps at which every worst pair has at most this delta; inf where it is not known."""
    try:
        pairs = randomizer.worst_pairs().pairs
        return epsilon_at(
            lambda eps: max(log_local_delta(randomizer, x0, x1, eps).high for x0, x1 in pairs),
            delta,
        )
    except NotCertified:
        return math.inf


def epsilon_at(log_upper: Callable[[float], float], delta: float) -> float:
    """The least eps at which a certified upper end is at most delta, rounded up by 1e-12 of it.

    Parameters
    ----------
    log_upper : callable
        eps in nats -> certified upper end of log delta.
    delta : float
        The target, above 0.
    """
    target = math.log(delta)
    target -= 4.0 * math.ulp(target)
    if log_upper(0.0) <= target:
        return 0.0
    found = least_epsilon(log_upper, target, start=1.0, cap=_LARGEST, rtol=_NEAR)
    return math.inf if found is None else found.value


def randomizer_names() -> tuple[str, ...]:
    """Names of all registered randomizers, sorted."""
    return mechanism_names(Randomizer)


def pure_rho(eps0: float) -> float:
    """rho = eps0^2/2 (Bun, Steinke 2016, Proposition 1.4), rounded up: 0 for eps0 = 0 alone."""
    if eps0 == 0.0:
        return 0.0
    # The next float, because a square below the normal floats has no relative rounding.
    return math.nextafter(0.5 * eps0 * eps0 * (1.0 + 8 * UNIT_ROUNDOFF), math.inf)
