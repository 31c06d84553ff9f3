"""Formulas as their papers print them, in plain floats: for comparison, never for a bound.

Every function raises NotCertified outside the domain of its theorem. Notation: E = e^eps0,
a = e^eps, t = a - 1; logarithms are natural; eps and eps0 are in nats, n counts users.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp import _special as special
from shuffledp.arithmetic.floats import Array
from shuffledp.errors import NotCertified

# Whole Renyi orders among which the conversion to (eps, delta) takes the best.
_ORDERS = (*range(2, 33), 40, 48, 64, 96, 128, 192, 256, 512, 1024)
# Below this natural logarithm exp() of a float underflows.
_UNDERFLOW = -745.0


def _require(wanted: str, *, holds: bool, **given: float) -> None:
    """NotCertified, with the condition of the theorem and what was given, where it fails."""
    if not holds:
        at = ", ".join(f"{name} = {value:g}" for name, value in given.items())
        raise NotCertified(f"{at}: outside the theorem's domain, {wanted}")


# --------------------------------------------------------------------- any eps0-LDP randomizer


def erlingsson(*, eps0: float, n: int, delta: float) -> float:
    """eps = 12 eps0 sqrt(log(1/delta)/n) (Erlingsson et al. 2019, Theorem 7); adaptive too."""
    holds, wanted = (
        eps0 < 0.5 and n >= 1000 and delta < 0.01,
        "eps0 < 1/2, n >= 1000, delta < 1/100",
    )
    _require(wanted, holds=holds, eps0=eps0, n=n, delta=delta)
    return 12.0 * eps0 * math.sqrt(-math.log(delta) / n)


def cheu(*, eps0: float, n: int, delta: float) -> float:
    """eps of binary randomized response (Cheu et al. 2019; its constants are from memory).

    lam = 2n/(E + 1) >= 14 log(4/delta), m = lam - sqrt(2 lam log(2/delta)),
    eps = sqrt(32 log(4/delta)/m) (1 - m/n).
    """
    lam = 2.0 * n / (math.exp(eps0) + 1.0)
    wanted = "2n/(e^eps0 + 1) >= 14 log(4/delta)"
    _require(wanted, holds=lam >= 14.0 * math.log(4.0 / delta), eps0=eps0, n=n, delta=delta)
    m = lam - math.sqrt(2.0 * lam * math.log(2.0 / delta))
    return math.sqrt(32.0 * math.log(4.0 / delta) / m) * (1.0 - m / n)


def clone(*, eps0: float, n: int, delta: float) -> float:
    """eps = log(1 + (E - 1)/(E + 1) (8 sqrt(E log(4/delta)/n) + 8E/n)); adaptive too.

    Feldman, McMillan, Talwar 2021, Theorem 3.1. Its condition reads
    eps0 <= log(n/(16 log(2/delta))); the proof uses log(4/delta) there, and so does this function.
    """
    _enough_users(eps0, n, delta)
    grow = math.exp(eps0)
    spread = 8.0 * math.sqrt(grow * math.log(4.0 / delta) / n) + 8.0 * grow / n
    return math.log1p(math.expm1(eps0) / (grow + 1.0) * spread)


def _enough_users(eps0: float, n: int, delta: float) -> None:
    most = n / (16.0 * math.log(4.0 / delta))
    wanted = "eps0 <= log(n/(16 log(4/delta)))"
    _require(wanted, holds=math.exp(eps0) <= most, eps0=eps0, n=n, delta=delta)


def clone_approximate(*, eps0: float, delta0: float, n: int, delta: float) -> tuple[float, float]:
    """eps and the total delta of the clone for (eps0, delta0)-LDP randomizers; adaptive too.

    eps is that of ``clone`` at ``delta``; the total is delta + (e^eps + 1)(1 + 1/(2E)) n delta0
    (Feldman, McMillan, Talwar 2021, Theorem 3.8).
    """
    epsilon = clone(eps0=eps0, n=n, delta=delta)
    extra = (math.exp(epsilon) + 1.0) * (1.0 + 0.5 * math.exp(-eps0)) * n * delta0
    return epsilon, delta + extra


def stronger_clone(*, eps0: float, n: int, delta: float) -> float:
    """eps = log(1 + (E - 1)(4 sqrt(2 log(4/delta))/sqrt((E + 1) n) + 4/n)).

    Feldman, McMillan, Talwar 2023, Theorem 3.2 (from memory), for
    eps0 <= log(n/(8 log(2/delta)) - 1).
    """
    most = n / (8.0 * math.log(2.0 / delta)) - 1.0
    wanted = "eps0 <= log(n/(8 log(2/delta)) - 1)"
    _require(wanted, holds=math.exp(eps0) <= most, eps0=eps0, n=n, delta=delta)
    root = math.sqrt((math.exp(eps0) + 1.0) * n)
    spread = 4.0 * math.sqrt(2.0 * math.log(4.0 / delta)) / root
    return math.log1p(math.expm1(eps0) * (spread + 4.0 / n))


# ------------------------------------------------------------------------ any, by Renyi divergence


def girgis(*, eps0: float, n: int, order: int) -> float:
    """Renyi divergence of whole order lam >= 2 of any shuffled eps0-LDP randomizer.

    With nb = floor((n-1)/(2E)) + 1:

        1/(lam-1) log(1 + C(lam,2)(E-1)^2/(nb E)
            + sum_{i=3..lam} C(lam,i) i Gamma(i/2) ((E^2-1)^2/(2 E^2 nb))^{i/2}
            + e^{eps0 lam - (n-1)/(8E)})

    Girgis, Data, Diggavi, Suresh, Kairouz 2021; the constants are from memory.
    """
    grow = math.exp(eps0)
    log_blanket = math.log(math.floor((n - 1) / (2.0 * grow)) + 1.0)
    log_spread = 2.0 * math.log(grow - 1.0 / grow) - math.log(2.0) - log_blanket
    i = np.arange(3.0, order + 1.0)
    second = math.log(math.comb(order, 2)) + 2.0 * math.log(math.expm1(eps0)) - log_blanket - eps0
    higher = _log_choose(order, i) + np.log(i) + special.gammaln(0.5 * i) + 0.5 * i * log_spread
    last = eps0 * order - (n - 1) / (8.0 * grow)
    return _log_of_sum(np.concatenate([[0.0, second], higher, [last]])) / (order - 1)


def girgis_epsilon(*, eps0: float, n: int, delta: float) -> float:
    """eps at a delta from ``girgis``, the least over whole orders.

    RDP(lam) + log(1/delta)/(lam-1) + log(1 - 1/lam) - log(lam)/(lam-1) at the order lam
    (Canonne, Kamath, Steinke 2020, Proposition 12).
    """
    best = math.inf
    for order in _ORDERS:
        rest = (-math.log(delta) - math.log(order)) / (order - 1) + math.log1p(-1.0 / order)
        best = min(best, girgis(eps0=eps0, n=n, order=order) + rest)
    return max(best, 0.0)


def _log_choose(n: int, k: Array) -> Array:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)


def _log_of_sum(terms: Array) -> float:
    top = float(terms.max())
    return top + math.log(float(np.exp(np.maximum(terms - top, _UNDERFLOW)).sum()))


# ------------------------------------------------------------------------------- one randomizer


def decomposition(*, p: float, q: float, n: int, delta: float) -> float:
    """eps = log(1 + q (4 sqrt(2 log(4/d)/(pn)) + 4/(pn))) at d = delta/q.

    Feldman, McMillan, Talwar 2021, Theorem 4.1, for one randomizer, not adaptive, with

        R_{x_b} = q Q1_b + (1 - q) Q0,        R_x = p Q1_0 + p Q1_1 + p Q0 + (1 - 3p) rest

    for the victim's inputs x_0, x_1 and every input x. The theorem's own condition has log(2/d);
    its proof uses log(4/d), and so does this function.
    """
    inner = min(delta / q, 1.0)
    wanted = "p n >= 8 log(4 q/delta)"
    _require(wanted, holds=p * n >= 8.0 * math.log(4.0 / inner), p=p, q=q, n=n, delta=delta)
    spread = 4.0 * math.sqrt(2.0 * math.log(4.0 / inner) / (p * n)) + 4.0 / (p * n)
    return math.log1p(q * spread)


def k_rr(*, k: int, eps0: float, n: int, delta: float) -> float:
    """eps of k-RR (Feldman, McMillan, Talwar 2021, Corollary 4.2).

    log(1 + (E - 1)(4 sqrt(2 (k+1) log(4/delta)) / sqrt((E + k - 1) k n) + 4 (k+1)/(k n))), under
    the condition of ``clone`` and that of Theorem 4.1 at the corollary's p and q,

        p = k/((k+1)(E+k-1)),   q = (E-1)/(E+k-1),   p n >= 8 log(4 q/delta) .

    The corollary has the first condition only and says that it implies the second. For k far above
    e^eps0 it does not, and the formula is too small there: k = 5e7, eps0 = 6.39, n = 1e6 and
    delta = 1e-40 give 0.006956, where one pair of datasets has 0.008289.
    """
    _enough_users(eps0, n, delta)
    total = math.exp(eps0) + k - 1.0
    inner = min(delta * total / math.expm1(eps0), 1.0)
    hidden = k * n / ((k + 1.0) * total)
    wanted = "k n/((k+1)(E+k-1)) >= 8 log(4 (E-1)/((E+k-1) delta)), E = e^eps0"
    _require(wanted, holds=hidden >= 8.0 * math.log(4.0 / inner), k=k, eps0=eps0, n=n, delta=delta)
    spread = 4.0 * math.sqrt(2.0 * (k + 1.0) * math.log(4.0 / delta) / (total * k * n))
    return math.log1p(math.expm1(eps0) * (spread + 4.0 * (k + 1.0) / (k * n)))


# ------------------------------------------------------------------------------ variation ratio


class _Ratio(NamedTuple):
    """al = beta/(p-1), both = (p+1) al, r = al p/q, k0 = 1 - both (limits where p is infinite)."""

    al: float
    both: float
    r: float
    k0: float


def _ratio(p: float, beta: float, q: float, n: int) -> _Ratio:
    given = {"p": p, "beta": beta, "q": q, "n": n}
    _require("n >= 2, p > 1 and beta > 0", holds=n >= 2 and p > 1.0 and beta > 0.0, **given)
    al = 0.0 if math.isinf(p) else beta / (p - 1.0)
    large = beta if math.isinf(p) else al * p
    rest = 1.0 - al - large
    # What rounding leaves of 1 - beta (p+1)/(p-1) where beta = (p-1)/(p+1).
    k0 = rest if rest > 1e-12 else 0.0
    r = large / q
    _require("2r < 1", holds=2.0 * r < 1.0 or (k0 == 0.0 and 2.0 * r <= 1.0), **given)
    return _Ratio(al, al + large, r, k0)


def variation_ratio_4_2(p: float, beta: float, q: float, n: int, delta: float) -> float:
    """eps by Wang et al. 2024, Theorem 4.2, under the conditions of docs/theory.md, Theorem 5.11.

    L = log(4/delta), Om = 2r(n-1) - sqrt(min(6r, 1/2)(n-1) L), s = sqrt(Om L/2),

        eps = log(1 + beta(2s+1)/(al Om + beta(Om/2 - s) + k0(n-1-Om) r/(1-2r))) .

    The paper's own conditions have the sign of the term with n-1 wrong: under them the formula may
    be far below the divergence of its own pair.
    """
    x, given = _ratio(p, beta, q, n), {"p": p, "beta": beta, "q": q, "n": n}
    log_4, others = math.log(4.0 / delta), n - 1.0
    omega = 2.0 * x.r * others - math.sqrt(min(6.0 * x.r, 0.5) * others * log_4)
    _require("Om > 0", holds=omega > 0.0, **given)
    s = math.sqrt(0.5 * omega * log_4)
    kappa = x.k0 * x.r / (1.0 - 2.0 * x.r) if x.k0 > 0.0 else 0.0
    wanted = "m Om >= 2 k0 (n-1) r/(1-2r) + beta, m = (p+1) al - 2 k0 r/(1-2r)"
    _require(wanted, holds=(x.both - 2.0 * kappa) * omega >= 2.0 * kappa * others + beta, **given)
    _require("Om/2 >= sqrt(Om log(4/delta)/2)", holds=0.5 * omega >= s, **given)
    down = x.al * omega + beta * (0.5 * omega - s) + kappa * (others - omega)
    return math.log1p(beta * (2.0 * s + 1.0) / down)


def variation_ratio_4_3(p: float, beta: float, q: float, n: int, delta: float) -> float:
    """eps by Wang et al. 2024, Theorem 4.3, for n >= 8 log(2/delta)/r.

    v = max(0, (4/9)(1-3r)/(1-2r)),

        eps = log(1 + beta/((1-v)(1+p)beta/(p-1) + v) (sqrt(32 log(4/delta)/(r(n-1))) + 4/(rn))) .
    """
    x = _ratio(p, beta, q, n)
    wanted = "n >= 8 log(2/delta)/r"
    _require(wanted, holds=x.r * n >= 8.0 * math.log(2.0 / delta), p=p, beta=beta, q=q, n=n)
    v = 4.0 / 9.0 * (1.0 - 3.0 * x.r) / (1.0 - 2.0 * x.r) if x.r < 1.0 / 3.0 else 0.0
    spread = math.sqrt(32.0 * math.log(4.0 / delta) / (x.r * (n - 1.0))) + 4.0 / (x.r * n)
    return math.log1p(beta / ((1.0 - v) * x.both + v) * spread)


# ------------------------------------------------------------------------ blanket, by inequalities


class Moments(NamedTuple):
    """What two inequalities need of L = gamma (R_x0 - a R_x1)/B under B/gamma, at one eps.

    Attributes
    ----------
    gamma : float
        Mass of the blanket B.
    top : float
        b+, at least the largest value of L.
    span : float
        b, at least the length of the range of L.
    square : float
        c, at least E[L^2] (the second moment, not the variance).
    """

    gamma: float
    top: float
    span: float
    square: float


def moments_of_any(eps0: float, epsilon: float) -> Moments:
    """Any eps0-LDP randomizer: gamma = 1/E, b+ = E - a/E, c = E(a^2+1) - 2a/E^3."""
    grow, a = math.exp(eps0), math.exp(epsilon)
    square = grow * (a * a + 1.0) - 2.0 * a / grow**3
    return Moments(1.0 / grow, grow - a / grow, (a + 1.0) * (grow - 1.0 / grow), square)


def moments_of_blanket(eps0: float, gamma: float, epsilon: float) -> Moments:
    """An eps0-LDP randomizer of known gamma: ratios to the blanket lie in [1, E]."""
    grow, a = math.exp(eps0), math.exp(epsilon)
    square = gamma * (grow * (a * a + 1.0) - 2.0 * a)
    return Moments(gamma, gamma * (grow - a), gamma * (a + 1.0) * math.expm1(eps0), square)


def moments_of_k_rr(k: int, eps0: float, epsilon: float) -> Moments:
    """k-RR, exactly: gamma = k/(E+k-1), c = gamma(2-gamma)t^2 + (1-gamma)^2 k(a^2+1)."""
    a, t, total = math.exp(epsilon), math.expm1(epsilon), math.exp(eps0) + k - 1.0
    gamma, rest = k / total, math.expm1(eps0) / total
    square = gamma * (2.0 - gamma) * t * t + rest * rest * k * (a * a + 1.0)
    return Moments(gamma, rest * k - gamma * t, rest * k * (a + 1.0), square)


def moments_of_laplace(eps0: float, epsilon: float) -> Moments:
    """Laplace noise on an interval, its end points; w = e^{eps0/2}, gamma = 1/w."""
    w, a = math.exp(0.5 * eps0), math.exp(epsilon)
    least = 1.0 / (w * w)
    square = (a * a + 1.0) * (2.0 * w + least) / 3.0 - 2.0 * a * (2.0 / w - least)
    return Moments(1.0 / w, w * (1.0 - a * least), (a + 1.0) * (w - 1.0 / w), square)


def log_hoeffding(law: Moments, *, n: int, epsilon: float) -> float:
    """log delta = log(b^2/(4 t gamma n) [(1 - gamma(1 - e^{-2 t^2/b^2}))^n - (1-gamma)^n]).

    Balle, Bell, Gascon, Nissim 2019, section 5: E_{M ~ Bin(n, gamma)} [L_1 + .. + L_M]_+ by
    Hoeffding's inequality, whose exponent at 0 is kept for the whole tail.
    """
    _require("eps > 0", holds=epsilon > 0.0, epsilon=epsilon)
    t = math.expm1(epsilon)
    front = math.log(law.span**2 / (4.0 * t * law.gamma * n))
    return min(front + _some_messages(law.gamma, -2.0 * (t / law.span) ** 2, n), 0.0)


def log_bennett(law: Moments, *, n: int, epsilon: float) -> float:
    """log delta by Bennett's inequality in place of Hoeffding's.

    b+/(gamma n log(1+beta)) [(1 - gamma(1 - e^{-alpha F}))^n - (1-gamma)^n] with alpha = c/b+^2,
    beta = t b+/c and F = (1+beta) log(1+beta) - beta.
    """
    _require("eps > 0", holds=epsilon > 0.0, epsilon=epsilon)
    if law.top <= 0.0:
        return -math.inf
    beta = math.expm1(epsilon) * law.top / law.square
    rate = max((1.0 + beta) * math.log1p(beta) - beta, 0.0) * law.square / law.top**2
    front = math.log(law.top / (law.gamma * n * math.log1p(beta)))
    return min(front + _some_messages(law.gamma, -rate, n), 0.0)


def _some_messages(gamma: float, exponent: float, n: int) -> float:
    """log[(1 - gamma + gamma e^x)^n - (1-gamma)^n] for x < 0: all M >= 1 of Bin(n, gamma)."""
    some = n * math.log1p(gamma * math.expm1(exponent))
    if gamma >= 1.0:
        return some
    gap = n * math.log1p(-gamma) - some
    return some + math.log(-math.expm1(gap)) if gap < 0.0 else -math.inf
