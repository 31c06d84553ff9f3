"""The table of docs/papers.md: what the papers print, and ours."""

from __future__ import annotations

import re
from pathlib import Path

from papers.printed_numbers import lines, markdown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "papers.md"
BLOCK = re.compile(r"(<!-- printed -->\n).*?(<!-- end -->)", re.DOTALL)


def write() -> list[Path]:
    """Write it anew; the path of the page."""
    table = markdown(list(lines()))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    return [PAGE]
