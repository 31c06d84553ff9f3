"""Feldman, McMillan, Talwar 2021: the claims of its figures, Table 1, and constants of theorems."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

import shuffledp as sd
from papers.printed import rows
from papers.printed.rows import (
    DELTA,
    FMT,
    Found,
    agrees,
    down,
    ends,
    factors,
    number,
    numbers,
    percent,
    says,
    short,
    up,
    upper_of,
)
from shuffledp.published import formulas as forms

row = partial(rows.row, FMT)
order = partial(rows.order, FMT)
no_number = partial(rows.no_number, FMT)
CLOSE = 1.2  # ours: what we call close, as a factor
# (eps0, n) of Fig. 2a, 2b and 2c.
FIG_2 = (
    *product((0.1, 6.0), (10**5, 10**6, 10**7)),
    *((e, 10**6) for e in (0.01, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0)),
)


def _settings(found: list[tuple[float, int]]) -> str:
    return ", ".join(f"({eps0:g}, {short(n)})" for eps0, n in found)


def _clone_and_blanket(eps0: float, n: int) -> tuple[float, float]:
    """eps of both; of the blanket infinity where it is no better than eps0 itself."""
    acc = sd.generic(eps0=eps0, n=n)
    before = min(upper_of(acc, key) for key in ("bennett-generic", "hoeffding-generic"))
    return upper_of(acc, "clone"), before if before < eps0 * (1 - 1e-9) else math.inf


no_number("Fig. 1, 5", "steps of two proofs", "drawings")


@row("Fig. 2", "clone below the generic blanket bounds", "in every setting", slow=True)
def _better() -> Found:
    compared = [(eps0, n, *_clone_and_blanket(eps0, n)) for eps0, n in FIG_2]
    worse = [(eps0, n) for eps0, n, clone, blanket in compared if clone > min(blanket, eps0)]
    none = [(eps0, n) for eps0, n, _, blanket in compared if blanket == math.inf]
    words = f"blanket over clone {factors([b / c for *_, c, b in compared if b < math.inf])}"
    if none:
        words += f", where it is below eps0; it is not at (eps0, n) = {_settings(none)}"
    return Found(words, says(not worse, f"does not at (eps0, n) = {_settings(worse)}"))


@row("Fig. 2c", "where it gains most", "at large eps0", slow=True)
def _gain() -> Found:
    gains = {}
    for eps0 in (0.01, 1.0, 4.0, 5.0, 6.0, 7.0, 8.0):
        clone, blanket = _clone_and_blanket(eps0, 10**6)
        gains[eps0] = blanket / clone
    words = ", ".join(
        f"{number(g, 3)} at eps0 = {e:g}" if g < math.inf else f"none below {e:g} at eps0 = {e:g}"
        for e, g in gains.items()
    )
    return Found(f"n = 1e6, blanket over clone {words}", says(gains[8.0] == max(gains.values())))


@row("Fig. 2c", "clone against exact binary RR, n = 1e6", "close, most at small eps0", slow=True)
def _close() -> Found:
    above = {}
    for eps0 in (0.1, 1.0, 4.0, 6.0):
        low = sd.shuffle(sd.BinaryRR(eps0=eps0), n=10**6).epsilon(delta=DELTA, analysis="dataset")
        above[eps0] = upper_of(sd.generic(eps0=eps0, n=10**6), "clone") / low.lower
    words = ", ".join(f"{number(r, 3)} at eps0 = {e:g}" for e, r in above.items())
    far = [f"{e:g} (factor {number(r, 3)})" for e, r in above.items() if r > CLOSE]
    verdict = says(above[0.1] == min(above.values()), yes="holds at small eps0 only")
    return Found(f"clone over binary RR {words}", f"{verdict}; not close at {', '.join(far)}")


def bkmtt(*, eps0: float, n: int, delta: float) -> float:
    """The curve of Balle, Kairouz, McMahan, Thakkar, Thakurta 2020: an estimate, no bound.

    The text has its order alone, e^(2.5 eps0)/sqrt(n). Rebuilt: advanced composition of n steps of
    e^(1.5 eps0) (e^eps0 - 1)/n each, S/2 + sqrt(2 S log(1/delta)) with S the sum of their squares.
    """
    squares = math.exp(3 * eps0) * math.expm1(eps0) ** 2 / n
    return squares / 2 + math.sqrt(2 * squares * math.log(1 / delta))


@row(
    "Fig. 2", "Balle, Kairouz, McMahan, Thakkar, Thakurta 2020", "a curve, above the clone",
    slow=True,
)  # fmt: skip
def _bkmtt() -> Found:
    above = [
        bkmtt(eps0=eps0, n=n, delta=DELTA) / upper_of(sd.generic(eps0=eps0, n=n), "clone")
        for eps0, n in ((0.1, 10**5), (0.1, 10**6), (0.1, 10**7), (1.0, 10**6), (2.0, 10**6))
    ]
    words = f"{factors(above)} times the clone's where it is below eps0"
    return Found(words, f"{says(min(above) > 1)}, with constants that we rebuilt: an estimate")


@row("Fig. 2", "Cheu et al. 2019, binary RR", "a curve")
def _csuzz() -> Found:
    acc = sd.shuffle(sd.BinaryRR(eps0=1.0), n=10**6)
    ratio = upper_of(acc, "csuzz19") / acc.epsilon(delta=DELTA).lower
    words = f"{number(ratio, 3)} times the exact eps at eps0 = 1, n = 1e6"
    return Found(words, "an estimate: its constants are from memory")


# ------------------------------------------------------------------------------ Figures 3, 4

RENYI = (4.0, 10**4)  # eps0 and n are not printed


def _clone() -> sd.Account:
    eps0, n = RENYI
    return sd.generic(eps0=eps0, n=n, trust="published")


def _girgis(order: int) -> float:
    eps0, n = RENYI
    return forms.girgis(eps0=eps0, n=n, order=order)


@row("Fig. 3a", "Renyi divergence as the order grows", "tends to eps0", slow=True)
def _limit() -> Found:
    eps0, clone = RENYI[0], _clone()
    found = {order: clone.renyi(order=order).upper for order in (2.0, 100.0, 1e4)}
    words = ", ".join(f"{up(value)} at {order:g}" for order, value in found.items())
    holds = 0.9 * eps0 <= found[1e4] <= eps0 * (1 + 1e-9) and found[2.0] < 0.1 * eps0
    return Found(f"orders: {words} (eps0 = 4, n = 1e4)", says(holds))


FROM_MEMORY = ", its constants taken from memory"


@row("Fig. 3a", "clone against Girgis et al. 2021", "far below", slow=True)
def _against_girgis() -> Found:
    clone = _clone()
    ratios = [_girgis(order) / clone.renyi(order=float(order)).upper for order in (2, 4, 8)]
    words = f"{factors(ratios)} times smaller at orders 2, 4, 8"
    return Found(words, says(min(ratios) > 2.0) + FROM_MEMORY)


@row("Fig. 3", "rounds, Renyi against Girgis et al.", "clearly tighter", slow=True)
def _rounds() -> Found:
    rounds, clone = 100, _clone()

    def converted(divergence: Callable[[int], float]) -> float:
        return min(
            rounds * divergence(o) + math.log1p(-1 / o) - math.log(DELTA * o) / (o - 1)
            for o in (2, 3, 4, 6, 8, 12, 16, 24, 32)
        )

    ours, theirs = converted(lambda o: clone.renyi(order=float(o)).upper), converted(_girgis)
    words = f"{number(ours, 3)} against {number(theirs, 3)} after 100 rounds"
    return Found(words, says(ours < 0.8 * theirs) + FROM_MEMORY)


@row("Fig. 4", "eps of binary RR at log(1/delta) = n/(2E)", "turns sharply from below eps0 to eps0")
def _transition() -> Found:
    n, shares = 1000, {}
    for eps0 in (2.0, 3.0, 4.0):
        acc = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n, rtol=1e-3)
        middle = n * math.exp(-eps0) / 2
        shares[eps0] = [
            acc.epsilon(delta=math.exp(-factor * middle), analysis="dataset").lower / eps0
            for factor in (0.25, 1.0, 2.0, 4.0)
        ]
    words = "; ".join(f"eps0 = {e:g}: {numbers(found, 2)}" for e, found in shares.items())
    turns = all(low < 0.6 and high > 0.95 for low, _, _, high in shares.values())
    # Sharp: all of eps0, nearly, at twice that already.
    soft = " and ".join(f"{e:g}" for e, found in shares.items() if found[2] <= 0.95)
    yes = f"turns between 1/4 and 4 times it; not sharp at eps0 = {soft}" if soft else "holds"
    return Found(f"n = 1e3, eps/eps0 at 1/4, 1, 2 and 4 times that: {words}", says(turns, yes=yes))


# ------------------------------------------------------------------------------ Table 1

DELTA0 = 1e-20  # ours: so small that n delta0 does not count
AT = ((2.0, 4.0, 6.0), 10**8, DELTA, "1e-6")
NOT_EVALUATED = "; earlier orders not evaluated"


def _root(e: float, log: float, n: int) -> float:
    return math.sqrt(math.exp(e) * log / n)


order(
    "order for binary RR", "w/sqrt(n)", _root,
    lambda e, n: sd.shuffle(sd.BinaryRR(eps0=e), n=n).epsilon(delta=DELTA).upper, AT,
)  # fmt: skip
order(
    "order, not adaptive", "w/sqrt(n), before: E/sqrt(n)", _root,
    lambda e, n: sd.generic(eps0=e, n=n).epsilon(delta=DELTA).upper, AT, NOT_EVALUATED,
)  # fmt: skip
order(
    "order, adaptive", "w/sqrt(n), before: E^2.5, E^3", _root,
    lambda e, n: sd.generic(eps0=e, n=n, adaptive=True).epsilon(delta=DELTA).upper, AT,
    NOT_EVALUATED,
)  # fmt: skip
order(
    "order for (eps0, delta0)", "w/sqrt(n), delta + n delta0; before: E^20", _root,
    lambda e, n: forms.clone_approximate(eps0=e, delta0=DELTA0, n=n, delta=DELTA)[0],
    (*AT[:3], f"1e-6, delta0 = {DELTA0:g}"), NOT_EVALUATED, slow=False,
)  # fmt: skip
order(
    "order for 10-RR", "E/sqrt(n(E+k))",
    lambda e, log, n: math.exp(e) * math.sqrt(log / (n * (math.exp(e) + 10))),
    lambda e, n: sd.shuffle(sd.KRR(k=10, eps0=e), n=n).epsilon(delta=DELTA).upper, AT,
)  # fmt: skip


# ------------------------------------------------------------------------------ theorems


@row(
    "Thm 3.1", "closed form, a bound on the pair of Thm 3.2", "eps0 <= log(n/(16 log(2/delta)))",
    slow=True,
)  # fmt: skip
def _theorem_31() -> Found:
    settings = [(0.1, 10**5), (1.0, 10**6), (4.0, 10**6), (6.0, 10**7)]
    accounts = [sd.generic(eps0=eps0, n=n) for eps0, n in settings]
    over = [upper_of(acc, "fmt-3.1") / upper_of(acc, "clone") for acc in accounts]
    yes = "holds as a bound; enforced with log(4/delta), which its proof uses"
    words = f"{factors(over)} times the pair's eps, (eps0, n) = {_settings(settings)}"
    return Found(words, says(min(over) >= 1.0, yes=yes))


@row("after Thm 3.1", "the same condition", "log(2/delta) <= n e^eps0/16")
def _sign() -> Found:
    eps0, n = 12.0, 10**4
    allowed = math.log(2 / DELTA) <= n * math.exp(eps0) / 16
    condition = eps0 <= math.log(n / (16 * math.log(2 / DELTA)))
    words = f"at eps0 = 12, n = 1e4 it {'allows' if allowed else 'forbids'} what Thm 3.1 forbids"
    return Found(words, says(condition or not allowed, "does not: n e^-eps0/16 is meant"))


@row("section 4.1", "Thm 4.1 at p = e^-eps0/3 over Thm 3.1", "sqrt(3/2)")
def _sqrt32() -> Found:
    ours = 4 * math.sqrt(6) / 8  # (4 sqrt(6 E L/n)) over (8 sqrt(E L/n))
    return Found(number(ours, 5), says(agrees(ours, math.sqrt(1.5))))


@row("Thm 3.8", "Gaussian noise: amplification through (eps0, delta0)", "a bound", slow=True)
def _approximate() -> Found:
    acc = sd.shuffle(sd.Gaussian(sigma=4.0), n=30_000, rtol=1e-3)
    formula, bound = upper_of(acc, "fmt-3.8"), acc.epsilon(delta=DELTA)
    words = f"{up(formula)} against {ends(bound)} (sigma = 4, n = 3e4, delta = 1e-6)"
    return Found(words, says(formula >= bound.lower, yes="holds as a bound"))


@row(
    "Cor 4.2", "k-RR, k = 5e7, eps0 = 6.39, n = 1e6, delta = 1e-40",
    "a bound under Thm 3.1's condition", slow=True,
)  # fmt: skip
def _corollary() -> Found:
    k, eps0, n, delta = 5 * 10**7, 6.39, 10**6, 1e-40
    log, mass = math.log(4 / delta), math.exp(eps0) + k - 1
    root = 4 * math.sqrt(2 * (k + 1) * log) / math.sqrt(mass * k * n)
    formula = math.log1p(math.expm1(eps0) * (root + 4 * (k + 1) / (k * n)))
    inside = eps0 <= math.log(n / (16 * math.log(2 / delta)))
    low = sd.shuffle(sd.KRR(k=k, eps0=eps0), n=n).epsilon(delta=delta, analysis="dataset").lower
    words = f"formula {number(formula)}, certified lower end {down(low)}"
    holds = formula >= low or not inside
    return Found(words, says(holds, "does not: Thm 4.1's condition is needed too"))


@row(
    "after Thm 5.1",
    "error of frequencies, sum over k (Feldman, Talwar 2021; Thm 5.1 itself has no constant)",
    "1 + 4kE/(E-1)^2 over n",
)
def _frequencies() -> Found:
    k, ratios = 64, {}
    for eps0 in (1.0, 2.0, 4.0):
        printed = 1 + 4 * k * math.exp(eps0) / math.expm1(eps0) ** 2
        for mechanism in (
            sd.OUE(d=k, eps0=eps0), sd.OLH(domain=k, eps0=eps0), sd.SubsetSelection(d=k, eps0=eps0),
            sd.HadamardResponse(domain=k, eps0=eps0),
        ):  # fmt: skip
            total = (k - 1) * mechanism.variance(0.0) + mechanism.variance(1.0)
            ratios.setdefault(mechanism.name, []).append(total / printed)
    words = "; ".join(f"{name} {factors(found)}" for name, found in ratios.items())
    reached = ", ".join(name for name, found in ratios.items() if max(found) <= 1.001)
    shown = f"exact error over it, k = 64, eps0 = 1, 2, 4: {words}"
    return Found(shown, f"reached by {reached or 'none of ours'}")


@row("Thm 5.1", "bits of a message", "log2 k + 2")
def _bits() -> Found:
    bits = sd.HadamardResponse(domain=1000, eps0=4.0).message_bits
    words = f"Hadamard response, 1000 values: {number(bits)} bits (log2 k = 9.97)"
    return Found(words, says(bits <= math.log2(1000) + 2))


@row("Thm 5.2", "eps0 for a target above sqrt(log(1/delta)/n)", "log(eps^2 n/(100 log(1/delta)))")
def _target() -> Found:
    # At the target c sqrt(log(1/delta)/n) it is log(c^2/100), whatever n and delta.
    low, high = (math.log(c**2 / 100) for c in (2, 10))
    words = f"eps0 = {number(low, 3)} at 2 sqrt(log(1/delta)/n), {high:g} at 10 times it"
    holds = low > 0
    return Found(words, says(holds, "does not: not positive up to 10 sqrt(log(1/delta)/n)"))


@row("Thm 5.2", "eps0 for a target below it", "eps sqrt(n)/(16 sqrt(log(1/delta)))", slow=True)
def _small_target() -> Found:
    n, log = 10**6, math.log(1 / DELTA)
    target = 0.5 * math.sqrt(log / n)
    eps0 = target * math.sqrt(n) / (16 * math.sqrt(log))
    bound = sd.generic(eps0=eps0, n=n).epsilon(delta=DELTA)
    words = f"eps0 = {number(eps0)}: eps {ends(bound)} for a target of {number(target)}"
    yes = f"holds; {percent(bound.upper / target)} of the target used"
    return Found(words, says(bound.upper <= target, yes=yes))


no_number(
    "section 1", "earlier reductions (8 eps0, E^20, E^30/n; Renyi alpha E^6, alpha E^2)",
    "orders of other papers",
    "not comparable: orders without constants, of analyses that are not offered",
)  # fmt: skip


@row(
    "Algorithm 2", "sigma for (eps0, delta0) of a gradient clipped to 1",
    "(1 + sqrt(2 log(1/delta0)))/eps0",
)  # fmt: skip
def _sgd() -> Found:
    by_one, by_two = [], []
    for eps0 in (0.5, 1.0, 4.0):
        sigma = (1 + math.sqrt(2 * math.log(1e6))) / eps0
        by_one.append(sd.compose([sd.central.gaussian(sigma=sigma)]).delta(epsilon=eps0).upper)
        # One clipped gradient for another: two vectors of length 1, up to 2 apart.
        replaced = sd.compose([sd.central.gaussian(sigma=sigma / 2)])
        by_two.append(replaced.delta(epsilon=eps0).lower)
    words = (
        f"delta0 = 1e-6, eps0 = 0.5, 1, 4: delta {', '.join(up(d, 2) for d in by_one)} if the sum "
        f"changes by 1, at least {', '.join(down(d, 2) for d in by_two)} if one clipped gradient "
        "is replaced, which changes it by 2"
    )
    yes = "holds for a change by 1; does not for replacing a clipped gradient"
    return Found(words, says(max(by_one) <= 1e-6 < max(by_two), yes=yes))


no_number(
    "(13)", "batches drawn with replacement (Bassily et al. 2014)", "(eps, n delta + delta0/n)",
    "not comparable: examples drawn with replacement are not offered",
)  # fmt: skip


@row("section 5", "mean squared distance of n draws from their law", "at most 1/n")
def _sampling() -> Found:
    values = [1 - 1 / k for k in (2, 10, 1000)]  # E |p - p(X)|^2 = (1 - sum p_x^2)/n
    words = f"n times it, uniform on 2, 10, 1000 values: {numbers(values, 3)}"
    return Found(words, says(max(values) <= 1.0))


@row("Lemma A.1", "its condition", "p n >= 16 log(2/delta)")
def _lemma() -> Found:
    p, needed = (16 * math.log(c / DELTA) / 10**4 for c in (2, 4))
    words = f"n = 1e4, delta = 1e-6: p >= {number(p)}; its proof needs {number(needed)}"
    return Found(words, "the proof's log(4/delta) is enforced here")


# ------------------------------------------------------------------------------ lemmas, tried

LAWS = 2000  # random triples of laws of 4 outputs, seed 0


def _laws(count: int) -> np.ndarray:
    """Laws of 4 outputs, shape (count, triples, 4); some outputs have probability 0."""
    rng = np.random.default_rng(0)
    drawn = rng.exponential(size=(LAWS, count, 4)) * (rng.random((LAWS, count, 4)) < 0.8)
    drawn[..., 0] += 1e-3
    return np.moveaxis(drawn / drawn.sum(axis=-1, keepdims=True), 1, 0)


def _divergence(a: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.maximum(first - a * second, 0.0).sum(axis=-1)


@row(
    "Lemma 2.3", "D at 1 + q(a-1) of two mixtures with one law",
    "q D_a(P1 || (1-theta) P0 + theta Q1), theta = (1+q(a-1))/a",
)  # fmt: skip
def _mixtures() -> Found:
    worst = 0.0
    P0, P1, Q1 = _laws(3)
    for q, a in product((0.1, 0.5, 0.9), (1.0, 2.0, 8.0)):
        b = 1 + q * (a - 1)
        left = _divergence(b, (1 - q) * P0 + q * P1, (1 - q) * P0 + q * Q1)
        right = q * _divergence(a, P1, (1 - b / a) * P0 + b / a * Q1)
        worst = max(worst, float(np.max(np.abs(left - right))))
    words = f"both sides are equal to 14 decimals in {LAWS:,} random triples of laws"
    return Found(words, says(worst < 1e-14))


@row(
    "Lemma C.1", "D_a of two laws, each within TV delta' of others",
    "D_a of the others + (a+1) delta'",
)  # fmt: skip
def _nearby() -> Found:
    P, Q, *others = _laws(4)
    near = [0.95 * law + 0.05 * other for law, other in zip((P, Q), others, strict=True)]
    moved = [0.5 * np.abs(x - y).sum(axis=-1) for x, y in zip(near, (P, Q), strict=True)]
    share = [
        float(np.max(_divergence(a, P, Q) / (_divergence(a, *near) + (a + 1) * np.maximum(*moved))))
        for a in (1.0, 2.0, 8.0)
    ]
    words = f"up to {number(max(share), 2)} of it, {LAWS:,} random pairs of laws, e^eps = 1, 2, 8"
    return Found(words, says(max(share) <= 1.0))
