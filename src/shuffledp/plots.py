"""Figures of certified bounds: the band between lower and upper end, legible without colour.

Figures are made without pyplot, so nothing global is touched and no display is needed.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from shuffledp._check import exact
from shuffledp.bound import Bound, outward, shown_end
from shuffledp.drawing.bands import (
    COLOURS,
    GREY,
    batch_label,
    draw_curve,
    draw_dots,
    handles,
    height,
    legend,
    over_n,
)
from shuffledp.errors import ParameterError
from shuffledp.outputs import writing

if TYPE_CHECKING:
    # A curve needs matplotlib alone; where there is an account, deployment files are read already.
    from shuffledp.deployment import Account, Curve

SUFFIXES = (".png", ".svg", ".pdf")
_TITLE = 64  # characters in a line
_SIZE = (9.2, 4.6)


def check_suffix(name: str, path: str | Path) -> None:
    """Refuse a figure file whose ending is not one we draw."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"{name} = {str(path)!r}: wanted a file name ending in {', '.join(SUFFIXES)}"
        )


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF, all of it or nothing.

    Raises
    ------
    ParameterError
        If the ending is none of these, or the file cannot be written.
    """
    check_suffix("figure", path)
    with writing([("figure", path)]) as held:
        write(figure, held.path(path), Path(path).suffix.lower()[1:])


def write(figure: Figure, path: str | Path | io.BytesIO, kind: str) -> None:
    """Draw into a file; the same figure gives the same bytes (no date is written)."""
    metadata: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    # Names in an SVG are made of this and not of a random number.
    with rc_context({"svg.hashsalt": "shuffledp"}):
        figure.savefig(path, format=kind, dpi=200, metadata=metadata[kind])


def svg(figure: Figure) -> bytes:
    """The figure as SVG, with letters as shapes: nothing is loaded to show it."""
    held = io.BytesIO()
    write(figure, held, "svg")
    return held.getvalue()


# ------------------------------------------------------------------------------- the figures


def account_figure(account: Account, curve: Curve, *, label: str) -> Figure:
    """eps (or delta) over n of a deployment, its batches marked.

    Parameters
    ----------
    account : Account
        The deployment's own numbers.
    curve : Curve
        The bounds around it.
    label : str
        What it is called.
    """
    figure = picture(lambda ax: _drawn(ax, account, curve, label))
    (axes,) = figure.axes
    over_n(axes, batch_label(account.deployment.unit))
    titled(axes, account.deployment.title)
    return figure


def _drawn(axes: Axes, account: Account, curve: Curve, label: str) -> None:
    draw_curve(axes, curve.n, curve.bounds, label=f"{label}, {_at_words(account)}")
    _mark(axes, account, COLOURS[0])
    if account.deployment.target.quantity == "epsilon":
        _local_line(axes, account)
    shown = axes.get_legend_handles_labels()[0]
    legend(axes, [*handles(axes), *shown])


def crowd_figure(account: Account, *, labels: Sequence[str]) -> Figure:
    """eps (or delta) of each group's members, a line a group: both ends, and without a shuffler.

    Parameters
    ----------
    account : Account
        The crowd's own numbers.
    labels : sequence of str
        Each group's mechanism in a few words.
    """
    hidden = [one.bound for one in account.answers if not one.setting.failed]
    alone = [one.bound for one in account.answers if one.setting.failed]
    ends = {
        "lower end": ([one.lower for one in hidden], "D"),
        "upper end": ([one.upper for one in hidden], "o"),
        "no shuffler, upper end": ([one.upper for one in alone], "s"),
    }
    series = [
        (label, [x if 0.0 < x < math.inf else math.nan for x in values], marker)
        for label, (values, marker) in ends.items()
    ]
    groups = zip(account.deployment.group, labels, strict=True)
    names = [f"group {k}, {label}, {one.users:,} users" for k, (one, label) in enumerate(groups)]
    unit = " (nats)" if hidden[0].quantity == "epsilon" else ""
    xlabel = f"central {_ends_word(hidden[0])}{unit} at {_at_words(account)}"
    figure = picture(lambda ax: draw_dots(ax, names, series, xlabel=xlabel))
    titled(figure.axes[0], account.deployment.title)
    return figure


def picture(draw: Callable[..., Any]) -> Figure:
    """What a function draws on the axes ``ax`` that it is given, on a figure of its own."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    draw(ax=figure.add_subplot())
    return figure


def _local_line(axes: Axes, account: Account) -> None:
    failed = next(one for one in account.one_round if one.setting.failed)
    (level,) = account.eps0
    who = "no shuffler" if failed.setting.sums is None else "no aggregator"
    label = f"{who}: eps0 = {outward(level, up=True)}"
    if not math.isfinite(level):
        level, label = failed.bound.upper, f"{who}: {_ends(failed.bound)}"
    if math.isfinite(level):
        axes.axhline(level, color=GREY, lw=1.4, ls=(0, (1, 1.5)), label=label)


def _mark(axes: Axes, account: Account, colour: str) -> None:
    """The deployment and its minimum batch: a bar from end to end, the mark at the upper one."""
    from shuffledp.deployment.setting import MINIMUM, NOW

    rounds = account.deployment.accounting.rounds
    for name, marker, face in ((NOW, "o", colour), (MINIMUM, "s", "white")):
        answer = account.named(name)
        if answer is None:
            continue
        low, high = (height(answer.bound, up=up) for up in (False, True))
        if math.isnan(high):
            continue
        if not math.isnan(low):
            axes.plot([answer.n] * 2, [low, high], color="black", lw=1.3, marker="_", zorder=5)
        words = f"{name}, n = {answer.n:,}: {_ends(answer.bound)}"
        if answer.published is not None:
            words += f" (published theorems: {_upper(answer.published)})"
        composed = account.named(name, rounds=rounds)
        if rounds > 1 and composed is not None:
            words += f"; after all {rounds:,} rounds: {_upper(composed.bound)}"
        style: dict[str, Any] = {"marker": marker, "mfc": face, "mec": colour, "mew": 1.3}
        axes.plot([answer.n], [high], ms=9, ls="", zorder=6, label=words, **style)


def _ends(bound: Bound) -> str:
    """Both ends, rounded outward: a label must not promise more than the number."""
    return f"{_number(bound, up=False)} <= {_upper(bound)}"


def _upper(bound: Bound) -> str:
    return f"{_ends_word(bound)} <= {_number(bound, up=True)}"


def _ends_word(bound: Bound) -> str:
    return "eps" if bound.quantity == "epsilon" else "delta"


def _number(bound: Bound, *, up: bool) -> str:
    value, log = (bound.upper, bound.log_upper) if up else (bound.lower, bound.log_lower)
    return shown_end(bound.quantity, value, log, up=up, digits=4)


def _at_words(account: Account) -> str:
    target = account.deployment.target
    word = "delta" if target.quantity == "epsilon" else "eps"
    rounds = ", one round" if account.deployment.accounting.rounds > 1 else ""
    return f"{word} = {exact(target.value)}{rounds}"


def titled(axes: Axes, title: str) -> None:
    """The title as it is written: dollars are no formula."""
    words = textwrap.fill(title, _TITLE)
    axes.set_title(words, loc="left", fontsize=11, parse_math=False)
