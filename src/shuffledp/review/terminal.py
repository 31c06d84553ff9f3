"""A report in a terminal: its Markdown, as lines of 80 columns without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from shuffledp.review.html import MARKDOWN
from shuffledp.review.markdown import Block
from shuffledp.values.characters import visible

_WIDTH = 80
# No column of words is made narrower.
_NARROWEST = 16


def to_text(blocks: Iterable[Block]) -> str:
    """Blocks below one another; every table has a rule under its heading."""
    return "\n".join(_block(block) for block in blocks)


def wrapped(start: str, words: str) -> str:
    """Lines of the terminal's width; those after the first are indented, nothing is hidden."""
    return textwrap.fill(
        visible(words.replace("\n", " ")),
        _WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _block(block: Block) -> str:
    said: list[str] = []
    rows: list[list[str]] = []
    numbers: set[int] = set()
    inside, start = "", ""
    for token in MARKDOWN.parse(block.text):
        inside = token.type if token.type in {"th_open", "td_open"} else inside
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open" and "right" in str(token.attrGet("style")):
            numbers.add(len(rows[0]))
        elif token.type == "list_item_open":
            start = "  - "
        elif token.type == "inline":
            words = "".join(one.content for one in token.children or ())
            if inside:
                rows[-1].append(words)
            else:
                said.append(wrapped(start, words))
        inside = "" if token.type in {"th_close", "td_close"} else inside
    return "\n".join([*said, *columns(rows, numbers)])


def columns(rows: Sequence[Sequence[str]], numbers: set[int]) -> list[str]:
    """A heading, a rule, and rows: words are folded where they do not fit, numbers never.

    Parameters
    ----------
    rows : sequence of sequence of str
        The heading first.
    numbers : set of int
        Columns that are aligned on the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    spare = _WIDTH - 1 - 3 * (len(widths) - 1) - sum(widths)
    for i, width in enumerate(widths):
        if spare < 0 and i not in numbers:
            widths[i] = min(width, max(_NARROWEST, width + spare))
            spare += width - widths[i]
    lines = []
    for place, row in enumerate(rows):
        cells = [
            textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) or [""]
            for cell, width in zip(row, widths, strict=True)
        ]
        for k in range(max(map(len, cells))):
            parts = [cell[k] if k < len(cell) else "" for cell in cells]
            aligned = [
                part.rjust(width) if i in numbers else part.ljust(width)
                for i, (part, width) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append(" " + "   ".join(aligned).rstrip())
        if place == 0:
            lines.append(" " + "-" * (sum(widths) + 3 * (len(widths) - 1)))
    return lines
