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
from shuffledp.bound import WORDS, outward
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
    # A curve needs matplotlib alone; where there is a certificate, files are read already.
    from shuffledp.certificate import Certificate, Members
    from shuffledp.certificate.members import Ends
    from shuffledp.deployment import Curve

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


def account_figure(certificate: Certificate, curve: Curve, *, label: str) -> Figure:
    """eps (or delta) over n of a deployment, its batches marked.

    Parameters
    ----------
    certificate : Certificate
        The deployment's own numbers.
    curve : Curve
        The bounds around them.
    label : str
        What the mechanism is called.
    """
    (members,) = certificate.members
    figure = picture(lambda ax: _drawn(ax, members, curve, label))
    (axes,) = figure.axes
    over_n(axes, batch_label(members.content.unit))
    titled(axes, members.content.title)
    return figure


def _drawn(axes: Axes, members: Members, curve: Curve, label: str) -> None:
    draw_curve(axes, curve.n, curve.bounds, label=f"{label}, {_at_words(members)}")
    *hidden, failed = members.one_round
    for ends, marker, face in zip(hidden, "os", (COLOURS[0], "white"), strict=False):
        _mark(axes, members, ends, {"marker": marker, "mfc": face})
    if members.quantity == "epsilon":
        level = members.local_guarantee
        said = _both(failed) if level is None else f"eps0 = {outward(level, up=True)}"
        level = failed.upper.value if level is None else level
        if level is not None:
            style: dict[str, Any] = {"color": GREY, "lw": 1.4, "ls": (0, (1, 1.5))}
            axes.axhline(level, label=f"no {members.who}: {said}", **style)
    legend(axes, [*handles(axes), *axes.get_legend_handles_labels()[0]])


def _mark(axes: Axes, members: Members, ends: Ends, style: dict[str, Any]) -> None:
    """A batch: a bar from end to end, the mark at the upper one."""
    n, claims = ends.setting.n, (ends.lower, ends.upper)
    low, high = (height(ends.quantity, claim.value) for claim in claims)
    if math.isnan(high):
        return
    if not math.isnan(low):
        axes.plot([n] * 2, [low, high], color="black", lw=1.3, marker="_", zorder=5)
    words = f"{ends.name}, n = {n:,}: {_both(ends)}"
    if ends.differs:
        words += f" (published theorems: {_below(ends, 'published')})"
    if members.rounds > 1:
        (composed,) = (one for one in members.all_rounds if one.name == ends.name)
        words += f"; after all {members.rounds:,} rounds: {_below(composed)}"
    more: dict[str, Any] = {"mec": COLOURS[0], "mew": 1.3, "ms": 9, "ls": "", "zorder": 6}
    axes.plot([n], [high], label=words, **style, **more)


def crowd_figure(certificate: Certificate, *, labels: Sequence[str]) -> Figure:
    """eps (or delta) of each group's members, a line a group: both ends, and without a shuffler.

    Parameters
    ----------
    certificate : Certificate
        The crowd's own numbers.
    labels : sequence of str
        Each group's mechanism in a few words.
    """
    everybody = certificate.members
    shown = [
        (one.one_round[0].lower, one.one_round[0].upper, one.failure.upper) for one in everybody
    ]
    marks = (("lower end", "D"), ("upper end", "o"), ("no shuffler, upper end", "s"))
    series = [
        (label, [claim.value or math.nan for claim in claims], marker)
        for (label, marker), claims in zip(marks, zip(*shown, strict=True), strict=True)
    ]
    groups = zip(everybody, labels, strict=True)
    names = [f"group {one.group}, {label}, {one.users:,} users" for one, label in groups]
    unit = " (nats)" if everybody[0].quantity == "epsilon" else ""
    xlabel = f"central {WORDS[everybody[0].quantity]}{unit} at {_at_words(everybody[0])}"
    figure = picture(lambda ax: draw_dots(ax, names, series, xlabel=xlabel))
    titled(figure.axes[0], certificate.deployment.content.title)
    return figure


def picture(draw: Callable[..., Any]) -> Figure:
    """What a function draws on the axes ``ax`` that it is given, on a figure of its own."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    draw(ax=figure.add_subplot())
    return figure


def _both(ends: Ends) -> str:
    """Both ends, rounded outward: a label must not promise more than the number."""
    return f"{ends.shown('lower', digits=4)} <= {_below(ends)}"


def _below(ends: Ends, end: str = "upper") -> str:
    return f"{WORDS[ends.quantity]} <= {ends.shown(end, digits=4)}"


def _at_words(members: Members) -> str:
    word = "delta" if members.quantity == "epsilon" else "eps"
    rounds = ", one round" if members.rounds > 1 else ""
    return f"{word} = {exact(members.at)}{rounds}"


def titled(axes: Axes, title: str) -> None:
    """The title as it is written: dollars are no formula."""
    words = textwrap.fill(title, _TITLE)
    axes.set_title(words, loc="left", fontsize=11, parse_math=False)
