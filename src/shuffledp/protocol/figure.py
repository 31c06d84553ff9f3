"""Figure of a run: estimates with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shuffledp.protocol.answers import Row

_MOST_SHOWN = 40
_BLUE = "#0072B2"


def draw_estimates(axes: Any, rows: Sequence[Row], *, title: str, n: int) -> None:
    """Estimates as points with simultaneous intervals, in the order of the domain.

    Where there are more than are legible, the largest ones, the largest first. One number lies
    along an axis of its own unit.
    """
    if len(rows) == 1:
        _draw_one(axes, rows[0])
        axes.set_title(f"{title}: {n:,} users", parse_math=False)
        return
    chosen = _shown(rows)
    place = np.arange(len(chosen))
    middle = np.array([row.estimate for row in chosen])
    ends = np.array([(row.low_all, row.high_all) for row in chosen])
    axes.errorbar(
        place,
        middle,
        yerr=np.abs(ends - middle[:, None]).T,
        fmt="o",
        color=_BLUE,
        capsize=3,
        markersize=5,
        label="estimate, interval for all items at once",
    )
    axes.axhline(0.0, color="#444444", linewidth=0.8)
    axes.set_xticks(place, [row.item for row in chosen], rotation=90 if len(chosen) > 8 else 0)
    more = len(rows) - len(chosen)
    axes.set_xlabel("item" + (f" ({more:,} smaller ones not shown)" if more else ""))
    axes.set_ylabel("mean" if rows[0].item.startswith("mean") else "frequency (share of users)")
    axes.set_title(f"{title}: {n:,} users", parse_math=False)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
    axes.legend(frameon=False)


def _shown(rows: Sequence[Row]) -> list[Row]:
    """All in the order of the domain; of more than are legible the largest, the largest first."""
    if len(rows) <= _MOST_SHOWN:
        return list(rows)
    return sorted(rows, key=lambda row: -row.estimate)[:_MOST_SHOWN]


def _draw_one(axes: Any, row: Row) -> None:
    """One estimate and its interval, from left to right."""
    ends = np.array([[row.estimate - row.low_all], [row.high_all - row.estimate]])
    style = {"color": _BLUE, "capsize": 5, "markersize": 7, "label": "estimate and its interval"}
    axes.errorbar([row.estimate], [0.0], xerr=np.abs(ends), fmt="o", **style)
    axes.set_yticks([])
    axes.set_xlabel(row.item, parse_math=False)
    axes.margins(x=0.4)
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
