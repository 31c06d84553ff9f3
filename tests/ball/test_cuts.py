"""What is cut off of infinitely many outputs is part of the bracket, however much it is."""

import math
from itertools import product

import pytest
from flint import arb, ctx

from shuffledp.ball.api import log_delta
from shuffledp.ball.divergence import _refined
from shuffledp.ball.enumeration import positive_part_by_enumeration
from shuffledp.ball.gains import blanket_gains, dataset_gains, local_divergence
from shuffledp.ball.lattice import gaussian_law
from shuffledp.ball.noises import RECORDS
from shuffledp.ball.power_law import power_terms

LATTICE = {"name": "discrete-gaussian", "top": 2, "sigma": 1.3, "clamped": False, "margin": 0}
POWER = {"name": "generalized-gaussian", "shape": 1.5, "scale": 2.0, "low": 0.0, "high": 1.0}


def ends(bracket):
    return bracket.lower(), bracket.upper()


@pytest.mark.parametrize("log_cut", [-0.5, -4.0])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 1.2])
@pytest.mark.parametrize("x2", [None, 0, 1])
def test_discrete_gaussian_cut_early(log_cut, epsilon, x2):
    analysis, reference = ("blanket", ()) if x2 is None else ("dataset", (x2,))
    gains = blanket_gains if x2 is None else dataset_gains
    for (x0, x1), n in product([(0, 2), (2, 0)], [1, 2]):
        true = log_delta(
            LATTICE, analysis=analysis, n=n, epsilon=epsilon, x0=x0, x1=x1, x2=x2, rel=1e-7
        )
        with ctx.workprec(200):
            law = gaussian_law(LATTICE, (x0, x1, *reference), log_cut=log_cut)
            found = gains(law, arb(epsilon))
            total = positive_part_by_enumeration(found.weight, found.gain, n) / n + found.outside
            low, high = ends(total)
            assert low <= arb(true[1]).exp()
            assert high >= arb(true[0]).exp()
            low, high = ends(local_divergence(law, arb(epsilon)))
            alone = log_delta(LATTICE, analysis="local", n=1, epsilon=epsilon, x0=x0, x1=x1)
            assert low <= arb(alone[1]).exp()
            assert high >= arb(alone[0]).exp()


@pytest.mark.many(1)
@pytest.mark.parametrize(("log_cut", "deeper"), [(-2.5, 7.0), (-5.0, 3.0), (-5.0, -3.5)])
@pytest.mark.parametrize("inputs", [(0.0, 1.0), (1.0, 0.0, 0.5)])
def test_generalized_gaussian_cut_early(monkeypatch, log_cut, deeper, inputs):
    """On P's side and, where it is cut earlier, on Q's."""
    n, epsilon, x2 = 20, 0.1, inputs[2] if len(inputs) > 2 else None
    true = log_delta(
        POWER,
        analysis="blanket" if x2 is None else "dataset",
        n=n,
        epsilon=epsilon,
        x0=inputs[0],
        x1=inputs[1],
        x2=x2,
        rel=1e-4,
    )

    monkeypatch.setattr("shuffledp.ball.power_law._Q_DEEPER", deeper)

    def make(log_cut, log_error):
        eps = arb(epsilon)
        noise = RECORDS[POWER["name"]].power(POWER)
        return power_terms(noise, inputs, eps, n=n, log_cut=log_cut, log_error=log_error)

    with ctx.workprec(200):
        low, high = _refined(make, log_cut, n, 1e-2, 10_000_000)
    assert low <= math.exp(true[1])
    assert high >= math.exp(true[0])
    # It is not the bracket that is wide, but the cut that is counted.
    assert high - low > 1e-4


@pytest.mark.parametrize("epsilon", [0.0, 2.0, 11.018223261741090])
def test_one_user_is_hidden_by_nobody(epsilon):
    """At e^eps times what is cut off of the second law it was all that could be seen of delta."""
    table = {"name": "discrete-gaussian", "top": 10, "sigma": 5.0}
    wanted = log_delta(table, analysis="local", n=1, epsilon=epsilon, x0=0, x1=10)
    for more in ({"analysis": "blanket"}, {"analysis": "dataset", "x2": 5}):
        for guess in (None, -13.8):
            asked = {"n": 1, "epsilon": epsilon, "x0": 0, "x1": 10, "rel": 1e-3, "guess": guess}
            assert log_delta(table, **asked, **more) == wanted


@pytest.mark.parametrize("guess", [None, -13.0])
def test_what_is_cut_off_counts_e_to_the_eps_times(guess):
    """A cut by delta alone left 8e-5 and 2e-5 of it: the second law counts e^9.5 times."""
    table = {"name": "discrete-gaussian", "top": 10, "sigma": 5.0}
    low, high = log_delta(
        table, analysis="blanket", n=2, epsilon=9.5, x0=0, x1=10, rel=1e-4, guess=guess
    )
    assert low <= high <= low + 1e-6
