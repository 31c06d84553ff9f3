"""Coverage of all intervals at once: some settings at every run, all of them in the long tests."""

import math
from pathlib import Path

import pytest

from protocol.coverage_cases import CASES, REPETITIONS, row

GUIDE = Path(__file__).parents[2] / "docs/guide.md"
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


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.name} {c.about} {c.n}")
def test_the_table_of_the_guide(case):
    """1,000 runs each, the same as in the guide; exact intervals hold at least 0.95."""
    found = case.measured()
    assert row(case, found) in GUIDE.read_text(encoding="utf-8").splitlines()
    assert found.joint_coverage >= least(REPETITIONS)
    if case.kind == "normal":
        assert found.joint_coverage <= 1.9 - least(REPETITIONS)
