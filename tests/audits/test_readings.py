"""What is read off reports: every mechanism's claimed cells against the mechanism that runs."""

import itertools

import numpy as np
import pytest

import shuffledp as sd
from catalogue import CATALOGUE
from shuffledp.audits import AuditPlan, collected, design, limits
from shuffledp.audits.readings import read
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import midpoints
from shuffledp.mechanism.base import mechanism_class
from shuffledp.randomizers import randomizer_names

MECHANISMS = [mechanism for entry in CATALOGUE.values() for mechanism in entry.audited]


def test_every_mechanism_of_the_package_can_be_audited():
    here = {type(m) for m in MECHANISMS}
    assert {mechanism_class(name) for name in randomizer_names()} == here


@pytest.mark.many(8)
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


@pytest.mark.many(20)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}")
def test_claimed_cells_are_consistent_with_the_certified_law(mechanism):
    """Merging cells never tells two inputs apart better than the certified law of all outputs."""
    x0, x1 = mechanism.datasets()[0][:2]
    reading = read(mechanism, (x0, x1))
    assert (reading.low <= reading.mass).all()
    assert (reading.mass <= reading.high).all()
    try:
        # Of three inputs: the blanket of vectors at a distance is not known.
        law = midpoints(mechanism, (x0, x1, x0))
        rows = law.first, law.second
    except NotCertified:
        return  # parts with continuous outputs have no law of their own: they are read part by part
    for t in (0.0, 0.3, 1.0):
        for a, b in ((0, 1), (1, 0)):
            grow = np.exp(t)
            coarse = np.maximum(reading.mass[a] - grow * reading.mass[b], 0.0).sum()
            fine = np.maximum(rows[a] - grow * rows[b], 0.0).sum()
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
    reading = read(mechanism, mechanism.datasets()[0][:2])
    labels = reading.classify(reports)
    assert (labels == len(reading.names)).tolist() == [False, True, False, False]
