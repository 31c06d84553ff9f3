"""What is cut off of infinitely many outputs is part of the bracket, however much it is."""

from itertools import product

import pytest
from flint import arb, ctx

import shuffledp as sd
from laws import cut_law, log_delta
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.kernel import Draws, by_counts
from shuffledp.laws.pairs import blanket_pair
from shuffledp.propose.gains import gains_of

LATTICE = {"name": "discrete-gaussian", "top": 2, "sigma": 1.3}


@pytest.mark.parametrize("log_cut", [-0.5, -4.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.2])
@pytest.mark.parametrize("x2", [None, 0, 1])
def test_discrete_gaussian_cut_early(log_cut, epsilon, x2):
    analysis, reference = ("blanket", ()) if x2 is None else ("dataset", (x2,))
    against = "blanket" if x2 is None else "input"
    for (x0, x1), n in product([(0, 2), (2, 0)], [1, 2]):
        true = log_delta(
            LATTICE, analysis=analysis, n=n, epsilon=epsilon, x0=x0, x1=x1, x2=x2, rel=1e-7
        )
        with ctx.workprec(200):
            law = cut_law(LATTICE, (x0, x1, *reference), log_cut=log_cut)
            pair = LawPair("cut", n, Laws(lambda _, law=law: law), against)
            found = pair.gains(arb(epsilon), log_cut)
            low, high = (x / n for x in by_counts([Draws(*found.above, n)]))
            low, high = (low + found.seen).lower(), (high + found.seen).upper()
            assert low <= arb(true[1]).exp()
            assert high >= arb(true[0]).exp()


@pytest.mark.parametrize("epsilon", [0.0, 2.0, 11.018223261741090])
def test_one_user_is_hidden_by_nobody(epsilon):
    """At e^eps times what is cut off of the second law it was all that could be seen of delta."""
    table = {"name": "discrete-gaussian", "top": 10, "sigma": 5.0}
    wanted = log_delta(table, analysis="local", n=1, epsilon=epsilon, x0=0, x1=10)
    for more in ({"analysis": "blanket"}, {"analysis": "dataset", "x2": 5}):
        asked = {"n": 1, "epsilon": epsilon, "x0": 0, "x1": 10, "rel": 1e-3}
        assert log_delta(table, **asked, **more) == wanted


@pytest.mark.parametrize("log_error", [-10.0, -20.0, -40.0])
def test_what_is_cut_off_counts_e_to_the_eps_times(log_error):
    """A cut by delta alone left 8e-5 and 2e-5 of it: the second law counts e^9.5 times."""
    mechanism = sd.DiscreteGaussian(top=10, sigma=5.0)
    seen = gains_of(blanket_pair(mechanism, 0, 10, n=2), arb(9.5), log_error, "both", 0.0).seen
    assert 0 < seen.rad() < arb(log_error).exp()
