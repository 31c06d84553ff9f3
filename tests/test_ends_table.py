"""The tables of docs/ends-that-meet.md are those that ``make figures`` makes."""

import re
from pathlib import Path

import pytest
from bench import ends_meet

import shuffledp as sd

TEXT = (Path(__file__).parents[1] / "docs" / "ends-that-meet.md").read_text(encoding="utf-8")
# Quick to make again: mechanisms with few outputs.
QUICK = {"k-rr 4", "oue 2", "any 2-LDP mechanism"}


def printed(name):
    """Rows of one block of the page, cells without spaces around."""
    found = re.search(ends_meet.BLOCK.format(name), TEXT, re.DOTALL)
    assert found is not None
    lines = [line for line in found[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def large_table():
    """{title: cells} of the large table."""
    head, _, *rows = printed("table")
    assert head[1:] == ["n = 1e4", "n = 1e6"]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.long
def test_rounds_made_again():
    rows = printed("rounds")[2:]
    accounts = {
        "any 2-LDP mechanism": sd.generic(eps0=2.0, n=10_000),
        "binary-rr 2": sd.shuffle(sd.BinaryRR(eps0=2.0), n=10_000),
        "hybrid 2": sd.shuffle(sd.Hybrid(eps0=2.0), n=10_000),
    }
    assert [row[0] for row in rows] == list(accounts)
    for (_, *cells), account in zip(rows, accounts.values(), strict=True):
        exact = account.compose(rounds=4).epsilon(delta=1e-6)
        assert cells == [f"{end:.4f}" for end in (exact.lower, exact.upper)]


def test_every_row_is_there_and_no_other():
    """So that no row is edited in, or left from an older script."""
    found = large_table()
    assert list(found) == [row.title for row in ends_meet.rows()]
    assert all(len(cells) == len(ends_meet.USERS) for cells in found.values())
    few = printed("few")[2:]
    assert [row[1] for row in few] == [f"{n:,}" for _, n, _ in ends_meet.FEW]
    assert [float(row[2]) for row in few] == [delta for _, _, delta in ends_meet.FEW]


def test_no_upper_end_is_above_what_it_was_before():
    cells = [cell for row in large_table().values() for cell in row]
    for cell in (*cells, *(row[3] for row in printed("few")[2:])):
        now, before = re.fullmatch(r"[\d.e-]+, ([\d.e+-]+) \(([\d.e+-]+)\)", cell).groups()
        assert 0.0 <= float(now) <= float(before)


@pytest.mark.parametrize("row", [row for row in ends_meet.rows() if row.title in QUICK])
def test_some_cells_made_again(row):
    made = ends_meet.cell(row.account(10**4), ends_meet.DELTA, row.before)
    assert made == large_table()[row.title][0]


@pytest.mark.long
@pytest.mark.parametrize("row", ends_meet.rows(), ids=lambda row: row.title)
def test_all_cells_made_again(row):
    made = [ends_meet.cell(row.account(n), ends_meet.DELTA, row.before) for n in ends_meet.USERS]
    assert made == large_table()[row.title]


@pytest.mark.long
@pytest.mark.parametrize("place", range(len(ends_meet.FEW)))
def test_what_is_apart_made_again(place):
    cells = printed("few")[2:][place]
    assert "| " + " | ".join(cells) + " |" == ends_meet.few_line(*ends_meet.FEW[place])
