"""What a report is made of, whatever it is written as: headings, tables, lists, figures.

Texts are plain: nothing in them is markup, and whoever writes a report escapes all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Strong:
    """Words that stand out."""

    words: str


@dataclass(frozen=True)
class Code:
    """What is typed, or a name in a file."""

    words: str


Inline = str | Strong | Code
Line = tuple[Inline, ...]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the report's."""

    words: str
    level: int


@dataclass(frozen=True)
class Paragraph:
    """Words."""

    line: Line


@dataclass(frozen=True)
class Status:
    """A verdict in a box: "met", "missed", "open" or "none", and the words."""

    kind: str
    line: Line


@dataclass(frozen=True)
class Table:
    """A table; columns in ``left`` are words, the others numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    left: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class Bullets:
    """A list."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Checks:
    """A list of what somebody has to check and sign."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Terms:
    """Words and what they mean."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """A drawing (SVG) with what it shows; ``file`` is a picture for a report that holds none."""

    words: str
    drawing: bytes
    caption: str
    file: str | None = None


@dataclass(frozen=True)
class Signatures:
    """Lines to write names on."""

    roles: tuple[str, ...]


Block = Heading | Paragraph | Status | Table | Bullets | Checks | Terms | Figure | Signatures


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes
    ----------
    title : str
        Of the window, or of the printed pages.
    blocks : sequence of Block
        All of it, in order.
    """

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def line(*parts: Inline) -> Line:
    """Some words, some of which stand out."""
    return parts
