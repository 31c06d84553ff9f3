"""The upper end of eps is where delta, asked of the same object, is at most the target."""

import dataclasses

import pytest

import shuffledp as sd

MECHANISMS = [sd.KRR(k=10, eps0=1.0), sd.KRR(k=10, eps0=4.0), sd.Laplace(eps0=1.0)]


@pytest.mark.many(4)
@pytest.mark.parametrize("rtol", [1e-3, pytest.param(1e-6, marks=pytest.mark.long)])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("n", [10, 1000, 10**5])
def test_delta_at_the_end_of_eps(mechanism, n, rtol):
    accountant = sd.shuffle(mechanism, n, rtol=rtol)
    for delta in (0.5, 0.1, 0.02, 1e-3, 1e-6, 1e-300):
        bound = accountant.epsilon(delta=delta)
        # An end by label stealing has no width. Among few users the search at an eps may find
        # numbers that are a little worse than those of the search at a delta.
        brackets = bound.upper_width is not None
        largest = delta if brackets else delta * (1.0 + 1e-5)
        assert accountant.delta(epsilon=bound.upper).upper <= largest
        # Nor does it take another history than the question itself.
        fresh = dataclasses.replace(accountant)
        assert fresh.delta(epsilon=bound.upper).upper <= largest
        if isinstance(mechanism, sd.KRR) and brackets:
            assert bound.upper_width <= rtol


@pytest.mark.long
def test_just_below_delta_at_zero():
    """log delta is flat against log eps: brackets of a fixed width would move the end far up."""
    accountant = sd.shuffle(sd.KRR(k=10, eps0=1.0), 100)
    delta = accountant.delta(epsilon=0.0, analysis="blanket").upper * (1.0 - 1e-3)
    bound = accountant.epsilon(delta=delta, analysis="blanket")
    assert bound.upper_width <= accountant.seen.rtol
    assert accountant.delta(epsilon=bound.upper, analysis="blanket").upper <= delta


def test_several_pairs():
    rows = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.15, 0.15, 0.7], [0.4, 0.3, 0.3]]
    accountant = sd.shuffle(sd.Channel(rows), 1000)
    for delta in (1e-2, 1e-6):
        bound = accountant.epsilon(delta=delta)
        assert accountant.delta(epsilon=bound.upper).upper <= delta
        blanket = accountant.epsilon(delta=delta, analysis="blanket")
        assert blanket.upper_width <= accountant.seen.rtol
