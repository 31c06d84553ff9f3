"""Sums around a jump: types that moments tell apart, and numbers that are chosen by them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.analysis import analysis_named
from shuffledp.stealing import cases_of, jump_proposal, jump_worst
from shuffledp.stealing.choices import Cut
from shuffledp.stealing.coarse import log_coarse_whole
from shuffledp.stealing.jump_cover import jump_cover
from shuffledp.stealing.jump_many import Clusters, Many
from shuffledp.stealing.jump_proposal import jumps_worth, propose_alone
from shuffledp.stealing.jump_rough import RoughSums, log_about_alone
from shuffledp.stealing.jump_worst import Family, LargestSums, contour_for, contour_of
from shuffledp.stealing.jumps import family_of, groups_of, log_bound_alone
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.noise import IntervalCase
from shuffledp.stealing.positive_sum import Contour, PositiveSums, log_chernoff, tilt
from stealing.test_coarse import random_law, sharp_sum, stack_of


def family(rng: np.random.Generator, types: int) -> Family:
    """A reservoir of a third and whole laws, as ``family_of`` makes them."""
    laws = [random_law(rng, 0.7, int(rng.integers(1, 7))) for _ in range(types)]
    return Family(random_law(rng, 0.3, 3), laws, [4e-16] * types)


@pytest.mark.many(10)
@pytest.mark.parametrize("seed", range(30))
def test_moments_of_whole_laws_are_above_the_integral(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 10, 200, 5000]))
    alpha = float(rng.uniform(0.2, 3.0)) / math.sqrt(n)
    gains = family(rng, 4)
    # With masses that sum to more than one too.
    more = np.array([0.0, 1e-12, 0.3, 2.0]) / n
    bounds = log_coarse_whole(stack_of(list(gains.types)), gains.reservoir, more, n, alpha)
    few = log_coarse_whole(stack_of(list(gains.types)), gains.reservoir, more, n, alpha, (1e9, 4.0))
    for law, over, bound, less in zip(gains.types, more, bounds, few, strict=True):
        grown = Measure(np.append(law.mass, over), np.append(law.gain, 0.0), 0.0, 0.0)
        truth = math.log(sharp_sum(gains.reservoir, grown if over else law, n, alpha))
        assert truth <= min(bound, less) + 1e-9


def one_by_one(
    gains: Family, n: int, alpha: float, smooth: float, *, rougher: bool = True
) -> list[float]:
    """Bounds of log J of every type, none left out; by sums with more smoothing too."""
    common = tilt(gains.reservoir, alpha)
    rough = Contour(alpha, smooth / alpha, 0.0, 0)
    found = []
    for law, excess in zip(gains.types, gains.excess, strict=True):
        tilted = tilt(law, alpha)
        at = contour_for(common, tilted, n, alpha, smooth)
        sums = [
            PositiveSums(common, n).log(tilted, excess, c)
            for c in (*(at.rougher() if rougher else ()), at)
        ]
        found.append(min(log_chernoff(common, tilted, excess, n, rough), *sums))
    return found


def all_at_once(gains: Family, n: int, alpha: float) -> np.ndarray:
    """Bounds of log J of all types side by side, with sums and without."""
    common, law = tilt(gains.reservoir, alpha), Many(gains.types, gains.excess).tilted(alpha)
    at = contour_of(n * law.variance(common), alpha, 0.1)
    return np.minimum(law.log(common, n, at), law.log_chernoff(common, n, alpha, 0.06))


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_of_each_group_is_found(seed: int) -> None:
    """Every type has a bound below what is found: by moments, by one sum or by many at once."""
    rng = np.random.default_rng(seed)
    n, smooth = int(rng.choice([20, 300, 4000])), 0.06
    alpha = float(rng.uniform(0.3, 3.0)) / math.sqrt(n)
    gains = family(rng, 9)
    each = one_by_one(gains, n, alpha, smooth)
    stack, more = stack_of(list(gains.types)), np.array(gains.excess)
    coarse = log_coarse_whole(stack, gains.reservoir, more, n, alpha, (1e9, 4.0))
    least = np.minimum(np.minimum(coarse, each), all_at_once(gains, n, alpha))
    sharp = np.full(3, -math.inf)
    for some in (9, 4):
        groups = [[j for j in g if j < some] for g in ([0, 3, 5], [1, 2, 4, 6], [7, 8])]
        groups = [group for group in groups if group]
        part = Family(gains.reservoir, gains.types[:some], gains.excess[:some])
        sums = LargestSums(part, groups)
        # Among few, sums with more smoothing too.
        most = one_by_one(part, n, alpha, smooth, rougher=some == 4)
        found = sums.log(sharp[: len(groups)], n, alpha, smooth)
        for value, group in zip(found, groups, strict=True):
            assert max(least[j] for j in group) <= value <= max(most[j] for j in group)
        # With room a group's value need not be sharp, and is never less.
        loose = sums.log(np.full(len(groups), 0.1), n, alpha, smooth)
        assert loose[0] == found[0]
        assert all(loose[1:] >= found[1:])
        assert all(loose[1:] <= np.maximum(found[1:], found[0] + 0.1))


@pytest.fixture(scope="module")
def covered():
    """The gains of a cover of normal noise, with numbers for them."""
    n, epsilon = 10_000, 0.05
    case = cases_of(sd.Gaussian(sigma=1.0), -60.0)[0][0]
    assert isinstance(case, IntervalCase)
    at = propose_alone(case, epsilon, -15.0, n, 1e-3)
    assert at is not None
    choice = Cut(at.kappa, at.theta, math.inf)
    triples = jump_cover(epsilon, at, n, case.chords, case.rows)
    return n, at, case.gains_of(case.rows(triples), epsilon, choice)


def test_few_of_a_cover_have_a_sum(covered, monkeypatch) -> None:
    """One or two of a hundred types at each tilt, where moments tell the others from these."""
    n, at, gains = covered
    asked = []
    original = PositiveSums.log
    monkeypatch.setattr(PositiveSums, "log", lambda s, *a: asked.append(s) or original(s, *a))
    whole = family_of(gains, at.floor).mapped(lambda gain: np.where(gain > at.start, 0.0, gain))
    groups = groups_of(whole.types, math.inf)
    assert len(whole.types) > 50
    value = LargestSums(whole, groups).log(np.zeros(len(groups)), n, at.alpha, at.smooth)
    assert len(asked) <= 9
    each = one_by_one(whole, n, at.alpha, at.smooth)
    # The reservoir's spread may be left out.
    assert max(each) <= value.max() <= max(each) + 2e-3


@pytest.mark.parametrize(("sigma", "n"), [(1.0, 300), (1.0, 10_000), (0.5, 3_000), (2.0, 1_000)])
def test_about_is_near_the_bound(sigma: float, n: int) -> None:
    case = cases_of(sd.Gaussian(sigma=sigma), -60.0)[0][0]
    assert isinstance(case, IntervalCase)
    epsilon = 4.0 * case.spread / math.sqrt(n)
    for target, jumps in ((-9.0, 1e-3), (-15.0, 1e-4)):
        at = propose_alone(case, epsilon, target, n, jumps)
        assert at is not None
        gains = case.gains(epsilon, Cut(at.kappa, at.theta, math.inf))
        assert abs(log_about_alone(gains, n, at) - log_bound_alone(gains, n, at)) < 2e-3


def test_where_moments_do_not_say_it_sums_do() -> None:
    """Two users, and one large gain: no series in moments is near."""
    rng = np.random.default_rng(3)
    law = Measure(np.array([0.6999, 1e-4]), np.array([-0.1, 90.0]), 0.0, 0.0)
    gains = Family(random_law(rng, 0.3, 2), [law, law], [0.0, 0.0])
    for n in (2, 50):
        room = np.zeros(1)
        assert RoughSums(gains, [[0, 1]]).log(room, n, 0.05, 0.06) == LargestSums(
            gains, [[0, 1]]
        ).log(room, n, 0.05, 0.06)


@pytest.mark.parametrize(
    ("sigma", "n", "epsilon"),
    [(1.0, 10_000, 0.05), pytest.param(0.7, 1_000, 0.8, marks=pytest.mark.long)],
)
def test_jumps_are_chosen_as_sums_choose_them(
    sigma: float, n: int, epsilon: float, monkeypatch
) -> None:
    case = cases_of(sd.Gaussian(sigma=sigma), -40.0)[0][0]
    assert isinstance(case, IntervalCase)
    chosen = jumps_worth(case, epsilon, -20.0, n)
    module = "shuffledp.stealing.jump_proposal"
    monkeypatch.setattr(f"{module}.log_about_alone", log_bound_alone)
    assert jumps_worth(case, epsilon, -20.0, n) == chosen


def test_answers_are_alike_whatever_was_asked_before() -> None:
    """A curve is kept beside its side: what it learnt of other eps changes no bit."""

    def side():
        return analysis_named("lone-jump").make(sd.Gaussian(sigma=1.0), 10_000)

    asked, fresh = side(), side()
    asked.log_delta(0.053, width=1e-5)
    one, two = (each.log_delta(0.05, width=1e-5) for each in (asked, fresh))
    assert (one.value, one.witness) == (two.value, two.witness)
    assert one.value < -15.0


@pytest.mark.parametrize("types", [3, 30])
def test_what_is_not_a_number_is_no_bound(types: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it comes about: a type of which nothing is known may be the largest."""
    gains = family(np.random.default_rng(types), types)
    at = LargestSums(gains, [range(types)]), np.zeros(1), 200, 0.1, 1.0
    known = at[0].log(*at[1:])
    monkeypatch.setattr(jump_worst, "log_chernoff", lambda *_: math.nan)
    assert known[0] <= at[0].log(*at[1:])[0] < math.inf
    monkeypatch.setattr(PositiveSums, "log", lambda *_: math.nan)
    monkeypatch.setattr(jump_worst, "log_coarse_whole", lambda law, *_: np.full(len(law), math.nan))
    for name in ("log", "log_chernoff"):
        monkeypatch.setattr(Clusters, name, lambda law, *_: np.full(law.mass.size, math.nan))
    assert at[0].log(*at[1:])[0] == math.inf


def test_tilts_of_gains_beyond_the_floats_are_some_tilts():
    """Squares of gains overflowed: a warning from NumPy where noise is far above the interval."""
    one = np.ones(1)
    law = Measure(np.array([1e-200, 1.0]), np.array([1e200, -1e160]), 0.0, 0.0)
    alpha, _ = jump_proposal._saddles(Measure(one * 1e-3, -one, 0.0, 0.0), law, 1e11 * one, one)
    assert np.all(alpha > 0.0)
    assert np.all(np.isfinite(alpha))
