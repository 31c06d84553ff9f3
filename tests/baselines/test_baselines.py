"""The papers' algorithms against the contour, exact fractions, and each other."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from divergence.oracle import exponential, positive_part
from shuffledp.baselines import binomial, certified_fft, grid, halved_epsilon
from shuffledp.divergence import PairProfile
from shuffledp.pair import ShuffledPair
from shuffledp.reductions import (
    VariationRatio,
    blanket_pair,
    clone_pair,
    published_pair,
    stronger_clone_pair,
)


def bracket(pair, epsilon, width=1e-6):
    found = PairProfile(pair).log_delta(epsilon, width=width)
    return math.exp(found.low), math.exp(found.high)


# ---------------------------------------------------------------------------------- binomial sums


@pytest.mark.parametrize("eps0", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 30, 1000, 100_000])
def test_clone_sums_are_the_clones(eps0, n):
    for form, pair in (
        (binomial.clone_delta, clone_pair),
        (binomial.stronger_clone_delta, stronger_clone_pair),
    ):
        for share in (0.0, 0.1, 0.9):
            low, high = bracket(pair(eps0=eps0, n=n), share * eps0, width=1e-4)
            found = form(eps0=eps0, n=n, epsilon=share * eps0)
            # Rounding of log Gamma at n, and what tiny sums lose.
            assert low * (1 - 1e-8) - 1e-13 <= found <= high * (1 + 1e-8) + 1e-13
        assert form(eps0=eps0, n=n, epsilon=eps0 * 1.1) == 0.0


@pytest.mark.parametrize(
    ("p", "beta", "q"), [(7.0, 0.3, 7.0), (3.0, 0.5, 4.0), (math.inf, 0.4, 5.0), (20.0, 0.1, 2.0)]
)
@pytest.mark.parametrize("n", [1, 2, 40, 5000])
def test_variation_ratio_sums_are_the_published_pair(p, beta, q, n):
    ratio = VariationRatio(p=p, beta=beta, q=q)
    for epsilon in (0.05, 0.4, 1.0):
        low, high = bracket(published_pair(ratio, n=n), epsilon)
        found = binomial.variation_ratio_delta(p=p, beta=beta, q=q, n=n, epsilon=epsilon)
        assert low * (1 - 1e-8) - 1e-13 <= found <= high * (1 + 1e-8) + 1e-13


def test_variation_ratio_sums_need_a_pair():
    with pytest.raises(sd.ParameterError, match="al p/q"):
        binomial.variation_ratio_delta(p=10.0, beta=0.8, q=1.1, n=10, epsilon=0.1)
    assert binomial.variation_ratio_delta(p=2.0, beta=0.3, q=2.0, n=10, epsilon=1.0) == 0.0


def test_twenty_halvings_are_absolute_not_relative():
    """At n = 1e5 the papers' 20 halvings of [0, eps0] leave eps off by up to eps0/2^20."""
    eps0, n, delta = 4.0, 100_000, 1e-6

    def at(epsilon):
        return binomial.clone_delta(eps0=eps0, n=n, epsilon=epsilon)

    found = halved_epsilon(at, delta, cap=eps0)
    exact = sd.generic(eps0=eps0, n=n).epsilon(delta=delta, analysis="clone").upper
    assert abs(found - exact) <= eps0 * 2.0**-20 + 1e-6 * exact
    assert at(found) <= delta
    assert halved_epsilon(at, delta, cap=eps0, halvings=40) == pytest.approx(exact, rel=2e-6)


# ------------------------------------------------------------------------------------------ grid


@pytest.mark.parametrize(
    ("randomizer", "n", "epsilon"),
    [
        (sd.KRR(k=10, eps0=2.0), 1000, 0.1),
        (sd.KRR(k=10, eps0=4.0), 3000, 0.8),
        (sd.OUE(d=5, eps0=1.0), 200, 0.3),
        (sd.Laplace(eps0=1.0), 300, 0.1),
        (sd.Channel(matrix=[[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]), 100, 0.33),
    ],
    ids=str,
)
def test_grid_brackets_the_blanket(randomizer, n, epsilon):
    x0, x1 = randomizer.worst_pairs().pairs[0]
    pair = blanket_pair(randomizer, x0, x1, n=n, cells=1 << 12)
    low, high = bracket(pair, epsilon, width=1e-3)
    found = grid.grid_bracket(pair, epsilon=epsilon, width=0.1)
    assert found.low <= high
    assert low <= found.high
    assert found.high <= found.low * 1.1
    # Rounded the wrong way neither end would hold: the two differ by more than the contour's width.
    assert found.high > high
    assert found.low < low


def test_grid_is_exact_for_gains_on_the_grid():
    pair = ShuffledPair(
        w=np.array([0.25, 0.25, 0.5]),
        a=np.array([2.0, 0.0, 1.0]),
        b=np.array([0.0, 2.0, 1.0]),
        n=9,
    )
    atoms = [(Fraction(1, 4), Fraction(2)), (Fraction(1, 4), Fraction(-2))]
    truth = float(positive_part(atoms, 9) / 9)
    for rounding in ("up", "down"):
        value, points = grid.grid_delta(pair, epsilon=0.0, step=1.0, rounding=rounding)
        assert value == pytest.approx(truth, rel=1e-12)
        assert points >= 16


def test_grid_refuses_what_it_cannot_hold():
    pair = blanket_pair(sd.KRR(k=10, eps0=2.0), 0, 1, n=10**8)
    with pytest.raises(sd.NotCertified, match="grid would need"):
        grid.grid_bracket(pair, epsilon=0.001, width=0.1)


# ------------------------------------------------------------------------------------ certified FFT


@pytest.mark.parametrize(
    ("randomizer", "n", "epsilon", "width"),
    [
        (sd.KRR(k=10, eps0=2.0), 1000, 0.05, 0.2),
        (sd.KRR(k=10, eps0=4.0), 3000, 0.4, 0.5),
        (sd.KRR(k=3, eps0=1.0), 50, 0.3, 0.2),
        (sd.OUE(d=5, eps0=1.0), 200, 0.1, 0.5),
        (sd.Laplace(eps0=1.0), 300, 0.03, 0.5),
        (sd.Channel(matrix=[[0.25, 0.5, 0.25], [0.5, 0.5, 0.0]]), 100, 0.6, 0.3),
    ],
    ids=str,
)
def test_certified_fft_brackets_the_blanket(randomizer, n, epsilon, width):
    x0, x1 = randomizer.worst_pairs().pairs[0]
    pair = blanket_pair(randomizer, x0, x1, n=n)
    low, high = bracket(pair, epsilon, width=1e-3)
    found = certified_fft.fft_delta(pair, epsilon=epsilon, width=width)
    assert found.low <= low <= high <= found.high
    assert found.high <= found.low * (1 + width)
    assert 0.0 < found.roundoff < 0.1 * found.high


@pytest.mark.parametrize("n", [2, 3, 5])
def test_certified_fft_of_few_users_by_fractions(n):
    w, a, b = [0.25, 0.25, 0.125], [2.5, 0.5, 2.0], [0.5, 2.5, 2.0]
    pair = ShuffledPair(w=np.array(w), a=np.array(a), b=np.array(b), n=n, rel=0.0)
    for epsilon in (0.0, 0.25, 1.0):
        low, high = exponential(epsilon)
        truth = [
            positive_part(
                [
                    (Fraction(x), Fraction(y) - e * Fraction(z))
                    for x, y, z in zip(w, a, b, strict=True)
                ],
                n,
            )
            / n
            for e in (high, low)
        ]
        found = certified_fft.fft_delta(pair, epsilon=epsilon, width=0.5)
        assert Fraction(found.low) <= truth[0] <= truth[1] <= Fraction(found.high)


def test_certified_fft_knows_what_rounding_costs():
    """At delta = 5e-15 no double-precision FFT says anything, and this one does not pretend to."""
    pair = blanket_pair(sd.BinaryRR(eps0=2.0), 0, 1, n=300)
    _, high = bracket(pair, 1.6, width=1e-3)
    assert high < 1e-14
    found = certified_fft.fft_delta(pair, epsilon=1.6, width=1.0)
    assert found.low == 0.0
    assert found.high > found.roundoff > 1e3 * high
    with pytest.raises(sd.NotCertified, match="none"):
        certified_fft.fft_delta(pair.with_n(1), epsilon=0.1, width=0.1)
    with pytest.raises(sd.NotCertified, match="points"):
        certified_fft.fft_delta(pair.with_n(10**7), epsilon=0.01, width=1e-3)


def test_certified_fft_of_equal_inputs():
    """Every gain is 0 at eps = 0: nothing to transform, and no division by 0."""
    same = sd.shuffle(sd.Extremal(pattern=[[0, 1], [0, 1]], eps0=1.0), n=6)
    for at in ({"epsilon": 0.0}, {"delta": 1e-3}):
        ask = same.delta if "epsilon" in at else same.epsilon
        with pytest.raises(sd.NotCertified, match="gain of the others is 0"):
            ask(**at, analysis="blanket-certified-fft")
        assert ask(**at).upper <= 1e-9


def test_certified_fft_through_the_front_door():
    acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=1000)
    found = acc.delta(epsilon=0.5, analysis="blanket-certified-fft")
    exact = acc.delta(epsilon=0.5, analysis="blanket")
    assert exact.upper <= found.upper <= 1.6 * exact.upper
    assert found.upper_theorem.key == "blanket-certified-fft"
    epsilon = acc.epsilon(delta=1e-2, analysis="blanket-certified-fft").upper
    assert acc.epsilon(delta=1e-2, analysis="blanket").upper <= epsilon < 1.3 * 0.5


# --------------------------------------------------------------------------------------- estimates


@pytest.mark.many(3)
@pytest.mark.parametrize(
    ("key", "like"),
    [
        ("clone-binomial-sums", "clone"),
        ("stronger-clone-binomial-sums", "stronger-clone"),
        ("variation-ratio-binomial-sums", "variation-ratio"),
        ("blanket-grid", "blanket"),
        ("gaussian", "blanket"),
    ],
)
def test_estimates_are_near_what_they_stand_for(key, like):
    acc = sd.shuffle(sd.BinaryRR(eps0=1.0), n=2000)
    found = acc.epsilon(delta=1e-5, analysis=key, certified=False)
    assert isinstance(found, sd.Estimate)
    assert not found.to_dict()["certified"]
    bound = acc.epsilon(delta=1e-5, analysis=like)
    assert found.value == pytest.approx(bound.upper, rel=0.04)
    delta = acc.delta(epsilon=0.1, analysis=key, certified=False)
    assert delta.log_value == pytest.approx(
        acc.delta(epsilon=0.1, analysis=like).log_upper, abs=0.3
    )
    with pytest.raises(sd.NotCertified, match="certified=False"):
        acc.epsilon(delta=1e-5, analysis=key)


def test_sums_over_all_counts_are_refused_where_they_would_not_end():
    with pytest.raises(sd.NotCertified, match="offered up to"):
        sd.generic(eps0=1.0, n=10**9).epsilon(
            delta=1e-6, analysis="clone-binomial-sums", certified=False
        )


def test_certified_fft_of_an_unbounded_mechanism_cuts_a_window():
    pair = blanket_pair(sd.Gaussian(sigma=2.0), 0.0, 1.0, n=50, cells=1 << 16)
    low, high = bracket(pair, 0.1, width=1e-2)
    found = certified_fft.fft_delta(pair, epsilon=0.1, width=1.0)
    assert found.low <= low <= high <= found.high < 0.05
    users = certified_fft._users(pair, math.exp(0.1), 1e-6)
    assert 1.0 - 2e-6 < users.stay < 1.0
    assert users.w.size < pair.w.size
    with pytest.raises(sd.NotCertified, match="more cells"):
        certified_fft.fft_delta(pair.with_n(5000), epsilon=0.02, width=0.1)


@pytest.mark.parametrize("term", ["eta", "roundoff", "window", "reach"])
def test_every_error_term_of_the_certified_fft_counts(term, monkeypatch):
    """Each term made larger by hand moves both ends outward by what it stands for."""
    pair = blanket_pair(sd.KRR(k=10, eps0=2.0), 0, 1, n=300)
    a = math.exp(0.1)
    plain = certified_fft._attempt(pair, 0.1, 0.05, math.log(1e-2))
    if term == "eta":
        monkeypatch.setattr(certified_fft, "_left", lambda *given: 1e-3)
        moved = (1.0 + a) * 1e-3
    elif term == "roundoff":
        inner = certified_fft._sum_law

        def noisy(*given):
            tail, start, error = inner(*given)
            return tail, start, error + 1e-3

        monkeypatch.setattr(certified_fft, "_sum_law", noisy)
        moved = (1.0 + a) * 1e-3
    elif term == "window":
        inner = certified_fft._users
        monkeypatch.setattr(
            certified_fft, "_users", lambda *given: replace(inner(*given), stay=1.0 - 1e-3)
        )
        moved = 0.99e-3
    else:
        # A larger share of the width allows a larger sum of rounding errors.
        wider = certified_fft._attempt(pair, 0.1, 0.5, math.log(1e-2))
        assert wider.high - wider.low > 4.0 * (plain.high - plain.low)
        return
    found = certified_fft._attempt(pair, 0.1, 0.05, math.log(1e-2))
    assert found.high >= plain.high + 0.95 * moved
    assert found.low <= plain.low - 0.95 * moved
