"""Write down what an account claims, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from shuffledp._check import Trust
from shuffledp._version import __version__
from shuffledp.bound import Bound
from shuffledp.certificate.grounds import grounds_of
from shuffledp.certificate.model import (
    FORMAT,
    Certificate,
    Claim,
    FreeNumbers,
    Release,
    Source,
    Witness,
    signed,
)
from shuffledp.certificate.witness import needs
from shuffledp.deployment.accounting import Account, Answer
from shuffledp.deployment.files import DeploymentFile
from shuffledp.deployment.setting import Setting

__all__ = ["issue"]

# What is not said of a witness.
_PLAIN = {"swap": False}


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
    claims = [claim for answer in account.answers for claim in _claims(answer)]
    content = account.deployment
    return signed(
        Certificate(
            format=FORMAT,
            shuffledp_version=__version__,
            deployment=Source(file=source.path.name, sha256=source.sha256, content=content),
            local_guarantees=[_finite(eps0) for eps0 in account.eps0],
            claims=claims,
            release=release,
            checksum="",
        )
    )


def _claims(answer: Answer) -> Iterator[Claim]:
    """Both ends, and the upper one that published theorems give where it is another."""
    setting, bound = answer.setting, answer.bound
    trust = setting.one.accounting.trust
    yield _claim(setting, bound, "upper", trust)
    yield _claim(setting, bound, "lower", trust)
    if answer.published is not None and math.isfinite(bound.upper):
        yield _claim(setting, answer.published, "upper", "published")


def _claim(setting: Setting, bound: Bound, end: Literal["upper", "lower"], trust: Trust) -> Claim:
    upper, target = end == "upper", setting.content.target
    value = _finite(bound.upper if upper else bound.lower)
    log = _finite(bound.log_upper if upper else bound.log_lower)
    theorem = bound.upper_theorem if upper else bound.lower_theorem
    if not upper and theorem and not theorem.serves(trust):
        # What trust="published" leaves out; the ends of a bound keep such a lower one.
        value, log = 0.0, None
    if upper and theorem is None:
        value, log = None, None
    nothing = value is None if upper else (value == 0.0 and log is None)
    witness = None if nothing or theorem is None else _witness(setting, end, bound.witness.get(end))
    grounds = None
    if witness is not None:
        grounds = grounds_of(setting, end, witness.analysis)
    width = _finite(bound.upper_width if upper else bound.lower_width)
    return Claim(
        group=setting.group,
        situation=setting.situation,  # type: ignore[arg-type]
        n=setting.n,
        rounds=setting.rounds,
        quantity=target.quantity,
        at=target.value,
        end=end,
        trust=trust,
        value=value,
        log=log,
        theorem=[] if grounds is None else list(grounds.theorem.ids),
        assumptions=[] if grounds is None else list(grounds.ids),
        relation=setting.relation.to_dict(),
        numerical_width=None if nothing else width,
        witness=witness,
    )


def _witness(setting: Setting, end: str, found: Mapping[str, Any] | None) -> Witness | None:
    """What the verifier needs to compute the end again, and nothing it does not look at."""
    if not found or "analysis" not in found:
        return None
    analysis = found["analysis"]
    keys = needs(setting, end, analysis)
    given = {key: found.get(key, _PLAIN.get(key)) for key in keys}
    if "free" in given:
        given["free"] = [_free(one) for one in given["free"]]
    if "frees" in given:
        given["frees"] = [
            None if one is None else [_free(x) for x in one] for one in given["frees"]
        ]
    if "others" in given and not isinstance(given["others"], int):
        given["others"] = [(x, int(count)) for x, count in given["others"]]
    if "ends" in given:
        given["ends"] = [tuple(ends) for ends in given["ends"]]
    return Witness(analysis=analysis, **given)


def _free(numbers: Any) -> FreeNumbers:
    return FreeNumbers.model_validate(numbers)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
