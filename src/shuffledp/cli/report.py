"""What `account`, `run` and `verify` print: it reads at 80 columns and without colour."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from shuffledp.certificate.checks import CITED
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.review import summary, to_text, wrapped
from shuffledp.values.characters import visible

_STYLES: dict[str, dict[str, Any]] = {
    "holds": {"fg": "green"},
    "does not hold": {"fg": "red", "bold": True},
    "undecided": {"fg": "yellow"},
}


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


def print_checks(file: str, checks: Any, *, verbose: bool) -> None:
    """A headline, and the claims that do not hold, or all claims on request."""
    click.echo(f"{visible(file)}: {checks.headline()}")
    scenario = None
    for check in checks:
        if check.verdict == "holds" and not verbose:
            continue
        if check.scenario != scenario:
            scenario = check.scenario
            click.echo(scenario)
        # Coloured on a terminal, plain in a pipe.
        said = wrapped(f"  {check.verdict:13}  ", check.claim)
        styled = click.style(check.verdict, **_STYLES[check.verdict])
        click.echo(said.replace(check.verdict, styled, 1))
        click.echo(wrapped(" " * 19, check.how))
    if verbose:
        click.echo("not checked")
        for words in checks.left:
            click.echo(wrapped("  - ", words))
        click.echo(wrapped("", CITED))
