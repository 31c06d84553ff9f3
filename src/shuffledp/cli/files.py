"""``shuffledp account`` and ``verify``: deployments and certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shuffledp.cli import report
from shuffledp.cli.progress import progress, teller
from shuffledp.cli.review import (
    beside,
    check_reports,
    no_warn_option,
    print_cautions,
    report_option,
    report_text,
    sha256,
    silenced,
    verify_option,
    warned,
)
from shuffledp.cli.text import print_json
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, unreadable
from shuffledp.review import Entry
from shuffledp.values.work import silent

HOLDS, FAILS, UNDECIDED = 0, 1, 3


@click.command(short_help="Account for a deployment: table, certificate, report.")
@click.argument("file", metavar="DEPLOYMENT.toml")
@click.option(
    "-o",
    "--output",
    metavar="DIRECTORY",
    help="Where the certificate goes; made if needed.  [default: .]",
)
@click.option("--plot", metavar="FILE", help="A picture: .png, .svg or .pdf.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the certificate and nothing else; files only with --output.",
)
@report_option
@verify_option
@no_warn_option
@click.pass_context
def account(
    ctx: click.Context,
    file: str,
    output: str | None,
    plot: str | None,
    as_json: bool,
    reports: tuple[str, ...],
    verified: bool,
    no_warn: tuple[str, ...],
) -> None:
    """Account for one deployment.

    A table of central eps as it runs now, at the minimum batch and if the shuffler fails, with
    theorem and assumptions; and DIRECTORY/NAME.certificate.json, which `shuffledp verify` checks.
    --plot draws eps over n. --report writes all of it in plain words, for a reviewer to sign;
    FILE.yaml is an entry for the public registry (registry.opendp.org) instead.

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

    `changed = 3` before the tables protects 3 users at once, or one person's reports.

    Warnings go to stderr, each with a name that --no-warn switches off.

    A file with tables [[group]], each with users and randomizer, in place of [population] and
    [randomizer] is a crowd: all of it says what each group's members get.
    """  # noqa: D301
    from shuffledp.certificate import to_json
    from shuffledp.deployment import load

    off = silenced(no_warn)
    check_reports(reports)
    # A curve takes longer than all the rest: Markdown has a picture where one is written.
    draw = plot is not None or any(path.lower().endswith((".html", ".htm")) for path in reports)
    source = load(file, sums=True, widened=True, groups=True)
    place = None
    if output is not None or not as_json:
        place = Path(output or ".") / _named(source)
        _make(place.parent)
    outputs = [("output", place and str(place)), ("plot", plot)]
    outputs += [("report", path) for path in reports]
    with files_written(outputs, inputs=[file]) as held:
        with progress("accounting") as status:
            tell = teller(status, source.stem)
            entry, curve = _account_for(source, draw=draw, verified=verified, off=off, tell=tell)
        entry = _illustrated(entry, curve) if reports else entry
        text = to_json(entry.certificate)
        if place is not None:
            held.write(place, text)
        if plot is not None:
            from shuffledp import plots

            plots.save(_figure(entry, curve), held.path(plot))
        for path in reports:
            picture = None if plot is None else beside(Path(plot), path)
            held.write(path, report_text(path, replace(entry, picture=picture)))
    print_cautions(entry.cautions)
    if as_json:
        click.echo(text, nl=False)
    else:
        report.print_summary(entry.certificate)
        if entry.verified is not None:
            click.echo(f"{entry.verified.headline()}\n")
        report.print_written([Path(one) for one in (place, plot, *reports) if one is not None])
    ctx.exit(_status(entry.verified or ()))


def _figure(entry: Entry, curve: Any) -> Any:
    """eps or delta over n; of a crowd by group."""
    from shuffledp.plots import account_figure, crowd_figure

    if entry.certificate.crowd:
        return crowd_figure(entry.certificate, labels=entry.labels)
    return account_figure(entry.certificate, curve, label=entry.labels[0])


def _illustrated(entry: Entry, curve: Any) -> Entry:
    """What a report says, with the figure if there is one."""
    from shuffledp.plots import svg

    if curve is None and not entry.certificate.crowd:
        return entry
    return replace(entry, drawing=svg(_figure(entry, curve)))


def _named(source: Any) -> str:
    return f"{source.stem}.certificate.json"


def _make(directory: Path) -> None:
    """Make a directory and what is missing above it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        words = f"{unreadable(error)}; wanted a directory to write to"
        raise ParameterError(f"output = {str(directory)!r}: {words}") from None


def _account_for(
    source: Any,
    *,
    draw: bool,
    verified: bool,
    off: frozenset[str],
    tell: Callable[[str], None],
) -> tuple[Entry, Any]:
    """What a report says without a figure, and the curve of one; None where nothing is drawn."""
    from shuffledp.certificate import issue, to_json
    from shuffledp.certificate.verifier import verify
    from shuffledp.deployment import account, curve_over_n

    found = account(source.deployment, report=tell)
    certificate = issue(source, found)
    drawn = draw and not certificate.crowd
    curve = curve_over_n(found, report=tell) if drawn else None
    entry = Entry(
        certificate=certificate,
        certificate_file=_named(source),
        certificate_sha256=sha256(to_json(certificate)),
        labels=report.labels_of(certificate),
        cautions=warned(certificate, off),
        silenced=sorted(off),
        verified=verify(certificate, deployment=source.path, report=tell) if verified else None,
    )
    return entry, curve


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
    from shuffledp.certificate import to_json
    from shuffledp.deployment.files import of_text

    source = of_text(text, Path(f"{stem}.toml"))
    entry, curve = _account_for(source, draw=True, verified=False, off=frozenset(), tell=silent)
    rounds = source.deployment.accounting.rounds
    upper = entry.certificate.members[0].all_rounds[0].shown("upper", digits=8)
    line = "no finite upper end" if upper == "none" else f"eps <= {upper} nats"
    line += f" after {rounds:,} rounds" if rounds > 1 else ""
    return report_text("report.html", _illustrated(entry, curve)), to_json(entry.certificate), line


# -------------------------------------------------------------------------------------- verify


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
@click.option("-v", "--verbose", is_flag=True, help="List every claim, and what is not checked.")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON, nothing else.")
@click.pass_context
def verify(
    ctx: click.Context,
    named: tuple[str, ...],
    deployment: str | None,
    table: str | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Check every claim of a certificate, by ball arithmetic.

    The deployment is accounted for again in ball arithmetic (python-flint), with more bits than
    when the numbers were issued. Theorems, assumptions, privacy unit
    and neighbouring relation are compared with what the verifier itself knows of the mechanism.
    Theorems are cited, not proved again; -v lists every claim and what is not checked.

    Of several, each is checked.

    \b
    Exit status:
      0  every claim holds
      1  a claim does not hold
      2  the file is not a certificate, or cannot be read
      3  none fails, but some could not be decided
    """  # noqa: D301
    from shuffledp.certificate import verifier

    for name, path in (("deployment", deployment), ("table", table)):
        if path is not None and len(named) > 1:
            words = f"wanted with one certificate, not with {len(named)}"
            raise ParameterError(f"{name} = {path!r}: {words}")
    of_table = None if table is None else _digest("table", table, "table of estimates")
    every = []
    for k, file in enumerate(named, 1):
        of = f"{k} of {len(named)}, {file}" if len(named) > 1 else "verify"
        with progress(f"verifying {file}") as status:
            checks = verifier.verify(
                file, deployment=deployment, table_hash=of_table, report=teller(status, of)
            )
        every.append(checks)
        if not as_json:
            report.print_checks(file, checks, verbose=verbose)
    if as_json:
        found = [[check.to_dict() for check in checks] for checks in every]
        several = [{"file": f, "checks": checks} for f, checks in zip(named, found, strict=True)]
        print_json(several if len(named) > 1 else found[0])
    ctx.exit(_status([check for checks in every for check in checks]))


def _status(checks: Sequence[Any]) -> int:
    verdicts = {check.verdict for check in checks}
    if "does not hold" in verdicts:
        return FAILS
    return UNDECIDED if "undecided" in verdicts else HOLDS


def _digest(name: str, path: str, what: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        words = f"{unreadable(error)}; wanted the {what}"
        raise ParameterError(f"{name} = {path!r}: {words}") from None
