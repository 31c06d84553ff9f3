"""``shuffledp account``, ``verify`` and ``schema``: deployments and certificates."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from shuffledp import _check
from shuffledp.cli import report
from shuffledp.cli.crowd import Asked, account_crowds
from shuffledp.cli.extras import load_certificate, load_deployment, load_plots, load_verifier
from shuffledp.cli.folder import (
    FIGURES,
    figure_option,
    figure_writer,
    files_in,
    out_option,
    refuse_others,
    text_writer,
)
from shuffledp.cli.given import files_given
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.cli.progress import progress, teller
from shuffledp.cli.review import (
    audit_option,
    audits_of,
    beside,
    check_reports,
    no_warn_option,
    print_cautions,
    report_option,
    report_text,
    sha256,
    silenced,
    verify_option,
    verify_text,
    warned,
)
from shuffledp.cli.text import end_text, print_json
from shuffledp.errors import ParameterError, unreadable
from shuffledp.review import Entry, Verified
from shuffledp.values.verdicts import headline

HOLDS, FAILS, UNDECIDED = 0, 1, 3


@click.command(short_help="Account for deployments: table, certificate, figure.")
@click.argument("named", nargs=-1, required=True, metavar="DEPLOYMENT.toml...")
@out_option
@figure_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the certificate (a list of several) and nothing else; files only with --out.",
)
@report_option
@verify_option
@audit_option
@no_warn_option
@click.pass_context
def account(
    ctx: click.Context,
    named: tuple[str, ...],
    out: str | None,
    figure: str,
    as_json: bool,
    reports: tuple[str, ...],
    verified: bool,
    audits: tuple[str, ...],
    no_warn: tuple[str, ...],
) -> None:
    """Account for one deployment, or compare several.

    A folder stands for the files *.toml in it, a pattern for those that match, and - for standard
    input, whose outputs are named after stdin.

    For each file: a table of central eps as it runs now, at the minimum batch and if the shuffler
    fails, with theorem and assumptions; DIRECTORY/NAME.certificate.json, which `shuffledp verify`
    checks; and DIRECTORY/NAME.png, eps over n. Several files also give comparison.png. --report
    writes all of it in plain words, for a reviewer to sign. No file is written before all are
    computed; a certificate of that name is replaced if it is of the same deployment file, else
    refused.

    \b
    A deployment file:
      title = "Telemetry, 50 values"
      [population]
      users = 500_000          # asked for a report
      participation = 0.6      # or dropout = 0.4: share that arrives, or not
      minimum_batch = 10_000   # the shuffler releases no smaller batch
      colluding = 0.05         # share of a batch whose senders tell the analyst
      [randomizer]
      name = "k-rr"            # shuffledp list mechanisms
      k = 50
      eps0 = 4.0
      [target]
      delta = 1e-8             # or epsilon = 0.5, then delta is bounded
      at_most = 0.5            # optional: what the other one may be
      [shuffler]               # optional, where it is not one perfect shuffler
      distance = 1e-9          # total variation of the order from a uniform one
      shards = 4               # each shuffled on its own; assignment = "secret" if nobody knows
      dummies = 1_000          # reports it adds; fills = true: also in the place of absent users
      [accounting]             # optional
      trust = "all"            # or "published"
      rounds = 1               # in which every user takes part

    `changed = 3` before the tables protects so many users at once, or one person's reports.

    Warnings go to stderr, each with a name that --no-warn switches off.

    A file with tables [[group]], each with users and randomizer, in place of [population] and
    [randomizer] is a crowd: all of it says what each group's members get.
    """  # noqa: D301
    _check.choice("figure", figure, FIGURES)
    check_reports(reports)
    if audits and not reports:
        raise ParameterError("audit: wanted --report beside it, which has the audit as a section")
    asked = Asked(
        out, figure, reports, silenced(no_warn), as_json=as_json, verified=verified, audits=audits
    )
    with files_given(named, ending=".toml", what="deployment file") as given:
        files = given.paths
        crowds = [load_deployment().is_crowd(file) for file in files]
        if any(crowds) and not all(crowds):
            one, other = (Path(files[crowds.index(kind)]).name for kind in (True, False))
            raise ParameterError(
                f"{one} is a crowd of groups and {other} is not: wanted files of one kind at a time"
            )
        if audits and any(crowds):
            raise ParameterError("audit: wanted a deployment of one mechanism, not a crowd")
        checks = account_crowds(files, asked) if any(crowds) else _account_all(files, asked)
        ctx.exit(_status([check for found in checks for check in found]))


def _account_all(files: tuple[str, ...], asked: Asked) -> list[Sequence[Any]]:
    """All but crowds; the verifier's checks of each, if they were wanted."""
    out, figure, reports, off = asked.out, asked.figure, asked.reports, asked.off
    if asked.verified:
        load_verifier()  # what is missing is said before the work
    sources = _load_all(files)
    audited = audits_of(asked.audits, sources)
    directory = None if out is None and asked.as_json else Path(out or ".")
    plots = load_plots() if figure != "none" and directory is not None else None
    names = [] if directory is None else _names(sources, figure)
    with (
        files_in(
            directory,
            names,
            inputs=[*files, *asked.audits],
            more=[("report", path) for path in reports],
        ) as held,
        progress("accounting") as status,
    ):
        if directory is not None:
            refuse_others(directory, sources)
        draw = plots is not None or (bool(reports) and figure != "none")
        done = []
        for k, source in enumerate(sources, 1):
            of = f"{k} of {len(sources)}, " if len(sources) > 1 else ""
            tell = teller(status, f"{of}{source.stem}")
            done.append(_account_for(source, draw=draw, verified=asked.verified, tell=tell))
        if directory is not None:
            for name, write in _writers(done, plots, figure).items():
                write(held.path(directory / name))
        for path in reports:
            pictures = directory if plots is not None else None
            entries = [
                replace(_entry(one, path, pictures, figure, off), audited=found)
                for one, found in zip(done, audited, strict=True)
            ]
            held.write(path, report_text(path, entries))
    _print_done(done, off, as_json=asked.as_json)
    if directory is not None and not asked.as_json:
        report.print_written([*(directory / name for name in names), *map(Path, reports)])
    return [one.verified.checks for one in done if one.verified]


def _print_done(done: Sequence[_Done], off: frozenset[str], *, as_json: bool) -> None:
    """What was computed on stdout, what to be warned of on stderr."""
    several = len(done) > 1
    for one in done:
        file = one.source.path.name if several else ""
        print_cautions(warned(one.certificate, off), file=file)
    if as_json:
        to_dict = load_certificate().to_dict
        content = [to_dict(one.certificate) for one in done]
        print_json(content if several else content[0])
        return
    for one in done:
        report.print_account(one.source, one.account, one.certificate)
        if one.verified is not None:
            click.echo(headline([check.verdict for check in one.verified.checks]) + "\n")
    if several:
        report.print_comparison([one.account for one in done])


def _entry(one: _Done, path: str, pictures: Path | None, figure: str, off: frozenset[str]) -> Entry:
    """A deployment of a report; ``pictures`` is where its figure is written, if it is."""
    picture = None if pictures is None else pictures / f"{one.source.stem}.{figure}"
    return Entry(
        certificate=one.certificate,
        certificate_file=f"{one.source.stem}.certificate.json",
        certificate_sha256=sha256(load_certificate().to_json(one.certificate)),
        labels=[mechanism_label(one.account.deployment.randomizer)],
        cautions=warned(one.certificate, off),
        silenced=sorted(off),
        drawing=_drawing(one),
        picture=None if picture is None else beside(picture, path),
        verified=one.verified,
    )


def _drawing(one: _Done) -> bytes | None:
    """The figure of a report."""
    if one.curve is None:
        return None
    plots = load_plots()
    label = mechanism_label(one.account.deployment.randomizer)
    return plots.svg(plots.account_figure(one.account, one.curve, label=label))


@click.command(short_help="Check certificates: compute their numbers again.")
@click.argument("named", nargs=-1, required=True, metavar="CERTIFICATE.json...")
@click.option(
    "--deployment",
    metavar="FILE",
    help="Deployment file the certificate must be of: sha256 and content.",
)
@click.option(
    "--table", metavar="FILE", help="Estimates of a run the certificate must be of (their sha256)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON, nothing else.")
@click.pass_context
def verify(
    ctx: click.Context,
    named: tuple[str, ...],
    deployment: str | None,
    table: str | None,
    as_json: bool,
) -> None:
    """Check every claim of a certificate, by ball arithmetic.

    The numbers are recomputed from the mechanism's definition in ball arithmetic (python-flint),
    with more bits and finer cells than when they were issued. Theorems, assumptions, privacy unit
    and neighbouring relation are compared with what the verifier itself knows of the mechanism.
    What is not checked is listed. Theorems are cited, not proved again.

    Of several, each is checked. A folder stands for the files *.certificate.json in it, a pattern
    for those that match, and - for standard input.

    \b
    Exit status:
      0  every claim holds
      1  a claim does not hold
      2  the file is not a certificate, or cannot be read
      3  none fails, but some could not be decided
    """  # noqa: D301
    verifier = load_verifier()
    with files_given(named, ending=".certificate.json", what="certificate") as given:
        files = given.paths
        for name, path in (("deployment", deployment), ("table", table)):
            if path is not None and len(files) > 1:
                words = f"wanted with one certificate, not with {len(files)}"
                raise ParameterError(f"{name} = {path!r}: {words}")
        of_table = None if table is None else _digest("table", table, "table of estimates")
        every = []
        for k, (file, name) in enumerate(zip(files, given.names, strict=True), 1):
            of = f"{k} of {len(files)}, {name}" if len(files) > 1 else "verify"
            with progress(f"verifying {name}") as status:
                tell = teller(status, of)
                checks = verifier.verify(
                    file, deployment=deployment, table_hash=of_table, report=tell
                )
                left = verifier.not_checked(file, deployment=deployment, table_hash=of_table)
            every.append(checks)
            if not as_json:
                report.print_checks(name, checks, left)
        if as_json:
            found = [[check.to_dict() for check in checks] for checks in every]
            several = [
                {"file": name, "checks": checks}
                for name, checks in zip(given.names, found, strict=True)
            ]
            print_json(several if len(files) > 1 else found[0])
        elif len(files) > 1:
            report.print_verdicts(given.names, every)
        ctx.exit(_status([check for checks in every for check in checks]))


def _status(checks: Sequence[Any]) -> int:
    verdicts = {check.verdict for check in checks}
    if "does not hold" in verdicts:
        return FAILS
    return UNDECIDED if "undecided" in verdicts else HOLDS


# ------------------------------------------------------------------------------------- account


@dataclass(frozen=True)
class _Done:
    source: Any
    account: Any
    curve: Any
    certificate: Any
    verified: Verified | None = None


def _load_all(files: tuple[str, ...]) -> list[Any]:
    deployments = load_deployment()
    sources = [deployments.load(file, sums=True, widened=True) for file in files]
    stem, times = Counter(source.stem for source in sources).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"file name {stem!r} is given {times} times: wanted different names")
    return sources


def _account_for(source: Any, *, draw: bool, verified: bool, tell: Callable[[str], None]) -> _Done:
    deployments, certificates = load_deployment(), load_certificate()
    found = deployments.account(source.deployment, report=tell)
    curve = deployments.curve_over_n(found, report=tell) if draw else None
    certificate = certificates.issue(source, found)
    said = verify_text(certificates.to_json(certificate), source, tell) if verified else None
    return _Done(source, found, curve, certificate, said)


def report_of(text: str, *, stem: str) -> tuple[str, str, str]:
    """What ``account`` writes of a deployment file that is not one yet.

    Parameters
    ----------
    text : str
        The deployment file's text.
    stem : str
        Its name, without an ending.

    Returns
    -------
    tuple of str
        The report as HTML, the certificate as JSON, and a line with the end it certifies.
    """
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        path = Path(folder) / f"{stem}.toml"
        path.write_bytes(text.encode())
        try:
            source = load_deployment().load(path, sums=True, widened=True)
        except ParameterError as error:
            raise ParameterError(str(error).removeprefix(f"{path}: ")) from None
        done = _account_for(source, draw=True, verified=False, tell=lambda _: None)
    entry = _entry(done, "report.html", None, "none", frozenset())
    now = done.account.situations[0]
    upper = end_text(now.composed or now.bound, up=True, digits=8)
    rounds = source.deployment.accounting.rounds
    line = "no finite upper end" if upper == "none" else f"eps <= {upper} nats"
    line += f" after {rounds:,} rounds" if rounds > 1 else ""
    return report_text("report.html", [entry]), load_certificate().to_json(done.certificate), line


def _names(sources: Sequence[Any], kind: str) -> list[str]:
    """What ``account`` writes: ``_writers`` makes the same, once there is something to write."""
    names = []
    for source in sources:
        names += [f"{source.stem}.certificate.json", f"{source.stem}.{kind}"]
    one_kind = len({source.deployment.target.quantity for source in sources}) == 1
    if len(sources) > 1 and one_kind:
        names.append(f"comparison.{kind}")
    return [name for name in dict.fromkeys(names) if kind != "none" or not name.endswith(".none")]


def _writers(done: list[_Done], plots: Any, kind: str) -> dict[str, Callable[[Path], None]]:
    """File name -> what writes it."""
    found: dict[str, Callable[[Path], None]] = {}
    to_json = load_certificate().to_json
    for one in done:
        text = to_json(one.certificate)
        found[f"{one.source.stem}.certificate.json"] = text_writer(text)
        if plots is not None:
            label = mechanism_label(one.account.deployment.randomizer)
            drawn = plots.account_figure(one.account, one.curve, label=label)
            found[f"{one.source.stem}.{kind}"] = figure_writer(plots, drawn, kind)
    same_kind = len({one.account.deployment.target.quantity for one in done}) == 1
    if plots is not None and len(done) > 1 and same_kind:
        drawn = plots.comparison_figure([o.account for o in done], [o.curve for o in done])
        found.setdefault(f"comparison.{kind}", figure_writer(plots, drawn, kind))
    return found


def _digest(name: str, path: str, what: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        words = f"{unreadable(error)}; wanted the {what}"
        raise ParameterError(f"{name} = {path!r}: {words}") from None
