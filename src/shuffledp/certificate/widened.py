"""What follows for a certificate from a declared shuffler, or from several users who may change."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.ball.assumptions import relation_of
from shuffledp.ball.shufflers import Declared, declared, one_user
from shuffledp.theorems import Theorem

LOCAL = "local"
FAILED = "shuffler fails"


def setting_of(content: Any) -> Declared | None:
    """What a deployment declares; None for one perfect shuffler and one user."""
    table = None if content.shuffler is None else content.shuffler.model_dump()
    return declared(table, content.changed)


def widened_relation(content: Any) -> tuple[dict[str, Any], str]:
    """The neighbouring relation as a table and in words."""
    one = relation_of(content.randomizer)
    setting = setting_of(content)
    return one if setting is None else setting.relation(*one)


def widened_unit(setting: Declared) -> str:
    """Whose data, and how much of it, a claim is about."""
    if setting.changed == 1:
        return "one user's one report"
    return f"one report each of up to {setting.changed:,} users, or so many of one person"


def widened_theorem(
    content: Any, theorem: Theorem | None, end: str, analysis: str, scenario: str
) -> Theorem | None:
    """One user's theorem and the steps from there."""
    setting = setting_of(content)
    if setting is None or theorem is None:
        return theorem
    return setting.then(theorem, end, local=analysis == LOCAL, failed=scenario == FAILED)


def widened_words(content: Any, words: tuple[str, ...]) -> tuple[str, ...]:
    """One user's assumptions, with the relation of the setting."""
    setting = setting_of(content)
    if setting is None:
        return words
    one, relation = relation_of(content.randomizer)[1], widened_relation(content)[1]
    return setting.words(words, one=one, relation=relation)


def widened_at(
    certificate: Any, claim: Any, scenario: str, at: tuple[float, tuple[float, float]]
) -> tuple[float, tuple[float, float]] | None:
    """Where one user's delta is recomputed, and what it is compared with.

    None if what is declared costs more than is claimed. A lower end is that of one user and a
    uniform order, which are among what is declared.
    """
    setting = setting_of(certificate.deployment.content)
    if setting is None or claim.end == "lower":
        return at
    uniform = scenario == FAILED or claim.witness.analysis == LOCAL
    epsilon, targets = at
    if not math.isfinite(epsilon):
        return at
    return one_user(
        setting, epsilon, targets, guarantee=certificate.local_guarantee, uniform=uniform
    )
