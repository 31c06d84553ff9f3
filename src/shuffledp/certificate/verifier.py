"""Check a certificate by ball arithmetic: nothing here uses the kernel that wrote it.

The claimed numbers and the mechanism's parameters come from the certificate. The output laws are
rebuilt from the mechanism's definition and the divergence is recomputed in balls, so that a claim
is decided, rounding included, or said to be undecided. What stands beside the numbers (theorems,
provenance, assumptions, privacy unit, neighbouring relation) is compared with what the verifier's
own tables say of the mechanism; what is not looked at is listed by ``not_checked``. Theorems are
cited, not proved again: that the recorded pairs dominate all others, and that an analysis is valid,
is what the sources say.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shuffledp.ball.api import log_delta
from shuffledp.ball.binary import holds_for_all, log_delta_others
from shuffledp.ball.pairs import ordered_pairs, without_limit
from shuffledp.ball.parameters import check_parameters
from shuffledp.ball.statements import BITS, BITS_LOWER, relation_of
from shuffledp.ball.triples import log_delta_stealing
from shuffledp.certificate.composed import decide_composed, missing_composed
from shuffledp.certificate.expected import (
    AnyClaim,
    assumptions_of,
    is_protocol,
    layout_fault,
    nothing_claimed,
    privacy_unit,
    situations_of,
    statement_fault,
)
from shuffledp.certificate.messages import MESSAGES, message_call
from shuffledp.certificate.model import (
    Certificate,
    ComposedClaim,
    Scenario,
    SumsWitness,
    Witness,
    checksum,
    first_difference,
    format_of,
    read,
    to_dict,
)
from shuffledp.certificate.sums import (
    decide_sums,
    is_sums,
    sums_guarantee_fault,
    sums_relation,
    sums_view_fault,
)
from shuffledp.deployment.model import load
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.notebook import Record, Sheet, Shown
from shuffledp.verdicts import headline

__all__ = ["CITED", "Check", "Checks", "not_checked", "verify"]

Verdict = Literal["holds", "does not hold", "undecided"]
# Each is tried only if the one before could not tell.
_WIDTHS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# Randomizers that are eps0-LDP, so that a bound for all of these is none below theirs.
_MEMBERS: dict[str, dict[str, Any]] = {
    "binary-rr": {"name": "binary-rr"},
    "3-rr": {"name": "k-rr", "k": 3},
}
# Pure guarantees up to 300 nats are stated (docs/mechanisms.md); a little less, for sums that are
# rounded up beyond it.
_LARGEST_GUARANTEE = 299.0
# A number is its logarithm's exponential, rounded outward in some digits of the last place.
_AGREE = 1e-13
STEALING = "label-stealing"
# In log delta: a bound that far above a claim is not what was claimed.
_FAR = 1e-2
Report = Callable[[str], None]
_SILENT: Report = lambda _message: None  # noqa: E731


@dataclass(frozen=True)
class Check:
    """One claim and what became of it.

    Attributes
    ----------
    scenario : str
        "now", "minimum batch", "shuffler fails", "aggregator fails", or "file" for what concerns
        all of it.
    claim : str
        What is claimed, in words.
    verdict : {"holds", "does not hold", "undecided"}
        "does not hold" means that the cited analysis does not give this number, or that something
        said beside it is not so.
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


class Checks(Shown, list[Check]):
    """What a verifier found, one check a claim; a list that a notebook shows as a table."""

    def headline(self) -> str:
        """One line: VERIFIED only where every claim was recomputed and holds."""
        return headline([check.verdict for check in self])

    def records(self) -> list[Record]:
        """One row for each check."""
        return [check.to_dict() for check in self]

    def sheet(self) -> Sheet:
        """What a notebook shows."""
        rows = tuple(tuple(check.to_dict().values()) for check in self)
        head = ("situation", "claim", "verdict", "how")
        return Sheet(self.headline(), head, rows, (CITED,))


def verify(
    path: str | Path,
    *,
    deployment: str | Path | None = None,
    table_hash: str | None = None,
    report: Report = _SILENT,
) -> Checks:
    """Check every claim of a certificate file.

    Parameters
    ----------
    path : path
        The certificate.
    deployment : path, optional
        The deployment file it must be of, where that is at hand.
    table_hash : str, optional
        sha256 of the table of estimates of a run, where it is at hand.
    report : callable
        Told in a few words what is being recomputed.

    Returns
    -------
    Checks
        A list of checks. The certificate is good if every verdict is "holds".

    Raises
    ------
    ParameterError
        If the file is not a certificate, or the other not a deployment file.
    """
    certificate = read(path)
    checks = Checks(_file_checks(certificate))
    if deployment is not None:
        checks += _source_checks(certificate, deployment)
    checks += _release_checks(certificate, table_hash)
    for scenario in certificate.scenarios:
        checks.append(_users(certificate, scenario))
        checks.append(_order(certificate, scenario))
        for claim in scenario.claims:
            report(f"{scenario.name}: {claim.end} end")
            checks.append(_check_claim(certificate, scenario, claim))
        for claim in scenario.composed:
            report(f"{scenario.name}: {claim.end} end after {certificate.rounds:,} rounds")
            checks.append(_check_claim(certificate, scenario, claim, report))
    return checks


def not_checked(
    path: str | Path, *, deployment: str | Path | None = None, table_hash: str | None = None
) -> list[str]:
    """What a certificate says and nobody has checked, in words.

    Parameters
    ----------
    path, deployment, table_hash
        As for ``verify``.
    """
    certificate = read(path)
    source, release = certificate.deployment, certificate.release
    found = []
    if deployment is None:
        found += [
            f"that {source.file!r} says this (--deployment FILE compares)",
            f"the title, {source.content.title!r}, and accounting.rtol",
        ]
        if source.content.target.at_most is not None:
            found.append(f"that no more than {source.content.target.at_most!r} was wanted")
        if source.content.data is not None:
            found.append("the table data: which column, and its public domain")
    if release is not None:
        found.append(f"that a run saw {release.users:,} users")
        if table_hash is None:
            found.append(f"that its table is {release.table!r} (--table FILE compares)")
    return [
        *found,
        f"that shuffledp {certificate.shuffledp_version} wrote it",
        "the numerical widths: an end may be farther out than they say, never farther in",
    ]


CITED = (
    "Theorems are cited, not proved again: that each analysis is valid and that the "
    "pairs of inputs looked at dominate all others is what the certificate's sources say."
)

# ------------------------------------------------------------------------- what needs no balls


def _release_checks(certificate: Certificate, table_hash: str | None) -> list[Check]:
    """Of a run: the users it saw are those accounted for, and the table is the one it wrote."""
    release, checks = certificate.release, []
    if release is not None:
        users = certificate.deployment.content.population.users
        how = f"{release.users:,} users in the run, {users:,} accounted for; "
        how += f"{release.declared_users:,} were declared"
        words = "the users of the run are those accounted for"
        p = certificate.deployment.content.population
        same = release.users == users and p.participation is None and p.dropout is None
        checks.append(Check("file", words, _said(same), how))
    if table_hash is not None:
        found = "none" if release is None else f"{release.sha256[:16]}..."
        same = release is not None and release.sha256 == table_hash
        how = f"sha256 {table_hash[:16]}... against {found}"
        checks.append(Check("file", "is of this table of estimates", _said(same), how))
    return checks


def _file_checks(certificate: Certificate) -> list[Check]:
    content = certificate.deployment.content
    same = checksum(to_dict(certificate)) == certificate.checksum
    how = "its checksum matches" if same else "its checksum does not match: changed since written"
    checks = [Check("file", "unchanged since it was written", _said(same), how)]
    fault = _target_fault(certificate)
    how = fault or f"{content.target.quantity} asked for"
    checks.append(Check("file", "target is the deployment's", _said(not fault), how))
    wanted = [situation.name for situation in situations_of(content)]
    same = [s.name for s in certificate.scenarios] == wanted
    checks.append(Check("file", "says both ends of every scenario", _said(same), ", ".join(wanted)))
    checks.append(_parameters(certificate))
    checks += _view(certificate)
    checks.append(_relation(certificate))
    same = certificate.privacy_unit == privacy_unit(content)
    words = f"privacy unit: {certificate.privacy_unit}"
    checks.append(Check("file", words, _said(same), f"{content.accounting.rounds:,} rounds"))
    wanted = assumptions_of(content)
    same = certificate.assumptions == wanted
    words = f"{len(certificate.assumptions)} assumptions of the deployment"
    checks.append(Check("file", words, _said(same), "from its population"))
    checks.append(_local_guarantee(certificate))
    checks += _round_checks(certificate)
    return checks


def _source_checks(certificate: Certificate, path: str | Path) -> list[Check]:
    """That the certificate is of a deployment file, and says what that says."""
    file, source = load(path, sums=True), certificate.deployment
    same = file.sha256 == source.sha256
    how = f"sha256 {file.sha256[:16]}... against {source.sha256[:16]}..."
    checks = [Check("file", "made from this deployment file", _said(same), how)]
    written = source.content.model_dump(mode="json")
    there = file.deployment.model_dump(mode="json")
    release, how = certificate.release, "every key and value"
    if release is not None:
        # What `run` accounts for are the users that it saw.
        how = f"every key and value but the users; {release.declared_users:,} were declared"
        same = release.declared_users == there["population"]["users"]
        there["population"] |= {"users": release.users, "participation": None, "dropout": None}
        checks.append(Check("file", "the users it declares", _said(same), how))
    odd = first_difference(written, there)
    return [*checks, Check("file", "says what that file says", _said(not odd), odd or how)]


def _parameters(certificate: Certificate) -> Check:
    """That the mechanism's table has the parameters it has here, and no other."""
    parameters = certificate.deployment.content.randomizer
    claim = f"parameters of {parameters['name']}"
    try:
        check_parameters(parameters)
    except ParameterError as error:
        return Check("file", claim, "does not hold", str(error))
    except NotCertified as error:
        return Check("file", claim, "undecided", str(error))
    return Check("file", claim, "holds", "those of its definition, all given")


def _view(certificate: Certificate) -> list[Check]:
    """That what the analyst sees is what the deployment says, where it is not all messages."""
    if certificate.view is None and not is_sums(certificate):
        return []
    claim = "view: sums" if certificate.view is None else f"view: {certificate.view.words}"
    try:
        fault = sums_view_fault(certificate)
    except NotCertified as error:
        return [Check("file", claim, "undecided", str(error))]
    return [Check("file", claim, _said(not fault), fault or "of the deployment")]


def _relation(certificate: Certificate) -> Check:
    """That the neighbouring relation is the mechanism's, as a value and in words."""
    given = certificate.neighbouring_relation
    claim = str(given.get("words"))
    try:
        if is_sums(certificate):
            relation, words = sums_relation(certificate)
        else:
            relation, words = relation_of(certificate.deployment.content.randomizer)
    except NotCertified as error:
        return Check("file", claim, "undecided", str(error))
    odd = first_difference(given, {**relation, "words": words})
    return Check("file", claim, _said(not odd), odd or "of the mechanism")


def _round_checks(certificate: Certificate) -> list[Check]:
    """That rounds are the deployment's, and that what is said of them is complete."""
    rounds = certificate.deployment.content.accounting.rounds
    missing = missing_composed(certificate)
    if certificate.format != format_of(rounds):
        missing = f"{certificate.format!r} is not the format of {rounds:,} rounds"
    if rounds == certificate.rounds == 1 and not missing:
        return []
    same = rounds == certificate.rounds and not missing
    how = missing or f"{rounds:,} asked for"
    return [Check("file", f"rounds = {certificate.rounds:,}", _said(same), how)]


def _local_guarantee(certificate: Certificate) -> Check:
    eps0 = certificate.local_guarantee
    parameters = certificate.deployment.content.randomizer
    if is_sums(certificate):
        return _sums_guarantee(certificate)
    claim = f"local guarantee eps0 <= {eps0!r}, of any two values"
    if eps0 is None:
        return _no_guarantee(parameters)
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


def _sums_guarantee(certificate: Certificate) -> Check:
    """Of all coordinates that a neighbour changes, or that none is left out where there is one."""
    eps0 = certificate.local_guarantee
    claim = f"local guarantee eps0 <= {eps0!r}, of any two neighbours' reports"
    if eps0 is None:
        claim = "no pure local guarantee is claimed"
    try:
        fault = sums_guarantee_fault(certificate)
    except (NotCertified, ParameterError) as error:
        return Check("file", claim, "undecided", str(error))
    return Check("file", claim, _said(not fault), fault or "log ratios of the coordinates changed")


def _no_guarantee(parameters: Mapping[str, Any]) -> Check:
    """That none is left out where there is one."""
    claim = "no pure local guarantee is claimed"
    if parameters["name"] == "generic":
        return Check("file", claim, "does not hold", "the family has one")
    try:
        left = _left(parameters, _LARGEST_GUARANTEE)
    except (NotCertified, ParameterError) as error:
        return Check("file", claim, "undecided", str(error))
    if left == -math.inf:
        return Check("file", claim, "does not hold", "the mechanism has one")
    return Check("file", claim, "holds", f"something is left at eps = {_LARGEST_GUARANTEE:g}")


def _left(parameters: Mapping[str, Any], eps0: float) -> float:
    """log of the divergence that is left at eps0, of any two values; -inf if none is."""
    mechanism = without_limit(_mechanism(parameters))
    return max(
        log_delta(mechanism, analysis="local", n=1, epsilon=eps0, x0=x0, x1=x1)[1]
        for x0, x1 in ordered_pairs(without_limit(parameters))
    )


def _users(certificate: Certificate, scenario: Scenario) -> Check:
    """n of the scenario again, in exact fractions of the decimal numbers in the file."""
    found = {s.name: s for s in situations_of(certificate.deployment.content)}.get(scenario.name)
    claim = f"n = {scenario.n:,}: {scenario.how}"
    if found is None:
        return Check(scenario.name, claim, "does not hold", "the deployment has no such scenario")
    same = (scenario.n, scenario.how) == (found.n, found.how)
    how = "from the population" + ("" if same else f": {found.n:,}, {found.how}")
    return Check(scenario.name, claim, _said(same), how)


def _order(certificate: Certificate, scenario: Scenario) -> Check:
    claim = "lower <= upper"
    try:
        faults = [
            layout_fault(certificate, scenario.claims, last=""),
            layout_fault(certificate, scenario.composed, last="composition")
            if certificate.rounds > 1
            else "",
        ]
    except NotCertified as error:
        return Check(scenario.name, claim, "undecided", str(error))
    fault = next(filter(None, faults), "")
    same = all(_ordered(claims) for claims in (scenario.claims, scenario.composed))
    return Check(scenario.name, claim, _said(same and not fault), fault or "the claimed numbers")


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
    fault = (
        _target_fault(certificate)
        or statement_fault(certificate, claim)
        or _number_fault(certificate, claim)
    )
    if fault:
        return "does not hold", fault
    if nothing_claimed(claim) or claim.witness is None:
        return "holds", "nothing is claimed"
    if claim.end == "upper" and certificate.quantity == "delta" and claim.value == 1.0:
        return "holds", "trivially"
    epsilon, targets = _at(certificate, claim)
    if is_sums(certificate):
        return decide_sums(certificate, scenario, claim, at=(epsilon, targets), report=report)
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


def _target_fault(certificate: Certificate) -> str:
    """Whether what is bounded, and at what, is what the deployment asks for."""
    target = certificate.deployment.content.target
    same = (certificate.quantity, certificate.at) == (target.quantity, target.value)
    return "" if same else f"the deployment asks for {target.quantity} at {target.value!r}"


def _number_fault(certificate: Certificate, claim: AnyClaim) -> str:
    """Whether a number and its logarithm, which deltas have, are the same claim."""
    if claim.value is not None and math.copysign(1.0, claim.value) < 0.0:
        return f"{claim.value!r}: wanted no sign"
    if certificate.quantity == "epsilon":
        return "" if claim.log is None else "log: wanted null, for an epsilon"
    if claim.value is None or (claim.value == 0.0 and claim.log is None):
        return ""
    if claim.log is None or claim.log > 0.0 or claim.value > 1.0:
        return "wanted a delta of at most 1 and its logarithm"
    if claim.value < sys.float_info.min:
        # Rounded outward among the last floats: the logarithm is what is claimed.
        rounded = math.exp(claim.log)
        near = abs(claim.value - rounded) <= 4 * math.ulp(0.0)
        outward = claim.value >= rounded if claim.end == "upper" else claim.value <= rounded
        return "" if near and outward else "the number and its logarithm disagree"
    agree = abs(math.log(claim.value) - claim.log) <= _AGREE * max(1.0, abs(claim.log))
    return "" if agree else "the number and its logarithm disagree"


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
    if witness is None or isinstance(witness, SumsWitness):
        return
    if witness.analysis in {"clone", "stronger-clone"}:
        eps0 = parameters.get("eps0", certificate.local_guarantee)
        if eps0 is None:
            raise ParameterError("eps0 is missing: a clone bound wanted a local guarantee")
        if "eps0" not in parameters and _left(parameters, eps0) > -math.inf:
            raise NotCertified(f"{eps0!r} is no local guarantee of every two values")
        yield {"mechanism": {"name": "generic", "eps0": eps0}, "analysis": witness.analysis}
        return
    if witness.analysis == STEALING:
        free = [numbers.model_dump() for numbers in witness.free or ()]
        yield {"mechanism": _mechanism(parameters), "analysis": STEALING, "free": free}
        return
    if witness.analysis in {BITS, BITS_LOWER}:
        yield {"mechanism": _mechanism(parameters), "analysis": witness.analysis, **_held(witness)}
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


def _held(witness: Witness) -> dict[str, Any]:
    """Who holds what, of one-bit reports; nothing where all data sets are looked at."""
    if witness.others is None:
        return {}
    return {"x0": witness.x0, "x1": witness.x1, "others": witness.others}


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
    if call["analysis"] == STEALING:
        return _stolen(call, n, epsilon, target)
    if call["analysis"] in {BITS, BITS_LOWER}:
        return _bits(call, n, epsilon, target)
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


def _stolen(
    call: dict[str, Any], n: int, epsilon: float, target: tuple[float, float]
) -> tuple[Verdict, tuple[float, float], float]:
    """The bound by label stealing with the claim's own free numbers: an upper end, no bracket."""
    guess = target[0] if math.isfinite(target[0]) else None
    high = log_delta_stealing(call["mechanism"], call["free"], n=n, epsilon=epsilon, guess=guess)
    bracket = (-math.inf, high)
    if high <= target[0]:
        return "holds", bracket, 0.0
    # What is little above may be no more than a step that was chosen otherwise.
    return "does not hold" if high > target[1] + _FAR else "undecided", bracket, 0.0


def _bits(
    call: dict[str, Any], n: int, epsilon: float, target: tuple[float, float]
) -> tuple[Verdict, tuple[float, float], float]:
    """One-bit reports: all data sets by halving, or the one that is named."""
    mechanism = call["mechanism"]
    if call["analysis"] == BITS:
        holds, seen = holds_for_all(mechanism, n=n, epsilon=epsilon, log_claimed=target[0])
        # Where it fails a data set was seen whose delta is not below that.
        wrong = not holds and seen > target[1]
        verdict: Verdict = "holds" if holds else "does not hold" if wrong else "undecided"
        return verdict, (seen, seen), 0.0
    data = {key: call[key] for key in ("x0", "x1", "others")}
    bracket = log_delta_others(mechanism, **data, n=n, epsilon=epsilon)
    if bracket[0] >= target[1]:
        return "holds", bracket, 0.0
    return "does not hold" if bracket[1] < target[0] else "undecided", bracket, 0.0


def _how(
    call: dict[str, Any], bracket: tuple[float, float], target: tuple[float, float], width: float
) -> str:
    where = ""
    if call["analysis"] == STEALING:
        slack = math.expm1(min(700.0, abs(bracket[1] - target[0])))
        side = "above" if bracket[1] > target[0] else "below"
        return f"{STEALING}, its free numbers as given: the bound is {slack:.1e} {side} the claim"
    if call["analysis"] == BITS:
        slack = math.expm1(min(700.0, abs(bracket[1] - target[0])))
        side = "above" if bracket[1] > target[0] else "below"
        return f"{BITS}, all data sets: the bound is {slack:.1e} {side} the claim"
    if "others" in call:
        held = ", ".join(f"{count:,} others {x}" for x, count in call["others"])
        where = f" ({call['x0']}, {call['x1']}; {held})"
    elif "x0" in call:
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
