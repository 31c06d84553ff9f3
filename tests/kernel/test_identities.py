"""The kernel's sums against what they are equal to, number by number.

An end is true for any contour, so that a wrong step, period or weight may cost nothing but width in
most questions. Here every sum is compared with the series or the sum that its theorem says it is
equal to, computed in another way.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.kernel import AtLeastOne, Contour, Draws, expect
from shuffledp.kernel.blocks import BLOCK, Nodes
from shuffledp.kernel.contour import Kernel
from shuffledp.kernel.linear_test import DataSets, LinearTest, advantage
from shuffledp.kernel.positive_sum import Group, Line, alone, positive_sum, tilted

LAW = [(0.2, -1.5), (0.5, -0.25), (0.25, 0.75), (0.05, 2.0)]
RARE = [(0.01, 3.5), (0.002, 5.0)]
OTHER = [(0.6, -0.5), (0.4, 0.625)]


def phi(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def smoothed(y, h, gap):
    """The payoff above f and the one below it, from their definitions."""
    if gap == 0:
        above = y * cdf(y / h) + h * phi(y / h)
        return above, above - h * phi(y / h)
    above = cdf(y / h + h / 2) - math.exp(-y) * cdf(y / h - h / 2)
    return above, above - h * math.exp(h * h / 8) * phi(y / h + h / 2)


def sums(law, n):
    """Every sum of n draws with its mass."""
    for chosen in itertools.product(law, repeat=n):
        yield sum(x for _, x in chosen), math.prod(m for m, _ in chosen)


def outcomes(kind):
    """(sum, mass) of the draws of one test."""
    if kind == "one law":
        return list(sums(LAW, 4))
    if kind == "two laws":
        both = itertools.product(sums(LAW, 2), sums(OTHER, 3))
        return [(x + y, m * k) for (x, m), (y, k) in both]
    return [(x, m) for x, m in sums(LAW + RARE, 3)] + [(x, -m) for x, m in sums(LAW, 3)]


def draws(law, n):
    return Draws([arb(m) for m, _ in law], [arb(x) for _, x in law], n)


def summands(kind):
    if kind == "one law":
        return [draws(LAW, 4)]
    if kind == "two laws":
        return [draws(LAW, 2), draws(OTHER, 3)]
    return [AtLeastOne(draws(LAW, 3), draws(RARE, 3))]


def peak(b, gap):
    """sup of f(y) e^(-b y)."""
    return 1 / (math.e * b) if gap == 0 else b**b / (1 + b) ** (1 + b)


@pytest.mark.many(9)
@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("kind", ["one law", "two laws", "layer"])
@pytest.mark.parametrize("shift", [0.0, 0.75, -0.5])
def test_both_ends_are_the_series_of_aliases(kind, gap, shift):
    """Theorem 6.4: the upper end is the sum over k of e^(-k alpha L) E psi(S - shift + k L).

    The lower one is the same with the payoff below, less the bound of its aliases. Three periods:
    aliases of either sign have to show.
    """
    all_of_them = outcomes(kind)
    for period in (4.0, 7.0, 19.0):
        at = Contour(0.7, 0.4, period, 1e-14, 0.3, 1.6)
        low, high = expect(summands(kind), at, gap=gap, shift=arb(shift) if shift else None)
        series = [0.0, 0.0]
        for k in range(-30, 90):
            weight = math.exp(-k * at.alpha * period)
            for x, mass in all_of_them:
                y = x - shift + k * period
                if abs(y) > 60 and y < 0:
                    continue
                for i, value in enumerate(smoothed(y, at.smoothing, gap)):
                    series[i] += weight * mass * value
        bound = 0.0
        for b in (at.below, at.above):
            moment = sum(m * math.exp(b * (x - shift)) for x, m in all_of_them)
            ratio = math.exp(-abs(b - at.alpha) * period)
            bound += moment * peak(b, gap) * ratio / (1 - ratio)
        assert float(high) == pytest.approx(series[0], rel=1e-10, abs=1e-12)
        assert float(low) == pytest.approx(series[1] - bound, rel=1e-10, abs=1e-12)


def test_what_is_at_zero_for_certain_costs_no_smoothing():
    """The smoothed payoff at 0 is h/sqrt(2 pi), where y_+ is 0: it is taken off the upper end.

    Not in several rounds, where it is less, and not where a shift moves the kink elsewhere.
    """
    law, at = [(0.75, 0.0), (0.25, 1.0)], Contour(0.7, 0.4, 60.0, 1e-14, 0.3, 1.6)
    for gap, shift in ((0, 0.0), (1, 0.0), (0, 0.25), (1, 0.25)):
        found = expect([draws(law, 3)], at, gap=gap, shift=arb(shift) if shift else None)
        series = sum(m * smoothed(x - shift, 0.4, gap)[0] for x, m in sums(law, 3))
        less = 0.75**3 * 0.4 / math.sqrt(2 * math.pi) if gap == 0 and shift == 0.0 else 0.0
        assert float(found[1]) == pytest.approx(series - less, rel=1e-10)


@pytest.mark.parametrize("tolerance", [1e-3, 0.1, 1.0])
def test_nodes_that_are_left_out_are_paid_for(tolerance):
    """Ends are farther apart by about twice the tolerance, and never on the wrong side."""
    for kind in ("one law", "two laws", "layer"):
        scale = sum(m * math.exp(0.7 * x) for x, m in outcomes(kind))
        rough, fine = (
            expect(summands(kind), Contour(0.7, 0.05, 300.0, t, 0.3, 1.6))
            for t in (tolerance, 1e-14)
        )
        assert rough[0] <= fine[0] * (1 + 1e-9)
        assert rough[1] >= fine[1] * (1 - 1e-9)
        assert float(rough[1] - fine[1]) <= 4 * tolerance * scale


def weights(s, h, gap):
    """Transforms of both smoothed payoffs at a complex s (Lemma 6.3)."""
    kappa = s * (s + gap)
    above = np.exp(h * h * kappa / 2) / kappa
    return above, above * (1 - math.exp(gap * h * h / 8) * h * h * kappa)


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("alpha", [0.05, 0.7, 4.0])
def test_the_envelope_of_a_node(gap, alpha):
    """It is above both transforms, falls, and is not far above their sum."""
    h, last = 0.3, math.inf
    kernel = Kernel(Contour(alpha, h, 9.0, 1e-9, alpha / 2, 2 * alpha), gap)
    for t in (0.0, 0.1, 0.5, 1.0, 3.0, 8.0):
        found = float(kernel.envelope(arb(t)))
        sizes = [abs(x) for x in weights(alpha + 1j * t, h, gap)]
        assert max(sizes) <= found * (1 + 1e-12)
        assert found <= (sizes[0] + sizes[1] + abs(sizes[0] - sizes[1])) * 3
        assert found < last
        last = found
    for t, step in ((1.0, 0.1), (2.5, 2.0), (0.3, 0.05)):
        nodes = t + step * np.arange(4000)
        total = sum(float(kernel.envelope(arb(x))) for x in nodes[nodes < 40]) * step / math.pi
        assert total <= float(kernel.beyond(arb(t), arb(step)))


@pytest.mark.many(14)
@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("kind", ["one law", "two laws", "layer", "many atoms"])
@pytest.mark.parametrize("tolerance", [3.0, 0.1, 1e-3, 1e-6])
def test_nodes_left_out_weigh_no_more_than_is_said(kind, gap, tolerance):
    """Every node is summed, or its modulus is in ``left_out``, for both payoffs."""
    if kind == "many atoms":
        law = [(1 / 50, math.sin(k) * 2 - 0.3) for k in range(50)]
        parts, alpha = [draws(law, 30)], 0.15
    else:
        parts, alpha = summands(kind), 0.7
    at = Contour(alpha, 0.3 / alpha, 60.0 / alpha, tolerance, alpha / 2, 2 * alpha)
    kernel = Kernel(at, gap)
    sides = [part.tilted(kernel.alpha) for part in parts]
    nodes = Nodes(kernel, at, sides)
    summed = {start + k for start in nodes.starts for k in range(BLOCK)}
    assert len(summed) == BLOCK * len(nodes.starts)
    blocks = range(4 * nodes.end // BLOCK + 4)
    values = [side.values(nodes.step, [b * BLOCK for b in blocks], BLOCK) for side in sides]
    missing, before = [0.0, 0.0], [0.0, 0.0]
    for j, *factors in zip(range(len(values[0])), *values, strict=True):
        if j in summed:
            continue
        size = math.prod(float(abs(x)) for x in factors)
        t = float(nodes.step) * j
        for i, weight in enumerate(weights(alpha + 1j * t, at.smoothing, gap)):
            term = size * abs(weight) * float(nodes.step) / math.pi
            missing[i] += term
            before[i] += term if j < nodes.end else 0.0
    assert max(missing) <= float(nodes.left_out) * (1 + 1e-9)
    # What the smoothing leaves beyond the last node hides nothing that is left out before it.
    beyond = float(kernel.beyond(nodes.step * nodes.end, nodes.step))
    assert max(before) <= (float(nodes.left_out) - beyond) * (1 + 1e-9) + 1e-15 * beyond
    assert float(nodes.left_out) <= 3 * tolerance


@pytest.mark.parametrize("tolerance", [3.0, 0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("kind", ["few", "many"])
def test_every_node_is_summed_or_bounded(kind, tolerance, monkeypatch):
    """Blocks that are bounded and blocks that are summed are all nodes up to the last one."""
    count = 50 if kind == "many" else 6
    law = [(1 / count, math.sin(k) * 2 - 0.3) for k in range(count)]
    bounded, ask = set(), Nodes._negligible

    def noted(self, first, size, bound):
        met = ask(self, first, size, bound)
        bounded.update(range(first, first + size) if met else ())
        return met

    monkeypatch.setattr(Nodes, "_negligible", noted)
    at = Contour(0.15, 2.0, 400.0, tolerance, 0.1, 0.3)
    kernel = Kernel(at, 0)
    nodes = Nodes(kernel, at, [draws(law, 30).tilted(kernel.alpha)])
    summed = {start + k for start in nodes.starts for k in range(BLOCK)}
    assert bounded | summed >= set(range(nodes.end))


# ------------------------------------------------------------------------- label stealing's sums


def transform(law, s):
    return sum(m * np.exp(s * x) for m, x in law)


@pytest.mark.parametrize("n", [2, 9, 150])
@pytest.mark.parametrize(("step", "last"), [(0.3, 1), (0.7, 9), (1.1, 40)])
def test_the_positive_sum_term_by_term(n, step, last):
    """Theorem 3.1, no block left out: the sum over |j| < last and the bound of the rest."""
    c, d, alpha, h = [(0.1, 0.8), (0.15, -0.6)], [(0.5, 0.7), (0.2, -0.9), (0.05, 0.0)], 0.6, 0.5
    with ctx.workprec(96):
        parts = [tilted([(arb(m), arb(x)) for m, x in law], arb(alpha)) for law in (c, d)]
        c_law, d_law = parts
        line = Line(alpha, h, step, last, 1e-300)
        found = float(positive_sum(c_law, alone(d_law, n), line))
    # Blocks of eight nodes are summed whole.
    t = step * np.arange(8 * math.ceil(last / 8))
    first, second = (abs(transform(law, alpha + 1j * t)) ** 2 for law in (c, d))
    c0, d0 = (transform(law, alpha) for law in (c, d))
    led = (c0 + first / c0) / 2
    z = led + (d0 + second / d0) / 2

    def w(t):
        return np.exp(h * h * (alpha**2 - t**2) / 2) / (alpha**2 + t**2)

    terms = np.where(t == 0, 1.0, 2.0) * z ** (n - 1) * np.minimum(led, z / n) * w(t)
    end = step * last
    rest = 2 * w(end) * (1 + 1 / (h * h * end * step)) * (c0 + d0) ** (n - 1)
    rest *= min(c0, (c0 + d0) / n)
    truth = step / (2 * math.pi) * (terms.sum() + rest)
    assert found == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize("small", [1e-9, 1e-4, 1e-1, 10.0])
@pytest.mark.parametrize("n", [3, 200, 20_000])
def test_blocks_that_are_bounded_weigh_no_less(small, n):
    c, d, alpha = [(0.1, 0.8), (0.15, -0.6)], [(0.5, 0.7), (0.2, -0.9), (0.05, 0.0)], 2 / n**0.5
    with ctx.workprec(96):
        parts = [tilted([(arb(m), arb(x)) for m, x in law], arb(alpha)) for law in (c, d)]
        line = Line(alpha, 0.05 / alpha, 0.3 * alpha, 300, 1e-300)
        c_law, d_law = parts
        whole = positive_sum(c_law, alone(d_law, n), line)
        found = positive_sum(c_law, alone(d_law, n), replace(line, small=small))
    assert found >= whole * (1 - 1e-12)
    assert found <= whole * (1 + 40 * small)


def test_the_crowd_s_sum_term_by_term():
    """docs/theory-crowds.md, 3.1: two groups, of which one has two types bounded together."""
    c = [(0.1, 0.8), (0.15, -0.6)]
    laws = ([[(0.5, 0.3), (0.3, -0.4)]], [[(0.4, 0.5), (0.4, -0.5)], [(0.7, 0.2), (0.1, -1.5)]])
    users, shares, alpha, h, step = (3, 5), (0.5, 0.9), 0.5, 0.6, 0.05
    with ctx.workprec(96):
        moments = lambda law: tilted([(arb(m), arb(x)) for m, x in law], arb(alpha))  # noqa: E731
        groups = [
            Group(n, arb(q), [moments(law) for law in each])
            for n, q, each in zip(users, shares, laws, strict=True)
        ]
        found = float(positive_sum(moments(c), groups, Line(alpha, h, step, 400, 1e-300)))
    t = step * np.arange(400)
    halves = [(transform(x, alpha), abs(transform(x, alpha + 1j * t)) ** 2)
              for x in (c, *itertools.chain(*laws))]  # fmt: skip
    led, one, two, three = ((x0 + square / x0) / 2 for x0, square in halves)
    z = shares[0] * led + one, shares[1] * led + np.maximum(two, three)
    inverse = sum(n * q / x for n, q, x in zip(users, shares, z, strict=True))
    terms = z[0] ** 3 * z[1] ** 5 * np.minimum(led, 8 / 9 / inverse)
    terms *= np.exp(h**2 * (alpha**2 - t**2) / 2) / (alpha**2 + t**2)
    truth = step / (2 * math.pi) * (2 * terms.sum() - terms[0])
    assert found == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("changed", [1, 2])
def test_a_linear_test_s_sum_is_its_series(changed):
    """docs/theory-crowds.md, Lemma 5.1: sum over j of e^(alpha j L) F(t + j L), less two bounds."""
    first, second, others = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [([0.4, 0.3, 0.3], 3)]
    scores, eps, h = [1.0, 0.25, -0.75], 0.3, 0.5

    def law_of(row):
        laws = [row] * changed + [others[0][0]] * others[0][1]
        for y in itertools.product(range(3), repeat=len(laws)):
            mass = math.prod(law[i] for law, i in zip(laws, y, strict=True))
            yield sum(scores[i] for i in y), mass

    p, q = (list(law_of(row)) for row in (first, second))

    def gained(t):
        one, two = (sum(m * cdf((x - t) / h) for x, m in law) for law in (p, q))
        return one - math.exp(eps) * two

    for period in (3.0, 5.0, 11.0):
        at, threshold = Contour(0.8, h, period, 1e-14, 0.1, 1.7), 1.25
        sets = DataSets(
            [arb(x) for x in first],
            [arb(x) for x in second],
            changed,
            [([arb(x) for x in law], n) for law, n in others],
        )
        with ctx.workprec(96):
            found = float(advantage(sets, arb(eps).exp(), LinearTest(scores, threshold), at))

        series = sum(
            math.exp(at.alpha * j * period) * gained(threshold + j * period) for j in range(-40, 6)
        )
        moment = sum(m * math.exp(at.above * (x - threshold)) for x, m in p)
        ratio = math.exp(-(at.above - at.alpha) * period)
        aliases = moment * math.exp((at.smoothing * at.above) ** 2 / 2) * ratio / (1 - ratio)
        truth = (series - aliases) * (1 - math.exp(-at.alpha * period))
        assert found == pytest.approx(truth, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("gap", [0, 1])
def test_ends_are_those_of_all_numbers_in_the_balls(gap):
    """Of masses and gains that are known to a hundredth both ends are numbers, and outward."""
    at = Contour(0.7, 0.05, 60.0, 1e-9, 0.3, 1.6)

    def ends(masses, gains):
        return expect([Draws(masses, gains, 3)], at, gap=gap)

    masses, gains = zip(*LAW, strict=True)
    low, high = ends([arb(m, m / 100) for m in masses], [arb(x, 0.01) for x in gains])
    assert low.rad().is_zero()
    assert high.rad().is_zero()
    for sign in (-1, 0, 1):
        chosen = (
            [arb(m) + sign * arb(m) / 100 for m in masses],
            [arb(x + sign / 100) for x in gains],
        )
        inside = ends(*chosen)
        assert low <= inside[0]
        assert high >= inside[1]
