"""Coverage of all intervals at once: some settings at every run, all of them in the long tests."""

import csv
import math

import pytest

from protocol.coverage_cases import CASES, HEAD, REPETITIONS, TABLE, row

QUICK = [case for case in CASES if case.n <= 200 and case.kind != "normal"]
QUICK += [case for case in CASES if case.name in {"pure-dump", "subset"} and case.n <= 2000]


def least(repetitions):
    """0.95, less four standard deviations of what is measured."""
    return 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.many(2)
@pytest.mark.parametrize("case", QUICK, ids=lambda c: f"{c.name} {c.n}")
def test_all_at_once_are_covered(case):
    found = case.measured(repetitions=60)
    assert found.joint_coverage >= least(60)
    assert found.coverage >= least(60)


def kept():
    with TABLE.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == HEAD
    return rows


def test_every_case_has_its_row_and_every_interval_holds():
    rows = kept()
    shown = [[case.name, case.about, str(case.n), case.kind] for case in CASES]
    assert [one[:4] for one in rows] == shown
    assert all(float(value) >= least(REPETITIONS) for one in rows for value in one[4:])


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.name} {c.about} {c.n}")
def test_the_table_that_the_docs_name(case):
    """1,000 runs each, the same as in the file; exact intervals hold at least 0.95."""
    found = case.measured()
    assert row(case, found) in kept()
    assert found.joint_coverage >= least(REPETITIONS)
    if case.kind == "normal":
        assert found.joint_coverage <= 1.9 - least(REPETITIONS)
