"""The command line: ``shuffledp epsilon | delta | account | verify | ...``.

It formats what a Bound says and knows no numerics. Each command is imported when it is called;
extras (matplotlib, pydantic) are imported by the commands that need them, when they
run.
"""

from __future__ import annotations

import click

from shuffledp import __version__
from shuffledp.cli.group import OneLineGroup

__all__ = ["main"]

EPILOG = """\b
A first run:
  shuffledp list mechanisms
  shuffledp epsilon k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6
  shuffledp plan k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6 -o deployment.toml
  shuffledp account deployment.toml
  shuffledp verify deployment.certificate.json

\b
Exit status: 0 done; 1 a certificate's claim does not hold; 2 the input was refused, or no
certified number exists for it (one line on stderr says why); 3 verify could not decide;
130 Ctrl-C (128 and the signal's number: 143 SIGTERM, 129 SIGHUP, 141 a closed pipe).
"""


_MODULES = {
    "epsilon": "numbers",
    "delta": "numbers",
    "calibrate": "calibrate",
    "plan": "plan",
    "account": "files",
    "verify": "files",
    "run": "run",
    "audit": "audit",
    "page": "page",
    "list": "lists",
}
# A command whose name is one of Python's own has another there.
_CALLED = {"list": "listed"}


@click.group(
    cls=OneLineGroup,
    places={
        name: (f"shuffledp.cli.{module}", _CALLED.get(name, name))
        for name, module in _MODULES.items()
    },
    epilog=EPILOG,
)
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
