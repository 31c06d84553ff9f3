"""Axes of certified numbers: the band between two ends, legible without colour.

What is drawn is read off ``Bound``s; nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import IdentityTransform, ScaledTranslation

from shuffledp.bound import Bound
from shuffledp.errors import rejected

# Okabe and Ito's palette, dark ones first: they differ in lightness as well as in hue.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES: tuple[Any, ...] = (
    "solid",
    (0, (6, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
    (0, (8, 3)),
)
MARKERS = ("o", "s", "D", "^", "v", "P")
GREY = "#444444"
# Inches; a notebook's column holds that at 100 dots an inch.
_SIZE = (7.2, 4.4)
# Lines nearer to each other than this share of the picture look like one.
_SEEN = 0.01
# Said of a band whose two lines look like one.
COINCIDE = "both certified ends, too near to tell apart at this scale"
# Inches from the axes to their legend: numbers and a label are between them.
_BELOW = -0.5
# Fewer points than this are marked: between them lines join what was certified.
_MARKED = 48
# Points of a trade-off curve between its corners, which are points of it themselves.
_TRADEOFF_POINTS = 101


def axes_of(ax: Any, *, rows: int | None = None) -> Axes:
    """The axes that were given, or new ones, which a notebook shows below the cell.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw.
    rows : int, optional
        Lines of text that the new axes have to hold beside each other.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if ax is None:
        # As in pandas: the figure becomes the notebook's current one, which it shows.
        from matplotlib import pyplot as plt

        size = _SIZE if rows is None else (_SIZE[0], 1.4 + 0.3 * rows)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    if not isinstance(ax, Axes):
        raise rejected("ax", ax, "matplotlib axes, or nothing for new ones")
    return ax


def batch_label(unit: str) -> str:
    """What n is: the honest ones of a batch, one for each user.

    Parameters
    ----------
    unit : str
        Messages, reports, or users where each sends several messages.
    """
    return f"honest {unit} in the batch, n{'' if unit == 'users' else ' (users)'}"


def over_n(axes: Axes, label: str) -> None:
    """Users along the horizontal axis, on a logarithmic scale; bands over them have dots."""
    axes.set_xscale("log")
    axes.set_xlabel(f"{label}; certified at the dots, joined by lines")
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))


def over_epsilon(axes: Axes) -> None:
    """Epsilon along the horizontal axis."""
    axes.set_xlabel("central eps (nats)")


def upward(axes: Axes, quantity: str) -> None:
    """Epsilon on a logarithmic scale, or the logarithm of delta, along the vertical axis."""
    if quantity == "epsilon":
        axes.set_yscale("log")
        axes.set_ylabel("central eps (nats)")
        in_ones_and_fives(axes.yaxis)
    else:
        # Heights are logarithms: delta may lie far below the smallest float.
        axes.set_ylabel("central delta")
        axes.yaxis.set_major_formatter(FuncFormatter(power_of_ten))


def in_ones_and_fives(axis: Any) -> None:
    """Marks at 1, 2 and 5 of every decade, written as they are."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axis.set_minor_formatter(NullFormatter())


def tidy(axes: Axes, *, grid: Any = "both") -> None:
    """A light grid behind what is drawn, and no frame above or to the right."""
    axes.grid(which="major", axis=grid, color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def height(quantity: str, value: float | None, log: float | None = None) -> float:
    """Where an end is drawn: eps itself, log10 of delta; nan where there is nothing to draw.

    Parameters
    ----------
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float or None
        The end; None where there is none.
    log : float or None
        Of a delta its natural logarithm, where that is known.
    """
    if quantity == "delta":
        log = math.log(value) if log is None and value else log
        return math.nan if log is None or math.isinf(log) else log / math.log(10.0)
    return value if value is not None and 0.0 < value < math.inf else math.nan


def heights(bounds: Sequence[Bound], *, up: bool) -> list[float]:
    """Those of the upper or the lower ends."""
    if up:
        return [height(one.quantity, one.upper, one.log_upper) for one in bounds]
    return [height(one.quantity, one.lower, one.log_lower) for one in bounds]


def band(
    axes: Axes,
    xs: Sequence[float],
    bounds: Sequence[Bound],
    *,
    colour: str,
    dashes: Any = "solid",
) -> list[Any]:
    """Both ends as lines and what is between them shaded; handles for a legend.

    Parameters
    ----------
    axes : Axes
        Where to draw.
    xs : sequence of float, (points,)
        Where the bounds are.
    bounds : sequence of Bound, (points,)
        All of eps or all of delta.
    colour, dashes
        Of the upper end.
    """
    low, high = (heights(bounds, up=up) for up in (False, True))
    # A lower end of zero has no place on a logarithmic axis: the band is open there.
    floor = [a if math.isfinite(a) else b for a, b in zip(low, high, strict=True)]
    axes.fill_between(xs, floor, high, color=colour, alpha=0.25, lw=0)
    marks: dict[str, Any] = {"marker": "o", "ms": 3.5} if len(xs) < _MARKED else {}
    axes.plot(xs, high, color=colour, lw=2.0, ls=dashes, **marks)
    axes.plot(xs, low, color=colour, lw=0.9, **{**marks, "ms": 2.0} if marks else {})
    upper = Line2D([], [], color=colour, lw=2.0, ls=dashes, label="certified upper end", **marks)
    if not apart(bounds):
        upper.set_label(COINCIDE)
        return [upper]
    return [
        upper,
        Patch(facecolor=colour, alpha=0.25, label="the truth lies in this band"),
        Line2D([], [], color=colour, lw=0.9, label="certified lower end"),
    ]


def draw_curve(
    ax: Any,
    xs: Sequence[float],
    bounds: Sequence[Bound],
    *,
    label: str,
    marked: float | None = None,
    across: str | None = None,
) -> Axes:
    """delta over eps, or eps over n or a share, on new axes or beside what is on them already.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw. Curves that are there have other colours and dashes.
    xs : sequence of float, (points,)
        eps in nats where the bounds are of delta, else n.
    bounds : sequence of Bound, (points,)
        One each.
    label : str
        What it is the curve of.
    marked : float, optional
        An n to mark with a line.
    across : str, optional
        What share of the users eps is drawn over, where it is not n.
    """
    axes = axes_of(ax)
    quantity = bounds[0].quantity
    if across is not None:
        axes.set_xlabel(across)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        over_n(axes, "users, n") if quantity == "epsilon" else over_epsilon(axes)
    upward(axes, quantity)
    tidy(axes)
    place = len(axes.collections)
    colour, dashes = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
    upper, *rest = band(axes, xs, bounds, colour=colour, dashes=dashes)
    upper.set_label(f"{label}: {upper.get_label()}")
    shown = [*handles(axes), upper]
    if rest:
        shown.append(Line2D([], [], color=colour, lw=0.9, label="   certified lower end"))
    if marked is not None and place == 0:
        words = f"n = {marked:,.0f}"
        shown.append(axes.axvline(marked, color=GREY, lw=1, ls=":", label=words))
    legend(axes, shown)
    return axes


def apart(bounds: Sequence[Bound]) -> bool:
    """Whether two lines would be seen: ends a hundredth of the picture apart, or one missing."""
    lows, highs = (np.array(heights(bounds, up=up)) for up in (False, True))
    if bounds[0].quantity == "epsilon":
        lows, highs = np.log(lows), np.log(highs)
    seen = highs[np.isfinite(highs)]
    if not len(seen) or bool(np.any(np.isfinite(highs) & ~np.isfinite(lows))):
        return bool(len(seen))
    both = np.isfinite(highs)
    # One point has no other scale than a hundredth of eps, or of log10 delta.
    span = max(float(np.ptp(seen)), 1.0 if len(seen) == 1 else 0.0)
    return float(np.max(highs[both] - lows[both])) > _SEEN * span


def draw_tradeoff(ax: Any, ends: Sequence[tuple[float, float, str]]) -> Axes:
    """What tests can do against (eps, delta): least type II error over type I error.

    A mechanism is (eps, delta)-DP if and only if every test of two neighbours has
    beta >= max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)) (Wasserman, Zhou 2010;
    Kairouz, Oh, Viswanath 2015, Theorem 2.1).

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw.
    ends : sequence of (eps, delta, label)
        The upper end and the lower one; an eps of inf leaves no error at all.
    """
    axes = axes_of(ax)
    (above, at, upper_label), (below, at_lower, lower_label) = ends
    x, upper = tradeoff(above, at)
    x1, lower = tradeoff(below, at_lower)
    grid = np.union1d(x, x1)
    upper, lower = np.interp(grid, x, upper), np.interp(grid, x1, lower)
    axes.plot(grid, upper, color=COLOURS[0], lw=2.0, label=upper_label)
    if float(np.max(lower - upper)) > _SEEN:
        words = "the best test reaches into this band"
        axes.fill_between(grid, upper, lower, color=COLOURS[0], alpha=0.25, lw=0, label=words)
    else:
        lower_label += ", under the same line"
    axes.plot(grid, lower, color=COLOURS[0], lw=0.9, label=lower_label)
    axes.plot([0, 1], [1, 0], color=GREY, lw=1, ls=":", label="guessing")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xlabel("type I error of a test, alpha")
    axes.set_ylabel("type II error of the test, beta")
    tidy(axes)
    legend(axes, handles(axes))
    return axes


def tradeoff(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """alpha and the least beta that (eps, delta) leaves, corners included."""
    # Beyond that e^eps overflows, and at one alpha the curve is 0 anyway.
    most = math.exp(min(epsilon, 700.0))
    corner = max(0.0, (1.0 - delta) / (1.0 + most))
    alphas = np.union1d(np.linspace(0.0, 1.0, _TRADEOFF_POINTS), [corner, max(0.0, 1.0 - delta)])
    steep = 1.0 - delta - most * alphas
    flat = (1.0 - delta - alphas) / most
    return alphas, np.maximum(0.0, np.maximum(steep, flat))


def draw_dots(
    ax: Any,
    names: Sequence[str],
    series: Sequence[tuple[str, Sequence[float], str]],
    *,
    xlabel: str,
    lines: Mapping[str, float] | None = None,
) -> Axes:
    """One line a name, from above: marks along a logarithmic axis.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw.
    names : sequence of str, (rows,)
        Beside the lines.
    series : sequence of (label, values, marker)
        Marks; nan where a row has none, "" as label for one that needs no legend.
    xlabel : str
        With its unit.
    lines : mapping of str to float, optional
        Vertical lines with their labels.
    """
    axes = axes_of(ax, rows=len(names))
    places = np.arange(len(names), 0, -1)
    for i, (label, values, marker) in enumerate(series):
        filled = COLOURS[i % len(COLOURS)] if marker != "D" else "white"
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(values, places, ls="", marker=marker, color=colour, mfc=filled, label=label)
    for i, (label, value) in enumerate((lines or {}).items()):
        axes.axvline(value, color=GREY, lw=1.4, ls=DASHES[1 + i % 2], label=label)
    axes.set_xscale("log")
    axes.set_xlabel(xlabel)
    in_ones_and_fives(axes.xaxis)
    axes.set_yticks(places, list(names))
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(0.4, len(names) + 0.6)
    tidy(axes, grid="x")
    legend(axes, handles(axes))
    return axes


def handles(axes: Axes) -> list[Any]:
    """What the legend holds already, else what has a label."""
    known = axes.get_legend()
    return axes.get_legend_handles_labels()[0] if known is None else list(known.legend_handles)


def legend(axes: Axes, shown: list[Any]) -> None:
    """Under the axes, where it hides nothing."""
    kept = [one for one in shown if one is not None and one.get_label()]
    root = axes.get_figure(root=True)
    scale = IdentityTransform() if root is None else root.dpi_scale_trans
    below = ScaledTranslation(0.0, _BELOW, scale)
    made = axes.legend(
        handles=kept,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=axes.transAxes + below,
        fontsize=8,
        frameon=False,
    )
    for text in made.get_texts():
        text.set_parse_math(False)


def thousands(x: float, _: object) -> str:
    """A number of users in a word or two."""
    for size, word in ((1e9, " billion"), (1e6, " million")):
        if x >= size:
            return f"{x / size:,g}{word}"
    return f"{x:,.0f}"


def power_of_ten(y: float, _: object) -> str:
    """10 to the height."""
    return f"$10^{{{y:g}}}$"
