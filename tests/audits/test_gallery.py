"""Faulty programs are found, at the stated sample size and level; honest ones are left alone."""

import numpy as np
import pytest

import shuffledp as sd
from audits import programs
from shuffledp.audits import AuditPlan, audit, collected, design, limits, result_of

K = sd.KRR(k=10, eps0=1.0)
NOISE = sd.Laplace(eps0=1.0)

# name, claimed mechanism, program, reports under each input, kind of what is refuted
GALLERY = {
    "the same seed in every call": (K, lambda: programs.seed_again(K), 2_000, "independence"),
    "few seeds, two reports each": (K, lambda: programs.seed_per_report(K), 100, "independence"),
    "wrong k": (K, lambda: programs.honest(sd.KRR(k=8, eps0=1.0)), 2_000, "law"),
    "wrong eps0": (K, lambda: programs.honest(sd.KRR(k=10, eps0=1.1)), 20_000, "law"),
    "eps0 in bits": (K, lambda: programs.bits_for_nats(K, eps0=1.0), 3_000, "law"),
    "eps0 in nats, claimed in bits": (K, lambda: programs.nats_for_bits(K, eps0=1.0), 3_000, "law"),
    "items that nobody audits, 7 for 6": (K, lambda: programs.favours_item(K, 7, 6), 500, "law"),
    "Laplace in floating point": (NOISE, lambda: programs.numpy_laplace(1.0), 1_000, "guarantee"),
    "truncated noise": (NOISE, lambda: programs.truncated_laplace(1.0, 3.0), 3_000, "law"),
    "noise on a grid": (NOISE, lambda: programs.grid_laplace(1.0, 10), 1_000, "guarantee"),
    "noise on a fine grid": (NOISE, lambda: programs.grid_laplace(1.0, 40), 1_000, "guarantee"),
    "noise on a coarse grid": (NOISE, lambda: programs.grid_laplace(1.0, 1), 1_000, "law"),
    "clipped after the noise": (NOISE, lambda: programs.clipped_after(NOISE), 500, "law"),
    "scale for half the sensitivity": (NOISE, lambda: programs.numpy_laplace(0.5), 500, "law"),
    "scale for twice the sensitivity": (NOISE, lambda: programs.numpy_laplace(2.0), 500, "law"),
    "one hash function for all": (
        sd.OLH(domain=16, eps0=1.0),
        lambda: programs.constant_hash(sd.OLH(domain=16, eps0=1.0)),
        500,
        "law",
    ),
    "reports repeated": (K, lambda: programs.remembers(K, 0.1), 10_000, "independence"),
    "the value before": (K, lambda: programs.carries_over(K, 0.3), 5_000, "independence"),
    "the truth, 1 in 100": (
        sd.RAPPOR(d=8, eps0=1.0),
        lambda: _rappor_truth(sd.RAPPOR(d=8, eps0=1.0), 0.01),
        50_000,
        "law",
    ),
    "the truth, 2 in 100": (K, lambda: programs.sometimes_the_truth(K, 0.02), 20_000, "law"),
    "a value passed through": (K, lambda: programs.passes_outside(K), 200, "law"),
    "Gaussian noise for another sigma": (
        sd.Gaussian(sigma=2.0),
        lambda: programs.honest(sd.Gaussian(sigma=1.8)),
        5_000,
        "law",
    ),
    "bits of one item never set": (
        sd.OUE(d=8, eps0=1.0),
        lambda: _without_last_bit(sd.OUE(d=8, eps0=1.0)),
        300,
        "law",
    ),
}


def _rappor_truth(mechanism, share):
    inner, generator = programs.honest(mechanism), np.random.default_rng(0)

    def program(values):
        bare = generator.random(len(values)) < share
        one = np.packbits(np.eye(mechanism.d, dtype=np.uint8)[np.asarray(values)], axis=1)
        return np.where(bare[:, None], one, inner(values))

    return program


def _without_last_bit(mechanism):
    inner = programs.honest(mechanism)
    return lambda values: inner(values) & np.uint8(254)


@pytest.mark.parametrize("fault", GALLERY)
def test_faults_are_found(fault):
    claimed, program, reports, kind = GALLERY[fault]
    result = audit(program(), AuditPlan(randomizer=claimed, reports=reports, alpha=0.01))
    assert result.verdict == "refuted"
    assert kind in {finding.kind for finding in result.refutations}


@pytest.mark.many(8)
@pytest.mark.parametrize("fault", GALLERY)
def test_the_same_claims_are_not_refuted_of_honest_programs(fault):
    claimed, _, reports, _ = GALLERY[fault]
    plan = AuditPlan(randomizer=claimed, reports=min(reports, 5_000), alpha=0.01)
    assert audit(programs.honest(claimed, start=100), plan).verdict == "not refuted"


@pytest.mark.parametrize(
    ("claimed", "alpha", "repeats"),
    [
        (K, 0.5, 30),
        (NOISE, 0.5, 20),
        pytest.param(K, 0.05, 1000, marks=pytest.mark.long),
        pytest.param(NOISE, 0.05, 1000, marks=pytest.mark.long),
        pytest.param(sd.OUE(d=4, eps0=1.0), 0.05, 1000, marks=pytest.mark.long),
    ],
)
def test_honest_programs_are_refuted_no_more_often_than_the_level(claimed, alpha, repeats):
    """Of few audits a large level: one that is exceeded shows all the same."""
    plan = AuditPlan(randomizer=claimed, reports=300, alpha=alpha)
    found = design(plan)
    refuted = 0
    for r in range(repeats):
        tally = collected(plan, programs.honest(claimed, start=1000 * r), found=found)
        refuted += result_of(plan, tally, found=found).verdict == "refuted"
    assert limits.upper_tail(refuted, repeats, alpha) > 1e-3
