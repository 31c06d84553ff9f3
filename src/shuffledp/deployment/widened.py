"""Accounting behind a declared shuffler, or where several users may change at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shuffledp import theorems
from shuffledp.accounts.shuffler import Shuffler
from shuffledp.accounts.widened import Widened
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.bound import Bound, Theorem
from shuffledp.deployment.model import Deployment
from shuffledp.errors import ParameterError
from shuffledp.neighbours import REPLACEMENT, Relation, together


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


def behind_shuffler(
    deployment: Deployment, one: Seen, quantity: Quantity, value: float, *, failed: bool
) -> Bound:
    """Both ends where the shuffler is declared, or several users may change.

    Parameters
    ----------
    deployment : Deployment
        With a shuffler that is not perfect, or several users who change.
    one : Seen
        Honest messages and dummies, if one user changes behind a perfect shuffler.
    quantity, value
        As for ``Seen.bound``.
    failed : bool
        Whether nothing is believed of the shuffler: then one message is seen.
    """
    shuffler = shuffler_of(deployment)
    distance = 0.0 if failed else shuffler.farthest
    found = Widened(one, deployment.changed, distance).bound(quantity, value)
    relation = relation_of(deployment, one.relation)
    # Of an order that is not uniform the deployment's own assumptions say what is known.
    words = shuffler.ordered(
        relation.sentence if word == one.relation.sentence else word for word in found.assumptions
    )
    steps = [theorems.FILLED] if failed and shuffler.fills else [] if failed else shuffler.steps
    ends: dict[str, Any] = {
        "lower_theorem": _then(found.lower_theorem, steps),
        "upper_theorem": _then(found.upper_theorem, steps),
    }
    return replace(found, relation=relation, assumptions=tuple(words), **ends)


def _then(theorem: Theorem | None, steps: list[Theorem]) -> Theorem | None:
    for step in steps:
        theorem = theorem if theorem is None else theorem.with_step(step)
    return theorem
