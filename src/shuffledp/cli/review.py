"""``--report`` of ``account``: what is written for who signs; and the warnings of both commands."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from shuffledp.errors import ParameterError, rejected
from shuffledp.review import (
    BY_DEFAULT,
    NAMES,
    Caution,
    audit_report,
    cautions,
    check_names,
    report,
    to_html,
    to_markdown,
)
from shuffledp.review.registry import check_file_name, registry_entry

_WRITERS: dict[str, Callable[[Any], str]] = {
    ".html": to_html,
    ".htm": to_html,
    ".md": to_markdown,
}
# An entry for the public registry of deployments, which is no report to sign.
_REGISTRY = ".yaml"
# What a build of packages sets, so that the same input gives the same bytes (reproducible-builds).
_EPOCH = "SOURCE_DATE_EPOCH"
_LAST_SECOND = 253402300799  # 9999-12-31, the last day that has a date of four digits

report_option = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    help="A report to sign, one file: .html (prints to PDF) or .md; or .yaml, an entry for the "
    "public registry. May be repeated.",
)
verify_option = click.option(
    "--verify",
    "verified",
    is_flag=True,
    help="Verify the certificates too; the report has the verdict, the exit status is verify's.",
)
no_warn_option = click.option(
    "--no-warn",
    "no_warn",
    multiple=True,
    metavar="NAME",
    help=f"Do not warn of this: {', '.join(NAMES)}; or all.",
)


def check_reports(paths: Sequence[str]) -> None:
    """Refuse a report whose ending is not one that is written."""
    endings = (*_WRITERS, _REGISTRY)
    for path in paths:
        ending = Path(path).suffix.lower()
        if ending not in endings:
            raise rejected("report", path, f"a file name ending in {', '.join(endings)}")
        if ending == _REGISTRY:
            check_file_name(Path(path).name, "report")
    _today()  # what is wrong with the date is said before the work


def silenced(names: Sequence[str]) -> frozenset[str]:
    """The warnings that are switched off."""
    return frozenset(NAMES) if "all" in names else check_names("no-warn", names)


def warned(certificate: Any, off: frozenset[str], *, expected: int | None = None) -> list[Caution]:
    """All warnings of a certificate but those that are switched off."""
    return [one for one in cautions(certificate, expected=expected) if one.name not in off]


def print_cautions(found: Sequence[Caution]) -> None:
    """One line each on stderr, of those that most files do not deserve."""
    for caution in found:
        if caution.name in BY_DEFAULT:
            click.echo(str(caution), err=True)


def report_text(path: str, entry: Any) -> str:
    """The report as the file's ending asks for it."""
    if Path(path).suffix.lower() == _REGISTRY:
        return registry_entry(
            entry.certificate,
            label=entry.label,
            certificate_file=entry.certificate_file,
            certificate_sha256=entry.certificate_sha256,
        )
    return _WRITERS[Path(path).suffix.lower()](report(entry, date=_today()))


def audit_text(path: str, saved: Any) -> str:
    """An audit as a report of its own."""
    return _WRITERS[Path(path).suffix.lower()](audit_report(saved, date=_today()))


def sha256(text: str) -> str:
    """The hash of the file that the text is written as."""
    return hashlib.sha256(text.encode()).hexdigest()


def beside(picture: Path, path: str) -> str:
    """Where the picture lies, seen from the report."""
    return Path(os.path.relpath(picture, Path(path).parent)).as_posix()


def _today() -> str:
    given = os.environ.get(_EPOCH)
    if given is None:
        return dt.datetime.now(dt.timezone.utc).date().isoformat()
    whole = given.isascii() and given.isdigit() and len(given) <= len(str(_LAST_SECOND))
    if not whole or int(given) > _LAST_SECOND:
        words = f"{_EPOCH} = {given!r}: wanted whole seconds since 1970, up to {_LAST_SECOND}"
        raise ParameterError(words)
    return dt.datetime.fromtimestamp(int(given), dt.timezone.utc).date().isoformat()
