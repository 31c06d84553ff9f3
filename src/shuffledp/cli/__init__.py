"""The command line: ``shuffledp epsilon | delta | account | verify | ...``.

It formats what a Bound says and knows no numerics. Each command is imported when it is called;
matplotlib and pydantic are imported by the commands that need them, when they run.
"""

from __future__ import annotations

import click

from shuffledp import __version__
from shuffledp.cli.group import OneLineGroup, Place

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


# Name of a command: module, its name there, and its line in the list of commands.
_COMMANDS = {
    "epsilon": ("numbers", "epsilon", "eps at a given delta: certified lower and upper end."),
    "delta": ("numbers", "delta", "delta at a given eps: certified lower and upper end."),
    "calibrate": (
        "calibrate",
        "calibrate",
        "Solve for noise, users, rounds, eps or delta, given the others.",
    ),
    "plan": ("plan", "plan", "Choose the most accurate mechanism at a central guarantee."),
    "account": ("files", "account", "Account for a deployment: table, certificate, report."),
    "verify": ("files", "verify", "Check certificates: compute their numbers again."),
    "run": ("run", "run", "Randomize, shuffle, aggregate and estimate columns of a file."),
    "audit": ("audit", "audit", "Test a program's reports against the certified law."),
    "page": ("page", "page", "A calculator in the browser, for this computer alone."),
    "list": ("lists", "listed", "Mechanisms, theorems, warnings, the schema of files."),
}


@click.group(
    cls=OneLineGroup,
    places={
        name: Place(f"shuffledp.cli.{module}", attribute, line)
        for name, (module, attribute, line) in _COMMANDS.items()
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
