"""``shuffledp compare``: mechanisms for one kind of data, by variance at equal central eps."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.progress import progress
from shuffledp.cli.text import print_json, say_unshown
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.compare import compare_randomizers

_EPILOG = """\b
Example:
  shuffledp compare --n 1e5 --delta 1e-8 --eps0 2 --domain 100
"""


@click.command(
    short_help="Mechanisms side by side, by variance at equal central eps.", epilog=_EPILOG
)
@click.option("-n", "--n", type=Whole(), required=True, help="Users in the shuffle.")
@click.option("--delta", type=Number(), required=True, help="Target delta, 0 < delta < 1.")
@click.option("--eps0", type=Number(), help="Local eps to compare at, in nats.")
@click.option("--epsilon", type=Number(), help="Central eps to calibrate to, in nats.")
@click.option(
    "--domain", type=Whole(), help="Values a user may hold; without it, means on an interval."
)
@click.option("--items", type=Whole(), help="Values of one user: sets of so many.")
@click.option("--plot", metavar="FILE", help="Draw it too: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def compare(
    n: Any,
    delta: Any,
    eps0: Any,
    epsilon: Any,
    domain: Any,
    items: Any,
    plot: str | None,
    as_json: bool,
) -> None:
    """Compare all mechanisms that take the data: frequencies of DOMAIN values, of sets, or means.

    With --epsilon each is calibrated: the largest eps0 whose certified central eps is at most that.
    With --eps0 all are shown at that eps0 first, then at the smallest central eps among them.
    Sorted by variance at equal central eps; per user, of a frequency of 0 or the worst mean.
    """
    plots: Any = None
    if plot is not None:
        from shuffledp.cli.extras import load_plots

        plots = load_plots()
        plots.check_suffix("plot", plot)
    with files_written([("plot", plot)]) as held:
        with progress("calibrating mechanisms"):
            found = compare_randomizers(
                n=n, delta=delta, eps0=eps0, epsilon=epsilon, domain=domain, items=items
            )
        if plot is not None:
            say_unshown(plots.save(plots.randomizers_figure(found), held.path(plot)))
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
    if plots is not None:
        click.echo(f"wrote {plot}", err=True)
