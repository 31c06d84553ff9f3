"""What is asked on the way to an answer, counted: the same on every machine."""

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.bounds.all_datasets import Chords
from shuffledp.bounds.one_bit import OneBit
from shuffledp.stealing import Curve, cases_of
from shuffledp.stealing import solve as stealing_solve
from shuffledp.stealing.bound import log_bound
from shuffledp.stealing.proposal import propose
from shuffledp.stealing.sketch import saddles, sketch_of

N, LOG_DELTA = 10_000, math.log(1e-6)
APART = [sd.Laplace(eps0=4.0, binary=True), sd.Laplace(eps0=4.0)]


def named(mechanism):
    return mechanism.name


def curve_of(mechanism, n=N):
    return Curve(lambda log_delta: [case for case, _ in cases_of(mechanism, log_delta)], n)


@pytest.mark.parametrize("mechanism", APART, ids=named)
def test_few_certified_bounds_lead_to_an_eps(mechanism, monkeypatch):
    asked = []
    original = stealing_solve.Curve._log_delta
    monkeypatch.setattr(
        stealing_solve.Curve, "_log_delta", lambda c, e: asked.append(e) or original(c, e)
    )
    curve = curve_of(mechanism)
    found = curve.epsilon(LOG_DELTA, cap=mechanism.eps0)
    assert len(asked) <= 3
    assert found.epsilon in asked
    assert found.log_delta <= LOG_DELTA
    # And to one that is hardly more than it has to be.
    assert curve_of(mechanism).log_delta(found.epsilon * (1.0 - 1e-5)).log_delta > LOG_DELTA


@pytest.mark.parametrize("mechanism", APART[:1], ids=named)
def test_answers_are_alike_whatever_was_asked_before(mechanism):
    asked = curve_of(mechanism)
    for log_delta in (-5.0, -40.0, -9.0):
        asked.epsilon(log_delta, cap=mechanism.eps0)
    fresh = curve_of(mechanism).epsilon(LOG_DELTA, cap=mechanism.eps0)
    again = asked.epsilon(LOG_DELTA, cap=mechanism.eps0)
    assert (again.epsilon, again.log_delta) == (fresh.epsilon, fresh.log_delta)
    assert again.numbers == fresh.numbers
    assert asked.log_delta(fresh.epsilon).log_delta == fresh.log_delta
    assert curve_of(mechanism).log_delta(fresh.epsilon).log_delta == fresh.log_delta


@pytest.mark.parametrize("mechanism", APART, ids=named)
def test_sketches_are_the_measures_but_for_rounding(mechanism):
    """Estimates are of what is certified, one choice or several at once."""
    case = cases_of(mechanism, -40.0)[0][0]
    best = propose(case, 0.2, LOG_DELTA, N)
    scaled = [best.choice.scaled(factor) for factor in (1.0, 0.5)]
    sketches = [case.sketch(0.2, choice) for choice in scaled]
    found = saddles(sketches, N)
    for choice, one in zip(scaled, found, strict=True):
        exact = saddles([sketch_of(case.gains(0.2, choice))], N)[0]
        assert np.allclose(one, exact, rtol=1e-6)
    assert found[0] == saddles(sketches[:1], N)[0]


@pytest.mark.parametrize("mechanism", APART, ids=named)
def test_a_bound_that_need_not_be_sharp_is_what_is_enough(mechanism):
    case = cases_of(mechanism, -40.0)[0][0]
    best = propose(case, 0.1, LOG_DELTA, N)
    gains = case.certified_gains(0.1, best.choice)
    value = log_bound(gains, N, best.contour)
    for more in (1e-6, 1e-3, 0.02, 0.2, 3.0):
        enough = value + more
        assert log_bound(gains, N, best.contour, enough=enough) == enough
    for less in (1e-6, 0.1, 2.0):
        assert log_bound(gains, N, best.contour, enough=value - less) == value


@pytest.mark.parametrize(
    ("eps0", "n"), [(4.0, 10_000), (12.0, 10_000), (2.0, 300), (1.0, 2), (2.0, 10**9)]
)
def test_both_ends_of_one_bit_take_few_divergences(eps0, n, monkeypatch):
    asked = []

    def count(kind, name):
        original = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *args: asked.append(args) or original(*args))

    count(OneBit, "of_dataset")
    count(Chords, "above")
    bound = sd.shuffle(sd.BinaryRR(eps0=eps0), n).epsilon(delta=1e-6, analysis="binary-exact")
    assert 0.0 < bound.lower <= bound.upper <= bound.lower * (1.0 + 5e-7)
    assert len(asked) <= 200


@pytest.mark.parametrize("mechanism", APART, ids=named)
def test_what_is_paid_beside_the_sums_counts_where_a_bound_is_given_up(mechanism):
    """With a small reservoir the empty one is most of the bound: sums below it say nothing."""
    case = cases_of(mechanism, -40.0)[0][0]
    best = propose(case, 0.1, LOG_DELTA, N)
    choice = best.choice
    while log_bound(case.gains(0.1, choice), N, best.contour) < best.log_delta + 1.0:
        choice = choice.scaled(0.9)
    gains = case.certified_gains(0.1, choice)
    value = log_bound(gains, N, best.contour)
    for less in (1e-6, 0.1, 0.5):
        assert log_bound(gains, N, best.contour, enough=value - less) >= value
    assert log_bound(gains, N, best.contour, enough=value + 1e-3) == value + 1e-3
