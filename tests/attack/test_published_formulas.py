"""Every published formula attacked by random search over its whole stated domain.

delta down to 1e-300, k to 1e9, n to 1e15, eps0 to 30, as often next to the end of the domain as
anywhere. What is claimed is compared with datasets of 2-RR, 3-RR and k-RR, with the channels that
have a theorem's labels, and with the pair or the blanket that the formula is proved to bound.
"""

import math
import random

import numpy as np
import pytest

import shuffledp as sd
from attack import claims, laws
from attack.screen import Claim, attacked, certified_low, screened
from shuffledp.closed_forms import variation_ratio
from shuffledp.errors import NotCertified

KEYS = [a.key for a in sd.analyses() if a.kind == "closed form" and a.end == "upper"]


def test_every_closed_form_is_attacked():
    assert {name.split()[0] for name in claims.MAKERS} == set(KEYS)


def search(name, count, seed):
    drawn, _ = claims.drawn(name, random.Random(f"{name} {seed}"), count)
    found = attacked(drawn)
    assert found.points == count
    assert not found.violations, found.violations[:3]


@pytest.mark.many(2)
@pytest.mark.parametrize("name", claims.MAKERS)
def test_no_claim_is_below_a_certified_lower_end(name):
    search(name, 1000, 0)


@pytest.mark.long
@pytest.mark.parametrize("name", claims.MAKERS)
def test_no_claim_of_a_hundred_thousand_is(name):
    for seed in range(1, 6):
        search(name, 20_000, seed)


# ---------------------------------------------------------------- the search finds what was wrong


def corollary_4_2(rng):
    """As printed: under the condition of Theorem 3.1 alone."""
    e0, d, k = claims.eps0(rng), claims.delta(rng), claims.values(rng)
    n = claims.users(rng, 16.0 * math.log(4 / d) * math.exp(e0))
    grow, log = math.exp(e0), math.log(4 / d)
    spread = 4.0 * math.sqrt(2.0 * (k + 1) * log / ((grow + k - 1) * k * n)) + 4.0 * (k + 1) / (
        k * n
    )
    epsilon = math.log1p((grow - 1) * spread)
    witnesses = (laws.k_rr_third(max(k, 3), e0), *laws.k_rr_first(k, e0))
    return Claim(n, epsilon, math.log(d), witnesses, {"k": k, "eps0": e0, "delta": d})


def theorem_4_2(rng):
    """As printed: with the sign of the paper's second condition."""
    p, d = 1.0 + claims.log_uniform(rng, 1e-2, 1e6), claims.delta(rng)
    beta = (p - 1) / (p + 1) * rng.random()
    q = 1.0 + beta + (p - 1.0) * rng.random()
    al = beta / (p - 1)
    r, k0, log = al * p / q, 1 - (p + 1) * al, math.log(4 / d)
    n = claims.users(rng, 8.0 * log / r)
    omega = 2 * r * (n - 1) - math.sqrt(min(6 * r, 0.5) * (n - 1) * log)
    top, down = (
        2 * p * (beta + 1 + (beta - 1) * p) * (n - 1) + beta,
        q + p * (beta - 1) + (beta + 1) * p**2,
    )
    down -= p * q
    if not (2 * r < 1 and omega > 0 and down > 0 and omega * down >= top):
        raise NotCertified("outside the printed domain")
    s, rest = math.sqrt(omega * log / 2), k0 * r / (1 - 2 * r)
    if s > omega / 2 or (p + 1) * al / 2 < rest:
        raise NotCertified("outside the printed domain")
    below = al * omega + beta * (omega / 2 - s) + rest * (n - 1 - omega)
    epsilon = math.log1p(beta * (2 * s + 1) / below)
    return Claim(n, epsilon, math.log(d), (laws.ratio(p, beta, q),), {"p": p, "beta": beta, "q": q})


@pytest.mark.parametrize("wrong", [corollary_4_2, theorem_4_2])
def test_the_search_finds_formulas_that_are_false(monkeypatch, wrong):
    monkeypatch.setitem(claims.MAKERS, "wrong", wrong)
    drawn, _ = claims.drawn("wrong", random.Random("wrong"), 2000)
    found = attacked(drawn, most=50)
    assert len(found.violations) >= 3


@pytest.mark.long
def test_a_formula_slightly_too_small_is_found(monkeypatch):
    """The blanket of k-RR itself, at 0.9 of its eps."""

    def wrong(rng):
        e0, n = rng.uniform(0.1, 8.0), int(claims.log_uniform(rng, 3, 1e12))
        law = laws.k_rr_third(int(claims.log_uniform(rng, 3, 1e6)), e0)
        epsilon = min(0.5 * e0, 3 * math.expm1(e0) / math.sqrt(n))
        claim = Claim(n, epsilon, 0.0, (law,), {})
        low = certified_low(claim, law)
        if not -600.0 < low < -3.0:
            raise NotCertified("too far down")
        return claim._replace(epsilon=0.9 * epsilon, log_delta=low)

    monkeypatch.setitem(claims.MAKERS, "wrong", wrong)
    drawn, _ = claims.drawn("wrong", random.Random("slightly"), 100)
    found = attacked(drawn)
    assert len(found.violations) >= 95


def test_the_screen_lets_nothing_pass():
    """Never below the kernel's certified lower end by more than it allows for."""
    rng = random.Random("screen")
    makers = [
        lambda e0: laws.binary_rr(e0)[rng.randrange(2)],
        lambda e0: laws.k_rr_third(claims.values(rng) + 1, e0),
        lambda e0: laws.k_rr_first(claims.values(rng), e0)[rng.randrange(2)],
        lambda e0: laws.k_rr_blanket(claims.values(rng), e0),
        laws.clone,
        lambda _: laws.labels(claims.log_uniform(rng, 1e-9, 1 / 3), rng.random()),
        lambda e0: laws.extremal_blanket(e0, rng.random(), rng.random()),
        lambda e0: laws.laplace_blanket(e0, 6),
    ]
    compared = 0
    for _ in range(60):
        e0, n = claims.eps0(rng), int(claims.log_uniform(rng, 1.0, 1e15))
        law = rng.choice(makers)(e0)
        epsilon = min(math.expm1(e0) / math.sqrt(n) * claims.log_uniform(rng, 1e-2, 40.0), e0)
        low = certified_low(Claim(n, epsilon, 0.0, (law,), {}), law)
        if low < -690.0:
            continue
        compared += 1
        columns = np.array([law]).transpose(1, 0, 2)
        log, slack = screened(columns, np.array([float(n)]), np.array([epsilon]))
        assert low <= log[0] + slack[0], (law, n, epsilon)
    assert compared > 20


# ------------------------------------------------- the named analyses, through the front door


def randomizer(rng):
    e0 = claims.eps0(rng, 8.0)
    kind = rng.randrange(7)
    if kind == 0:
        return sd.KRR(k=claims.values(rng), eps0=e0)
    if kind == 1:
        return sd.BinaryRR(eps0=e0)
    if kind == 2:
        d = rng.randint(3, 40)
        return sd.SubsetSelection(d=d, k=rng.randint(1, d - 1), eps0=e0)
    if kind == 3:
        return sd.Laplace(eps0=e0)
    if kind == 4:
        d = rng.randint(2, 5)
        rows = [[rng.random() ** 3 + 1e-3 for _ in range(d)] for _ in range(rng.randint(2, 4))]
        return sd.Channel(matrix=[[v / math.fsum(row) for v in row] for row in rows])
    if kind == 5:
        return sd.RAPPOR(d=rng.randint(2, 100), eps0=e0)
    return sd.LocalHash(domain=rng.randint(3, 1000), l=rng.randint(2, 50), eps0=e0)


def front_door(rng, keys):
    """All analyses of a random question against the best certified lower end, and conversely."""
    mechanism = randomizer(rng) if rng.random() < 0.8 else None
    n, d = int(claims.log_uniform(rng, 1.0, 1e15)), claims.delta(rng)
    if mechanism is None:
        acc = sd.generic(eps0=claims.eps0(rng, 8.0), n=n, rtol=1e-3)
    else:
        acc = sd.shuffle(mechanism, n=n, rtol=1e-3)
    best = acc.epsilon(delta=d)
    asked = 0
    for key in keys:
        try:
            found = acc.epsilon(delta=d, analysis=key)
        except sd.NotCertified:
            continue
        asked += 1
        about = (key, mechanism, n, d)
        assert best.lower <= found.upper, about
        assert found.lower <= best.upper, about
    return asked


FAST = [a.key for a in sd.analyses() if a.end != "estimate" and not a.slow]


def test_named_analyses_of_random_questions():
    rng = random.Random("front door")
    assert sum(front_door(rng, FAST) for _ in range(4)) > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_named_analyses_of_many_random_questions(seed):
    rng = random.Random(f"front door {seed}")
    for _ in range(250):
        front_door(rng, FAST)


def test_the_formula_of_theorem_4_2_falls_where_its_condition_holds():
    """Theorem 5.11 (d): no other count of clones gives a larger quotient."""
    rng = random.Random("falls")
    tried = 0
    while tried < 200:
        try:
            at = claims.MAKERS["variation-ratio-4.2"](rng).about
        except NotCertified:
            continue
        tried += 1
        p, beta, q, n, log = at["p"], at["beta"].high, at["q"], at["n"], math.log(4 / at["delta"])
        al = beta / (p - 1)
        r = al * p / q
        kappa = max(1 - (p + 1) * al, 0.0) * r / (1 - 2 * r)
        omega = 2 * r * (n - 1) - math.sqrt(min(6 * r, 0.5) * (n - 1) * log)
        claimed = variation_ratio.theorem_4_2(**at)
        for count in np.linspace(omega, n - 1, 50):
            u = math.sqrt(count * log / 2)
            down = al * count + beta * (count / 2 - u) + kappa * (n - 1 - count)
            assert math.log1p(beta * (2 * u + 1) / down) <= claimed * (1 + 1e-9)
