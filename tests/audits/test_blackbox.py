"""Programs without a declared law: bounds by sample splitting."""

import numpy as np
import pytest

import shuffledp as sd
from audits import programs
from shuffledp.audits import AuditPlan, audit, limits


def bounded(program, pair, *, reports, alpha=0.05, claimed=None):
    plan = AuditPlan(inputs=pair, reports=reports, alpha=alpha, claimed=claimed)
    return audit(program, plan)


@pytest.mark.parametrize(
    ("mechanism", "pair", "least"),
    [
        (sd.KRR(k=10, eps0=1.0), (0, 1), 0.8),
        (sd.RAPPOR(d=6, eps0=2.0), (0, 1), 1.5),
        (sd.Laplace(eps0=1.0), (0.0, 1.0), 0.7),
        (sd.DiscreteLaplace(top=3, eps0=1.5), (0, 3), 1.3),
    ],
)
def test_bounds_are_below_what_runs_and_near_it(mechanism, pair, least):
    found = bounded(programs.honest(mechanism), pair, reports=30_000, alpha=1e-3)
    assert least < found.lower.lower <= mechanism.eps0
    assert found.verdict == "not refuted"


def test_a_claim_is_refuted_where_the_bound_is_above_it():
    program = programs.honest(sd.KRR(k=10, eps0=2.0))
    found = bounded(program, (0, 1), reports=10_000, alpha=1e-3, claimed=1.0)
    assert found.verdict == "refuted"
    honest = bounded(program, (0, 1), reports=10_000, alpha=1e-3, claimed=2.0)
    assert honest.verdict == "not refuted"


def test_reports_that_depend_on_each_other_are_refuted_without_any_claim():
    found = bounded(programs.remembers(sd.KRR(k=4, eps0=1.0), 0.3), (0, 1), reports=5_000)
    assert {f.kind for f in found.refutations} == {"independence"}


def test_bounds_are_wrong_no_more_often_than_the_level():
    """The event is chosen on other reports: many outputs to choose from do not help."""
    wrong = 0
    generator = np.random.default_rng(0)
    for _ in range(15):
        found = bounded(
            lambda v: generator.integers(0, 200, len(v)), (0, 1), reports=200, alpha=0.5
        )
        wrong += found.lower.lower > 0.0
    assert limits.upper_tail(wrong, 15, 0.5) > 1e-3
