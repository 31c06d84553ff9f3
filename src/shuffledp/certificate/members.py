"""What a certificate claims of one mechanism's users, for a reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp.certificate.grounds import grounds_of
from shuffledp.certificate.setting import Setting, settings_of
from shuffledp.deployment.model import Deployment


class Situation:
    """One setting's claims, for a reader: of one round, and of all (``composed``)."""

    def __init__(self, setting: Setting, claims: Sequence[Any]) -> None:
        self.setting, self.name = setting, setting.situation
        self.n, self.how = setting.n, setting.how
        mine = [c for c in claims if (c.group, c.situation) == (setting.group, self.name)]
        self.claims = [c for c in mine if c.rounds == 1]
        self.composed = [c for c in mine if c.rounds != 1]


class Members:
    """What is claimed of one mechanism's users, for a reader: all users, or a crowd's group."""

    def __init__(self, certificate: Any, group: int) -> None:
        self.certificate, self.group = certificate, group
        self.settings = [
            one
            for one in settings_of(certificate.deployment.content)
            if one.group == group and one.rounds == 1
        ]
        self.scenarios = [Situation(one, certificate.claims) for one in self.settings]
        now = self.settings[0]
        self.content: Deployment = now.one
        self.quantity, self.at = self.content.target.quantity, self.content.target.value
        self.rounds = self.content.accounting.rounds
        self.privacy_unit = now.unit
        # What is added up; None where messages are seen.
        self.sums = now.sums
        self.neighbours = now.relation.sentence
        self.local_guarantee = certificate.local_guarantees[group]
        whole = certificate.deployment.content
        self.users, self.assumptions = self.content.population.users, self.content.assumptions()
        if whole.group:
            self.users = whole.group[group].users
        self.release = certificate.release

    def words(self, claim: Any) -> tuple[str, ...]:
        """The sentences that a claim takes for granted."""
        if claim.nothing or claim.witness is None or claim.end == "lower":
            return ()
        setting = next(
            one
            for one in settings_of(self.certificate.deployment.content)
            if (one.group, one.situation, one.rounds)
            == (claim.group, claim.situation, claim.rounds)
        )
        basic = bool(claim.witness.basic)
        found = grounds_of(setting, claim.end, claim.witness.analysis, basic=basic)
        return () if found is None else found.assumptions
