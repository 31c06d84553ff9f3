"""What `account` and `verify` print: tables that read at 80 columns and without colour."""

from __future__ import annotations

import math
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from shuffledp._check import exact
from shuffledp.amplification.words import ONE_ROUND
from shuffledp.bound import Bound, outward, width_words
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.cli.text import end_text
from shuffledp.review import local_of, verdict_of
from shuffledp.values.characters import visible
from shuffledp.values.verdicts import headline

_WIDTH = 80
_COLOUR = {"holds": "green", "does not hold": "bold red", "undecided": "yellow"}


def print_account(source: Any, account: Any, certificate: Any) -> None:
    """Print the table of one deployment and what it rests on."""
    deployment = account.deployment
    click.echo(visible(deployment.title))
    click.echo(wrapped("  randomizer  ", mechanism_label(deployment.randomizer)))
    sums = certificate.members[0].sums
    if sums is not None:
        click.echo(wrapped("  view        ", sums.seen))
    click.echo(wrapped("  target      ", target_words(deployment)))
    verdict = verdict_of(certificate)
    if verdict is not None:
        click.echo(wrapped("              ", f"{verdict.title.lower()}: {verdict.words}"))
    click.echo(wrapped("  file        ", f"{source.path} (sha256 {source.sha256[:16]}...)"))
    rounds = deployment.accounting.rounds
    if rounds > 1:
        click.echo("after one round")
    _print_ends(deployment, [(s, s.bound, s.published) for s in account.situations])
    if rounds > 1:
        click.echo(f"after all {rounds:,} rounds together")
        found = [(s, s.composed, s.composed_published) for s in account.situations]
        _print_ends(deployment, found)
    for s in account.situations:
        click.echo(wrapped(f"  {s.name + ':':15} ", s.how))
    _print_local(account)
    _print_grounds(account)
    click.echo()


def print_theorems(bounds: Sequence[Bound]) -> None:
    """Each theorem once."""
    click.echo("theorems")
    for end in ("upper", "lower"):
        for theorem in once(getattr(b, f"{end}_theorem") for b in bounds):
            if theorem is not None:
                words = f"{theorem.title}. {theorem.source} [{theorem.provenance}]"
                click.echo(wrapped(f"  {end}  {theorem.key}: ", words, hang=9))


def _print_ends(deployment: Any, found: Sequence[tuple[Any, Bound, Bound | None]]) -> None:
    """Print a line a situation: both ends, what published theorems give, the upper theorem."""
    published = any(other is not None for _, _, other in found)
    word = "eps" if deployment.target.quantity == "epsilon" else "delta"
    digits = 6 if word == "eps" else 4
    ends = [f"{word} >=", f"{word} <=", *(["published <="] if published else [])]
    rows = [["situation", "n honest", *ends, "upper by"]]
    for s, bound, other in found:
        shown = [(bound, False), (bound, True), *([(other or bound, True)] if published else [])]
        cells = [end_text(b, up=up, digits=digits) for b, up in shown]
        theorem = bound.upper_theorem
        rows.append([s.name, f"{s.n:,}", *cells, "" if theorem is None else theorem.key])
    print_columns(rows, left={0, len(rows[0]) - 1})


def print_comparison(accounts: Sequence[Any]) -> None:
    """Print deployments side by side."""
    several = any(account.deployment.accounting.rounds > 1 for account in accounts)
    click.echo("Comparison: upper ends" + (" after all rounds" if several else ""))
    rows = [["deployment", "target", "now", "min. batch", "no shuffler"]]
    for account in accounts:
        ends = [account.named("now"), account.named("minimum batch"), account.failed]
        cells = [
            "-" if s is None else end_text(s.composed or s.bound, up=True, digits=4) for s in ends
        ]
        target = account.deployment.target
        fixed = "delta" if target.quantity == "epsilon" else "eps"
        lines = textwrap.wrap(visible(account.deployment.title), 28)
        rows.append([lines[0], f"{fixed} {exact(target.value)}", *cells])
        rows += [[line, "", "", "", ""] for line in lines[1:]]
    print_columns(rows, left={0})
    click.echo()


def print_written(paths: Sequence[Path]) -> None:
    """Say what was written, and what to do with it."""
    click.echo("wrote " + "\n      ".join(str(path) for path in paths))
    certificates = [path for path in paths if path.name.endswith(".certificate.json")]
    for path in certificates:
        click.echo(f"next: shuffledp verify {shlex.quote(str(path))}")


def print_checks(file: str, checks: Sequence[Any], left: Sequence[str]) -> None:
    """Print every check and its verdict, what was not checked, and a line for the exit status."""
    click.echo(visible(file))
    scenario = None
    for check in checks:
        if check.scenario != scenario:
            scenario = check.scenario
            click.echo(scenario)
        mark = Text(f"  {check.verdict:13}  ", style=_COLOUR[check.verdict])
        mark.append(visible(check.claim), style="default")
        _print(mark)
        click.echo(wrapped(" " * 19, check.how))
    click.echo("not checked")
    for words in left:
        click.echo(wrapped("  - ", words))
    click.echo(
        "Theorems are cited, not proved again: that each analysis is valid and that the\n"
        "pairs of inputs looked at dominate all others is what the certificate's sources say."
    )
    click.echo(headline([check.verdict for check in checks]))


def print_verdicts(files: Sequence[str], every: Sequence[Sequence[Any]]) -> None:
    """A line for each certificate, after all of them."""
    click.echo()
    for file, checks in zip(files, every, strict=True):
        click.echo(f"{visible(file)}: {headline([check.verdict for check in checks])}")


def _print_local(account: Any) -> None:
    if math.isfinite(account.eps0):
        each = local_of(account.deployment.changed)
        value = outward(account.eps0, up=True)
        words = f"eps0 = {value} nats{each}, whatever the {_who(account)} does"
    else:
        words = f"no pure eps0; if the {_who(account)} fails, what the table says at the target"
    click.echo(wrapped("  local guarantee ", words))


def _who(account: Any) -> str:
    return "aggregator" if account.deployment.view == "sums" else "shuffler"


def _print_grounds(account: Any) -> None:
    """Theorems, widths, assumptions and notes: each said once, for all situations."""
    each = [(s.bound, s.published, s.composed, s.composed_published) for s in account.situations]
    bounds = [found[k] for k in range(4) for found in each if found[k] is not None]
    print_theorems(bounds)
    click.echo(
        wrapped(
            "numerical width ", width_words(_widths(bounds), account.deployment.accounting.rtol)
        )
    )
    click.echo("assumptions")
    for words in _assumed(account):
        if words == ONE_ROUND and account.deployment.accounting.rounds > 1:
            continue  # of the first table only, which says so
        click.echo(wrapped("  - ", words))
    for s in account.situations:
        for note in s.bound.notes:
            click.echo(wrapped("note ", f"{s.name}: {note}"))
        for note in () if s.composed is None else s.composed.notes:
            click.echo(wrapped("note ", f"{s.name}, all rounds: {note}"))


def _assumed(account: Any) -> list[str]:
    """Assumptions, each once; those of the failure of a trust alone by that situation's name."""
    said = list(account.deployment.assumptions())
    asked = [
        (s.name, words)
        for s in account.situations
        for bound in (s.bound, s.published, s.composed, s.composed_published)
        if bound is not None
        for words in bound.assumptions
    ]
    usual = {*said, *(words for name, words in asked if name != account.failed.name)}
    return once([*said, *(w if w in usual else f"{name}: {w}" for name, w in asked)])


def _widths(bounds: Sequence[Bound]) -> list[float]:
    return [w for b in bounds for w in (b.lower_width, b.upper_width) if w is not None]


def target_words(deployment: Any) -> str:
    """What is asked for, and at what."""
    target = deployment.target
    if target.quantity == "epsilon":
        return f"eps (nats) at delta = {target.value!r}"
    return f"delta at eps = {target.value!r} nats"


def once(items: Any) -> list[Any]:
    """Each item once, in order."""
    return list(dict.fromkeys(items))


def wrapped(start: str, words: str, *, hang: int | None = None) -> str:
    """Lines of the terminal's width; those after the first are indented, nothing is hidden."""
    indent = " " * (len(start) if hang is None else hang)
    return textwrap.fill(
        visible(words.replace("\n", " ")),
        _WIDTH,
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_columns(rows: Sequence[Sequence[str]], *, left: set[int]) -> None:
    """A heading, a rule, and rows: right-aligned but for ``left``, nothing is ever cut off."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo(" " + "   ".join(cells).rstrip())
        if number == 0:
            click.echo(" " + "-" * (sum(widths) + 3 * (len(widths) - 1)))


def _print(item: Any) -> None:
    """Through rich: coloured on a terminal, plain and 80 columns wide in a pipe."""
    console = Console(file=sys.stdout, width=_WIDTH, highlight=False, soft_wrap=False)
    console.print(item)
