"""``shuffledp run``, ``simulate`` and ``estimate``: the protocol on data."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import re
from collections.abc import Callable, Sequence
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

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
# Bytes below which there is no room to read and to shuffle.
_SMALLEST_MEMORY = 128_000_000

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
_READ = (
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
    click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Of CSV."),
    click.option("--delimiter", metavar="C", help="Of CSV.  [default: a comma; a tab in .tsv]"),
    click.option("--no-header", is_flag=True, help="CSV without names: --column 1, 2, ..."),
    click.option(
        "--show-values", is_flag=True, help="Name the first value that is refused in the error."
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME",
        help="Column of the file; of the mechanism joint once for each part.  [default: [data]'s]",
    ),
    click.option(
        "--domain", metavar="FILE", help="Items in order, one a line, in place of [data]'s."
    ),
    *_ASKED,
)


def _options(several: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """All of these options, in this order."""
    return lambda command: functools.reduce(lambda made, one: one(made), several[::-1], command)


class _Read:
    """What a deployment is run on: the options of ``_READ``, looked at before any work.

    Attributes
    ----------
    files : DeploymentFile
        The deployment.
    column, asked, engine : Any
        What is read of the input, what is asked of the reports, and who reads.
    inputs : list of str or None
        The files that were named.
    """

    def __init__(
        self,
        deployment: str,
        *,
        source: str | None,
        input_glob: str | None,
        kind: str | None,
        encoding: str,
        delimiter: str | None,
        no_header: bool,
        show_values: bool,
        columns: tuple[str, ...],
        domain: str | None,
        candidates: str | None,
        top: int | None = None,
        **asking: Any,
    ) -> None:
        protocol, self.files = load_protocol(), load_deployment().load(deployment, sums=True)
        self.column = protocol.column_of(
            self.files.deployment,
            names=columns,
            domain=None if domain is None else protocol.read_items("domain", domain),
            kind=kind,
            show_values=show_values,
        )
        asked = _asked(candidates=candidates, **asking)
        self.asked = protocol.asked_of(self.files.deployment, **asked, top=top)
        if (source is None) == (input_glob is None):
            words = "wanted --input FILE or --input-glob PATTERN, one of them"
            raise ParameterError(f"input: {words}")
        text = protocol.TextFormat(encoding=encoding, delimiter=delimiter, header=not no_header)
        path = source if input_glob is None else input_glob
        self.engine = protocol.DuckEngine(path, pattern=source is None, text=text)
        self.inputs = [deployment, source, domain, candidates, *self.engine.files]


@click.command(short_help="Randomize, shuffle, aggregate and estimate columns of a file.")
@click.argument("deployment", metavar="DEPLOYMENT.toml")
@_options(_READ)
@click.option("--output", required=True, metavar="FILE.csv", help="Where estimates are written.")
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
    output: str,
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
    off = silenced(no_warn)
    _check.open_unit("confidence", confidence)
    plots = load_plots() if figure else None
    if plots is not None:
        plots.check_suffix("figure", figure)
    if truth is not None and figure is None:
        raise ParameterError(f"truth = {truth!r}: wanted --figure too, it is drawn there")
    protocol = load_protocol()
    known = None if truth is None else protocol.read_truth(truth)
    largest = None if top is None else _check.count("top", top)
    read = _Read(deployment, top=largest, **given)
    certified = os.path.splitext(output)[0] + ".certificate.json"  # noqa: PTH122 (as it was typed)
    # The table of estimates comes last.
    outputs = [("reports", reports), ("figure", figure), ("output", certified), ("output", output)]
    folder = check_folder("output", output)  # before the certificate's name, which nobody typed
    written = files_written(outputs, inputs=[*read.inputs, truth])
    with written as held, progress("running") as status:
        said = f"output = {output!r}", "another --output"
        load_certificate().refuse_other(certified, *said, table=Path(output).name)
        kept = None if reports is None else held.path(reports)
        settings = protocol.Settings(
            memory=_bytes(memory), reports=kept, spill=folder, tell=_counter(status)
        )
        result = protocol.run(
            read.files,
            read.engine,
            read.column,
            settings=settings,
            asked=read.asked,
            confidence=confidence,
        )
        if largest is not None:
            rows = protocol.largest_rows(result.rows, largest)
            result = dataclasses.replace(result, rows=rows)
        if truth is not None and known is not None:
            protocol.check_truth(truth, known, result.rows)
        table = protocol.table(result.rows)
        certificate = _certificate(read.files, result, output, table)
        held.write(certified, load_certificate().to_json(certificate))
        held.write(output, table)
        if figure is not None:
            _draw(held.path(figure), plots, result, known)
    expected = read.files.deployment.population.arriving
    print_cautions(warned(certificate, off, expected=expected))
    _print_notes(result)
    if as_json:
        print_json(load_certificate().to_dict(certificate))
        return
    _print_run(result, read.files, len(read.engine.files), certificate)
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
@_options(_ASKED)
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


@click.command(
    short_help="Repeat a deployment with seeds: measured against stated errors."
)
@click.argument("deployment", metavar="DEPLOYMENT.toml")
@_options(_READ)
@click.option("-R", "--repetitions", type=Whole(), default=100, show_default=True)
@click.option("--seed", type=Whole(), default=0, show_default=True, help="Of the first repetition.")
@click.option("--workers", type=Whole(), default=1, show_default=True, help="Processes.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON and nothing else.")
def simulate(
    deployment: str,
    repetitions: int,
    seed: int,
    workers: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Measured error and coverage over repeated runs beside what is stated; not private."""
    read = _Read(deployment, **given)
    protocol = load_protocol()
    with progress("reading") as status:
        randomizer, question, values = protocol.read_values(
            read.files, read.engine, read.column, read.asked
        )
        tell = Left(status, "repetitions", repetitions)
        found = protocol.simulate(
            randomizer,
            values,
            wanted=question,
            repetitions=repetitions,
            seed=seed,
            workers=workers,
            tell=tell,
        )
    if as_json:
        print_json(found.to_dict())
        return
    sources = f" in {len(read.engine.files):,} files" * (len(read.engine.files) > 1)
    click.echo(f"{found.repetitions} repetitions with {len(values):,} users{sources}")
    click.echo(f"  root mean squared error  {found.measured_rmse:.4g} measured")
    click.echo(
        f"                           {found.stated_rmse:.4g} by the standard errors"
    )
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
    *, ranges: tuple[str, ...], moments: int | None, candidates: str | None, simplex: bool
) -> dict[str, Any]:
    """What is asked for by options."""
    read = load_protocol().read_items
    return {
        "ranges": tuple(_read_range(text) for text in ranges),
        "moments": moments or 0,
        "candidates": () if candidates is None else read("candidates", candidates),
        "simplex": simplex,
    }


def _read_range(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":")
    try:
        return int(low), int(high)
    except ValueError:
        raise rejected("range", text, "LOW:HIGH, two whole numbers") from None


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9.]+) *([KMG]I?)?B?", text.strip().upper())
    try:
        size = float(found[1]) * _UNITS[found[2] or ""] if found else 0.0
    except ValueError:
        size = 0.0
    if not _SMALLEST_MEMORY <= size < 2**50:
        raise rejected("memory", text, "a size such as 512MB or 2GiB, at least 128MB")
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
    for count, why in (
        (result.outcome.nulls, "no value"),
        (result.outcome.outside, "outside the domain"),
    ):
        if count:
            click.echo(f"  {count:,} rows left out: {why}")
    report.print_account(_as_run(files, result), result.account, certificate)
