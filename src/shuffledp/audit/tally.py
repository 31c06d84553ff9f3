"""Tally: the raw counts of an audit, all that its result is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit.plan import AuditPlan, Design, design
from shuffledp.errors import rejected
from shuffledp.values.described import ByContent

Counts = npt.NDArray[np.int64]
Labels = npt.NDArray[np.integer]

# Float reports that are no multiple of 2^-k of the largest audited input's last place: a sum of
# that input and noise in floats is always one, a sum of 0 and noise often is not (Mironov 2012).
LOW_BITS = (-1, 0, 1, 2, 4)

# A report's line is compared with the shortest one of the same report: by the spare characters,
# modulo this, so that a constant number of them hides no other.
SPARE = 8

Tell = Callable[[int], None]
Keep = Callable[["Tally"], None]


@dataclass(frozen=True, eq=False)
class Tally(ByContent):
    """Counts of reports by input and cell, and of what reports have to do with earlier ones.

    Attributes
    ----------
    counts : ndarray of int, shape (I, C + 1)
        By input and cell; the last column is outside the message space.
    after : ndarray of int, shape (I, I, C + 1)
        By the input before, in the same call, and the input.
    agree : ndarray of int, shape (2, I, I, 2)
        Disjoint pairs of reports, neighbours in a call and the same place of two calls, by their
        inputs: how many lie in the same cell, and how many there are.
    equal : ndarray of int, shape (2, 2, I, I, 2)
        Half of the same pairs as they are, of the others reports that are far apart: how many are
        equal to the last bit, and how many there are; zeros where they are not compared.
    low_bits : ndarray of int, shape (I, len(LOW_BITS))
        Floats that are no multiple of a power of two.
    written : ndarray of int, shape (I, C + 1, SPARE), or None
        By input and cell, reports with so many spare characters (modulo SPARE); None where it is
        not known how they were written.
    """

    counts: Counts
    after: Counts
    agree: Counts
    equal: Counts
    low_bits: Counts
    written: Counts | None = None

    @property
    def reports(self) -> Counts:
        """Reports counted under each input: the plan's, or fewer of an audit that stopped."""
        return self.counts.sum(axis=1)

    @staticmethod
    def empty(inputs: int, cells: int) -> Tally:
        """All counts zero."""
        return Tally(
            np.zeros((inputs, cells + 1), dtype=np.int64),
            np.zeros((inputs, inputs, cells + 1), dtype=np.int64),
            np.zeros((2, inputs, inputs, 2), dtype=np.int64),
            np.zeros((2, 2, inputs, inputs, 2), dtype=np.int64),
            np.zeros((inputs, len(LOW_BITS)), dtype=np.int64),
        )

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        table = {name: getattr(self, name).tolist() for name in FIELDS}
        return table | {"written": None if self.written is None else self.written.tolist()}


@dataclass(frozen=True)
class Written:
    """Reports of a call, and how many characters of their lines are spare."""

    reports: Any
    spare: Labels

    def __len__(self) -> int:
        return len(self.reports)


FIELDS = ("counts", "after", "agree", "equal", "low_bits")


def near_and_far(first: Any, second: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Of pairs every other one as it is; of the others, partners half of all places apart.

    No report is in two pairs, so under (I) all are independent, and a pair that is near is equal
    with the same probability as one that is far and has the same two inputs.
    """
    odd, others = first[1::2], second[1::2]
    shift = len(odd) // 2
    far = (odd, np.roll(others, shift, axis=0)) if shift else (odd[:0], others[:0])
    return (first[::2], second[::2]), far


def one_call(
    found: Design, inputs: Labels, reports: Any, before: tuple[Labels, Labels, Any] | None
) -> tuple[Tally, tuple[Labels, Labels, Any]]:
    """Counts of one call, and what the next one is compared with.

    Parameters
    ----------
    found : Design
        Of the plan.
    inputs : ndarray of int, shape (B,)
        Which input was asked for at each place.
    reports : array, shape (B, ...)
        What came back.
    before : tuple or None
        Of the call before, where this is the second of two.
    """
    spare = reports.spare if isinstance(reports, Written) else None
    reports = reports.reports if isinstance(reports, Written) else reports
    reading = found.reading
    many, cells = len(reading.mass), len(reading.names) + 1
    labels = reading.classify(reports)
    index = inputs.astype(np.int64)
    raw = _comparable(reports) if reading.equal is not None else None
    tally = Tally.empty(many, cells - 1)
    tally.counts[:] = np.bincount(index * cells + labels, minlength=many * cells).reshape(
        many, cells
    )
    pairs = (index[:-1] * many + index[1:]) * cells + labels[1:]
    tally.after[:] = np.bincount(pairs, minlength=many * many * cells).reshape(many, many, cells)
    even = len(labels) // 2 * 2
    _compare(tally, 0, (index[:even:2], labels[:even:2]), (index[1:even:2], labels[1:even:2]))
    if raw is not None:
        _equal(tally, 0, (index[:even:2], raw[:even:2]), (index[1:even:2], raw[1:even:2]))
    if before is not None:
        size = min(len(labels), len(before[0]))
        _compare(tally, 1, (before[0][:size], before[1][:size]), (index[:size], labels[:size]))
        if raw is not None and before[2] is not None:
            _equal(tally, 1, (before[0][:size], before[2][:size]), (index[:size], raw[:size]))
    if raw is not None and raw.dtype.kind == "f":
        tally.low_bits[:] = _low_bits(found, raw, index, many)
    if spare is not None:
        places = (index * cells + labels) * SPARE + spare
        counts = np.bincount(places, minlength=many * cells * SPARE).reshape(many, cells, SPARE)
        tally = dataclasses.replace(tally, written=counts)
    return tally, (index, labels, raw)


def _comparable(reports: Any) -> Any:
    column = np.asarray(reports)
    return column if column.ndim == 1 and column.dtype.kind in "iuf" else None


def _compare(
    tally: Tally, lag: int, first: tuple[Labels, Labels], second: tuple[Labels, Labels]
) -> None:
    many = len(tally.counts)
    groups = first[0] * many + second[0]
    same = first[1] == second[1]
    tally.agree[lag, :, :, 0] += np.bincount(groups[same], minlength=many**2).reshape(many, many)
    tally.agree[lag, :, :, 1] += np.bincount(groups, minlength=many**2).reshape(many, many)


def _equal(tally: Tally, lag: int, first: tuple[Labels, Any], second: tuple[Labels, Any]) -> None:
    many = len(tally.counts)
    inputs = near_and_far(first[0], second[0])
    for place, (x, y) in enumerate(near_and_far(first[1], second[1])):
        groups = inputs[place][0] * many + inputs[place][1]
        for row, chosen in enumerate((groups[x == y], groups)):
            made = np.bincount(chosen, minlength=many**2).reshape(many, many)
            tally.equal[lag, place, :, :, row] += made


def _low_bits(found: Design, raw: Any, index: Labels, many: int) -> Counts:
    made = np.zeros((many, len(LOW_BITS)), dtype=np.int64)
    unit = found.unit
    if unit <= 0.0:
        return made
    # Of half precision the unit would be 0.
    raw = raw.astype(np.promote_types(raw.dtype, np.float64), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for place, shift in enumerate(LOW_BITS):
            scaled = raw / (unit * 2.0**-shift)
            off = np.isfinite(scaled) & ((scaled != np.floor(scaled)) | _vanished(scaled, raw))
            made[:, place] = np.bincount(index[off], minlength=many)
    return made


def _vanished(scaled: Any, raw: Any) -> Any:
    """So small that the quotient is 0: no multiple of what it was divided by."""
    return (scaled == 0.0) & (raw != 0.0)


def added(tallies: Iterator[Tally], start: Tally) -> Tally:
    """The sum of all counts."""
    for tally in tallies:
        for name in FIELDS:
            getattr(start, name)[...] += getattr(tally, name)
        if tally.written is not None:
            before = 0 if start.written is None else start.written
            start = dataclasses.replace(start, written=before + tally.written)
    return start


def counted(plan: AuditPlan, order: Labels, reports: Any) -> Tally:
    """Count reports that are there already, asked for in this order, as if in one call."""
    if len(order) != plan.total or len(reports) != len(order):
        raise rejected("reports", len(reports), f"{plan.total:,}, {plan.reports:,} for each input")
    return one_call(design(plan), order, reports, None)[0]


def collected(
    plan: AuditPlan,
    program: Callable[[Any], Any],
    *,
    tell: Tell | None = None,
    found: Design | None = None,
    start: Tally | None = None,
    keep: Keep | None = None,
) -> Tally:
    """Ask a program for all reports of a plan, call by call, and count.

    Parameters
    ----------
    plan : AuditPlan
        What is asked.
    program : callable
        Values of one call, an array with one row for each report -> as many reports.
    tell : callable, optional
        Told how many reports are in after each call.
    found : Design, optional
        ``design(plan)``, where it is there already.
    start : Tally, optional
        Counts of the same plan that stopped: its first calls are not made again.
    keep : callable, optional
        Given the counts after every two calls (which are compared with each other): what it keeps
        is a ``start``. It has to copy what it keeps.
    """
    found = found or design(plan)
    order = plan.order()
    table = _table(plan.values())
    total = Tally.empty(len(plan.asked), len(found.reading.names))
    if start is not None:
        total = added(iter([start]), total)
    before: tuple[Labels, Labels, Any] | None = None
    done = int(total.counts.sum())
    for call in range(-(-done // plan.call_size), -(-len(order) // plan.call_size)):
        inputs = order[call * plan.call_size : (call + 1) * plan.call_size]
        reports = program(table(inputs))
        if len(reports) != len(inputs):
            raise rejected(
                "reports of a call", len(reports), f"{len(inputs):,}, one for each value"
            )
        tally, kept = one_call(found, inputs, reports, before)
        total = added(iter([tally]), total)
        before = kept if call % 2 == 0 else None
        done += len(inputs)
        if keep is not None and before is None:
            keep(total)
        if tell is not None:
            tell(done)
    return total


def _table(values: list[Any]) -> Callable[[Labels], Any]:
    """Values by place: an array where they are numbers or rows of them, else a list."""
    if any(isinstance(v, tuple) for v in values):
        return lambda inputs: [values[i] for i in inputs]
    array = np.array(values)
    return lambda inputs: array[inputs]
