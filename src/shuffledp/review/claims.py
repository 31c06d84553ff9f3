"""What a certificate claims, end by end, as a reader is shown it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.bound import shown_end

# As deployment.views names the situation of a user whose report nothing hides.
FAILURES = ("shuffler fails", "aggregator fails")
# Significant digits, as on the command line.
DIGITS = {"epsilon": 6, "delta": 4}
WORDS = {"epsilon": "eps", "delta": "delta"}


@dataclass(frozen=True)
class Ends:
    """Both ends in one situation, and the upper one that published theorems give where it differs.

    Attributes
    ----------
    scenario : Scenario
        Of the certificate.
    quantity : {"epsilon", "delta"}
        What is bounded.
    upper, lower, published : Claim
        ``published`` is ``upper`` where there is no other.
    """

    scenario: Any
    quantity: str
    upper: Any
    lower: Any
    published: Any

    @property
    def differs(self) -> bool:
        """Whether published theorems alone give another number."""
        return self.published is not self.upper

    def shown(self, end: str, *, digits: int | None = None) -> str:
        """One of "upper", "lower", "published", rounded outward."""
        claim = getattr(self, end)
        up = end != "lower"
        digits = DIGITS[self.quantity] if digits is None else digits
        return shown_end(self.quantity, claim.value, claim.log, up=up, digits=digits)


def one_round(members: Any) -> list[Ends]:
    """Ends of one round, a situation each.

    Parameters
    ----------
    members : Members
        Of a certificate: whose data is protected.
    """
    return [_ends(members, s, s.claims) for s in members.scenarios]


def all_rounds(members: Any) -> list[Ends]:
    """Ends after all rounds; those of one round where there is one."""
    return [_ends(members, s, s.composed or s.claims) for s in members.scenarios]


def released(members: Any) -> list[Ends]:
    """Ends after all rounds in the situations in which shuffler or aggregator works."""
    return [ends for ends in all_rounds(members) if ends.scenario.name not in FAILURES]


def failure(members: Any) -> Ends:
    """Ends after all rounds where nothing hides a user's report."""
    (ends,) = (one for one in all_rounds(members) if one.scenario.name in FAILURES)
    return ends


def who(members: Any) -> str:
    """Who stands between users and analyst."""
    return "shuffler" if members.sums is None else "aggregator"


def sent(members: Any) -> str:
    """What users send, in the plural."""
    return "messages" if members.sums is None else "reports"


def worst(found: Sequence[Ends]) -> Ends:
    """The situation with the largest upper end; none finite is larger than all."""
    return max(found, key=height)


def claims_of(members: Any) -> Iterator[tuple[Any, Any]]:
    """(scenario, claim) of all claims, of one round first."""
    for scenario in members.scenarios:
        for claim in (*scenario.claims, *scenario.composed):
            yield scenario, claim


def epsilon_delta(members: Any, ends: Ends) -> tuple[float | None, float | None]:
    """The upper end with what is held fixed, as (eps, delta)."""
    if ends.quantity == "epsilon":
        return ends.upper.value, members.at
    return members.at, ends.upper.value


def bounded(members: Any, ends: Ends) -> str:
    """The upper end at what is held fixed, in words."""
    if ends.upper.value is None:
        return "nothing finite is certified"
    if ends.quantity == "epsilon":
        return f"eps <= {ends.shown('upper')} nats at delta = {members.at!r}"
    return f"delta <= {ends.shown('upper')} at eps = {members.at!r} nats"


def height(ends: Ends) -> tuple[bool, float, float]:
    """What upper ends are ordered by: none finite is the largest."""
    claim = ends.upper
    if claim.value is None:
        return True, 0.0, 0.0
    # Deltas may all be the smallest float, and differ in their logarithms.
    return False, claim.value, 0.0 if claim.log is None else claim.log


def _ends(members: Any, scenario: Any, claims: Sequence[Any]) -> Ends:
    uppers = [claim for claim in claims if claim.end == "upper"]
    (lower,) = (claim for claim in claims if claim.end == "lower")
    return Ends(scenario, members.quantity, uppers[0], lower, uppers[-1])
