"""What values look like in a notebook: one line, a table, a data frame, a picture.

Only the standard library is needed here; data frames and pictures name the extra they want.
"""

from __future__ import annotations

import html
import importlib
import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from shuffledp.errors import ParameterError, not_installed, rejected

FRAMES = ("pandas", "polars")
Record = dict[str, Any]
# Rows of a table in a notebook; a data frame has all of them.
_MOST_ROWS = 60


@dataclass(frozen=True)
class Sheet:
    """What a reader sees: text only, numbers rounded outward already.

    Attributes
    ----------
    caption : str
        What it is, in a line.
    head : tuple of str
        Headings.
    rows : tuple of tuple of str
        A cell for each heading.
    notes : tuple of str
        Below the table.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


class Shown(ABC):
    """A value with a table in a notebook and rows for a data frame."""

    @abstractmethod
    def sheet(self) -> Sheet:
        """What a notebook shows."""

    @abstractmethod
    def records(self) -> list[Record]:
        """Rows of plain numbers and text, nothing rounded."""

    def to_frame(self, *, library: str | None = None) -> Any:
        """The rows as a data frame of pandas or polars, whichever is there.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default the one that was imported already, else the one that is installed; pandas
            where that leaves both.

        Raises
        ------
        ParameterError
            If there is neither; the message says what to install.
        """
        return frame(self.records(), library=library)

    def _repr_html_(self) -> str:
        return html_table(self.sheet())


class Drawn(Shown):
    """A value with a picture as well; subclasses say what is drawn."""

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the value; what is drawn is said where it is defined.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on new ones, which a notebook shows.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        Raises
        ------
        ParameterError
            If ``ax`` is something else, or matplotlib is not installed.
        """
        return self._draw(pictures(), ax)

    @abstractmethod
    def _draw(self, bands: Any, ax: Any) -> Any:
        """Draw on these axes, or on new ones, by the functions of ``shuffledp.drawing.bands``."""


def frame(records: Sequence[Record], *, library: str | None = None) -> Any:
    """Rows as a data frame.

    Parameters
    ----------
    records : sequence of dict
        With the same keys.
    library : {"pandas", "polars"}, optional
        As for ``Shown.to_frame``.
    """
    if library is not None and library not in FRAMES:
        raise rejected("library", library, " or ".join(FRAMES))
    wanted = FRAMES if library is None else (library,)
    ready = [name for name in wanted if name in sys.modules] or list(wanted)
    found = next((name for name in ready if _there(name)), None)
    if found is None:
        purpose = "a data frame" if library else "a data frame (of pandas or polars)"
        raise ParameterError(not_installed(purpose, [wanted[0]], "notebook"))
    module = importlib.import_module(found)
    return module.DataFrame({key: [row[key] for row in records] for key in records[0]})


def pictures() -> ModuleType:
    """``shuffledp.drawing.bands``, or one line that names the extra it wants."""
    if not _there("matplotlib"):
        raise ParameterError(not_installed("a figure", ["matplotlib"], "plot"))
    return importlib.import_module("shuffledp.drawing.bands")


def _there(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    return importlib.util.find_spec(name) is not None


def html_table(sheet: Sheet) -> str:
    """The sheet as HTML: all text escaped, no script, colours left to the notebook."""
    cell = html.escape
    lines = [
        "<table>",
        f'<caption style="text-align: left">{cell(sheet.caption)}</caption>',
        "<thead><tr>" + "".join(f"<th>{cell(word)}</th>" for word in sheet.head) + "</tr></thead>",
        "<tbody>",
    ]
    for row in sheet.rows[:_MOST_ROWS]:
        cells = "".join(f'<td style="text-align: left">{cell(word)}</td>' for word in row)
        lines.append(f"<tr>{cells}</tr>")
    lines += ["</tbody>", "</table>"]
    left = len(sheet.rows) - _MOST_ROWS
    notes = (*([f"{left:,} more rows: to_frame() has all"] if left > 0 else []), *sheet.notes)
    lines += [f"<p>{cell(note)}</p>" for note in notes]
    return "\n".join(lines)
