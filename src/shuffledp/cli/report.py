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
    _print_target(source, deployment, certificate)
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


def print_crowd(source: Any, account: Any, certificate: Any, labels: Sequence[str]) -> None:
    """Print what each group's members get, and what it rests on."""
    deployment = account.deployment
    click.echo(visible(deployment.title))
    _print_target(source, deployment, certificate)
    print_columns(_group_rows(account), left={0, 5})
    for k, (label, member) in enumerate(zip(labels, account.members, strict=True)):
        words = f"{label}; {member.situations[0].how}; {_alone(member)}"
        click.echo(wrapped(f"  group {k}: ", words))
    bounds = [b for m in account.members for s in m.situations for b in (s.bound, s.published) if b]
    print_theorems(bounds)
    _print_width(bounds, deployment)
    click.echo("assumptions")
    for words in once(a for b in bounds for a in b.assumptions):
        click.echo(wrapped("  - ", words))
    _print_group_notes(account)
    click.echo()


def print_theorems(bounds: Sequence[Bound]) -> None:
    """Each theorem once."""
    click.echo("theorems")
    for end in ("upper", "lower"):
        for theorem in once(getattr(b, f"{end}_theorem") for b in bounds):
            if theorem is not None:
                words = f"{theorem.title}. {theorem.source} [{theorem.provenance}]"
                click.echo(wrapped(f"  {end}  {theorem.key}: ", words, hang=9))


def _print_target(source: Any, deployment: Any, certificate: Any) -> None:
    """What is asked for, whether it is met, and of which file this is."""
    click.echo(wrapped("  target      ", target_words(deployment)))
    verdict = verdict_of(certificate)
    if verdict is not None:
        click.echo(wrapped("              ", f"{verdict.title.lower()}: {verdict.words}"))
    click.echo(wrapped("  file        ", f"{source.path} (sha256 {source.sha256[:16]}...)"))


def _group_rows(account: Any) -> list[list[str]]:
    """A line a group: among all groups, and among the users of its own mechanism."""
    word, digits = _shown(account.deployment)
    head = [f"{word} >=", f"{word} <=", "own group <=", "upper by"]
    rows = [["group", "users", *head]]
    everything = zip(account.deployment.group, account.members, account.own, strict=True)
    for k, (group, member, own) in enumerate(everything):
        now = member.situations[0].bound
        ends = [
            end_text(now, up=False, digits=digits),
            *(end_text(bound, up=True, digits=digits) for bound in (now, own)),
        ]
        key = "" if now.upper_theorem is None else now.upper_theorem.key
        rows.append([str(k), f"{group.users:,}", *ends, key])
    return rows


def _shown(deployment: Any) -> tuple[str, int]:
    """How what is bounded is called, and to how many digits it is shown."""
    return ("eps", 6) if deployment.target.quantity == "epsilon" else ("delta", 4)


def _alone(member: Any) -> str:
    """What is left where the shuffler fails."""
    word, digits = _shown(member.deployment)
    left = f"{word} <= {end_text(member.situations[-1].bound, up=True, digits=digits)}"
    local = "no pure eps0"
    if math.isfinite(member.eps0):
        local = f"eps0 = {outward(member.eps0, up=True)} nats"
    return f"local guarantee {local}; if the shuffler fails {left}"


def _print_group_notes(account: Any) -> None:
    _, digits = _shown(account.deployment)
    for k, member in enumerate(account.members):
        for situation in member.situations:
            for note in situation.bound.notes:
                click.echo(wrapped("note ", f"group {k}, {situation.name}: {note}"))
        published = member.situations[0].published
        if published is not None:
            end = end_text(published, up=True, digits=digits)
            click.echo(wrapped("note ", f"group {k}: published theorems alone give {end}"))
    for k, guess in enumerate(account.estimates):
        if guess is not None:
            words = (
                f"group {k}: published estimate {guess.value:.4g}, {guess.what} ({guess.source}): "
                f"{guess.warning}"
            )
            click.echo(wrapped("note ", words))


def _print_ends(deployment: Any, found: Sequence[tuple[Any, Bound, Bound | None]]) -> None:
    """Print a line a situation: both ends, what published theorems give, the upper theorem."""
    published = any(other is not None for _, _, other in found)
    word, digits = _shown(deployment)
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
    certificates = [str(path) for path in paths if path.name.endswith(".certificate.json")]
    click.echo(f"next: shuffledp verify {shlex.join(certificates)}")


def print_checks(file: str, checks: Sequence[Any], left: Sequence[str], *, verbose: bool) -> None:
    """A line for the exit status; claims that do not hold, and all of them if it is wanted."""
    click.echo(f"{visible(file)}: {headline([check.verdict for check in checks])}")
    scenario = None
    for check in checks:
        if check.verdict == "holds" and not verbose:
            continue
        if check.scenario != scenario:
            scenario = check.scenario
            click.echo(scenario)
        mark = Text(f"  {check.verdict:13}  ", style=_COLOUR[check.verdict])
        mark.append(visible(check.claim), style="default")
        _print(mark)
        click.echo(wrapped(" " * 19, check.how))
    if verbose:
        click.echo("not checked")
        for words in left:
            click.echo(wrapped("  - ", words))
        click.echo(
            "Theorems are cited, not proved again: that each analysis is valid and that the\n"
            "pairs of inputs looked at dominate all others is what the certificate's sources say."
        )


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
    _print_width(bounds, account.deployment)
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


def _print_width(bounds: Sequence[Bound], deployment: Any) -> None:
    widths = [w for b in bounds for w in (b.lower_width, b.upper_width) if w is not None]
    click.echo(wrapped("numerical width ", width_words(widths, deployment.accounting.rtol)))


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
