"""Rounds from the label-stealing curve: valid, never looser, and what they say they rest on."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import shuffledp as sd
from shuffledp.amplification.analyses import analysis_named
from shuffledp.amplification.end import LogDeltaAt
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.rounds import round_of
from shuffledp.amplification.stealing import label_stealing
from shuffledp.rounds import compose


def binary_laws(eps0, n):
    """Laws of the number of ones under both inputs of the victim, for every data set."""
    q = 1.0 / (1.0 + math.exp(eps0))
    found = []
    for ones in range(n):
        others = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, 1.0 - q),
            binom.pmf(np.arange(n - ones), n - 1 - ones, q),
        )
        zero = np.append(others * (1.0 - q), 0.0) + np.append(0.0, others * q)
        one = np.append(others * q, 0.0) + np.append(0.0, others * (1.0 - q))
        found += [(zero, one), (one, zero)]
    return found


def stolen_round(one):
    """By the blanket and label stealing, although all data sets are few enough to be searched."""
    best = Messages(one.source, one.n, rtol=one.seen.rtol)
    blanket = next(upper for _, upper in best.asked("upper", None) if upper.profiles)
    sharper = analysis_named("label-stealing").make(one.source, one.n)
    return round_of(one.source, one.n, one.seen.rtol, blanket, sharper, "stolen")


@pytest.mark.long
@pytest.mark.parametrize(("eps0", "n"), [(1.0, 60), (2.0, 150)])
def test_two_adaptive_rounds_of_all_datasets(eps0, n):
    """The second round's data set and direction are the worst after each output of the first."""
    laws = binary_laws(eps0, n)
    one = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n)
    twice, stolen = one.compose(rounds=2), compose([stolen_round(one)], rounds=2)
    first = np.array([p for p, _ in laws]), np.array([q for _, q in laws])
    for eps in (0.0, 0.4):
        bound = twice.delta(epsilon=eps)
        a = math.exp(eps)
        worst = 0.0
        for p, q in laws[:: n // 3]:
            b = a * q / p
            inner = np.maximum(
                first[0][:, None, :] - b[None, :, None] * first[1][:, None, :], 0.0
            ).sum(axis=2)
            worst = max(worst, float(p @ inner.max(axis=0)))
        # 1e-9 is far above the rounding of these sums.
        least = worst * (1.0 - 1e-9)
        assert least <= bound.upper <= 1.02 * worst
        assert bound.lower <= worst * (1.0 + 1e-9)
        assert least <= stolen.delta(epsilon=eps).upper


@pytest.mark.parametrize(
    "randomizer",
    [sd.BinaryRR(eps0=2.0), sd.Laplace(eps0=2.0)],
    ids=lambda r: r.name,
)
def test_shared_free_numbers_lose_little_and_depend_on_no_history(randomizer):
    n = 3000
    side = analysis_named("label-stealing").make(randomizer, n)
    curve, again = side.for_rounds(), side.for_rounds()
    points = [0.03 * z for z in (0.0, 0.3, 1.0, 2.5, 5.0)]
    values = [curve.log_upper(eps) for eps in points]
    assert values == [again.log_upper(eps) for eps in reversed(points)][::-1]
    assert all(x > y for x, y in itertools.pairwise(values))
    for eps, value in zip(points[1:], values[1:], strict=True):
        assert value == pytest.approx(side.log_delta(LogDeltaAt(eps, 1e-3)).value, abs=0.02)
        assert curve.rough_log_delta(eps) == pytest.approx(value, abs=0.08)


def test_binary_curve_is_above_every_dataset():
    """Between the anchors too, at eps = 0 as well."""
    eps0, n = 2.0, 60
    laws = binary_laws(eps0, n)
    curve = label_stealing(sd.BinaryRR(eps0=eps0), n)
    below = 0
    for eps in np.linspace(0.0, 1.9, 20):
        exact = max(float(np.maximum(p - math.exp(eps) * q, 0.0).sum()) for p, q in laws)
        high = curve.log_upper(float(eps))
        below += high < 0.0
        assert math.log(max(exact, 1e-300)) <= high + 1e-9
    assert below > 10
