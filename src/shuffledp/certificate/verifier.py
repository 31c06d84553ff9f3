"""Check a certificate by ball arithmetic, with more bits and finer cells than wrote it.

The claimed numbers and the mechanism's parameters come from the certificate. The output laws are
rebuilt from the mechanism's definition and the divergence is recomputed in balls, so that a claim
is decided, rounding included, or said to be undecided. The laws and the kernel are those of the
library, but nothing is searched for. A bracket of a profile that is far from an estimate in plain
floats is refused. What stands beside the numbers (theorems, provenance, assumptions, privacy unit,
neighbouring relation) is compared with what the verifier's own tables say of the mechanism; what is
not looked at is listed by ``not_checked``. Theorems are cited, not proved again: that the recorded
pairs dominate all others, and that an analysis is valid,
is what the sources say.
"""

from __future__ import annotations

from pathlib import Path

from shuffledp.certificate.checks import (
    CITED,
    SILENT,
    Check,
    Checks,
    Report,
    other_name,
    said,
)
from shuffledp.certificate.composed import missing_composed
from shuffledp.certificate.crowd_model import CrowdCertificate, read_any
from shuffledp.certificate.crowds import crowd_not_checked, verify_crowd
from shuffledp.certificate.decide import check_claim, target_fault
from shuffledp.certificate.expected import (
    assumptions_of,
    layout_fault,
    ordered,
    privacy_unit,
    release_fault,
    situations_of,
)
from shuffledp.certificate.files import first_difference
from shuffledp.certificate.mechanism import guarantee_check, parameters_check
from shuffledp.certificate.model import Certificate, Scenario, checksum, format_of, to_dict
from shuffledp.certificate.sums import (
    is_sums,
    sums_relation,
    sums_view_fault,
)
from shuffledp.certificate.widened import widened_relation
from shuffledp.deployment.files import load
from shuffledp.errors import NotCertified

__all__ = ["CITED", "Check", "Checks", "not_checked", "verify"]


def verify(
    path: str | Path,
    *,
    deployment: str | Path | None = None,
    table_hash: str | None = None,
    report: Report = SILENT,
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
    certificate = read_any(path)
    if isinstance(certificate, CrowdCertificate):
        return verify_crowd(
            certificate, deployment=deployment, table_hash=table_hash, report=report
        )
    checks = Checks(_file_checks(certificate))
    if deployment is not None:
        checks += _source_checks(certificate, deployment)
    checks += _release_checks(certificate, table_hash)
    for scenario in certificate.scenarios:
        checks.append(_users(certificate, scenario))
        checks.append(_order(certificate, scenario))
        for claim in scenario.claims:
            report(f"{scenario.name}: {claim.end} end")
            checks.append(check_claim(certificate, scenario, claim))
        for claim in scenario.composed:
            report(f"{scenario.name}: {claim.end} end after {certificate.rounds:,} rounds")
            checks.append(check_claim(certificate, scenario, claim, report))
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
    certificate = read_any(path)
    if isinstance(certificate, CrowdCertificate):
        return crowd_not_checked(certificate, deployment=deployment)
    source, release = certificate.deployment, certificate.release
    found = other_name(source.file, deployment)
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
        found.append(f"that a run saw {release.users:,} users; {release.left_out()}")
        if deployment is None:
            found.append(f"that {release.declared_users:,} users were declared")
        if table_hash is None:
            found.append(f"that its table is {release.table!r} (--table FILE compares)")
        else:
            found.append(f"that its table was called {release.table!r}: bytes are compared")
    return [
        *found,
        f"that shuffledp {certificate.shuffledp_version} wrote it",
        "the numerical widths: an end may be farther out than they say, never farther in",
    ]


# ------------------------------------------------------------------------- what needs no balls


def _release_checks(certificate: Certificate, table_hash: str | None) -> list[Check]:
    """Of a run: the users it saw are those accounted for, and the table is the one it wrote."""
    release, checks = certificate.release, []
    if release is not None:
        users = certificate.deployment.content.population.users
        how = f"{release.users:,} users in the run, {users:,} accounted for; "
        how += f"{release.declared_users:,} were declared; {release.left_out()}"
        words = "the users of the run are those accounted for, others left out where it is said"
        fault = release_fault(certificate)
        how += f"; {fault}" * bool(fault)
        checks.append(Check("file", words, said(not fault), how))
    if table_hash is not None:
        found = "none" if release is None else f"{release.sha256[:16]}..."
        same = release is not None and release.sha256 == table_hash
        how = f"sha256 {table_hash[:16]}... against {found}"
        checks.append(Check("file", "is of this table of estimates", said(same), how))
    return checks


def _file_checks(certificate: Certificate) -> list[Check]:
    content = certificate.deployment.content
    same = checksum(to_dict(certificate)) == certificate.checksum
    how = "its checksum matches" if same else "its checksum does not match: changed since written"
    checks = [Check("file", "unchanged since it was written", said(same), how)]
    fault = target_fault(certificate)
    how = fault or f"{content.target.quantity} asked for"
    checks.append(Check("file", "target is the deployment's", said(not fault), how))
    wanted = [situation.name for situation in situations_of(content)]
    same = [s.name for s in certificate.scenarios] == wanted
    checks.append(Check("file", "says both ends of every scenario", said(same), ", ".join(wanted)))
    checks.append(parameters_check(certificate))
    checks += _view(certificate)
    checks.append(_relation(certificate))
    same = certificate.privacy_unit == privacy_unit(content)
    words = f"privacy unit: {certificate.privacy_unit}"
    checks.append(Check("file", words, said(same), f"{content.accounting.rounds:,} rounds"))
    wanted = assumptions_of(content)
    same = certificate.assumptions == wanted
    words = f"{len(certificate.assumptions)} assumptions of the deployment"
    checks.append(Check("file", words, said(same), "from its population"))
    checks.append(guarantee_check(certificate))
    checks += _round_checks(certificate)
    return checks


def _source_checks(certificate: Certificate, path: str | Path) -> list[Check]:
    """That the certificate is of a deployment file, and says what that says."""
    file, source = load(path, sums=True, widened=True), certificate.deployment
    same = file.sha256 == source.sha256
    how = f"sha256 {file.sha256[:16]}... against {source.sha256[:16]}..."
    checks = [Check("file", "made from this deployment file", said(same), how)]
    written = source.content.model_dump(mode="json")
    there = file.deployment.model_dump(mode="json")
    release, how = certificate.release, "every key and value"
    if release is not None:
        # What `run` accounts for are the users that it saw.
        how = f"every key and value but the users; {release.declared_users:,} were declared"
        same = release.declared_users == there["population"]["users"]
        there["population"] |= {"users": release.users, "participation": None, "dropout": None}
        checks.append(Check("file", "the users it declares", said(same), how))
    odd = first_difference(written, there)
    return [*checks, Check("file", "says what that file says", said(not odd), odd or how)]


def _view(certificate: Certificate) -> list[Check]:
    """That what the analyst sees is what the deployment says, where it is not all messages."""
    if certificate.view is None and not is_sums(certificate):
        return []
    claim = "view: sums" if certificate.view is None else f"view: {certificate.view.words}"
    try:
        fault = sums_view_fault(certificate)
    except NotCertified as error:
        return [Check("file", claim, "undecided", str(error))]
    return [Check("file", claim, said(not fault), fault or "of the deployment")]


def _relation(certificate: Certificate) -> Check:
    """That the neighbouring relation is the mechanism's, as a value and in words."""
    given = certificate.neighbouring_relation
    claim = str(given.get("words"))
    try:
        if is_sums(certificate):
            relation, words = sums_relation(certificate)
        else:
            relation, words = widened_relation(certificate.deployment.content)
    except NotCertified as error:
        return Check("file", claim, "undecided", str(error))
    odd = first_difference(given, {**relation, "words": words})
    return Check("file", claim, said(not odd), odd or "of the mechanism")


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
    return [Check("file", f"rounds = {certificate.rounds:,}", said(same), how)]


def _users(certificate: Certificate, scenario: Scenario) -> Check:
    """n of the scenario again, in exact fractions of the decimal numbers in the file."""
    found = {s.name: s for s in situations_of(certificate.deployment.content)}.get(scenario.name)
    claim = f"n = {scenario.n:,}: {scenario.how}"
    if found is None:
        return Check(scenario.name, claim, "does not hold", "the deployment has no such scenario")
    same = (scenario.n, scenario.how) == (found.n, found.how)
    how = "from the population" + ("" if same else f": {found.n:,}, {found.how}")
    return Check(scenario.name, claim, said(same), how)


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
    same = all(ordered(claims) for claims in (scenario.claims, scenario.composed))
    return Check(scenario.name, claim, said(same and not fault), fault or "the claimed numbers")
