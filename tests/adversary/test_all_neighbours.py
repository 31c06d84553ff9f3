"""Certified ends against ALL pairs of neighbouring datasets of small mechanisms, exactly.

The channels are written from the mechanisms' definitions (`channels`), the divergences are exact
(`neighbours`): no theorem, no law, no worst pair of the package is used. Every analysis that
applies is asked, for delta and for epsilon. The long version has more users and mechanisms.
"""

import math
import random
from fractions import Fraction

import pytest

import shuffledp as sd
from adversary import cases
from adversary.channels import rows_of
from adversary.neighbours import Neighbours
from adversary.relations import pairs_of

pytestmark = pytest.mark.usefixtures("rough_proposals")
NAMES = (*cases.SINGLE, *cases.COMPOSED)
CERTIFIED = [None, *(a.key for a in sd.analyses() if a.end in {"upper", "lower"})]
# The best of all, and what it is often made of.
FEW = [None, "blanket"]
QUICK = [None, *(a.key for a in sd.analyses() if a.end in {"upper", "lower"} and not a.slow)]


def bounds(ask, analyses, **at):
    """(name, bound) of the analyses that apply."""
    found = ((name, applied(ask, analysis=name, **at)) for name in analyses)
    return [(name, bound) for name, bound in found if bound is not None]


def applied(ask, **at):
    try:
        return ask(**at)
    except sd.NotCertified:
        return None


def check(mechanism, rows, n, rng, analyses):
    """Check both ends of delta and of epsilon; returns how many bounds were looked at."""
    datasets = Neighbours(rows, n, pairs_of(mechanism, mechanism.relation.to_dict()))
    accountant = sd.shuffle(mechanism, n=n)
    reach = min(accountant.eps0, 8.0)
    count = 0
    for epsilon in (0.0, rng.uniform(0.0, 0.3), rng.uniform(0.0, reach), 0.98 * reach):
        most, least = datasets.worst(epsilon)
        for name, bound in bounds(accountant.delta, analyses, epsilon=epsilon):
            assert bound.relation == mechanism.relation
            assert Fraction(bound.upper) >= most, (name, epsilon, mechanism)
            assert Fraction(bound.lower) <= least, (name, epsilon, mechanism)
            count += 1
    for delta in (rng.choice((0.3, 0.1, 1e-2)), rng.choice((1e-3, 1e-6, 1e-12))):
        for name, bound in bounds(accountant.epsilon, analyses, delta=delta):
            assert bound.relation == mechanism.relation
            if bound.upper < 60.0:
                assert datasets.worst(bound.upper)[1] <= Fraction(delta), (name, delta, mechanism)
            if 0.0 < bound.lower < 60.0:
                assert datasets.worst(bound.lower)[0] >= Fraction(delta), (name, delta, mechanism)
            count += 1
    return count


def work(rows, n):
    return math.comb(len(rows[0]) + n - 1, n) * math.comb(len(rows) + n - 2, n - 1) * len(rows) ** 2


@pytest.mark.parametrize("name", NAMES)
def test_every_pair_of_datasets_is_inside(name):
    mechanism = cases.mechanism(name, 0)
    assert check(mechanism, rows_of(mechanism), 2, random.Random(name), FEW) >= 6


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_more_mechanisms_and_users(name, seed):
    rng = random.Random(f"{name} {seed}")
    mechanism = cases.mechanism(name, seed)
    rows = rows_of(mechanism)
    for n in range(1, 7):
        if work(rows, n) < 300_000:
            check(mechanism, rows, n, rng, CERTIFIED)


@pytest.mark.long
@pytest.mark.parametrize("eps0", [1e-3, 8.0, 25.0])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"channel", "olh", "staircase"}])
def test_extreme_local_guarantees(monkeypatch, name, eps0):
    monkeypatch.setattr(cases, "_eps0", lambda _: eps0)
    rng = random.Random(f"{name} {eps0}")
    mechanism = cases.mechanism(name, 0)
    rows = rows_of(mechanism)
    for n in (1, 2, 3):
        if work(rows, n) < 30_000:
            check(mechanism, rows, n, rng, QUICK)


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("kind", "margin"), [(sd.Laplace, 0.0), (sd.ClampedLaplace, 0.75), (sd.TruncatedLaplace, 0.75)]
)
def test_upper_ends_of_continuous_reports_put_into_cells(kind, margin):
    """A report's cell is a post-processing of it, so that upper ends have to hold."""
    settings = {} if kind is sd.Laplace else {"margin": margin}
    mechanism = kind(eps0=1.5, low=-1.0, high=2.0, **settings)
    datasets = Neighbours(rows_of(mechanism), 2)
    accountant = sd.shuffle(mechanism, n=2, rtol=1e-3)
    for epsilon in (0.1, 0.6):
        most, _ = datasets.worst(epsilon)
        assert Fraction(accountant.delta(epsilon=epsilon).upper) >= most


def test_the_oracle_finds_a_bound_that_is_too_small():
    """The published variation ratio is none in general (docs/theory.md, section 5.6)."""
    mechanism = sd.KRR(k=3, eps0=math.log(19.0))
    datasets = Neighbours(rows_of(mechanism), 2)
    most, least = datasets.worst(math.log(15.0))
    assert float(most) == pytest.approx(76 / 441, rel=1e-12)
    assert float(least) == pytest.approx(76 / 441, rel=1e-12)
    estimate = sd.shuffle(mechanism, n=2).estimate(
        delta=0.9 * float(most), analysis="variation-ratio"
    )
    assert estimate.value < math.log(15.0)


@pytest.mark.parametrize("delta", [0.3, 0.5])
def test_subsample_rarer_than_delta(delta):
    """What is seen with a probability below delta needs no epsilon."""
    mechanism = sd.PoissonSubsample(sd.KRR(k=3, eps0=4.0), rate=0.1)
    for n in (1, 10):
        for _, bound in bounds(sd.shuffle(mechanism, n=n).epsilon, CERTIFIED, delta=delta):
            assert bound.lower == bound.upper == 0.0
