"""The positive sum against numerical integration of J, and each of its error terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from scipy.integrate import quad

from shuffledp.stealing.bound import completed
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import (
    MOST_NODES,
    Contour,
    PositiveSums,
    Tilted,
    log_chernoff,
    spreads,
    tilt,
)

N = 200


def laws() -> tuple[Measure, Measure]:
    reservoir = Measure(np.array([0.05, 0.1]), np.array([0.8, -0.6]), 0.0, 0.0)
    labelled = Measure(np.array([0.3, 0.35, 0.2]), np.array([1.0, -1.2, 0.1]), 0.0, 0.0)
    return reservoir, labelled


def exact_log_j(reservoir: Measure, labelled: Measure, alpha: float, h: float) -> float:
    """log of 1/(2 pi n) int [(|c| + |d|)^n - |d|^n] w."""

    def both(t: float) -> tuple[float, float]:
        s = complex(alpha, t)
        return (
            abs(np.sum(reservoir.mass * np.exp(s * reservoir.gain))),
            abs(np.sum(labelled.mass * np.exp(s * labelled.gain))),
        )

    def integrand(t: float) -> float:
        c, d = both(t)
        w = math.exp(0.5 * h * h * (alpha * alpha - t * t)) / (alpha * alpha + t * t)
        return ((c + d) ** N - d**N) * w

    value, _ = quad(integrand, 0.0, 60.0 / h, limit=4000, epsabs=0.0, epsrel=1e-10)
    return math.log(value / (math.pi * N))


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("step", [0.01, 0.05, 0.2, 1.0])
def test_above_the_integral_at_any_step(alpha: float, step: float) -> None:
    reservoir, labelled = laws()
    h = 0.3 / alpha
    at = Contour(alpha, h, step * alpha, math.ceil(4.0 / (h * step * alpha)))
    pair = tilt(reservoir, alpha), tilt(completed(labelled, reservoir), alpha)
    truth = exact_log_j(reservoir, completed(labelled, reservoir), alpha, h)
    value = PositiveSums(pair[0], N).log(pair[1], 1e-15, at)
    assert truth <= value <= log_chernoff(*pair, 1e-15, N, at)
    if step <= 0.05:
        # psi in place of the modulus costs a per cent of J at n = 200.
        assert value <= truth + 0.02


@pytest.mark.parametrize("nodes", [1, 3, 10])
def test_few_nodes_are_still_above(nodes: int) -> None:
    reservoir, labelled = laws()
    alpha, h = 0.1, 2.0
    pair = tilt(reservoir, alpha), tilt(completed(labelled, reservoir), alpha)
    truth = exact_log_j(reservoir, completed(labelled, reservoir), alpha, h)
    assert truth <= PositiveSums(pair[0], N).log(pair[1], 1e-15, Contour(alpha, h, 0.05, nodes))


def test_what_is_missing_is_at_the_top() -> None:
    reservoir, labelled = laws()
    whole = completed(labelled, reservoir)
    assert math.fsum([*whole.mass, *reservoir.mass]) >= 1.0
    assert whole.gain[-1] == 1.0 >= max(reservoir.gain)
    doubtful = Measure(labelled.mass, labelled.gain, 0.0, 0.1)
    # With masses known to a tenth only, no left-over is certain.
    assert completed(doubtful, reservoir).mass[-2] == 0.0


def test_huge_losses_do_not_spoil_the_sum() -> None:
    reservoir, labelled = laws()
    far = Measure(np.append(labelled.mass, 1e-3), np.append(labelled.gain, -1e100), 0.0, 0.0)
    at = Contour(0.1, 3.0, 0.01, 200)
    pair = tilt(reservoir, 0.1), tilt(completed(far, reservoir), 0.1)
    value = PositiveSums(pair[0], N).log(pair[1], 1e-15, at)
    plain = tilt(reservoir, 0.1), tilt(completed(labelled, reservoir), 0.1)
    assert math.isfinite(value)
    assert value <= PositiveSums(plain[0], N).log(plain[1], 1e-15, at) + 1e-9


@pytest.mark.parametrize("n", [10**4, 10**9, 10**15])
def test_rounding_stays_small_at_any_n(n: int) -> None:
    """Gains of order one, alpha of order 1/sqrt n: the bound is within 1 % of the normal limit."""
    reservoir, labelled = laws()
    whole = completed(labelled, reservoir)
    mean = float(reservoir.mass @ reservoir.gain + whole.mass @ whole.gain)
    reservoir = Measure(reservoir.mass, reservoir.gain - mean, 0.0, 0.0)
    whole = Measure(whole.mass, whole.gain - mean, 0.0, 0.0)
    alpha = 2.0 / math.sqrt(n)
    at = Contour(alpha, 0.05 / alpha, 0.3 * alpha, 300)
    value = PositiveSums(tilt(reservoir, alpha), n).log(tilt(whole, alpha), 4e-16, at)
    larger = PositiveSums(tilt(reservoir, alpha), n + n // 1000).log(tilt(whole, alpha), 4e-16, at)
    assert math.isfinite(value)
    assert abs(larger - value) < 0.05


@pytest.mark.parametrize(
    ("atoms", "scale", "step", "nodes"),
    [
        (5, 1.0, 1e-9, 50),
        (300, 1.0, 0.01, 90),
        (40, 1e3, 1e-3, 60),
        (3, 1.0, 2.0, 200),
        # Squares of such gains are no floats.
        (97, 1e-170, 3e168, 200),
    ],
)
def test_spreads_are_below_the_truth_in_balls(
    atoms: int, scale: float, step: float, nodes: int
) -> None:
    """1 - |phi|^2 by giant and baby steps, at every node; and next to nothing below."""
    rng = np.random.default_rng(atoms)
    mass = rng.random(atoms)
    law = tilt(Measure(mass / mass.sum(), scale * rng.standard_normal(atoms), 0.0, 0.0), 1e-9)
    found = spreads(law, step, nodes)
    assert found.shape == (nodes + 1,)
    before, ctx.prec = ctx.prec, 200
    try:
        for j in range(1, nodes + 1, max(1, nodes // 20)):
            t = arb(step) * j
            atom = zip(law.weights.tolist(), law.offsets.tolist(), strict=True)
            each = [(arb(p), t * arb(x)) for p, x in atom]
            total = sum((p for p, _ in each), arb(0))
            real = sum((p * angle.cos() for p, angle in each), arb(0))
            imag = sum((p * angle.sin() for p, angle in each), arb(0))
            truth = total * total - real * real - imag * imag
            assert arb(float(found[j])) <= truth
            assert float(found[j]) >= float(truth) * (1.0 - 1e-8)
    finally:
        ctx.prec = before


def test_a_labelled_part_that_is_next_to_nothing() -> None:
    """Beside a reservoir of almost all mass its share is not what is left of one."""
    n = 10**15
    common = Tilted(1.0, 0.0, 0.0, np.ones(1), np.zeros(1), 0.0)
    label = Tilted(1.0 / n, 0.0, 0.0, np.full(2, 0.5), np.array([-1.0, 1.0]), 0.0)
    at = Contour(0.01, 0.3, 0.5, 40)
    t = at.step * np.arange(at.nodes + 1)
    lost = 0.5 * np.sin(t) ** 2 / (n + 1.0)
    terms = np.exp(-n * lost + 0.5 * at.smoothing**2 * (at.alpha**2 - t * t)) / (
        at.alpha**2 + t * t
    )
    sums = (2.0 * math.fsum(terms) - float(terms[0])) * at.step / (2.0 * math.pi)
    found = PositiveSums(common, n).log(label, 1.0 / n, at)
    assert found >= math.log(sums) - math.log(n) + n * math.log1p(1.0 / n) - 1e-9


def test_contours_have_no_more_nodes_than_there_may_be() -> None:
    """Of steps far below the tilt they would be billions: gigabytes for one sum."""
    narrow = Contour(alpha=1.0, smoothing=0.04, step=1e-7, nodes=MOST_NODES)
    made = [narrow.smoothed(0.08), *narrow.rougher()]
    assert all(at.nodes <= MOST_NODES for at in made)
