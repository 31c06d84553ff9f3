"""What an analyst sees of users' reports: what every such view certifies where one user changes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

from shuffledp.bound import Bound, Theorem
from shuffledp.errors import NotCertified
from shuffledp.neighbours.one_user import Relation
from shuffledp.rounds import Composed, Round, compose

Quantity = Literal["epsilon", "delta"]


class Seen(ABC):
    """A view of the reports of n users, in some rounds; frozen dataclasses derive from it."""

    n: int
    rounds: int

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """What one user may change."""

    @property
    @abstractmethod
    def guarantee(self) -> float:
        """Pure guarantee in nats of what one user changes in all rounds; inf if there is none."""

    @abstractmethod
    def bound(self, quantity: Quantity, value: float, *, recomputed: bool = False) -> Bound:
        """Both ends, one user changed.

        Parameters
        ----------
        quantity : {"epsilon", "delta"}
            What is bounded.
        value : float
            What is held fixed: delta for "epsilon", eps for "delta"; in its domain.
        recomputed : bool
            As a certificate has it: from values that ``shuffledp verify`` recomputes.
        """

    @abstractmethod
    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end at any eps >= 0, one user changed.

        Parameters
        ----------
        log_target : float
            log of the smallest delta that is looked for: curves are followed as far as that takes.
        """

    @abstractmethod
    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """What ``log_uppers`` rests on at this eps, given a bound of this view."""

    def upper_epsilon(self, delta: float) -> float:
        """The upper end of eps, one user changed."""
        return self.bound("epsilon", delta).upper

    def words(self, one: Bound) -> tuple[str, ...]:
        """What any of its ends takes for granted, given one of its bounds."""
        return one.assumptions

    def several_rtol(self, changed: int) -> float:
        """Relative width of eps that is worth the time where several users change."""
        del changed
        return 1e-3

    def lower_log_delta(self, changed: int, epsilon: float) -> tuple[float, dict[str, Any]]:
        """log of a lower end of delta where so many users change, and the data sets; or -inf."""
        del changed, epsilon
        return -math.inf, {}

    def lower_epsilon(
        self, changed: int, log_delta: float, *, above: float, cap: float
    ) -> tuple[float, dict[str, Any]] | None:
        """The same of eps, between two values; None where no lower end is above the first."""
        del changed, log_delta, above, cap
        return None

    def together(self, changed: int) -> Seen | None:
        """A view in which one user is as many, where there is one: it is exact."""
        del changed

    @abstractmethod
    def among(self, n: int) -> Seen:
        """The same of another number of users."""

    @abstractmethod
    def again(self, rounds: int) -> Seen:
        """The same in so many rounds."""

    def as_round(self, *, sharper: bool = True) -> Round:
        """One round of it, to be composed with others; ``sharper``: by label stealing too."""
        del sharper
        raise NotCertified("compose: wanted messages, of sums shuffle(view='sums', rounds=...)")

    def composed(self, rtol: float | None = None) -> Composed:
        """All its rounds: Renyi divergence, trade-off and the like are methods of it."""
        return compose([self.as_round()], rounds=self.rounds, rtol=rtol)
