"""Write down what an account claims, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from shuffledp._check import Trust
from shuffledp._version import __version__
from shuffledp.bound import Bound
from shuffledp.certificate.model import FORMAT, Certificate, Claim, Release, Source, signed
from shuffledp.deployment import account as accounted
from shuffledp.deployment.accounting import Account, Answer
from shuffledp.deployment.files import DeploymentFile, load, of_text
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.setting import Setting
from shuffledp.deployment.text import deployment_text
from shuffledp.values.work import Report, silent

__all__ = ["account", "claims_of", "issue"]


def account(
    deployment: Deployment | Mapping[str, Any] | str | Path, *, report: Report = silent
) -> Certificate:
    """Account for a deployment: the certificate of all that is claimed of it.

    Parameters
    ----------
    deployment : Deployment, mapping or path
        What runs; or the tables of a deployment file; or the file itself.
    report : callable
        Told in a few words what is being computed.

    Raises
    ------
    ParameterError
        If it is no deployment; the message names the key, its value and what was wanted.

    Examples
    --------
    >>> import shuffledp as sd
    >>> tables = {
    ...     "title": "Telemetry",
    ...     "population": {"users": 1_000},
    ...     "randomizer": {"name": "k-rr", "k": 10, "eps0": 2.0},
    ...     "target": {"delta": 1e-6},
    ... }
    >>> sd.verify(sd.account(tables)).headline()
    'VERIFIED: all 10 claims hold'
    """
    if isinstance(deployment, str | Path):
        source = load(deployment, sums=True, widened=True, groups=True)
    else:
        if isinstance(deployment, Deployment):
            deployment = deployment.model_dump(exclude_none=True)
        source = of_text(deployment_text(deployment), Path("deployment.toml"))
    return issue(source, accounted(source.deployment, report=report))


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
    claims = [claim for answer in account.answers for claim in claims_of(answer)]
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


def claims_of(answer: Answer) -> Iterator[Claim]:
    """Both ends, and the upper one that published theorems give where it is another."""
    setting, bound = answer.setting, answer.bound
    trust = setting.one.accounting.trust
    yield _claim(setting, bound, "upper", trust, why=answer.why)
    yield _claim(setting, bound, "lower", trust)
    if answer.published is not None and math.isfinite(bound.upper):
        yield _claim(setting, answer.published, "upper", "published")


def _claim(
    setting: Setting,
    bound: Bound,
    end: Literal["upper", "lower"],
    trust: Trust,
    *,
    why: str = "",
) -> Claim:
    """What an end of a bound claims of a setting, and what that rests on.

    Parameters
    ----------
    setting : Setting
        What it is about.
    bound : Bound
        Both ends.
    end : {"upper", "lower"}
        Which one.
    trust : {"all", "published"}
        What it may rest on.
    why : str
        The reason why nothing is certified.
    """
    upper, target = end == "upper", setting.content.target
    value = _finite(bound.upper if upper else bound.lower)
    theorem = bound.upper_theorem if upper else bound.lower_theorem
    if not upper and (theorem is None or not theorem.serves(trust)):
        # What trust="published" leaves out; the ends of a bound keep such a lower one.
        value, theorem = 0.0, None
    if upper and theorem is None:
        value = None
    assumed: tuple[Any, ...] = bound.assumptions if upper and value is not None else ()
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
        theorem=[] if theorem is None else list(theorem.ids),
        assumptions=[[said.id, *said.values] for said in assumed],
        relation=setting.relation.to_dict(),
        why=why or None,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
