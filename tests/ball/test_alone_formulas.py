"""Every term of the verifier's bound with one distinguished gain, against its formula in floats."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from scipy.stats import norm

import shuffledp as sd
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.alone import _covered, _Free, _Laws, _laws, _log_bound, _split
from shuffledp.ball.spans import Triple, noise_on
from stealing.one_jump import Formula, toy

# What moments in place of cosines add.
SLACK = 1e-4
# Cells of noise: hockey-stick divergences of the ends, and masses.
CELLS = 2e-3


def in_balls(common, types, n, numbers, tilts):
    with ctx.workprec(128):
        start, ceiling, floor = (arb(numbers[k]) for k in ("start", "ceiling", "floor"))
        alpha, forward, backward = tilts
        half = arb("0.5")
        at = _Free(half, half, start, ceiling, floor, alpha, 0.1, forward, backward)
        laws = [_split([(arb(m), arb(x)) for m, x in law], at) for law in (common, *types)]
        empty = (1 - sum((arb(m) for m, _ in common), arb(0))) ** (n - 2)
        return math.exp(_log_bound(_Laws(laws[0], laws[1:], empty, arb(0)), at, n))


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_that_of_the_theorem(seed):
    rng = random.Random(seed)
    common, types, n, numbers = toy(rng)
    alpha, forward = rng.choice([0.1, 0.3]), (rng.choice([0.05, 0.15]),)
    backward = rng.choice([(), (0.2,), (0.1, 0.4)])
    wanted = Formula(common, types, n, **numbers).value(alpha, forward, backward)
    found = in_balls(common, types, n, numbers, (alpha, forward, backward))
    assert wanted * (1.0 - 1e-6) <= found <= wanted * (1.0 + SLACK)


@pytest.mark.parametrize(("sigma", "n"), [(0.7, 60), (1.5, 400)])
def test_measures_of_normal_noise(sigma, n):
    """Masses and means of reservoir and labels, and what is paid, in closed form."""
    kappa, theta, epsilon = 0.3, 0.2, 0.4
    grow = math.exp(epsilon)
    with ctx.workprec(128):
        noise = noise_on(sd.Gaussian(sigma=sigma).to_dict(), -30.0)
        numbers = (arb(x) for x in (kappa, theta, 1e9, 1e9, 1e9))
        at = _Free(*numbers, 0.1, 0.1, (0.1,), ())
        triple = Triple(Fraction(1), Fraction(0), Fraction(0), None, 0)
        laws = _laws(noise, [triple], at, arb(grow), n)
        blanket = 2.0 * norm.cdf(-0.5 / sigma)
        common, label = laws.common.small, laws.types[0].small
        mass = [float(sum(m for m, _ in law).mid()) for law in (common, label)]
        mean = [float(sum(m * x for m, x in law).mid()) for law in (common, label)]
    assert mass == pytest.approx([kappa * blanket, 1.0 - kappa * blanket], rel=CELLS)
    # int g = 1 - e^eps, of which the reservoir has a share theta.
    assert mean == pytest.approx([theta * (1.0 - grow), (1.0 - theta) * (1.0 - grow)], rel=CELLS)
    # Of the labels the left-over is at gain 0, and losses reach down to -e^eps over what is shown.
    least = min(float(x.mid()) for m, x in label if m > 0)
    assert least == pytest.approx(-grow * (1.0 - theta) / (1.0 - kappa), rel=CELLS)
    empty = (1.0 - kappa * blanket) ** (n - 2)
    assert float(laws.empty.mid()) == pytest.approx(empty, rel=1e-2)
    d = 1.0 / sigma
    positive = norm.cdf(0.5 * d - epsilon / d) - grow * norm.cdf(-0.5 * d - epsilon / d)
    paid = (1.0 - theta) * positive * empty
    assert float(laws.paid.mid()) == pytest.approx(paid, rel=2e-2)
    assert laws.paid >= arb(paid) * (1 - arb(1e-9))


def test_outputs_outside_the_cells_are_paid():
    """Of x0's outputs, whether it joins or steals: where cells reach only so far, most of it."""
    kappa, theta = 0.3, 0.2
    with ctx.workprec(128):
        noise = replace(noise_on(sd.Gaussian(sigma=1.0).to_dict(), -3.0), far=Fraction(2))
        at = _Free(*(arb(x) for x in (kappa, theta, 1e9, 1e9, 1e9)), 0.1, 0.1, (0.1,), ())
        triple = Triple(Fraction(1), Fraction(0), Fraction(0), None, 0)
        laws = _laws(noise, [triple], at, arb(2), 10**4)
    outside = 2.0 * norm.sf(float(noise.far))
    assert float(laws.empty) < 1e-9 < outside
    assert outside * 0.999 <= float(laws.paid) <= outside * 1.001


def test_each_place_of_a_cover_reaches_both_neighbours():
    places = {"second": [0.0, 0.5, 0.625, 1.0], "first": [0.0, 0.25, 1.0], "others": [0.0, 1.0]}
    with ctx.workprec(128):
        noise = noise_on(sd.Gaussian(sigma=1.0).to_dict(), -30.0)
        found = _covered(noise, places)
    assert [(float(t.x0), float(t.x1), float(t.x)) for t in found] == [
        *((1.0, v, 0.0) for v in places["second"]),
        *((u, 1.0, 0.0) for u in places["first"]),
        *((1.0, 0.0, x) for x in places["others"]),
    ]
    bends = [t.bend for t in found]
    assert [float(bend.melting) for bend in (*bends[:4], *bends[7:])] == [
        0.5, 0.5, 0.375, 0.375, 1.0, 1.0
    ]  # fmt: skip
    raised = [8.0 * math.log(float(bend.factor.mid())) for bend in bends[4:7]]
    assert raised == pytest.approx([0.25**2, 0.75**2, 0.75**2])
    assert [bend.row for bend in bends] == [1] * 4 + [0] * 3 + [2] * 2
