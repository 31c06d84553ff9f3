"""``shuffledp account`` and ``verify``: deployments and certificates."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.cli import report
from shuffledp.cli.extras import load_certificate, load_deployment, load_plots, load_verifier
from shuffledp.cli.given import files_given
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
from shuffledp.cli.text import print_json, say_unshown
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, unreadable
from shuffledp.outputs import Outputs
from shuffledp.review import Audited, Entry, Verified, comparison, to_text
from shuffledp.values.verdicts import headline

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

    A folder stands for the files *.toml in it, a pattern for those that match, and - for standard
    input, whose outputs are named after stdin.

    For each file: a table of central eps as it runs now, at the minimum batch and if the shuffler
    fails, with theorem and assumptions; and DIRECTORY/NAME.certificate.json, which `shuffledp
    verify` checks. --plot draws eps over n, of several files in one picture. --report writes all of
    it in plain words, for a reviewer to sign; FILE.yaml is an entry for the public registry
    (registry.opendp.org) instead. No file is written before all are computed; a certificate of that
    name is replaced if it is of the same deployment file, else refused.

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
    if plot is not None:
        load_plots().check_suffix("plot", plot)
    if audits and not reports:
        raise ParameterError("audit: wanted --report beside it, which has the audit as a section")
    off = silenced(no_warn)
    if verified:
        load_verifier()  # what is missing is said before the work
    with files_given(named, ending=".toml", what="deployment file") as given:
        check_reports(reports, several=len(given.paths) > 1)
        sources = _load_all(given.paths)
        if plot is not None and len(sources) > 1:
            _check_comparable(sources)
        audited = audits_of(audits, sources)
        directory = None if output is None and as_json else Path(output or ".")
        with _files_in(
            directory, sources, [*given.paths, *audits], plot=plot, reports=reports
        ) as held:
            done = _account_all(sources, audited, plot=plot, reports=reports, verified=verified)
            for one in done if directory is not None else ():
                held.write(directory / _named(one.source), one.text)  # type: ignore[operator]
            if plot is not None:
                plots = load_plots()
                say_unshown(plots.save(_figure(done), held.path(plot)))
            for path in reports:
                pictured = plot if len(done) == 1 else None
                entries = [_entry(one, path, pictured, off) for one in done]
                held.write(path, report_text(path, entries))
    _print_done(done, off, as_json=as_json)
    if directory is not None and not as_json:
        written = [directory / _named(one.source) for one in done]
        report.print_written([*written, *map(Path, filter(None, [plot, *reports]))])
    ctx.exit(_status([check for one in done if one.verified for check in one.verified.checks]))


@dataclass(frozen=True)
class _Done:
    """A deployment, or a crowd of groups, and what was found for it."""

    source: Any
    account: Any
    certificate: Any
    curve: Any
    audited: Sequence[Audited] = ()
    verified: Verified | None = None

    @property
    def crowd(self) -> bool:
        """Whether the file has groups."""
        return self.certificate.crowd

    @property
    def labels(self) -> list[str]:
        """Each mechanism in a few words."""
        return report.labels_of(self.certificate)

    @property
    def text(self) -> str:
        """The certificate's file."""
        return load_certificate().to_json(self.certificate)

    def figure(self) -> Any:
        """eps or delta over n."""
        plots = load_plots()
        if self.crowd:
            return plots.crowd_figure(self.account, labels=self.labels)
        return plots.account_figure([self.account], [self.curve], labels=self.labels)


def _load_all(files: Sequence[str]) -> list[Any]:
    deployments = load_deployment()
    sources = [deployments.load(file, sums=True, widened=True, groups=True) for file in files]
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


@contextlib.contextmanager
def _files_in(
    directory: Path | None,
    sources: Sequence[Any],
    inputs: Iterable[str],
    *,
    plot: str | None,
    reports: Sequence[str],
) -> Iterator[Outputs]:
    """What is written: certificates in a directory, which is made if needed, and files elsewhere.

    ParameterError where a certificate would replace one of something else. A directory that was
    made for files that are then not written, whatever the reason, is removed.
    """
    places = [] if directory is None else [directory / _named(source) for source in sources]
    outputs: list[tuple[str, str | None]] = [("output", str(place)) for place in places]
    outputs += [("plot", plot), *(("report", path) for path in reports)]
    with (
        _made(directory) if directory is not None else contextlib.nullcontext(),
        files_written(outputs, inputs=inputs) as held,
    ):
        for place, source in zip(places, sources, strict=False):
            said = f"output = {str(directory)!r}", "another --output"
            load_certificate().refuse_other(place, *said, deployment=source.path.name)
        yield held


@contextlib.contextmanager
def _made(directory: Path) -> Iterator[None]:
    """Make it and what is missing above it; of these remove what is empty if the command fails."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            words = f"{unreadable(error)}; wanted a directory to write to"
            raise ParameterError(f"output = {str(directory)!r}: {words}") from None
        yield
    except BaseException:  # Ctrl-C too
        for folder in missing:
            with contextlib.suppress(OSError):  # somebody else's files are in it
                folder.rmdir()
        raise


def _account_all(
    sources: Sequence[Any],
    audited: Sequence[Sequence[Audited]],
    *,
    plot: str | None,
    reports: Sequence[str],
    verified: bool,
) -> list[_Done]:
    # A curve takes longer than all the rest: Markdown has a picture where one is written.
    draw = plot is not None or any(path.lower().endswith((".html", ".htm")) for path in reports)
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
    deployments, certificates = load_deployment(), load_certificate()
    crowd = bool(source.deployment.group)
    found = deployments.account(source.deployment, report=tell)
    curve = deployments.curve_over_n(found, report=tell) if draw and not crowd else None
    certificate = certificates.issue(source, found)
    said = verify_text(certificates.to_json(certificate), source, tell) if verified else None
    return _Done(source, found, certificate, curve, audited, said)


def _figure(done: Sequence[_Done]) -> Any:
    """The picture of one deployment, or of several that are compared."""
    if len(done) == 1:
        return done[0].figure()
    accounts, curves = [one.account for one in done], [one.curve for one in done]
    titles = [one.certificate.deployment.content.title for one in done]
    return load_plots().account_figure(accounts, curves, labels=titles)


def _print_done(done: Sequence[_Done], off: frozenset[str], *, as_json: bool) -> None:
    """What was computed on stdout, what to be warned of on stderr."""
    several = len(done) > 1
    for one in done:
        file = one.source.path.name if several else ""
        print_cautions(warned(one.certificate, off), file=file)
    if as_json:
        content = [load_certificate().to_dict(one.certificate) for one in done]
        print_json(content if several else content[0])
        return
    for one in done:
        report.print_summary(one.certificate)
        if one.verified is not None:
            click.echo(headline([check.verdict for check in one.verified.checks]) + "\n")
    if several:
        titles = [(one.certificate, one.certificate.deployment.content.title) for one in done]
        click.echo(to_text([comparison(titles)]) + "\n")


def _entry(one: _Done, path: str, pictured: str | None, off: frozenset[str]) -> Entry:
    """A deployment of a report; ``pictured`` is where its figure is written, if it is."""
    drawn = one.curve is not None or one.crowd
    return Entry(
        certificate=one.certificate,
        certificate_file=_named(one.source),
        certificate_sha256=sha256(one.text),
        labels=one.labels,
        cautions=warned(one.certificate, off),
        silenced=sorted(off),
        drawing=load_plots().svg(one.figure()) if drawn else None,
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
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        path = Path(folder) / f"{stem}.toml"
        path.write_bytes(text.encode())
        try:
            source = load_deployment().load(path, sums=True, widened=True)
        except ParameterError as error:
            raise ParameterError(str(error).removeprefix(f"{path}: ")) from None
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
                report.print_checks(name, checks, left, verbose=verbose)
        if as_json:
            found = [[check.to_dict() for check in checks] for checks in every]
            several = [
                {"file": name, "checks": checks}
                for name, checks in zip(given.names, found, strict=True)
            ]
            print_json(several if len(files) > 1 else found[0])
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
