"""Label stealing of noise on an interval against exact data sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shuffledp.arithmetic.balls import ctx
from shuffledp.bounds.covers import Row
from shuffledp.bounds.interval import log_delta_on_interval
from shuffledp.bounds.stealing import Numbers
from shuffledp.propose.interval import Free, Laws, Sketch
from stealing.interval_noise import (
    NOISES,
    least_delta,
    noises,
    outputs,
    simple_cover,
)


def best_numbers(sketch: Sketch, n: int, eps: float, rng: np.random.Generator) -> Free:
    """Free numbers by trying many: among so few users no rule proposes any."""
    laws, found = Laws(sketch, n, eps, -3.0), []
    with np.errstate(all="ignore"):
        for _ in range(60):
            kappa, theta = float(rng.uniform(0.05, 0.95)), float(rng.uniform(0.05, 0.95))
            ceiling = float(np.exp(rng.uniform(0, 3))) if sketch.normal else math.inf
            found.append(laws.made(kappa, theta, ceiling, 1.0))
    return min(
        (one for one in found if math.isfinite(one.log_delta)), key=lambda one: one.log_delta
    )


@pytest.mark.many(10)
@noises
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("eps", [0.02, 0.3, 0.8])
def test_never_below_the_worst_data_set(normal: bool, width: float, n: int, eps: float) -> None:
    """Random, absurd and chosen free numbers and covers, against cells written independently."""
    rng = np.random.default_rng(int(1000 * eps) + n + 17 * NOISES.index((normal, width)))
    places = (0.0, 0.3, 1.0)
    pairs = [(1.0, 0.0), (0.0, 1.0), (1.0, 0.4), (0.4, 1.0)]
    others = list(itertools.combinations_with_replacement(places, n - 1))
    true = max(least_delta(x, pair, eps, width, normal=normal) for x in others for pair in pairs)
    sketch, at = Sketch(normal, width), outputs(width, normal=normal)
    chosen = best_numbers(sketch, n, eps, rng)
    for trial in range(4):
        free = chosen
        if trial:
            alpha, ceiling = float(np.exp(rng.uniform(-6, 3))), float(np.exp(rng.uniform(-3, 5)))
            split = float(rng.uniform(1e-3, 0.999)), float(rng.uniform(0.0, 1.0))
            free = Free(*split, alpha, ceiling if normal else math.inf, 1.0, -1.0)
        step = float(min(1.0 / free.deviation, 0.6 * free.alpha))
        top = float(free.ceiling) if normal else None
        one = Numbers(
            (float(free.kappa),),
            (float(free.theta),),
            float(free.alpha),
            0.3 / float(free.alpha),
            step,
            top,
        )
        made = simple_cover(width, normal=normal, cells=36)
        eta = tuple(float(x) for x in rng.uniform(0.05, 0.9, 4))
        made = made._replace(
            first=Row(made.first.places, eta),
            second=Row(made.first.places, eta[::-1]),
            middle=(1.0, 0.5, 0.0, 0.2)[trial],
        )
        if trial == 0 and n == 3:
            made = made._replace(third=())
            true = max(
                least_delta(x, pair, eps, width, normal=normal)
                for x in itertools.combinations_with_replacement((0.0, 1.0), n - 1)
                for pair in pairs[:2]
            )
        with ctx.workprec(80):
            two = not made.third
            found = log_delta_on_interval(at, made, one, n, eps, two_inputs=two)
            assert found >= math.log(true) - 1e-9


def test_the_chosen_bound_is_within_a_factor_of_the_truth() -> None:
    """The test above can fail: bounds among three users are a few times the truth."""
    rng, at = np.random.default_rng(3), outputs(1.0, normal=False)
    free = best_numbers(Sketch(normal=False, width=1.0), 3, 0.1, rng)
    step = float(min(1.0 / free.deviation, 0.6 * free.alpha))
    split = (float(free.kappa),), (float(free.theta),)
    one = Numbers(*split, float(free.alpha), 0.05 / float(free.alpha), step)
    made = simple_cover(1.0, normal=False)._replace(third=())
    with ctx.workprec(80):
        found = math.exp(log_delta_on_interval(at, made, one, 3, 0.1, two_inputs=True))
    true = max(
        least_delta(x, pair, 0.1, 1.0, normal=False)
        for x in ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
        for pair in ((1.0, 0.0), (0.0, 1.0))
    )
    assert true <= found <= 1.6 * true
