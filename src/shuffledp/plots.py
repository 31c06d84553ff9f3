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
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

from shuffledp._check import exact
from shuffledp.bound import Bound, outward, shown_end
from shuffledp.drawing.bands import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    band,
    batch_label,
    draw_dots,
    height,
    over_n,
    tidy,
    upward,
)
from shuffledp.drawing.fonts import boxes_in_silence, fit_fonts
from shuffledp.errors import ParameterError
from shuffledp.outputs import writing

if TYPE_CHECKING:
    # A curve needs matplotlib alone; where there is an account, deployment files are read already.
    from shuffledp.deployment import Account, Curve

SUFFIXES = (".png", ".svg", ".pdf")
_FOLD, _TITLE = 40, 64  # characters in a line
# Of curves over n, where other n are asked of fewer analyses than the deployment's own.
_QUICK = "beside the marks: only bounds that take no seconds"
_SIZE = (9.2, 4.6)  # the legend stands beside the axes, where it hides nothing


def check_suffix(name: str, path: str | Path) -> None:
    """Refuse a figure file whose ending is not one we draw."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"{name} = {str(path)!r}: wanted a file name ending in {', '.join(SUFFIXES)}"
        )


def save(figure: Figure, path: str | Path) -> str:
    """Write a figure as PNG, SVG or PDF, all of it or nothing.

    Returns
    -------
    str
        As for ``write``.

    Raises
    ------
    ParameterError
        If the ending is none of these, or the file cannot be written.
    """
    check_suffix("figure", path)
    with writing([("figure", path)]) as held:
        return write(figure, held.path(path), Path(path).suffix.lower()[1:])


def write(figure: Figure, path: str | Path | io.BytesIO, kind: str) -> str:
    """Draw into a file; the same figure gives the same bytes (no date is written).

    Returns
    -------
    str
        Characters for which boxes were drawn, because no installed font has them.
    """
    metadata: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    unshown = fit_fonts(figure)
    # Names in an SVG are made of this and not of a random number.
    named = rc_context({"svg.hashsalt": "shuffledp"})
    with boxes_in_silence(), named:
        figure.savefig(path, format=kind, dpi=200, metadata=metadata[kind])
    return unshown


def svg(figure: Figure) -> bytes:
    """The figure as SVG, with letters as shapes: nothing is loaded to show it."""
    held = io.BytesIO()
    write(figure, held, "svg")
    return held.getvalue()


# ------------------------------------------------------------------------------- the figures


def account_figure(account: Account, curve: Curve, *, label: str) -> Figure:
    """eps (or delta) over n with the deployment, its minimum batch and the alternatives marked.

    Parameters
    ----------
    account : Account
        The deployment's own numbers.
    curve : Curve
        The bounds around it.
    label : str
        The randomizer in a few words.
    """
    target = account.deployment.target
    quantity = account.answers[0].bound.quantity
    unit = account.deployment.unit
    figure, axes = _blank(account.deployment.title, quantity, over=batch_label(unit))
    handles = band(axes, list(curve.n), curve.bounds, colour=COLOURS[0])
    if curve.generic:
        ys = [height(b, up=True) for b in curve.generic]
        words = "upper end for any randomizer\nwith this local guarantee"
        (line,) = axes.plot(curve.generic_n, ys, color=COLOURS[1], ls=(0, (6, 2)), lw=1.5)
        line.set_label(words)
        handles.append(line)
    if target.quantity == "epsilon":
        handles += _local_line(axes, account)
    handles += _marks(axes, account)
    _limits(axes, curve)
    _legend(figure, handles, f"{label}\n{_at_words(account)}\n{_QUICK}")
    return figure


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
        "upper end": ([one.upper for one in hidden], "o"),
        "lower end": ([one.lower for one in hidden], "D"),
        "no shuffler, upper end": ([one.upper for one in alone], "s"),
    }
    series = [
        (label, [x if 0.0 < x < math.inf else math.nan for x in values], marker)
        for label, (values, marker) in ends.items()
    ]
    names = [f"group {k}, {label}" for k, label in enumerate(labels)]
    unit = " (nats)" if hidden[0].quantity == "epsilon" else ""
    xlabel = f"central {_ends_word(hidden[0])}{unit} at {_at_words(account)}"
    figure = picture(lambda ax: draw_dots(ax, [*map(_folded, names)], series, xlabel=xlabel))
    _title(figure.axes[0], account.deployment.title)
    return figure


def comparison_figure(accounts: Sequence[Account], curves: Sequence[Curve]) -> Figure:
    """Several deployments in one picture; each has its own colour, dashes and mark."""
    quantities = {a.deployment.target.quantity for a in accounts}
    if len(quantities) != 1:
        raise ParameterError("targets: wanted all delta or all epsilon, to draw them in one figure")
    units = {account.deployment.unit for account in accounts}
    unit = units.pop() if len(units) == 1 else "users"
    quantity = accounts[0].answers[0].bound.quantity
    figure, axes = _blank("Deployments compared", quantity, over=batch_label(unit))
    handles: list[Any] = []
    for i, (account, curve) in enumerate(zip(accounts, curves, strict=True)):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        dashes = DASHES[i % len(DASHES)]
        band(axes, list(curve.n), curve.bounds, colour=colour, dashes=dashes)
        now = account.answers[0]
        top = height(now.bound, up=True)
        axes.plot(
            [now.n],
            [top],
            marker=marker,
            ms=8,
            mfc=colour,
            mec="white",
            mew=1.2,
            ls="",
            zorder=5,
        )
        words = f"{account.deployment.title}\n{_ends(now.bound)} at {_at_words(account)}"
        label = _folded(words)
        handles.append(
            Line2D([], [], color=colour, ls=dashes, marker=marker, mec="white", ms=8, label=label)
        )
    words = f"band: certified lower to upper end\nmark: the deployment, upper end\n{_QUICK}"
    _legend(figure, handles, words)
    return figure


def picture(draw: Callable[..., Any]) -> Figure:
    """What a function draws on the axes ``ax`` that it is given, on a figure of its own."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    draw(ax=figure.add_subplot())
    return figure


def _blank(title: str, quantity: str, *, over: str) -> tuple[Figure, Axes]:
    """Axes over n, which ``over`` says what it counts."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _title(axes, title)
    over_n(axes, over)
    upward(axes, quantity)
    tidy(axes)
    return figure, axes


def _local_line(axes: Axes, account: Account) -> list[Any]:
    failed = next(one for one in account.one_round if one.setting.failed)
    (level,) = account.eps0
    who = "no shuffler" if failed.setting.sums is None else "no aggregator"
    label = f"{who}: eps0 = {outward(level, up=True)}"
    if not math.isfinite(level):
        if not math.isfinite(failed.bound.upper):
            return []
        level = failed.bound.upper
        label = f"{who}: {_ends(failed.bound)}"
    return [axes.axhline(level, color=GREY, lw=1.4, ls=(0, (1, 1.5)), label=label)]


def _marks(axes: Axes, account: Account) -> list[Any]:
    """The deployment and its minimum batch: a bar from end to end, the mark at the upper one."""
    from shuffledp.deployment.setting import MINIMUM, NOW

    found = []
    for name, marker, face in ((NOW, "o", COLOURS[0]), (MINIMUM, "s", "white")):
        situation = account.named(name)
        if situation is None:
            continue
        low, high = (height(situation.bound, up=up) for up in (False, True))
        if math.isnan(high):
            continue
        if not math.isnan(low):
            axes.plot([situation.n] * 2, [low, high], color="black", lw=1.3, marker="_", zorder=5)
        style: dict[str, Any] = {"marker": marker, "mfc": face, "mec": "black", "mew": 1.3}
        (mark,) = axes.plot([situation.n], [high], ms=9, ls="", zorder=6, **style)
        title = "this deployment" if name == NOW else name
        words = f"{title}, n = {situation.n:,}:\n{_ends(situation.bound)}"
        if situation.published is not None:
            words += f"\n(published theorems: {_upper(situation.published)})"
        rounds = account.deployment.accounting.rounds
        composed = account.named(name, rounds=rounds)
        if rounds > 1 and composed is not None:
            words += f"\nafter all {rounds:,} rounds: {_upper(composed.bound)}"
        mark.set_label(words)
        found.append(mark)
    return found + _published_marks(axes, account)


def _published_marks(axes: Axes, account: Account) -> list[Any]:
    """What published theorems alone give, where the upper end rests on one that is not."""
    found = [s for s in account.one_round if s.published is not None and not s.setting.failed]
    heights = [height(s.published or s.bound, up=True) for s in found]
    if not found or any(math.isnan(h) for h in heights):
        return []
    style: dict[str, Any] = {"marker": "x", "mec": "black", "mew": 1.8, "ms": 8, "ls": ""}
    (marks,) = axes.plot([s.n for s in found], heights, zorder=6, **style)
    marks.set_label("upper end by published theorems alone")
    return [marks]


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


def _limits(axes: Axes, curve: Curve) -> None:
    """All of n; vertically what the band, the generic bound and the local guarantee need."""
    axes.set_xlim(curve.n[0], curve.n[-1])
    axes.margins(y=0.1)


def _at_words(account: Account) -> str:
    target = account.deployment.target
    word = "delta" if target.quantity == "epsilon" else "eps"
    rounds = ", one round" if account.deployment.accounting.rounds > 1 else ""
    return f"{word} = {exact(target.value)}{rounds}"


def _title(axes: Axes, title: str) -> None:
    """The title as it is written: dollars are no formula."""
    words = textwrap.fill(title, _TITLE)
    axes.set_title(words, loc="left", fontsize=11, parse_math=False)


def _legend(figure: Figure, handles: list[Any], title: str) -> None:
    legend = figure.legend(
        handles=handles,
        loc="outside right upper",
        fontsize=8,
        frameon=False,
        handlelength=2.8,
        labelspacing=0.8,
    )
    legend.set_title(_folded(title), prop=FontProperties(size=8))
    legend.get_title().set_multialignment("left")
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)
    legend.set_alignment("left")


def _folded(words: str) -> str:
    """Broken into lines that fit beside the axes."""
    lines = words.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}").splitlines()
    return "\n".join(textwrap.fill(line, _FOLD) for line in lines)
