"""Ends that meet: what the default answers are, against exact values and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import shuffledp as sd
from shuffledp.amplification.messages import Messages

DELTA = 1e-6


@pytest.mark.parametrize(
    ("randomizer", "n", "gap"),
    [
        (sd.RAPPOR(d=10, eps0=2.0), 10_000, 1e-3),
        (sd.Laplace(eps0=2.0), 10_000, 4e-3),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                (sd.Staircase(eps0=2.0), 10_000, 6e-3),
                (sd.Joint([sd.RAPPOR(d=10, eps0=1.0), sd.Duchi(eps0=1.0)]), 10_000, 3e-3),
                (sd.PoissonSubsample(sd.RAPPOR(d=10, eps0=2.0), rate=0.5), 10_000, 1e-3),
                (sd.Gaussian(sigma=2.0), 10_000, 4e-3),
            )
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_both_ends_meet(randomizer: sd.Randomizer, n: int, gap: float) -> None:
    account = sd.shuffle(randomizer, n=n)
    bound = account.epsilon(delta=DELTA)
    assert bound.lower < bound.upper <= bound.lower * (1.0 + gap)
    assert bound.witness["upper"]["analysis"] == "label-stealing"
    blanket = account.epsilon(delta=DELTA, analysis="blanket")
    assert bound.upper <= blanket.upper
    assert account.delta(epsilon=bound.upper).upper <= DELTA


@pytest.mark.parametrize("eps0", [0.5, 4.0])
def test_every_local_mechanism_at_once(eps0: float) -> None:
    bound = sd.generic(eps0=eps0, n=10_000).epsilon(delta=DELTA)
    assert bound.upper <= 1.001 * bound.lower
    assert any("same eps0-LDP randomizer" in words for words in bound.assumptions)
    adaptive = sd.generic(eps0=eps0, n=10_000, adaptive=True).epsilon(delta=DELTA)
    assert adaptive.witness["upper"]["analysis"] != "label-stealing"
    assert adaptive.upper > bound.upper


def exact_binary(eps0: float, n: int, ones: int, epsilon: float) -> float:
    """Divergence of binary RR, the others holding this many ones, from the law of the count."""
    p = 1.0 / (1.0 + math.exp(-eps0))
    others = np.convolve(
        binom.pmf(np.arange(ones + 1), ones, p), binom.pmf(np.arange(n - ones), n - 1 - ones, 1 - p)
    )
    view = [np.convolve(others, [1 - q, q]) for q in (p, 1 - p)]
    return float(np.maximum(view[0] - math.exp(epsilon) * view[1], 0.0).sum())


@pytest.mark.parametrize(("eps0", "n"), [(1.0, 100), (4.0, 1000)])
def test_binary_rr_with_any_number_of_ones(eps0: float, n: int) -> None:
    account = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n)
    for delta in (1e-3, 1e-6):
        epsilon = account.epsilon(delta=delta).upper
        if epsilon >= eps0:
            continue
        bound = account.delta(epsilon=epsilon, analysis="label-stealing").upper
        counts = {0, 1, 2, n - 1, n - 2, n - 3, n - 8, *range(0, n, max(1, n // 25))}
        # Sums of a thousand floats: exact to 1e-9 of themselves, and to 1e-16.
        worst = max(exact_binary(eps0, n, m, epsilon) for m in counts)
        assert worst * (1.0 - 1e-9) - 1e-15 <= bound


KRR10 = sd.KRR(k=10, eps0=2.0)


def test_label_stealing_closes_the_ends_of_few_users() -> None:
    """For k-RR the blanket is as good among many; among 40 its end is 2.1 % above the lower one."""
    account = sd.shuffle(KRR10, n=40)
    bound = account.delta(epsilon=1.2762)
    assert bound.upper_theorem is not None
    assert bound.upper_theorem.key == "label-stealing"
    assert bound.upper <= 1e-6 < account.delta(epsilon=1.2762, analysis="blanket").upper
    many = sd.shuffle(KRR10, n=300).delta(epsilon=0.2)
    assert many.upper_theorem is not None
    assert many.upper_theorem.key == "blanket"
    works = [Messages(KRR10, n) for n in (19, 20)]
    keys = [[one.key for one, _ in best.asked("upper", None, "apart")] for best in works]
    assert [one[-1:] for one in keys] == [[], ["label-stealing"]]


def test_label_stealing_is_asked_where_the_ends_are_apart_among_many() -> None:
    """The blanket of the Fano plane is as good to first order, and 1.5 % looser at n = 1e4."""
    lines = ("1101000", "0110100", "0011010", "0001101", "1000110", "0100011", "1010001")
    rows = [[math.exp(4.0) if digit == "1" else 1.0 for digit in line] for line in lines]
    plane = sd.Channel(matrix=rows, normalize=True)
    bound = sd.shuffle(plane, n=10_000).epsilon(delta=DELTA)
    assert bound.lower <= bound.upper <= bound.lower * 1.0001
