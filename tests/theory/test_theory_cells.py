"""Sections 3.5 and 6.7 of docs/theory.md: cells, tails, covering, and two-point compression."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from flint import acb, arb, ctx, fmpq

F = Fraction


@pytest.fixture(autouse=True)
def _precision():
    old = ctx.prec
    ctx.prec = 200
    yield
    ctx.prec = old


def ball(q):
    q = F(q)
    return arb(fmpq(q.numerator, q.denominator))


def positive_part(atoms, n):
    """(1/n) E[sum of n copies]_+."""
    law = {F(0): F(1)}
    for _ in range(n):
        new = Counter()
        for s, p in law.items():
            for g, w in atoms:
                new[s + g] += p * w
        law = new
    return sum((p * s for s, p in law.items() if s > 0), F(0)) / n


def random_cell(rng, *, skew=False):
    """Conditional law on a cell: (values, probabilities), at least two values."""
    k = rng.randint(2, 5)
    g = sorted({F(rng.randint(-60, 60), 12) for _ in range(k)} | {F(6)})
    w = [F(rng.randint(1, 9)) for _ in g]
    if skew:
        w[0] *= 1000
    return g, [v / sum(w) for v in w]


def moments(g, w):
    m = sum(p * x for p, x in zip(w, g, strict=True))
    return m, sum(p * (x - m) ** 2 for p, x in zip(w, g, strict=True))


def two_point(lo, hi, m):
    return [(hi, (m - lo) / (hi - lo)), (lo, (hi - m) / (hi - lo))]


@pytest.mark.parametrize("seed", range(15))
def test_cells_bracket(seed):
    """Theorem 3.8 (section 3.5): mean below, two-point law above, mixed choices in between."""
    rng = random.Random(seed)
    cells = [random_cell(rng) for _ in range(2)]
    mass = [F(2, 5), F(3, 5)]
    truth, lower, upper, mixed = [], [], [], []
    for i, ((g, w), W) in enumerate(zip(cells, mass, strict=True)):
        m, _ = moments(g, w)
        exact = [(x, W * p) for x, p in zip(g, w, strict=True)]
        spread = [(x, W * p) for x, p in two_point(g[0] - F(1, 9), g[-1], m)]
        truth += exact
        lower.append((m, W))
        upper += spread
        mixed += spread if i == 0 else exact
    for n in (1, 2, 3):
        chain = [positive_part(law, n) for law in (lower, truth, mixed, upper)]
        assert chain == sorted(chain)
        assert chain[0] < chain[-1]


@pytest.mark.parametrize("seed", range(15))
def test_tails(seed):
    """Theorem 3.9 (section 3.5): main - a q_T <= truth <= main + p_T, whatever n is."""
    rng = random.Random(50 + seed)
    a = F(3, 2)
    k = 5
    p, q, r = ([F(rng.randint(1, 9)) for _ in range(k)] for _ in range(3))
    p, q, r = ([v / sum(x) for v in x] for x in (p, q, r))
    tail = {0, 4}
    full = [((p[y] - a * q[y]) / r[y], r[y]) for y in range(k)]
    cut = [(F(0) if y in tail else g, w) for y, (g, w) in enumerate(full)]
    up = sum(max(p[y] - a * q[y], F(0)) for y in tail)
    down = sum(max(a * q[y] - p[y], F(0)) for y in tail)
    assert up <= sum(p[y] for y in tail)
    assert down <= a * sum(q[y] for y in tail)
    for n in (1, 2, 4):
        main, true = positive_part(cut, n), positive_part(full, n)
        assert main - down <= true <= main + up


def test_zeroing_a_tail_alone_is_no_lower_bound():
    """Theorem 3.9 (section 3.5): G = +1 or -1; the -1 set to 0 raises E[S]_+/n from 1/4 to 1/2."""
    full = [(F(1), F(1, 2)), (F(-1), F(1, 2))]
    cut = [(F(1), F(1, 2)), (F(0), F(1, 2))]
    assert positive_part(full, 2) == F(1, 4)
    assert positive_part(cut, 2) == F(1, 2)
    assert positive_part(cut, 2) - F(1, 2) <= positive_part(full, 2)


def test_covering():
    """Theorem 3.10 (section 3.5): sup over one set of inputs, inf over another."""
    rng = random.Random(9)
    for _ in range(15):
        rows = [[F(rng.randint(1, 9)) for _ in range(3)] for _ in range(4)]
        rows = [[v / sum(row) for v in row] for row in rows]
        B = [min(c) for c in zip(*rows, strict=True)]
        P = [max(c) for c in zip(*rows[:2], strict=True)]
        Q = [min(c) for c in zip(*rows[2:], strict=True)]
        rest = [(F(0), 1 - sum(B))]
        for a, n in ((F(1), 2), (F(2), 3)):
            cover = [((p - a * q) / b, b) for p, q, b in zip(P, Q, B, strict=True)] + rest
            bound = positive_part(cover, n)
            for x in rows[:2]:
                for y in rows[2:]:
                    pair = [((p - a * q) / b, b) for p, q, b in zip(x, y, B, strict=True)] + rest
                    assert positive_part(pair, n) <= bound


def error_and_bounds(g, w, guess, s, bracket):
    """|E e^{sX} - cosh(s sig)| and the bounds (i), (ii), (iii) of Theorem 6.9."""
    m, v = moments(g, w)
    c, d = m - g[0], g[-1] - m
    alpha, size = s.real, abs(s)
    sig = ball(guess).sqrt()
    exact = sum((ball(p) * (s * ball(x - m)).exp() for p, x in zip(w, g, strict=True)), acb(0))
    gap = abs(exact - ((s * sig).exp() + (-s * sig).exp()) / 2)
    wave = (alpha * sig).cosh()
    first = size**2 * abs(ball(v - guess)) / 2
    third = size**3 * ball(v * max(c, d)) * (alpha * ball(d)).exp() / 6
    fourth = size**4 * ball(guess) ** 2 * wave / 24
    second = size**2 * (ball(v) * (alpha * ball(d)).exp() + ball(guess) * wave) / 2
    lo, hi = bracket
    span = ball(c + d)
    coarse = size**2 * ball(hi - lo) / 2
    coarse += size**3 * ball(hi) * span * (alpha * span).exp() / 4
    return gap, (first + third + fourth, second, coarse)


@pytest.mark.parametrize("skew", [False, True])
def test_two_point_compression(skew):
    """Theorem 6.9 (section 6.7), all three forms, exact and wrong guesses of the variance."""
    rng = random.Random(11 + skew)
    small = arb(2) ** -150
    for _ in range(150):
        g, w = random_cell(rng, skew=skew)
        scale = F(1, rng.choice([1, 5, 100]))
        g = [x * scale for x in g]
        m, v = moments(g, w)
        hi = min((g[-1] - m) * (m - g[0]), v * F(6, 5))
        lo = v * F(4, 5)
        assert v <= (g[-1] - m) * (m - g[0]) <= (g[-1] - g[0]) ** 2 / 4  # Bhatia-Davis
        for guess in (v, lo, hi, (lo + hi) / 2):
            for alpha, t in ((0, 1), (F(1, 10), 2), (1, 0), (1, 7), (F(1, 100), F(1, 100))):
                s = acb(ball(alpha), ball(t))
                gap, bounds = error_and_bounds(g, w, guess, s, (lo, hi))
                for bound in bounds:
                    assert gap <= bound + small
                if guess == (lo + hi) / 2:
                    # Midpoint: the first term of (iii) may be halved.
                    halved = bounds[2] - abs(s) ** 2 * ball(hi - lo) / 4
                    assert gap <= halved + small


def test_constants_of_the_compression_cannot_be_lowered():
    """Theorem 6.9 (section 6.7): terms one and two of (i) are attained in the limit."""
    g, w = [F(-1, 1000), F(1)], [F(1000, 1001), F(1, 1001)]  # mean 0, almost all of E|X|^3 at d
    s = acb(arb("1e-9"), arb("1e-12"))
    gap, bounds = error_and_bounds(g, w, moments(g, w)[1], s, (F(0), F(1)))
    assert gap > bounds[0] * ball(F(99, 100))
    gap, bounds = error_and_bounds([F(-1), F(1)], [F(1, 2)] * 2, F(1, 2), s, (F(0), F(1)))
    assert gap > bounds[0] * ball(F(99, 100))


@pytest.mark.parametrize("seed", range(10))
def test_compression_of_all_cells_and_of_the_nth_power(seed):
    """Corollary 6.10 and Lemma 6.8 (sections 6.6, 6.7)."""
    rng = random.Random(70 + seed)
    cells = []
    for _ in range(3):
        g, w = random_cell(rng)
        shift = F(rng.randint(-3, 3))
        cells.append(([x / 10 + shift for x in g], w, F(1, 3)))
    for alpha, t, n in ((F(1, 5), F(1, 3), 20), (F(1, 50), F(1, 100), 3000)):
        s = acb(ball(alpha), ball(t))
        M = compressed = acb(0)
        K2 = K3 = K4 = arb(0)
        for g, w, W in cells:
            m, v = moments(g, w)
            guess = v * F(11, 10)
            sig = ball(guess).sqrt()
            M += ball(W) * sum(
                (ball(p) * (s * ball(x)).exp() for p, x in zip(w, g, strict=True)), acb(0)
            )
            wave = ((s * sig).exp() + (-s * sig).exp()) / 2
            compressed += ball(W) * (s * ball(m)).exp() * wave
            rise = (s.real * ball(m)).exp()
            K2 += ball(W) * rise * ball(guess - v) / 2
            K3 += ball(W * v * max(g[-1] - m, m - g[0])) * (s.real * ball(g[-1])).exp() / 6
            K4 += ball(W) * rise * ball(guess) ** 2 * (s.real * sig).cosh() / 24
        size = abs(s)
        e = size**2 * K2 + size**3 * K3 + size**4 * K4
        assert abs(M - compressed) < e
        growth = (n * e / abs(compressed)).expm1()
        assert abs(M**n - compressed**n) < abs(compressed) ** n * growth


@pytest.mark.parametrize("seed", range(10))
def test_variance_from_subcells(seed):
    """Lemma 6.11 (section 6.7)."""
    rng = random.Random(90 + seed)
    g, w = random_cell(rng)
    h, u = random_cell(rng)
    W = [F(1, 3), F(2, 3)]
    values, probs = g + h, [W[0] * p for p in w] + [W[1] * p for p in u]
    m, v = moments(values, probs)
    low = high = F(0)
    for (x, p), mass in zip(((g, w), (h, u)), W, strict=True):
        mk, _ = moments(x, p)
        low += mass * (mk - m) ** 2
        high += mass * (mk - x[0]) * (x[-1] - mk)
    assert low < v <= low + high
