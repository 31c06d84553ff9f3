"""Every printed number, formula and claim beside ours: the table of docs/papers.md.

    python -m papers.printed_numbers

writes all rows as CSV; docs/papers.md shows those that differ. What is printed is in
``papers.printed.items``; ours is computed here, but for seconds, which are those of
``printed_times.csv`` beside the pictures.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from papers.common import run
from papers.printed import ITEMS, Found, Item, found_of

HEAD = ("where", "what", "printed", "ours", "verdict")
Line = tuple[str, ...]


def line(item: Item, found: Found) -> Line:
    """One row of the table."""
    return (item.where, item.what, item.printed, found.ours, found.verdict)


def lines(items: tuple[Item, ...] = ITEMS) -> Iterator[tuple[Item, Line]]:
    """All rows, in the order of the papers."""
    for item in items:
        yield item, line(item, found_of(item))


def cell(text: str) -> str:
    """Text that a table of Markdown keeps as it is."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "\\<")


def markdown_line(found: Line) -> str:
    """One row in Markdown."""
    return "| " + " | ".join(cell(text) for text in found) + " |"


def differs(found: Line) -> bool:
    """Whether ours contradicts what is printed, or leaves it open."""
    return found[-1].startswith(("does not", "open"))


def markdown(rows: list[tuple[Item, Line]]) -> str:
    """A table for each paper, of the rows that differ."""
    parts = []
    for paper in dict.fromkeys(item.paper for item, found in rows if differs(found)):
        mine = [
            markdown_line(found) for item, found in rows if item.paper == paper and differs(found)
        ]
        head = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
        parts.append("\n".join([f"**{paper}**", "", *head, *mine]))
    return "\n\n".join(parts) + "\n"


def write(rows: list[tuple[Item, Line]], path: Path) -> Path:
    """All rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        written = csv.writer(file)
        written.writerow(("paper", *HEAD))
        written.writerows((item.paper, *found) for item, found in rows)
    return path


def main(out: Path) -> None:
    """Compute all rows, and write them."""
    print(write(list(lines()), out / "printed.csv"))


if __name__ == "__main__":
    run(main, __doc__)
