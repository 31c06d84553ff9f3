"""Check a certificate: account for its deployment again, with more bits than wrote it.

An account is a function of the deployment. Each setting is accounted for again in balls; a claim
holds if it is no better than what is found, without the margin that certificates have, and says the
same theorem, assumptions and neighbours. An end that is far from an estimate in plain floats is
refused. Mechanisms' laws, the kernel and the tables of theorems and sentences are those of the
library that issues certificates: ``Checks.left`` says so, and lists what else is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shuffledp.arithmetic.balls import more_bits
from shuffledp.certificate.checks import CITED, Check, Checks, said
from shuffledp.certificate.decide import check_claim, estimate_check, guarantee_check
from shuffledp.certificate.files import first_difference, read
from shuffledp.certificate.issue import claims_of
from shuffledp.certificate.model import Certificate, Claim, checksum, to_dict
from shuffledp.deployment.accounting import answer_of
from shuffledp.deployment.files import load
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.setting import Setting, settings_of
from shuffledp.errors import ParameterError
from shuffledp.values.work import Report, silent

__all__ = ["CITED", "Check", "Checks", "verify"]

Place = tuple[int, str, int]
# Bits beyond those of whoever issued the certificate.
_MORE_BITS = 64
SHARED = (
    "the mechanisms' laws, the kernel and the tables of theorems: they are those of the library "
    "that issues certificates, asked again with more bits; theorems are cited"
)


def verify(
    certificate: Certificate | str | Path,
    *,
    deployment: str | Path | None = None,
    table_hash: str | None = None,
    report: Report = silent,
) -> Checks:
    """Check every claim of a certificate.

    Parameters
    ----------
    certificate : Certificate or path
        The certificate, or its file.
    deployment : path, optional
        The deployment file it must be of, where that is at hand.
    table_hash : str, optional
        sha256 of the table of estimates of a run, where it is at hand.
    report : callable
        Told in a few words what is being recomputed.

    Returns
    -------
    Checks
        A list of checks, and what was not checked. The certificate is good if every verdict is
        "holds".

    Raises
    ------
    ParameterError
        If the file is not a certificate, or the other not a deployment file.
    """
    if not isinstance(certificate, Certificate):
        certificate = read(certificate)
    left = _not_checked(certificate, deployment, table_hash)
    checks = Checks(_file_checks(certificate), left)
    if deployment is not None:
        checks += _source_checks(certificate, deployment)
    checks += _release_checks(certificate, table_hash)
    settings = list(settings_of(certificate.deployment.content))
    groups = len({one.group for one in settings})
    guarantees = certificate.local_guarantees
    if len(guarantees) != groups:
        how = f"{len(guarantees)}, wanted {groups}"
        checks.append(Check("file", "local guarantees", "does not hold", how))
        return checks
    for one in settings:
        if one.situation == "now" and one.rounds == 1:
            where = f"group {one.group}" if certificate.crowd else "file"
            checks.append(guarantee_check(one, guarantees[one.group], where))
    for one in settings:
        after = f" after {one.rounds:,} rounds" if one.rounds > 1 else ""
        report(f"{one.name}: {one.n:,} {one.one.unit}{after}")
        checks += _setting_checks(one, [claim for claim in certificate.claims if one.is_of(claim)])
    return checks


def _setting_checks(setting: Setting, claims: Sequence[Claim]) -> Iterator[Check]:
    """All claims of a setting, which is accounted for again."""
    try:
        with more_bits(_MORE_BITS):
            answer = answer_of(setting, margin=False)
            estimate = estimate_check(answer)
    except (ParameterError, ArithmeticError) as error:
        yield Check(setting.name, "both ends", "undecided", f"not checked: {error}")
        return
    again = list(claims_of(answer))
    yield _both_ends(setting, claims, again)
    for claim, found in zip(claims, again, strict=False):
        yield check_claim(claim, found, setting.name)
    if estimate is not None:
        yield estimate


def _not_checked(
    certificate: Certificate, deployment: str | Path | None, table_hash: str | None
) -> list[str]:
    """What a certificate says and nobody has checked, in words."""
    source, release = certificate.deployment, certificate.release
    content = source.content
    found: list[str] = []
    if deployment is not None and Path(deployment).name != source.file:
        words = "bytes and keys are compared"
        found.append(f"that the deployment file was called {source.file!r}: {words}")
    if deployment is None:
        found += [
            f"that {source.file!r} says this (--deployment FILE compares)",
            f"the title, {content.title!r}, and accounting.rtol",
        ]
        if content.target.at_most is not None:
            found.append(f"that no more than {content.target.at_most!r} was wanted")
        if content.data is not None:
            found.append("the table data: which column, and its public domain")
        if content.audit is not None:
            found.append("the table audit: what an audit asks")
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
        SHARED,
        *(["that reports of different groups are written alike"] * certificate.crowd),
    ]


# ------------------------------------------------------------------------- what needs no balls


def _file_checks(certificate: Certificate) -> Iterator[Check]:
    same = checksum(to_dict(certificate)) == certificate.checksum
    how = "its checksum matches" if same else "its checksum does not match: changed since written"
    yield Check("file", "unchanged since it was written", said(same), how)
    wanted = [_place(one) for one in settings_of(certificate.deployment.content)]
    given = list(dict.fromkeys(_place(claim) for claim in certificate.claims))
    how = "; ".join(dict.fromkeys(name for _, name, _ in wanted))
    yield Check("file", "says both ends of every situation", said(given == wanted), how)


def _place(one: Setting | Claim) -> Place:
    return one.group, one.situation, one.rounds


def _both_ends(setting: Setting, claims: Sequence[Claim], again: Sequence[Claim]) -> Check:
    """The ends that the setting has, in order; no lower end above an upper one."""
    claim = f"n = {setting.n:,}: {setting.how}; lower <= upper"
    wanted = [(one.end, one.trust) for one in again]
    if [(one.end, one.trust) for one in claims] != wanted:
        listed = ", ".join(f"{end} ({trusted})" for end, trusted in wanted)
        return Check(setting.name, claim, "does not hold", f"wanted the ends {listed}")
    uppers = [one.value for one in claims if one.end == "upper" and one.value is not None]
    lowers = [one.value or 0.0 for one in claims if one.end == "lower"]
    same = all(low <= high for low in lowers for high in uppers)
    return Check(setting.name, claim, said(same), "from the deployment, and the claimed numbers")


def _source_checks(certificate: Certificate, path: str | Path) -> Iterator[Check]:
    """Check that the certificate is of a deployment file, and says what that says."""
    source, release = certificate.deployment, certificate.release
    file = load(path, sums=True, widened=True, groups=True)
    same = file.sha256 == source.sha256
    how = f"sha256 {file.sha256[:16]}... against {source.sha256[:16]}..."
    yield Check("file", "made from this deployment file", said(same), how)
    written = source.content.model_dump(mode="json")
    there, how = file.deployment.model_dump(mode="json"), "every key and value"
    if release is not None and not file.deployment.group:
        # What `run` accounts for are the users that it saw.
        how = f"every key and value but the users; {release.declared_users:,} were declared"
        same = release.declared_users == there["population"]["users"]
        there["population"] |= {"users": release.users, "participation": None, "dropout": None}
        yield Check("file", "the users it declares", said(same), how)
    odd = first_difference(written, there)
    yield Check("file", "says what that file says", said(not odd), odd or how)


def _release_checks(certificate: Certificate, table_hash: str | None) -> Iterator[Check]:
    """Check that a run saw the users accounted for, and that the table is the one it wrote."""
    release, content = certificate.release, certificate.deployment.content
    if release is not None:
        words = "the users of the run are those accounted for, others left out where it is said"
        fault = "a crowd's file has no runs"
        if not content.group:
            fault = _release_fault(certificate, content)
        how = f"{release.users:,} users in the run; {release.declared_users:,} were declared; "
        how += release.left_out() + f"; {fault}" * bool(fault)
        yield Check("file", words, said(not fault), how)
    if table_hash is not None:
        found = "none" if release is None else f"{release.sha256[:16]}..."
        same = release is not None and release.sha256 == table_hash
        how = f"sha256 {table_hash[:16]}... against {found}"
        yield Check("file", "is of this table of estimates", said(same), how)


def _release_fault(certificate: Certificate, content: Deployment) -> str:
    """What is wrong with what a certificate says of its run; empty if nothing is."""
    release, p = certificate.release, content.population
    if release is None:
        return ""
    if release.users != p.users or p.participation is not None or p.dropout is not None:
        return f"wanted the {p.users:,} users accounted for"
    allowed = (False, False) if content.data is None else content.data.left_out()
    for key, may in zip(("nulls", "outside"), allowed, strict=True):
        if getattr(release, key) and not may:
            return f"wanted no row left out: data.{key} does not ask for it"
    return ""
