"""What `account`, `run` and `verify` print: it reads at 80 columns and without colour."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.review import summary, to_text, wrapped
from shuffledp.values.characters import visible
from shuffledp.values.verdicts import headline

_COLOUR = {"holds": "green", "does not hold": "bold red", "undecided": "yellow"}


def labels_of(certificate: Any) -> list[str]:
    """Each mechanism of a certificate in a few words."""
    content = certificate.deployment.content
    return [mechanism_label(one.randomizer) for one in content.group or [content]]


def print_summary(certificate: Any) -> None:
    """Print the numbers of one deployment and what they rest on."""
    click.echo(to_text(summary(certificate, labels_of(certificate))) + "\n")


def print_written(paths: Sequence[Path]) -> None:
    """Say what was written, and what to do with it."""
    click.echo("wrote " + "\n      ".join(str(path) for path in paths))
    certificates = [str(path) for path in paths if path.name.endswith(".certificate.json")]
    click.echo(f"next: shuffledp verify {shlex.join(certificates)}")


def print_checks(file: str, checks: Sequence[Any], left: Sequence[str], *, verbose: bool) -> None:
    """A line for the exit status; claims that do not hold, and all of them if it is wanted."""
    click.echo(f"{visible(file)}: {headline([check.verdict for check in checks])}")
    # Coloured on a terminal, plain in a pipe.
    console = Console(file=sys.stdout, width=80, highlight=False, soft_wrap=False)
    scenario = None
    for check in checks:
        if check.verdict == "holds" and not verbose:
            continue
        if check.scenario != scenario:
            scenario = check.scenario
            click.echo(scenario)
        mark = Text(f"  {check.verdict:13}  ", style=_COLOUR[check.verdict])
        mark.append(visible(check.claim), style="default")
        console.print(mark)
        click.echo(wrapped(" " * 19, check.how))
    if verbose:
        click.echo("not checked")
        for words in left:
            click.echo(wrapped("  - ", words))
        click.echo(
            "Theorems are cited, not proved again: that each analysis is valid and that the\n"
            "pairs of inputs looked at dominate all others is what the certificate's sources say."
        )
