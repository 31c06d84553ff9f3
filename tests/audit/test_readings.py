"""What is read off reports: every mechanism's claimed cells against the mechanism that runs."""

import itertools
import time

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from catalogue import CATALOGUE
from laws import law_of
from shuffledp.audit import AuditPlan, audit, collected, design, limits
from shuffledp.audit.readings import read, value_of
from shuffledp.errors import NotCertified, ParameterError
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


@pytest.mark.many(2)
@pytest.mark.parametrize(
    ("shape", "scale"), [(0.1, 1.0), (60.0, 1.0), (80.0, 1.0), (150.0, 0.01), (1000.0, 3.0)]
)
def test_honest_generalized_gaussian_noise_is_not_refuted(shape, scale):
    """Below a power of 1e-308 all noise was taken for none, beyond 1e9 scales for no farther."""
    mechanism = sd.GeneralizedGaussian(shape=shape, scale=scale)
    plan = AuditPlan(randomizer=mechanism, reports=50_000, alpha=1e-6)
    assert audit(programs.honest(mechanism), plan).verdict == "not refuted"


# ------------------------------------------------------------------------ many inputs, and which

MANY = tuple(range(32))


@pytest.mark.parametrize(
    ("mechanism", "inputs", "most"),
    [
        (sd.RAPPOR(d=40, eps0=1.0), MANY, 8),
        (sd.OUE(d=40, eps0=1.0), MANY, 8),
        (sd.SubsetSelection(d=40, eps0=1.0, k=5), MANY, 8),
        (sd.SamplingRAPPOR(d=8000, s=20, eps0=1.0), MANY, 8),
        (sd.PIRAPPOR(domain=40, q=3, eps0=1.0), MANY, 8),
        (sd.ProjectiveGeometry(domain=40, q=3, eps0=1.0), MANY, 8),
        (sd.OLH(domain=40, eps0=1.0), MANY, 3),
        (sd.Wheel(domain=80, s=2, eps0=1.0), MANY, 3),
        (sd.Hierarchy(domain=64, eps0=1.0), MANY, 8),
        (sd.PoissonSubsample(sd.RAPPOR(d=40, eps0=1.0), rate=0.5), MANY, 8),
        (sd.Joint((sd.KRR(k=40, eps0=1.0), sd.OUE(d=40, eps0=1.0))), [(x, x) for x in MANY], 8),
    ],
    ids=lambda m: getattr(m, "name", None),
)
def test_more_inputs_than_can_be_told_apart_are_refused_at_once(mechanism, inputs, most):
    """Each doubles the cells, and the classes of the law: 32 of them never ended."""
    start = time.process_time()
    with pytest.raises(ParameterError, match=rf"^inputs = \(.*: wanted at most {most} different"):
        design(AuditPlan(randomizer=mechanism, inputs=tuple(inputs)))
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize(
    "mechanism",
    [
        sd.HadamardResponse(domain=10**9, eps0=1.0),
        sd.PCKVGRR(domain=10**8, s=2, eps0=1.0),
        sd.KRR(k=10**9, eps0=20.0),
    ],
    ids=lambda m: m.name,
)
def test_a_large_domain_takes_no_large_table(mechanism):
    """Cells are classes of outputs: a file of 500 bytes asked for tens of gigabytes."""
    plan = AuditPlan(randomizer=mechanism, reports=500, alpha=1e-6)
    assert audit(programs.honest(mechanism), plan).verdict == "not refuted"


def test_a_part_may_have_the_same_value_in_many_records():
    """32 records of two attributes have three values of the second one."""
    mechanism = sd.Joint((sd.KRR(k=40, eps0=1.0), sd.OUE(d=40, eps0=1.0)))
    reading = read(mechanism, tuple((x, x % 3) for x in MANY))
    assert reading.mass.shape[0] == 32


def test_parts_of_many_patterns_are_not_multiplied():
    """The law of a report of four sets has 2^32 classes; its cells are 512 at most."""
    mechanism = sd.Joint((sd.RAPPOR(d=40, eps0=1.0),) * 4)
    assert len(read(mechanism, tuple((x,) * 4 for x in range(8))).names) <= 512


KEYS = [
    sd.PCKVGRR(domain=domain, s=s, eps0=1.3, padding=padding)
    for domain in range(1, 8)
    for s in range(1, domain + 1)
    for padding in (False, True)
]


@pytest.mark.parametrize("mechanism", KEYS, ids=repr)
def test_key_value_pairs_that_are_given_are_those_of_the_law(mechanism):
    """What the program is given for an input is what the law's input stands for."""
    inputs = (0, 1, 2)
    for x in inputs:
        value = value_of(mechanism, x)
        assert len(value) == mechanism.s
        mechanism.simulate([value], seed=0)
    found, law = read(mechanism, inputs).mass, law_of(mechanism, inputs).mass
    for (a, b), t in itertools.product(itertools.permutations(inputs, 2), (0.0, 0.5, 1.2)):
        own, wanted = (np.maximum(m[a] - np.exp(t) * m[b], 0.0).sum() for m in (found, law))
        assert own == pytest.approx(wanted, abs=1e-12)
