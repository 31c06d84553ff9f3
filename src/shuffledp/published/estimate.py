"""Estimate: a number without a certificate, and how a published formula becomes one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from shuffledp.bound import Theorem
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Source
from shuffledp.values.described import ByContent

NOT_CERTIFIED = "not certified: an estimate, which may be on either side of the true value"
# Halvings of a bracket of eps or of log delta.
_HALVINGS = 60
# The largest eps in nats that is looked at where there is no local guarantee, and the smallest log
# delta: beyond them are no deployments.
_LARGEST_EPSILON, _SMALLEST_LOG = 300.0, -690.0
# Where a formula is looked for first: some hold only below the local guarantee (shares of it), some
# only for small deltas.
_BELOW = (1.0, 1.0 - 1e-9, 1.0 - 1e-3, 0.99, 0.9, 0.5)
_DELTAS = (0.999, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, 1e-30)
# Below this natural logarithm exp() of a float underflows.
_UNDERFLOW = -745.0


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(ByContent):
    """A number that is not certified; never an end of a ``Bound``.

    Attributes
    ----------
    quantity : str
        What is estimated: "epsilon", "delta", "shuffle index", ...
    value : float
        The number (0 where it underflows; see ``log_value``).
    what : str
        What was computed, in a few words.
    source : str
        Paper and formula.
    at : mapping
        What was held fixed.
    warning : str
        Why it is not certified.
    log_value : float or None
        Natural logarithm of a delta.
    """

    quantity: str
    value: float
    what: str
    source: str
    at: Mapping[str, float] = field(default_factory=dict)
    warning: str = NOT_CERTIFIED
    log_value: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, with "certified": false in it. Infinite numbers become null."""

        def plain(x: float | None) -> float | None:
            return x if x is not None and math.isfinite(x) else None

        return {
            "certified": False,
            "quantity": self.quantity,
            "value": plain(self.value),
            "log_value": plain(self.log_value),
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


class Curve(NamedTuple):
    """A formula for one source and n: eps at a delta, log delta at an eps, and its warning."""

    epsilon_at: Callable[[float], float]
    log_delta_at: Callable[[float], float]
    warning: str = NOT_CERTIFIED


@dataclass(frozen=True)
class Formula:
    """A published formula; its numbers are estimates.

    Attributes
    ----------
    theorem : Theorem
        Key, title and source.
    validity : str
        What it applies to.
    curve : callable
        Of a source and n: the curve. NotCertified where it does not apply.
    """

    theorem: Theorem
    validity: str
    curve: Callable[[Source, int], Curve] = field(repr=False)
    end: Literal["estimate"] = field(default="estimate", init=False)

    @property
    def key(self) -> str:
        """What ``analysis="..."`` takes."""
        return self.theorem.key

    def estimate(
        self,
        source: Source,
        quantity: Literal["epsilon", "delta"],
        value: float,
        *,
        n: int,
        cap: float,
    ) -> Estimate:
        """eps at delta = ``value``, or delta at eps = ``value``; NotCertified outside its domain.

        ``cap`` is eps by the local guarantee: no estimate of eps is above it.
        """
        curve, title, paper = self.curve(source, n), self.theorem.title, self.theorem.source
        if quantity == "epsilon":
            found, at = min(curve.epsilon_at(value), cap), {"delta": value, "n": n}
            return Estimate("epsilon", found, title, paper, at=at, warning=curve.warning)
        at = {"epsilon": value, "n": n}
        log = -math.inf if value >= source.eps0 else min(curve.log_delta_at(value), 0.0)
        shown = math.exp(log) if log > _UNDERFLOW else 0.0
        return Estimate("delta", shown, title, paper, at=at, warning=curve.warning, log_value=log)


def of_epsilon(epsilon_at: Callable[[float], float], warning: str = NOT_CERTIFIED) -> Curve:
    """The curve of a formula for eps at a delta; the smallest delta for an eps by halving."""

    def log_delta_at(epsilon: float) -> float:
        def holds(log_delta: float) -> bool:
            return _finds(lambda: epsilon_at(math.exp(log_delta)) <= epsilon)

        good = next((math.log(d) for d in _DELTAS if holds(math.log(d))), None)
        if good is None:
            raise NotCertified(f"epsilon = {epsilon!r}: this formula gives no delta below 1 here")
        return _halved(holds, good, _SMALLEST_LOG)

    return Curve(epsilon_at, log_delta_at, warning)


def of_log_delta(
    log_delta_at: Callable[[float], float], cap: float, warning: str = NOT_CERTIFIED
) -> Curve:
    """The curve of a formula for log delta at an eps; the smallest eps up to ``cap`` by halving."""

    def epsilon_at(delta: float) -> float:
        def holds(epsilon: float) -> bool:
            return _finds(lambda: log_delta_at(epsilon) <= math.log(delta))

        most = min(cap, _LARGEST_EPSILON)
        good = next((most * share for share in _BELOW if holds(most * share)), None)
        if good is None:
            msg = f"delta = {delta!r}: reached at no eps below the local guarantee"
            raise NotCertified(msg)
        while good > 1e-15 and holds(0.25 * good):
            good *= 0.25
        return _halved(holds, good, 0.25 * good)

    return Curve(epsilon_at, log_delta_at, warning)


def _halved(holds: Callable[[float], bool], good: float, bad: float) -> float:
    """The last point found at which it holds, between one where it does and a bad one."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def _finds(holds: Callable[[], bool]) -> bool:
    """Whether it holds; outside the formula's domain it does not."""
    try:
        return holds()
    except NotCertified:
        return False
