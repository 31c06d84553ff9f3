"""``shuffledp compare-bounds``: every analysis side by side."""

from __future__ import annotations

import click

from shuffledp.cli.mechanisms import Request, per_mechanism
from shuffledp.cli.progress import progress
from shuffledp.cli.text import print_json
from shuffledp.cli.types import Number, Whole


def _compare(request: Request, *, delta: float, slow: bool, as_json: bool) -> None:
    accountant = request.build(request.n)
    with progress(f"all analyses of {request.label}"):
        found = accountant.compare(delta=delta, slow=slow)
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(f"{request.label}")
    click.echo(str(found))
    click.echo(
        "\nfactor: eps over the smallest upper end (for lower ends, the largest over eps); "
        "seconds of CPU.\nEstimates certify nothing. Theorems and validity: shuffledp analyses"
    )


compare_bounds = per_mechanism(
    "compare-bounds",
    _compare,
    summary="Every analysis side by side: eps at a given delta, time, factor lost.",
    example="shuffledp compare-bounds k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6",
    options=(
        click.Option(["-n", "--n"], type=Whole(), required=True, help="Users in the shuffle."),
        click.Option(
            ["--delta"], type=Number(), required=True, help="Target delta, 0 < delta < 1."
        ),
        click.Option(
            ["--slow"], is_flag=True, help="Also the papers' algorithms whose cost grows with n."
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON and nothing else."),
    ),
)
