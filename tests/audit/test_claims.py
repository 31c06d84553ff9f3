"""What is claimed of each pair of inputs: that of neighbours only of neighbours."""

import itertools

import pytest

import shuffledp as sd
from shuffledp.audit import AuditPlan, audit
from shuffledp.errors import ParameterError

HOURS = sd.MetricLaplace(scale=6.0, low=0.0, high=24.0, distance=2.0)
TWO = sd.Joint((sd.KRR(k=2, eps0=2.0),) * 2, hamming=1)


@pytest.mark.parametrize(
    ("mechanism", "inputs", "claimed"),
    [
        (HOURS, (0.0, 24.0), 4.0),
        (HOURS, (24.0, 22.0, 0.0), 2.0 / 6.0),
        (TWO, ((0, 0), (1, 1)), 4.0),
        (TWO, ((0, 0), (1, 0)), 2.0),
        (sd.KRR(k=4, eps0=1.0), (3, 1), 1.0),
    ],
)
def test_an_honest_program_is_not_refuted_whatever_inputs_are_asked_for(mechanism, inputs, claimed):
    """Two values that are no neighbours were held to what is claimed of neighbours."""
    seeds = itertools.count()
    plan = AuditPlan(randomizer=mechanism, reports=5000, alpha=1e-6, inputs=inputs)
    result = audit(lambda values: mechanism.simulate(values, seed=next(seeds)), plan)
    assert result.verdict != "refuted"
    first = result.pairs[0]
    assert first.claimed == pytest.approx(claimed, rel=1e-6)
    assert first.lower <= first.claimed


def test_values_of_which_nothing_is_claimed_are_refused():
    """No pure guarantee, and only values at most a distance apart are neighbours."""
    parts = (sd.Gaussian(sigma=1.0), sd.Gaussian(sigma=1.0))
    mechanism = sd.Joint(parts, hamming=1)
    AuditPlan(randomizer=mechanism, inputs=((0.0, 0.0), (1.0, 0.0)))
    with pytest.raises(ParameterError, match=r"inputs.*worst pair"):
        AuditPlan(randomizer=mechanism, inputs=((0.0, 0.0), (1.0, 1.0)))
