"""Closed forms: the formula in balls, the bound it claims to be, and its domain."""

import contextlib
import itertools
import math

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from closed_forms.grids import formula_in_balls, grid_of, true_at
from shuffledp.ball.api import log_delta
from shuffledp.closed_forms import blanket, clones, epsilon_of, log_delta_of, renyi, variation_ratio
from shuffledp.closed_forms.interval import Interval
from shuffledp.divergence import PairProfile
from shuffledp.pair import ShuffledPair
from shuffledp.reductions import (
    VariationRatio,
    blanket_pair,
    clone_pair,
    dataset_pair,
    published_pair,
    stronger_clone_pair,
)

# --------------------------------------------------------------------- eps0-LDP: formula and bound


def erlingsson_ball(e, n, d):
    return 12 * e * ((1 / d).log() / n).sqrt()


def cheu_ball(e, n, d):
    lam = 2 * n / (e.exp() + 1)
    m = lam - (2 * lam * (2 / d).log()).sqrt()
    return (32 * (4 / d).log() / m).sqrt() * (1 - m / n)


def clone_ball(e, n, d):
    E = e.exp()
    return (1 + (E - 1) / (E + 1) * (8 * (E * (4 / d).log() / n).sqrt() + 8 * E / n)).log()


def stronger_ball(e, n, d):
    E = e.exp()
    return (1 + (E - 1) * (4 * (2 * (4 / d).log()).sqrt() / ((E + 1) * n).sqrt() + 4 / n)).log()


def k_rr_ball(e, n, d, k):
    E = e.exp()
    first = 4 * (2 * (k + 1) * (4 / d).log()).sqrt() / ((E + k - 1) * k * n).sqrt()
    return (1 + (E - 1) * (first + 4 * (k + 1) / (k * n))).log()


@pytest.mark.parametrize(
    ("form", "truth"),
    [
        (clones.erlingsson, erlingsson_ball),
        (clones.cheu, cheu_ball),
        (clones.clone, clone_ball),
        (clones.stronger_clone, stronger_ball),
    ],
)
def test_formulas_of_eps0(form, truth):
    for eps0, n, delta, value in grid_of(form):
        formula_in_balls(value, truth(arb(eps0), arb(n), arb(delta)))


@pytest.mark.parametrize("k", [2, 10, 1000])
def test_formula_of_k_rr(k):
    for eps0, n, delta, value in grid_of(clones.k_rr, k=k):
        formula_in_balls(value, k_rr_ball(arb(eps0), arb(n), arb(delta), k))


@pytest.mark.parametrize(
    ("form", "pair"),
    [
        # All of these are at least the stronger clone, which is a bound; 3.1 bounds the clone.
        (clones.erlingsson, clone_pair),
        (clones.clone, clone_pair),
        (clones.stronger_clone, stronger_clone_pair),
        (clones.cheu, stronger_clone_pair),
    ],
)
def test_closed_forms_are_above_their_pairs(form, pair):
    for eps0, n, delta, value in grid_of(form):
        if value < eps0:
            assert true_at(PairProfile(pair(eps0=eps0, n=n)), value, delta), (eps0, n, delta)


@pytest.mark.parametrize("k", [2, 3, 10, 1000])
def test_k_rr_corollary_is_above_the_blanket(k):
    for eps0, n, delta, value in grid_of(clones.k_rr, k=k):
        if value < eps0:
            pair = blanket_pair(sd.KRR(k=k, eps0=eps0), 0, 1, n=n)
            assert true_at(PairProfile(pair), value, delta), (eps0, n, delta)


@pytest.mark.parametrize(
    ("form", "eps0", "n", "delta"),
    [
        (clones.erlingsson, 0.5, 1000, 1e-3),
        (clones.erlingsson, 0.4, 999, 1e-3),
        (clones.erlingsson, 0.4, 1000, 1e-2),
        (clones.cheu, 3.0, 100, 1e-6),
        (clones.clone, 2.0, 1000, 1e-6),
        (clones.stronger_clone, 3.0, 1000, 1e-6),
    ],
)
def test_outside_its_domain_there_is_no_number(form, eps0, n, delta):
    with pytest.raises(sd.NotCertified, match="outside the theorem's domain"):
        form(eps0=eps0, n=n, delta=delta)


def test_the_condition_of_3_1_has_log_4_over_delta():
    """Between log(n/(16 log(4/d))) and log(n/(16 log(2/d))) the printed condition would pass."""
    n, delta = 10_000, 1e-3
    strict, printed = (math.log(n / (16 * math.log(x / delta))) for x in (4, 2))
    with pytest.raises(sd.NotCertified):
        clones.clone(eps0=0.5 * (strict + printed), n=n, delta=delta)
    assert clones.clone(eps0=strict * (1 - 1e-9), n=n, delta=delta) > 0


# In the paper's domain, where its formula is too small: k, eps0, n, delta, formula, lower end.
TOO_MANY_VALUES = [
    # Half a minute.
    pytest.param(5 * 10**7, 6.39, 10**6, 1e-40, 0.006956, 0.008289, marks=pytest.mark.long),
    (10**5, 0.5, 10**4, 1e-60, 0.001629, 0.001737),
    (10**7, 2.32, 10**4, 1e-26, None, None),
]


@pytest.mark.many(2)
@pytest.mark.parametrize(("k", "eps0", "n", "delta", "formula", "lower"), TOO_MANY_VALUES)
def test_the_corollary_needs_the_condition_of_theorem_4_1(k, eps0, n, delta, formula, lower):
    claimed = float(k_rr_ball(arb(eps0), arb(n), arb(delta), k).mid())
    assert eps0 <= math.log(n / (16 * math.log(4 / delta)))
    acc = sd.shuffle(sd.KRR(k=k, eps0=eps0), n=n)
    true = acc.epsilon(delta=delta).lower
    assert claimed < true
    if formula is not None:
        assert [claimed, true] == pytest.approx([formula, lower], rel=1e-3)
    for ask in (
        lambda: clones.k_rr(k=k, eps0=eps0, n=n, delta=delta),
        lambda: acc.epsilon(delta=delta, analysis="fmt-4.2"),
    ):
        with pytest.raises(sd.NotCertified, match=r"k n/.*>= 8 log"):
            ask()
    row = next(r for r in acc.compare(delta=delta).rows if r.analysis.key == "fmt-4.2")
    assert row.epsilon is None


def test_the_conditions_of_4_1_and_4_2_have_log_4_over_delta():
    """Between 8 log(2 q/delta) and 8 log(4 q/delta) the printed condition would pass."""
    q, n, delta = 0.5, 10**4, 1e-9
    strict, printed = (8 * math.log(x * q / delta) / n for x in (4, 2))
    with pytest.raises(sd.NotCertified, match="4 q/delta"):
        clones.decomposition(p=0.5 * (strict + printed), q=q, n=n, delta=delta)
    assert clones.decomposition(p=strict * (1 + 1e-9), q=q, n=n, delta=delta) > 0

    def hidden(k):
        return k * n / ((k + 1) * (math.e + k - 1))

    def wanted(k, x):
        return 8 * math.log(x * (math.e - 1) / ((math.e + k - 1) * delta))

    between = [k for k in range(2, 200) if wanted(k, 2) <= hidden(k) < wanted(k, 4)]
    assert between
    for k in between:
        with pytest.raises(sd.NotCertified):
            clones.k_rr(k=k, eps0=1.0, n=n, delta=delta)
    assert clones.k_rr(k=between[0] - 1, eps0=1.0, n=n, delta=delta) > 0


# --------------------------------------------------------------------------- Theorems 3.8 and 4.1


def label_pair(p, q, n):
    """The pair of Theorem 4.1: labels (q, 0, 1-q) against (p, p, p) and a rest."""
    w = [p, p, p]
    columns = (w, [q / p, 0, (1 - q) / p], [0, q / p, (1 - q) / p])
    return ShuffledPair(*(np.array(column) for column in columns), n=n)


def test_decomposition_is_above_its_labels():
    tried = 0
    for p, q, n, delta in itertools.product(
        (1e-3, 0.05, 0.2, 0.333), (0.01, 0.4, 0.9), (100, 10_000, 10**6), (1e-3, 1e-6, 1e-9)
    ):
        try:
            value = clones.decomposition(p=p, q=q, n=n, delta=delta)
        except sd.NotCertified:
            assert p * n < 8 * math.log(4 * max(q / delta, 1)) * (1 + 1e-12)
            continue
        tried += 1
        P, Q, N, D = (arb(x) for x in (p, q, n, delta))
        d = D / Q if delta < q else arb(1)
        spread = 4 * (2 * (4 / d).log() / (P * N)).sqrt() + 4 / (P * N)
        formula_in_balls(value, (1 + Q * spread).log())
        assert true_at(PairProfile(label_pair(p, q, n)), value, delta)
    assert tried > 20


def test_local_target_of_theorem_5_2_meets_it_or_says_why_not():
    met, refused = 0, []
    for n, delta, share in itertools.product(
        (10**3, 10**6, 10**9), (1e-3, 1e-8), (0.01, 0.9, 1.0, 1.1, 5.0, 9.99, 10.01, 12.0, 30.0)
    ):
        epsilon = share * math.sqrt(math.log(1 / delta) / n)
        if epsilon > 1.0:
            continue
        try:
            eps0 = clones.local_target(epsilon=epsilon, n=n, delta=delta)
        except sd.NotCertified as error:
            refused.append((share, str(error)))
            continue
        met += 1
        true = sd.generic(eps0=eps0, n=n, adaptive=True, rtol=1e-2)
        assert true.epsilon(delta=delta, analysis="stronger-clone").upper <= epsilon
        # The formulas themselves.
        scale = math.sqrt(n / math.log(1 / delta))
        small = share <= 1.0
        formula = epsilon * scale / 16 if small else math.log((epsilon * scale) ** 2 / 100)
        assert eps0 == pytest.approx(formula, rel=1e-12)
    assert met > 15
    assert {share for share, why in refused if "no local guarantee" in why} == {1.1, 5.0, 9.99}
    with pytest.raises(sd.ParameterError, match="epsilon"):
        clones.local_target(epsilon=1.5, n=1000, delta=1e-6)


def test_approximate_theorem_adds_its_part_of_delta():
    eps0, delta0, n, delta = 2.0, 1e-14, 10**6, 1e-8
    epsilon, total = clones.clone_approximate(eps0=eps0, delta0=delta0, n=n, delta=delta)
    assert epsilon == clones.clone(eps0=eps0, n=n, delta=delta)
    extra = (1 + arb(epsilon).exp()) * (1 + (-arb(eps0)).exp() / 2) * n * arb(delta0)
    assert arb(total) >= arb(delta) + extra
    assert total <= float(delta + extra) * (1 + 1e-14)


@pytest.mark.parametrize(("sigma", "n"), [(1.0, 10**8), (4.0, 30_000)])
def test_approximate_theorem_is_above_the_gaussian_mechanism(sigma, n):
    acc = sd.shuffle(sd.Gaussian(sigma=sigma), n=n, rtol=1e-2)
    for delta in (1e-4, 1e-8):
        found = acc.epsilon(delta=delta, analysis="fmt-3.8")
        assert found.upper >= acc.epsilon(delta=delta, analysis="dataset").lower
        assert found.upper_theorem.key in {"fmt-3.8", "local"}
    with pytest.raises(sd.NotCertified, match="eps0-LDP"):
        sd.shuffle(sd.KRR(k=3, eps0=1.0), n=n).epsilon(delta=1e-6, analysis="fmt-3.8")


# --------------------------------------------------------------------------------- variation ratio


def vr_ball(p, beta, q, n, d):
    al = beta / (p - 1)
    r = al * p / q
    k0 = 1 - al - al * p
    log4 = (4 / d).log()
    six = 6 * r
    omega = 2 * r * (n - 1) - ((six if six < 0.5 else arb(0.5)) * (n - 1) * log4).sqrt()
    s = (omega * log4 / 2).sqrt()
    down = al * omega + beta * (omega / 2 - s) + k0 * (n - 1 - omega) * r / (1 - 2 * r)
    return (1 + beta * (2 * s + 1) / down).log()


def vr_3_ball(p, beta, q, n, d):
    al = beta / (p - 1)
    r = al * p / q
    v = (1 - 3 * r) / (1 - 2 * r) * 4 / 9
    v = v if v > 0 else arb(0)
    spread = (32 * (4 / d).log() / (r * (n - 1))).sqrt() + 4 / (r * n)
    return (1 + beta / ((1 - v) * (1 + p) * beta / (p - 1) + v) * spread).log()


@pytest.mark.parametrize(
    ("form", "truth"),
    [(variation_ratio.theorem_4_2, vr_ball), (variation_ratio.theorem_4_3, vr_3_ball)],
)
def test_variation_ratio_forms_are_above_their_pair(form, truth):
    tried = 0
    for log_p, share, more, n, delta in itertools.product(
        (0.5, 1.0, 3.0), (0.2, 0.6, 0.99), (1.0, 3.0), (1000, 10**5, 10**7), (1e-3, 1e-6, 1e-10)
    ):
        p = math.exp(log_p)
        beta = share * (p - 1) / (p + 1)
        q = p * more
        try:
            value = form(p=p, beta=beta, q=q, n=n, delta=delta)
        except sd.NotCertified:
            continue
        tried += 1
        formula_in_balls(value, truth(*(arb(x) for x in (p, beta, q, n, delta))))
        if value < log_p:
            pair = published_pair(VariationRatio(p=p, beta=beta, q=q), n=n)
            assert true_at(PairProfile(pair), value, delta), (p, beta, q, n, delta)
    assert tried > 20


# p, beta, q, n, delta inside the paper's conditions or next to them, and log delta of the pair.
TOO_SMALL = [
    (3.0, 0.05, 2.05, 10**4, 1e-40, -47.945),
    (10.0, 0.08, 2.88, 10**4, 1e-40, -42.478),
    (math.exp(3), 0.5 * (math.exp(3) - 1) / (math.exp(3) + 1), math.exp(3), 1000, 1e-6, -5.8535),
]


@pytest.mark.parametrize(("p", "beta", "q", "n", "delta", "true"), TOO_SMALL)
def test_theorem_4_2_needs_conditions_that_the_paper_does_not_have(p, beta, q, n, delta, true):
    """The formula alone is far below the divergence of its own pair."""
    with pytest.raises(sd.NotCertified, match=r"outside the theorem's domain, m Om >="):
        variation_ratio.theorem_4_2(p=p, beta=beta, q=q, n=n, delta=delta)
    claimed = float(vr_ball(*(arb(x) for x in (p, beta, q, n, delta))).mid())
    pair = published_pair(VariationRatio(p=p, beta=beta, q=q), n=n)
    found = PairProfile(pair).log_delta(claimed, width=1e-4).low
    assert found > math.log(delta)
    assert found == pytest.approx(true, abs=5e-3)


def endless_ball(form, beta, q, n, d):
    """Both forms for p = infinity, written out."""
    r, log4 = beta / q, (4 / d).log()
    if form == "4.3":
        v = (1 - 3 * r) / (1 - 2 * r) * 4 / 9 if 3 * r < 1 else arb(0)
        spread = (32 * log4 / (r * (n - 1))).sqrt() + 4 / (r * n)
        return (1 + beta / ((1 - v) * beta + v) * spread).log()
    omega = 2 * r * (n - 1) - ((6 * r if 6 * r < 0.5 else arb(0.5)) * (n - 1) * log4).sqrt()
    s = (omega * log4 / 2).sqrt()
    down = beta * (omega / 2 - s)
    if beta < 1:
        down += (1 - beta) * (n - 1 - omega) * r / (1 - 2 * r)
    return (1 + beta * (2 * s + 1) / down).log()


ENDLESS = {"4.2": variation_ratio.theorem_4_2, "4.3": variation_ratio.theorem_4_3}


@pytest.mark.parametrize("form", ENDLESS)
def test_variation_ratio_forms_are_above_their_pair_where_p_is_infinite(form):
    tried, closest = 0, math.inf
    for beta, q, n, delta in itertools.product(
        (0.3, 0.9, 1.0), (2.0, 5.0, 64.0), (60, 1000, 10**5), (0.3, 1e-2, 1e-6)
    ):
        try:
            value = ENDLESS[form](p=math.inf, beta=beta, q=q, n=n, delta=delta)
        except sd.NotCertified:
            continue
        tried += 1
        formula_in_balls(value, endless_ball(form, *(arb(x) for x in (beta, q, n, delta))))
        pair = published_pair(VariationRatio(p=math.inf, beta=beta, q=q), n=n)
        assert true_at(PairProfile(pair), value, delta), (beta, q, n, delta)
        if q == 2.0:
            continue  # k0/(1 - 2r) has no limit there
        near = ENDLESS[form](p=1e9, beta=beta * (1 - 1e-8), q=q * (1 + 1e-8), n=n, delta=delta)
        closest = min(closest, abs(near / value - 1.0))
    assert tried > 20
    assert closest < 1e-6


def test_closed_forms_bound_balls_into_bins_and_a_fair_coin():
    for protocol in (sd.BallsIntoBins(d=16, s=2, blankets=4), sd.BalcerEtAl(blankets=4)):
        n, delta = 3000, 1e-6
        true = sd.shuffle(protocol, n=n).epsilon(delta=delta)
        found = sd.ratios(protocol)
        family = sd.variation_ratio(
            p=found.p, beta=found.beta, q=found.q, n=protocol.blanket_total(n) + 1
        )
        for analysis in ("variation-ratio", "variation-ratio-4.2", "variation-ratio-4.3"):
            assert true.lower <= family.epsilon(delta=delta, analysis=analysis).upper
        same = family.epsilon(delta=delta, analysis="variation-ratio")
        assert same.upper == pytest.approx(true.upper, rel=1e-5)


def test_variation_ratio_forms_refuse_what_is_outside_their_domains():
    for form in (variation_ratio.theorem_4_2, variation_ratio.theorem_4_3):
        with pytest.raises(sd.NotCertified, match="2r <= 1"):
            form(p=math.inf, beta=1.0, q=1.9, n=1000, delta=1e-6)
        with pytest.raises(sd.ParameterError, match="p = nan"):
            form(p=math.nan, beta=0.5, q=2.0, n=1000, delta=1e-6)
        with pytest.raises(sd.NotCertified, match="2r < 1"):
            form(p=10.0, beta=0.8, q=1.1, n=1000, delta=1e-6)
        with pytest.raises(sd.NotCertified, match="beta > 0"):
            form(p=10.0, beta=0.0, q=2.0, n=1000, delta=1e-6)
        assert form(p=3.0, beta=Interval(0.4, 0.4), q=3.0, n=10**6, delta=1e-6) == form(
            p=3.0, beta=0.4, q=3.0, n=10**6, delta=1e-6
        )


# --------------------------------------------------------------------------------------- Renyi


@pytest.mark.parametrize("eps0", [0.2, 1.0])
@pytest.mark.parametrize("n", [50, 1000])
def test_renyi_of_binary_rr_is_below_the_general_bound(eps0, n):
    for order in (2, 3, 8):
        lower = renyi.binary_rr(eps0=eps0, n=n, order=order)
        assert 0 < lower <= renyi.girgis(eps0=eps0, n=n, order=order)


def test_renyi_of_binary_rr_by_enumeration():
    eps0, n, order = 1.0, 6, 3
    f = 1 / (math.e + 1)
    p0 = [math.comb(n, k) * f**k * (1 - f) ** (n - k) for k in range(n + 1)]
    others = [math.comb(n - 1, k) * f**k * (1 - f) ** (n - 1 - k) for k in range(n)] + [0.0]
    p1 = [f * others[k] + (1 - f) * (others[k - 1] if k else 0.0) for k in range(n + 1)]
    moment = sum(b**order * a ** (1 - order) for a, b in zip(p0, p1, strict=True))
    found = renyi.binary_rr(eps0=eps0, n=n, order=order)
    assert found == pytest.approx(math.log(moment) / (order - 1), rel=1e-10)


def test_converted_renyi_is_above_the_mechanism():
    for eps0, n in ((0.2, 1000), (1.0, 10_000)):
        lower = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n).epsilon(delta=1e-6).lower
        assert renyi.girgis_epsilon(eps0=eps0, n=n, delta=1e-6) >= lower


# ------------------------------------------------------------------------------------- inverses


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
def test_delta_of_an_eps_formula_was_evaluated(epsilon):
    def form(delta):
        return clones.clone(eps0=0.5, n=30_000, delta=delta)

    log = log_delta_of(form, epsilon) if epsilon > 0.02 else None
    if log is None:
        with pytest.raises(sd.NotCertified, match="no delta below 1"):
            log_delta_of(form, epsilon)
        return
    assert form(math.exp(log)) <= epsilon
    if log > -689.0:
        with_less = math.exp(log - 1e-6)
        with contextlib.suppress(sd.NotCertified):  # the domain may end there
            assert form(with_less) > epsilon


def test_eps_of_a_delta_formula_was_evaluated():
    at = blanket.k_rr(10, 2.0)

    def form(epsilon):
        return blanket.log_bennett(at, n=1000, epsilon=epsilon)

    for delta in (1e-2, 1e-6, 1e-12):
        found = epsilon_of(form, math.log(delta), cap=2.0)
        assert form(found) <= math.log(delta)
        assert form(found * (1 - 1e-9)) > math.log(delta)
    with pytest.raises(sd.NotCertified, match="at no eps"):
        epsilon_of(form, math.log(1e-300), cap=0.5)


# ----------------------------------------------------------- through the front door, against balls

UPPERS = [a.key for a in sd.analyses() if a.kind == "closed form" and a.end == "upper"]
SOURCES = {
    "k-rr": {"name": "k-rr", "k": 10, "eps0": 0.4},
    "binary-rr": {"name": "binary-rr", "eps0": 0.4},
    "laplace": {"name": "laplace", "eps0": 0.4, "low": 0.0, "high": 1.0, "binary": False},
    "oue": {"name": "oue", "d": 5, "eps0": 0.4},
}


def triple(name):
    return (0.0, 1.0, 0.0) if name == "laplace" else (0, 1, 0)


@pytest.mark.many(14)
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("key", UPPERS)
def test_delta_and_eps_are_above_the_exact_divergence(key, name):
    """Ball arithmetic gives the exact divergence of one pair of datasets; no bound is below it."""
    randomizer = sd.randomizer_from_dict(SOURCES[name])
    for n in (1000, 100_000):
        acc = sd.shuffle(randomizer, n=n)
        try:
            epsilon = acc.epsilon(delta=1e-4, analysis=key).upper
            delta = acc.delta(epsilon=0.5 * epsilon, analysis=key)
        except sd.NotCertified:
            assert (key, name) not in {("fmt-3.1", "oue"), ("bennett", "k-rr")}
            continue
        for eps, log in ((epsilon, math.log(1e-4)), (0.5 * epsilon, delta.log_upper)):
            if eps >= randomizer.eps0:
                continue
            x0, x1, x2 = triple(name)
            low, _ = log_delta(
                SOURCES[name], analysis="dataset", n=n, epsilon=eps, x0=x0, x1=x1, x2=x2, rel=1e-3
            )
            assert log >= low


def test_dataset_pair_is_what_balls_say():
    """The oracle above and the library's own lower bound agree."""
    pair = dataset_pair(sd.KRR(k=10, eps0=0.4), 0, 1, 0, n=1000)
    low, high = log_delta(
        SOURCES["k-rr"], analysis="dataset", n=1000, epsilon=0.01, x0=0, x1=1, x2=0, rel=1e-6
    )
    found = PairProfile(pair).log_delta(0.01, width=1e-6)
    assert found.low <= high
    assert low <= found.high
