"""What a plan found: rows by error, and the same as a table, in a notebook and as JSON."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

from shuffledp.bound import outward
from shuffledp.multimessage import MultiMessage
from shuffledp.planner.central import split_words
from shuffledp.planner.solve import Asked
from shuffledp.planner.tasks import Source
from shuffledp.values.described import ByContent
from shuffledp.values.notebook import Drawn, Record, Sheet

# Of an error, by which rows are in order: values are solved for to a thousandth (solve.py).
ORDER_DIGITS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Row(ByContent):
    """One mechanism that meets the target.

    Attributes
    ----------
    label : str
        For a reader.
    source : Randomizer or MultiMessage
        With all its parameters.
    parameter : str
        What was solved for.
    value : float
        Its value.
    epsilon : float
        Certified upper end of central eps after all rounds, with the margin that an account of its
        deployment adds.
    bits : int
        Bits that a user sends in a round, at most.
    error : float
        Standard error of one answer of one round.
    largest_error : float
        What no answer's error exceeds with probability 95%, by the normal approximation.
    """

    label: str
    source: Source
    parameter: str
    value: float
    epsilon: float
    bits: int
    error: float
    largest_error: float

    @property
    def deployable(self) -> bool:
        """One message a user: it keeps a local guarantee where the shuffler fails."""
        return not isinstance(self.source, MultiMessage)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "label": self.label,
            "mechanism": self.source.to_dict(),
            "parameter": self.parameter,
            "value": self.value,
            "epsilon": self.epsilon,
            "bits": self.bits,
            "standard_error": self.error,
            "largest_error": self.largest_error,
            "deployable": self.deployable,
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Plan(Asked, Drawn):
    """Mechanisms for a task at one central guarantee, by error to three digits.

    Attributes
    ----------
    task, n, hidden, epsilon, delta, rounds, limit, most_local, trust
        What was asked, as in ``Asked``.
    rows : tuple of Row
        Mechanisms that meet the target, by error to three digits; of equal ones the fewest bits
        first.
    left_out : tuple of (str, str)
        Those that do not, and why.
    local, central : float
        Errors without a shuffler at eps0 = eps/rounds, the best of these mechanisms, and of a
        trusted server.
    central_noise : str
        Which noise the trusted server adds, and how rounds are composed: Laplace noise at
        eps/rounds or Gaussian noise for all rounds together at eps and delta, whichever is less.
    """

    rows: tuple[Row, ...]
    left_out: tuple[tuple[str, str], ...]
    local: float
    central: float
    central_noise: str

    @property
    def recommended(self) -> Row | None:
        """The most accurate with one message a user; None where there is none.

        Protocols of several messages may send a value in clear: the shuffler is all they have.
        """
        return next((row for row in self.rows if row.deployable), None)

    @property
    def central_words(self) -> str:
        """What ``central`` is the error of."""
        return f"trusted server, {self.central_noise}"

    @property
    def local_words(self) -> str:
        """What ``local`` is the error of."""
        return "no shuffler" + split_words(self.rounds)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        best = self.recommended
        return {
            "task": {"kind": self.task.name, **vars(self.task)},
            "n": self.n,
            "hidden": self.hidden,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rounds": self.rounds,
            "limit": self.limit,
            "most_local": self.most_local,
            "trust": self.trust,
            "recommended": None if best is None else best.label,
            "rows": [row.to_dict() for row in self.rows],
            "left_out": [{"label": label, "why": why} for label, why in self.left_out],
            "local_error": self.local if math.isfinite(self.local) else None,
            "central_error": self.central,
            "central_noise": self.central_noise,
        }

    def records(self) -> list[Record]:
        """One row for each mechanism that meets the target, in the order of ``rows``."""
        return [
            {
                "mechanism": row.label,
                "recommended": row is self.recommended,
                "parameter": row.parameter,
                "value": row.value,
                "bits": row.bits,
                "standard_error": row.error,
                "largest_error": row.largest_error,
                "epsilon_upper": row.epsilon,
                "parameters": repr(row.source),
            }
            for row in self.rows
        ]

    def sheet(self) -> Sheet:
        """What a notebook shows."""
        head, *rows = _table(self)
        best = self.recommended
        notes = [f"left out: {label}: {why}" for label, why in self.left_out]
        if best is not None:
            notes.insert(0, f"recommended: {best.label}")
        return Sheet(
            "; ".join(_target_lines(self)), tuple(head), tuple(map(tuple, rows)), (*notes,)
        )

    def _draw(self, bands: Any, ax: Any) -> Any:
        """Each mechanism's standard error, and what there is without a shuffler or with trust."""
        best = self.recommended
        names = [f"{r.label}{' (recommended)' if r is best else ''}" for r in self.rows]
        words = f"all at certified central eps <= {self.epsilon:g}, delta = {self.delta:g}"
        lines = {self.central_words: self.central}
        if math.isfinite(self.local):
            lines[f"{self.local_words}, the best of these"] = self.local
        series = [(words, [row.error for row in self.rows], "o")]
        label = f"{self.task.error_label}, n = {self.n:,}"
        return bands.draw_dots(ax, names, series, xlabel=label, lines=lines)

    def __repr__(self) -> str:
        best = self.recommended
        chosen = "none recommended" if best is None else f"recommended: {best.label}"
        target = f"epsilon={self.epsilon:g}, delta={self.delta:g}"
        return f"Plan({self.task.label}, n={self.n}, {target}; {len(self.rows)} meet it, {chosen})"

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _target_lines(found: Plan) -> list[str]:
    """What was asked for."""
    after = f" after {found.rounds:,} rounds" if found.rounds > 1 else ""
    return [
        f"{found.task.label}, n = {found.n:,}",
        f"central eps <= {found.epsilon:g} at delta = {found.delta:g}{after}, certified"
        + (f" for {found.hidden:,} honest messages" if found.hidden < found.n else ""),
    ]


def _table(found: Plan) -> list[list[str]]:
    """A heading and a line for each mechanism; privacy rounded outward, the rest to few digits."""
    table = [["mechanism", "local", "bits", "error", "all within", "eps <="]]
    for row in found.rows:
        local = f"{'eps0' if row.parameter == 'eps0' else row.parameter.split()[0]} {row.value:.4g}"
        errors = [f"{error:.{ORDER_DIGITS}g}" for error in (row.error, row.largest_error)]
        eps = outward(row.epsilon, up=True, digits=4)
        table.append([row.label, local, f"{row.bits:,}", *errors, eps])
    return table


def _lines(found: Plan) -> list[str]:
    """What a terminal of 80 columns shows."""
    lines = [*_target_lines(found), ""]
    table = _table(found)
    if len(table) > 1:
        lines += columns(table, left=2)
    else:
        lines.append("no mechanism meets the target")
    within = f"error: {found.task.error_label}; with 95% all of them are within the next column"
    lines += ["", *wrapped(within)]
    if len(table) > 2:  # the heading and two rows
        lines.append(f"rows by error to {ORDER_DIGITS} digits, of equal ones the fewest bits first")
    references = [(found.central_words, found.central)]
    if math.isfinite(found.local):
        references.append((found.local_words, found.local))
    width = max(len(words) for words, _ in references)
    lines += [f"  {words:{width}}  {error:.4g}" for words, error in references]
    best = found.recommended
    if best is not None:
        why = "" if best is found.rows[0] else ", the best that sends one noisy message a user"
        lines.append(f"recommended: {best.label}{why}")
    for label, why in found.left_out:
        lines += wrapped(f"left out: {label}: {why}")
    return lines


def columns(table: list[list[str]], *, left: int) -> list[str]:
    """Lines of a table: the first columns start together, the others end together."""
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, wide, strict=True))
        )
        for line in table
    ]


def wrapped(words: str) -> list[str]:
    """Lines of 80 columns."""
    return textwrap.wrap(words, 80, subsequent_indent="  ", break_long_words=False)
