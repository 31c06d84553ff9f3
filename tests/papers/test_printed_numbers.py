"""What is printed, and ours: the CSV is what is computed."""

import csv
import re
from pathlib import Path

import pytest
from papers.printed import ROWS
from papers.printed.rows import DELTA, down, number, up
from papers.printed.table import ALL, HEAD, line
from papers.printed.wang import delta_at, published

import shuffledp as sd

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
QUICK = [row for row in ROWS if not row.slow]


def kept():
    """The rows of the committed CSV."""
    with ALL.open(newline="", encoding="utf-8") as file:
        head, *found = csv.reader(file)
    assert tuple(head) == HEAD
    return list(map(tuple, found))


def test_no_row_is_left_out():
    assert len({row[:4] for row in ROWS}) == len(ROWS)
    for row, (*said, ours, verdict) in zip(ROWS, kept(), strict=True):
        assert said == list(row[:4])
        assert ours
        # Where there is no number of ours, the verdict is that there is none.
        assert verdict.startswith(("not ", "nothing ")) if ours == "-" else verdict


def test_the_page_says_how_many_hold():
    verdicts = [verdict for *_, verdict in kept()]
    assert sum(verdict.startswith(("does not", "open")) for verdict in verdicts) > 20
    holds = sum(verdict.startswith("holds") for verdict in verdicts)
    assert f"All {len(ROWS)} printed numbers, formulas and claims" in PAGE
    assert f"; {holds} hold." in PAGE


def compared(rows):
    found = {row[:4]: row for row in kept()}
    for row in rows:
        assert line(row) == found[row[:4]]


def test_delta_is_what_the_page_says_where_no_row_does():
    assert "Where no delta is said it is 1e-6" in PAGE
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
    (row,) = re.findall(rf"^\| {re.escape(setting)} \|.*$", PAGE, re.MULTILINE)
    assert row.strip("| ").split(" | ") == [setting, *made]


def test_the_rows_are_what_is_computed():
    compared(QUICK[::6])


@pytest.mark.long
def test_all_rows_are_what_is_computed():
    compared(ROWS)


def test_the_published_pair_of_a_protocol_is_that_of_its_numbers():
    protocol = sd.BallsIntoBins(d=8, s=1, blankets=1)
    exact = sd.shuffle(protocol, n=200).epsilon(delta=1e-3)
    assert published(protocol, 200, 1e-3) == pytest.approx(exact.upper, rel=1e-5)
