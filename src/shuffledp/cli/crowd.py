"""``shuffledp account`` of crowds: files whose users run several mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shuffledp.bound import outward, width_words
from shuffledp.cli.extras import load_certificate, load_deployment, load_plots, load_verifier
from shuffledp.cli.folder import figure_writer, files_in, refuse_others, text_writer
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.cli.progress import progress, teller
from shuffledp.cli.report import (
    once,
    print_columns,
    print_theorems,
    print_written,
    target_words,
    wrapped,
)
from shuffledp.cli.review import beside, print_cautions, report_text, sha256, verify_text
from shuffledp.cli.text import end_text, print_json
from shuffledp.errors import ParameterError
from shuffledp.review import Entry, Verified, cautions, verdict_of
from shuffledp.values.characters import visible
from shuffledp.values.verdicts import headline

# Significant digits.
_DIGITS = {"epsilon": 6, "delta": 4}


@dataclass(frozen=True)
class Asked:
    """The options of ``account``."""

    out: str | None
    figure: str
    reports: tuple[str, ...]
    off: frozenset[str]
    as_json: bool
    verified: bool
    audits: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Done:
    source: Any
    account: Any
    certificate: Any
    verified: Verified | None

    @property
    def labels(self) -> list[str]:
        """Each group's mechanism in a few words."""
        return [mechanism_label(group.randomizer) for group in self.account.deployment.group]


def account_crowds(files: tuple[str, ...], asked: Asked) -> list[Sequence[Any]]:
    """Account for crowds; all files are written, or none.

    Parameters
    ----------
    files : tuple of str
        Deployment files with groups.
    asked : Asked
        What is wanted.

    Returns
    -------
    list
        The verifier's checks of each, if they were wanted.
    """
    deployments, certificates = load_deployment(), load_certificate()
    if asked.verified:
        load_verifier()  # what is missing is said before the work
    sources = [deployments.load_crowd(file) for file in files]
    stems = [source.stem for source in sources]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        times = stems.count(twice)
        raise ParameterError(f"file name {twice!r} is given {times} times: wanted different names")
    directory = None if asked.out is None and asked.as_json else Path(asked.out or ".")
    plots = load_plots() if asked.figure != "none" and directory is not None else None
    names = [] if directory is None else [name for stem in stems for name in _names(stem, asked)]
    more = [("report", path) for path in asked.reports]
    with (
        files_in(directory, names, inputs=files, more=more) as held,
        progress("accounting") as status,
    ):
        if directory is not None:
            refuse_others(directory, sources)
        done = [_one(source, asked, teller(status, source.stem)) for source in sources]
        for one in done if directory is not None else []:
            text = certificates.to_json(one.certificate)
            writers = [text_writer(text)]
            if plots is not None:
                drawn = plots.crowd_figure(one.account, labels=one.labels)
                writers.append(figure_writer(plots, drawn, asked.figure))
            for name, write in zip(_names(one.source.stem, asked), writers, strict=True):
                write(held.path(directory / name))  # type: ignore[operator]
        for path in asked.reports:
            pictures = directory if plots is not None else None
            held.write(
                path, report_text(path, [_entry(one, path, pictures, asked) for one in done])
            )
    _print(done, asked)
    if directory is not None and not asked.as_json:
        print_written([*(directory / name for name in names), *map(Path, asked.reports)])
    return [one.verified.checks for one in done if one.verified is not None]


def _names(stem: str, asked: Asked) -> list[str]:
    """What is written of one file."""
    names = [f"{stem}.certificate.json"]
    return names if asked.figure == "none" else [*names, f"{stem}.{asked.figure}"]


def _one(source: Any, asked: Asked, tell: Callable[[str], None]) -> _Done:
    deployments, certificates = load_deployment(), load_certificate()
    found = deployments.account_crowd(source.deployment, report=tell)
    certificate = certificates.issue(source, found)
    text = certificates.to_json(certificate)
    said = verify_text(text, source, tell) if asked.verified else None
    return _Done(source, found, certificate, said)


def _entry(one: _Done, path: str, pictures: Path | None, asked: Asked) -> Entry:
    picture = None if pictures is None else pictures / f"{one.source.stem}.{asked.figure}"
    drawing = None
    if asked.figure != "none":
        plots = load_plots()
        drawing = plots.svg(plots.crowd_figure(one.account, labels=one.labels))
    return Entry(
        certificate=one.certificate,
        certificate_file=f"{one.source.stem}.certificate.json",
        certificate_sha256=sha256(load_certificate().to_json(one.certificate)),
        labels=one.labels,
        cautions=_warned(one, asked),
        silenced=sorted(asked.off),
        drawing=drawing,
        picture=None if picture is None else beside(picture, path),
        verified=one.verified,
    )


def _warned(one: _Done, asked: Asked) -> list[Any]:
    return [said for said in cautions(one.certificate) if said.name not in asked.off]


# ------------------------------------------------------------------------------- on the terminal


def _print(done: Sequence[_Done], asked: Asked) -> None:
    """What was computed on stdout, what to be warned of on stderr."""
    several = len(done) > 1
    for one in done:
        print_cautions(_warned(one, asked), file=one.source.path.name if several else "")
    if asked.as_json:
        content = [load_certificate().to_dict(one.certificate) for one in done]
        print_json(content if several else content[0])
        return
    for one in done:
        _print_crowd(one)
        if one.verified is not None:
            click.echo(headline([check.verdict for check in one.verified.checks]) + "\n")


def _print_crowd(one: _Done) -> None:
    """What each group's members get, and what it rests on."""
    deployment, source, account = one.account.deployment, one.source, one.account
    click.echo(visible(deployment.title))
    click.echo(wrapped("  target      ", target_words(deployment)))
    verdict = verdict_of(one.certificate)
    if verdict is not None:
        click.echo(wrapped("              ", f"{verdict.title.lower()}: {verdict.words}"))
    click.echo(wrapped("  file        ", f"{source.path} (sha256 {source.sha256[:16]}...)"))
    print_columns(_rows(account), left={0, 5})
    for k, (label, member) in enumerate(zip(one.labels, account.members, strict=True)):
        words = f"{label}; {member.situations[0].how}; {_alone(member)}"
        click.echo(wrapped(f"  group {k}: ", words))
    bounds = [b for m in account.members for s in m.situations for b in (s.bound, s.published) if b]
    print_theorems(bounds)
    widths = [w for b in bounds for w in (b.lower_width, b.upper_width) if w is not None]
    click.echo(wrapped("numerical width ", width_words(widths, deployment.accounting.rtol)))
    click.echo("assumptions")
    for words in once(a for b in bounds for a in b.assumptions):
        click.echo(wrapped("  - ", words))
    _print_notes(account)
    click.echo()


def _rows(account: Any) -> list[list[str]]:
    """A line a group: among all groups, and among the users of its own mechanism."""
    quantity = account.deployment.target.quantity
    word, digits = ("eps" if quantity == "epsilon" else "delta"), _DIGITS[quantity]
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


def _alone(member: Any) -> str:
    """What is left where the shuffler fails."""
    failed = member.situations[-1].bound
    word = "eps" if failed.quantity == "epsilon" else "delta"
    left = f"{word} <= {end_text(failed, up=True, digits=_DIGITS[failed.quantity])}"
    local = "no pure eps0"
    if math.isfinite(member.eps0):
        local = f"eps0 = {outward(member.eps0, up=True)} nats"
    return f"local guarantee {local}; if the shuffler fails {left}"


def _print_notes(account: Any) -> None:
    quantity = account.deployment.target.quantity
    for k, member in enumerate(account.members):
        for situation in member.situations:
            for note in situation.bound.notes:
                click.echo(wrapped("note ", f"group {k}, {situation.name}: {note}"))
        published = member.situations[0].published
        if published is not None:
            end = end_text(published, up=True, digits=_DIGITS[quantity])
            click.echo(wrapped("note ", f"group {k}: published theorems alone give {end}"))
    for k, guess in enumerate(account.estimates):
        if guess is not None:
            words = (
                f"group {k}: published estimate {guess.value:.4g}, {guess.what} ({guess.source}): "
                f"{guess.warning}"
            )
            click.echo(wrapped("note ", words))
