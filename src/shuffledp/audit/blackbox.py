"""A program without a declared law: lower confidence bounds by sample splitting.

The event is chosen on one part of the reports and counted on the others, so that its limits hold
whatever the choice was (docs/theory-audit.md, section 6).
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit.categories import (
    Categories,
    categories_from_dict,
    categories_of,
    concatenated,
)
from shuffledp.audit.limits import Ratio
from shuffledp.audit.plan import tuples
from shuffledp.audit.possible import check_halves
from shuffledp.audit.tables import table_of, whole
from shuffledp.audit.unknown_plan import UnknownPlan
from shuffledp.audit.words import in_markdown
from shuffledp.bound import outward
from shuffledp.errors import rejected
from shuffledp.values.described import shown

Counts = npt.NDArray[np.integer]

_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
# Calls of the program at least for either part, and reports of one call at most.
_CALLS, _LARGEST_CALL = 4, 1 << 20
_SHOWN = 4


@dataclass(frozen=True)
class Unknown:
    """Lower confidence bounds for a program of which nothing is declared.

    Attributes
    ----------
    plan : UnknownPlan
        What was asked.
    categories : Categories
        What reports were told apart by.
    first, second : tuple of two tuples of int
        Counts by value and category of the reports that chose the event, and of the others.
    epsilon : float
        Lower bound of eps0.
    delta : tuple of (eps, delta)
        Lower bound of delta at each eps that was asked for.
    event : str
        The event that bounds eps0.
    counts : tuple of two ints
        Reports in it under the likelier value and under the other, of those that are counted.
    """

    plan: UnknownPlan
    categories: Categories
    first: tuple[tuple[int, ...], ...]
    second: tuple[tuple[int, ...], ...]
    epsilon: float
    delta: tuple[tuple[float, float], ...]
    event: str
    counts: tuple[int, int]

    @property
    def pair(self) -> tuple[Any, Any]:
        """The two values."""
        return self.plan.pair

    @property
    def alpha(self) -> float:
        """All bounds hold together with probability at least 1 - alpha."""
        return self.plan.alpha

    @property
    def complete(self) -> bool:
        """Whether all reports of the plan were counted."""
        return sum(self.second[0]) == sum(self.second[1]) == self.plan.reports - self.plan.choosing

    @property
    def verdict(self) -> str:
        """Refuted where the bound is above what is claimed; of no claim nothing is."""
        claimed = self.plan.claimed
        above = claimed is not None and self.epsilon > claimed * (1.0 + 1e-12)
        return "refuted" if above else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return {
            "verdict": self.verdict,
            "plan": self.plan.to_dict(),
            "tally": _tally(self.categories, self.first, self.second),
            "epsilon": self.epsilon,
            "delta": [list(row) for row in self.delta],
            "event": self.event,
            "counts": list(self.counts),
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        plan, counted = self.plan, sum(self.second[0])
        x0, x1 = (in_markdown(shown(v)) for v in plan.pair)
        start = "Nothing is declared, so nothing can be refuted"
        if plan.claimed is not None:
            start = (
                f"**{self.verdict}** at level {plan.alpha:g}: eps0 = {plan.claimed:g} is claimed"
            )
        low = math.floor(self.epsilon * 1e4) / 1e4
        lines = [
            "## A program without a declared law",
            "",
            (
                f"{start}; {plan.choosing:,} reports under each value chose the event, "
                f"{counted:,} are counted."
            ),
            "",
            (
                f"- eps0 >= {low:.4f} of {x0} and {x1}, with confidence "
                f"{100.0 * (1.0 - plan.alpha):g} %: {in_markdown(self.event)}; "
                f"{self.counts[0]:,} reports under one value, {self.counts[1]:,} under the other."
            ),
        ]
        lines += [f"- delta >= {outward(d, up=False)} at eps = {e:g}" for e, d in self.delta]
        return "\n".join(lines) + "\n"


def unknown(
    program: Callable[[Any], Any],
    pair: tuple[Any, Any],
    *,
    reports: int,
    alpha: float = 0.05,
    epsilons: Sequence[float] = (),
    claimed: float | None = None,
    seed: int = 0,
    tell: Callable[[int], None] | None = None,
) -> Unknown:
    """Bound eps0 of a program from below, and delta at given eps.

    Parameters
    ----------
    program : callable
        An array of values -> as many reports: numbers, rows of them, or texts.
    pair, reports, alpha, epsilons, claimed, seed
        As in ``UnknownPlan``.
    tell : callable, optional
        Told how many reports are in after each call.
    """
    plan = UnknownPlan(
        pair=pair,
        reports=reports,
        alpha=alpha,
        epsilons=tuple(epsilons),
        claimed=claimed,
        seed=seed,
    )
    return audit_unknown(program, plan, tell=tell)


def audit_unknown(
    program: Callable[[Any], Any],
    plan: UnknownPlan,
    *,
    tell: Callable[[int], None] | None = None,
    start: Unknown | None = None,
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> Unknown:
    """The same for a plan.

    Parameters
    ----------
    program, plan, tell
        As in ``unknown``.
    start : Unknown, optional
        Of the same plan, that stopped once its event was chosen.
    keep : callable, optional
        Given categories and counts after every call that is counted.
    """
    told = tell or _nobody
    if start is None:
        categories, first = _chosen(program, plan, told)
        second = np.zeros_like(first)
    else:
        categories, first, second = start.categories, np.array(start.first), np.array(start.second)
    cells, of = len(categories.names), categories.of
    each, counted = plan.reports - plan.choosing, int(second.sum())
    for inputs, rows in _asked(program, plan, each, part=1, skipped=counted):
        second += _counted(inputs, of(rows), cells)
        if keep is not None:
            keep(_tally(categories, first, second))
        told(2 * plan.choosing + int(second.sum()))
    return unknown_of(plan, categories, first, second)


def _nobody(done: int) -> None:
    """Told how many reports are in, and says nothing."""
    del done


def _values(pair: tuple[Any, Any]) -> Any:
    """The two values as an array, neither of them changed into the other's kind."""
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in pair)
    if numbers and type(pair[0]) is type(pair[1]):
        return np.array(pair)
    if all(isinstance(v, list | tuple) for v in pair):
        with contextlib.suppress(ValueError):  # rows of different lengths
            rows = np.array(pair)
            if rows.dtype.kind in "iuf":
                return rows
    made = np.empty(2, dtype=object)
    made[0], made[1] = pair
    return made


def _chosen(
    program: Callable[[Any], Any], plan: UnknownPlan, told: Callable[[int], None]
) -> tuple[Categories, Counts]:
    """Categories of the reports that choose the event, and their counts."""
    choosing, done = [], 0
    for inputs, rows in _asked(program, plan, plan.choosing, part=0):
        choosing.append((inputs, rows))
        done += len(inputs)
        told(done)
    together = concatenated([rows for _, rows in choosing])
    categories = categories_of(together)
    inputs = np.concatenate([of_call for of_call, _ in choosing])
    return categories, _counted(inputs, categories.of(together), len(categories.names))


def _tally(categories: Categories, first: Any, second: Any) -> dict[str, Any]:
    """Raw counts as files have them."""
    counts = {"first": np.asarray(first).tolist(), "second": np.asarray(second).tolist()}
    return {"categories": categories.to_dict(), **counts}


def _order(plan: UnknownPlan, each: int, part: int) -> tuple[Counts, int]:
    """Which value is asked for at each place, and how many at once."""
    generator = np.random.Generator(np.random.Philox(key=[plan.seed, part]))
    order = np.repeat(np.arange(2, dtype=np.uint8), each)
    generator.shuffle(order)
    return order, min(_LARGEST_CALL, -(-len(order) // _CALLS))


def _asked(
    program: Callable[[Any], Any], plan: UnknownPlan, each: int, *, part: int, skipped: int = 0
) -> Any:
    """Calls of both values in an order of their own: (which value, reports)."""
    order, size = _order(plan, each, part)
    values = _values(plan.pair)
    for start in range(skipped, len(order), size):
        inputs = order[start : start + size]
        rows = np.asarray(program(values[inputs]))
        rows = rows.astype(np.int64) if rows.dtype.kind == "b" else rows
        if len(rows) != len(inputs):
            raise rejected("reports of a call", len(rows), f"{len(inputs):,}, one for each value")
        yield inputs, rows


def _counted(inputs: Counts, labels: Counts, cells: int) -> Counts:
    rows = inputs.astype(np.int64) * cells + labels
    return np.bincount(rows, minlength=2 * cells).reshape(2, cells)


def unknown_of(plan: UnknownPlan, categories: Categories, first: Any, second: Any) -> Unknown:
    """Choose the event by the first counts, and bound by the second."""
    first, second = np.asarray(first), np.asarray(second)
    learned, n = int(first[0].sum()), second.sum(axis=1).tolist()
    each = plan.alpha / (1 + len(plan.epsilons))
    choices = [_best(first, learned, plan.reports - plan.choosing, each, i) for i in (0, 1)]
    way = max((0, 1), key=lambda i: choices[i][0])
    _, inside, share = choices[way]
    ratio = _ratio(second, n, inside, share, way)
    deltas = []
    for epsilon in plan.epsilons:
        event, towards = _for_delta(first, learned, epsilon)
        chosen = _ratio(second, n, event, 0.5, towards)
        deltas.append((epsilon, chosen.delta(each, epsilon=epsilon)))
    names = [categories.names[c] for c in np.flatnonzero(inside)[:_SHOWN]]
    more = int(inside.sum()) - _SHOWN
    return Unknown(
        plan,
        categories,
        _rows(first),
        _rows(second),
        ratio.epsilon(each),
        tuple(deltas),
        ", ".join(names) + (f" and {more} more" if more > 0 else ""),
        (ratio.first[0], ratio.second[0]),
    )


def _rows(counts: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(c) for c in row) for row in np.asarray(counts))


def unknown_from_dict(table: dict[str, Any]) -> Unknown:
    """Judge saved counts again; nothing but plan, categories and counts is read.

    Raises
    ------
    ParameterError
        If they are not counts of such a plan.
    """
    keys = ("pair", "reports", "alpha", "epsilons", "claimed", "seed")
    given = dict(table_of("unknown.plan", table.get("plan"), keys))
    if not isinstance(given["epsilons"], list):
        raise rejected("unknown.plan.epsilons", given["epsilons"], "a list")
    plan = UnknownPlan(**(given | {"pair": tuples(given["pair"])}))
    tally = table_of("unknown.tally", table.get("tally"), ("categories", "first", "second"))
    categories = categories_from_dict(tally["categories"])
    cells, parts = len(categories.names), []
    for key, wanted in (("first", plan.choosing), ("second", plan.reports - plan.choosing)):
        counts = np.array(whole(f"unknown.tally.{key}", tally[key], (2, cells)), dtype=np.int64)
        sums = counts.sum(axis=1).tolist()
        if sums != [wanted] * 2 and not (key == "second" and _stopped(plan, sums)):
            raise rejected(f"unknown.tally.{key}", sums, f"{wanted:,} reports of each value")
        parts.append(counts)
    check_halves(categories, *parts)
    return unknown_of(plan, categories, *parts)


def _stopped(plan: UnknownPlan, sums: list[int]) -> bool:
    """Whether these are the counts after some calls."""
    order, size = _order(plan, plan.reports - plan.choosing, 1)
    done = sum(sums)
    prefix = np.bincount(order[:done], minlength=2).tolist()
    return done < len(order) and done % size == 0 and prefix == sums


def any_reports(lines: Sequence[bytes]) -> Any:
    """Lines of JSON as numbers or rows of them; whatever else they are, as they are written."""
    kept = [line.strip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    try:
        rows = json.loads(b"[" + b",".join(kept) + b"]")
        array = np.array(rows)
    except (ValueError, RecursionError):
        rows, array = [], np.zeros(0)
    if len(rows) == len(kept) and array.dtype.kind in "iuf":
        return array
    return np.array([line.decode(errors="replace") for line in kept])


def _best(counts: Any, learned: int, n: int, level: float, way: int) -> tuple[float, Any, float]:
    """The set of cells, by decreasing ratio, with the largest bound that its counts promise."""
    a, b = counts[way], counts[1 - way]
    order = np.argsort(-(np.log(a + 0.5) - np.log(b + 0.5)), kind="stable")
    best: tuple[float, Any, float] = (-1.0, np.arange(len(a)) == order[0], 0.5)
    tops, bottoms = np.cumsum(a[order]), np.cumsum(b[order])
    for j in range(len(order) - 1):
        ends = int(tops[j]) * n // learned, -(-int(bottoms[j]) * n // learned)
        for share in _SHARES:
            value = Ratio(ends[0], n, ends[1], n, share).epsilon(level)
            if value > best[0]:
                inside = np.zeros(len(order), dtype=bool)
                inside[order[: j + 1]] = True
                best = (value, inside, share)
    return best


def _ratio(counts: Any, n: list[int], inside: Any, share: float, way: int) -> Ratio:
    tops, bottoms = (int(counts[i][inside].sum()) for i in (way, 1 - way))
    return Ratio(tops, n[way], bottoms, n[1 - way], share)


def _for_delta(counts: Any, n: int, epsilon: float) -> tuple[Any, int]:
    """Cells where the first part's excess P - e^eps Q is positive, in the better direction."""
    grow = math.exp(min(epsilon, 700.0))
    options = []
    for way in (0, 1):
        gain = counts[way] / n - grow * counts[1 - way] / n
        options.append((float(np.maximum(gain, 0.0).sum()), way, gain > 0.0))
    _, way, inside = max(options, key=lambda option: option[0])
    return inside, way
