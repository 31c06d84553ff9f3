"""``shuffledp run``, ``simulate`` and ``estimate``: the protocol on data."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shuffledp import _check
from shuffledp.cli import report
from shuffledp.cli.extras import load_certificate, load_deployment, load_plots, load_protocol
from shuffledp.cli.progress import Left, Progress, progress
from shuffledp.cli.review import no_warn_option, print_cautions, silenced, warned
from shuffledp.cli.text import print_json, say_unshown
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, rejected
from shuffledp.outputs import check_folder

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20}
_UNITS |= {"GIB": 2**30}
_SMALLEST_MEMORY = 128_000_000


# What a value is that the domain does not have.
_OUTSIDE = "outside the domain"

_COLUMN = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Column of the file; of the mechanism joint once for each part.  [default: [data]'s]",
)
_DOMAIN = click.option(
    "--domain", metavar="FILE", help="Items in order, one a line, in place of [data]'s."
)
_ASKED = (
    click.option(
        "--range",
        "ranges",
        multiple=True,
        metavar="LOW:HIGH",
        help="Of the mechanism hierarchy: share with LOW <= value < HIGH; may be repeated.",
    ),
    click.option("--moments", type=Whole(), metavar="K", help="Of additive noise: moments 1 to K."),
    click.option(
        "--candidates", metavar="FILE", help="Of hashed text: what to count, one item a line."
    ),
    click.option("--simplex", is_flag=True, help="Post-process: nearest probabilities."),
)


_READING = (
    click.option(
        "--input",
        "source",
        metavar="FILE",
        help="Parquet, CSV or JSON lines; a folder of such.",
    ),
    click.option("--input-glob", metavar="PATTERN", help="In place of --input: all that match."),
    click.option(
        "--type",
        "kind",
        type=click.Choice(["text", "integer", "number"]),
        help="What values are read as, where they are stored as something else.",
    ),
    click.option("--encoding", metavar="NAME", help="Of CSV.  [default: utf-8]"),
    click.option("--delimiter", metavar="C", help="Of CSV.  [default: a comma; a tab in .tsv]"),
    click.option("--no-header", is_flag=True, help="CSV without names: --column 1, 2, ..."),
    click.option(
        "--show-values", is_flag=True, help="Name the first value that is refused in the error."
    ),
)


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_READING):
        command = option(command)
    return command


@dataclasses.dataclass(frozen=True)
class _Input:
    """What is read, and how: the options of ``_READING``."""

    source: str | None
    input_glob: str | None
    kind: str | None
    encoding: str | None
    delimiter: str | None
    no_header: bool
    show_values: bool

    @classmethod
    def taken(cls, given: dict[str, Any]) -> _Input:
        """Out of all options."""
        return cls(**{field.name: given.pop(field.name) for field in dataclasses.fields(cls)})

    def engine(self) -> Any:
        protocol = load_protocol()
        if (self.source is None) == (self.input_glob is None):
            raise ParameterError("input: wanted --input FILE or --input-glob PATTERN, one of them")
        text = protocol.TextFormat(
            encoding=self.encoding or "utf-8",
            delimiter=self.delimiter,
            header=not self.no_header,
        )
        path = self.source if self.input_glob is None else self.input_glob
        return protocol.DuckEngine(path, pattern=self.source is None, text=text)

    def column(self, files: Any, columns: tuple[str, ...], domain: str | None) -> Any:
        return load_protocol().column_of(
            files.deployment,
            names=columns,
            domain=_read_items(domain),
            kind=self.kind,
            show_values=self.show_values,
        )


def _asking(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_ASKED):
        command = option(command)
    return command


@click.command(short_help="Randomize, shuffle, aggregate and estimate columns of a file.")
@click.argument("deployment", metavar="DEPLOYMENT.toml")
@_reading
@_COLUMN
@click.option("--output", required=True, metavar="FILE.csv", help="Where estimates are written.")
@_DOMAIN
@_asking
@click.option("--top", type=Whole(), metavar="K", help="Only the K largest estimates.")
@click.option("--reports", metavar="FILE.parquet", help="Also write the shuffled reports.")
@click.option("--figure", metavar="FILE", help="Also draw the estimates (png, svg, pdf).")
@click.option("--truth", metavar="FILE.csv", help="Item and true value, to draw beside them.")
@click.option("--confidence", type=Number(), default=0.95, show_default=True)
@click.option("--memory", default="512MB", show_default=True, help="What the engine may use.")
@click.option("--json", "as_json", is_flag=True, help="Print the certificate and nothing else.")
@no_warn_option
def run(
    deployment: str,
    columns: tuple[str, ...],
    output: str,
    domain: str | None,
    top: int | None,
    reports: str | None,
    figure: str | None,
    truth: str | None,
    confidence: float,
    memory: str,
    as_json: bool,
    no_warn: tuple[str, ...],
    **given: Any,
) -> None:
    """Run a deployment on one machine: every row of the input is one user's value.

    Writes the estimates with intervals (FILE.csv) and beside it FILE.certificate.json, the
    certificate for the users actually seen. Below the deployment's minimum batch, or when a value
    is refused, nothing is written. A FILE.certificate.json of another table (FILE.txt's) or of a
    deployment (FILE.toml's) is not replaced, but refused.

    \b
    In the deployment file:
      [data]
      column = "dest"
      domain = ["ATL", "BOS", "..."]   # public, not read off the data
      nulls = "drop"                   # or "refuse", "category"
      outside = "category"             # or "refuse", "drop"; "clip" for numbers

    \b
    By mechanism, also:
      [[data.columns]]                 # joint: one table for each part, in order
      ranges = [[0, 10], [10, 100]]    # hierarchy: low <= value < high
      moments = 4                      # additive noise: moments and variance
      hashed = true                    # an open domain of text, and
      candidates = ["ATL", "BOS"]      # what the collector counts of it
      alphabet = "ABC..."              # or: find the most frequent text,
      length = 3                       # by a prefix tree (parallel of olh)
    """  # noqa: D301
    protocol, files = load_protocol(), load_deployment().load(deployment, sums=True)
    off = silenced(no_warn)
    _check.open_unit("confidence", confidence)
    plots = load_plots() if figure else None
    if plots is not None:
        plots.check_suffix("figure", figure)
    if truth is not None and figure is None:
        raise ParameterError(f"truth = {truth!r}: wanted --figure too, it is drawn there")
    known = None if truth is None else protocol.read_truth(truth)
    source = _Input.taken(given)
    chosen = source.column(files, columns, domain)
    largest = None if top is None else _check.count("top", top)
    asked = protocol.asked_of(files.deployment, **_asked(**given), top=largest)
    engine = source.engine()
    certified = os.path.splitext(output)[0] + ".certificate.json"  # noqa: PTH122 (as it was typed)
    # The table of estimates comes last.
    outputs = [("reports", reports), ("figure", figure), ("output", certified), ("output", output)]
    inputs = [deployment, source.source, domain, truth, given["candidates"], *engine.files]
    folder = check_folder("output", output)  # before the certificate's name, which nobody typed
    with files_written(outputs, inputs=inputs) as held, progress("running") as status:
        said = f"output = {output!r}", "another --output"
        load_certificate().refuse_other(certified, *said, table=Path(output).name)
        kept = None if reports is None else held.path(reports)
        settings = protocol.Settings(
            memory=_bytes(memory), reports=kept, spill=folder, tell=_counter(status)
        )
        result = protocol.run(
            files, engine, chosen, settings=settings, asked=asked, confidence=confidence
        )
        if largest is not None:
            rows = protocol.largest_rows(result.rows, largest)
            result = dataclasses.replace(result, rows=rows)
        if truth is not None and known is not None:
            protocol.check_truth(truth, known, result.rows)
        table = protocol.table(result.rows)
        certificate = _certificate(files, result, output, table)
        held.write(certified, load_certificate().to_json(certificate))
        held.write(output, table)
        if figure is not None:
            _draw(held.path(figure), plots, result, known)
    expected = files.deployment.population.arriving
    print_cautions(warned(certificate, off, expected=expected))
    _print_notes(result)
    if as_json:
        print_json(load_certificate().to_dict(certificate))
        return
    _print_run(result, files, len(engine.files), certificate)
    more = [path for path in (reports, figure) if path is not None]
    report.print_written([Path(path) for path in (certified, output, *more)])


@click.command(short_help="Estimate from reports that were made elsewhere.")
@click.option(
    "--reports",
    required=True,
    metavar="FILE.parquet",
    help="What `run --reports` wrote.",
)
@click.option(
    "--output", metavar="FILE.csv", help="Where estimates are written.  [default: stdout]"
)
@click.option("--confidence", type=Number(), default=0.95, show_default=True)
@_asking
@click.option("--top", type=Whole(), metavar="K", help="Only the K largest estimates.")
def estimate(
    reports: str, output: str | None, confidence: float, top: int | None, **asking: Any
) -> None:
    """The collector's half alone: the mechanism is read from the file's metadata.

    Reports outside the mechanism's message space are left out and counted on stderr.
    """
    protocol = load_protocol()
    _check.open_unit("confidence", confidence)
    largest = None if top is None else _check.count("top", top)
    with files_written([("output", output)], inputs=[reports, asking["candidates"]]) as held:
        with progress("estimating"):
            asked = protocol.Asked(**_asked(**asking), top=largest or 0)
            result, found = protocol.estimate_reports(reports, asked=asked, confidence=confidence)
        rows = result.rows if largest is None else protocol.largest_rows(result.rows, largest)
        text = protocol.table(rows)
        if output is not None:
            held.write(output, text)
    if found.refused:
        click.echo(f"{found.refused:,} reports outside the message space were left out", err=True)
    _print_notes(result)
    if output is None:
        click.echo(text, nl=False)


@click.command(short_help="Repeat a deployment on values with seeds: measured against theory.")
@click.argument("deployment", metavar="DEPLOYMENT.toml")
@_reading
@_COLUMN
@_DOMAIN
@_asking
@click.option("-R", "--repetitions", type=Whole(), default=100, show_default=True)
@click.option("--seed", type=Whole(), default=0, show_default=True, help="Of the first repetition.")
@click.option("--workers", type=Whole(), default=1, show_default=True, help="Processes.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON and nothing else.")
def simulate(
    deployment: str,
    columns: tuple[str, ...],
    domain: str | None,
    repetitions: int,
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Measured error and coverage over repeated runs beside what theory says; not private."""
    protocol, files = load_protocol(), load_deployment().load(deployment, sums=True)
    source = _Input.taken(given)
    chosen = source.column(files, columns, domain)
    asked = protocol.asked_of(files.deployment, **_asked(**given))
    engine = source.engine()
    with progress("reading") as status:
        randomizer, question, values = protocol.read_values(files, engine, chosen, asked)
        tell = Left(status, "repetitions", repetitions)
        found = protocol.simulated(
            randomizer,
            question,
            values,
            repetitions=repetitions,
            seed=seed,
            workers=workers,
            tell=tell,
        )
    if as_json:
        print_json(found.to_dict())
        return
    sources = f" in {len(engine.files):,} files" * (len(engine.files) > 1)
    click.echo(f"{found.repetitions} repetitions with {len(values):,} users{sources}")
    click.echo(f"  root mean squared error  {found.measured_rmse:.4g} measured")
    click.echo(f"                           {found.theoretical_rmse:.4g} by the exact variance")
    click.echo(
        f"  coverage of 95% intervals  {found.coverage:.4f} (+- {2 * found.coverage_error:.4f})"
    )
    click.echo(
        "  coverage of all at once    "
        f"{found.joint_coverage:.4f} (+- {2 * found.joint_coverage_error:.4f})"
    )
    click.echo(f"  largest mean error  {found.largest_bias:.2f} of its standard error")


def _as_run(files: Any, result: Any) -> Any:
    return dataclasses.replace(files, deployment=result.account.deployment)


def _certificate(files: Any, result: Any, output: str, table: str) -> Any:
    """The certificate of this run and of no other table than this one."""
    certificates = load_certificate()
    release = certificates.Release(
        table=Path(output).name,
        sha256=hashlib.sha256(table.encode()).hexdigest(),
        users=result.outcome.users,
        declared_users=files.deployment.population.users,
        nulls=result.outcome.nulls,
        outside=result.outcome.outside,
    )
    return certificates.issue(_as_run(files, result), result.account, release=release)


def _asked(
    ranges: tuple[str, ...], moments: int | None, candidates: str | None, *, simplex: bool
) -> dict[str, Any]:
    """What is asked for by options."""
    return {
        "ranges": tuple(_read_range(text) for text in ranges),
        "moments": moments or 0,
        "candidates": _read_items(candidates, "candidates") or (),
        "simplex": simplex,
    }


def _read_range(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":")
    try:
        return int(low), int(high)
    except ValueError:
        raise rejected("range", text, "LOW:HIGH, two whole numbers") from None


def _read_items(path: str | None, what: str = "domain") -> tuple[str, ...] | None:
    return None if path is None else load_protocol().read_items(what, path)


def _bytes(text: str) -> int:
    digits = text.upper().rstrip("BKMGI ")
    unit = text.upper()[len(digits) :].strip()
    wanted = "a size such as 512MB or 2GiB, at least 128MB"
    try:
        size = float(digits) * _UNITS[unit]
    except (ValueError, KeyError):
        raise rejected("memory", text, wanted) from None
    if not _SMALLEST_MEMORY <= size < 2**50:
        raise rejected("memory", text, wanted)
    return int(size)


def _counter(status: Progress) -> Callable[[int], None]:
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        status.update(f"{done:,} rows")

    return tell


def _draw(path: Path, plots: Any, result: Any, truth: Any) -> None:
    from shuffledp.protocol.figure import estimate_figure

    title = result.account.deployment.title
    drawn = estimate_figure(result.rows, title=title, truth=truth, n=result.outcome.users)
    say_unshown(plots.save(drawn, path))


def _print_notes(result: Any) -> None:
    """What to know of the estimates, beside the output."""
    for note in result.notes:
        click.echo(f"note: {note}", err=True)


def _print_run(result: Any, files: Any, sources: int, certificate: Any) -> None:
    click.echo(f"{result.outcome.users:,} users" + f" in {sources:,} files" * (sources > 1))
    for count, why in ((result.outcome.nulls, "no value"), (result.outcome.outside, _OUTSIDE)):
        if count:
            click.echo(f"  {count:,} rows left out: {why}")
    report.print_account(_as_run(files, result), result.account, certificate)
