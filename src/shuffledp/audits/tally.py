"""Tally: the raw counts of an audit, all that its result is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audits.design import Design, design
from shuffledp.audits.plan import AuditPlan, Tell, calls
from shuffledp.audits.result import Plain
from shuffledp.errors import rejected
from shuffledp.values.described import ByContent

Counts = npt.NDArray[np.int64]
Labels = npt.NDArray[np.integer]

# Float reports that are no multiple of 2^-k of the largest audited input's last place: a sum of
# that input and noise in floats is always one, a sum of 0 and noise often is not (Mironov 2012).
LOW_BITS = (-1, 0, 1, 2, 4)
# Which pairs of reports are compared, and whether they are near or far (``near_and_far``).
LAGS = ("neighbours of a call", "the same place of two calls")


@dataclass(frozen=True, eq=False)
class Tally(Plain, ByContent):
    """Counts of reports by input and cell, and of what reports have to do with earlier ones.

    Attributes
    ----------
    counts : ndarray of int, shape (I, C + 1)
        By input and cell; the last column is outside the message space.
    after : ndarray of int, shape (I, I, C + 1)
        By the input before, in the same call, and the input.
    agree : ndarray of int, shape (2, 2, I, I, 2)
        Disjoint pairs of reports, neighbours in a call and the same place of two calls, the near
        and the far ones, by their inputs: how many lie in the same cell, and how many there are.
    equal : ndarray of int, shape (2, 2, I, I, 2)
        The same of those that are equal to the last bit; zeros where they are not compared.
    low_bits : ndarray of int, shape (I, len(LOW_BITS))
        Floats that are no multiple of a power of two.
    """

    counts: Counts
    after: Counts
    agree: Counts
    equal: Counts
    low_bits: Counts

    @property
    def reports(self) -> Counts:
        """Reports under each input."""
        return self.counts.sum(axis=1)

    @staticmethod
    def empty(inputs: int, cells: int) -> Tally:
        """All counts zero."""
        pairs = (2, 2, inputs, inputs, 2)
        low_bits = np.zeros((inputs, len(LOW_BITS)), dtype=np.int64)
        counts, after, agree, equal = (
            np.zeros(shape, dtype=np.int64)
            for shape in ((inputs, cells + 1), (inputs, inputs, cells + 1), pairs, pairs)
        )
        return Tally(counts, after, agree, equal, low_bits)


def near_and_far(first: Any, second: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Near pairs, every other one as it is, and far ones with partners half of all places apart.

    No report is in two pairs, so under (I) all are independent, and a pair that is near agrees
    with the same probability as one that is far and has the same two inputs.
    """
    odd, others = first[1::2], second[1::2]
    shift = len(odd) // 2
    far = (odd, np.roll(others, shift, axis=0)) if shift else (odd[:0], others[:0])
    return (first[::2], second[::2]), far


@dataclass(frozen=True)
class _Call:
    """One call: its inputs, cells and, if they are compared to the last bit, reports."""

    index: Labels
    labels: Labels
    raw: Any

    def cut(self, places: slice) -> _Call:
        raw = None if self.raw is None else self.raw[places]
        return _Call(self.index[places], self.labels[places], raw)


def _add(tally: Tally, found: Design, index: Labels, reports: Any, before: _Call | None) -> _Call:
    """Count one call; ``before`` is the call with which it is compared, the first of two."""
    many, cells = tally.counts.shape
    raw = np.asarray(reports) if found.reading.equal is not None else None
    raw = raw if raw is not None and raw.ndim == 1 and raw.dtype.kind in "iuf" else None
    now = _Call(index, found.reading.classify(reports), raw)
    tally.counts[...] += _table(index * cells + now.labels, tally.counts.shape)
    steps = (index[:-1] * many + index[1:]) * cells + now.labels[1:]
    tally.after[...] += _table(steps, tally.after.shape)
    even = len(index) // 2 * 2
    _compare(tally, 0, now.cut(slice(0, even, 2)), now.cut(slice(1, even, 2)))
    if before is not None:
        size = slice(0, min(len(index), len(before.index)))
        _compare(tally, 1, before.cut(size), now.cut(size))
    if raw is not None and raw.dtype.kind == "f" and found.unit > 0.0:
        _add_low_bits(tally, found.unit, raw, index)
    return now


def _table(places: Labels, shape: tuple[int, ...]) -> Counts:
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)


def _compare(tally: Tally, lag: int, first: _Call, second: _Call) -> None:
    """Pairs that agree, near ones and far ones, by their inputs."""
    many = len(tally.counts)
    kinds = [(tally.agree, first.labels, second.labels)]
    if first.raw is not None and second.raw is not None:
        kinds.append((tally.equal, first.raw, second.raw))
    inputs = near_and_far(first.index, second.index)
    for counts, one, two in kinds:
        for place, (x, y) in enumerate(near_and_far(one, two)):
            groups = inputs[place][0] * many + inputs[place][1]
            counts[lag, place, :, :, 0] += _table(groups[x == y], (many, many))
            counts[lag, place, :, :, 1] += _table(groups, (many, many))


def _add_low_bits(tally: Tally, unit: float, raw: Any, index: Labels) -> None:
    # Of half precision the unit would be 0.
    raw = raw.astype(np.promote_types(raw.dtype, np.float64), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for place, shift in enumerate(LOW_BITS):
            scaled = raw / (unit * 2.0**-shift)
            # What is so small that the quotient is 0 is no multiple of what it was divided by.
            off = (scaled != np.floor(scaled)) | ((scaled == 0.0) & (raw != 0.0))
            off &= np.isfinite(scaled)
            tally.low_bits[:, place] += _table(index[off], (len(tally.counts),))


def counted(plan: AuditPlan, order: Labels, reports: Any, found: Design) -> Tally:
    """Count reports that are there already, asked for in this order, as if in one call."""
    if len(order) != plan.total or len(reports) != len(order):
        raise rejected("reports", len(reports), f"{plan.total:,}, {plan.reports:,} for each input")
    total = Tally.empty(len(plan.asked), len(found.reading.names))
    _add(total, found, order.astype(np.int64), reports, None)
    return total


def collected(
    plan: AuditPlan,
    program: Callable[[Any], Any],
    *,
    tell: Tell | None = None,
    found: Design | None = None,
) -> Tally:
    """Ask a program for all reports of a plan, call by call, and count.

    Where nothing is declared ``found`` is made of ``learned`` cells.

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
    """
    found = found or design(plan)
    total = Tally.empty(len(plan.asked), len(found.reading.names))
    before: _Call | None = None
    for place, (index, reports) in enumerate(calls(program, plan.values(), plan.order(), tell)):
        kept = _add(total, found, index, reports, before)
        before = kept if place % 2 == 0 else None
    return total
