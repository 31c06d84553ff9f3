"""``shuffledp account`` and ``verify``: deployments and certificates."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.cli import report
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
    warned,
)
from shuffledp.cli.text import print_json
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, unreadable
from shuffledp.review import Audited, Entry, comparison, to_text

HOLDS, FAILS, UNDECIDED = 0, 1, 3


@click.command(short_help="Account for deployments: table, certificate, report.")
@click.argument("named", nargs=-1, required=True, metavar="DEPLOYMENT.toml...")
@click.option(
    "-o",
    "--output",
    metavar="DIRECTORY",
    help="Where certificates go; made if needed.  [default: .]",
)
@click.option("--plot", metavar="FILE", help="A picture: .png, .svg or .pdf.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the certificate (a list of several) and nothing else; files only with --output.",
)
@report_option
@verify_option
@audit_option
@no_warn_option
@click.pass_context
def account(
    ctx: click.Context,
    named: tuple[str, ...],
    output: str | None,
    plot: str | None,
    as_json: bool,
    reports: tuple[str, ...],
    verified: bool,
    audits: tuple[str, ...],
    no_warn: tuple[str, ...],
) -> None:
    """Account for one deployment, or compare several.

    For each file: a table of central eps as it runs now, at the minimum batch and if the shuffler
    fails, with theorem and assumptions; and DIRECTORY/NAME.certificate.json, which `shuffledp
    verify` checks. --plot draws eps over n, of several files in one picture. --report writes all of
    it in plain words, for a reviewer to sign; FILE.yaml is an entry for the public registry
    (registry.opendp.org) instead. No file is written before all are computed.

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
    if audits and not reports:
        raise ParameterError("audit: wanted --report beside it, which has the audit as a section")
    off = silenced(no_warn)
    check_reports(reports, several=len(named) > 1)
    # A curve takes longer than all the rest: Markdown has a picture where one is written.
    draw = plot is not None or any(path.lower().endswith((".html", ".htm")) for path in reports)
    sources = _load_all(named)
    if plot is not None and len(sources) > 1:
        _check_comparable(sources)
    audited = audits_of(audits, sources)
    directory = None if output is None and as_json else Path(output or ".")
    places = [] if directory is None else [directory / _named(source) for source in sources]
    outputs = [("output", str(place)) for place in places]
    outputs += [("plot", plot), *(("report", path) for path in reports)]
    if directory is not None:
        _make(directory)
    with files_written(outputs, inputs=[*named, *audits]) as held:
        done = _account_all(sources, audited, draw=draw, verified=verified)
        for place, one in zip(places, done, strict=False):
            held.write(place, one.text)
        if plot is not None:
            from shuffledp import plots

            plots.save(_figure(done), held.path(plot))
        for path in reports:
            pictured = plot if len(done) == 1 else None
            held.write(path, report_text(path, [_entry(one, path, pictured, off) for one in done]))
    _print_done(done, off, as_json=as_json)
    if not as_json:
        report.print_written([*places, *map(Path, filter(None, [plot, *reports]))])
    ctx.exit(_status([check for one in done for check in one.verified or ()]))


@dataclass(frozen=True)
class _Done:
    """A deployment, or a crowd of groups, and what was found for it; ``text`` is the certificate's.

    ``curve`` is of eps over n, for the figure; ``verified`` are the verifier's ``Checks``.
    """

    source: Any
    account: Any
    certificate: Any
    text: str
    curve: Any
    audited: Sequence[Audited]
    verified: Any

    @property
    def labels(self) -> list[str]:
        """Each mechanism in a few words."""
        return report.labels_of(self.certificate)


def _load_all(files: Sequence[str]) -> list[Any]:
    from shuffledp.deployment import load

    sources = [load(file, sums=True, widened=True, groups=True) for file in files]
    stem, times = Counter(source.stem for source in sources).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"file name {stem!r} is given {times} times: wanted different names")
    return sources


def _check_comparable(sources: Sequence[Any]) -> None:
    """ParameterError for deployments that one picture cannot hold."""
    if any(source.deployment.group for source in sources):
        raise ParameterError("plot: wanted one file at a time, with a crowd of groups among them")
    if len({source.deployment.target.quantity for source in sources}) > 1:
        raise ParameterError("plot: wanted files that all bound eps, or all delta")


def _named(source: Any) -> str:
    return f"{source.stem}.certificate.json"


def _make(directory: Path) -> None:
    """Make a directory and what is missing above it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        words = f"{unreadable(error)}; wanted a directory to write to"
        raise ParameterError(f"output = {str(directory)!r}: {words}") from None


def _account_all(
    sources: Sequence[Any], audited: Sequence[Sequence[Audited]], *, draw: bool, verified: bool
) -> list[_Done]:
    done = []
    with progress("accounting") as status:
        for k, (source, found) in enumerate(zip(sources, audited, strict=True), 1):
            of = f"{k} of {len(sources)}, " if len(sources) > 1 else ""
            tell = teller(status, f"{of}{source.stem}")
            done.append(_account_for(source, found, draw=draw, verified=verified, tell=tell))
    return done


def _account_for(
    source: Any,
    audited: Sequence[Audited],
    *,
    draw: bool,
    verified: bool,
    tell: Callable[[str], None],
) -> _Done:
    from shuffledp.certificate import issue, to_json
    from shuffledp.certificate.verifier import verify
    from shuffledp.deployment import account, curve_over_n

    found = account(source.deployment, report=tell)
    draw = draw and not source.deployment.group
    curve = curve_over_n(found, report=tell) if draw else None
    certificate = issue(source, found)
    text = to_json(certificate)
    said = verify(certificate, deployment=source.path, report=tell) if verified else None
    return _Done(source, found, certificate, text, curve, audited, said)


def _figure(done: Sequence[_Done]) -> Any:
    """The picture of one deployment, or of several that are compared."""
    from shuffledp.plots import account_figure, crowd_figure

    labels = done[0].labels
    if done[0].certificate.crowd:
        return crowd_figure(done[0].account, labels=labels)
    if len(done) > 1:
        labels = [one.certificate.deployment.content.title for one in done]
    return account_figure([one.account for one in done], [one.curve for one in done], labels=labels)


def _print_done(done: Sequence[_Done], off: frozenset[str], *, as_json: bool) -> None:
    """What was computed on stdout, what to be warned of on stderr."""
    several = len(done) > 1
    for one in done:
        file = one.source.path.name if several else ""
        print_cautions(warned(one.certificate, off), file=file)
    if as_json:
        content = [json.loads(one.text) for one in done]
        print_json(content if several else content[0])
        return
    for one in done:
        report.print_summary(one.certificate)
        if one.verified is not None:
            click.echo(f"{one.verified.headline()}\n")
    if several:
        titles = [(one.certificate, one.certificate.deployment.content.title) for one in done]
        click.echo(to_text([comparison(titles)]) + "\n")


def _entry(one: _Done, path: str, pictured: str | None, off: frozenset[str]) -> Entry:
    """A deployment of a report; ``pictured`` is where its figure is written, if it is."""
    drawing = None
    if one.curve is not None or one.certificate.crowd:
        from shuffledp.plots import svg

        drawing = svg(_figure([one]))
    return Entry(
        certificate=one.certificate,
        certificate_file=_named(one.source),
        certificate_sha256=sha256(one.text),
        labels=one.labels,
        cautions=warned(one.certificate, off),
        silenced=sorted(off),
        drawing=drawing,
        picture=None if pictured is None else beside(Path(pictured), path),
        verified=one.verified,
        audited=one.audited,
    )


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
    from shuffledp.deployment.files import of_text

    source = of_text(text, Path(f"{stem}.toml"))
    done = _account_for(source, (), draw=True, verified=False, tell=lambda _: None)
    entry = _entry(done, "report.html", None, frozenset())
    rounds = source.deployment.accounting.rounds
    upper = done.certificate.members[0].all_rounds[0].shown("upper", digits=8)
    line = "no finite upper end" if upper == "none" else f"eps <= {upper} nats"
    line += f" after {rounds:,} rounds" if rounds > 1 else ""
    return report_text("report.html", [entry]), done.text, line


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

    The numbers are recomputed from the mechanism's definition in ball arithmetic (python-flint),
    with more bits and finer cells than when they were issued. Theorems, assumptions, privacy unit
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
