"""A column of a survey and what is to be estimated of it, as plans and runs want them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.errors import ParameterError, rejected
from shuffledp.planner import make_task
from shuffledp.surveys.tables import in_pieces, items_of, ranges_of, table_of

# One noisy message a user, whose noise is drawn exactly, solved for in seconds; others by name.
_FOR_ITEMS = ("k-rr", "subset", "oue", "olh", "rappor")
_FOR_MEANS = ("piecewise", "hybrid", "duchi")
# Of the mechanisms for ranges those of k-RR, and one for many values: the same, at every width.
_BASES = ("k-rr", "no tree, oue")


@dataclass(frozen=True)
class Given:
    """A column and what is to be estimated of it.

    Attributes
    ----------
    name : str
    task : dict
        What is estimated, as a plan file says it.
    settings : dict
        Those of the deployment's table of data.
    column, engine : Any
        Where values come from.
    users : int
        Rows with a value.
    ends : tuple of float
        Of ranges: all ends in order, each piece between two of them.
    pieces : tuple of pairs of int
        Of ranges: each as the numbers of its first end and of its last.
    """

    name: str
    task: dict[str, Any]
    settings: dict[str, Any]
    column: Any
    engine: Any
    users: int
    ends: tuple[float, ...] = ()
    pieces: tuple[tuple[int, int], ...] = ()

    def deployment(self, write: Callable[..., str], content: Any, row: Any) -> str:
        """The deployment's file."""
        text = write(content, row, data=set_values(column=self.name, **self.settings))
        if not self.ends:
            return text
        between = ", ".join(map(repr, self.ends))
        return f"# {self.name}: numbers of the pieces between {between}\n{text}"

    def named(self, rows: tuple[Any, ...]) -> tuple[Any, ...]:
        """Estimates under the names of their ranges."""
        if not self.ends:
            return rows
        return tuple(
            replace(row, item=f"[{self.ends[a]:.15g}, {self.ends[b]:.15g})")
            for row, (a, b) in zip(rows, self.pieces, strict=True)
        )


def column_of(
    parts: Any,
    data: Any,
    column: Any,
    task: dict[str, Any],
    settings: dict[str, Any],
    *,
    domain: Any,
    ranges: Any,
) -> Given:
    """The column, read once: what is refused of it is refused here."""
    task, settings = dict(task), dict(settings)
    if task["kind"] == "frequencies":
        settings["domain"] = items_of(domain)
    ends, pieces = ranges_of(ranges) if task["kind"] == "ranges" else ((), ())
    table = table_of(data, column)
    chosen = parts.columns.Column(name=column, **settings)
    if task["kind"] == "frequencies":
        task["values"] = len(chosen.items)
    if ends:
        task["values"] = len(ends) - 1
        table = in_pieces(table, chosen, ends)
        settings["type"] = None
        chosen = parts.columns.Column(name=column, **settings)
        settings["ranges"] = [list(one) for one in pieces]
    engine = parts.memory.ArrayEngine(table)
    users = _users(parts, engine, chosen, task)
    return Given(column, task, settings, chosen, engine, users, tuple(ends), tuple(pieces))


def set_values(**values: Any) -> dict[str, Any]:
    """Those that are set; tuples as lists, as in a file."""
    found = {key: value for key, value in values.items() if value is not None}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in found.items()}


def usual(task: Mapping[str, Any]) -> tuple[str, ...]:
    """What is looked at unless mechanisms are named."""
    if task["kind"] != "ranges":
        return _FOR_ITEMS if task["kind"] == "frequencies" else _FOR_MEANS
    labels = (option.label for option in make_task("ranges", values=task["values"]).options())
    return tuple(label for label in labels if label.endswith(_BASES))


def task_of(domain: Any, low: Any, high: Any, ranges: Any) -> dict[str, Any]:
    """What is estimated, as a plan file says it."""
    if ranges is not None:
        if (domain, low, high) != (None, None, None):
            raise ParameterError("ranges: wanted without a domain, low and high")
        return {"kind": "ranges"}
    if domain is not None and (low is not None or high is not None):
        raise ParameterError("domain: wanted a domain of items, or low and high, not both")
    if domain is not None:
        return {"kind": "frequencies"}
    if low is None or high is None:
        raise ParameterError(
            "domain is missing: wanted the public list of all values, low and high of numbers, "
            "or ranges"
        )
    return {"kind": "mean", "low": low, "high": high}


def _users(parts: Any, engine: Any, column: Any, task: Mapping[str, Any]) -> int:
    """Rows with a value; what is refused is refused before anything is planned."""
    from shuffledp.randomizers import KRR, Duchi, Hierarchy

    if task["kind"] == "mean":
        stand_in: Any = Duchi(eps0=1.0, low=task["low"], high=task["high"])
    elif task["kind"] == "ranges":
        stand_in = Hierarchy(domain=task["values"], eps0=1.0, branching=task["values"], base="k-rr")
    else:
        stand_in = KRR(k=task["values"], eps0=1.0)
    column.check(stand_in)
    users = before = 0
    for batch in engine.arrays(column.names, parts.run.Settings()):
        users += len(column.encode(batch, stand_in, before=before).values)
        before += len(batch)
    if not users:
        raise rejected("data", f"{before:,} rows", "at least one row with a value")
    return users
