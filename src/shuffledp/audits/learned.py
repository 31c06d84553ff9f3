"""Cells of reports of which nothing is declared, from reports that are not counted.

As many reports as will be counted are asked for first. Cells are made from them, and events chosen
by them: so limits at other reports hold whatever the choice was (docs/theory-audit.md, section 6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audits.plan import AuditPlan, Tell, calls, order_of
from shuffledp.audits.readings import Reading, cut
from shuffledp.values.described import shown

Labels = npt.NDArray[np.integer]

# Outputs that are told apart: a cell of its own each; of numbers cells between quantiles.
_MOST_CELLS = 512
# Reports under each input that choose the event, as many as fit the memory.
MOST_CHOOSING = 1_000_000
# Half a report more in every cell: none is without probability.
_MORE = 0.5


def learned(plan: AuditPlan, program: Callable[[Any], Any], *, tell: Tell | None = None) -> Reading:
    """How a program's reports are read, with the shares of the cells that were seen.

    Parameters
    ----------
    plan : AuditPlan
        What will be asked.
    program : callable
        Values -> as many reports: numbers, rows of them, or texts.
    tell : callable, optional
        Told how many reports are in after each call.
    """
    # The seed of the counted reports' order is another one.
    order = order_of(len(plan.asked), min(plan.reports, MOST_CHOOSING), plan.seed + 2**63)
    kept = [
        (index, _rows(reports)) for index, reports in calls(program, plan.values(), order, tell)
    ]
    names, classify = _cells([rows for _, rows in kept])
    counts = np.full((len(plan.asked), len(names)), _MORE)
    for index, rows in kept:
        np.add.at(counts, (index, classify(rows)), 1.0)
    mass = counts / counts.sum(axis=1, keepdims=True)
    return Reading(names, mass, lambda reports: classify(_rows(reports)))


def _rows(reports: Any) -> Any:
    rows = np.asarray(reports)
    return rows.astype(np.int64) if rows.dtype.kind == "b" else rows


def _is_numbers(rows: Any) -> bool:
    return rows.ndim == 1 and rows.dtype.kind in "iuf"


def _cells(rows: list[Any]) -> tuple[tuple[str, ...], Callable[[Any], Labels]]:
    """Names of cells for reports like these, and reports -> the cell of each.

    Single outputs, cells between quantiles of numbers, or whatever else by how it is written; the
    last cell is what is none of these.
    """
    if all(_is_numbers(one) for one in rows):
        together = np.concatenate(rows)
        finite = together[np.isfinite(together)]
        if np.unique(finite).size > _MOST_CELLS:
            return _between_quantiles(finite)
    texts, counts = np.unique([t for one in rows for t in _texts(one)], return_counts=True)
    chosen = texts[np.argsort(-counts, kind="stable")[:_MOST_CELLS]].tolist()
    places = {text: place for place, text in enumerate(chosen)}

    def classify(rows: Any) -> Labels:
        return np.array([places.get(text, len(places)) for text in _texts(rows)])

    return (*(f"output {shown(text)}" for text in chosen), "any other output"), classify


def _texts(rows: Any) -> list[str]:
    """Reports as they would be written: equal texts are equal reports."""
    return [str(row) for row in rows.tolist()]


def _between_quantiles(finite: Any) -> tuple[tuple[str, ...], Callable[[Any], Labels]]:
    tails = np.geomspace(30.0 / finite.size, 0.02, 24)
    levels = np.unique(np.concatenate([tails, np.linspace(0.02, 0.98, 97), 1.0 - tails]))
    names, classify = cut(np.unique(np.quantile(finite, np.clip(levels, 0.0, 1.0))))
    return (*names, "no finite number"), classify
