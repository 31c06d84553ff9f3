"""All analyses side by side at one delta: eps, validity, time, and the factor lost."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from shuffledp.amplification.analyses import UNCERTIFIED, Analysis, analyses
from shuffledp.amplification.messages import Messages
from shuffledp.bound import Bound, outward
from shuffledp.errors import NotCertified
from shuffledp.published import FORMULAS, Estimate, Formula
from shuffledp.values.described import ByContent
from shuffledp.values.notebook import Drawn, Record, Sheet

End = Literal["upper", "lower", "estimate"]


@dataclass(frozen=True)
class Row:
    """One analysis in a comparison.

    Attributes
    ----------
    analysis : Analysis or Formula
        Name, theorem and validity.
    end : {"upper", "lower", "estimate"}
        The kind of the number; a published formula gives an estimate.
    epsilon : float or None
        Its eps in nats; None where the analysis does not apply or was not run.
    factor : float or None
        The factor by which it misses the best of its kind (the smallest upper end, the largest
        lower end); for estimates, the number over the best upper end.
    seconds : float or None
        CPU time in seconds, with nothing computed beforehand.
    note : str
        Why there is no number, or a remark on it.
    """

    analysis: Analysis | Formula
    end: End
    epsilon: float | None
    factor: float | None
    seconds: float | None = field(compare=False)
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        shown = self.epsilon if self.epsilon is not None and math.isfinite(self.epsilon) else None
        return {
            "analysis": self.analysis.key,
            "end": self.end,
            "certified": self.end != "estimate",
            "epsilon": shown,
            "factor": self.factor,
            "seconds": self.seconds,
            "theorem": self.analysis.theorem.to_dict(),
            "validity": self.analysis.validity,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Drawn, ByContent):
    """All analyses at one delta, as ``acc.compare(delta=...)`` gives them.

    ``plot()`` draws eps of every analysis that applies: upper ends, lower ends and estimates.

    Attributes
    ----------
    delta : float
        The target delta.
    n : int
        Number of users.
    rows : tuple of Row
        In the order of ``analyses()``, then published formulas; inapplicable ones included.
    """

    delta: float
    n: int
    rows: tuple[Row, ...]

    def applying(self) -> tuple[Row, ...]:
        """Rows with a number: upper ends, lower ends, then estimates; the best first in each."""
        order = {"upper": 0, "lower": 1, "estimate": 2}
        kept = [row for row in self.rows if row.epsilon is not None]

        def place(row: Row) -> tuple[int, float]:
            value = math.inf if row.epsilon is None else row.epsilon
            return order[row.end], -value if row.end == "lower" else value

        return tuple(sorted(kept, key=place))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {"delta": self.delta, "n": self.n, "rows": [row.to_dict() for row in self.rows]}

    def records(self) -> list[Record]:
        """One record for each analysis, inapplicable ones included."""
        return [
            {
                "analysis": row.analysis.key,
                "end": row.end,
                "certified": row.end != "estimate",
                "epsilon": row.epsilon,
                "factor": row.factor,
                "seconds": row.seconds,
                "source": row.analysis.theorem.source,
                "provenance": row.analysis.theorem.provenance,
                "note": row.note,
            }
            for row in self.rows
        ]

    def sheet(self) -> Sheet:
        """A table for notebooks: the rows that apply, then why the others do not."""
        head = ("analysis", "end", "eps (nats)", "factor lost", "CPU seconds", "note")
        rows = tuple((*_shown(row), row.note) for row in self.applying())
        without = tuple(f"{r.analysis.key}: {r.note}" for r in self.rows if r.epsilon is None)
        return Sheet(self._caption(), head, rows, without)

    def _caption(self) -> str:
        return f"eps at delta = {self.delta:g}, n = {self.n:,}"

    def _draw(self, bands: Any, ax: Any) -> Any:
        """Eps (nats) of every analysis that applies: upper ends, lower ends and estimates."""
        rows = self.applying()
        marks = (
            ("certified upper end", "upper", "o"),
            ("certified lower end", "lower", "^"),
            ("estimate, not certified", "estimate", "D"),
        )
        series = [
            (label, [_positive(r.epsilon) if r.end == end else math.nan for r in rows], marker)
            for label, end, marker in marks
            if any(r.end == end for r in rows)
        ]
        words = self._caption().replace("eps", "central eps (nats)", 1)
        names = [row.analysis.key for row in rows]
        return bands.draw_dots(ax, names, series, xlabel=words)

    def __repr__(self) -> str:
        count, all_ = len(self.applying()), len(self.rows)
        return f"Comparison(delta={self.delta:g}, n={self.n}, {count} of {all_} analyses apply)"

    def __str__(self) -> str:
        shape = "{:30} {:9} {:>11} {:>8} {:>8}"
        lines = [self._caption(), shape.format("analysis", "end", "eps", "factor", "seconds")]
        lines += [shape.format(*_shown(row)) for row in self.applying()]
        without = [row for row in self.rows if row.epsilon is None]
        return "\n".join([*lines, *(f"{row.analysis.key:30} {row.note}" for row in without)])


def _shown(row: Row) -> tuple[str, str, str, str, str]:
    """Name, end, eps rounded outward, factor and seconds, as text."""
    return (
        row.analysis.key,
        row.end,
        outward(row.epsilon, up=row.end != "lower"),
        "" if row.factor is None else f"{row.factor:.4g}",
        "" if row.seconds is None else f"{row.seconds:.3f}",
    )


def compare(accountant: Messages, *, delta: float, slow: bool) -> Comparison:
    """Run every analysis on a fresh copy, so that none profits from another's work.

    Parameters
    ----------
    accountant : Messages
        A randomizer or family among n users.
    delta : float
        Target delta, 0 < delta < 1.
    slow : bool
        Whether to run the analyses whose cost grows with n.
    """
    asked = (*analyses(), *UNCERTIFIED.values())
    rows = [_row(accountant, one, delta, slow=slow) for one in asked]
    uppers = [r.epsilon for r in rows if r.end == "upper" and r.epsilon is not None]
    lowers = [r.epsilon for r in rows if r.end == "lower" and r.epsilon is not None]
    best = {
        "upper": min(uppers, default=math.inf),
        "lower": max(lowers, default=0.0),
    }
    best["estimate"] = best["upper"]
    return Comparison(delta, accountant.n, tuple(_with_factor(row, best[row.end]) for row in rows))


def _row(accountant: Messages, analysis: Analysis | Formula, delta: float, *, slow: bool) -> Row:
    dear = isinstance(analysis, Analysis) and analysis.slow
    if dear and not slow and not accountant.uses(analysis.key):
        note = "not run: its cost grows with n (ask for slow)"
        return Row(analysis, analysis.end, None, None, None, note)
    fresh = accountant.among(accountant.n)
    attempts: list[tuple[End, bool]] = []
    if isinstance(analysis, Analysis):
        attempts.append((analysis.end, True))
    # The published variation ratio is tried as a bound first, then as a formula.
    if analysis.key in FORMULAS:
        attempts.append(("estimate", False))
    note = ""
    for end, certified in attempts:
        started = time.process_time()
        try:
            if certified:
                found = fresh.bound("epsilon", delta, analysis=analysis.key)
            else:
                found = fresh.estimate(delta, analysis.key)
        except NotCertified as error:
            note = str(error)
            continue
        seconds = time.process_time() - started
        return Row(analysis, end, _value(found, end), None, seconds, note or _warning(found))
    return Row(analysis, analysis.end, None, None, None, note)


def _positive(value: float | None) -> float:
    """The value if it has a place on a logarithmic axis, else nan."""
    return value if value is not None and 0.0 < value < math.inf else math.nan


def _value(found: Bound | Estimate, end: End) -> float:
    if isinstance(found, Estimate):
        return found.value
    return found.lower if end == "lower" else found.upper


def _warning(found: Bound | Estimate) -> str:
    return found.warning if isinstance(found, Estimate) else "; ".join(found.notes)


def _with_factor(row: Row, best: float) -> Row:
    if row.epsilon is None or not 0.0 < best < math.inf or not 0.0 < row.epsilon < math.inf:
        return row
    factor = best / row.epsilon if row.end == "lower" else row.epsilon / best
    return Row(row.analysis, row.end, row.epsilon, factor, row.seconds, row.note)
