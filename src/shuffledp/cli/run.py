"""``shuffledp run``: the protocol on data, repeated with seeds, or its collector's half alone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shuffledp import _check
from shuffledp.accounts.sources import source_from_dict
from shuffledp.cli import report
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.cli.progress import Left, Progress, progress
from shuffledp.cli.review import no_warn_option, print_cautions, silenced, warned
from shuffledp.cli.text import counted, print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, rejected
from shuffledp.outputs import Output

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
# Bytes below which there is no room to read and to shuffle.
_SMALLEST_MEMORY = 128_000_000
_MEMORY = "512MB"


class _Read:
    """What a deployment is run on, looked at before any work.

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
        show_values: bool,
        domain: str | None,
    ) -> None:
        from shuffledp.deployment import load
        from shuffledp.protocol import run as protocol

        self.files = load(deployment, sums=True)
        content = self.files.deployment
        data = content.data
        items = None if domain is None else protocol.read_items("domain", domain)
        # Where text is hashed there is no domain: items are what the collector counts.
        hashed = data is not None and data.hashed
        self.column = protocol.column_of(
            data, domain=None if hashed else items, show_values=show_values
        )
        self.asked = protocol.asked_of(content, candidates=items if hashed else ())
        if source is None:
            raise ParameterError("input is missing: wanted --input FILE")
        csv = None if data is None else data.csv
        written = {} if csv is None else csv.model_dump(exclude_none=True)
        self.engine = protocol.DuckEngine(source, text=protocol.TextFormat(**written))
        self.inputs = [deployment, source, domain, *self.engine.files]


@click.command(short_help="Randomize, shuffle, aggregate and estimate columns of a file.")
@click.argument("deployment", metavar="[DEPLOYMENT.toml]", required=False)
@click.option(
    "--input", "source", metavar="FILE", help="Parquet, CSV, JSON lines; a folder or a pattern."
)
@click.option(
    "--domain",
    metavar="FILE",
    help="Items in order, one a line, in place of [data]'s; of hashed text what to count.",
)
@click.option("--show-values", is_flag=True, help="Name the first value that is refused.")
@click.option(
    "--from-reports", metavar="FILE.parquet", help="Estimate from what --reports wrote, instead."
)
@click.option(
    "--simulate", type=Whole(), metavar="R", help="Repeat it so often with seeds; not private."
)
@click.option("-o", "--output", metavar="FILE.csv", help="Where estimates are written.")
@click.option("--reports", metavar="FILE.parquet", help="Also write the shuffled reports.")
@click.option("--plot", metavar="FILE", help="Also draw the estimates: .png, .svg or .pdf.")
@click.option("--confidence", type=Number(), default=0.95, show_default=True)
@click.option("--memory", default=_MEMORY, show_default=True, help="What the engine may use.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
@no_warn_option
def run(
    deployment: str | None,
    source: str | None,
    from_reports: str | None,
    simulate: Any,
    output: str | None,
    confidence: float,
    plot: str | None,
    **given: Any,
) -> None:
    """Run a deployment on one machine: every row of the input is one user's value.

    Writes the estimates with intervals (FILE.csv) and beside it FILE.csv.certificate.json, the
    certificate for the users actually seen. Below the deployment's minimum batch, or when a value
    is refused, nothing is written.

    --from-reports does the collector's half alone: the mechanism is read from the file; [data] of a
    deployment says what else to ask of the reports. --simulate R compares measured error and
    coverage over R runs with theory.

    \b
    In the deployment file:
      [data]
      column = "dest"
      domain = ["ATL", "BOS", "..."]   # public, not read off the data
      nulls = "drop"                   # or "refuse", "category"
      outside = "category"             # or "refuse", "drop"; "clip" for numbers
      unit = "device_id"               # names the user, whose first row is used

    \b
    By mechanism, also:
      [[data.columns]]                 # joint: one table for each part, in order
      ranges = [[0, 10], [10, 100]]    # hierarchy: low <= value < high
      moments = 4                      # additive noise: moments and variance
      top = 10                         # only the ten largest estimates
      simplex = true                   # post-process: nearest probabilities
      csv = { delimiter = ";", encoding = "latin-1", header = false }
      hashed = true                    # an open domain of text, and
      candidates = ["ATL", "BOS"]      # what the collector counts of it
      alphabet = "ABC..."              # or: find the most frequent text,
      length = 3                       # by a prefix tree (parallel of olh)
    """  # noqa: D301
    _check.open_unit("confidence", confidence)
    others = {**given, "input": source, "plot": plot}
    if from_reports is not None:
        domain = others.pop("domain")
        _refuse("from-reports", {**others, "simulate": simulate})
        _estimate(from_reports, deployment, output, confidence, domain=domain)
        return
    if deployment is None:
        raise ParameterError("deployment is missing: wanted DEPLOYMENT.toml, or --from-reports")
    reading = {key: given.pop(key) for key in ("domain", "show_values")}
    if simulate is not None:
        as_json = given.pop("as_json")
        _refuse("simulate", {**given, "output": output, "plot": plot})
        _simulate(_Read(deployment, source=source, **reading), simulate, as_json=as_json)
        return
    if output is None:
        raise ParameterError("output is missing: wanted --output FILE.csv")
    off = silenced(given.pop("no_warn"))
    read = _Read(deployment, source=source, **reading)
    _run(read, output, confidence, plot=plot, off=off, **given)


def _refuse(option: str, given: dict[str, Any]) -> None:
    """ParameterError for what means nothing beside an option."""
    for name, value in given.items():
        if value not in (None, False, (), _MEMORY):
            raise rejected(name.removeprefix("as_"), value, f"none with --{option}")


def _run(
    read: _Read,
    output: str,
    confidence: float,
    *,
    plot: str | None,
    reports: str | None,
    memory: str,
    as_json: bool,
    off: frozenset[str],
) -> None:
    from shuffledp import certificate as certificates
    from shuffledp.protocol import run as protocol

    certified = f"{output}.certificate.json"
    # The table of estimates comes last.
    outputs = [("reports", reports), ("plot", plot), ("output", certified), ("output", output)]
    # Before the certificate's name, which nobody typed.
    folder = Output.named("output", output).place.parent
    written = files_written(outputs, inputs=read.inputs)
    with written as held, progress("running") as status:
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
        if read.asked.top:
            rows = protocol.largest_rows(result.rows, read.asked.top)
            result = dataclasses.replace(result, rows=rows)
        table = protocol.table(result.rows)
        certificate = result.certificate(Path(output).name, table)
        held.write(certified, certificates.to_json(certificate))
        held.write(output, table)
        if plot is not None:
            _draw(held.path(plot), result)
    expected = read.files.deployment.population.arriving
    print_cautions(warned(certificate, off, expected=expected))
    _print_notes(result)
    if as_json:
        print_json(certificates.to_dict(certificate))
        return
    _print_run(result, len(read.engine.files), certificate)
    more = [path for path in (reports, plot) if path is not None]
    report.print_written([Path(path) for path in (certified, output, *more)])


def _estimate(
    reports: str,
    deployment: str | None,
    output: str | None,
    confidence: float,
    *,
    domain: str | None,
) -> None:
    """Estimate from reports; those outside the mechanism's message space are left out."""
    from shuffledp.deployment import load
    from shuffledp.protocol import run as protocol

    with files_written([("output", output)], inputs=[reports, deployment, domain]) as held:
        items = () if domain is None else protocol.read_items("domain", domain)
        asked, source = protocol.Asked(candidates=items), None
        if deployment is not None:
            source = load(deployment).deployment
            asked = protocol.asked_of(source, candidates=items)
        with progress("estimating"):
            result, found = protocol.estimate_reports(reports, asked=asked, confidence=confidence)
        if source is not None:
            _check_same(source, result.randomizer)
        rows = protocol.largest_rows(result.rows, asked.top) if asked.top else result.rows
        text = protocol.table(rows)
        if output is not None:
            held.write(output, text)
    if found.refused:
        click.echo(f"{found.refused:,} reports outside the message space were left out", err=True)
    _print_notes(result)
    if output is None:
        click.echo(text, nl=False)


def _check_same(deployment: Any, mechanism: Any) -> None:
    """ParameterError where reports were made by another mechanism than the deployment's."""
    made = mechanism.to_dict()
    if source_from_dict(deployment.randomizer) != mechanism:
        wanted = f"{mechanism_label(made)}, by which these reports were made"
        raise rejected("randomizer", mechanism_label(deployment.randomizer), wanted)


def _simulate(read: _Read, repetitions: int, *, as_json: bool) -> None:
    """Measured error and coverage over repeated runs beside what is stated."""
    from shuffledp.protocol import run as protocol

    with progress("reading") as status:
        randomizer, question, values = protocol.read_values(
            read.files, read.engine, read.column, read.asked
        )
        tell = Left(status, "repetitions", repetitions)
        found = protocol.simulate(
            randomizer, values, wanted=question, repetitions=repetitions, seed=0, tell=tell
        )
    if as_json:
        print_json(found.to_dict())
        return
    sources = f" in {len(read.engine.files):,} files" * (len(read.engine.files) > 1)
    click.echo(f"{counted(found.repetitions, 'repetition')} with {len(values):,} users{sources}")
    click.echo(f"  root mean squared error  {found.measured_rmse:.4g} measured")
    click.echo(f"                           {found.stated_rmse:.4g} by the standard errors")
    click.echo(
        f"  coverage of 95% intervals  {found.coverage:.4f} (+- {2 * found.coverage_error:.4f})"
    )
    click.echo(
        "  coverage of all at once    "
        f"{found.joint_coverage:.4f} (+- {2 * found.joint_coverage_error:.4f})"
    )
    click.echo(f"  largest mean error  {found.largest_bias:.2f} of its standard error")


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


def _draw(path: Path, result: Any) -> None:
    from shuffledp import plots
    from shuffledp.protocol.figure import draw_estimates

    of = {"title": result.account.deployment.title, "n": result.outcome.users}
    drawn = plots.picture(lambda ax: draw_estimates(ax, result.rows, **of))
    plots.save(drawn, path)


def _print_notes(result: Any) -> None:
    """What to know of the estimates, beside the output."""
    for note in result.notes:
        click.echo(f"note: {note}", err=True)


def _print_run(result: Any, sources: int, certificate: Any) -> None:
    click.echo(f"{result.outcome.users:,} users" + f" in {sources:,} files" * (sources > 1))
    for count, why in (
        (result.outcome.nulls, "no value"),
        (result.outcome.outside, "outside the domain"),
        (result.outcome.repeated, "a further one of the same user"),
    ):
        if count:
            click.echo(f"  {count:,} rows left out: {why}")
    report.print_summary(certificate)
