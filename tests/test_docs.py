"""Every ``pycon`` block of the README and of docs/ gives what it prints."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_pycon_blocks_of_the_docs_print_what_they_say():
    report: list[str] = []
    for page in PAGES:
        # One session a page, as its reader would type it.
        session = "\n".join(FENCE.findall(page.read_text(encoding="utf-8")))
        example = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
        doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append)
    assert not report, "".join(report)
