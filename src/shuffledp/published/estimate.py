"""Estimate: a number without a certificate, and how a published formula gives one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shuffledp.bound import Theorem
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Source
from shuffledp.values.described import ByContent

NOT_CERTIFIED = "not certified: an estimate, which may be on either side of the true value"
# Halvings of a bracket of eps.
_HALVINGS = 60
# The largest eps in nats that is looked at where there is no local guarantee.
_LARGEST_EPSILON = 300.0
# Where a formula is looked for first, as shares of the local guarantee: some hold only below it.
_BELOW = (1.0, 1.0 - 1e-9, 1.0 - 1e-3, 0.99, 0.9, 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(ByContent):
    """A number that is not certified; never an end of a ``Bound``.

    Attributes
    ----------
    quantity : str
        What is estimated: "epsilon" or "shuffle index".
    value : float
        The number.
    what : str
        What was computed, in a few words.
    source : str
        Paper and formula.
    at : mapping
        What was held fixed.
    warning : str
        Why it is not certified.
    """

    quantity: str
    value: float
    what: str
    source: str
    at: Mapping[str, float] = field(default_factory=dict)
    warning: str = NOT_CERTIFIED

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, with "certified": false in it. An infinite number becomes null."""
        return {
            "certified": False,
            "quantity": self.quantity,
            "value": self.value if math.isfinite(self.value) else None,
            "at": dict(self.at),
            "what": self.what,
            "source": self.source,
            "warning": self.warning,
        }

    def __str__(self) -> str:
        fixed = ", ".join(f"{name} = {value:g}" for name, value in self.at.items())
        at = f"   at {fixed}" if fixed else ""
        return (
            f"{self.quantity} is about {self.value:.6g}{at}\n"
            f"  {self.what} ({self.source})\n  {self.warning}"
        )


@dataclass(frozen=True)
class Formula:
    """A published formula; its numbers are estimates.

    Attributes
    ----------
    theorem : Theorem
        Key, title and source.
    validity : str
        What it applies to.
    epsilon : callable
        eps of a source, n and delta. NotCertified where it does not apply.
    warning : callable
        Why the number of a source is not certified.
    """

    theorem: Theorem
    validity: str
    epsilon: Callable[[Source, int, float], float] = field(repr=False)
    warning: Callable[[Source], str] = field(repr=False)
    end: Literal["estimate"] = field(default="estimate", init=False)

    @property
    def key(self) -> str:
        """What ``analysis="..."`` takes."""
        return self.theorem.key

    def estimate(self, source: Source, *, n: int, delta: float, cap: float) -> Estimate:
        """eps at this delta; NotCertified outside the formula's domain.

        ``cap`` is eps by the local guarantee: no estimate is above it.
        """
        found = min(self.epsilon(source, n, delta), cap)
        title, paper = self.theorem.title, self.theorem.source
        at = {"delta": delta, "n": n}
        return Estimate("epsilon", found, title, paper, at=at, warning=self.warning(source))


def epsilon_of(log_delta_at: Callable[[float], float], delta: float, cap: float) -> float:
    """The least eps up to ``cap`` at which a formula for log delta meets delta, by halving."""

    def holds(epsilon: float) -> bool:
        try:
            return log_delta_at(epsilon) <= math.log(delta)
        except NotCertified:  # outside the formula's domain
            return False

    most = min(cap, _LARGEST_EPSILON)
    good = next((most * share for share in _BELOW if holds(most * share)), None)
    if good is None:
        raise NotCertified(f"delta = {delta!r}: reached at no eps below the local guarantee")
    while good > 1e-15 and holds(0.25 * good):
        good *= 0.25
    bad = 0.25 * good
    for _ in range(_HALVINGS):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
