"""What surveys found: estimates with intervals, what they cost, and the certificates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp._check import exact
from shuffledp.bound import Bound, outward
from shuffledp.errors import rejected
from shuffledp.planner import Plan
from shuffledp.theorems import BASIC
from shuffledp.values.notebook import Drawn, Record, Sheet, Shown

if TYPE_CHECKING:
    from shuffledp.certificate import Certificate
    from shuffledp.protocol.answers import Row

NAME = "survey"
# Significant digits of an estimate that is shown, more where its error would be lost in them.
_DIGITS = 4
_HEAD = ("item", "estimate", "std. error")


@dataclass(frozen=True, repr=False)
class Survey(Drawn):
    """What a survey found, and what it cost.

    Attributes
    ----------
    column : str
        Which column.
    rows : tuple of Row
        An estimate with its errors and intervals for each item, in the domain's order, or of the
        mean.
    confidence : float
        Of the intervals.
    users : int
        Rows with a value: whose reports were shuffled.
    nulls, outside : int
        Rows left out because they asked for it (``nulls``, ``outside`` = "drop").
    bound : Bound
        Central eps of one round, both ends certified.
    plan : Plan
        Every mechanism that was looked at.
    deployment : str
        The deployment file that was run, as TOML.
    certificate : Certificate
        For the users that were seen and this table of estimates.
    table : str
        The estimates as CSV, of which the certificate has the sha256.
    notes : tuple of str
        What to know of the estimates.
    """

    column: str
    rows: tuple[Row, ...]
    confidence: float
    users: int
    nulls: int
    outside: int
    bound: Bound
    plan: Plan
    deployment: str
    certificate: Certificate
    table: str
    notes: tuple[str, ...] = ()

    def records(self) -> list[Record]:
        """One row for each estimate; errors and intervals are in the units of the estimate."""
        found = [asdict(row) for row in self.rows]
        for row in found:
            del row["column"]
        return found

    def sheet(self) -> Sheet:
        """What a notebook shows."""
        # Not rounded: 99.9 % is not to be read as 100 %.
        share = f"{(Decimal(repr(self.confidence)) * 100).normalize():f}%"
        head = (*_HEAD, f"{share} interval", f"{share}, all at once")
        assumed = dict.fromkeys((*self.bound.assumptions, *self.certificate.members[0].assumptions))
        notes = (
            *self._left_out(),
            *self.notes,
            f"theorems: {self.bound.theorem}",
            *(f"assumes: {words}" for words in assumed),
        )
        return Sheet(self.line(), head, tuple(map(_shown, self.rows)), notes)

    def _left_out(self) -> list[str]:
        """Rows without a report; that nothing hides which these are is an assumption."""
        return [
            f"{count:,} rows left out: {why}"
            for count, why in ((self.nulls, "no value"), (self.outside, "outside the domain"))
            if count
        ]

    def _draw(self, bands: Any, ax: Any) -> Any:
        """The estimates with their intervals for all at once, in the domain's order."""
        from shuffledp.protocol.figure import draw_estimates

        axes = bands.axes_of(ax)
        draw_estimates(axes, self.rows, title=self.column, n=self.users)
        return axes

    def save(self, directory: str | Path) -> tuple[Path, ...]:
        """Write survey.toml, survey.csv and survey.csv.certificate.json: all of them or none.

        Parameters
        ----------
        directory : path
            Made if it is not there. ``shuffledp verify`` reads the certificate with
            ``--deployment survey.toml --table survey.csv``.

        Raises
        ------
        ParameterError
            If they cannot be written there.
        """
        from shuffledp.certificate import to_json
        from shuffledp.outputs import writing

        folder = Path(directory)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise rejected("directory", str(directory), "a directory that can be made") from None
        texts = {
            folder / f"{NAME}.toml": self.deployment,
            folder / f"{NAME}.csv.certificate.json": to_json(self.certificate),
            folder / f"{NAME}.csv": self.table,
        }
        with writing([("directory", path) for path in texts]) as held:
            for path, text in texts.items():
                held.write(path, text)
        return tuple(texts)

    def line(self) -> str:
        """What it is of, and what it cost."""
        high = outward(self.bound.upper, up=True, digits=4)
        best = self.plan.recommended
        name = "" if best is None else f" by {best.source.name}"
        delta = outward(self.bound.at["delta"], up=True, digits=8)
        kept = f"central eps <= {high} nats at delta = {delta}, certified"
        after = f" (one of {self.plan.rounds:,} rounds)" if self.plan.rounds > 1 else ""
        return f"{self.column}: {self.users:,} users{name}; {kept}{after}"

    def __repr__(self) -> str:
        return f"Survey({self.line()}; {len(self.rows)} estimates)"

    def __hash__(self) -> int:
        return hash((self.table, self.deployment, self.certificate.checksum))

    def __str__(self) -> str:
        return _text(self.sheet())


@dataclass(frozen=True, repr=False)
class Surveys(Shown):
    """Surveys of several columns of the same users, and what all of them cost together.

    ``found["page"]`` is the survey of that column; ``plot()`` is of each.

    Attributes
    ----------
    parts : tuple of Survey
        One a column, in the order asked for, each with a certificate of its own.
    epsilon, delta : float
        Central eps in nats after all rounds, and delta: the sums of the columns' certified upper
        ends and deltas, rounded up. By basic composition, whatever the columns have in common.
    shares : tuple of float
        Of epsilon and delta, one a column; they add up to 1.
    wanted : (float, float)
        Target for all columns together.
    """

    parts: tuple[Survey, ...]
    epsilon: float
    delta: float
    shares: tuple[float, ...]
    wanted: tuple[float, float]

    def __getitem__(self, column: str) -> Survey:
        for part in self.parts:
            if part.column == column:
                return part
        raise rejected("column", column, f"one of {', '.join(p.column for p in self.parts)}")

    def records(self) -> list[Record]:
        """One row for each estimate, with its column."""
        return [{"column": p.column, **row} for p in self.parts for row in p.records()]

    def sheet(self) -> Sheet:
        """What a notebook shows."""
        sheets = [part.sheet() for part in self.parts]
        rows = tuple(
            (part.column, *row)
            for part, sheet in zip(self.parts, sheets, strict=True)
            for row in sheet.rows
        )
        split = (
            f"{part.column}: {share:.4g} of the budget; {part.line()}"
            for part, share in zip(self.parts, self.shares, strict=True)
        )
        epsilon, delta = map(exact, self.wanted)
        notes = (
            f"budget for all columns together, split: epsilon = {epsilon}, delta = {delta}",
            *split,
            f"together: {BASIC.title} ({BASIC.source})",
            "intervals of one column hold all at once, those of several do not",
            *dict.fromkeys(note for sheet in sheets for note in sheet.notes),
        )
        return Sheet(self.line(), ("column", *sheets[0].head), rows, notes)

    def save(self, directory: str | Path) -> tuple[Path, ...]:
        """Write the three files of each column to a folder of its own: survey 1, 2, ...

        Parameters
        ----------
        directory : path
            Made if it is not there.

        Raises
        ------
        ParameterError
            If they cannot be written there.
        """
        found: list[Path] = []
        for place, part in enumerate(self.parts, 1):
            found += part.save(Path(directory) / f"{NAME}-{place}")
        return tuple(found)

    def line(self) -> str:
        """What it is of, and what it cost."""
        high = outward(self.epsilon, up=True, digits=4)
        names = ", ".join(part.column for part in self.parts)
        delta = outward(self.delta, up=True, digits=8)
        total = f"central eps <= {high} nats at delta = {delta}"
        return f"{names}: {total} for all columns together, certified"

    def __repr__(self) -> str:
        return f"Surveys({self.line()})"

    def __str__(self) -> str:
        return _text(self.sheet())


def _shown(row: Row) -> tuple[str, ...]:
    """A row of a sheet: intervals rounded outward, in steps of a tenth of the error at most."""
    from shuffledp.protocol.answers import digits_of

    digits = digits_of(row, least=_DIGITS)

    def interval(low: float, high: float) -> str:
        ends = ((low, False), (high, True))
        return " to ".join(
            outward(value, up=up, digits=digits) if math.isfinite(value) else f"{value:g}"
            for value, up in ends
        )

    return (
        row.item,
        f"{row.estimate:.{digits}g}",
        f"{row.noise_error:.2g}",
        interval(row.low, row.high),
        interval(row.low_all, row.high_all),
    )


def _text(sheet: Sheet) -> str:
    lines = [sheet.head, *sheet.rows]
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = [
        "  ".join(cell.ljust(w) for cell, w in zip(line, wide, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([sheet.caption, "", *body, "", *sheet.notes])
