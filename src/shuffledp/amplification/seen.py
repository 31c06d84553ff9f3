"""Base class of the views (all messages, sums, groups): what each certifies if one user changes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from shuffledp.bound import Bound, Theorem
from shuffledp.errors import NotCertified
from shuffledp.neighbours import Relation
from shuffledp.rounds import Composed, Round, compose

Quantity = Literal["epsilon", "delta"]
View = TypeVar("View", bound="Seen")


class Seen(ABC):
    """The analyst's view of n users' reports over all rounds; frozen dataclasses derive from it."""

    n: int
    rounds: int

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """What one user may change."""

    @property
    @abstractmethod
    def guarantee(self) -> float:
        """Pure local guarantee in nats of one user's reports in all rounds; inf if none."""

    @abstractmethod
    def bound(self, quantity: Quantity, value: float) -> Bound:
        """Certified lower and upper end if one user changes.

        Parameters
        ----------
        quantity : {"epsilon", "delta"}
            What is bounded.
        value : float
            The value held fixed: delta for "epsilon", eps (nats) for "delta"; in its domain.
        """

    @abstractmethod
    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """Function from eps >= 0 (nats) to the upper end of log delta, one user changed.

        Parameters
        ----------
        log_target : float
            log of the smallest delta of interest: curves are computed down to it.
        """

    @abstractmethod
    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """The theorem behind ``log_uppers`` at this eps, given a bound of this view."""

    def upper_epsilon(self, delta: float) -> float:
        """The upper end of eps in nats, one user changed."""
        return self.bound("epsilon", delta).upper

    def words(self, one: Bound) -> tuple[str, ...]:
        """The assumptions of any end of this view, given one of its bounds."""
        return one.assumptions

    def several_rtol(self, changed: int) -> float:
        """Relative width of eps to aim at where ``changed`` users change."""
        del changed
        return 1e-3

    def lower_log_delta(self, changed: int, epsilon: float) -> tuple[float, dict[str, Any]]:
        """Lower end of log delta if ``changed`` users change, and its data sets; -inf if none."""
        del changed, epsilon
        return -math.inf, {}

    def lower_epsilon(
        self, changed: int, log_delta: float, *, above: float, cap: float
    ) -> tuple[float, dict[str, Any]] | None:
        """Lower end of eps between ``above`` and ``cap``, and its data sets; None if none."""
        del changed, log_delta, above, cap
        return None

    def together(self, changed: int) -> Seen | None:
        """An exact view in which one user stands for ``changed`` users, or None."""
        del changed

    def among(self: View, n: int) -> View:  # noqa: PYI019 (Self is Python 3.11)
        """The same view with another number of users."""
        return replace(self, n=n)  # type: ignore[type-var] (all views are dataclasses)

    def again(self: View, rounds: int) -> View:  # noqa: PYI019 (Self is Python 3.11)
        """The same view over this number of rounds."""
        return replace(self, rounds=rounds)  # type: ignore[type-var]

    def as_round(self) -> Round:
        """One round, to be composed with others."""
        raise NotCertified("compose: wanted messages, of sums shuffle(view='sums', rounds=...)")

    def composed(self, rtol: float | None = None) -> Composed:
        """All rounds composed: Renyi divergence, trade-off curve and the like are its methods."""
        return compose([self.as_round()], rounds=self.rounds, rtol=rtol)
