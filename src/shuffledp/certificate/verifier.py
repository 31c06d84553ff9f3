"""Check a certificate by ball arithmetic: nothing here uses the kernel that wrote it.

The claimed numbers and the mechanism's parameters come from the certificate. The output laws are
rebuilt from the mechanism's definition and the divergence is recomputed in balls, so that a claim
is decided, rounding included, or said to be undecided. Theorems are cited, not proved again: that
the recorded pairs dominate all others, and that an analysis is valid, is what the sources say.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from shuffledp.ball.api import log_delta
from shuffledp.ball.pairs import PARTS, are_neighbours, ordered_pairs, without_limit
from shuffledp.certificate.composed import decide_composed, missing_composed
from shuffledp.certificate.messages import MESSAGES, is_protocol, message_call
from shuffledp.certificate.model import (
    Certificate,
    Claim,
    ComposedClaim,
    Scenario,
    checksum,
    read,
    to_dict,
)
from shuffledp.errors import NotCertified, ParameterError

__all__ = ["Check", "verify"]

Verdict = Literal["holds", "does not hold", "undecided"]
# Each is tried only if the one before could not tell.
_WIDTHS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# Randomizers that are eps0-LDP, so that a bound for all of these is none below theirs.
_MEMBERS: dict[str, dict[str, Any]] = {
    "binary-rr": {"name": "binary-rr"},
    "3-rr": {"name": "k-rr", "k": 3},
}
Report = Callable[[str], None]
AnyClaim = Claim | ComposedClaim
_SILENT: Report = lambda _message: None  # noqa: E731


@dataclass(frozen=True)
class Check:
    """One claim and what became of it.

    Attributes
    ----------
    scenario : str
        "now", "minimum batch", "shuffler fails", or "file" for what concerns all of it.
    claim : str
        What is claimed, in words.
    verdict : {"holds", "does not hold", "undecided"}
        "does not hold" means that the cited analysis does not give this number.
    how : str
        What was recomputed, and how far off it is.
    """

    scenario: str
    claim: str
    verdict: Verdict
    how: str

    def to_dict(self) -> dict[str, str]:
        """JSON-able form."""
        return dict(vars(self))


def verify(
    path: str | Path,
    *,
    deployment_hash: str | None = None,
    table_hash: str | None = None,
    report: Report = _SILENT,
) -> list[Check]:
    """Check every claim of a certificate file.

    Parameters
    ----------
    path : path
        The certificate.
    deployment_hash : str, optional
        sha256 of the deployment file, where it is at hand.
    table_hash : str, optional
        sha256 of the table of estimates of a run, where it is at hand.
    report : callable
        Told in a few words what is being recomputed.

    Returns
    -------
    list of Check
        The certificate is good if every verdict is "holds".

    Raises
    ------
    ParameterError
        If the file is not a certificate.
    """
    certificate = read(path)
    checks = _file_checks(certificate, deployment_hash)
    checks += _release_checks(certificate, table_hash)
    for scenario in certificate.scenarios:
        checks.append(_users(certificate, scenario))
        checks.append(_order(scenario))
        for claim in scenario.claims:
            report(f"{scenario.name}: {claim.end} end")
            checks.append(_check_claim(certificate, scenario, claim))
        for claim in scenario.composed:
            report(f"{scenario.name}: {claim.end} end after {certificate.rounds:,} rounds")
            checks.append(_check_claim(certificate, scenario, claim, report))
    return checks


# ------------------------------------------------------------------------- what needs no balls


def _release_checks(certificate: Certificate, table_hash: str | None) -> list[Check]:
    """Of a run: the users it saw are those accounted for, and the table is the one it wrote."""
    release, checks = certificate.release, []
    if release is not None:
        users = certificate.deployment.content.population.users
        how = f"{release.users:,} users in the run, {users:,} accounted for; "
        how += f"{release.declared_users:,} were declared"
        words = "the users of the run are those accounted for"
        checks.append(Check("file", words, _said(release.users == users), how))
    if table_hash is not None:
        found = "none" if release is None else f"{release.sha256[:16]}..."
        same = release is not None and release.sha256 == table_hash
        how = f"sha256 {table_hash[:16]}... against {found}"
        checks.append(Check("file", "is of this table of estimates", _said(same), how))
    return checks


def _file_checks(certificate: Certificate, deployment_hash: str | None) -> list[Check]:
    same = checksum(to_dict(certificate)) == certificate.checksum
    how = "its checksum matches" if same else "its checksum does not match: changed since written"
    checks = [Check("file", "unchanged since it was written", _said(same), how)]
    if deployment_hash is not None:
        same = deployment_hash == certificate.deployment.sha256
        how = f"sha256 {deployment_hash[:16]}... against {certificate.deployment.sha256[:16]}..."
        checks.append(Check("file", "made from this deployment file", _said(same), how))
    target = certificate.deployment.content.target
    same = (certificate.quantity, certificate.at) == (target.quantity, target.value)
    checks.append(
        Check("file", "target is the deployment's", _said(same), f"{target.quantity} asked for")
    )
    wanted = ["now", "minimum batch", "shuffler fails"]
    if certificate.deployment.content.population.minimum_batch is None:
        wanted.remove("minimum batch")
    same = [s.name for s in certificate.scenarios] == wanted and all(
        {"upper", "lower"} <= {c.end for c in s.claims} for s in certificate.scenarios
    )
    checks.append(Check("file", "says both ends of every scenario", _said(same), ", ".join(wanted)))
    checks.append(_local_guarantee(certificate))
    checks += _round_checks(certificate)
    return checks


def _round_checks(certificate: Certificate) -> list[Check]:
    """That rounds are the deployment's, and that what is said of them is complete."""
    rounds = certificate.deployment.content.accounting.rounds
    missing = missing_composed(certificate)
    if rounds == certificate.rounds == 1 and not missing:
        return []
    same = rounds == certificate.rounds and not missing
    how = missing or f"{rounds:,} asked for"
    return [Check("file", f"rounds = {certificate.rounds:,}", _said(same), how)]


def _local_guarantee(certificate: Certificate) -> Check:
    eps0 = certificate.local_guarantee
    claim = f"local guarantee eps0 <= {eps0!r}"
    if eps0 is None:
        return Check("file", "no pure local guarantee is claimed", "holds", "nothing to check")
    parameters = certificate.deployment.content.randomizer
    if parameters["name"] == "generic":
        return Check("file", claim, _said(eps0 >= parameters["eps0"]), "eps0 of the family")
    try:
        worst = _left(parameters, eps0)
    except (NotCertified, ParameterError) as error:
        return Check("file", claim, "undecided", str(error))
    verdict: Verdict = "holds" if worst == -math.inf else "does not hold"
    left = "no divergence is left" if verdict == "holds" else f"log delta up to {worst:.6g} is left"
    if verdict != "holds" and eps0 >= parameters.get("eps0", math.inf):
        # Equality at eps0 itself: rounding leaves a remainder that says nothing.
        verdict = "undecided"
    return Check("file", claim, verdict, f"local divergence at eps0: {left}")


def _left(parameters: Mapping[str, Any], eps0: float) -> float:
    """log of the divergence that is left at eps0, of the worst pair; -inf if none is."""
    return max(
        log_delta(_mechanism(parameters), analysis="local", n=1, epsilon=eps0, x0=x0, x1=x1)[1]
        for x0, x1 in ordered_pairs(parameters)
    )


def _users(certificate: Certificate, scenario: Scenario) -> Check:
    """n of the scenario again, in exact fractions of the decimal numbers in the file."""
    p = certificate.deployment.content.population
    if p.dropout is not None:
        arriving = p.users - math.ceil(Fraction(repr(p.dropout)) * p.users)
    else:
        arriving = math.floor(
            Fraction(repr(1.0 if p.participation is None else p.participation)) * p.users
        )
    batch = {"now": arriving, "minimum batch": p.minimum_batch or 0, "shuffler fails": 1}[
        scenario.name
    ]
    n = batch
    if scenario.name != "shuffler fails":
        n = batch - math.ceil(Fraction(repr(p.colluding)) * batch)
    how = f"from the population: {n:,}"
    return Check(scenario.name, f"n = {scenario.n:,}", _said(n == scenario.n), how)


def _order(scenario: Scenario) -> Check:
    same = all(_ordered(claims) for claims in (scenario.claims, scenario.composed))
    return Check(scenario.name, "lower <= upper", _said(same), "the claimed numbers")


def _ordered(claims: Sequence[AnyClaim]) -> bool:
    uppers = [c.value for c in claims if c.end == "upper" and c.value is not None]
    lowers = [c.value or 0.0 for c in claims if c.end == "lower"]
    return all(low <= high for low in lowers for high in uppers)


# --------------------------------------------------------------------------------- the ends


def _check_claim(
    certificate: Certificate, scenario: Scenario, claim: AnyClaim, report: Report = _SILENT
) -> Check:
    words = f"{claim.end} {certificate.quantity} {_shown(claim)}"
    if isinstance(claim, ComposedClaim):
        words += f" after {certificate.rounds:,} rounds"
    if claim.trust == "published" and certificate.deployment.content.accounting.trust == "all":
        words += " (published theorems)"
    try:
        verdict, how = _decide(certificate, scenario, claim, report)
    except (NotCertified, ParameterError) as error:
        verdict, how = "undecided", str(error)
    return Check(scenario.name, words, verdict, how)


def _shown(claim: AnyClaim) -> str:
    if claim.value is None:
        return "not claimed"
    if claim.log is not None and claim.value < sys.float_info.min:
        return f"e^{claim.log!r}"
    return repr(claim.value)


def _decide(
    certificate: Certificate, scenario: Scenario, claim: AnyClaim, report: Report
) -> tuple[Verdict, str]:
    if claim.value is None:
        return (
            ("holds", "nothing is claimed")
            if claim.end == "upper"
            else ("does not hold", "no number")
        )
    trivial = claim.value >= 1.0 and certificate.quantity == "delta"
    if (claim.end == "lower" and claim.value == 0.0 and claim.log is None) or (
        claim.end == "upper" and trivial
    ):
        return "holds", "trivially"
    if claim.witness is None:
        return "does not hold", "no witness is given for a number that is not trivial"
    if claim.trust == "published" and (
        claim.theorem is None or claim.theorem.provenance != "published"
    ):
        return "does not hold", "its theorem is not published"
    if claim.theorem is None or not _fits(claim):
        return "does not hold", f"a {claim.end} end cannot rest on {claim.witness.analysis}"
    if not _pairs_agree(certificate, claim):
        return "does not hold", "not the pairs of inputs its theorem asks for"
    epsilon, targets = _at(certificate, claim)
    if isinstance(claim, ComposedClaim):
        return decide_composed(
            certificate,
            scenario,
            claim,
            at=(epsilon, targets),
            calls=_calls(certificate, claim),
            compare=_compare,
            report=report,
        )
    calls = list(_calls(certificate, claim))
    parameters = certificate.deployment.content.randomizer
    if is_protocol(parameters) and claim.witness.analysis != "local":
        upper = claim.end == "upper"
        call = message_call(parameters, users=scenario.n, upper=upper)
        # Both directions: an upper end has to hold for each, a lower one is of one of them.
        both = [call | {"swap": swap} for swap in (False, True)]
        calls = both if upper else [call | {"swap": claim.witness.swap}]
    return _compare(calls, scenario.n, epsilon, targets, upper=claim.end == "upper")


def _fits(claim: AnyClaim) -> bool:
    analysis = claim.witness.analysis if claim.witness else ""
    key = claim.theorem.key if claim.theorem else ""
    if claim.end == "lower":
        return analysis == "dataset" and key in {"dataset", "family", "message-dataset"}
    return analysis != "dataset" and key == analysis


def _pairs_agree(certificate: Certificate, claim: AnyClaim) -> bool:
    parameters, witness = certificate.deployment.content.randomizer, claim.witness
    if witness is not None and witness.analysis == "dataset":
        return are_neighbours(parameters, witness.x0, witness.x1)
    if witness is None or witness.analysis != "blanket":
        return True
    if parameters["name"] == "generic":
        return False  # a family has no blanket
    if witness.pairs == "all":
        return parameters["name"] == "channel"
    wanted = set(ordered_pairs(parameters))
    listed = {tuple(pair) for pair in witness.pairs or []}
    if parameters["name"] in PARTS:
        # Pairs that others dominate need not be listed; the claim is checked for all of them.
        return bool(listed) and listed <= wanted
    return listed == wanted


def _at(certificate: Certificate, claim: AnyClaim) -> tuple[float, tuple[float, float]]:
    """Where delta is recomputed, and the float below and above the log it is compared with."""
    value = float(claim.value or 0.0)
    if certificate.quantity == "epsilon":
        return value, _log_around(certificate.at)
    if claim.log is None:
        return certificate.at, (-math.inf, -math.inf)
    if value == 0.0:
        return certificate.at, (claim.log, claim.log)
    low, high = _log_around(value)
    # Number and logarithm are both claimed: the stronger of the two is checked.
    stronger = (
        (min(low, claim.log), min(high, claim.log))
        if claim.end == "upper"
        else (max(low, claim.log), max(high, claim.log))
    )
    return certificate.at, stronger


def _log_around(value: float) -> tuple[float, float]:
    log = math.log(value)
    ulps = 2.0 * math.ulp(log)
    return log - ulps, log + ulps


def _calls(certificate: Certificate, claim: AnyClaim) -> Iterable[dict[str, Any]]:
    """Arguments of log_delta; an upper end has to hold for all of them."""
    parameters = certificate.deployment.content.randomizer
    witness = claim.witness
    if witness is None:
        return
    if witness.analysis in {"clone", "stronger-clone"}:
        eps0 = parameters.get("eps0", certificate.local_guarantee)
        if eps0 is None:
            raise ParameterError("eps0 is missing: a clone bound wanted a local guarantee")
        # Others' values may differ from the victim's in every attribute.
        if "eps0" not in parameters and _left(without_limit(parameters), eps0) > -math.inf:
            raise NotCertified(f"{eps0!r} is no local guarantee of every two values")
        yield {"mechanism": {"name": "generic", "eps0": eps0}, "analysis": witness.analysis}
        return
    if witness.analysis == "dataset":
        yield {
            "mechanism": _member(parameters, witness.member),
            "analysis": "dataset",
            "x0": witness.x0,
            "x1": witness.x1,
            "x2": witness.x2,
            "swap": witness.swap,
        }
        return
    if witness.analysis == MESSAGES:
        return
    for x0, x1 in ordered_pairs(parameters):
        yield {"mechanism": _member(parameters), "analysis": witness.analysis, "x0": x0, "x1": x1}


def _member(parameters: Mapping[str, Any], member: str | None = None) -> dict[str, Any]:
    """What is checked: the mechanism, or for a family the member its lower end is of."""
    if parameters["name"] == "generic":
        return {**_MEMBERS[member or "binary-rr"], "eps0": parameters["eps0"]}
    if member is not None:
        raise NotCertified(f"witness.member = {member!r}: wanted none, of one mechanism")
    return _mechanism(parameters)


def _mechanism(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Under the names the verifier has: BLH and OLH are local hashing with their own l."""
    found = dict(parameters)
    if found["name"] == "blh":
        found |= {"name": "local-hash", "l": 2}
    elif found["name"] == "olh":
        found |= {"name": "local-hash", "l": round(math.exp(found["eps0"])) + 1}
    return found


def _compare(
    calls: list[dict[str, Any]],
    n: int,
    epsilon: float,
    target: tuple[float, float],
    *,
    upper: bool,
) -> tuple[Verdict, str]:
    worst: Verdict = "holds"
    closest = -math.inf
    how = ""
    for call in calls:
        verdict, bracket, width = _one(call, n, epsilon, target, upper=upper)
        distance = bracket[1] if upper else -bracket[0]
        if not how or distance > closest or verdict != "holds":
            closest, how = distance, _how(call, bracket, target, width)
        if verdict == "does not hold":
            return verdict, how
        if verdict == "undecided":
            worst = verdict
    many = f"; {len(calls)} ordered pairs" if len(calls) > 2 else ""
    return worst, how + many


def _one(
    call: dict[str, Any], n: int, epsilon: float, target: tuple[float, float], *, upper: bool
) -> tuple[Verdict, tuple[float, float], float]:
    bracket, width = (-math.inf, 0.0), math.inf
    asked: dict[str, Any] = {"n": n, **call}
    # An honest claim is about what there is: it saves looking for where to cut.
    guess = target[0] if math.isfinite(target[0]) else None
    for tried in _WIDTHS:
        try:
            bracket = log_delta(**asked, epsilon=epsilon, rel=tried, guess=guess)
        except NotCertified:
            if width == math.inf:
                raise
            break
        width = tried
        low, high = bracket
        if high <= target[0] if upper else low >= target[1]:
            return "holds", bracket, width
        if low > target[1] if upper else high < target[0]:
            return "does not hold", bracket, width
    return "undecided", bracket, width


def _how(
    call: dict[str, Any], bracket: tuple[float, float], target: tuple[float, float], width: float
) -> str:
    where = ""
    if "x0" in call:
        where = f" ({call['x0']}, {call['x1']}" + (
            f"; others {call['x2']})" if "x2" in call else ")"
        )
        where += " swapped" if call.get("swap") else ""
    if bracket[1] == -math.inf:
        return f"{call['analysis']}{where}: delta is exactly 0"
    middle = 0.5 * (bracket[0] + bracket[1])
    if not math.isfinite(target[0]):
        return f"{call['analysis']}{where}: log delta is {middle:.6g}, and 0 was claimed"
    slack = math.expm1(min(700.0, abs(middle - target[0])))
    side = "above" if middle > target[0] else "below"
    return f"{call['analysis']}{where}: delta {slack:.1e} {side} the claim (balls: {width:.0e})"


def _said(holds: bool) -> Verdict:  # noqa: FBT001 (a yes or no is its whole meaning)
    return "holds" if holds else "does not hold"
