"""Figure of a run: estimates with intervals, and the truth beside them where it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shuffledp.protocol.answers import Row

_MOST_SHOWN = 40
_BLUE, _ORANGE = "#0072B2", "#D55E00"


def estimate_figure(
    rows: Sequence[Row], *, title: str, truth: Mapping[str, float] | None, n: int
) -> Any:
    """Estimates as points with simultaneous intervals, largest first; truth as crosses."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    chosen = sorted(rows, key=lambda row: -row.estimate)[:_MOST_SHOWN]
    place = np.arange(len(chosen))
    figure = Figure(figsize=(9.2, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
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
    if truth is not None:
        known = [(i, truth[row.item]) for i, row in enumerate(chosen) if row.item in truth]
        if known:
            axes.plot(*zip(*known, strict=True), "x", color=_ORANGE, markersize=8, label="truth")
    axes.axhline(0.0, color="#444444", linewidth=0.8)
    axes.set_xticks(place, [row.item for row in chosen], rotation=90 if len(chosen) > 8 else 0)
    more = len(rows) - len(chosen)
    axes.set_xlabel("item" + (f" ({more:,} smaller ones not shown)" if more else ""))
    axes.set_ylabel("mean" if rows[0].item.startswith("mean") else "frequency (share of users)")
    axes.set_title(f"{title}: {n:,} users", parse_math=False)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
    axes.legend(frameon=False)
    return figure
