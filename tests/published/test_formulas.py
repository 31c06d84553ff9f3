"""Closed forms: the formula once more in balls, above what it is to bound, inside its domain."""

import contextlib
import itertools
import math

import pytest
from flint import arb

import shuffledp as sd
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.bounds.variation_ratio import VariationRatio, published_pair
from shuffledp.laws import pairs
from shuffledp.laws.pairs import blanket_pair, midpoints
from shuffledp.propose.profile import Profile
from shuffledp.published import formulas as forms

GRID = tuple(
    itertools.product((0.05, 0.3, 1.0, 2.0, 4.0), (20, 1000, 10**6, 10**9), (1e-2, 1e-6, 1e-12))
)


def values(form, **more):
    """eps0, n, delta and the formula's value wherever it applies; it must apply somewhere."""
    found = []
    for eps0, n, delta in GRID:
        with contextlib.suppress(sd.NotCertified):
            found.append((eps0, n, delta, form(eps0=eps0, n=n, delta=delta, **more)))
    assert len(found) > 5
    return found


def bounds(pair, epsilon, delta):
    """The pair's divergence is at most delta, as far as its certified lower end can tell."""
    return Profile(pair).log_delta(epsilon, width=1e-3).low <= math.log(delta)


def same(value, truth):
    return value == pytest.approx(float(truth.mid()), rel=1e-11)


def erlingsson(e, n, d):
    return 12 * e * ((1 / d).log() / n).sqrt()


def cheu(e, n, d):
    lam = 2 * n / (e.exp() + 1)
    m = lam - (2 * lam * (2 / d).log()).sqrt()
    return (32 * (4 / d).log() / m).sqrt() * (1 - m / n)


def clone(e, n, d):
    E = e.exp()
    return (1 + (E - 1) / (E + 1) * (8 * (E * (4 / d).log() / n).sqrt() + 8 * E / n)).log()


def stronger(e, n, d):
    E = e.exp()
    return (1 + (E - 1) * (4 * (2 * (4 / d).log()).sqrt() / ((E + 1) * n).sqrt() + 4 / n)).log()


def k_rr(e, n, d, k):
    E = e.exp()
    first = 4 * (2 * (k + 1) * (4 / d).log()).sqrt() / ((E + k - 1) * k * n).sqrt()
    return (1 + (E - 1) * (first + 4 * (k + 1) / (k * n))).log()


@pytest.mark.parametrize(
    ("form", "truth", "pair"),
    [
        # All of these are at least the stronger clone, which is a bound; 3.1 bounds the clone.
        (forms.erlingsson, erlingsson, clone_pair),
        (forms.clone, clone, clone_pair),
        (forms.stronger_clone, stronger, stronger_clone_pair),
        (forms.cheu, cheu, stronger_clone_pair),
    ],
)
def test_forms_of_eps0(form, truth, pair):
    for eps0, n, delta, value in values(form):
        assert same(value, truth(arb(eps0), arb(n), arb(delta)))
        if value < eps0:
            assert bounds(pair(eps0=eps0, n=n), value, delta), (eps0, n, delta)


@pytest.mark.parametrize("k", [2, 10, 1000])
def test_form_of_k_rr(k):
    for eps0, n, delta, value in values(forms.k_rr, k=k):
        assert same(value, k_rr(arb(eps0), arb(n), arb(delta), k))
        if value < eps0:
            pair = blanket_pair(sd.KRR(k=k, eps0=eps0), 0, 1, n=n)
            assert bounds(pair, value, delta), (eps0, n, delta)


@pytest.mark.parametrize(
    ("form", "eps0", "n", "delta"),
    [
        (forms.erlingsson, 0.5, 1000, 1e-3),
        (forms.erlingsson, 0.4, 999, 1e-3),
        (forms.erlingsson, 0.4, 1000, 1e-2),
        (forms.cheu, 3.0, 100, 1e-6),
        (forms.clone, 2.0, 1000, 1e-6),
        (forms.stronger_clone, 3.0, 1000, 1e-6),
    ],
)
def test_outside_its_domain_there_is_no_number(form, eps0, n, delta):
    with pytest.raises(sd.NotCertified, match="outside the theorem's domain"):
        form(eps0=eps0, n=n, delta=delta)


# --------------------------------------------------------------------------------- variation ratio


def vr_4_2(p, beta, q, n, d):
    al = beta / (p - 1)
    r, k0, log4 = al * p / q, 1 - al - al * p, (4 / d).log()
    six = 6 * r
    omega = 2 * r * (n - 1) - ((six if six < 0.5 else arb(0.5)) * (n - 1) * log4).sqrt()
    s = (omega * log4 / 2).sqrt()
    down = al * omega + beta * (omega / 2 - s) + k0 * (n - 1 - omega) * r / (1 - 2 * r)
    return (1 + beta * (2 * s + 1) / down).log()


def vr_4_3(p, beta, q, n, d):
    al = beta / (p - 1)
    r = al * p / q
    v = (1 - 3 * r) / (1 - 2 * r) * 4 / 9
    v = v if v > 0 else arb(0)
    spread = (32 * (4 / d).log() / (r * (n - 1))).sqrt() + 4 / (r * n)
    return (1 + beta / ((1 - v) * (1 + p) * beta / (p - 1) + v) * spread).log()


BOTH = [(forms.variation_ratio_4_2, vr_4_2), (forms.variation_ratio_4_3, vr_4_3)]


@pytest.mark.parametrize(("form", "truth"), BOTH)
def test_variation_ratio_forms_are_above_their_pair(form, truth):
    tried = 0
    for log_p, share, more, n, delta in itertools.product(
        (0.5, 1.0, 3.0), (0.2, 0.6, 0.99), (1.0, 3.0), (1000, 10**5, 10**7), (1e-3, 1e-10)
    ):
        p = math.exp(log_p)
        beta, q = share * (p - 1) / (p + 1), p * more
        try:
            value = form(p, beta, q, n, delta)
        except sd.NotCertified:
            continue
        tried += 1
        assert same(value, truth(*(arb(x) for x in (p, beta, q, n, delta))))
        if value < log_p:
            pair = published_pair(VariationRatio(p=p, beta=beta, q=q), n=n)
            assert bounds(pair, value, delta), (p, beta, q, n, delta)
    assert tried > 20


# ------------------------------------------------------------------------- Hoeffding and Bennett


def moments_of_law(randomizer, a):
    """gamma, largest, span and E[L^2] of L = gamma G from the law's own masses."""
    law = midpoints(randomizer, randomizer.worst_pairs().pairs[0])
    gamma = float(law.reference.sum())
    gain = gamma * (law.first - a * law.second) / law.reference
    square = float((law.reference * gain**2).sum()) / gamma
    return gamma, float(gain.max()), float(gain.max() - gain.min()), square


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_moments_are_those_of_the_laws(eps0):
    for epsilon in (0.1 * eps0, 0.7 * eps0):
        a = math.exp(epsilon)
        for k in (3, 10, 1000):
            truth = moments_of_law(sd.KRR(k=k, eps0=eps0), a)
            assert forms.moments_of_k_rr(k, eps0, epsilon) == pytest.approx(truth, rel=1e-10)
        truth = moments_of_law(sd.Laplace(eps0=eps0), a)
        assert forms.moments_of_laplace(eps0, epsilon) == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("bound", [forms.log_hoeffding, forms.log_bennett])
@pytest.mark.parametrize(
    ("randomizer", "moments"),
    [
        (sd.KRR(k=10, eps0=1.0), lambda e: forms.moments_of_k_rr(10, 1.0, e)),
        (sd.KRR(k=2, eps0=4.0), lambda e: forms.moments_of_k_rr(2, 4.0, e)),
        (sd.Laplace(eps0=1.0), lambda e: forms.moments_of_laplace(1.0, e)),
        (sd.OUE(d=5, eps0=1.0), lambda e: forms.moments_of_any(1.0, e)),
        (
            sd.KRR(k=10, eps0=4.0),
            lambda e: forms.moments_of_blanket(4.0, 10 / (math.exp(4.0) + 9), e),
        ),
    ],
)
def test_both_inequalities_are_above_the_blanket(randomizer, moments, bound):
    x0, x1 = randomizer.worst_pairs().pairs[0]
    for n in (2, 50, 10**6):
        profile = Profile(pairs.blanket_pair(randomizer, x0, x1, n=n))
        for epsilon in (0.3 / math.sqrt(n), 2.0 / math.sqrt(n), 0.9 * randomizer.eps0):
            low = profile.log_delta(epsilon, width=1e-3).low
            assert bound(moments(epsilon), n=n, epsilon=epsilon) >= low
