"""Write down what an account claims, and why."""

from __future__ import annotations

import math
from typing import Any, Literal

from shuffledp import __version__
from shuffledp.bound import Bound, Theorem
from shuffledp.certificate.model import (
    FORMAT,
    FORMAT_ROUNDS,
    Certificate,
    Claim,
    ComposedClaim,
    ComposedWitness,
    Release,
    Scenario,
    Source,
    Statement,
    Witness,
    checksum,
    to_dict,
)
from shuffledp.deployment.accounting import Account, Situation
from shuffledp.deployment.model import GENERIC, Deployment, DeploymentFile, is_protocol
from shuffledp.neighbours import REPLACEMENT
from shuffledp.randomizers import randomizer_from_dict

_UNIT = "one user's one report"
_UNIT_MESSAGES = "all messages of one user in one run of the protocol"
_UNIT_ROUNDS = "one user's reports in all {:,} rounds; claims of one round: one report"


def issue(
    source: DeploymentFile, account: Account, *, release: Release | None = None
) -> Certificate:
    """The certificate of a deployment file that was accounted for.

    Parameters
    ----------
    source : DeploymentFile
        The file, for its name and hash.
    account : Account
        What was computed for it.
    release : Release, optional
        Of a run: the table of estimates that this is the certificate of.
    """
    deployment = account.deployment
    rounds = deployment.accounting.rounds
    draft = Certificate(
        format=FORMAT if rounds == 1 else FORMAT_ROUNDS,
        shuffledp_version=__version__,
        deployment=Source(file=source.path.name, sha256=source.sha256, content=deployment),
        quantity=deployment.target.quantity,
        at=deployment.target.value,
        neighbouring_relation=_neighbours(deployment),
        privacy_unit=_unit(deployment),
        rounds=rounds,
        local_guarantee=account.eps0 if math.isfinite(account.eps0) else None,
        assumptions=list(deployment.assumptions()),
        scenarios=[_scenario(deployment, situation) for situation in account.situations],
        release=release,
        checksum="",
    )
    return draft.model_copy(update={"checksum": checksum(to_dict(draft))})


def _unit(deployment: Deployment) -> str:
    rounds = deployment.accounting.rounds
    if is_protocol(deployment.randomizer):
        return _UNIT_MESSAGES
    return _UNIT if rounds == 1 else _UNIT_ROUNDS.format(rounds)


def _scenario(deployment: Deployment, situation: Situation) -> Scenario:
    trust = deployment.accounting.trust
    claims = [
        _claim(deployment, situation.bound, "upper", trust),
        _claim(deployment, situation.bound, "lower", trust),
    ]
    if situation.published is not None:
        claims.append(_claim(deployment, situation.published, "upper", "published"))
    return Scenario(
        name=situation.name,  # type: ignore[arg-type]
        n=situation.n,
        how=situation.how,
        claims=claims,
        composed=_composed(deployment, situation),
    )


def _composed(deployment: Deployment, situation: Situation) -> list[ComposedClaim]:
    """Both ends after all rounds; none where there is one round."""
    trust = deployment.accounting.trust
    asked: list[tuple[Bound | None, Literal["upper", "lower"], Any]] = [
        (situation.composed, "upper", trust),
        (situation.composed, "lower", trust),
        (situation.composed_published, "upper", "published"),
    ]
    found = []
    for bound, end, trusted in asked:
        if bound is None:
            continue
        words = bound.witness.get(end) or {}
        if words and end == "upper" and words["analysis"] == "blanket":
            words = {**words, "pairs": _pairs(deployment)}
        witness = ComposedWitness(**words) if words else None
        plain = _claim(deployment, bound, end, trusted, witness=False)
        found.append(ComposedClaim.model_validate({**vars(plain), "witness": witness}))
    return found


def _claim(
    deployment: Deployment,
    bound: Bound,
    end: Literal["upper", "lower"],
    trust: Literal["all", "published"],
    *,
    witness: bool = True,
) -> Claim:
    upper = end == "upper"
    value = bound.upper if upper else bound.lower
    log = bound.log_upper if upper else bound.log_lower
    theorem = bound.upper_theorem if upper else bound.lower_theorem
    return Claim(
        end=end,
        trust=trust,
        value=_finite(value),
        log=_finite(log),
        theorem=_statement(theorem),
        witness=_witness(deployment, bound.witness.get(end) or {}, upper=upper)
        if witness
        else None,
        numerical_width=_finite(bound.upper_width if upper else bound.lower_width),
        assumptions=list(bound.assumptions) if upper else [],
    )


def _witness(deployment: Deployment, found: Any, *, upper: bool) -> Witness | None:
    if not found:
        return None
    words = dict(found)
    if is_protocol(deployment.randomizer):
        words = {key: words[key] for key in ("analysis", "x0", "x1", "swap") if key in words}
    if upper and words["analysis"] == "blanket":
        words["pairs"] = _pairs(deployment)
    return Witness(**words)


def _neighbours(deployment: Deployment) -> str:
    if deployment.randomizer["name"] == GENERIC or is_protocol(deployment.randomizer):
        return REPLACEMENT.sentence
    return randomizer_from_dict(deployment.randomizer).relation.sentence


def _pairs(deployment: Deployment) -> Any:
    name = deployment.randomizer["name"]
    if name in {GENERIC, "channel"}:
        return "all"
    return list(randomizer_from_dict(deployment.randomizer).worst_pairs().pairs)


def _statement(theorem: Theorem | None) -> Statement | None:
    return None if theorem is None else Statement.model_validate(theorem.to_dict())


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
