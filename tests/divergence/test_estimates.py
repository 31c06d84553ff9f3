"""What certifies nothing but decides how much work is done: tilts, estimates, layers, requests."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sd
from divergence.laws import random_case
from shuffledp.divergence import PairProfile
from shuffledp.divergence.cells import _groups
from shuffledp.divergence.estimate import Coarse, rough_log_expectation, rough_parts, total_of
from shuffledp.divergence.gain import (
    atom_gains,
    cell_gains,
    compressed_gains,
    mean_law,
    part_below,
    trimmed,
)
from shuffledp.divergence.layers import ROUGH_CELLS, Hint, divides
from shuffledp.divergence.tilt import _bisected, find_tilt, solve_tilt, tilted_law
from shuffledp.reductions import blanket_pair

GAUSSIANS = [(0.2, 10**6), (0.5, 10**4), (1.0, 30), (1.0, 10**4), (1.0, 10**8), (3.0, 10**5)]
LEVEL = -60.0


def gaussian_pair(sigma, n):
    mechanism = sd.Gaussian(sigma=sigma)
    return blanket_pair(mechanism, *mechanism.worst_pairs().pairs[0], n=n, cells=1 << 15)


def laws():
    rng = random.Random(4)
    for n in (2, 30, 10**4, 10**9):
        for _ in range(6):
            case = random_case(rng, atoms=rng.randint(2, 6), n=n, decades=rng.choice([1.0, 8.0]))
            yield atom_gains(case.pair, case.epsilon), n
    for sigma, n in GAUSSIANS:
        for epsilon in (1e-4, 0.1, 1.0):
            cells = cell_gains(trimmed(gaussian_pair(sigma, n), epsilon, LEVEL), epsilon)
            yield mean_law(cells, most=300), n


def test_tilts_solve_their_equation():
    """alpha F' = 2, by Newton's rule as by bisection; where there is a solution in range."""
    solved = 0
    for law, n in laws():
        if not float(law.g.min()) < 0.0 < float(law.g.max()):
            continue
        for whole in (True, False):
            alpha = solve_tilt(law, n, whole=whole)
            start = math.log(2.0 / float(law.g.max()))
            other = _bisected(law, n, start, whole=whole)
            assert abs(math.log(alpha / other)) < 6e-3
            solved += abs(tilted_law(law, n, alpha, whole=whole).slope - 2.0) < 0.05
    assert solved > 60


def test_curvature_is_the_derivative_of_the_slope():
    """d(alpha F')/d log alpha = alpha F' + alpha^2 F''."""
    compared = 0
    for law, n in laws():
        for threshold in (0.0, float(np.median(law.g[law.g > 0.0])) if law.high > 0.0 else 0.0):
            split = law.with_active_above(threshold)
            if not bool(split.active.any()) or bool(split.active.all()):
                continue
            for whole in (True, False):
                alpha = solve_tilt(split, n, whole=whole)
                step = 1e-4
                low, high = (
                    tilted_law(split, n, alpha * math.exp(d), whole=whole).slope
                    for d in (-step, step)
                )
                at = tilted_law(split, n, alpha, whole=whole)
                if not at.log_ratio > 1e-6:
                    continue
                expected = (high - low) / (2.0 * step)
                assert at.slope + at.curvature == pytest.approx(expected, rel=1e-3, abs=1e-4)
                compared += 1
    assert compared > 60


@pytest.mark.many(1)
@pytest.mark.parametrize(("sigma", "n"), GAUSSIANS)
def test_estimates_of_cells_are_near_the_brackets(sigma, n):
    """Within a tenth of delta near the crossing of 1e-6, heavy tails included."""
    pair = gaussian_pair(sigma, n)
    profile = PairProfile(pair)
    epsilon = sd.shuffle(sd.Gaussian(sigma=sigma), n=n, rtol=1e-3).epsilon(delta=1e-6).upper
    for part in (0.9, 1.0):
        found = profile.log_delta(part * epsilon, width=1e-2)
        assert abs(profile.rough_log_delta(part * epsilon) - found.high) < 0.25


@pytest.mark.long
def test_estimates_of_atoms_are_near_the_brackets():
    compared = 0
    rng = random.Random(11)
    for _ in range(40):
        n = rng.choice([10**3, 10**5, 10**10])
        case = random_case(rng, atoms=4, n=n, reach=1.0)
        law = atom_gains(case.pair, case.epsilon)
        found = PairProfile(case.pair).log_delta(case.epsilon, width=1e-3)
        if case.pair.outside.size or not -600.0 < found.low < -2.0:
            continue
        rough = rough_log_expectation(law, n) - math.log(n)
        assert abs(rough - found.high) < 0.3
        compared += 1
    assert compared >= 8


def test_far_in_the_normal_tail_nothing_cancels():
    """delta = 1e-14 at n = 1e12: the estimate is as good as anywhere."""
    pair = blanket_pair(sd.BinaryRR(eps0=4.0), 0, 1, n=10**12)
    profile = PairProfile(pair)
    found = profile.log_delta(5.79e-5, width=1e-5)
    assert abs(profile.rough_log_delta(5.79e-5) - found.high) < 1e-4


def test_estimates_follow_delta_down():
    """Below the first level more of the far cells are looked at."""
    profile = PairProfile(gaussian_pair(1.0, 10**4))
    for epsilon, least in ((0.2, -100.0), (0.5, -300.0)):
        rough, found = profile.rough_log_delta(epsilon), profile.log_delta(epsilon)
        assert abs(rough - found.high) < 2.0
        assert least < rough < -20.0


def test_layers_divide_and_add_up():
    for sigma, n in ((0.2, 10**6), (0.5, 10**4), (1.0, 10**4)):
        law = Coarse(gaussian_pair(sigma, n), LEVEL).law(0.06)
        assert law.g.size <= ROUGH_CELLS
        cuts = Hint().of(law, n)
        assert cuts == sorted(cuts)
        assert cuts
        assert divides(cuts, law.g, law.g)
        parts = rough_parts(law, n, cuts)
        assert len(parts) == len(cuts) + 1
        assert total_of(parts) >= max(part.value for part in parts)
        # Each split-off layer is looked at relative to a smaller scale than all of it was.
        whole = rough_parts(law, n, [])[0]
        assert max(part.scale for part in parts) < whole.scale


def test_hints_that_no_longer_divide_are_dropped():
    law = Coarse(gaussian_pair(1.0, 10**4), LEVEL).law(0.06)
    hint = Hint([float(law.g.max()) * 2.0])
    assert not divides(hint.cuts, law.g, law.g)
    assert divides(hint.of(law, 10**4), law.g, law.g)
    known = list(hint.cuts)
    assert hint.of(law, 10**4) == known
    assert divides([], law.g, law.g)


def test_parts_below_lose_the_rest():
    law = Coarse(gaussian_pair(1.0, 10**4), LEVEL).law(0.06)
    part = part_below(law, 5.0)
    assert float(part.g.max()) <= 5.0 < float(law.g.max())
    assert part.w.sum() + part.lost == pytest.approx(law.w.sum() + law.lost, rel=1e-12)
    assert part.mean == pytest.approx(float((part.w * part.g).sum()), abs=1e-9)
    assert find_tilt(part, 10**4).alpha > find_tilt(law, 10**4, allow_rare=False).alpha


class Counted(PairProfile):
    """Counts what is asked for."""

    def __init__(self, pair):
        super().__init__(pair)
        self.widths = []

    def _compute(self, epsilon, width):
        self.widths.append(width)
        return super()._compute(epsilon, width)


@pytest.mark.parametrize(
    "pair",
    [
        gaussian_pair(1.0, 10**6),
        gaussian_pair(3.0, 10**5),
        blanket_pair(sd.KRR(k=10, eps0=3.0), 0, 1, n=10**8),
        blanket_pair(sd.BinaryRR(eps0=4.0), 0, 1, n=10**12),
    ],
)
def test_few_narrow_brackets_do(pair):
    """From delta to eps: at most two narrow brackets, a handful in all, and the width is met."""
    from shuffledp.divergence import solve_epsilon

    profile = Counted(pair)
    found = solve_epsilon([profile], math.log(1e-6), cap=math.inf, rtol=1e-6, need_all=True)
    assert found.high - found.low <= 1e-6 * found.high
    narrow = [width for width in profile.widths if width < 1e-3]
    assert len(narrow) <= 2
    assert len(profile.widths) <= 7
    # The claimed end is one that was evaluated, so that evaluating it again meets the target.
    assert profile.log_delta(found.high, width=min(narrow)).high <= math.log(1e-6)


@pytest.mark.parametrize("alpha", [1e-200, 1.0, 1e120, 1e300])
def test_any_tilt_gives_a_number_of_groups(alpha):
    """Far down tilts leave the range in which their cubes are floats."""
    cells = cell_gains(trimmed(gaussian_pair(1.0, 10**4), 0.06, LEVEL), 0.06)
    law = compressed_gains(cells, rel=1e-13, tilt=1e-3, groups=100)
    tilt = replace(find_tilt(law, 10**4), alpha=alpha)
    for whole in (True, False):
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = _groups(law, tilt, 10**4, 1e-6, whole=whole)
        assert 100 <= found <= 6000
