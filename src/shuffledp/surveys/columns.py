"""A column of a survey and what is to be estimated of it, as plans and runs want them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp import _check
from shuffledp.errors import ParameterError, rejected
from shuffledp.planner import make_task
from shuffledp.protocol.columns import Column
from shuffledp.protocol.engines import ArrayEngine, Settings
from shuffledp.protocol.engines.memory import column_of
from shuffledp.randomizers import KRR, Duchi, Hierarchy

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

    def deployment(self, write: Callable[..., str], row: Any) -> str:
        """The deployment's file."""
        text = write(row, data=set_values(column=self.name, **self.settings))
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


def given_column(
    data: Any, name: Any, task: dict[str, Any], *, domain: Any, ranges: Any, **settings: Any
) -> Given:
    """The column, read once: what is refused of it is refused here.

    ``task`` is ``task_of`` what is said of it; ``settings`` are ``nulls`` and ``outside``.
    """
    if not isinstance(name, str) or not name:
        raise rejected("column", name, "the name of a column")
    ends: tuple[float, ...] = ()
    pieces: tuple[tuple[int, int], ...] = ()
    values = column_of(data, name)
    if task["kind"] == "frequencies":
        settings["domain"] = items_of(domain)
    if task["kind"] == "ranges":
        ends, pieces = ranges_of(ranges)
        values = in_pieces(values, Column(name=name, **settings), ends)
        task["values"] = len(ends) - 1
    column = Column(name=name, **settings)
    if column.items is not None:
        task["values"] = len(column.items)
    if ends:
        settings["ranges"] = [list(one) for one in pieces]
    engine = ArrayEngine({name: values})
    users = _users(engine, column, task)
    return Given(name, task, settings, column, engine, users, ends, pieces)


def set_values(**values: Any) -> dict[str, Any]:
    """The values that are set; tuples as lists, as in a file."""
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
    if low is None and high is None:
        raise ParameterError(
            "domain is missing: wanted the public list of all values, low and high of numbers, "
            "or ranges"
        )
    for name, end, other in (("low", low, f"high = {high}"), ("high", high, f"low = {low}")):
        if end is None:
            raise ParameterError(f"{name} is missing: wanted both ends of the numbers, as {other}")
    return {"kind": "mean", "low": low, "high": high}


def _users(engine: ArrayEngine, column: Column, task: Mapping[str, Any]) -> int:
    """Rows with a value; what is refused is refused before anything is planned."""
    if task["kind"] == "mean":
        stand_in: Any = Duchi(eps0=1.0, low=task["low"], high=task["high"])
    elif task["kind"] == "ranges":
        stand_in = Hierarchy(domain=task["values"], eps0=1.0, branching=task["values"], base="k-rr")
    else:
        stand_in = KRR(k=task["values"], eps0=1.0)
    column.check(stand_in)
    users = before = 0
    for batch in engine.arrays(column.names, Settings()):
        users += len(column.encode(batch, stand_in, before=before).inputs)
        before += len(batch)
    if not users:
        raise rejected("data", f"{before:,} rows", "at least one row with a value")
    return users


def items_of(domain: Any) -> tuple[Any, ...]:
    """The domain's items as Python's own text and numbers, in their order."""
    if isinstance(domain, str | bytes | set | frozenset | Mapping):
        raise rejected("domain", domain, "a list of items in order")
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(domain, name):
            domain = getattr(domain, name)()
            break
    try:
        return tuple(getattr(item, "item", lambda item=item: item)() for item in domain)
    except TypeError:
        raise rejected("domain", domain, "a list of items in order") from None


def ranges_of(ranges: Any) -> tuple[tuple[float, ...], tuple[tuple[int, int], ...]]:
    """Ends of all ranges in order, and each range as the pieces between them that it is made of.

    Parameters
    ----------
    ranges : iterable of (low, high)
        Shares of low <= value < high are asked for; they may overlap and leave gaps.

    Returns
    -------
    tuple of float, tuple of (int, int)
        Ends, and for each range its first piece and the one after its last.
    """
    wanted = "pairs (low, high) of finite numbers with low < high"
    if isinstance(ranges, str | bytes | Mapping) or not isinstance(ranges, Iterable):
        raise rejected("ranges", ranges, wanted)
    pairs = []
    for one in ranges:
        try:
            low, high = one
        except (TypeError, ValueError):
            raise rejected("ranges", one, wanted) from None
        low, high = (_check.real("ranges", end) for end in (low, high))
        if not low < high:
            raise rejected("ranges", (low, high), wanted)
        pairs.append((low, high))
    ends = tuple(sorted({end for pair in pairs for end in pair}))
    if len(ends) < 3:
        raise rejected("ranges", pairs, "two ranges at least, as the others' share is the rest")
    if len(set(pairs)) != len(pairs):
        raise rejected("ranges", pairs, "every range once")
    return ends, tuple((ends.index(low), ends.index(high)) for low, high in pairs)


def in_pieces(rows: pa.ChunkedArray, column: Column, ends: tuple[float, ...]) -> pa.Array:
    """The number of the piece that each value lies in: -1 below all, one more above.

    A value is in a piece from its lower end on; its upper end is the next one's.

    Parameters
    ----------
    rows : ChunkedArray
        The column.
    column : Column
        How its values are read.
    ends : tuple of float, (pieces + 1,)
        In order.
    """
    values, missing = column.numbers(rows.combine_chunks())
    strange = np.isnan(values) & ~missing
    places = np.searchsorted(ends, np.where(np.isnan(values), ends[0], values), side="right") - 1.0
    places[strange] = np.nan
    other = (strange | (places < 0) | (places >= len(ends) - 1)) & ~missing
    if column.outside == "refuse" and bool(other.any()):
        count, first = int(np.count_nonzero(other)), int(np.argmax(other)) + 1
        wanted = f"a number from {ends[0]:g} to below {ends[-1]:g}"
        told = f"({count:,} of {len(values):,} rows are not)"
        raise ParameterError(f"column {column.name!r}, row {first:,}: wanted {wanted} {told}")
    return pa.array(places, mask=missing)
