"""Nodes that are left out: |M(alpha + it)|^n there against balls, and what they come to."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from flint import acb, arb, ctx

from shuffledp.contour.integrand import integrand, summed
from shuffledp.contour.payoff import ONE_ROUND, ROUNDS
from shuffledp.contour.transform import Nodes
from shuffledp.divergence import PairProfile
from shuffledp.divergence import nodes as module
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.nodes import node_blocks
from shuffledp.divergence.returns import LEVEL, Returns
from shuffledp.divergence.tilt import Tilt, log_moment
from shuffledp.pair import ShuffledPair


def law_of(w, g, *, g_err=None, rel=0.0, lost=0.0):
    w, g = np.array(w, dtype=float), np.array(g, dtype=float)
    g_err = np.zeros_like(g) if g_err is None else np.array(g_err, dtype=float)
    low, high = min(0.0, float((g - g_err).min())), max(0.0, float((g + g_err).max()))
    mean = float((w * g).sum())
    mean_err = float((w * (rel * np.abs(g) + (1.0 + rel) * g_err)).sum()) * (1.0 + 1e-9)
    return GainLaw(w, g, g_err, rel, mean, mean_err, g > 0.0, low, high, lost=lost)


def tilt_of(law, n, alpha):
    log_m, _ = log_moment(law, alpha)
    return Tilt(alpha, log_m, n * log_m, False, 1.0)


def log_size(atoms, lost, n, tilt, t):
    """log |M(alpha + it)|^n less the scale, as a ball."""
    s = acb(arb(tilt.alpha), arb(t))
    rest = 1 - arb(lost) - sum((arb(w) for w, _ in atoms), arb(0))
    total = sum((acb(arb(w)) * (s * arb(g)).exp() for w, g in atoms), acb(rest))
    return n * abs(total).log() - arb(tilt.log_scale)


def random_case(seed):
    """A law as it is known, one that it may be in truth, and a row of nodes."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    g = rng.choice([1.0, -1.0], count) * 10.0 ** rng.uniform(-1, 1, count)
    if seed % 4 == 0:
        g = np.unique(rng.integers(1, 5, count)) * rng.choice([0.5, 1.0])
        count = g.size
    w = rng.dirichlet(np.ones(count + 1))[:count]
    rel = float(rng.choice([0.0, 1e-9, 0.05]))
    g_err = np.abs(g) * float(rng.choice([0.0, 1e-6, 1e-3]))
    lost = float(rng.choice([0.0, 1e-3])) * (1.0 - w.sum())
    if (w.sum() + lost) / (1.0 - rel) > 1.0:
        rel = 0.0
    true_w = w / (1.0 + rel * rng.choice([-1.0, 1.0], count))
    true_g = g + g_err * rng.choice([-1.0, 0.0, 1.0], count)
    n = int(10.0 ** rng.uniform(1.5, 6))
    law = law_of(w, g, g_err=g_err, rel=rel, lost=lost)
    alpha = float(rng.choice([0.01, 0.5]))
    return rng, law, n, tilt_of(law, n, alpha), list(zip(true_w, true_g, strict=True)), lost


@pytest.mark.many(40)
@pytest.mark.parametrize("seed", range(400))
def test_rows_that_are_left_out_are_small(seed):
    ctx.prec = 200
    rng, law, n, tilt, atoms, lost = random_case(seed)
    returns = Returns(law, n, tilt)
    columns = int(rng.integers(2, 40))
    step = returns.width() / columns * float(rng.choice([0.2, 1.0]))
    level = float(rng.choice([2.0, 10.0, LEVEL]))
    found = returns.rows(step, columns, 200, level)
    gone = np.setdiff1d(np.arange(200), found.kept)
    assert 0 in found.kept
    assert found.gone == columns * gone.size
    whole = log_size(atoms, lost, n, tilt, 0.0)
    # Both ends of rows next to kept ones, and of some others.
    next_to = gone[np.isin(gone - 1, found.kept) | np.isin(gone + 1, found.kept)]
    for row in {*next_to[:12], *gone[:: max(1, gone.size // 5)]}:
        for q in (0, columns - 1):
            t = (arb(int(row)) * columns + q) * arb(step)
            assert whole - log_size(atoms, lost, n, tilt, t) >= arb(level)


def test_the_bound_is_what_it_should_be():
    """Without errors n Y itself at the middle of a row, and at its ends about that of the ends."""
    law = law_of([0.3, 0.2], [1.0, -2.0])
    n, alpha = 10_000, 0.1
    returns = Returns(law, n, tilt_of(law, n, alpha))
    v = np.array([0.3 * math.exp(alpha), 0.2 * math.exp(-2 * alpha), 0.5])
    v, g = v / v.sum(), np.array([1.0, -2.0, 0.0])
    middle = np.linspace(0.01, 40.0, 300)
    pairs = np.cos(middle[:, None, None] * (g[:, None] - g[None, :])[None])
    exact = n * 0.5 * ((1.0 - pairs) * np.outer(v, v)).sum(axis=(1, 2))
    assert returns.exponents(middle, 0.0) == pytest.approx(exact, rel=1e-9, abs=1e-7)
    reach = 0.2 * returns.width()
    lowered = np.sqrt(exact) - math.sqrt(0.2**2 * LEVEL)
    assert np.sqrt(returns.exponents(middle, reach)) == pytest.approx(
        np.maximum(lowered, 0.0), rel=1e-6, abs=1e-4
    )


HALVES = law_of([0.5, 0.5], [1.0, -1.0], g_err=[0.01, 0.01])
WORST = {
    "gains that return later": (HALVES, 0.1, np.pi * np.arange(1, 12) / 1.01),
    "gains that return sooner": (HALVES, 0.1, np.pi * np.arange(1, 12) / 0.99),
    "masses smaller": (law_of([0.3, 0.3], [1.0, -1.0], rel=0.2), 0.1, np.arange(1, 30) * 0.05),
    "less at 0 by larger masses": (law_of([0.4, 0.4], [1.0, 3.0], rel=0.2), 0.01, [np.pi]),
    "fewer of one": (law_of([0.01, 0.2], [1.0, 2.0], rel=0.2), 0.01, [np.pi]),
    "next to nothing at 0": (law_of([0.3995, 0.5993], [1.0, 3.0], rel=1.19e-3), 0.01, [np.pi]),
    "less at 0 by more lost": (
        law_of([0.4, 0.4], [1.0, 3.0], rel=1e-2, lost=0.19),
        0.01,
        [np.pi],
    ),
    "less at 0 by what is lost": (law_of([0.45, 0.4], [1.0, 3.0], lost=0.1), 0.01, [np.pi]),
    "lighter when tilted": (law_of([0.01], [0.02], g_err=[0.003]), 100.0, [50.0]),
    "lighter among more": (
        replace(law_of([0.3, 0.3], [1.0, -1.0]), mean=-0.5, mean_err=0.5),
        0.2,
        [0.1, 1.0, 3.0],
    ),
}


def truths(law):
    """Laws that are known as this one is: gains and masses at the ends of their errors.

    Errors of masses are relative to the true ones.
    """
    for signs in itertools.product([-1.0, 0.0, 1.0], repeat=law.g.size):
        for sides in itertools.product([-1.0, 1.0], repeat=law.g.size):
            w, lost = law.w / (1.0 + law.rel * np.array(sides)), law.lost / (1.0 - law.rel)
            if math.fsum(w) + lost <= 1.0:
                yield list(zip(w, law.g + np.array(signs) * law.g_err, strict=True)), lost


def below_truth(law, alpha, middle, reach, n):
    """Whether |phi|^n at c, and reach beside it, is as small as said for all that it may be."""
    ctx.prec = 300
    exact = tilt_of(law, n, alpha)
    found = Returns(law, n, exact).exponents(np.array(middle, dtype=float), reach)
    for atoms, lost in truths(law):
        whole = log_size(atoms, lost, n, exact, 0.0)
        for c, bound in zip(middle, found, strict=True):
            # 0 says nothing, and a ball around it cannot be compared with it.
            for beside in (-1.0, 0.0, 1.0) if bound > 0.0 else ():
                t = arb(float(c)) + beside * arb(reach)
                if not whole - log_size(atoms, lost, n, exact, t) >= arb(float(bound)):
                    return False
    return True


@pytest.mark.parametrize("name", WORST)
def test_no_law_that_it_may_be_is_larger(name):
    law, alpha, middle = WORST[name]
    for reach in (0.0, 0.03):
        assert below_truth(law, alpha, middle, reach, 10_000)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_next_to_0_is_counted(seed):
    """Where n Y is a number although Y is less than a float's last place."""
    rng = np.random.default_rng(seed)
    count = (1, 3, 40, 200)[seed]
    w = rng.dirichlet(np.ones(count + 1))[:count]
    law = law_of(w, rng.normal(size=count))
    tilt, middle = tilt_of(law, 10**20, 1e-3), 10.0 ** rng.uniform(-13, -8, 60)
    found = Returns(law, 10**20, tilt).exponents(middle, 0.0)
    ctx.prec = 300
    atoms = list(zip(w, law.g, strict=True))
    whole = log_size(atoms, 0.0, 10**20, tilt, 0.0)
    for c, bound in zip(middle[found > 0.0], found[found > 0.0], strict=True):
        assert whole - log_size(atoms, 0.0, 10**20, tilt, float(c)) >= arb(float(bound))


def everything(monkeypatch, *arguments, **more):
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_ATOMS", 0)
        return list(node_blocks(*arguments, **more))


@pytest.mark.parametrize(
    ("w", "g"), [([0.1, 0.1], [53.1, -54.7]), ([0.6, 0.4], [1.0, -1.5]), ([0.2, 0.1], [3.0, -2.0])]
)
def test_sums_differ_by_what_was_left_out(w, g, monkeypatch):
    law = law_of(w, g)
    n, step, count = 1_000_000, 2e-5, 20_000
    tilt = tilt_of(law, n, 1e-4)
    some = list(node_blocks(law, n, tilt, step=step, count=count))
    whole = everything(monkeypatch, law, n, tilt, step=step, count=count)
    sizes = [sum(int(block.inside.sum()) for block in blocks) for blocks in (some, whole)]
    assert sizes[0] < 0.2 * sizes[1] == 0.2 * (count + 1)
    assert [block.first for block in some] == [True] + [False] * (len(some) - 1)
    at = np.concatenate([block.t[block.inside] for block in some])
    assert np.unique(np.round(at / step)).size == at.size
    totals = [sum((b.value * b.inside).sum() for b in blocks) for blocks in (some, whole)]
    errors = sum(float((b.err * b.inside).sum()) for blocks in (some, whole) for b in blocks)
    left_out = sum(block.left_out for block in some)
    each = (count + 1 - sizes[0]) * math.exp(-LEVEL)
    assert (1 - 1e-6) * each <= left_out <= 1.1 * each
    shifted = replace(tilt, log_m=tilt.log_m - 3.0 / n, log_scale=tilt.log_scale - 3.0)
    more = sum(b.left_out for b in node_blocks(law, n, shifted, step=step, count=count))
    assert more >= left_out * math.exp(3.0) * (1 - 1e-6)
    assert abs(totals[0] - totals[1]) <= left_out + errors


@pytest.mark.parametrize("payoff", [ONE_ROUND, ROUNDS])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("h", [0.001, 0.033, 0.1, 1.0, 2.0])
def test_what_was_left_out_is_in_both_errors(payoff, alpha, h):
    """As if each node that was left out had the modulus left_out and the worst place there is."""
    t = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 4000)]) / max(h, 1.0)
    one = Nodes(False, t, np.ones(t.shape, bool), np.ones(t.shape, complex), np.zeros(t.shape))
    worst = integrand(one, payoff, alpha, h)
    above, below = float(worst.size.max()), float(worst.size_low.max())
    empty = Nodes(True, t[:1], one.inside[:1], one.value[:1], one.err[:1], left_out=0.25)
    found = summed(iter([integrand(empty, payoff, alpha, h)]))
    bare = summed(iter([integrand(empty._replace(left_out=0.0), payoff, alpha, h)]))
    assert found.upper_err - bare.upper_err >= 0.5 * above
    assert found.lower_err - bare.lower_err >= 0.5 * below
    assert found.upper_err - bare.upper_err <= 0.5 * (1 + 1e-6)
    assert (found.upper, found.lower, found.mass) == (bare.upper, bare.lower, bare.mass)


def test_what_is_not_known_leaves_every_node_in():
    """Gains known to nothing, masses known to nothing, too few messages: no row is left out."""
    far = law_of([0.3, 0.2], [1.0, -2.0], g_err=[50.0, 50.0])
    vague = law_of([0.3, 0.2], [1.0, -2.0], rel=2.0)
    for law, n in ((far, 10**6), (vague, 10**6), (law_of([0.3, 0.2], [1.0, -2.0]), 40)):
        returns = Returns(law, n, tilt_of(law, n, 0.01))
        rows = returns.rows(1.0, 16, 100) if returns.usable else None
        assert rows is None or (rows.kept.size == 100 and rows.gone == 0)
    huge = law_of([0.3, 0.2], [1e120, -1e120])
    rows = Returns(huge, 100, tilt_of(huge, 100, 1e-121)).rows(1e200, 16, 100)
    assert rows.kept.size == 100


def test_rare_forms_and_cells_keep_every_node():
    law = law_of([0.1, 0.1], [53.1, -54.7])
    tilt = tilt_of(law, 10**6, 1e-4)
    zero = np.zeros(2)
    cells = replace(law, half_var=zero, third=zero, reach=zero + 1e-9, top=law.g)
    rare = replace(tilt, rare=True)
    for which, at, kept in ((law, tilt, False), (cells, tilt, True), (law, rare, True)):
        blocks = list(node_blocks(which, 10**6, at, step=2e-5, count=20_000))
        assert (sum(int(block.inside.sum()) for block in blocks) == 20_001) is kept
        assert any(block.left_out for block in blocks) is not kept


def test_what_is_known_of_the_axis_counts_for_what_is_left_out():
    """A far atom of no mass to speak of: bounds of growth say nothing, the value at t = 0 does."""
    far = 0.1 * math.sqrt(0.6e14)
    pair = ShuffledPair(
        w=np.array([0.3, 0.3, 0.4, 1e-17]),
        a=np.array([1.2, 0.8, 1.0, 0.0]),
        b=np.array([1.0, 1.0, 1.0, far]),
        n=10**14,
        rel=1e-6,
    )
    found = PairProfile(pair).log_delta(0.0, width=1e-4)
    assert found.width < 1e-3
