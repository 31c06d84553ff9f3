"""Many types at once around a jump: above the sums themselves, which are taken in balls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, ctx

import shuffledp as sd
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.stealing import cases_of, jump_curve, jump_worst
from shuffledp.stealing.choices import Cut
from shuffledp.stealing.jump_many import CLUSTER, Many
from shuffledp.stealing.jump_proposal import propose_alone
from shuffledp.stealing.jump_rough import log_about_alone, log_about_and_needed, needed
from shuffledp.stealing.jump_worst import contour_of
from shuffledp.stealing.jumps import Alone, Beside, log_bound_alone
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.noise import IntervalCase
from shuffledp.stealing.positive_sum import Contour, PositiveSums, log_chernoff, tilt


@pytest.fixture(autouse=True)
def _bits():
    with ctx.workprec(200):
        yield


def random_law(rng: np.random.Generator, mass: float, size: int) -> Measure:
    """Gains of every size, heavy ones rare; some of no mass."""
    gain = rng.normal(size=size) * np.exp(rng.uniform(-4.0, 1.5, size))
    masses = rng.dirichlet(np.ones(size)) / (1.0 + gain * gain)
    masses[rng.random(size) < 0.1] = 0.0
    return Measure(masses * (mass / masses.sum()), gain, 0.0, 0.0)


def ball_phi(law: Measure, alpha: float, t: float) -> tuple[arb, acb]:
    """Total mass and the transform at alpha + i t, in balls."""
    terms = [
        (arb(m) * (arb(alpha) * x).exp(), arb(x))
        for m, x in zip(law.mass.tolist(), law.gain.tolist(), strict=True)
    ]
    total = sum((w for w, _ in terms), arb(0))
    return total, sum((w * acb(0, arb(t) * x).exp() for w, x in terms), acb(0))


def square(law: Measure, alpha: float, t: float) -> arb:
    total, phi = ball_phi(law, alpha, t)
    return (phi.real**2 + phi.imag**2) / total**2


def ball_log_sum(common: Measure, law: Measure, n: int, at: Contour) -> arb:
    """log of ((c0 + d0)^n/n) (D/2 pi) sum psi^n w."""
    alpha, h = arb(at.alpha), arb(at.smoothing)
    c0, d0 = (ball_phi(one, at.alpha, 0.0)[0] for one in (common, law))
    total = arb(0)
    for j in range(at.nodes + 1):
        t = at.step * j
        first, second = (square(one, at.alpha, t) for one in (common, law))
        psi = (c0 * (1 + first) + d0 * (1 + second)) / (2 * (c0 + d0))
        term = psi**n * (h * h * (alpha * alpha - arb(t) ** 2) / 2).exp() / (alpha**2 + arb(t) ** 2)
        total += term if j == 0 else 2 * term
    return n * (c0 + d0).log() + (total * arb(at.step) / (2 * arb.pi()) / n).log()


@pytest.mark.parametrize("cluster", [1, 2, CLUSTER])
@pytest.mark.parametrize("seed", range(6))
def test_spreads_of_clusters_are_below_those_of_the_gains(seed: int, cluster: int) -> None:
    rng = np.random.default_rng(seed)
    laws = [random_law(rng, 1.0, int(rng.integers(1, 40))) for _ in range(3)]
    law = Many(laws, [0.0] * 3, cluster=cluster).tilted(0.3)
    at = Contour(0.3, 0.5, 0.07, 30)
    found = law._lower(at)
    for own, row, within in zip(laws, found, law.within, strict=True):
        for j, value in enumerate(row.tolist()):
            t = at.step * j
            exact = 1 - square(own, 0.3, t)
            assert arb(value) <= exact or value == 0.0
            # Within clusters as much is lost twice.
            assert value >= float(exact.mid()) - 2.0 * t * t * within - t**4 * within**2 - 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_many_are_above_the_sum_in_balls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 40, 3000, 10**6]))
    alpha = float(rng.uniform(0.3, 3.0)) / math.sqrt(n)
    common = random_law(rng, 0.2, 3)
    laws = [random_law(rng, 0.8, int(rng.integers(2, 25))) for _ in range(3)]
    excess = [float(abs(sum(map(arb, [*common.mass, *law.mass]), arb(-1))).upper()) for law in laws]
    law, first = Many(laws, excess).tilted(alpha), tilt(common, alpha)
    at = contour_of(n * law.variance(first), alpha, 0.3)._replace(nodes=25)
    found = law.log(first, n, at)
    for own, value, plain in zip(laws, found, law.log_chernoff(first, n, alpha, 0.3), strict=True):
        exact = ball_log_sum(common, own, n, at)
        assert arb(float(value)) >= exact
        # Without a sum: psi <= 1, at no more smoothing than there is.
        assert arb(float(plain)) >= exact
    fine = Many(laws, excess, cluster=1).tilted(alpha).log(first, n, at)
    sharp = [
        PositiveSums(first, n).log(tilt(own, alpha), x, at)
        for own, x in zip(laws, excess, strict=True)
    ]
    # One atom a cluster: the sum itself but for rounding.
    assert np.allclose(fine, sharp, rtol=1e-9, atol=1e-9)
    assert np.all(fine <= found + 1e-9)
    rough = Contour(alpha, 0.3 / alpha, 0.0, 0)
    plain = [
        log_chernoff(first, tilt(own, alpha), x, n, rough)
        for own, x in zip(laws, excess, strict=True)
    ]
    assert np.allclose(law.log_chernoff(first, n, alpha, 0.3), plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_powers_are_above_those_in_balls(seed: int) -> None:
    """By no more than rounding, and what is known without a sum is what one type's is."""
    rng = np.random.default_rng(seed)
    n, alpha = 10**12, float(rng.uniform(0.1, 2.0))
    common = random_law(rng, 0.2, 3)
    laws = [random_law(rng, 0.8, int(rng.integers(2, 60))) for _ in range(6)]
    excess = [float(abs(sum(map(arb, [*common.mass, *law.mass]), arb(-1))).upper()) for law in laws]
    law, first = Many(laws, excess).tilted(alpha), tilt(common, alpha)
    c0, _ = ball_phi(common, alpha, 0.0)
    for own, value in zip(laws, law._log_power(first, n), strict=True):
        exact = n * (c0 + ball_phi(own, alpha, 0.0)[0]).log()
        assert arb(float(value)) >= exact
        assert value <= float(exact.mid()) + 1e-13 * n * max(alpha, 1.0) * 60
    # What is known of a rise is counted, whatever it is.
    wider = law._replace(rise_err=law.rise_err + 1e-6)._log_power(first, n)
    assert np.all(wider >= law._log_power(first, n) + 1e-7 * n / np.exp(law._log_power(first, 1)))
    rough = Contour(alpha, 0.3 / alpha, 0.0, 0)
    each = [log_chernoff(first, tilt(own, alpha), 0.0, n, rough) for own in laws]
    assert np.allclose(law.log_chernoff(first, n, alpha, 0.3), each, rtol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_rounding_in_clusters_is_counted(seed: int) -> None:
    """Masses, their rises and what is left of the first order, against balls."""
    rng = np.random.default_rng(seed)
    law = random_law(rng, 1.0, 30)
    tilted = Many([law], [0.0]).tilted(0.7)
    exact, _ = ball_phi(law, 0.7, 0.0)
    plain = sum(map(arb, law.mass.tolist()), arb(0))
    assert abs(arb(float(tilted.rise[0])) - (exact - plain)) <= float(tilted.rise_err[0])
    assert tilted.rise_err[0] < 1e-12
    assert abs(arb(float(tilted.mass[0])) / exact - 1) <= tilted.rel
    order = np.argsort(law.gain, kind="stable")
    weight = law.mass[order] * np.exp(0.7 * law.gain[order])
    weight /= tilted.mass[0]
    mean = float(np.sum(weight * law.gain[order]))
    left = arb(0)
    for k in range(0, 30, CLUSTER):
        middle = arb(float(tilted.offsets[0, k // CLUSTER] + mean))
        terms = zip(weight[k : k + CLUSTER], law.gain[order][k : k + CLUSTER], strict=True)
        left += abs(sum((arb(float(w)) * (arb(float(x)) - middle) for w, x in terms), arb(0)))
    # The means themselves are the offsets, but for a unit of theirs.
    assert left <= float(tilted.rounding[0]) + 8 * UNIT_ROUNDOFF * float(
        np.abs(weight * law.gain[order]).sum()
    )
    off = np.abs(law.gain[order] - np.repeat(tilted.offsets[0] + mean, CLUSTER))
    assert 16 * UNIT_ROUNDOFF * float(weight @ off) <= tilted.rounding[0] < 1e-13


@pytest.mark.parametrize("seed", range(20))
def test_rounding_of_large_exponents_is_counted(seed: int) -> None:
    """alpha times a gain is off by its own rounding, up to 600 units."""
    law = random_law(np.random.default_rng(seed), 1.0, 9)
    alpha = 590.0 / float(law.gain.max())
    tilted = Many([law], [0.0]).tilted(alpha)
    exact, _ = ball_phi(law, alpha, 0.0)
    plain = sum(map(arb, law.mass.tolist()), arb(0))
    assert abs(arb(float(tilted.rise[0])) - (exact - plain)) <= float(tilted.rise_err[0])
    assert abs(arb(float(tilted.mass[0])) / exact - 1) <= tilted.rel
    assert tilted.rel < 1e-11


@pytest.fixture(scope="module")
def heavy():
    """Normal noise of half the interval among a million: gains too heavy for moments."""
    n, epsilon = 10**6, 0.06
    case = cases_of(sd.Gaussian(sigma=0.5), -60.0)[0][0]
    assert isinstance(case, IntervalCase)
    at = propose_alone(case, epsilon, -14.0, n, 1e-3)
    assert at is not None
    return case, n, epsilon, at


def gains_at(case: IntervalCase, epsilon: float, at: Alone):
    return case.gains(epsilon, Cut(at.kappa, at.theta, math.inf))


@pytest.mark.long
def test_few_types_have_a_sum_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two hundred types, at eighteen sums each: before all were looked at at once, 4000."""
    asked: list[int] = []
    original = PositiveSums.log
    monkeypatch.setattr(PositiveSums, "log", lambda s, *a: asked.append(1) or original(s, *a))
    moments: list[int] = []
    coarse = jump_worst.log_coarse_whole
    monkeypatch.setattr(
        jump_worst,
        "log_coarse_whole",
        lambda types, *a: moments.append(len(types)) or coarse(types, *a),
    )
    curve = jump_curve.jump_curve(
        lambda level: cases_of(sd.Gaussian(sigma=0.5), level)[0][0], 10**6
    )
    found = curve.log_delta(0.06)
    assert found is not None
    assert found.log_delta < -13.815
    assert sum(map(len, found.cover)) > 150
    assert len(asked) <= 300
    # Moments of all types only where those of one say enough.
    assert sum(count > 1 for count in moments) <= 3


def test_tilts_that_are_not_missed_are_left_out(heavy) -> None:
    case, n, epsilon, at = heavy
    gains = gains_at(case, epsilon, at)
    value, fewer = log_about_and_needed(gains, n, at)
    assert value == log_about_alone(gains, n, at)
    assert len(fewer.forward) + len(fewer.backward) <= len(at.forward) + len(at.backward) - 4
    assert set(fewer.forward) <= set(at.forward)
    assert set(fewer.backward) <= set(at.backward)
    assert value <= log_about_alone(gains, n, fewer) <= value + 1e-4
    assert log_bound_alone(gains, n, fewer) <= log_bound_alone(gains, n, at) + 1e-4
    assert fewer._replace(forward=at.forward, backward=at.backward) == at


def test_the_tilts_that_are_missed_the_least_go_first() -> None:
    mass = np.array([1.0, 1.0])
    each = np.array([[1.0, 5.0], [4.0, 1.0], [1.1, 1.1], [9.0, 9.0]])
    tilts = [Beside(mass, each)]
    assert needed(tilts, 3, 0.0) == {0, 1}
    assert needed(tilts, 3, 2.9) == {0, 1}
    # 5.0 with the second alone, 6.0 with the first.
    assert needed(tilts, 3, 3.1) == {1}
    # A forward one stays, whatever it is worth.
    assert needed([Beside(mass, each[::-1])], 1, 100.0) >= {0}
    # What one kind of jumps does not need another may.
    other = Beside(mass, np.array([[9.0, 9.0], [9.0, 9.0], [9.0, 9.0], [1.0, 1.0]]))
    assert 3 in needed([*tilts, other], 3, 0.5)


@pytest.mark.parametrize(
    ("sigma", "n", "cap"),
    [(1.0, 10_000, 0.06), pytest.param(0.5, 10**6, 0.075, marks=pytest.mark.long)],
)
def test_two_certified_bounds_lead_to_an_eps(
    sigma: float, n: int, cap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    original = jump_curve.log_bound_alone
    monkeypatch.setattr(jump_curve, "log_bound_alone", lambda *a: asked.append(1) or original(*a))
    curve = jump_curve.jump_curve(lambda level: cases_of(sd.Gaussian(sigma=sigma), level)[0][0], n)
    found = curve.epsilon(math.log(1e-6), cap=cap)
    assert found is not None
    assert math.log(1e-6) - 2e-4 < found.log_delta <= math.log(1e-6)
    assert len(asked) <= 2


class _Known:
    """In the place of sums of one type and of many: values that are known."""

    n, alpha, smooth, common = 10, 0.1, 0.06, None

    def __init__(self, values: np.ndarray, above: np.ndarray) -> None:
        self.values, self.above, self.types = values, above, values.size
        self.asked: list[int] = []
        self.rows = list(range(values.size))

    def __call__(self):
        return self

    def some(self, rows):
        found = _Known(self.values, self.above)
        found.rows = rows
        return found

    def variance(self, common):
        return 1.0 if common is None else math.nan

    def log(self, first, *rest, **how):
        if first is None:
            # All at once.
            return self.values[self.rows] + self.above[self.rows]
        self.asked.append(first)
        return float(self.values[first])


@pytest.mark.parametrize("refines", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_type_is_left_out_that_is_larger_by_however_little(seed: int, refines: bool) -> None:
    rng = np.random.default_rng(seed)
    near = 10.0 ** -float(rng.integers(0, 13))
    values = rng.normal(size=12) * near
    known: Any = _Known(values, np.abs(rng.normal(size=12)) * near)
    worst = jump_worst._Worst(known)
    worst.many, worst.refines = known, refines
    worst.know(values + near * rng.exponential(size=12))
    worst.sharp(0, -math.inf)
    for group in ([0, 1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11]):
        least = float(rng.choice([-math.inf, 0.0, float(values[group].max()) - 1e-9]))
        assert worst.of(group, least) == max(least, float(values[group].max()))
    assert len(set(known.asked)) == len(known.asked)
