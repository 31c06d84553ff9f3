"""A figure as inline SVG: the band between both ends over n, with the deployment marked in it.

Lines differ in dashes and width, marks in shape, so that nothing depends on colour; colours are
classes of the report's style sheet, for light and dark. Whoever cannot see it has its title and
its description.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shuffledp.values.characters import visible

# In units of the drawing; the page scales it.
WIDTH, _PLOT_HEIGHT = 680, 300
_LEFT, _RIGHT, _TOP, _BELOW = 92, 16, 14, 50
_ROW = 21
_KEY, _KEY_GAP = 34, 12
# Tick labels are at least that far apart.
_TICK_SPACE = 46.0
# A lower end may be nearly 0: the axis goes no farther below the least upper end.
_DEPTH = 1e-3
_MARGIN = 0.06


@dataclass(frozen=True)
class Line:
    """A curve; ``style`` is a class of the style sheet. Gaps where a height is None."""

    style: str
    label: str
    xs: Sequence[float]
    ys: Sequence[float | None]


@dataclass(frozen=True)
class Band:
    """What lies between two curves."""

    label: str
    xs: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]


@dataclass(frozen=True)
class Mark:
    """Points: "dot", "square" or "cross"; a bar to ``lows`` where they are given."""

    shape: str
    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    lows: Sequence[float | None] = ()


@dataclass(frozen=True)
class Level:
    """A horizontal line."""

    style: str
    label: str
    y: float


Item = Line | Band | Mark | Level


@dataclass(frozen=True)
class Picture:
    """What is drawn over n, which is on a logarithmic axis.

    Attributes
    ----------
    title, description : str
        For who cannot see it.
    x_label, y_label : str
        With units.
    logarithmic : bool
        Whether heights are on a logarithmic axis; else they are logarithms to base 10 themselves.
    items : sequence
        From back to front; the legend has them in this order.
    name : str
        Distinguishes the figures of a page.
    """

    title: str
    description: str
    x_label: str
    y_label: str
    logarithmic: bool
    items: Sequence[Item]
    name: str

    def svg(self) -> str:
        """The drawing."""
        return _Drawing(self).svg()


class _Drawing:
    """One picture on its axes."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        xs = [x for item in picture.items for x in getattr(item, "xs", ())]
        self.x_range = _widened(math.log(min(xs)), math.log(max(xs)), 0.0)
        self.y_range = _y_range(picture)
        self.right, self.bottom = WIDTH - _RIGHT, _TOP + _PLOT_HEIGHT
        self.height = self.bottom + _BELOW + _ROW * len(picture.items) + 4

    def x(self, n: float) -> float:
        return _scaled(math.log(n), self.x_range, _LEFT, self.right)

    def y(self, height: float) -> float:
        place = math.log(height) if self.picture.logarithmic else height
        return _scaled(place, self.y_range, self.bottom, _TOP)

    def svg(self) -> str:
        name, picture = _text(self.picture.name), self.picture
        clip = f"{name}-clip"
        axes = (
            f'<clipPath id="{clip}"><rect x="{_LEFT}" y="{_TOP - 1}" '
            f'width="{self.right - _LEFT}" height="{_PLOT_HEIGHT + 2}"/></clipPath>'
        )
        drawn = [self._drawn(item) for item in picture.items if not isinstance(item, Mark)]
        marks = [self._drawn(item) for item in picture.items if isinstance(item, Mark)]
        return "\n".join(
            [
                (
                    f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" '
                    f'aria-labelledby="{name}-title {name}-words">'
                ),
                f'<title id="{name}-title">{_text(picture.title)}</title>',
                f'<desc id="{name}-words">{_text(picture.description)}</desc>',
                axes,
                *self._grid(),
                f'<g clip-path="url(#{clip})">',
                *drawn,
                "</g>",
                (
                    f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{self.right - _LEFT}" '
                    f'height="{_PLOT_HEIGHT}"/>'
                ),
                *marks,
                *self._legend(),
                "</svg>",
            ]
        )

    # ------------------------------------------------------------------------------ axes

    def _grid(self) -> list[str]:
        found = []
        for n, words in _ticks(self.x_range, logarithmic=True, size=self.right - _LEFT, wide=1.8):
            x = f"{self.x(n):.1f}"
            found.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{self.bottom}"/>')
            found.append(
                f'<text x="{x}" y="{self.bottom + 18}" text-anchor="middle">{_text(words)}</text>'
            )
        heights = _ticks(self.y_range, logarithmic=self.picture.logarithmic, size=_PLOT_HEIGHT)
        for height, words in heights:
            y = f"{self.y(height):.1f}"
            found.append(f'<line class="grid" x1="{_LEFT}" x2="{self.right}" y1="{y}" y2="{y}"/>')
            found.append(
                f'<text x="{_LEFT - 8}" y="{y}" dy="0.35em" text-anchor="end">{_text(words)}</text>'
            )
        middle, half = (_LEFT + self.right) / 2, (_TOP + self.bottom) / 2
        found.append(
            f'<text x="{middle:.1f}" y="{self.bottom + 38}" text-anchor="middle">'
            f"{_text(self.picture.x_label)}</text>"
        )
        found.append(
            f'<text transform="translate(16 {half:.1f}) rotate(-90)" text-anchor="middle">'
            f"{_text(self.picture.y_label)}</text>"
        )
        return found

    # ----------------------------------------------------------------------------- items

    def _drawn(self, item: Item) -> str:
        if isinstance(item, Band):
            return self._band(item)
        if isinstance(item, Level):
            y = f"{self.y(item.y):.1f}"
            return f'<line class="{item.style}" x1="{_LEFT}" x2="{self.right}" y1="{y}" y2="{y}"/>'
        if isinstance(item, Line):
            return f'<path class="{item.style}" d="{self._path(item.xs, item.ys)}"/>'
        found = []
        for i, (n, height) in enumerate(zip(item.xs, item.ys, strict=True)):
            low = item.lows[i] if item.lows else None
            if low is not None:
                # The bar ends where the axis does.
                end = min(self.y(low), float(self.bottom))
                found.append(_bar(self.x(n), self.y(height), end))
            found.append(_mark(item.shape, self.x(n), self.y(height)))
        return "\n".join(found)

    def _band(self, band: Band) -> str:
        """Pieces without gaps; a lower end that is 0 lies below any axis."""
        pieces: list[list[tuple[float, float, float]]] = [[]]
        for n, low, high in zip(band.xs, band.low, band.high, strict=True):
            if high is None:
                pieces.append([])
                continue
            floor = float(self.bottom) + 2.0 if low is None else self.y(low)
            pieces[-1].append((self.x(n), floor, self.y(high)))
        found = []
        for piece in (one for one in pieces if one):
            there = [f"{x:.1f} {high:.1f}" for x, _, high in piece]
            back = [f"{x:.1f} {low:.1f}" for x, low, _ in reversed(piece)]
            found.append(f"M{'L'.join([*there, *back])}Z")
        return f'<path class="band" d="{"".join(found)}"/>'

    def _path(self, xs: Sequence[float], ys: Sequence[float | None]) -> str:
        words, start = [], True
        for n, height in zip(xs, ys, strict=True):
            if height is None:
                start = True
                continue
            words.append(f"{'M' if start else 'L'}{self.x(n):.1f} {self.y(height):.1f}")
            start = False
        return "".join(words)

    # ---------------------------------------------------------------------------- legend

    def _legend(self) -> list[str]:
        found = []
        for i, item in enumerate(self.picture.items):
            y = self.bottom + _BELOW + _ROW * (i + 0.5)
            found.append(_key(item, _LEFT, y))
            x = _LEFT + _KEY + _KEY_GAP
            found.append(f'<text x="{x}" y="{y:.1f}" dy="0.35em">{_text(item.label)}</text>')
        return found


def _key(item: Item, x: float, y: float) -> str:
    if isinstance(item, Band):
        return f'<rect class="band" x="{x}" y="{y - 6:.1f}" width="{_KEY}" height="12"/>'
    if isinstance(item, Mark):
        return _mark(item.shape, x + _KEY / 2, y)
    return f'<line class="{item.style}" x1="{x}" x2="{x + _KEY}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _mark(shape: str, x: float, y: float) -> str:
    if shape == "dot":
        return f'<circle class="mark full" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    if shape == "square":
        return f'<rect class="mark" x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"/>'
    d = f"M{x - 5:.1f} {y - 5:.1f}l10 10M{x + 5:.1f} {y - 5:.1f}l-10 10"
    return f'<path class="cross" d="{d}"/>'


def _bar(x: float, top: float, bottom: float) -> str:
    d = f"M{x:.1f} {top:.1f}V{bottom:.1f}M{x - 4:.1f} {bottom:.1f}h8"
    return f'<path class="bar" d="{d}"/>'


# ---------------------------------------------------------------------------------- scales


def _scaled(value: float, ends: tuple[float, float], low: float, high: float) -> float:
    return low + (value - ends[0]) / (ends[1] - ends[0]) * (high - low)


def _widened(low: float, high: float, share: float) -> tuple[float, float]:
    """The range with a margin; never empty."""
    margin = share * (high - low) or (0.5 if high == low else 0.0)
    return low - margin, high + margin


def _y_range(picture: Picture) -> tuple[float, float]:
    """All that is marked and all upper curves; lower ones as far as they are not negligible."""
    place: Callable[[float], float] = math.log if picture.logarithmic else float
    firm = [place(y) for item in picture.items for y in _firm(item)]
    low, high = min(firm), max(firm)
    loose = [place(y) for item in picture.items for y in _loose(item)]
    depth = math.log(_DEPTH) if picture.logarithmic else math.log10(_DEPTH)
    if loose:
        low = min(low, max(min(loose), low + depth))
    return _widened(low, high, _MARGIN)


def _firm(item: Item) -> list[float]:
    if isinstance(item, Band):
        return [y for y in item.high if y is not None]
    return [item.y] if isinstance(item, Level) else [y for y in item.ys if y is not None]


def _loose(item: Item) -> list[float]:
    if isinstance(item, Band):
        return [y for y in item.low if y is not None]
    return [y for y in item.lows if y is not None] if isinstance(item, Mark) else []


def _ticks(
    ends: tuple[float, float], *, logarithmic: bool, size: float, wide: float = 1.0
) -> list[tuple[float, str]]:
    """Places of ticks and their words: 1, 2, 5 where there is room, else powers of ten."""
    most = max(2, int(size / (_TICK_SPACE * wide)))
    if not logarithmic:
        step = _step((ends[1] - ends[0]) / most)
        first, last = math.ceil(ends[0] / step), math.floor(ends[1] / step)
        places = [step * k for k in range(first, last + 1)]
        return [(place, f"1e{place:g}") for place in places]
    low, high = (end / math.log(10.0) for end in ends)
    tens = range(math.floor(low), math.ceil(high) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [(math.log10(d) + k, d * 10.0**k) for k in tens for d in digits]
        inside = [value for place, value in found if low <= place <= high]
        if len(inside) <= most:
            break
    else:
        every = math.ceil(len(inside) / most)
        inside = inside[::every]
    if len(inside) < 2:
        # Less than a step of 1, 2, 5: both ends, to three digits.
        inside = [float(f"{math.exp(end):.3g}") for end in ends]
        inside = [value for value in inside if ends[0] <= math.log(value) <= ends[1]]
    return [(value, _number(value)) for value in inside]


def _step(least: float) -> float:
    """The least of 1, 2, 5, 10, 20, ... that is not below; whole powers of ten, no less."""
    size = 10.0 ** math.floor(math.log10(max(least, 1.0)))
    return next(size * d for d in (1, 2, 5, 10) if size * d >= least)


def _number(value: float) -> str:
    if value >= 1e9:
        return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
    if value >= 1e6:
        return f"{value / 1e6:g} million"
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:g}"


def _text(words: str) -> str:
    return html.escape(visible(words), quote=True)
