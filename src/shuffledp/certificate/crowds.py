"""Check the certificate of a crowd: every group's claims, by ball arithmetic.

What rests on all groups is recomputed here from the groups' mechanisms. What rests on the own group
alone is a claim about one mechanism among all users who run it, and is decided as any other.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffledp.ball.assumptions import allowed_assumptions, relation_of
from shuffledp.ball.crowd_words import (
    COMMON,
    DATASET,
    STEALING,
    alone_assumptions,
    crowd_assumptions,
    crowd_lower_statement,
    crowd_relation,
    crowd_upper_statement,
    own_users,
)
from shuffledp.ball.groups import Kind, kinds_of
from shuffledp.ball.statements import (
    lower_statement,
    named_statement,
    upper_statement,
)
from shuffledp.bounds.crowds import Stealing, common_pair, set_of
from shuffledp.bounds.data_sets import DataSet
from shuffledp.bounds.profile import Profile
from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import Check, Checks, Report, Verdict, other_name, said
from shuffledp.certificate.composed import compared
from shuffledp.certificate.crowd_model import (
    CrowdCertificate,
    CrowdClaim,
    CrowdScenario,
    CrowdWitness,
    Members,
    crowd_dict,
)
from shuffledp.certificate.decide import (
    FAR,
    WIDTHS,
    check_claim,
    claimed_at,
    number_fault,
    or_undecided,
    shown,
    target_fault,
)
from shuffledp.certificate.expected import nothing_claimed, ordered
from shuffledp.certificate.files import first_difference
from shuffledp.certificate.mechanism import guarantee_check, parameters_check
from shuffledp.certificate.model import Certificate, Claim, Scenario, checksum
from shuffledp.certificate.model import Statement as Written
from shuffledp.deployment.groups import load_crowd
from shuffledp.errors import NotCertified
from shuffledp.kernel.crowd_sum import Free
from shuffledp.theorems import Theorem

__all__ = ["crowd_not_checked", "verify_crowd"]

_NOW, _FAILS = "now", "shuffler fails"
_UNIT = "one user's one report"
_ALONE = "every message is seen with its sender: nothing hides it"
Target = tuple[float, float]
Groups = list[tuple[dict[str, Any], int]]


class _Group:
    """One group of a certificate, and what the deployment leaves no choice about."""

    def __init__(self, certificate: CrowdCertificate, k: int) -> None:
        content = certificate.deployment.content
        self.groups: Groups = [(one.randomizer, one.users) for one in content.group]
        self.k, self.certificate = k, certificate
        self.mechanism, self.users = self.groups[k]
        self.total = sum(users for _, users in self.groups)
        self.own = own_users(self.groups, k)
        self.plain: Certificate = certificate.of_group(k)

    @property
    def found(self) -> Members:
        """What the certificate says of it."""
        return self.certificate.members[self.k]

    def named(self, what: str = "") -> str:
        """Where a check stands."""
        return f"group {self.k}{', ' if what else ''}{what}"

    def situations(self) -> list[tuple[str, int, str]]:
        """Name, n and words of every situation, in order."""
        rest = self.total - self.users
        how = f"{self.users:,} users of group {self.k} and {rest:,} of other groups = "
        return [(_NOW, self.total, f"{how}{self.total:,}"), (_FAILS, 1, _ALONE)]


def verify_crowd(
    certificate: CrowdCertificate,
    *,
    deployment: str | Path | None,
    table_hash: str | None,
    report: Report,
) -> Checks:
    """Check every claim of a crowd's certificate.

    Parameters
    ----------
    certificate : CrowdCertificate
        As it was read.
    deployment, table_hash, report
        As for ``verify``.
    """
    checks = Checks(_file_checks(certificate))
    if deployment is not None:
        checks += _source_checks(certificate, deployment)
    if table_hash is not None:
        how = f"sha256 {table_hash[:16]}... against none"
        checks.append(Check("file", "is of this table of estimates", "does not hold", how))
    if len(certificate.members) != len(certificate.deployment.content.group):
        return checks
    for k in range(len(certificate.members)):
        group = _Group(certificate, k)
        checks += _group_checks(group)
        for scenario in group.found.scenarios:
            checks.append(_order(group, scenario))
            for claim in scenario.claims:
                report(f"{group.named(scenario.name)}: {claim.end} end")
                checks += _claim(group, scenario, claim)
    return checks


def crowd_not_checked(certificate: CrowdCertificate, *, deployment: str | Path | None) -> list[str]:
    """What a crowd's certificate says and nobody has checked, in words."""
    source = certificate.deployment
    found = other_name(source.file, deployment)
    if deployment is None:
        found += [
            f"that {source.file!r} says this (--deployment FILE compares)",
            f"the title, {source.content.title!r}, and accounting.rtol",
        ]
        if source.content.target.at_most is not None:
            found.append(f"that no more than {source.content.target.at_most!r} was wanted")
    return [
        *found,
        f"that shuffledp {certificate.shuffledp_version} wrote it",
        "the numerical widths: an end may be farther out than they say, never farther in",
        "that reports of different groups are written alike: it is assumed where it is said",
    ]


# --------------------------------------------------------------------------------- of the file


def _file_checks(certificate: CrowdCertificate) -> list[Check]:
    content = certificate.deployment.content
    same = checksum(crowd_dict(certificate)) == certificate.checksum
    how = "its checksum matches" if same else "its checksum does not match: changed since written"
    checks = [Check("file", "unchanged since it was written", said(same), how)]
    target = content.target
    same = (certificate.quantity, certificate.at) == (target.quantity, target.value)
    how = f"the deployment asks for {target.quantity} at {target.value!r}"
    checks.append(Check("file", "target is the deployment's", said(same), how))
    same = certificate.privacy_unit == _UNIT
    checks.append(Check("file", f"privacy unit: {certificate.privacy_unit}", said(same), "1 round"))
    given = [(one.group, one.users) for one in certificate.members]
    wanted = [(k, one.users) for k, one in enumerate(content.group)]
    same, claim = given == wanted, f"says what the members of all {len(wanted)} groups get"
    how = ", ".join(f"group {k}: {users:,} users" for k, users in wanted)
    return [*checks, Check("file", claim, said(same), how)]


def _source_checks(certificate: CrowdCertificate, path: str | Path) -> list[Check]:
    file, source = load_crowd(path), certificate.deployment
    same = file.sha256 == source.sha256
    how = f"sha256 {file.sha256[:16]}... against {source.sha256[:16]}..."
    checks = [Check("file", "made from this deployment file", said(same), how)]
    there = file.deployment.model_dump(mode="json")
    odd = first_difference(source.content.model_dump(mode="json"), there)
    how = odd or "every key and value"
    return [*checks, Check("file", "says what that file says", said(not odd), how)]


# -------------------------------------------------------------------------------- of a group


def _group_checks(group: _Group) -> Iterator[Check]:
    name, found = group.named(), group.found
    # As of one mechanism, and said of the group.
    plain = (parameters_check(group.plain), guarantee_check(group.plain))
    yield from (replace(check, scenario=name) for check in plain)
    claim = str(found.neighbouring_relation.get("words"))
    try:
        wanted = crowd_relation(*relation_of(group.mechanism), group.k)
    except NotCertified as error:
        yield Check(name, claim, "undecided", str(error))
    else:
        odd = first_difference(found.neighbouring_relation, wanted)
        yield Check(name, claim, said(not odd), odd or "of the mechanism and the groups")
    given = [(one.name, one.n, one.how) for one in found.scenarios]
    words = "; ".join(f"{one.name}: n = {one.n:,}, {one.how}" for one in found.scenarios)
    yield Check(name, words, said(given == group.situations()), "from the groups of the file")


def _order(group: _Group, scenario: CrowdScenario) -> Check:
    """Both ends under the file's trust, then what published theorems give where that is more."""
    trust = group.certificate.deployment.content.accounting.trust
    wanted = [("upper", trust), ("lower", trust)]
    best = scenario.claims[0] if scenario.claims else None
    name, claim = group.named(scenario.name), "lower <= upper"
    try:
        if best is not None and best.value is not None and best.witness is not None:
            theorem = _statement(group, scenario, best)
            if theorem is not None and theorem.provenance != "published":
                wanted.append(("upper", "published"))
    except NotCertified as error:
        return Check(name, claim, "undecided", str(error))
    if [(one.end, one.trust) for one in scenario.claims] != wanted:
        listed = ", ".join(f"{end} ({trusted})" for end, trusted in wanted)
        return Check(name, claim, "does not hold", f"wanted the ends {listed}")
    same = ordered(scenario.claims)
    return Check(name, claim, said(same), "the claimed numbers")


# -------------------------------------------------------------------------------- of a claim


def _claim(group: _Group, scenario: CrowdScenario, claim: CrowdClaim) -> Iterator[Check]:
    words = f"{claim.end} {group.certificate.quantity} {shown(claim)}"
    if (
        claim.trust == "published"
        and group.certificate.deployment.content.accounting.trust == "all"
    ):
        words += " (published theorems)"
    verdict, how = or_undecided(lambda: _verdict(group, scenario, claim))
    yield Check(group.named(scenario.name), words, verdict, how)


def _verdict(group: _Group, scenario: CrowdScenario, claim: CrowdClaim) -> tuple[Verdict, str]:
    fault = target_fault(group.plain) or _fault(group, scenario, claim)
    if fault:
        return "does not hold", fault
    return _decided(group, scenario, claim)


def _statement(group: _Group, scenario: CrowdScenario, claim: CrowdClaim) -> Theorem | None:
    """The theorem that an end of this analysis rests on; None where there is none."""
    analysis, failed = claim.witness.analysis if claim.witness else "", scenario.name == _FAILS
    if failed and claim.end == "upper":
        return upper_statement(group.mechanism, analysis)
    if failed:
        if analysis == "dataset":
            return lower_statement(group.mechanism)
        return named_statement(group.mechanism, analysis)
    wanted = crowd_upper_statement if claim.end == "upper" else crowd_lower_statement
    return wanted(group.groups, group.k, analysis)


def _assumptions(group: _Group, scenario: CrowdScenario, claim: CrowdClaim) -> tuple[str, ...]:
    if claim.end == "lower" or claim.witness is None:
        return ()
    if scenario.name == _FAILS:
        return alone_assumptions(group.mechanism)
    return crowd_assumptions(group.groups, group.k, claim.witness.analysis)


def _fault(group: _Group, scenario: CrowdScenario, claim: CrowdClaim) -> str:
    """What is wrong with what a claim says beside its number; empty if nothing is."""
    if nothing_claimed(claim):
        rest = (claim.theorem, claim.witness, claim.log)
        empty = all(one is None for one in rest) and not claim.assumptions
        return "" if empty else "wanted no theorem, witness or assumption where nothing is claimed"
    if claim.value is None or claim.witness is None:
        what = "number" if claim.value is None else "witness"
        return f"no {what} is given for an end that is not trivial"
    if isinstance(claim.witness, CrowdWitness) and scenario.name == _FAILS:
        return "witness: wanted none of all groups, where nothing hides a message"
    wanted = _statement(group, scenario, claim)
    if wanted is None:
        return f"a {claim.end} end of this group cannot rest on {claim.witness.analysis}"
    if claim.trust == "published" and wanted.provenance != "published":
        return f"its theorem is not published: {wanted.source}"
    given = {} if claim.theorem is None else claim.theorem.model_dump()
    for key, value in wanted.to_dict().items():
        if given.get(key) != value:
            return f"theorem.{key}: wanted {value!r}"
    if tuple(claim.assumptions) != _assumptions(group, scenario, claim):
        return "not the assumptions of its theorem"
    if isinstance(claim.witness, CrowdWitness):
        return _shape_fault(group, claim.witness) or number_fault(group.plain, claim)
    return ""


def _shape_fault(group: _Group, witness: CrowdWitness) -> str:
    """Whether the witness gives what its analysis needs, and nothing that is not looked at."""
    wanted = {STEALING: {"free"}, COMMON: set(), DATASET: {"x0", "x1", "others"}}
    for key in ("free", "x0", "x1", "others"):
        if (getattr(witness, key) is not None) != (key in wanted[witness.analysis]):
            what = "some" if key in wanted[witness.analysis] else "none"
            return f"witness.{key}: wanted {what}"
    kind = _kind(group)
    if witness.free is not None:
        pairs, sizes = len(kind.pairs[group.k]), _others(group)
        if len(witness.free) != pairs or any(len(one.shares) != sizes for one in witness.free):
            return f"witness.free: wanted {pairs} sets of numbers, {sizes} shares in each"
    if witness.others is None:
        return ""
    if _place(kind, group.k, witness.x0) is None or _place(kind, group.k, witness.x1) is None:
        return f"witness: wanted two of the inputs {kind.inputs[group.k]!r} as x0 and x1"
    if json.dumps(witness.x0) == json.dumps(witness.x1):
        return "witness: x0 and x1 are the same"
    sizes = [users - (k == group.k) for k, (_, users) in enumerate(group.groups)]
    if [count for _, count in witness.others] != sizes:
        return f"witness.others: wanted {sizes} of them"
    if any(_place(kind, k, x) is None for k, (x, _) in enumerate(witness.others)):
        return "witness.others: wanted an input of each group's mechanism"
    return ""


def _others(group: _Group) -> int:
    """In how many groups there is somebody else."""
    return sum(users > (k == group.k) for k, (_, users) in enumerate(group.groups))


def _kind(group: _Group) -> Kind:
    kind = kinds_of([mechanism for mechanism, _ in group.groups])
    if kind is None:
        raise NotCertified("a crowd whose groups' messages are of different sets")
    return kind


def _place(kind: Kind, k: int, x: Any) -> int | None:
    """Which of a group's inputs it is, written as that is written."""
    known = [json.dumps(value) for value in kind.inputs[k]]
    said_as = json.dumps(x)
    return known.index(said_as) if said_as in known else None


# ---------------------------------------------------------------------------------- the numbers


def _decided(group: _Group, scenario: CrowdScenario, claim: CrowdClaim) -> tuple[Verdict, str]:
    if nothing_claimed(claim):
        return "holds", "nothing is claimed"
    if not isinstance(claim.witness, CrowdWitness):
        return _of_one_mechanism(group, scenario, claim)
    if claim.end == "upper" and group.certificate.quantity == "delta" and claim.value == 1.0:
        return "holds", "trivially"
    epsilon, target = claimed_at(group.plain, claim)
    if claim.witness.analysis == STEALING:
        return _stolen(group, claim.witness, epsilon, target)
    if claim.witness.analysis == COMMON:
        return _common(group, epsilon, target)
    return _data_set(group, claim.witness, epsilon, target)


def _of_one_mechanism(
    group: _Group, scenario: CrowdScenario, claim: CrowdClaim
) -> tuple[Verdict, str]:
    """A claim about the own group alone: about its mechanism among all users who run it."""
    failed, analysis = scenario.name == _FAILS, claim.witness.analysis if claim.witness else ""
    theorem = upper_statement(group.mechanism, analysis) if claim.end == "upper" else None
    words: list[str] = []
    if claim.end == "upper":
        (found,) = allowed_assumptions(group.mechanism, analysis)
        words = list(found)
    said_there = claim.theorem if theorem is None else Written(**theorem.to_dict())  # type: ignore[arg-type]
    alone = Claim.model_construct(**{**dict(claim), "theorem": said_there, "assumptions": words})
    n = 1 if failed else group.own
    situation = Scenario.model_construct(
        name=scenario.name, n=n, how=scenario.how, claims=[alone], composed=[]
    )
    check = check_claim(group.plain, situation, alone)
    alike = "" if failed or n == group.total else f"{n:,} users of this mechanism alone: "
    return check.verdict, f"{alike}{check.how}"


def _stolen(
    group: _Group, witness: CrowdWitness, epsilon: float, target: Target
) -> tuple[Verdict, str]:
    """An upper end with the claim's own free numbers."""
    free = [
        (Free(one.gain, one.loss, one.theta, tuple(one.shares)), one.alpha, one.smoothing)
        for one in witness.free or ()
    ]
    high = Stealing(group.groups, _kind(group), group.k).recomputed(epsilon, free)
    far = apart("the bound is", high, target[0])
    how = f"{STEALING}, its free numbers as given: {far}"
    if high <= target[0]:
        return "holds", how
    # What is little above may be no more than a step that was chosen otherwise.
    return ("does not hold" if high > target[1] + FAR else "undecided"), how


def _common(group: _Group, epsilon: float, target: Target) -> tuple[Verdict, str]:
    """The blanket of all groups, for every pair of the victim's inputs."""
    worst: Verdict = "holds"
    closest, how = -math.inf, ""
    for pair in _kind(group).pairs[group.k]:
        verdict, bracket, width = _bracketed(group, pair, epsilon, target)
        if not how or bracket[1] > closest or verdict != "holds":
            closest = bracket[1]
            _, how = compared(bracket, target, f"{COMMON} (balls: {width:.0e})", upper=True)
        if verdict == "does not hold":
            return verdict, how
        worst = verdict if verdict == "undecided" else worst
    return worst, how


def _bracketed(
    group: _Group, pair: tuple[int, int], epsilon: float, target: Target
) -> tuple[Verdict, Target, float]:
    profile = Profile(common_pair(group.groups, _kind(group), group.k, pair))
    bracket, width = (-math.inf, 0.0), math.inf
    for tried in WIDTHS:
        found = profile.log_delta(epsilon, width=tried)
        bracket, width = (found.low, found.high), tried
        if bracket[1] <= target[0]:
            return "holds", bracket, width
        if bracket[0] > target[1]:
            return "does not hold", bracket, width
    return "undecided", bracket, width


def _data_set(
    group: _Group, witness: CrowdWitness, epsilon: float, target: Target
) -> tuple[Verdict, str]:
    """A lower end by what a test tells of the data set that is named."""
    kind, k = _kind(group), group.k
    pair = (_place(kind, k, witness.x0) or 0, _place(kind, k, witness.x1) or 0)
    held = [_place(kind, i, x) or 0 for i, (x, _) in enumerate(witness.others or ())]
    laws = functools.partial(set_of, group.groups, kind, k, pair, held)
    low = DataSet(laws, group.total, {}).log_delta(epsilon, again=True)
    words = ", ".join(
        f"{count:,} of group {i} hold {x}" for i, (x, count) in enumerate(witness.others or ())
    )
    far = apart("the best test shows", low, target[1])
    how = f"{DATASET} ({witness.x0}, {witness.x1}; {words}): {far}"
    if low >= target[1]:
        return "holds", how
    # What is little below may be no more than a test that was chosen otherwise.
    return ("does not hold" if low < target[0] - FAR else "undecided"), how
