"""Which raw counts a program can have given: what no run of a plan can count is refused.

A result is judged from its counts alone, so counts that contradict each other would be judged as if
somebody had seen them. Of a plan it is known who was asked when: how many reports follow which
input, and how many pairs are compared, are no counts of the program's at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.audit.categories import MOST_CATEGORIES, QUANTILE, TEXT
from shuffledp.audit.plan import AuditPlan, design
from shuffledp.audit.tables import table_of, whole
from shuffledp.audit.tally import FIELDS, SPARE, Counts, Tally, near_and_far
from shuffledp.errors import rejected


@dataclass(frozen=True)
class Asked:
    """What the order of the inputs settles, whatever the reports are.

    Attributes
    ----------
    after : ndarray of int, shape (I, I)
        Reports by the input before, in the same call, and the input.
    pairs : ndarray of int, shape (2, I, I)
        Pairs that are compared: neighbours of a call, the same place of two calls.
    compared : ndarray of int, shape (2, 2, I, I)
        Of these the near and the far ones, whose reports are compared to the last bit.
    """

    after: Counts
    pairs: Counts
    compared: Counts


def asked_of(order: Any, inputs: int, call_size: int) -> Asked:
    """The same of an order, asked for in calls of this size."""
    after = np.zeros((inputs, inputs), dtype=np.int64)
    pairs = np.zeros((2, inputs, inputs), dtype=np.int64)
    compared = np.zeros((2, 2, inputs, inputs), dtype=np.int64)

    def of(first: Any, second: Any) -> Counts:
        made = np.bincount(first * inputs + second, minlength=inputs**2)
        return made.reshape(inputs, inputs)

    before: Any = None
    for call, start in enumerate(range(0, len(order), call_size)):
        index = order[start : start + call_size].astype(np.int64)
        after += of(index[:-1], index[1:])
        even = len(index) // 2 * 2
        lags = [(index[:even:2], index[1:even:2])]
        if call % 2:
            size = min(len(before), len(index))
            lags.append((before[:size], index[:size]))
        for lag, (first, second) in enumerate(lags):
            pairs[lag] += of(first, second)
            for place, chosen in enumerate(near_and_far(first, second)):
                compared[lag, place] += of(*chosen)
        before = index
    return Asked(after, pairs, compared)


def in_one_call(tally: Tally) -> bool:
    """Whether nothing was compared between calls: reports of a file, in the file's order."""
    return int(tally.after.sum()) == int(tally.counts.sum()) - 1


def tally_from_dict(table: dict[str, Any], plan: AuditPlan) -> Tally:
    """The counts of a file, checked against its plan.

    Raises
    ------
    ParameterError
        If they are not counts of that plan.
    """
    found = design(plan)
    like = Tally.empty(len(plan.asked), len(found.reading.names))
    table_of("tally", table, (*FIELDS, "written"))
    made = [_counts(name, table[name], getattr(like, name).shape) for name in FIELDS]
    if table["written"] is not None:
        made.append(_counts("written", table["written"], (*like.counts.shape, SPARE)))
    tally = Tally(*made)
    check_tally(tally, plan, atoms=found.reading.equal is None, floats=found.unit > 0.0)
    return tally


def _counts(name: str, value: Any, shape: tuple[int, ...]) -> Counts:
    return np.array(whole(f"tally.{name}", value, shape), dtype=np.int64)


def check_tally(tally: Tally, plan: AuditPlan, *, atoms: bool, floats: bool) -> None:
    """Counts that a program can have given under a plan.

    Parameters
    ----------
    tally : Tally
        Of the right shapes, nothing negative.
    plan : AuditPlan
        What was asked.
    atoms : bool
        Whether single reports have positive probability: then none are compared to the last bit.
    floats : bool
        Whether low bits are looked at.

    Raises
    ------
    ParameterError
        Naming the first array that no run of the plan can have counted.
    """
    each, done = tally.reports, int(tally.reports.sum())
    if done == 0:
        raise rejected("tally.counts", 0, "at least one report")
    alone = in_one_call(tally)
    order = plan.order() if done < plan.total or not alone else None
    wanted = np.full(len(each), plan.reports)
    if done < plan.total and order is not None:
        wanted = np.bincount(order[:done], minlength=len(each))
    if bool((each != wanted).any()):
        raise rejected("tally.counts", each.tolist(), f"{wanted.tolist()} reports")
    if done < plan.total and done % (2 * plan.call_size):
        raise rejected("tally.counts", done, f"pairs of calls of {plan.call_size:,} reports")
    if order is None:
        wrong = _of_a_file(tally, done, atoms=atoms)
    else:
        asked = asked_of(order[:done], len(each), plan.call_size)
        wrong = _of_calls(tally, asked, atoms=atoms)
    wrong += _of_any(tally, atoms=atoms, floats=floats)
    if wrong:
        raise rejected(f"tally.{wrong[0]}", "its counts", f"what {done:,} such reports can give")


def _of_calls(tally: Tally, asked: Asked, *, atoms: bool) -> list[str]:
    """Sums that the plan's order settles."""
    missing = (asked.compared - tally.equal[..., 1]).sum(axis=(1, 2, 3))
    outside = int(tally.counts[:, -1].sum())
    # What is no number is not compared, and lies outside: both of two neighbours, one of two calls.
    uncompared = 2 * int(missing[0]) > outside or int(missing[1]) > outside
    return [
        *["after"] * bool((tally.after.sum(axis=2) != asked.after).any()),
        *["agree"] * bool((tally.agree[..., 1] != asked.pairs).any()),
        *["equal"] * bool((tally.equal[..., 1] > asked.compared).any()),
        *["equal"] * (uncompared and not atoms),
    ]


def _of_a_file(tally: Tally, done: int, *, atoms: bool) -> list[str]:
    """One call in an order that is not known: a walk through all reports, one step each."""
    each = tally.reports
    steps = tally.after.sum(axis=2)
    pairs = tally.agree[0, ..., 1]
    used = pairs.sum(axis=0) + pairs.sum(axis=1)
    walk = bool((steps.sum(axis=0) > each).any() or (steps.sum(axis=1) > each).any())
    compared = tally.equal[0, ..., 1].sum(axis=(1, 2)).tolist()
    all_outside = int(tally.counts[:, -1].sum()) == done
    whole = compared in ([done // 2 - done // 4, done // 4], [0, 0] if all_outside else None)
    return [
        *["after"] * walk,
        *["agree"] * bool((used > each).any() or int(pairs.sum()) != done // 2),
        *["agree"] * bool(tally.agree[1].any()),
        *["equal"] * bool(tally.equal[1].any() or not (whole or atoms)),
        *["written"] * (tally.written is not None),
    ]


def _of_any(tally: Tally, *, atoms: bool, floats: bool) -> list[str]:
    """Reports that are counted twice over are the same ones."""
    each, counts = tally.reports, tally.counts
    same, pairs = tally.agree[..., 0], tally.agree[..., 1]
    least, most = _agreeing(counts, pairs)
    equal, compared = tally.equal[..., 0], tally.equal[..., 1]
    low = tally.low_bits
    near = equal[:, 0]
    wrong = [
        *["after"] * bool((tally.after.sum(axis=0) > counts).any()),
        *["agree"] * bool(((same < least) | (same > np.minimum(pairs, most))).any()),
        *["equal"] * bool((equal > compared).any() or (near > same).any() or (equal > most).any()),
        # A multiple of 2^-k is one of 2^-(k + 1).
        *["low_bits"] * bool((np.diff(low, axis=1) > 0).any() or (low > each[:, None]).any()),
        *["equal"] * bool(atoms and tally.equal.any()),
        *["low_bits"] * bool(not floats and low.any()),
    ]
    if tally.written is not None and bool((tally.written.sum(axis=2) != counts).any()):
        wrong.append("written")
    return wrong


def _agreeing(counts: Counts, pairs: Counts) -> tuple[Counts, Counts]:
    """How many of disjoint pairs of two inputs are in one cell, at least and at most.

    At most sum_c min(counts_i(c), counts_j(c)), of one input half of each cell; a pair that
    disagrees has a report that is not in cell c, whichever c is.
    """
    inputs = len(counts)
    each = counts.sum(axis=1)
    most = np.minimum(counts[:, None, :], counts[None, :, :]).sum(axis=2)
    most[np.diag_indices(inputs)] = (counts // 2).sum(axis=1)
    others = each[:, None] - counts
    apart = (others[:, None, :] + others[None, :, :]).min(axis=2)
    apart[np.diag_indices(inputs)] = others.min(axis=1)
    return np.maximum(pairs - apart, 0), np.broadcast_to(most, pairs.shape)


def check_halves(categories: Any, first: Counts, second: Counts) -> None:
    """Counts of a program without a law: the first ones made the categories.

    Raises
    ------
    ParameterError
        If no reports make these categories, or none are counted.
    """
    if not int(second.sum()):
        raise rejected("unknown.tally.second", 0, "at least one report that is counted")
    totals, marks = first.sum(axis=0), len(categories.marks)
    if categories.kind == QUANTILE:
        # Cells between quantiles are made of more different numbers than are told apart singly.
        wrong = int(totals[:-1].sum()) <= MOST_CATEGORIES or int(totals[0]) == 0
    else:
        wrong = marks > MOST_CATEGORIES or bool((totals[:-1] == 0).any())
        full = categories.kind == TEXT and marks == MOST_CATEGORIES
        wrong |= categories.kind == TEXT and not full and int(totals[-1]) > 0
    if wrong:
        wanted = "counts of the reports that the categories were made of"
        raise rejected("unknown.tally.first", totals.tolist(), wanted)
