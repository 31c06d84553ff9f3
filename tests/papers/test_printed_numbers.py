"""What is printed, and ours: the CSV is what is computed, docs/papers.md has its differences."""

import csv
import re
from pathlib import Path

import pytest
from papers.printed import ITEMS, ROWS, Found, feldman, found_of, index, su_claims
from papers.printed.kit import down, number, outward, up
from papers.printed.wang import delta_at, published
from papers.printed_numbers import HEAD, differs, line, markdown

import shuffledp as sd

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"
QUICK = [item for item in ITEMS if not ROWS[item.key].slow]
SLOW = [item for item in ITEMS if ROWS[item.key].slow]


ALL = PAGE.parent / "figures" / "papers" / "printed.csv"


def kept():
    """The rows of the committed CSV, one an item, without the paper's name."""
    with ALL.open(newline="", encoding="utf-8") as file:
        head, *found = csv.reader(file)
    assert head == ["paper", *HEAD]
    assert [row[0] for row in found] == [item.paper for item in ITEMS]
    return [tuple(row[1:]) for row in found]


def test_no_row_is_left_out():
    assert len({item.key for item in ITEMS}) == len(ITEMS)
    assert set(ROWS) == {item.key for item in ITEMS}
    for item, (*said, ours, verdict) in zip(ITEMS, kept(), strict=True):
        assert said == [item.where, item.what, item.printed], item.key
        assert nothing_is_claimed_without_ours(ours, verdict), item.key


def test_the_page_has_all_that_differs():
    (block,) = re.findall(
        r"<!-- printed -->\n(.*?)<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert block == markdown(list(zip(ITEMS, kept(), strict=True)))
    assert block.count("\n| ") > 20


def test_a_row_differs_where_it_does_not_hold_or_is_open():
    assert not any(differs(("", verdict)) for verdict in ("holds", "nothing to compute"))
    assert all(differs(("", verdict)) for verdict in ("does not: x", "does not", "open"))


def cells(text: str) -> list[str]:
    """The cells of a row of the page."""
    return text.strip("| ").split(" | ")


def nothing_is_claimed_without_ours(ours: str, verdict: str) -> bool:
    """Both are there; where there is no number of ours, the verdict is that there is none."""
    if not ours or not verdict:
        return False
    return ours != "-" or verdict.startswith(("not ", "nothing "))


def test_a_row_without_ours_may_not_hold():
    assert not nothing_is_claimed_without_ours("-", "holds")
    assert not nothing_is_claimed_without_ours("0.1 to 0.2", "")
    assert nothing_is_claimed_without_ours("-", "nothing to compute")


def compared(items):
    rows = dict(zip((item.key for item in ITEMS), kept(), strict=True))
    for item in items:
        assert line(item, found_of(item)) == rows[item.key]


def test_delta_is_what_the_page_says_where_no_row_does():
    assert "Where no delta is said it is 1e-6" in PAGE.read_text(encoding="utf-8")
    assert feldman.DELTA == su_claims.DELTA == index.DELTA == delta_at(10**4) == 1e-6


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
    assert cells(row) == [setting, *made]


def test_the_crosses_of_the_grid_are_as_far_above_the_contour_as_the_page_says():
    with (PAGE.parent / "figures/papers/su_profiles.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pairs = [
        (float(r["optimal decomposition, certified contour, our evaluation"]),
         float(r["the same by FFT on a grid"] or "nan"))
        for r in rows
    ]  # fmt: skip
    above = [100 * (cross / contour - 1) for contour, cross in pairs if contour > 1e-13]
    shown = f"{min(above):.1f}% to {max(above):.0f}% in delta (`figures/papers/su_profiles.csv`)"
    assert shown in PAGE.read_text(encoding="utf-8")


def test_the_rows_are_what_is_computed():
    compared(QUICK[::6])


@pytest.mark.long
def test_the_slow_rows_are_what_is_computed():
    assert len(SLOW) > 10
    compared(ITEMS)


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
    rows = [(ITEMS[0], line(ITEMS[0], Found("a|b*", "open")))]
    assert markdown(rows).splitlines()[-1].endswith(r"| a\|b\* | open |")


def test_the_published_pair_of_a_protocol_is_that_of_its_numbers():
    protocol = sd.BallsIntoBins(d=8, s=1, blankets=1)
    exact = sd.shuffle(protocol, n=200).epsilon(delta=1e-3)
    assert published(protocol, 200, 1e-3) == pytest.approx(exact.upper, rel=1e-5)
