"""The command line: ``shuffledp epsilon | delta | curve | account | verify | ...``.

It formats what a Bound says and knows no numerics. Extras (matplotlib, pydantic, python-flint)
are imported by the commands that need them, when they run.
"""

from __future__ import annotations

import click

from shuffledp import __version__
from shuffledp.cli.audit import audit
from shuffledp.cli.calibrate import calibrate
from shuffledp.cli.compare import compare
from shuffledp.cli.compare_bounds import compare_bounds
from shuffledp.cli.files import account, schema, verify
from shuffledp.cli.group import OneLineGroup
from shuffledp.cli.init import init
from shuffledp.cli.numbers import curve, delta, epsilon
from shuffledp.cli.page import page
from shuffledp.cli.plan import plan
from shuffledp.cli.registry import registry
from shuffledp.cli.run import estimate, run, simulate
from shuffledp.cli.tables import analyses, randomizers

__all__ = ["main"]

EPILOG = """\b
A first run:
  shuffledp randomizers
  shuffledp epsilon k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6
  shuffledp init
  shuffledp account deployment.toml
  shuffledp verify deployment.certificate.json

\b
Exit status: 0 done; 1 a certificate's claim does not hold; 2 the input was refused, or no
certified number exists for it (one line on stderr says why); 3 verify could not decide.
"""


@click.group(cls=OneLineGroup, epilog=EPILOG)
@click.version_option(__version__, prog_name="shuffledp")
@click.option(
    "--quiet",
    is_flag=True,
    envvar="SHUFFLEDP_QUIET",
    help="Do not say on stderr what takes longer than a second.  [env: SHUFFLEDP_QUIET=1]",
)
def main(quiet: bool) -> None:
    """How much privacy a shuffler buys: certified bounds on eps and delta.

    Users randomize their values locally, a shuffler hides who sent what. The analyst then learns
    less than from the local reports alone; these commands bound how much less, from below and
    from above, rounding errors included. eps is in nats; n counts users.
    """


for command in (
    epsilon,
    delta,
    curve,
    calibrate,
    compare,
    compare_bounds,
    plan,
    init,
    account,
    verify,
    registry,
    audit,
    run,
    simulate,
    estimate,
    page,
    randomizers,
    analyses,
    schema,
):
    main.add_command(command)
