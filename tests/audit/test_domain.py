"""Values outside the domain: refused, hidden as well as others, or passed through."""

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from shuffledp.audit import (
    AuditPlan,
    collected,
    outside_values,
    result_of,
    with_outside,
)
from shuffledp.errors import ParameterError

K = sd.KRR(k=10, eps0=1.0)
NOISE = sd.Laplace(eps0=1.0)


def taken(mechanism, program):
    return of_both(mechanism, programs.honest(mechanism), program)


def of_both(mechanism, inside, program, values=None, reports=2_000):
    """One program for the values of the domain, another one for others."""
    plan = AuditPlan(randomizer=mechanism, reports=reports, alpha=0.01)
    tally = with_outside(program, plan, collected(plan, inside), values=values)
    return result_of(plan, tally)


def refused(result):
    return tuple(value for value, counts in result.tally.outside if counts is None)


def outside_findings(result):
    values = {repr(value) for value, _ in result.tally.outside}
    return [f for f in result.findings if values & set(f.subject.split(" against "))]


def test_our_own_refuse():
    for mechanism in (K, NOISE, sd.OUE(d=5, eps0=1.0), sd.DiscreteLaplace(top=4, eps0=1.0)):
        result = taken(mechanism, mechanism.randomize)
        assert result.verdict == "not refuted"
        assert refused(result) == outside_values(result.plan)
        assert not outside_findings(result)


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
    assert not refused(result)
    assert any(words.startswith("Taken, though") for words in result.said)


@pytest.mark.parametrize("mechanism", [K, NOISE], ids=["k-rr", "laplace"])
def test_values_that_are_clipped_first_are_not_refuted(mechanism):
    inner = programs.honest(mechanism, start=50)
    top = 9 if mechanism is K else 1.0
    result = taken(mechanism, lambda v: inner(np.clip(v, 0, top)))
    assert result.verdict == "not refuted"
    assert not refused(result)
    assert outside_findings(result)


def test_a_program_that_writes_nothing_refuses():
    """And one that writes some reports and not others answers what cannot be judged."""
    result = taken(K, lambda v: np.asarray(v)[:0])
    assert refused(result) == outside_values(result.plan)
    assert result.to_dict()["tally"]["outside"] == [[v, None] for v in refused(result)]
    with pytest.raises(ParameterError, match="2,000 or none at all of the value 10"):
        taken(K, lambda v: np.zeros(len(v) // 2, dtype=np.int64))
