"""A report as Markdown: tables and lists, every text escaped."""

from __future__ import annotations

import re
from functools import singledispatch
from urllib.parse import quote

from shuffledp.review.blocks import (
    Block,
    Bullets,
    Checks,
    Document,
    Figure,
    Heading,
    Inline,
    Line,
    Paragraph,
    Signatures,
    Status,
    Strong,
    Table,
    Terms,
)
from shuffledp.values.characters import visible

# What means something inside a line of CommonMark, of its tables, or of formulas on some sites; a
# backslash before any of it makes it a letter. Links need brackets, tags and addresses "<".
_MEANS = re.compile(r"([\\`*_\[\]<>|~&$#])")
# What begins a list or a rule, at the start of a line.
_BEGINS = re.compile(r"^(\s*\d*)([-+=.)])(?=\s|[-+=]|$)")


def to_markdown(document: Document) -> str:
    """The whole file."""
    return "\n\n".join(block_text(block) for block in document.blocks) + "\n"


def escaped(words: str) -> str:
    """Text of which nothing is read as markup, and which is read aloud as it was written."""
    safe = _MEANS.sub(r"\\\1", " ".join(visible(words).split()))
    # "://", "www." and "@" would be made links by some readers.
    safe = safe.replace("://", ":\\//").replace("@", "\\@")
    safe = re.sub(r"www\.", lambda found: found[0][:-1] + "\\.", safe, flags=re.IGNORECASE)
    return _BEGINS.sub(r"\1\\\2", safe)


def _line(parts: Line) -> str:
    return "".join(_inline(part) for part in parts)


def _inline(part: Inline) -> str:
    if isinstance(part, str):
        # Spaces at the ends are those between this part and the next one.
        left = " " * (len(part) - len(part.lstrip()))
        right = " " * (len(part) - len(part.rstrip())) if part.strip() else ""
        return f"{left and ' '}{escaped(part)}{right and ' '}"
    if isinstance(part, Strong):
        return f"**{escaped(part.words)}**"
    return _code(part.words)


def _code(words: str) -> str:
    """Between more backticks than there are in it; a table's bar would end the cell."""
    words = " ".join(visible(words).split()).replace("|", "\\|")
    runs = [len(run) for run in re.findall(r"`+", words)]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{fence}{pad}{words}{pad}{fence}"


@singledispatch
def block_text(block: Block) -> str:
    """A block as Markdown."""
    raise TypeError(f"no Markdown for {type(block).__name__}")


@block_text.register
def _(block: Heading) -> str:
    return f"{'#' * block.level} {escaped(block.words)}"


@block_text.register
def _(block: Paragraph) -> str:
    return _line(block.line)


@block_text.register
def _(block: Status) -> str:
    return f"> {_line(block.line)}"


@block_text.register
def _(block: Table) -> str:
    rules = ["---" if i in block.left else "---:" for i in range(len(block.head))]
    rows = [[escaped(words) for words in block.head], rules]
    rows += [[_line(cell) for cell in row] for row in block.rows]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"{escaped(block.caption)}:\n\n{table}" if block.caption else table


@block_text.register
def _(block: Bullets) -> str:
    return "\n".join(f"- {_line(words)}" for words in block.lines)


@block_text.register
def _(block: Checks) -> str:
    return "\n".join(f"- [ ] {_line(words)}" for words in block.lines)


@block_text.register
def _(block: Terms) -> str:
    return "\n".join(f"- **{escaped(term)}**: {escaped(words)}" for term, words in block.entries)


@block_text.register
def _(block: Figure) -> str:
    if block.file is None:
        return f"{escaped(block.caption)} (The drawing is in the HTML report.)"
    return f"![{escaped(block.words)}]({quote(block.file)})\n\n{escaped(block.caption)}"


@block_text.register
def _(block: Signatures) -> str:
    rows = ["|  | Name | Signature | Date |", "| --- | --- | --- | --- |"]
    return "\n".join([*rows, *(f"| {escaped(role)} |  |  |  |" for role in block.roles)])
