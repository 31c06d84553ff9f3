"""What is read off reports: every mechanism's claimed cells against the mechanism that runs."""

import itertools

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from catalogue import CATALOGUE
from randomizers.test_whole_sums import heavy
from shuffledp.audit import AuditPlan, audit, collected, design, limits
from shuffledp.audit.readings import read, readable, value_of
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.randomizers import randomizer_class, randomizer_names

MECHANISMS = [mechanism for entry in CATALOGUE.values() for mechanism in entry.audited]


def test_every_mechanism_of_the_package_can_be_audited():
    here = {type(m) for m in MECHANISMS}
    assert {randomizer_class(name) for name in randomizer_names()} == here
    assert all(readable(m) for m in MECHANISMS)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}")
def test_what_runs_has_the_claimed_cells(mechanism):
    """20,000 simulated reports under each input: no cell refuted at 1e-6, none outside."""
    plan = AuditPlan(randomizer=mechanism, reports=20_000, inputs=mechanism.datasets()[0][:2])
    found = design(plan)
    seeds = itertools.count()
    tally = collected(plan, lambda values: mechanism.simulate(values, seed=next(seeds)))
    assert (tally.counts[:, -1] == 0).all()
    for i in range(2):
        low, high = found.reading.low[i], found.reading.high[i]
        assert limits.multinomial(tally.counts[i, :-1], low, high) > 1e-6


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}")
def test_claimed_cells_are_consistent_with_the_certified_law(mechanism):
    """Merging cells never tells two inputs apart better than the certified law of all outputs."""
    x0, x1 = mechanism.datasets()[0][:2]
    reading = read(mechanism, (x0, x1), 10_000)
    assert (reading.low <= reading.mass).all()
    assert (reading.mass <= reading.high).all()
    try:
        law = mechanism.law((x0, x1))
    except NotCertified:
        return  # parts with continuous outputs have no law of their own: they are read part by part
    for t in (0.0, 0.3, 1.0):
        for a, b in ((0, 1), (1, 0)):
            grow = np.exp(t)
            coarse = np.maximum(reading.mass[a] - grow * reading.mass[b], 0.0).sum()
            fine = np.maximum(law.mass[a] - grow * law.mass[b], 0.0).sum()
            # What is run differs from the stated law by its lattice, and cells of a law are cells.
            assert coarse <= fine + 1e-4


@pytest.mark.parametrize(
    ("mechanism", "reports"),
    [
        (sd.KRR(k=4, eps0=1.0), np.array([0, 4, 1, 3])),
        (sd.KRR(k=4, eps0=1.0), np.array([0.0, 1.5, 2.0, 3.0])),
        (sd.KRR(k=4, eps0=1.0), np.array([0.0, np.nan, 2.0, 3.0])),
        (sd.RAPPOR(d=4, eps0=1.0), np.array([[16], [1], [32], [240]], dtype=np.uint8)),
        (sd.SubsetSelection(d=9, eps0=1.0, k=2), np.array([[1, 2], [3, 3], [0, 8], [2, 5]])),
        (sd.OLH(domain=4, eps0=1.0), np.array([[0, 1, 1], [9, 0, 0], [1, 1, 1], [0, 0, 0]])),
        (sd.PIRAPPOR(domain=3, q=3, eps0=1.0), np.array([[0, 1], [1, 3], [2, 2], [0, 0]])),
        (sd.ProjectiveGeometry(domain=3, q=2, eps0=1.0), np.array([0, 3, 2, 1])),
        (sd.ClampedLaplace(eps0=1.0), np.array([0.0, 1.1, 0.5, 1.0])),
        (sd.Laplace(eps0=1.0), np.array([0.0, np.inf, 0.5, 1.0])),
        (sd.DiscreteLaplace(top=5, eps0=1.0), np.array([0.0, 0.5, 2.0, 1.0])),
        (
            sd.PrivUnit(d=2, eps0=1.0, c=0.5),
            np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
        ),
        (sd.GaussianBall(d=2, sigma=1.0), np.array([[1.0, 0.0], [np.nan, 0.0], [0, 1], [-1, 0]])),
    ],
)
def test_reports_outside_the_message_space_are_seen(mechanism, reports):
    reading = read(mechanism, mechanism.datasets()[0][:2], 1000)
    labels = reading.classify(reports)
    assert (labels == len(reading.names)).tolist() == [False, True, False, False]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}")
def test_reports_of_another_shape_are_outside(mechanism):
    reading = read(mechanism, mechanism.datasets()[0][:2], 1000)
    if isinstance(mechanism, sd.Joint | sd.Parallel | sd.Hierarchy | sd.PoissonSubsample):
        return  # structured arrays: a callable that returns another type is an error, not a report
    labels = reading.classify(np.zeros((3, 77), dtype=np.float32))
    assert (labels == len(reading.names)).all()


def test_large_domains_have_cells_for_the_inputs():
    reading = read(sd.KRR(k=10**9, eps0=20.0), (0, 5), 1000)
    assert reading.classify(np.array([0, 5, 7, 10**9])).tolist() == [0, 1, 2, 3]
    assert reading.mass.sum(axis=1) == pytest.approx([1.0, 1.0])


def test_values_are_what_randomize_takes():
    for mechanism in MECHANISMS:
        for x in mechanism.datasets()[0][:2]:
            value = value_of(mechanism, x)
            assert len(mechanism.simulate([value, value], seed=0)) == 2


@pytest.mark.parametrize(
    ("mechanism", "inputs"),
    [
        (sd.KRR(k=4, eps0=1.0), ("a", "b")),
        (sd.KRR(k=4, eps0=1.0), (0.5, 1)),
        (sd.KRR(k=4, eps0=1.0), (0, 99)),
        (sd.KRR(k=4, eps0=1.0), (0, -1)),
        (sd.Laplace(eps0=1.0), ("a", "b")),
        (sd.PCKVGRR(domain=5, s=2, eps0=1.0), (None, 1)),
    ],
)
def test_inputs_of_another_mechanism_are_refused_by_name(mechanism, inputs):
    with pytest.raises(ParameterError, match="input"):
        design(AuditPlan(randomizer=mechanism, inputs=inputs))
    with pytest.raises(ParameterError, match="randomizer"):
        AuditPlan(randomizer=3)


@pytest.mark.parametrize(
    "mechanism",
    [
        *(sd.GeneralizedGaussian(shape=b, scale=1.0) for b in (1 / 32, 0.1, 1000.0)),
        sd.Staircase(eps0=1e-6),
        heavy(eps0=1.04),
    ],
    ids=repr,
)
def test_heavy_and_flat_noise_is_read_as_it_is_sent(mechanism):
    """Quantiles far beyond 1e9 scales, powers below the floats, cells that are coarse far out."""
    plan = AuditPlan(randomizer=mechanism, reports=20_000, alpha=1e-6)
    assert audit(programs.honest(mechanism), plan).verdict == "not refuted"
