"""Bound: a certified lower and upper end, which theorem gives each, under which assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Literal

from shuffledp.errors import NotCertified, rejected
from shuffledp.neighbours.one_user import REPLACEMENT, Relation
from shuffledp.theorems import Theorem
from shuffledp.values.described import ByContent
from shuffledp.values.notebook import Drawn, Record, Sheet

# Where an end is the local guarantee, its last digits may be below the other's.
_ROUNDING = 1e-9
Quantity = Literal["epsilon", "delta", "renyi", "rho", "mu", "beta", "probability"]
# Of the smallest float with all its digits; below it a delta is shown by its logarithm.
_SMALLEST_LOG = math.log(2.3e-308)


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Drawn, ByContent):
    """lower <= true value <= upper, floating-point error included.

    ``plot()`` draws what is left to a test of two neighbours, type II error over type I error,
    where the bound is of eps or delta: above the upper end's curve are the tests there can be, the
    lower end says that the best one reaches the band. (``acc.plot`` draws eps over n and delta over
    eps.)

    Attributes
    ----------
    quantity : str
        What is bounded: "epsilon" in nats at a given delta, "delta" at a given eps; "renyi" in nats
        at a given order, "rho" (zCDP), "mu" (Gaussian DP), "beta" (least type II error at a given
        type I error), "probability".
    lower, upper : float
        The certified ends, both >= 0; upper is inf only where nothing finite can be certified.
    at : mapping
        What was held fixed: {"delta": ...} or {"epsilon": ...}, and n.
    lower_theorem, upper_theorem : Theorem or None
        What certifies each end; None for the trivial lower end 0.
    relation : Relation
        Which datasets are neighbours: what one user may change. Both ends are about these.
    assumptions : tuple of str
        Under which the ends hold; the relation in words is the first.
    notes : tuple of str
        What a reader should know of this number (a cap that was active, a width not reached).
    log_lower, log_upper : float or None
        Natural logarithms of a delta's ends, exact where the ends themselves underflow.
    lower_width, upper_width : float or None
        Numerical width alone: (upper end)/(lower end) - 1 of the same analysis.
    witness : mapping
        Analysis, input pair and dataset that reproduce each end.
    """

    quantity: Quantity
    lower: float
    upper: float
    at: Mapping[str, float]
    lower_theorem: Theorem | None = None
    upper_theorem: Theorem | None = None
    relation: Relation = field(kw_only=True)
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    log_lower: float | None = None
    log_upper: float | None = None
    lower_width: float | None = None
    upper_width: float | None = None
    witness: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower <= self.upper:
            raise rejected("(lower, upper)", (self.lower, self.upper), "0 <= lower <= upper")

    @property
    def theorem(self) -> str:
        """Both ends' theorems in one line."""
        lower = "0, trivially" if self.lower_theorem is None else self.lower_theorem.source
        upper = "none" if self.upper_theorem is None else self.upper_theorem.source
        return f"upper: {upper}; lower: {lower}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form; what ``--json`` prints. Infinite numbers become null."""
        return {
            "quantity": self.quantity,
            "lower": _number(self.lower),
            "upper": _number(self.upper),
            "at": dict(self.at),
            "log_lower": _number(self.log_lower),
            "log_upper": _number(self.log_upper),
            "lower_theorem": None if self.lower_theorem is None else self.lower_theorem.to_dict(),
            "upper_theorem": None if self.upper_theorem is None else self.upper_theorem.to_dict(),
            "lower_width": _number(self.lower_width),
            "upper_width": _number(self.upper_width),
            "neighbouring_relation": {**self.relation.to_dict(), "words": self.relation.words},
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "witness": dict(self.witness),
        }

    def records(self) -> list[Record]:
        """One row for each end, as ``to_frame`` has them."""
        rows = []
        for end, value, log, theorem, width in (
            ("upper", self.upper, self.log_upper, self.upper_theorem, self.upper_width),
            ("lower", self.lower, self.log_lower, self.lower_theorem, self.lower_width),
        ):
            row: Record = {"quantity": self.quantity, "end": end, "value": value, "log": log}
            row |= {**self.at, "width": width}
            row["theorem"] = None if theorem is None else theorem.title
            row["source"] = None if theorem is None else theorem.source
            row["provenance"] = None if theorem is None else theorem.provenance
            rows.append(row)
        return rows

    def sheet(self) -> Sheet:
        """What a notebook shows: both ends rounded outward, theorems, assumptions."""
        rows = []
        for end, up, theorem in (
            ("upper", True, self.upper_theorem),
            ("lower", False, self.lower_theorem),
        ):
            value, log = (self.upper, self.log_upper) if up else (self.lower, self.log_lower)
            number = shown_end(self.quantity, value, log, up=up, digits=8)
            said = ("0, trivially" if not up else "none", "", "")
            if theorem is not None:
                said = (theorem.title, theorem.source, theorem.provenance)
            rows.append((end, number, *said))
        assumed = tuple(f"assumes: {words}" for words in self.assumptions)
        notes = (*assumed, *(f"note: {note}" for note in self.notes))
        head = ("end", self._unit(), "theorem", "source", "provenance")
        return Sheet(self._line(), head, tuple(rows), notes)

    def _draw(self, bands: Any, ax: Any) -> Any:
        """What is left to a test of two neighbours: type II error over type I error, 0 to 1."""
        if self.quantity not in {"epsilon", "delta"}:
            raise rejected("quantity", self.quantity, "epsilon or delta, of which there is a curve")
        ends = []
        for value, word, sign in ((self.upper, "upper", "<="), (self.lower, "lower", ">=")):
            epsilon = value if self.quantity == "epsilon" else self.at["epsilon"]
            delta = value if self.quantity == "delta" else self.at["delta"]
            number = outward(value, up=word == "upper", digits=4)
            ends.append((epsilon, delta, f"{word} end: {self.quantity} {sign} {number}"))
        return bands.draw_tradeoff(ax, ends)

    def _unit(self) -> str:
        """The quantity with its unit."""
        units = {"epsilon": "epsilon (nats)", "renyi": "Renyi divergence (nats)"}
        return units.get(self.quantity, self.quantity)

    def _line(self) -> str:
        """Both ends and what was held fixed."""
        fixed = ", ".join(f"{name} = {_fixed(name, value)}" for name, value in self.at.items())
        low, high = (
            shown_end(self.quantity, value, log, up=up, digits=8)
            for value, log, up in (
                (self.lower, self.log_lower, False),
                (self.upper, self.log_upper, True),
            )
        )
        return f"{low} <= {self.quantity} <= {high} at {fixed}"

    def __repr__(self) -> str:
        return f"Bound({self._line()})"

    def __str__(self) -> str:
        fixed = ", ".join(f"{name} = {_all_digits(value)}" for name, value in self.at.items())
        low, high = outward(self.lower, up=False, digits=8), outward(self.upper, up=True, digits=8)
        lines = [f"{low} <= {self.quantity} <= {high}   at {fixed}"]
        for side, theorem in (("upper", self.upper_theorem), ("lower", self.lower_theorem)):
            if theorem is not None:
                lines.append(f"  {side}: {theorem.title} ({theorem.source}; {theorem.provenance})")
        if self.relation != REPLACEMENT:
            lines.append(f"  neighbours: {self.relation.words}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def _fixed(name: str, value: float) -> str:
    """What was held fixed, with all digits of a whole number."""
    return f"{value:,.0f}" if name == "n" else _all_digits(value)


def _all_digits(value: float) -> str:
    """As short as possible; what was held fixed is printed as it was."""
    short = f"{value:g}"
    if float(short) == value:
        return short
    return f"{value:.0f}" if float(value).is_integer() else repr(float(value))


def outward(value: float | None, *, up: bool, digits: int = 6) -> str:
    """Return ``value`` with a few significant digits, rounded up or down on purpose."""
    if value is None or math.isinf(value):
        return "none"
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.create_decimal(Decimal(value))):.{digits}g}"


def shown_end(
    quantity: str, value: float | None, log: float | None, *, up: bool, digits: int = 6
) -> str:
    """One end for a reader, rounded outward; a delta below the floats as a power of ten.

    Parameters
    ----------
    quantity : {"epsilon", "delta"}
        What it is an end of.
    value : float or None
        eps in nats, or delta; None where nothing finite is certified.
    log : float or None
        Natural logarithm of a delta, where it is known.
    up : bool
        Whether it is the upper end.
    digits : int
        Significant digits.
    """
    if quantity == "delta" and log is not None and -math.inf < log < _SMALLEST_LOG:
        return "10^" + outward(log / math.log(10.0), up=up, digits=digits)
    return outward(value, up=up, digits=digits)


def width_words(widths: Sequence[float], rtol: float) -> str:
    """How much computing adds to the distance of the ends.

    Parameters
    ----------
    widths : sequence of float
        Relative widths of the analyses.
    rtol : float
        By how much the ends were moved outward for a verifier.
    """
    widest = max(widths, default=0.0)
    words = f"at most {outward(widest, up=True, digits=2)} (relative, of each analysis)"
    return (
        f"{words if widest < 1.0 else 'not as asked for, see the notes'}; "
        f"both ends are given with a margin of {rtol:g}, so that verify can decide"
    )


def delta_from_log(log_low: float, log_high: float) -> tuple[float, float]:
    """The floats around [e^log_low, e^log_high], rounded outward."""
    low = math.nextafter(math.exp(log_low) * (1.0 - 1e-15), 0.0) if log_low > -math.inf else 0.0
    if log_high == -math.inf:
        return 0.0, 0.0
    high = math.nextafter(math.exp(log_high) * (1.0 + 1e-15), math.inf)
    return low, min(high, 1.0)


def refuse_contradiction(low: float, high: float) -> None:
    """Two certified ends hold one truth: if they do not, one of them is false, and neither is said.

    Raises
    ------
    NotCertified
        If the lower end is above the upper one by more than rounding.
    """
    if low > high * (1.0 + _ROUNDING):
        msg = f"the ends contradict each other ({low!r} > {high!r}): a fault in shuffledp"
        raise NotCertified(msg)


def with_end_of(found: Bound, other: Bound, end: Literal["lower", "upper"]) -> Bound:
    """A bound with one end of another, its theorem and its width; the witness stays.

    Raises
    ------
    NotCertified
        If the two ends contradict each other by more than rounding.
    """
    lower, upper = (other, found) if end == "lower" else (found, other)
    refuse_contradiction(lower.lower, upper.upper)
    value = min(lower.lower, upper.upper) if end == "lower" else max(lower.lower, upper.upper)
    names = (f"log_{end}", f"{end}_theorem", f"{end}_width")
    return replace(found, **{end: value}, **{name: getattr(other, name) for name in names})


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def large_delta_words(delta: float, n: int) -> str:
    """What is wrong with a delta above 1 over the number of messages; nothing of a smaller one."""
    if delta * n <= 1.0:
        return ""
    # A number that was typed is printed as it was typed; one that was computed is rounded up.
    said = f"{delta:.4g}"
    if float(said) != delta:
        said = outward(delta, up=True, digits=4)
    if float(said) >= 1.0 > delta:
        said = repr(float(delta))
    return (
        f"delta = {said} is above 1/n = 1/{n:,}: publishing one user's value, chosen at random, "
        "would pass as well"
    )
