"""The numbers of docs/audits.md: those of the committed measurements, or made again here."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from bench import audit_power

import shuffledp as sd
from audit.test_gallery import GALLERY
from shuffledp.audit import limits

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


def test_measured_levels_are_at_most_what_the_binomial_allows():
    for row in table("audit_level.csv"):
        audits, refuted = int(row["audits"]), int(row["refuted"])
        assert audits == 1000
        assert limits.upper_tail(refuted, audits, float(row["alpha"])) > 0.05
        assert [row["mechanism"], "1,000", str(refuted), "50"] in ROWS


def test_measured_power_is_no_less_than_that_of_the_best_single_test():
    rows = table("audit_power.csv")
    assert len({row["fault"] for row in rows}) == 5
    for row in rows:
        audits, refuted = int(row["audits"]), int(row["refuted"])
        # One of 35 points may be unlucky at 1 in 20; at 1 in 1000 none is.
        assert limits.upper_limit(refuted, audits, 1e-3) >= float(row["best_single_test"])
        assert f"{audits} audits each" in TEXT
    assert all(int(r["refuted"]) == int(r["audits"]) for r in rows if r["reports"] == "20000")


@pytest.mark.parametrize(
    ("words", "mechanism"),
    [
        ("k-rr, k = 25", sd.KRR(k=25, eps0=1.0)),
        ("k-rr, k = 25", sd.KRR(k=25, eps0=4.0)),
        ("rappor, d = 25", sd.RAPPOR(d=25, eps0=1.0)),
        ("oue, d = 25", sd.OUE(d=25, eps0=1.0)),
        ("subset, d = 25", sd.SubsetSelection(d=25, eps0=1.0)),
        ("olh, 25", sd.OLH(domain=25, eps0=1.0)),
    ],
)
def test_bounds_at_the_size_of_ldp_auditor(words, mechanism):
    found = [audit_power.bound_only(mechanism, *audit_power.AUDITOR, seed) for seed in range(21)]
    ours, even, _ = np.median(found, axis=0)
    numbers = [f"{np.floor(v * 1000) / 1000:.3f}" for v in (ours, even)]
    assert [words, f"{mechanism.eps0:g}", *numbers] in ROWS
    assert ours >= even


def test_bound_beside_dp_sniper():
    mechanism, reports, alpha, theirs = audit_power.SNIPER["laplace, eps 0.1"]
    ours = np.median([audit_power.bound_only(mechanism, reports, alpha, s)[0] for s in range(21)])
    assert f"ours {np.floor(ours * 1e4) / 1e4:.4f}" in TEXT
    assert f"theirs {theirs:.4f}" in TEXT
    assert ours > theirs


def test_the_gallery_is_as_large_as_the_page_says():
    count = int(re.search(r"test_gallery.py` has (\d+) of them", TEXT).group(1))
    assert count == len(GALLERY)
    sizes = [reports for _, _, reports, _ in GALLERY.values()]
    assert f"({min(sizes)} to {max(sizes):,})" in TEXT
