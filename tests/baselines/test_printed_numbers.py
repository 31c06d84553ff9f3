"""The table "printed, and ours" of docs/papers.md is what the script computes."""

import re
from pathlib import Path

import pytest
from papers.printed import ITEMS, ROWS, Found, found_of
from papers.printed.kit import outward
from papers.printed.wang import published
from papers.printed_numbers import HEAD, line, markdown, markdown_line

import shuffledp as sd

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"
QUICK = [item for item in ITEMS if not ROWS[item.key].slow]
SLOW = [item for item in ITEMS if ROWS[item.key].slow]


def shown():
    """The lines of the page's tables, one an item."""
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"<!-- printed -->\n(.*?)<!-- end -->", text, re.DOTALL)
    lines = [x for x in block.splitlines() if x.startswith("| ")]
    return [x for x in lines if x != "| " + " | ".join(HEAD) + " |"]


def test_no_row_is_left_out():
    assert len({item.key for item in ITEMS}) == len(ITEMS)
    assert set(ROWS) == {item.key for item in ITEMS}
    assert len(shown()) == len(ITEMS)
    for item, text in zip(ITEMS, shown(), strict=True):
        start = markdown_line((item.where, item.what, item.printed, "", ""))[: -len(" |  |  |")]
        assert text.startswith(start), item.key
        *_, ours, verdict = re.split(r"(?<!\\\\) \\| ", text.removesuffix(" |"))
        assert ours, item.key
        assert verdict, item.key
        assert ours != "-" or verdict.startswith(("not ", "nothing ")), item.key


def compared(items):
    lines = dict(zip((item.key for item in ITEMS), shown(), strict=True))
    for item in items:
        assert markdown_line(line(item, found_of(item))) == lines[item.key]


def test_the_page_says_what_is_computed():
    compared(QUICK)


@pytest.mark.long
def test_the_page_says_what_is_computed_of_the_slow_rows_too():
    assert len(SLOW) > 10
    compared(SLOW)


def test_ends_are_shown_outward_and_bars_do_not_end_a_cell():
    assert outward(0.12341, 0.12349) == "0.1234 to 0.1235"
    assert outward(0.5, 0.5) == "0.5000"
    rows = [(ITEMS[0], line(ITEMS[0], Found("a|b*", "holds")))]
    assert markdown(rows).splitlines()[-1].endswith(r"| a\|b\* | holds |")


def test_the_published_pair_of_a_protocol_is_that_of_its_numbers():
    protocol = sd.BallsIntoBins(d=8, s=1, blankets=1)
    exact = sd.shuffle(protocol, n=200).epsilon(delta=1e-3)
    assert published(protocol, 200, 1e-3) == pytest.approx(exact.upper, rel=1e-5)
