"""The numbers of docs/audits.md: those of the committed measurements, or made again here."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from bench import audit_bounds

from audit.test_gallery import GALLERY
from shuffledp.audit import limits
from shuffledp.audit.tally import LOW_BITS

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "audits.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("|")
]


def table(name):
    with (DOCS / "figures" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_other_packages_are_those_that_were_measured():
    keys = ("package", "version", "mechanism", "verdict", "lower", "claimed_eps")
    measured = [[row[key] for key in keys] for row in table("audit_others.csv")]
    for row in measured:
        row[2] = f"`{row[2]}`"
        assert row in ROWS
    assert sum(row[0] in {"pure-ldp", "multi-freq-ldpy", "opendp"} for row in ROWS) == len(measured)


def down(value, digits):
    return f"{np.floor(float(value) * 10**digits) / 10**digits:.{digits}f}"


def test_bounds_are_at_least_as_tight_as_those_of_ldp_auditors_method():
    rows = table("audit_bounds.csv")
    assert len(rows) == 6 * 2 * 8
    for row in rows:
        assert float(row["ours"]) >= float(row["ldp_auditor_method"])
        assert float(row["ours"]) < float(row["eps0"])
    shown = [row for row in ROWS if row[0] in audit_bounds.PROTOCOLS]
    assert len(shown) == 12
    for row in rows:
        if row["k"] == "200" and row["eps0"] in {"1", "4"}:
            numbers = [down(row[key], 3) for key in ("ldp_auditor_method", "ours")]
            assert [row["protocol"], row["k"], row["eps0"], *numbers] in shown


@pytest.mark.parametrize("protocol", audit_bounds.PROTOCOLS)
def test_bounds_beside_ldp_auditor_are_made_as_the_page_says(protocol):
    for row in table("audit_bounds.csv"):
        if row["protocol"] == protocol and row["k"] == "25" and row["eps0"] in {"1", "4"}:
            k, eps = int(row["k"]), float(row["eps0"])
            chances = audit_bounds.attack(protocol, k, eps)
            theirs = audit_bounds.expected(*chances, audit_bounds.TRIALS, audit_bounds.LEVEL, 0.5)
            claimed = audit_bounds.mechanism(protocol, k, eps)
            ours = audit_bounds.bound_of(claimed, audit_bounds.TRIALS, audit_bounds.LEVEL)
            numbers = [float(row[key]) for key in ("ldp_auditor_method", "ours")]
            assert [theirs, ours] == pytest.approx(numbers, abs=1e-6)


def test_bounds_beside_dp_sniper():
    made = {name: numbers for name, *numbers in audit_bounds.sniper_rows()}
    for row in table("audit_sniper.csv"):
        numbers = [float(v) for key, v in row.items() if key != "case"]
        assert numbers == pytest.approx(made[row["case"]], abs=1e-6)
        regression, network, theirs, ours = numbers
        assert ours >= theirs
        shown = [f"{regression:.4f}", f"{network:.4f}", down(theirs, 4), down(ours, 4)]
        assert [row["case"], *shown] in ROWS
    assert f"publishes {audit_bounds.SNIPER_FLOATS:.4f} at eps" in TEXT


def test_the_bound_on_floating_point_noise_follows_from_its_counts():
    n = audit_bounds.SNIPER_REPORTS
    level = audit_bounds.SNIPER_LEVEL / (2 * len(LOW_BITS))
    bound = limits.Ratio(5_816_844, n, 0, n, 0.5).epsilon(level)
    assert f"**{down(bound, 2)}**" in TEXT
    assert "5,816,844" in TEXT


def test_the_gallery_is_as_large_as_the_page_says():
    count = int(re.search(r"test_gallery.py` has (\d+) of them", TEXT).group(1))
    assert count == len(GALLERY)
    sizes = [reports for _, _, reports, _ in GALLERY.values()]
    assert f"({min(sizes)} to {max(sizes):,})" in TEXT
