"""Accounting behind a declared shuffler, or where several users may change at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shuffledp import theorems
from shuffledp.accounts.shuffler import Shuffler
from shuffledp.accounts.widened import Widened
from shuffledp.bound import Bound, Theorem
from shuffledp.deployment.model import Deployment
from shuffledp.errors import ParameterError
from shuffledp.neighbours import REPLACEMENT, Relation, together

LOCAL = "local"


def shuffler_of(deployment: Deployment) -> Shuffler:
    """What stands between users and analyst, as a value."""
    table = deployment.shuffler
    return Shuffler() if table is None else Shuffler(**table.model_dump())


def relation_of(deployment: Deployment, one: Relation) -> Relation:
    """Which datasets are neighbours, given what the mechanism says of one user."""
    shuffler = shuffler_of(deployment)
    if shuffler.fills and one != REPLACEMENT:
        name = deployment.randomizer["name"]
        raise ParameterError(
            f"shuffler.fills = true: wanted false for {name}, whose neighbours differ"
        )
    relation = shuffler.relation(one)
    return relation if deployment.changed == 1 else together(deployment.changed, relation)


def widened_at_target(deployment: Deployment, n: int, *, failed: bool) -> Bound:
    """What the deployment's target asks for, of n messages that hide one another.

    Parameters
    ----------
    deployment : Deployment
        With a shuffler that is not perfect, or several users who change.
    n : int
        Honest messages and dummies.
    failed : bool
        Whether nothing is believed of the shuffler: then n is 1.
    """
    shuffler, changed = shuffler_of(deployment), deployment.changed
    distance = 0.0 if failed else shuffler.farthest
    one, target = deployment.accountant(n), deployment.target
    wide = Widened(one, changed, distance, recomputed=True)
    found = wide.bound(target.quantity, target.value)
    return dressed(deployment, found, one.relation, failed=failed)


def dressed(deployment: Deployment, bound: Bound, one: Relation, *, failed: bool) -> Bound:
    """The bound with this deployment's relation, assumptions and steps."""
    relation = relation_of(deployment, one)
    shuffler = shuffler_of(deployment)
    apart = bool(shuffler.distance)
    # Of an order that is not uniform the deployment's own assumptions say what is known.
    words = shuffler.ordered(
        relation.sentence if word == one.sentence else word for word in bound.assumptions
    )
    local = bound.witness.get("upper", {}).get("analysis") == LOCAL
    upper = [theorems.TOGETHER] if deployment.changed > 1 else []
    upper += [theorems.NEAR_UNIFORM] if apart and not failed and not local else []
    steps = [theorems.FILLED] if failed and shuffler.fills else [] if failed else shuffler.steps
    ends: dict[str, Any] = {
        "lower_theorem": _then(bound.lower_theorem, steps),
        "upper_theorem": _then(bound.upper_theorem, [*upper, *steps]),
    }
    return replace(bound, relation=relation, assumptions=tuple(words), **ends)


def _then(theorem: Theorem | None, steps: list[Theorem]) -> Theorem | None:
    for step in steps:
        theorem = theorem if theorem is None else theorem.with_step(step)
    return theorem
