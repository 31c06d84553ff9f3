"""Section 6 of docs/theory.md (6.1 to 6.6, 6.8) in ball arithmetic.

A comparison of balls is True only where it is proved, so every assertion below is rigorous.
"""

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq

F = Fraction

U = 2.0**-53
PI = math.pi


@pytest.fixture(autouse=True)
def _precision():
    old = ctx.prec
    ctx.prec = 160
    yield
    ctx.prec = old


def ball(q):
    """A rational (or float) as a ball."""
    q = F(q)
    return arb(fmpq(q.numerator, q.denominator))


def cdf(x):
    """Phi; erfc keeps the bits of the lower tail."""
    return (-x / arb(2).sqrt()).erfc() / 2


def density(x):
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def psi(x, h):
    return x * cdf(x / h) + h * density(x / h)


def low(x, h):
    return x * cdf(x / h)


def power_law(atoms, n):
    law = Counter({F(0): F(1)})
    for _ in range(n):
        new = Counter()
        for s, p in law.items():
            for g, w in atoms:
                new[s + g] += p * w
        law = new
    return law


def transform(law, s):
    return sum((ball(w) * (s * ball(g)).exp() for g, w in law.items()), acb(0))


def positive_part(law):
    return sum((w * g for g, w in law.items() if g > 0), F(0))


# Blanket-like: E = 4, a = 2, left-over 2/5.
ATOMS = [(F(2), F(1, 5)), (F(-7), F(1, 5)), (F(-1), F(1, 5)), (F(0), F(2, 5))]


def measures(n):
    """law(S); without the all-left-over atom; without the event that no G is positive (6.1)."""
    whole = power_law(ATOMS, n)
    atom = Counter(whole)
    atom[F(0)] -= F(2, 5) ** n
    rare = Counter(whole)
    for s, p in power_law([x for x in ATOMS if x[0] <= 0], n).items():
        rare[s] -= p
    return {"whole": whole, "atom": atom, "rare": rare}


def removed(kind, s):
    """M_A(s)."""
    kept = {"whole": [], "atom": ATOMS[3:], "rare": ATOMS[1:]}[kind]
    return transform(dict(kept), s)


@pytest.mark.parametrize("kind", ["whole", "atom", "rare"])
def test_event_taken_out(kind):
    """Lemma 6.1: positive, same E[S]_+, transform M^n - M_A^n."""
    n = 4
    nu = measures(n)[kind]
    assert min(nu.values()) >= 0
    assert sum(nu.values()) <= 1
    assert positive_part(nu) == positive_part(measures(n)["whole"])
    s = acb("0.3", "1.7")
    difference = transform(dict(ATOMS), s) ** n - removed(kind, s) ** n - transform(nu, s)
    assert abs(difference) < 1e-40
    assert abs(transform(nu, s)) <= transform(nu, acb("0.3")).real


def test_smoothing_bracket():
    """Lemma 6.3, parts 1 and 2 (section 6.2)."""
    rng = random.Random(1)
    for _ in range(300):
        h = ball(rng.choice([F(1, 50), F(1, 3), F(2), F(40)]))
        x = ball(F(rng.randint(-4000, 4000), 1000)) * h
        c = ball(F(rng.randint(1, 3000), 500))
        plus = x if x > 0 else arb(0)
        assert low(x, h) < plus < psi(x, h) or x == 0
        assert psi(x, h) - plus < h * density(x / h) or x == 0
        assert psi(x + c, h) < psi(x, h) + c
        if x < 0:
            assert 0 < psi(x, h) < h * density(x / h)
            assert abs(low(x, h)) < h * density(x / h)


@pytest.mark.parametrize("h", [F(1, 2), F(3, 2)])
def test_transforms_of_the_smoothed_payoffs(h):
    """Lemma 6.3, part 3 (section 6.2), by rigorous quadrature on a long interval."""
    ctx.prec = 80
    h = ball(h)
    s = acb("0.8", "1.3")
    root = arb(2).sqrt()

    def integrand(payoff):
        def value(x, _):
            phi = (-((x / h) ** 2) / 2).exp() / (2 * arb.pi()).sqrt()
            tail = (-(x / h) / root).erfc() / 2
            return (x * tail + (h * phi if payoff == "psi" else 0)) * (-s * x).exp()

        return value

    smooth = (h * h * s * s / 2).exp()
    ends = {"psi": smooth / s**2, "low": smooth * (1 - h * h * s * s) / s**2}
    for payoff, closed in ends.items():
        found = acb.integral(integrand(payoff), -20, 80, rel_tol=2.0**-40, abs_tol=2.0**-40)
        assert abs(found - closed) < 1e-9


def sums(nu, alpha, h, step, count):
    """(D/2 pi) [F(alpha) + 2 sum Re F], upper and lower, |j| <= count."""
    totals = [arb(0), arb(0)]
    for j in range(count + 1):
        s = acb(alpha, j * step)
        up = transform(nu, s) * (h * h * s * s / 2).exp() / s**2
        for k, value in enumerate((up, up * (1 - h * h * s * s))):
            totals[k] += value.real * (1 if j == 0 else 2)
    return [t * step / (2 * arb.pi()) for t in totals]


@pytest.mark.parametrize("kind", ["whole", "atom", "rare"])
@pytest.mark.parametrize("period", [F(6), F(25)])
def test_poisson_identity_signs_and_lower_correction(kind, period):
    """Theorem 6.4, parts 1 and 2 (section 6.3)."""
    ctx.prec = 120
    n = 3
    nu = measures(n)[kind]
    true = ball(positive_part(nu))
    alpha, h, L = ball(F(1, 4)), ball(F(3, 4)), ball(period)
    upper, lower = sums(nu, alpha, h, 2 * arb.pi() / L, round(float(period) * 4))
    series = [arb(0), arb(0)]
    aliases = []
    for k in range(-90 // int(period) - 1, 1600 // int(period)):
        weight = (-alpha * k * L).exp()
        for i, payoff in enumerate((psi, low)):
            term = weight * sum(
                (ball(p) * payoff(ball(x) + k * L, h) for x, p in nu.items()), arb(0)
            )
            series[i] += term
            if i == 0 and k and abs(k) < 6:
                aliases.append(term)
    assert abs(upper - series[0]) < 1e-12
    assert abs(lower - series[1]) < 1e-12
    assert all(not term < 0 for term in aliases)
    assert true < upper
    beta = ball(F(3, 4))
    X, Y = (-alpha * L).exp(), (-(beta - alpha) * L).exp()
    moment = transform(nu, acb(beta)).real
    right = moment / (arb(1).exp() * beta) * Y / (1 - Y)
    assert (1 - X) * (lower - L * X / (1 - X) ** 2 - right) < true
    # The alternatives: Chernoff on both sides, and nothing for k < 0 if n max g <= L.
    b = ball(F(1, 10))
    Z = (-(alpha - b) * L).exp()
    left = transform(nu, acb(b)).real / (arb(1).exp() * b) * Z / (1 - Z)
    assert lower - left - right < true
    assert n * 2 <= period
    assert lower - left < true
    if period == 6:
        assert lower > true, "without the correction the lower end would be wrong"


@pytest.mark.parametrize("count", [2, 5, 9])
def test_truncation(count):
    """Theorem 6.4, part 3 (section 6.3)."""
    nu = measures(3)["atom"]
    alpha, h, L = ball(F(1, 4)), ball(F(3, 4)), ball(F(9))
    step = 2 * arb.pi() / L
    part = sums(nu, alpha, h, step, count)
    whole = sums(nu, alpha, h, step, 40)
    T = count * step
    front = transform(nu, acb(alpha)).real * (h * h * alpha * alpha / 2).exp() / arb.pi()
    tail = (2 * arb.pi()).sqrt() / h * cdf(-h * T)
    assert tail < (-h * h * T * T / 2).exp() / (h * h * T)
    kernel = 1 / (alpha * alpha + T * T)
    assert abs(whole[0] - part[0]) < front * tail * kernel
    assert abs(whole[1] - part[1]) < front * tail * (kernel + h * h)


def test_lower_integrand_needs_its_own_truncation():
    """Theorem 6.4, part 3: the bound of the upper integrand does not hold for the lower one."""
    nu = measures(3)["whole"]
    alpha, h = ball(F(1, 4)), ball(F(3))
    s = acb(alpha, arb(2 * PI))  # all g are integers: M is back at its largest modulus
    size = transform(nu, acb(alpha)).real
    up = (h * h * (alpha * alpha - s.imag**2) / 2).exp() * size / abs(s) ** 2
    value = transform(nu, s) * (h * h * s * s / 2).exp() * (1 - h * h * s * s) / s**2
    assert abs(value) > up
    assert abs(value) < up * (1 + h * h * abs(s) ** 2)


@pytest.mark.parametrize("seed", range(20))
def test_middle_zone(seed):
    """Theorem 6.5 (section 6.4), both forms."""
    rng = random.Random(seed)
    g = [F(rng.randint(-30, 30), 7) for _ in range(rng.randint(2, 5))]
    w = [ball(F(rng.randint(1, 20))) for _ in g]
    if max(g) == min(g):
        g[0] += 1
    total, span = sum(w, arb(0)), ball(max(g) - min(g))
    mean = sum((p * ball(x) for p, x in zip(w, g, strict=True)), arb(0)) / total
    V = sum((p * (ball(x) - mean) ** 2 for p, x in zip(w, g, strict=True)), arb(0)) / total
    for i in range(1, 41):
        t = 2 * PI * i / 40 / span * (1 - arb(2) ** -60)
        phi = sum((p * acb(0, t * ball(x)).exp() for p, x in zip(w, g, strict=True)), acb(0))
        square = abs(phi / total) ** 2
        theta = t * span / 2
        c = theta.sin() / theta
        assert square < 1 - c * c * t * t * V + arb(2) ** -100
        if i <= 20:
            for n in (1, 7, 50):
                assert abs(phi / total) ** n < (-2 * n * t * t * V / arb.pi() ** 2).exp()


def test_middle_zone_with_the_atom_taken_out():
    """Theorem 6.5 (section 6.4): M^n - w0^n needs the term w0^n; the bound of M^n fails for it."""
    atoms = {F(1): F(1, 10), F(0): F(9, 10)}
    alpha, t, n = ball(F(1, 100)), ball(F(31, 10)), 30
    top = transform(atoms, acb(alpha)).real
    share = ball(F(1, 10)) * alpha.exp() / top
    bound = top**n * (-2 * n * t * t * share * (1 - share) / arb.pi() ** 2).exp()
    power, atom = transform(atoms, acb(alpha, t)) ** n, ball(F(9, 10) ** n)
    assert abs(power) < bound
    assert bound < abs(power - atom) < bound + atom


def test_power_of_a_perturbed_number():
    """Lemma 6.8 (section 6.6)."""
    rng = random.Random(4)
    for _ in range(200):
        n = rng.choice([1, 2, 5, 40, 1000])
        Y = acb(rng.uniform(-1, 1), rng.uniform(-1, 1))
        e = arb(rng.choice([1e-6, 1e-3, 0.1]))
        X = Y + e * acb(0, arb(rng.uniform(0, 6))).exp()
        gap, slack = abs(X**n - Y**n), arb(1) + arb(2) ** -80
        first = (abs(Y) + e) ** n - abs(Y) ** n
        assert gap < first * slack
        assert first < abs(Y) ** n * (n * e / abs(Y)).expm1() * slack
        assert gap < n * e * max(abs(X), abs(Y)) ** (n - 1) * slack


# ------------------------------------------------------------------ floating point (6.5, 6.8)


def exact_complex(z):
    return acb(arb(z.real), arb(z.imag))


def kap_exact(z):
    z = exact_complex(z)
    return z.exp() - 1 - z


def kbar(z):
    return 0.5 * abs(z) ** 2 * math.exp(max(z.real, 0.0))


def kap_series(z):
    total = 1.0
    for k in range(14, 2, -1):
        total = 1.0 + total * (z / k)
    return 0.5 * z * z * total


def kap_direct(z):
    grow = math.exp(z.real)
    return (complex(grow * math.cos(z.imag), grow * math.sin(z.imag)) - 1.0) - z


def expm1_half_angle(z):
    h, m = math.sin(0.5 * z.imag), math.expm1(z.real)
    return complex(m * (1 - 2 * h * h) - 2 * h * h, (1 + m) * math.sin(z.imag))


def test_elementary_evaluations():
    """Lemma 6.12 (section 6.8): the stated constants, on random arguments."""
    rng = random.Random(5)
    worst = Counter()
    for _ in range(1500):
        size, angle = 10 ** rng.uniform(-9, 1.5), rng.uniform(0, 2 * PI)
        z = size * complex(math.cos(angle), math.sin(angle))
        e1 = exact_complex(z).exp() - 1
        checks = [("e1", expm1_half_angle(z), e1, 96, float(abs(e1)))]
        y = complex(0.0, size)
        e1 = exact_complex(y).exp() - 1
        checks.append(("e1 on the axis", expm1_half_angle(y), e1, 20, float(abs(e1))))
        if size <= 0.25:
            checks.append(("series", kap_series(z), kap_exact(z), 72, kbar(z)))
        if size >= 1:
            checks.append(("direct", kap_direct(z), kap_exact(z), 128, kbar(z)))
        for name, found, exact, constant, scale in checks:
            error = float(abs(exact_complex(found) - exact)) / (U * scale)
            assert error <= constant
            worst[name] = max(worst[name], error)
    assert min(worst.values()) > 0.5, "an error that never occurs has not been measured"


def test_giant_and_baby_steps():
    """The two identities before Theorem 6.13 (section 6.8)."""
    for v, y in ((acb(1, 2), acb(0, "0.7")), (acb("-0.2", "1e-3"), acb(0, "3e-2"))):
        e1, e2 = v.exp() - 1, y.exp() - 1
        assert abs((v + y).exp() - 1 - (e1 * e2 + e1 + e2)) < 1e-40
        rest = e1 * e2 + (e1 - v) + (e2 - y)
        assert abs((v + y).exp() - 1 - v - y - rest) < 1e-40


def test_modulus_of_kap():
    """Lemma 6.7 (section 6.5)."""
    rng = random.Random(6)
    for _ in range(300):
        z = complex(rng.uniform(-4, 4), rng.uniform(-4, 4))
        y = complex(rng.uniform(-4, 4), rng.uniform(-4, 4))
        assert abs(kap_exact(z)) < kbar(z) * 1.0000001
        slope = max(abs(z), abs(y)) * math.exp(max(z.real, y.real, 0.0))
        assert abs(kap_exact(z) - kap_exact(y)) < abs(z - y) * slope * 1.0000001


def test_centred_form_keeps_its_bits_at_1e15():
    """Theorem 6.13 (sections 6.5, 6.8): its bound holds; the plain sum has lost the result."""
    n, eps, E = 10**15, 1e-7, math.e
    a = math.exp(eps)
    w = np.array([1 / (E + 2)] * 3)
    ratios = [(E, 1.0), (1.0, E), (1.0, 1.0)]
    g = np.array([p - a * q for p, q in ratios])
    exact_E, exact_a = arb(E), arb(eps).exp()
    exact_g = [arb(p) - exact_a * arb(q) for p, q in ratios]
    exact_w = 1 / (exact_E + 2)
    mean = -math.expm1(eps)
    eta = 1.01 * 12 * U * np.array([p + a * q for p, q in ratios])
    eta = eta + 4 * U * (abs(g) + eta)
    left = 1 - 3 * exact_w  # left-over mass; E[G] = 1 - e^eps needs no sum
    for t in (0.0, 1e-8, 2e-7):
        alpha = 1e-7
        s = complex(alpha, t)
        terms = [ww * kap_series(s * x) for ww, x in zip(w, g, strict=True)]
        found = s * mean + sum(terms)
        exact_s = exact_complex(s)
        true = exact_w * sum(((exact_s * x).exp() for x in exact_g), acb(0)) + left - 1
        size = sum(ww * kbar(s * x) for ww, x in zip(w, g, strict=True))
        B = (abs(g) + eta) * np.exp(alpha * np.maximum(g + eta, 0))
        bound = ((4 * 3 + 136) * U + 2 * 2 * U) * size + 1.01 * abs(s) ** 2 * float(w @ (eta * B))
        bound += abs(s) * (16 * U * abs(mean) + 8 * U * abs(mean))
        error = float(abs(exact_complex(found) - true))
        assert error <= bound
        assert n * bound < 1e-9
        plain = sum(ww * np.exp(s * x) for ww, x in zip(w, g, strict=True)) + (1 - w.sum()) - 1
        assert n * float(abs(exact_complex(complex(plain)) - true)) > 1e-4
