"""What is printed, and ours: the CSV is what is computed, docs/papers.md has its differences."""

import csv
import re

import pytest
from papers.printed import ROWS
from papers.printed.rows import DELTA, down, number, outward, up
from papers.printed.table import ALL, BLOCK, HEAD, PAGE, differs, line, markdown
from papers.printed.wang import delta_at, published

import shuffledp as sd

QUICK = [row for row in ROWS if not row.slow]


def kept():
    """The rows of the committed CSV."""
    with ALL.open(newline="", encoding="utf-8") as file:
        head, *found = csv.reader(file)
    assert head == ["paper", *HEAD]
    return list(map(tuple, found))


def test_no_row_is_left_out():
    assert len({row[:4] for row in ROWS}) == len(ROWS)
    for row, (*said, ours, verdict) in zip(ROWS, kept(), strict=True):
        assert said == list(row[:4])
        assert ours
        # Where there is no number of ours, the verdict is that there is none.
        assert verdict.startswith(("not ", "nothing ")) if ours == "-" else verdict


def test_the_page_has_all_that_differs():
    text = PAGE.read_text("utf-8")
    block = BLOCK.search(text)
    assert block is not None
    assert block[2] == markdown(kept())
    assert block[2].count("\n| ") > 20
    holds = sum(verdict.startswith("holds") for *_, verdict in kept())
    assert f"All {len(ROWS)} printed numbers, formulas and claims" in text
    assert f"; {holds} hold." in text


def test_a_row_differs_where_it_does_not_hold_or_is_open():
    assert not any(map(differs, ("holds", "nothing to compute")))
    assert all(map(differs, ("does not: x", "does not", "open")))


def compared(rows):
    found = {row[:4]: row for row in kept()}
    for row in rows:
        assert line(row) == found[row[:4]]


def test_delta_is_what_the_page_says_where_no_row_does():
    assert "Where no delta is said it is 1e-6" in PAGE.read_text(encoding="utf-8")
    assert DELTA == delta_at(10**4) == 1e-6


COUNTEREXAMPLES = {
    "10-RR, eps0 = 6, n = 1000": (sd.KRR(k=10, eps0=6.0), 1000, 4),
    "3-RR, eps0 = 2, n = 50": (sd.KRR(k=3, eps0=2.0), 50, 4),
    "Hadamard response (100 values), eps0 = 3, n = 1e4": (
        sd.HadamardResponse(domain=100, eps0=3.0), 10**4, 6,
    ),
    "10-RR, eps0 = 1, n = 1e4": (sd.KRR(k=10, eps0=1.0), 10**4, 6),
}  # fmt: skip


@pytest.mark.parametrize("setting", COUNTEREXAMPLES)
def test_the_variation_ratio_s_counterexamples_are_what_is_computed(setting):
    mechanism, n, digits = COUNTEREXAMPLES[setting]
    acc = sd.shuffle(mechanism, n=n)
    made = [
        number(published(mechanism, n, 1e-6), digits),
        down(acc.epsilon(delta=1e-6, analysis="dataset").lower, digits),
        up(acc.epsilon(delta=1e-6, analysis="blanket").upper, digits),
        up(acc.epsilon(delta=1e-6, analysis="repaired-variation-ratio").upper, digits),
    ]
    (row,) = re.findall(rf"^\| {re.escape(setting)} \|.*$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert row.strip("| ").split(" | ") == [setting, *made]


def test_the_rows_are_what_is_computed():
    compared(QUICK[::6])


@pytest.mark.long
def test_all_rows_are_what_is_computed():
    compared(ROWS)


def test_ends_are_shown_outward_and_bars_do_not_end_a_cell():
    assert outward(0.12341, 0.12349) == "0.1234 to 0.1235"
    assert outward(0.5, 0.5) == "0.5000"
    assert outward(0.1897744, 0.1897789, 6) == "0.189774 to 0.189779"
    # The floats nearest to these are a little above and a little below what is written.
    assert (down(0.1), up(0.1)) == ("0.1000", "0.1001")
    assert (down(0.3), up(0.3)) == ("0.2999", "0.3000")
    assert (down(1.87375), up(1.87375)) == ("1.873", "1.874")
    assert (down(12345.6), up(12345.6)) == ("12340", "12350")
    assert (down(1.53e-21, 2), up(-0.12345)) == ("1.5e-21", "-0.1234")
    assert down(9.99996e-3) == "0.009999"
    rows = [("a", "b", "c", "d", "e|f*", "open")]
    assert markdown(rows).splitlines()[-1] == r"| b | c | d | e\|f\* | open |"


def test_the_published_pair_of_a_protocol_is_that_of_its_numbers():
    protocol = sd.BallsIntoBins(d=8, s=1, blankets=1)
    exact = sd.shuffle(protocol, n=200).epsilon(delta=1e-3)
    assert published(protocol, 200, 1e-3) == pytest.approx(exact.upper, rel=1e-5)
