"""What the papers print, and ours: all rows as CSV, and in docs/papers.md those that differ."""

from __future__ import annotations

import re
from pathlib import Path

from papers import printed_numbers

PAGE = Path(__file__).resolve().parent.parent / "docs" / "papers.md"
BLOCK = re.compile(r"(<!-- printed -->\n).*?(<!-- end -->)", re.DOTALL)


def write() -> list[Path]:
    """Write both anew; their paths."""
    rows = list(printed_numbers.lines())
    table = printed_numbers.markdown(rows)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    return [PAGE, printed_numbers.write(rows, PAGE.parent / "figures/papers/printed.csv")]
