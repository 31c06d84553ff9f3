"""Bound: a certified lower and upper end, with the theorem and the assumptions behind each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Literal

from shuffledp.errors import NotCertified, rejected
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.theorems import Theorem
from shuffledp.values.described import ByContent
from shuffledp.values.notebook import Drawn, Record, Sheet

# Relative amount by which a lower end may exceed the upper one: rounding of a local guarantee.
_ROUNDING = 1e-9
Quantity = Literal["epsilon", "delta", "renyi", "rho", "mu", "beta", "probability"]
# What is bounded by an account, in a word.
WORDS = {"epsilon": "eps", "delta": "delta"}
# log of the smallest normal float; a smaller delta is shown by its logarithm.
_SMALLEST_LOG = math.log(2.3e-308)


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Drawn, ByContent):
    """lower <= true value <= upper, floating-point error included.

    For bounds of eps or delta, ``plot()`` draws the trade-off of tests between two neighbours, type
    II error over type I error. All tests lie above the curve of the upper end; the best test
    reaches the band between the two curves. (``acc.plot`` draws eps over n and delta over eps.)

    Attributes
    ----------
    quantity : str
        The quantity bounded: "epsilon" in nats at a given delta, "delta" at a given eps; "renyi" in
        nats at a given order, "rho" (zCDP), "mu" (Gaussian DP), "beta" (least type II error at a
        given type I error), "probability".
    lower, upper : float
        The certified ends, both >= 0; upper is inf only where nothing finite can be certified.
    at : mapping
        The values held fixed: {"delta": ...} or {"epsilon": ...}, and n.
    lower_theorem, upper_theorem : Theorem or None
        The theorem that certifies each end; None for the trivial lower end 0.
    relation : Relation
        The neighbouring relation of datasets: what one user may change. Both ends are for it.
    assumptions : tuple of str
        The assumptions of both ends; the first one is the relation in words.
    notes : tuple of str
        Remarks on this number (a cap that was active, a width that was not reached).
    log_lower, log_upper : float or None
        Natural logarithms of delta's ends, accurate even if the ends themselves underflow.
    lower_width, upper_width : float or None
        Numerical width only: (upper end)/(lower end) - 1 of the same analysis.
    witness : mapping
        Analysis, input pair and dataset from which each end can be reproduced.
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
        """The theorems of both ends in one line."""
        lower = "0, trivially" if self.lower_theorem is None else self.lower_theorem.source
        upper = "none" if self.upper_theorem is None else self.upper_theorem.source
        return f"upper: {upper}; lower: {lower}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, as printed by ``--json``. Infinite numbers become null."""
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
        """One record for each end, for ``to_frame``."""
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
        """A table for notebooks: both ends rounded outward, theorems, assumptions."""
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
        """Trade-off curves of both ends: type II error over type I error, each from 0 to 1."""
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
        """Both ends and the values held fixed, in one line."""
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
    """A value held fixed, as text; n with all its digits."""
    return f"{value:,.0f}" if name == "n" else _all_digits(value)


def _all_digits(value: float) -> str:
    """The shortest text from which the float is recovered."""
    short = f"{value:g}"
    if float(short) == value:
        return short
    return f"{value:.0f}" if float(value).is_integer() else repr(float(value))


def outward(value: float | None, *, up: bool, digits: int = 6) -> str:
    """``value`` with a few significant digits, rounded up or down as requested."""
    if value is None or math.isinf(value):
        return "none"
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.create_decimal(Decimal(value))):.{digits}g}"


def shown_end(
    quantity: str, value: float | None, log: float | None, *, up: bool, digits: int = 6
) -> str:
    """One end as text, rounded outward; a delta below the floats as a power of ten.

    Parameters
    ----------
    quantity : {"epsilon", "delta"}
        The quantity of the end.
    value : float or None
        eps in nats, or delta; None if nothing finite is certified.
    log : float or None
        Natural logarithm of delta, if known.
    up : bool
        Whether it is the upper end.
    digits : int
        Number of significant digits.
    """
    if quantity == "delta" and log is not None and -math.inf < log < _SMALLEST_LOG:
        return "10^" + outward(log / math.log(10.0), up=up, digits=digits)
    return outward(value, up=up, digits=digits)


def delta_from_log(log_low: float, log_high: float) -> tuple[float, float]:
    """Floats around [e^log_low, e^log_high], rounded outward."""
    low = math.nextafter(math.exp(log_low) * (1.0 - 1e-15), 0.0) if log_low > -math.inf else 0.0
    if log_high == -math.inf:
        return 0.0, 0.0
    high = math.nextafter(math.exp(log_high) * (1.0 + 1e-15), math.inf)
    return low, min(high, 1.0)


def refuse_contradiction(low: float, high: float) -> None:
    """Refuse ends that contradict each other: one of them must then be wrong.

    Raises
    ------
    NotCertified
        If the lower end exceeds the upper one by more than rounding.
    """
    if low > high * (1.0 + _ROUNDING):
        msg = f"the ends contradict each other ({low!r} > {high!r}): a fault in shuffledp"
        raise NotCertified(msg)


def with_end_of(found: Bound, other: Bound, end: Literal["lower", "upper"]) -> Bound:
    """``found`` with one end of ``other``, its theorem and its width; the witness is kept.

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
    """A warning for a delta above 1/n, n the number of messages; an empty text otherwise."""
    if delta * n <= 1.0:
        return ""
    # A delta that was typed is printed as typed; a computed one is rounded up.
    said = f"{delta:.4g}"
    if float(said) != delta:
        said = outward(delta, up=True, digits=4)
    if float(said) >= 1.0 > delta:
        said = repr(float(delta))
    return (
        f"delta = {said} is above 1/n = 1/{n:,}: publishing one user's value, chosen at random, "
        "would pass as well"
    )
