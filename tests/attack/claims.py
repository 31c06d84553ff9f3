"""Random claims of each published formula, over all of its stated domain."""

import math

from attack import laws
from attack.screen import Claim
from shuffledp.closed_forms import blanket, clones, variation_ratio
from shuffledp.closed_forms.interval import Interval
from shuffledp.errors import NotCertified

MOST_USERS, MOST_VALUES, MOST_EPS0 = 1e15, 1e9, 30.0


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def delta(rng):
    """1e-300 to next to 1, as often between 1e-20 and 1 as below."""
    return 10.0 ** -rng.uniform(0.001, rng.choice((20.0, 300.0)))


def eps0(rng, most=MOST_EPS0):
    """1e-4 to the largest, small ones as often as large ones."""
    return rng.uniform(0.0, most) + 1e-9 if rng.random() < 0.5 else log_uniform(rng, 1e-4, most)


def values(rng):
    """2 to 1e9."""
    return rng.choice((2, 3)) if rng.random() < 0.2 else int(log_uniform(rng, 3.0, MOST_VALUES))


def users(rng, least):
    """From the least number of users that a condition asks for: half of them next to it."""
    least = max(least, 1.0)
    if least >= MOST_USERS:
        raise NotCertified("more users than the library takes")
    n = (
        log_uniform(rng, least, MOST_USERS)
        if rng.random() < 0.5
        else least * (1 + log_uniform(rng, 1e-12, 9.0))
    )
    return min(math.ceil(n), int(MOST_USERS))


def witnesses(rng, e0):
    """Datasets of eps0-LDP randomizers: 2-RR, 3-RR and k-RR of any k, all others at one value."""
    return (
        *laws.binary_rr(e0),
        laws.k_rr_third(3, e0),
        laws.k_rr_third(values(rng) + 1, e0),
    )


def _claimed(form, most, witness, **at):
    """The claim of a formula for eps at a delta; none where eps0 alone says as much."""
    value = form(**at)
    if value >= most:
        raise NotCertified("above the local guarantee")
    return Claim(at["n"], value, math.log(at["delta"]), witness, at)


def erlingsson(rng):
    e0, d = min(eps0(rng, 0.5), 0.4999), delta(rng) * 0.01
    n = users(rng, max(1000.0, 144.0 * math.log(1 / d)))
    # The clone dominates every eps0-LDP randomizer: the formula is above that, too.
    return _claimed(
        clones.erlingsson, e0, (*witnesses(rng, e0), laws.clone(e0)), eps0=e0, n=n, delta=d
    )


def clone(rng):
    e0, d = eps0(rng), delta(rng)
    n = users(rng, 16.0 * math.log(4 / d) * math.exp(e0))
    return _claimed(clones.clone, e0, (*witnesses(rng, e0), laws.clone(e0)), eps0=e0, n=n, delta=d)


def clone_approximate(rng):
    """A report is binary RR, or with probability delta0 the value itself."""
    e0, d = eps0(rng), delta(rng)
    n = users(rng, 16.0 * math.log(4 / d) * math.exp(e0))
    delta0 = min(d / n * 10.0 ** rng.uniform(-8.0, 3.0), 1.0)
    epsilon, total = clones.clone_approximate(eps0=e0, delta0=delta0, n=n, delta=d)
    if epsilon >= e0 or total >= 1.0 or n * delta0 > 1.0:
        raise NotCertified("nothing is claimed")
    if total <= delta0:
        return Claim(n, 0.0, -math.inf, witnesses(rng, e0), {"total": total, "delta0": delta0})
    # Nobody's value is seen with probability (1 - delta0)^n; the victim's alone counts in full.
    left = math.log(total - delta0) - n * math.log1p(-delta0)
    at = {"eps0": e0, "delta0": delta0, "n": n, "delta": d}
    return Claim(n, epsilon, left, witnesses(rng, e0), at)


def decomposition(rng):
    q, d = log_uniform(rng, 1e-9, 1.0), delta(rng)
    p = log_uniform(rng, 1e-12, 1 / 3)
    n = users(rng, 8.0 * math.log(4 * max(q / d, 1.0)) / p)
    return _claimed(clones.decomposition, math.inf, (laws.labels(p, q),), p=p, q=q, n=n, delta=d)


def k_rr(rng):
    e0, d, k = eps0(rng), delta(rng), values(rng)
    n = users(rng, 16.0 * math.log(4 / d) * math.exp(e0))
    found = [*laws.k_rr_first(k, e0), laws.k_rr_blanket(k, e0)]
    if k > 2:
        found.append(laws.k_rr_third(k, e0))
    return _claimed(clones.k_rr, e0, tuple(found), k=k, eps0=e0, n=n, delta=d)


def ratios(form, least):
    def make(rng):
        p, d = 1.0 + log_uniform(rng, 1e-4, math.exp(MOST_EPS0)), delta(rng)
        top = (p - 1) / (p + 1)
        whole = rng.random() < 0.4
        beta = (
            top
            if whole
            else top * (rng.random() if rng.random() < 0.5 else log_uniform(rng, 1e-6, 1.0))
        )
        q = (
            1.0
            + beta
            + (p - 1.0) * (rng.random() if rng.random() < 0.5 else log_uniform(rng, 1e-6, 1.0))
        )
        r = beta / (p - 1) * p / q
        if not 2 * r < 1 - 1e-9:
            raise NotCertified("no such pair")
        n = users(rng, max(2.0, least(r, d)))
        share = Interval(math.nextafter(beta, -1.0), math.nextafter(beta, 2.0))
        at = {"p": p, "beta": share, "q": q, "n": n, "delta": d}
        return _claimed(form, math.log(p), (laws.ratio(p, beta, q),), **at)

    return make


def blankets(form, kind):
    """delta at an eps by the two inequalities, against the blanket that they bound."""

    def make(rng):
        e0, n = eps0(rng), users(rng, 1.0)
        if kind == "k_rr":
            k = values(rng)
            moments, found = blanket.k_rr(k, e0), (laws.k_rr_blanket(k, e0),)
        elif kind == "laplace":
            moments, found = blanket.laplace(e0), (laws.laplace_blanket(e0),)
        else:
            law = laws.extremal_blanket(e0, *_shares(rng))
            gamma = math.fsum(law[0])
            most = Interval(gamma * (1 - 1e-14), min(gamma * (1 + 1e-14), 1.0))
            moments = blanket.generic(e0) if kind == "generic" else blanket.known_blanket(e0, most)
            found = (law, *witnesses(rng, e0)) if kind == "generic" else (law,)
        # The eps at which there is something to see: from a normal law, and anything below eps0.
        wide = math.expm1(e0) / math.sqrt(n)
        epsilon = min(wide * log_uniform(rng, 1e-2, 40.0), e0 * (1 - 1e-9))
        if rng.random() < 0.3:
            epsilon = log_uniform(rng, 1e-9, e0)
        log = form(moments, n=n, epsilon=epsilon)
        if not -691.0 < log < 0.0:
            raise NotCertified("nothing is claimed")
        return Claim(
            n, epsilon, log, found, {"eps0": e0, "law": found[0] if kind != "laplace" else kind}
        )

    return make


def _shares(rng):
    """Weights of the labels: everything on the two that differ, or next to nothing."""
    share = rng.choice((1.0, rng.random(), log_uniform(rng, 1e-9, 1.0)))
    return share, rng.choice((0.0, rng.random()))


MAKERS = {
    "efmrtt19": erlingsson,
    "fmt-3.1": clone,
    "fmt-3.8": clone_approximate,
    "fmt-4.1": decomposition,
    "fmt-4.2": k_rr,
    "variation-ratio-4.2": ratios(
        variation_ratio.theorem_4_2, lambda r, d: 2.0 * math.log(4 / d) / r
    ),
    "variation-ratio-4.3": ratios(
        variation_ratio.theorem_4_3, lambda r, d: 8.0 * math.log(2 / d) / r
    ),
    "hoeffding k-rr": blankets(blanket.log_hoeffding, "k_rr"),
    "hoeffding laplace": blankets(blanket.log_hoeffding, "laplace"),
    "hoeffding": blankets(blanket.log_hoeffding, "known"),
    "hoeffding-generic": blankets(blanket.log_hoeffding, "generic"),
    "bennett k-rr": blankets(blanket.log_bennett, "k_rr"),
    "bennett laplace": blankets(blanket.log_bennett, "laplace"),
    "bennett": blankets(blanket.log_bennett, "known"),
    "bennett-generic": blankets(blanket.log_bennett, "generic"),
}


def drawn(name, rng, count):
    """``count`` claims inside the formula's domain, and how many draws were outside."""
    found, outside = [], 0
    while len(found) < count:
        claim = _inside(name, rng)
        if claim is None:
            outside += 1
            assert outside < 200 * count, "next to no draw is inside the domain"
        else:
            found.append(claim)
    return found, outside


def _inside(name, rng):
    try:
        return MAKERS[name](rng)
    except NotCertified:
        return None
