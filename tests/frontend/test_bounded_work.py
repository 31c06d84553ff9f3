"""Every request ends in bounded work: what was not reached is said, in ends that still hold."""

import time

import pytest

import shuffledp as sd
from shuffledp.contour import bracket
from shuffledp.divergence import positive_part
from shuffledp.divergence.positive_part import EFFORT


@pytest.fixture
def work(monkeypatch):
    """Nodes times atoms of every rule that is applied."""
    done = []
    apply = bracket.applied

    def counted(transform, payoff, table, rule):
        done.append(bracket.work(transform, rule))
        return apply(transform, payoff, table, rule)

    monkeypatch.setattr(bracket, "applied", counted)
    return done


@pytest.mark.long
def test_a_narrow_bracket_is_bounded_work(work):
    """rtol = 1e-12 took 8 million nodes in each of twenty brackets."""
    mechanism = sd.KRR(k=10, eps0=4.0)
    tight = sd.shuffle(mechanism, n=10_000, rtol=1e-12).delta(epsilon=0.3)
    assert max(work) <= bracket._MORE * EFFORT.fine_work <= 40_000_000
    plain = sd.shuffle(mechanism, n=10_000).delta(epsilon=0.3)
    assert plain.lower <= tight.lower * (1 + 1e-9)
    assert tight.upper <= plain.upper * (1 + 1e-9)
    assert 1e-12 < tight.upper_width < 1e-8


def test_what_is_not_narrow_is_as_before(monkeypatch):
    """Down to nine digits of delta nothing is held back."""
    asked = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    before = [asked.delta(epsilon=e) for e in (0.1, 0.3)]
    monkeypatch.setattr(positive_part, "EFFORT", EFFORT._replace(fine_work=1))
    again = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    assert [again.delta(epsilon=e) for e in (0.1, 0.3)] == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (sd.KRR(k=10, eps0=4.0), 100_000),
        (sd.BinaryRR(eps0=1.0), 1_000),
        (sd.RAPPOR(d=20, eps0=2.0), 10_000),
        (sd.OLH(domain=1000, eps0=3.0), 10_000),
    ],
)
def test_the_smallest_rtol_is_seconds_and_says_what_it_reached(mechanism, n, work):
    tight = sd.shuffle(mechanism, n=n, rtol=1e-12).epsilon(delta=1e-6)
    assert sum(work) <= 30 * EFFORT.fine_work
    plain = sd.shuffle(mechanism, n=n, rtol=1e-6).epsilon(delta=1e-6)
    assert plain.lower <= tight.lower * (1 + 1e-9)
    assert tight.upper <= plain.upper
    # An end by label stealing is no bracket: it has no width to reach.
    width = 0.0 if tight.upper_width is None else tight.upper_width
    assert width <= 1e-9
    if width > 2e-12:
        assert any("asked for was not reached in bounded work" in note for note in tight.notes)


@pytest.mark.long
def test_a_large_lattice_is_seconds():
    start = time.process_time()
    sd.shuffle(sd.DiscreteGaussian(top=100_000, sigma=30_000.0), n=10_000).epsilon(delta=1e-6)
    assert time.process_time() - start < 30.0
