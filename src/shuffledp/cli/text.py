"""Numbers and bounds as text: what is printed is never better than what is certified."""

from __future__ import annotations

import json
from typing import Any

import click

from shuffledp.bound import Bound, Theorem, shown_end


def end_text(bound: Bound, *, up: bool, digits: int = 6) -> str:
    """One end of a bound, rounded outward; a delta below the smallest float as a power of ten."""
    value, log = (bound.upper, bound.log_upper) if up else (bound.lower, bound.log_lower)
    return shown_end(bound.quantity, value, log, up=up, digits=digits)


def bound_text(bound: Bound) -> str:
    """A bound for a reader: the bracket, what certifies it, what it assumes."""
    word = "eps" if bound.quantity == "epsilon" else "delta"
    unit = " nats" if word == "eps" else ""
    at = ", ".join(f"{key} = {_plain(value)}" for key, value in bound.at.items())
    low, high = (end_text(bound, up=up, digits=8) for up in (False, True))
    bracket = f"{low} <= {word} <= {high}" if high != "none" else f"{low} <= {word}"
    lines = [f"{bracket}{unit}   at {at}"]
    if high == "none":
        lines.append("  no finite upper bound is certified")
    lines += theorem_lines("upper", bound.upper_theorem)
    lines += theorem_lines("lower", bound.lower_theorem)
    lines += [f"  note    {note}" for note in bound.notes]
    lines += [
        f"  {'assumes' if i == 0 else '       '} {a}" for i, a in enumerate(bound.assumptions)
    ]
    return "\n".join(lines)


def theorem_lines(end: str, theorem: Theorem | None) -> list[str]:
    """What certifies an end, and where it is proved."""
    if theorem is None:
        return [f"  {end}   trivial"]
    return [f"  {end}   {theorem.title}", f"          {theorem.source} [{theorem.provenance}]"]


def counted(number: int, noun: str) -> str:
    """``1 round``, ``2,000 rounds``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print a value as JSON, and nothing else."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def _plain(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return repr(value)
