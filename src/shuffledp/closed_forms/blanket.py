"""Hoeffding and Bennett bounds of the blanket divergence (Balle, Bell, Gascon, Nissim 2019).

With t = e^eps - 1, blanket mass gamma and the privacy amplification variable
L = gamma (R_x0 - e^eps R_x1)/B under B/gamma, whose mean is -t, the blanket bound is
E_{M ~ Bin(n, gamma)} [L_1 + .. + L_M]_+ / (gamma n). For numbers b+ >= max L, b >= max L - min L
and c >= E[L^2] (the second moment, not the variance):

    Hoeffding   delta <= b^2/(4 t gamma n) [(1 - gamma(1 - e^{-2 t^2/b^2}))^n - (1-gamma)^n]
    Bennett     delta <= b+/(gamma n log(1+beta)) [(1 - gamma(1 - e^{-alpha F}))^n - (1-gamma)^n]

with alpha = c/b+^2, beta = t b+/c, F = (1+beta) log(1+beta) - beta. Both integrate the tail
P(L_1 + .. + L_m >= x) over x >= 0; the Chernoff exponent at x = 0 is kept for all x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shuffledp import _check
from shuffledp.closed_forms.interval import Interval, larger, of
from shuffledp.errors import NotCertified

Moments = Callable[[float], "Amplification"]


@dataclass(frozen=True)
class Amplification:
    """What the two bounds need to know of L at one eps.

    Attributes
    ----------
    gamma : Interval
        Mass of the blanket.
    top : Interval
        b+, at least the largest value of L.
    span : Interval
        b, at least the length of the range of L.
    square : Interval
        c, at least E[L^2].
    """

    gamma: Interval
    top: Interval
    span: Interval
    square: Interval


def generic(eps0: float) -> Moments:
    """Any eps0-LDP randomizer, as published: gamma = 1/E.

    b+ = E - a/E, b = (a+1)(E - 1/E), c = E(a^2+1) - 2a/E^3, a = e^eps.
    """
    eps0 = _check.local_epsilon("eps0", eps0)

    def at(epsilon: float) -> Amplification:
        grow, a = of(eps0).exp(), of(epsilon).exp()
        least = of(-eps0).exp()
        return Amplification(
            gamma=least,
            top=grow - a * least,
            span=(a + 1.0) * (grow - least),
            square=grow * (a * a + 1.0) - 2.0 * a * least * least * least,
        )

    return at


def known_blanket(eps0: float, gamma: Interval) -> Moments:
    """An eps0-LDP randomizer whose blanket mass is known.

    Ratios to the blanket lie in [1, E], so b+ = gamma(E - a), b = gamma(a+1)(E-1),
    c = gamma(E(1+a^2) - 2a).
    """
    eps0 = _check.local_epsilon("eps0", eps0)

    def at(epsilon: float) -> Amplification:
        grow, a = of(eps0).exp(), of(epsilon).exp()
        return Amplification(
            gamma=gamma,
            top=gamma * (grow - a),
            span=gamma * (a + 1.0) * of(eps0).expm1(),
            square=gamma * (grow * (a * a + 1.0) - 2.0 * a),
        )

    return at


def k_rr(k: int, eps0: float) -> Moments:
    """k-RR, exact range and second moment.

    gamma = k/(E+k-1), b+ = gamma(1-a) + (1-gamma)k, b = (1-gamma)k(a+1),
    c = gamma(2-gamma)t^2 + (1-gamma)^2 k(a^2+1).
    """
    eps0 = _check.local_epsilon("eps0", eps0)
    size = float(_check.count("k", k, low=2, high=_check.LARGEST_DOMAIN))

    def at(epsilon: float) -> Amplification:
        grow, a = of(eps0).exp(), of(epsilon).exp()
        t = of(epsilon).expm1()
        total = grow + (size - 1.0)
        gamma, rest = size / total, of(eps0).expm1() / total
        return Amplification(
            gamma=gamma,
            top=rest * size - gamma * t,
            span=rest * size * (a + 1.0),
            square=gamma * (2.0 - gamma) * t * t + rest * rest * size * (a * a + 1.0),
        )

    return at


def laplace(eps0: float) -> Moments:
    """Laplace noise on an interval, end points, exact second moment; w = e^{eps0/2}.

    gamma = 1/w, b+ = w(1 - a/E), b = (a+1)(w - 1/w),
    c = ((a^2+1)(2w + 1/E))/3 - 2a(2/w - 1/E).
    """
    eps0 = _check.local_epsilon("eps0", eps0)

    def at(epsilon: float) -> Amplification:
        half = of(eps0) * 0.5
        w, a = half.exp(), of(epsilon).exp()
        gamma, least = (-half).exp(), of(-eps0).exp()
        return Amplification(
            gamma=gamma,
            top=w * (-(of(epsilon) - eps0).expm1()),
            span=(a + 1.0) * (w - gamma),
            square=(a * a + 1.0) * (2.0 * w + least) / 3.0 - 2.0 * a * (2.0 * gamma - least),
        )

    return at


def log_hoeffding(at: Moments, *, n: int, epsilon: float) -> float:
    """log of the Hoeffding bound, rounded up and at most 0.

    Raises
    ------
    NotCertified
        At eps = 0, where t = 0 and the bound says nothing.
    """
    n, epsilon = _count_and_epsilon(n, epsilon)
    law, t = at(epsilon), of(epsilon).expm1()
    exponent = -2.0 * t * t / (law.span * law.span)
    front = (law.span * law.span / (4.0 * t * law.gamma * float(n))).log()
    return _capped(front + _binomial(law.gamma, exponent, n))


def log_bennett(at: Moments, *, n: int, epsilon: float) -> float:
    """log of the Bennett bound, rounded up and at most 0; -inf where L is never above 0.

    Raises
    ------
    NotCertified
        At eps = 0, where t = 0 and the bound says nothing.
    """
    n, epsilon = _count_and_epsilon(n, epsilon)
    law, t = at(epsilon), of(epsilon).expm1()
    if law.top.high <= 0.0:
        return -float("inf")
    # Any number above the largest value of L may stand for it.
    top, square = of(law.top.high), of(law.square.high)
    beta = t * top / square
    grown = beta.log1p()
    rate = larger((1.0 + beta) * grown - beta, 0.0)
    exponent = -(square / (top * top)) * rate
    front = (top / (law.gamma * float(n) * grown)).log()
    return _capped(front + _binomial(law.gamma, exponent, n))


def _binomial(gamma: Interval, exponent: Interval, n: int) -> Interval:
    """log[(1 - gamma + gamma e^x)^n - (1-gamma)^n] for x < 0: all M >= 1 of Bin(n, gamma)."""
    some = (gamma * exponent.expm1()).log1p() * float(n)
    none = (-gamma).log1p() * float(n)
    gap = none - some
    return some + (-(gap.exp())).log1p() if gap.high < 0.0 else some


def _capped(log_delta: Interval) -> float:
    return min(log_delta.high, 0.0)


def _count_and_epsilon(n: int, epsilon: float) -> tuple[int, float]:
    n, epsilon = _check.count("n", n), _check.epsilon("epsilon", epsilon)
    if epsilon == 0.0:
        msg = "epsilon = 0.0: these bounds need eps > 0"
        raise NotCertified(msg)
    return n, epsilon
