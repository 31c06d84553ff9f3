"""Write down what an account of a crowd claims of each group's members, and why."""

from __future__ import annotations

import math
from typing import Any, Literal

from shuffledp._check import Trust
from shuffledp._version import __version__
from shuffledp.bound import Bound
from shuffledp.certificate.crowd_model import (
    FORMAT_CROWD,
    CrowdCertificate,
    CrowdClaim,
    CrowdNumbers,
    CrowdScenario,
    CrowdSource,
    CrowdWitness,
    Members,
    signed,
)
from shuffledp.certificate.issue import said_of, witness_of
from shuffledp.deployment.accounting import Account, Situation
from shuffledp.deployment.crowds import CrowdAccount, member_words
from shuffledp.deployment.groups import CrowdFile
from shuffledp.deployment.model import Deployment
from shuffledp.randomizers import randomizer_from_dict

_UNIT = "one user's one report"
_OF_ALL = {"crowd-stealing", "common-blanket", "crowd-dataset"}


def issue_crowd(source: CrowdFile, account: CrowdAccount) -> CrowdCertificate:
    """The certificate of a crowd's file that was accounted for.

    Parameters
    ----------
    source : CrowdFile
        The file, for its name and hash.
    account : CrowdAccount
        What was computed for it.
    """
    deployment = account.deployment
    return signed(
        CrowdCertificate(
            format=FORMAT_CROWD,
            shuffledp_version=__version__,
            deployment=CrowdSource(file=source.path.name, sha256=source.sha256, content=deployment),
            quantity=deployment.target.quantity,
            at=deployment.target.value,
            privacy_unit=_UNIT,
            members=[
                _members(k, deployment.group[k].users, one) for k, one in enumerate(account.members)
            ],
            checksum="",
        )
    )


def _members(k: int, users: int, account: Account) -> Members:
    eps0 = account.eps0
    return Members(
        group=k,
        users=users,
        neighbouring_relation=_neighbours(account.deployment, k),
        local_guarantee=eps0 if math.isfinite(eps0) else None,
        scenarios=[_scenario(account.deployment, one) for one in account.situations],
    )


def _neighbours(alone: Deployment, k: int) -> dict[str, Any]:
    """The mechanism's own relation, among data sets with the same groups."""
    relation = randomizer_from_dict(alone.randomizer).relation
    return {**relation.to_dict(), "group": k, "words": member_words(relation, k)}


def _scenario(alone: Deployment, situation: Situation) -> CrowdScenario:
    trust = alone.accounting.trust
    claims = [_claim(alone, situation.bound, end, trust) for end in ("upper", "lower")]
    if situation.published is not None and math.isfinite(situation.bound.upper):
        claims.append(_claim(alone, situation.published, "upper", "published"))
    return CrowdScenario(
        name=situation.name,  # type: ignore[arg-type]
        n=situation.n,
        how=situation.how,
        claims=claims,
    )


def _claim(
    alone: Deployment,
    bound: Bound,
    end: Literal["upper", "lower"],
    trust: Trust,
) -> CrowdClaim:
    said = said_of(bound, end, trust)
    found = None if said["theorem"] is None else bound.witness.get(end)
    return CrowdClaim(**said, witness=_witness(alone, found))


def _witness(alone: Deployment, found: Any) -> Any:
    """What the verifier needs to compute the end again, and nothing it does not look at."""
    if not found or found["analysis"] not in _OF_ALL:
        return witness_of(alone, found)
    if found["analysis"] == "crowd-stealing":
        free = [CrowdNumbers.model_validate(numbers) for numbers in found["free"]]
        return CrowdWitness(analysis="crowd-stealing", free=free)
    if found["analysis"] == "common-blanket":
        return CrowdWitness(analysis="common-blanket")
    others = [(x, int(count)) for x, count in found["others"]]
    return CrowdWitness(analysis="crowd-dataset", x0=found["x0"], x1=found["x1"], others=others)
