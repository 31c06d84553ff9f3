"""Closed forms for eps0-LDP randomizers: Erlingsson et al., Cheu et al., and the clones.

Every function returns eps rounded up, and raises NotCertified outside its theorem's domain.
Notation: E = e^eps0; logarithms are natural.
"""

from __future__ import annotations

import math

from shuffledp import _check
from shuffledp.closed_forms.interval import Interval, of, smaller
from shuffledp.errors import NotCertified


def erlingsson(*, eps0: float, n: int, delta: float) -> float:
    """12 eps0 sqrt(log(1/delta)/n), for eps0 < 1/2, n >= 1000, delta < 1/100.

    Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, Theorem 7. Every eps0-LDP
    randomizer, adaptive ones too (shuffle, then randomize).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats.
    n : int
        Users.
    delta : float
        0 < delta < 1.

    Raises
    ------
    NotCertified
        Outside the theorem's domain.
    """
    eps0, n, delta = _checked(eps0, n, delta)
    if not (eps0 < 0.5 and n >= 1000 and delta < 0.01):
        raise _outside("eps0 < 1/2, n >= 1000 and delta < 1/100", eps0, n, delta)
    return (12.0 * of(eps0) * ((-of(delta).log()) / float(n)).sqrt()).high


def cheu(*, eps0: float, n: int, delta: float) -> float:
    """Binary randomized response by Cheu, Smith, Ullman, Zeber, Zhilyaev 2019: not certified.

    lam = 2n/(E + 1) >= 14 log(4/delta), m = lam - sqrt(2 lam log(2/delta)),
    eps = sqrt(32 log(4/delta)/m) (1 - m/n). The constants are from memory of the paper, which was
    not at hand: compare with it, certify nothing.
    """
    eps0, n, delta = _checked(eps0, n, delta)
    grow = of(eps0).exp()
    lam = 2.0 * of(float(n)) / (grow + 1.0)
    if not lam.surely_at_least(14.0 * _log_of(4.0, delta)):
        raise _outside("2n/(e^eps0 + 1) >= 14 log(4/delta)", eps0, n, delta)
    m = lam - (2.0 * lam * _log_of(2.0, delta)).sqrt()
    return ((32.0 * _log_of(4.0, delta) / m).sqrt() * (1.0 - m / float(n))).high


def clone(*, eps0: float, n: int, delta: float) -> float:
    """log(1 + (E - 1)/(E + 1) (8 sqrt(E log(4/delta)/n) + 8E/n)).

    Feldman, McMillan, Talwar 2021, Theorem 3.1; every eps0-LDP randomizer, adaptive ones too. Its
    condition reads eps0 <= log(n/(16 log(2/delta))); the proof uses log(4/delta) there, which is
    what is enforced here.
    """
    eps0, n, delta = _checked(eps0, n, delta)
    _enough_users(eps0, n, delta)
    grow = of(eps0).exp()
    spread = 8.0 * (grow * _log_of(4.0, delta) / float(n)).sqrt() + 8.0 * grow / float(n)
    return (of(eps0).expm1() / (grow + 1.0) * spread).log1p().high


def local_target(*, epsilon: float, n: int, delta: float) -> float:
    """The eps0 that the clone's closed form allows for a central target, by two formulas.

    With L = log(1/delta): eps sqrt(n)/(16 sqrt L) for eps <= sqrt(L/n), log(eps^2 n/(100 L)) above.
    Feldman, McMillan, Talwar 2021, Theorem 5.2. What is returned was checked: ``clone`` of it is at
    most ``epsilon``. The second formula is not positive up to eps = 10 sqrt(L/n), though the
    theorem says so from sqrt(L/n) on. ``sd.calibrate`` finds a larger eps0 for the same target.

    Parameters
    ----------
    epsilon : float
        Central target in nats, in (0, 1).
    n : int
        Users.
    delta : float
        0 < delta < 1.

    Raises
    ------
    NotCertified
        Where the formula is not positive, or Theorem 3.1 does not confirm it.
    """
    epsilon = _check.positive("epsilon", epsilon, high=1.0)
    n, delta = _check.count("n", n), _check.open_unit("delta", delta)
    log = -math.log(delta)
    if epsilon <= math.sqrt(log / n):
        eps0 = epsilon * math.sqrt(n) / (16.0 * math.sqrt(log))
    else:
        eps0 = math.log(epsilon * epsilon * n / (100.0 * log))
    at = f"epsilon = {epsilon:g}, n = {n:,}, delta = {delta:g}"
    if not eps0 > 0.0:
        msg = (
            f"{at}: log(eps^2 n/(100 log(1/delta))) = {eps0:.3g} is no local guarantee; the "
            "formula is positive from 10 sqrt(log(1/delta)/n) on"
        )
        raise NotCertified(msg)
    if not clone(eps0=eps0, n=n, delta=delta) <= epsilon:
        raise NotCertified(f"{at}: Theorem 3.1 gives more than epsilon at eps0 = {eps0:g}")
    return eps0


def clone_approximate(*, eps0: float, delta0: float, n: int, delta: float) -> tuple[float, float]:
    """The clone for (eps0, delta0)-LDP randomizers: (eps, total delta).

    eps is that of ``clone`` at ``delta``; the total is
    delta + (e^eps + 1)(1 + 1/(2E)) n delta0. Feldman, McMillan, Talwar 2021, Theorem 3.8; adaptive
    too.

    Parameters
    ----------
    eps0, delta0 : float
        Local guarantee of every report.
    n : int
        Users.
    delta : float
        Of the clone part alone.

    Returns
    -------
    tuple of two floats
        eps and the delta at which it holds, both rounded up.
    """
    delta0 = _check.real("delta0", delta0, low=0.0, high=1.0)
    epsilon = clone(eps0=eps0, n=n, delta=delta)
    return epsilon, (delta + approximate_extra(eps0=eps0, delta0=delta0, n=n, epsilon=epsilon)).high


def approximate_extra(*, eps0: float, delta0: float, n: int, epsilon: float) -> Interval:
    """(e^eps + 1)(1 + 1/(2E)) n delta0: what Theorem 3.8 adds to delta."""
    half = of(-eps0).exp() * 0.5
    return (of(epsilon).exp() + 1.0) * (1.0 + half) * float(n) * delta0


def decomposition(*, p: float, q: float, n: int, delta: float) -> float:
    """log(1 + q (4 sqrt(2 log(4/d)/(pn)) + 4/(pn))) at d = delta/q.

    Feldman, McMillan, Talwar 2021, Theorem 4.1, for randomizers with

        R_{x_b} = q Q1_b + (1 - q) Q0,        R_x = p Q1_0 + p Q1_1 + p Q0 + (1 - 3p) rest

    for the victim's inputs x_0, x_1 and every input x (these two included, or the bound is only
    for datasets in which nobody else holds them). One randomizer, not adaptive.

    Parameters
    ----------
    p : float
        0 < p <= 1/3.
    q : float
        0 < q <= 1.
    n : int
        Users.
    delta : float
        0 < delta < 1; the theorem's own delta is delta/q.

    Raises
    ------
    NotCertified
        If p < 8 log(4/d)/n. The theorem's own condition has log(2/d); its proof rests on the lemma
        of Theorem 3.1, which uses log(4/d).
    """
    p = _check.positive("p", p, high=1.0 / 3.0)
    q = _check.positive("q", q, high=1.0)
    n, delta = _check.count("n", n), _check.open_unit("delta", delta)
    inner = smaller(of(delta) / q, 1.0)
    hidden = of(p) * float(n)
    if not hidden.surely_at_least(8.0 * (4.0 / inner).log()):
        msg = (
            f"p = {p:g}, n = {n:,}, delta = {delta:g}: Theorem 4.1 needs p n >= 8 log(4 q/delta); "
            "outside it nothing is claimed"
        )
        raise NotCertified(msg)
    spread = 4.0 * (2.0 * (4.0 / inner).log() / hidden).sqrt() + 4.0 / hidden
    return (of(q) * spread).log1p().high


def k_rr(*, k: int, eps0: float, n: int, delta: float) -> float:
    """Feldman, McMillan, Talwar 2021, Corollary 4.2, for k-RR alone.

    log(1 + (E - 1)(4 sqrt(2 (k+1) log(4/delta)) / sqrt((E + k - 1) k n) + 4 (k+1)/(k n))), under
    the condition of ``clone`` and that of Theorem 4.1 at the corollary's p and q,

        p = k/((k+1)(E+k-1)),   q = (E-1)/(E+k-1),   p n >= 8 log(4 q/delta) .

    The corollary has the first condition only and says that it implies the second. For k far above
    e^eps0 it does not, and the formula is too small there: k = 5e7, eps0 = 6.39, n = 1e6 and
    delta = 1e-40 give 0.006956, where one pair of datasets has 0.008289.

    Raises
    ------
    NotCertified
        Outside either condition.
    """
    eps0, n, delta = _checked(eps0, n, delta)
    size = float(_check.count("k", k, low=2, high=_check.LARGEST_DOMAIN))
    _enough_users(eps0, n, delta)
    grow = of(eps0).exp()
    total = grow + (size - 1.0)
    inner = smaller(of(delta) * total / of(eps0).expm1(), 1.0)
    hidden = of(size) * float(n) / (of(size + 1.0) * total)
    if not hidden.surely_at_least(8.0 * (4.0 / inner).log()):
        wanted = "k n/((k+1)(E+k-1)) >= 8 log(4 (E-1)/((E+k-1) delta)), E = e^eps0"
        raise _outside(f"k = {k:,}, {wanted}", eps0, n, delta)
    top = 4.0 * (of(2.0) * (size + 1.0) * _log_of(4.0, delta)).sqrt()
    spread = top / (total * size * float(n)).sqrt()
    spread = spread + 4.0 * of(size + 1.0) / (of(size) * float(n))
    return (of(eps0).expm1() * spread).log1p().high


def stronger_clone(*, eps0: float, n: int, delta: float) -> float:
    """Stronger clone in closed form, from memory of Feldman et al. 2023: not certified.

    log(1 + (E - 1)(4 sqrt(2 log(4/delta))/sqrt((E + 1) n) + 4/n)), for
    eps0 <= log(n/(8 log(2/delta)) - 1).
    """
    eps0, n, delta = _checked(eps0, n, delta)
    most = of(float(n)) / (8.0 * _log_of(2.0, delta)) - 1.0
    if most.low <= 0.0 or not of(eps0).surely_at_most(most.log()):
        raise _outside("eps0 <= log(n/(8 log(2/delta)) - 1)", eps0, n, delta)
    grow = of(eps0).exp()
    spread = 4.0 * (2.0 * _log_of(4.0, delta)).sqrt() / ((grow + 1.0) * float(n)).sqrt()
    return (of(eps0).expm1() * (spread + 4.0 / of(float(n)))).log1p().high


def _enough_users(eps0: float, n: int, delta: float) -> None:
    most = (of(float(n)) / (16.0 * _log_of(4.0, delta))).log()
    if not of(eps0).surely_at_most(most):
        raise _outside("eps0 <= log(n/(16 log(4/delta)))", eps0, n, delta)


def _checked(eps0: float, n: int, delta: float) -> tuple[float, int, float]:
    return (
        _check.local_epsilon("eps0", eps0),
        _check.count("n", n),
        _check.open_unit("delta", delta),
    )


def _log_of(top: float, delta: float) -> Interval:
    """log(top/delta)."""
    return (of(top) / delta).log()


def _outside(wanted: str, eps0: float, n: int, delta: float) -> NotCertified:
    return NotCertified(
        f"eps0 = {eps0:g}, n = {n:,}, delta = {delta:g}: outside the theorem's domain, {wanted}"
    )
