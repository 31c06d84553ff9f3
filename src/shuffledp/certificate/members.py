"""What a certificate claims of one mechanism's users, for a reader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.bound import outward
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.setting import Setting, settings_of

# Significant digits of an end.
_DIGITS = {"epsilon": 6, "delta": 4}


@dataclass(frozen=True)
class Ends:
    """What is claimed in one setting.

    Attributes
    ----------
    setting : Setting
        The situation, after one round or all.
    claims : sequence of Claim
        Both ends, and the upper one that published theorems give where that is another.
    """

    setting: Setting
    claims: Sequence[Any]

    @property
    def name(self) -> str:
        """The situation's name."""
        return self.setting.situation

    @property
    def quantity(self) -> str:
        """What is bounded."""
        return self.setting.content.target.quantity

    @property
    def upper(self) -> Any:
        """The claim of the upper end."""
        return next(claim for claim in self.claims if claim.end == "upper")

    @property
    def lower(self) -> Any:
        """The claim of the lower end."""
        return next(claim for claim in self.claims if claim.end == "lower")

    @property
    def published(self) -> Any:
        """The upper end by published theorems alone; ``upper`` where there is no other."""
        return next(claim for claim in reversed(self.claims) if claim.end == "upper")

    @property
    def differs(self) -> bool:
        """Whether published theorems alone give another number."""
        return self.published is not self.upper

    def shown(self, end: str, *, digits: int | None = None) -> str:
        """One of "upper", "lower", "published", rounded outward."""
        claim = getattr(self, end)
        digits = _DIGITS[self.quantity] if digits is None else digits
        up = end != "lower"
        return outward(claim.value, up=up, digits=digits)

    @property
    def epsilon_delta(self) -> tuple[float | None, float | None]:
        """The upper end with what is held fixed, as (eps, delta)."""
        fixed = self.setting.content.target.value
        upper = self.upper.value
        return (upper, fixed) if self.quantity == "epsilon" else (fixed, upper)

    @property
    def bounded(self) -> str:
        """The upper end at what is held fixed, in words."""
        fixed = self.setting.content.target.value
        if self.upper.value is None:
            return "nothing finite is certified"
        if self.quantity == "epsilon":
            return f"eps <= {self.shown('upper')} nats at delta = {fixed!r}"
        return f"delta <= {self.shown('upper')} at eps = {fixed!r} nats"

    @property
    def height(self) -> float:
        """What upper ends are ordered by: none finite is the largest."""
        return math.inf if self.upper.value is None else self.upper.value


class Members:
    """What is claimed of one mechanism's users, for a reader: all users, or a crowd's group."""

    def __init__(self, certificate: Any, group: int) -> None:
        self.certificate, self.group = certificate, group
        whole = certificate.deployment.content
        self.ends = [
            Ends(one, [claim for claim in certificate.claims if one.is_of(claim)])
            for one in settings_of(whole)
            if one.group == group
        ]
        now = self.ends[0].setting
        # What is added up; None where messages are seen.
        self.sums = now.sums
        self.privacy_unit, self.neighbours = now.unit, now.relation.sentence
        self.content: Deployment = now.one
        self.quantity, self.at = self.content.target.quantity, self.content.target.value
        self.rounds = self.content.accounting.rounds
        self.local_guarantee = certificate.local_guarantees[group]
        self.users, self.assumptions = self.content.population.users, self.content.assumptions()
        if whole.group:
            self.users = whole.group[group].users
        self.release = certificate.release

    @property
    def one_round(self) -> list[Ends]:
        """Ends of one round, a situation each."""
        return [ends for ends in self.ends if ends.setting.rounds == 1]

    @property
    def all_rounds(self) -> list[Ends]:
        """Ends after all rounds; those of one round where there is one."""
        return [ends for ends in self.ends if ends.setting.rounds == self.rounds]

    @property
    def released(self) -> list[Ends]:
        """Ends after all rounds in the situations in which shuffler or aggregator works."""
        return [ends for ends in self.all_rounds if not ends.setting.failed]

    @property
    def worst(self) -> Ends:
        """The released ends with the largest upper end."""
        return max(self.released, key=lambda ends: ends.height)

    @property
    def failure(self) -> Ends:
        """Ends after all rounds where nothing hides a user's report."""
        return next(ends for ends in self.all_rounds if ends.setting.failed)

    @property
    def of_group(self) -> str:
        """The group, as words that follow others; empty without groups."""
        return f" of group {self.group}" if self.certificate.crowd else ""

    @property
    def who(self) -> str:
        """Who stands between users and analyst."""
        return "shuffler" if self.sums is None else "aggregator"

    @property
    def sent(self) -> str:
        """What users send, in the plural."""
        return "messages" if self.sums is None else "reports"
