"""Closed forms of the variation-ratio pair (Wang et al. 2024, Theorems 4.2 and 4.3).

They bound the divergence of the PAIR of that paper. Whether that pair bounds a mechanism is
another question, answered by ``shuffledp.reductions.variation_ratio.published_reason``; the front
door asks it before it calls these.

Notation: al = beta/(p-1), r = al p/q, k0 = 1 - al - al p. For p = infinity these are their limits:
al = 0, al p = (p+1) al = beta, r = beta/q, k0 = 1 - beta (docs/theory.md, Remark 5.12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp import _check
from shuffledp.closed_forms.interval import Interval, larger, of, smaller
from shuffledp.errors import NotCertified


@dataclass(frozen=True)
class _Pair:
    """p, beta, q and what follows from them, as intervals."""

    beta: Interval
    al: Interval
    both: Interval  # (p+1) al, the mass of the labels that tell
    r: Interval
    k0: Interval

    @property
    def odds(self) -> Interval:
        """k0 r/(1 - 2r); 0 where k0 is, whatever r is."""
        if self.k0.high == 0.0:
            return of(0.0)
        return self.k0 * (self.r / (1.0 - 2.0 * self.r))


def theorem_4_2(*, p: float, beta: float | Interval, q: float, n: int, delta: float) -> float:
    """Wang et al. 2024, Theorem 4.2, under conditions that are proved; eps rounded up.

    L = log(4/delta), Om = 2r(n-1) - sqrt(min(6r, 1/2)(n-1) L), s = sqrt(Om L/2),

        eps = log(1 + beta(2s+1)/(al Om + beta(Om/2 - s) + k0(n-1-Om) r/(1-2r)))

    under Om/2 >= s and, with m = (p+1) al - 2 k0 r/(1-2r),

        m Om >= 2 k0 (n-1) r/(1-2r) + beta ,

    for which the quotient falls as Om grows (docs/theory.md, Theorem 5.11). The paper's own
    conditions have the sign of the term with n-1 wrong: under them the formula may be far below
    its own pair's divergence. Where beta = (p-1)/(p+1), k0 is 0 and the last condition says
    Om >= (p-1)/(p+1).

    Parameters
    ----------
    p : float
        Largest ratio of the victim's two laws, > 1; may be infinite.
    beta : float or Interval
        Their total variation distance.
    q : float
        Largest ratio of either of them to any other law.
    n : int
        Users.
    delta : float
        0 < delta < 1.
    """
    x = _checked(p, beta, q, n)
    log_4 = (4.0 / of(_check.open_unit("delta", delta))).log()
    others = float(n - 1)
    omega = 2.0 * x.r * others - (smaller(6.0 * x.r, 0.5) * others * log_4).sqrt()
    if omega.low <= 0.0:
        raise _outside("Om > 0", p, beta, q, n)
    s = (omega * log_4 * 0.5).sqrt()
    kappa = x.odds
    fall = x.both - 2.0 * kappa
    if not (fall * omega).surely_at_least(2.0 * kappa * others + x.beta):
        wanted = "m Om >= 2 k0 (n-1) r/(1-2r) + beta, m = (p+1) al - 2 k0 r/(1-2r)"
        raise _outside(wanted, p, beta, q, n)
    if not (omega * 0.5).surely_at_least(s):
        raise _outside("Om/2 >= sqrt(Om log(4/delta)/2)", p, beta, q, n)
    down = x.al * omega + x.beta * (omega * 0.5 - s) + kappa * (others - omega)
    return (x.beta * (2.0 * s + 1.0) / down).log1p().high


def theorem_4_3(*, p: float, beta: float | Interval, q: float, n: int, delta: float) -> float:
    """Wang et al. 2024, Theorem 4.3, eps rounded up; for n >= 8 log(2/delta)/r.

    v = max(0, (4/9)(1-3r)/(1-2r)),

        eps = log(1 + beta/((1-v)(1+p)beta/(p-1) + v) (sqrt(32 log(4/delta)/(r(n-1))) + 4/(rn)))
    """
    x = _checked(p, beta, q, n)
    delta = _check.open_unit("delta", delta)
    if not (x.r * float(n)).surely_at_least(8.0 * (2.0 / of(delta)).log()):
        raise _outside("n >= 8 log(2/delta)/r", p, beta, q, n)
    # Above r = 1/3 the quotient is negative, at r = 1/2 it has a pole.
    far = x.r.surely_at_least(1.0 / 3.0)
    v = larger((1.0 - 3.0 * x.r) / (1.0 - 2.0 * x.r) * (of(4.0) / 9.0), 0.0) if not far else of(0.0)
    down = (1.0 - v) * x.both + v
    spread = (32.0 * (4.0 / of(delta)).log() / (x.r * float(n - 1))).sqrt()
    return (x.beta / down * (spread + 4.0 / (x.r * float(n)))).log1p().high


def _checked(p: float, beta: float | Interval, q: float, n: int) -> _Pair:
    endless = p == math.inf
    if not endless:
        p = _check.real("p", p, low=1.0)
    q = _check.real("q", q, low=1.0)
    share = beta if isinstance(beta, Interval) else of(_check.real("beta", beta, low=0.0, high=1.0))
    if _check.count("n", n) < 2:
        raise NotCertified(
            "n = 1: these closed forms are for other users' messages; there are none"
        )
    if p == 1.0 or share.low <= 0.0:
        raise _outside("p > 1 and beta > 0", p, beta, q, n)
    al = of(0.0) if endless else share / (of(p) - 1.0)
    large = share if endless else al * p
    r = large / q
    clear = endless and share.low == share.high == 1.0
    # Rounding of al alone may make k0 negative where it is 0.
    k0 = of(0.0) if clear else larger(1.0 - al - large, 0.0)
    # Where nothing is left over, 2r = 2/q may be 1.
    if not (q >= 2.0 if clear else (2.0 * r).surely_at_most(1.0 - 1e-12)):
        raise _outside("2r <= 1" if clear else "2r < 1", p, beta, q, n)
    return _Pair(share, al, al + large, r, k0)


def _outside(wanted: str, p: float, beta: float | Interval, q: float, n: int) -> NotCertified:
    shown = beta.high if isinstance(beta, Interval) else beta
    return NotCertified(
        f"p = {p:g}, beta = {shown:g}, q = {q:g}, n = {n:,}: outside the theorem's domain, {wanted}"
    )
