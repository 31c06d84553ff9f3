"""The table printed / ours / verdict: all rows as CSV, those that differ on docs/papers.md.

python -m papers.printed.table
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from papers.printed import ROWS, Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"
ALL = PAGE.parent / "figures" / "papers" / "printed.csv"
BLOCK = re.compile(r"(<!-- printed -->\n)(.*?)(<!-- end -->)", re.DOTALL)
HEAD = ("where", "what", "printed", "ours", "verdict")
Line = tuple[str, ...]


def line(row: Row) -> Line:
    """A row of the CSV, ours computed."""
    return (row.paper, row.where, row.what, row.printed, *row.make())


def differs(verdict: str) -> bool:
    """Whether ours contradicts what is printed, or leaves it open."""
    return verdict.startswith(("does not", "open"))


def _cell(text: str) -> str:
    """Text that a table of Markdown keeps as it is."""
    return re.sub(r"([|*_<])", r"\\\1", text)


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(map(_cell, cells))} |" for cells in lines)


def markdown(lines: Sequence[Line]) -> str:
    """A table for each paper, of the rows that differ."""
    parts = []
    for paper in dict.fromkeys(paper for paper, *_, verdict in lines if differs(verdict)):
        mine = [cells for one, *cells in lines if one == paper and differs(cells[-1])]
        rule = "|" + "---|" * len(HEAD)
        parts.append(f"**{paper}**\n\n{_table([HEAD])}\n{rule}\n{_table(mine)}")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Compute all rows, and write both."""
    lines = [line(row) for row in ROWS]
    with ALL.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("paper", *HEAD), *lines])
    text, made = PAGE.read_text(encoding="utf-8"), markdown(lines)
    PAGE.write_text(BLOCK.sub(lambda found: found[1] + made + found[3], text), encoding="utf-8")


if __name__ == "__main__":
    main()
