"""Write down what an account claims, and why."""

from __future__ import annotations

import math
from typing import Any, Literal

from shuffledp._check import Trust
from shuffledp._version import __version__
from shuffledp.amplification.rounds import NO_SINGLE_PAIR
from shuffledp.ball.triples import written_pairs
from shuffledp.bound import Bound, Theorem
from shuffledp.certificate.model import (
    Certificate,
    Claim,
    ComposedClaim,
    ComposedWitness,
    FreeNumbers,
    Release,
    Scenario,
    Source,
    Statement,
    SumsWitness,
    View,
    Witness,
    checksum,
    format_of,
    to_dict,
)
from shuffledp.deployment.accounting import Account, Situation
from shuffledp.deployment.files import DeploymentFile
from shuffledp.deployment.model import GENERIC, Deployment, is_protocol
from shuffledp.deployment.widened import relation_of
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.randomizers import randomizer_from_dict

_UNIT = "one user's one report"
_UNIT_MESSAGES = "all messages of one user in one run of the protocol"
_UNIT_TOGETHER = "one report each of up to {:,} users, or so many of one person"
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
        format=format_of(rounds),  # type: ignore[arg-type]
        shuffledp_version=__version__,
        deployment=Source(file=source.path.name, sha256=source.sha256, content=deployment),
        quantity=deployment.target.quantity,
        at=deployment.target.value,
        view=_view(deployment),
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
    if deployment.changed > 1:
        return _UNIT_TOGETHER.format(deployment.changed)
    return _UNIT if rounds == 1 else _UNIT_ROUNDS.format(rounds)


def _scenario(deployment: Deployment, situation: Situation) -> Scenario:
    trust = deployment.accounting.trust
    claims = [
        _claim(deployment, situation.bound, "upper", trust),
        _claim(deployment, situation.bound, "lower", trust),
    ]
    if situation.published is not None and math.isfinite(situation.bound.upper):
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
    if situation.composed is None:
        return []
    trust, published = deployment.accounting.trust, situation.composed_published
    asked: list[tuple[Bound, Literal["upper", "lower"], Any]] = [
        (situation.composed, "upper", trust),
        (situation.composed, "lower", trust),
    ]
    if published is not None and math.isfinite(situation.composed.upper):
        asked.append((published, "upper", "published"))
    found = []
    for bound, end, trusted in asked:
        said = said_of(bound, end, trusted)
        words = None if said["theorem"] is None else bound.witness.get(end)
        witness: Any = _composed_witness(deployment, words)
        if deployment.view == "sums":
            witness = _sums_witness(words)
        found.append(ComposedClaim(**said, witness=witness))
    return found


def _claim(
    deployment: Deployment,
    bound: Bound,
    end: Literal["upper", "lower"],
    trust: Trust,
) -> Claim:
    said = said_of(bound, end, trust)
    words = None if said["theorem"] is None else bound.witness.get(end)
    return Claim(**said, witness=witness_of(deployment, words))


def said_of(
    bound: Bound,
    end: Literal["upper", "lower"],
    trust: Trust,
) -> dict[str, Any]:
    """All of a claim but its witness; no theorem where nothing is claimed."""
    upper = end == "upper"
    value = _finite(bound.upper if upper else bound.lower)
    log = _finite(bound.log_upper if upper else bound.log_lower)
    theorem = bound.upper_theorem if upper else bound.lower_theorem
    if not upper and theorem and not theorem.serves(trust):
        # What trust="published" leaves out; the ends of a bound keep such a lower one.
        value, log = 0.0, None
    if value is None if upper else (value == 0.0 and log is None):
        theorem = None
    width = _finite(bound.upper_width if upper else bound.lower_width)
    words = [one for one in bound.assumptions if one != NO_SINGLE_PAIR]
    return {
        "end": end,
        "trust": trust,
        "value": value,
        "log": log,
        "theorem": _statement(theorem),
        "numerical_width": None if theorem is None else width,
        "assumptions": words if upper and theorem is not None else [],
    }


def _view(deployment: Deployment) -> View | None:
    """What the analyst sees, where it is not all messages."""
    if deployment.view == "messages":
        return None
    seen = deployment.sums(1)
    return View(
        key="sums",
        ones=seen.ones,
        changed=seen.changed,
        words=seen.seen,
        added=deployment.added,
    )


def _sums_witness(found: Any) -> SumsWitness | None:
    return SumsWitness.model_validate(found, strict=False) if found else None


def _composed_witness(deployment: Deployment, found: Any) -> ComposedWitness | None:
    if not found or "analysis" not in found or deployment.view == "sums":
        return None
    extra = {key: found[key] for key in ("basic", "dots", "values", "ends") if key in found}
    if "ends" in extra:
        extra["ends"] = [tuple(ends) for ends in extra["ends"]]
    if "frees" in found:
        extra["frees"] = [_frees(numbers) for numbers in found["frees"]]
    return ComposedWitness(**vars(witness_of(deployment, found)), **extra)


def _frees(numbers: Any) -> Any:
    """Of a value by label stealing: one set of numbers, or one for each pair; None without."""
    if numbers is None:
        return None
    found = [FreeNumbers.model_validate(one) for one in numbers]
    return found[0] if len(found) == 1 else found


def witness_of(deployment: Deployment, found: Any) -> Any:
    """What the verifier needs to compute the end again, and nothing it does not look at."""
    if not found:
        return None
    if deployment.view == "sums":
        return _sums_witness(found)
    analysis = found["analysis"]
    if analysis == "blanket":
        return Witness(analysis=analysis, pairs=_pairs(deployment))
    if analysis in {"label-stealing", "lone-jump"}:
        free = [FreeNumbers.model_validate(numbers) for numbers in found.get("free", ())] or None
        return Witness(analysis=analysis, pairs=written_pairs(deployment.randomizer), free=free)
    if analysis != "dataset" and "others" in found:
        others = [(x, int(count)) for x, count in found["others"]]
        return Witness(analysis=analysis, x0=found["x0"], x1=found["x1"], others=others)
    if analysis != "dataset":
        return Witness(analysis=analysis)
    protocol = is_protocol(deployment.randomizer)
    keys = ("x0", "x1", "swap") if protocol else ("x0", "x1", "x2", "swap", "member")
    return Witness(analysis=analysis, **{key: found[key] for key in keys if key in found})


def _neighbours(deployment: Deployment) -> dict[str, Any]:
    """The relation as a value, and in the words of every bound."""
    relation: Relation = REPLACEMENT
    if deployment.view == "sums":
        relation = deployment.sums(1).relation
    elif deployment.randomizer["name"] != GENERIC and not is_protocol(deployment.randomizer):
        relation = relation_of(deployment, randomizer_from_dict(deployment.randomizer).relation)
    return {**relation.to_dict(), "words": relation.sentence}


def _pairs(deployment: Deployment) -> Any:
    """The worst pairs; those of a matrix and of parts follow from these, and are many."""
    randomizer = randomizer_from_dict(deployment.randomizer)
    if randomizer.name == "channel" or randomizer.parts() is not None:
        return "all"
    return list(randomizer.worst_pairs().pairs)


def _statement(theorem: Theorem | None) -> Statement | None:
    return None if theorem is None else Statement.model_validate(theorem.to_dict())


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
