"""What is claimed of each pair of inputs: that of neighbours only of neighbours."""

import itertools

import pytest

import shuffledp as sd
from audits import programs
from shuffledp.audits import AuditPlan, audit, design

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
    first = result.bounds[0]
    assert first.claimed == pytest.approx(claimed, rel=1e-6)
    assert first.lower <= first.claimed


WIDE = sd.MetricLaplace(scale=0.25, low=0.0, high=1.0, distance=0.1)
THREE = sd.Joint((sd.BinaryRR(eps0=2.0),) * 3, hamming=1)


def audited(mechanism, inputs, *, n, reports=20_000):
    plan = AuditPlan(
        randomizer=mechanism, inputs=inputs, n=n, reports=reports, alpha=1e-6, deltas=(1e-6,)
    )
    return audit(programs.honest(mechanism), plan)


@pytest.mark.many(2)
@pytest.mark.parametrize(
    ("mechanism", "inputs", "n", "reports"),
    [
        (WIDE, (0.0, 1.0), 10_000, 20_000),
        (WIDE, (1.0, 0.0, 0.5), 10_000, 20_000),
        (THREE, ((0, 0, 0), (1, 1, 1)), 3_000, 100_000),
        (sd.PoissonSubsample(WIDE, rate=0.9), (0.0, 1.0), 10_000, 20_000),
    ],
)
def test_values_that_are_no_neighbours_are_not_lifted(mechanism, inputs, n, reports):
    """The bound of far values was held against the certified end of near ones, and was above it."""
    result = audited(mechanism, inputs, n=n, reports=reports)
    assert result.verdict == "not refuted"
    assert not any(pair.neighbours for pair in design(result.plan).pairs)
    assert [entry.pair for entry in result.central] == [None]
    assert any("known to be neighbours" in words for words in result.said)


@pytest.mark.parametrize("far_first", [False, True])
def test_neighbours_among_others_are_lifted_and_named(far_first):
    """Wherever the mechanism's worst pair stands, after shuffling the bounds are of it alone."""
    near = WIDE.datasets()[0][:2]
    inputs = (0.0, *near) if far_first else (*near, 0.0)
    result = audited(WIDE, inputs, n=1_000, reports=200_000)
    assert result.verdict == "not refuted"
    known = [pair.pair for pair in design(result.plan).pairs if pair.neighbours]
    assert {tuple(inputs[i] for i in pair) for pair in known} == {near, near[::-1]}
    entry = result.central[0]
    assert entry.pair in {near, near[::-1]}
    assert 0.0 < entry.lower <= entry.claimed
    names = " and ".join(sorted(map(repr, near)))
    assert any(f"one user who changes between {names}." in words for words in result.said)
