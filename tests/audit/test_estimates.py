"""Bias and coverage of estimates from a program's reports."""

import pytest

import shuffledp as sd
from audit import programs
from shuffledp.audit import AuditPlan, EstimatesPlan, audit_estimates
from shuffledp.errors import NotCertified, ParameterError

MECHANISMS = [
    sd.KRR(k=5, eps0=1.0),
    sd.OUE(d=5, eps0=1.0),
    sd.OLH(domain=8, eps0=1.0),
    sd.Laplace(eps0=1.0),
    sd.Duchi(eps0=1.0),
    sd.GaussianBall(d=2, sigma=1.0),
    sd.SamplingRAPPOR(d=8, s=2, eps0=2.0),
    sd.PCKVGRR(domain=6, s=2, eps0=2.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_honest_programs_are_unbiased_and_covered(mechanism):
    plan = EstimatesPlan(audit=AuditPlan(randomizer=mechanism), batches=25, users=300, alpha=1e-4)
    result = audit_estimates(programs.honest(mechanism), plan)
    assert result.verdict == "not refuted"
    for quantity in result.quantities:
        assert abs(quantity.mean - quantity.truth) <= 5.0 * quantity.spread / 5.0
        assert quantity.misses <= 8
    assert "intervals that miss" in result.text()


def test_what_is_run_is_less_accurate_than_what_is_claimed():
    claimed = sd.KRR(k=5, eps0=1.0)
    plan = EstimatesPlan(audit=AuditPlan(randomizer=claimed), batches=25, users=2_000, alpha=1e-4)
    result = audit_estimates(programs.honest(sd.KRR(k=5, eps0=0.5)), plan)
    assert result.exact
    assert result.verdict == "refuted"
    assert result.to_dict()["verdict"] == "refuted"
    biased = result.quantities[0]
    assert abs(biased.mean - biased.truth) > 5.0 * biased.spread / 5.0


def test_what_cannot_be_estimated_is_said():
    joint = sd.Joint([sd.KRR(k=3, eps0=1.0), sd.KRR(k=3, eps0=1.0)])
    plan = EstimatesPlan(audit=AuditPlan(randomizer=joint))
    with pytest.raises(NotCertified, match="several attributes"):
        audit_estimates(programs.honest(joint), plan)
    for argument, value in (("batches", 2), ("users", 0), ("confidence", 1.0), ("alpha", 0.9)):
        with pytest.raises(ParameterError, match=argument):
            EstimatesPlan(audit=plan.audit, **{argument: value})
