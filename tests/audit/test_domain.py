"""Values outside the domain: refused, hidden as well as others, or passed through."""

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from shuffledp.audit import AuditPlan, audit_domain, collected, outside_values
from shuffledp.errors import NotCertified, ParameterError

K = sd.KRR(k=10, eps0=1.0)
NOISE = sd.Laplace(eps0=1.0)


def taken(mechanism, program):
    plan = AuditPlan(randomizer=mechanism, reports=2_000)
    tally = collected(plan, programs.honest(mechanism))
    return audit_domain(program, plan, tally, alpha=0.01)


def test_our_own_refuse():
    for mechanism in (K, NOISE, sd.OUE(d=5, eps0=1.0), sd.DiscreteLaplace(top=4, eps0=1.0)):
        result = taken(mechanism, mechanism.randomize)
        assert result.verdict == "not refuted"
        assert result.refused == outside_values(result.plan)
        assert not result.findings


@pytest.mark.parametrize(
    ("mechanism", "program"),
    [
        (K, np.asarray),
        (NOISE, programs.numpy_laplace(1.0)),
        (K, lambda v: np.where(np.asarray(v) < 10, 0, 3)),
    ],
    ids=["passed through", "noise around it", "always the same"],
)
def test_what_is_passed_through_is_refuted(mechanism, program):
    result = taken(mechanism, program)
    assert result.verdict == "refuted"
    assert not result.refused
    assert "taken" in result.text()
    assert result.to_dict()["verdict"] == "refuted"


@pytest.mark.parametrize("mechanism", [K, NOISE], ids=["k-rr", "laplace"])
def test_values_that_are_clipped_first_are_not_refuted(mechanism):
    inner = programs.honest(mechanism, start=50)
    top = 9 if mechanism is K else 1.0
    result = taken(mechanism, lambda v: inner(np.clip(v, 0, top)))
    assert result.verdict == "not refuted"
    assert result.taken == outside_values(result.plan)


def test_mechanisms_of_other_values_want_to_be_told():
    plan = AuditPlan(randomizer=sd.GaussianBall(d=2, sigma=1.0), reports=200)
    with pytest.raises(NotCertified, match="has to be said"):
        outside_values(plan)
    tally = collected(plan, programs.honest(plan.randomizer))
    found = audit_domain(plan.randomizer.randomize, plan, tally, values=[[5.0, 0.0]])
    assert found.refused == ([5.0, 0.0],)
    with pytest.raises(ParameterError, match="alpha"):
        audit_domain(plan.randomizer.randomize, plan, tally, alpha=0.7)


def test_a_program_that_writes_nothing_refuses():
    """And one that writes some reports and not others answers what cannot be judged."""
    result = taken(K, lambda v: np.asarray(v)[:0])
    assert result.refused == outside_values(result.plan)
    assert result.to_dict()["tally"] == [None] * 3
    with pytest.raises(ParameterError, match="2,000 or none at all of the value 10"):
        taken(K, lambda v: np.zeros(len(v) // 2, dtype=np.int64))


@pytest.mark.parametrize("values", [(), (3,), (11, 9), (11, 11), (11, 11.0, 11)])
def test_values_that_are_not_outside_are_refused(values):
    plan = AuditPlan(randomizer=K, reports=200)
    tally = collected(plan, programs.honest(K))
    with pytest.raises(ParameterError, match="outside value"):
        audit_domain(K.randomize, plan, tally, values=values)
