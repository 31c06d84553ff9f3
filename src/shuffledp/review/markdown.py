"""What a report is made of, as Markdown: headings, tables, lists, figures.

Texts are plain: nothing in them is markup, and all of it is escaped here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from shuffledp.values.characters import visible

# What means something inside a line of CommonMark, of its tables, or of formulas on some sites; a
# backslash before any of it makes it a letter. Links need brackets, tags and addresses "<".
_MEANS = re.compile(r"([\\`*_\[\]<>|~&$#])")
# What begins a list or a rule, at the start of a line.
_BEGINS = re.compile(r"^(\s*\d*)([-+=.)])(?=\s|[-+=]|$)")


class Markup(str):
    """Words of a line that are escaped already."""

    __slots__ = ()


class Block(NamedTuple):
    """Some Markdown of a report.

    Attributes
    ----------
    text : str
        The Markdown.
    kind : str
        Classes that a page gives it: "wide" of a table, "status met", "checks", "signatures".
    label : str
        Of a table: what it is read aloud as.
    """

    text: str
    kind: str = ""
    label: str = ""


class Figure(NamedTuple):
    """A drawing (SVG) with what it shows; ``file`` is a picture for a report that holds none."""

    words: str
    drawing: bytes
    caption: str
    file: str | None = None

    @property
    def text(self) -> str:
        """The picture, or where the drawing is."""
        if self.file is None:
            return f"{escaped(self.caption)} (The drawing is in the HTML report.)"
        return f"![{escaped(self.words)}]({quote(self.file)})\n\n{escaped(self.caption)}"


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes
    ----------
    title : str
        Of the window, or of the printed pages.
    blocks : sequence of Block or Figure
        All of it, in order.
    """

    title: str
    blocks: Sequence[Block | Figure] = ()


def to_markdown(document: Document) -> str:
    """The whole file."""
    return "\n\n".join(block.text for block in document.blocks) + "\n"


# ----------------------------------------------------------------------------- words of a line


def escaped(words: str) -> str:
    """Text of which nothing is read as markup, and which is read aloud as it was written."""
    safe = _MEANS.sub(r"\\\1", " ".join(visible(words).split()))
    # "://", "www." and "@" would be made links by some readers.
    safe = safe.replace("://", ":\\//").replace("@", "\\@")
    safe = re.sub(r"www\.", lambda found: found[0][:-1] + "\\.", safe, flags=re.IGNORECASE)
    return _BEGINS.sub(r"\1\\\2", safe)


def line(*parts: str) -> Markup:
    """Some words, some of which stand out."""
    return Markup("".join(part if isinstance(part, Markup) else _plain(part) for part in parts))


def strong(words: str) -> Markup:
    """Words that stand out."""
    return Markup(f"**{escaped(words)}**")


def code(words: str) -> Markup:
    """What is typed, or a name in a file: between more backticks than there are in it."""
    # A table's bar would end the cell.
    words = " ".join(visible(words).split()).replace("|", "\\|")
    runs = [len(run) for run in re.findall(r"`+", words)]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return Markup(f"{fence}{pad}{words}{pad}{fence}")


def _plain(part: str) -> str:
    # Spaces at the ends are those between this part and the next one.
    left = " " * (len(part) - len(part.lstrip()))
    right = " " * (len(part) - len(part.rstrip())) if part.strip() else ""
    return f"{left and ' '}{escaped(part)}{right and ' '}"


# -------------------------------------------------------------------------------------- blocks


def heading(words: str, level: int) -> Block:
    """A heading; level 1 is the report's."""
    return Block(f"{'#' * level} {escaped(words)}")


def paragraph(*parts: str) -> Block:
    """Words."""
    return Block(line(*parts))


def status(kind: str, *parts: str) -> Block:
    """A verdict in a box: "met", "missed", "open" or "none", and the words."""
    return Block(f"> {line(*parts)}", f"status {kind}")


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: frozenset[int] = frozenset({0}),
) -> Block:
    """A table; columns in ``left`` are words, the others numbers."""
    rules = ["---" if i in left else "---:" for i in range(len(head))]
    cells = [[escaped(words) for words in head], rules, *([line(x) for x in row] for row in rows)]
    text = "\n".join("| " + " | ".join(row) + " |" for row in cells)
    whole = f"{escaped(caption)}:\n\n{text}" if caption else text
    return Block(whole, "wide", caption or head[0])


def bullets(lines: Iterable[str]) -> Block:
    """A list."""
    return Block("\n".join(f"- {line(words)}" for words in lines))


def checks(lines: Iterable[str]) -> Block:
    """A list of what somebody has to check and sign."""
    return Block("\n".join(f"- [ ] {line(words)}" for words in lines), "checks")


def terms(entries: Iterable[tuple[str, str]]) -> Block:
    """Words and what they mean."""
    return bullets(line(strong(term), f": {words}") for term, words in entries)


def signatures(roles: Iterable[str]) -> Block:
    """Lines to write names on."""
    rows = ["|  | Name | Signature | Date |", "| --- | --- | --- | --- |"]
    return Block(
        "\n".join([*rows, *(f"| {escaped(role)} |  |  |  |" for role in roles)]), "signatures"
    )
