"""Shuffle index and Gaussian approximations: estimates of the profile at large n, not certified.

For the pair (x0, x1) and a reference law with ratios l = (R_x0 - R_x1)/ref, sigma^2 = Var_ref l,
the shuffle index is chi = sqrt(gamma)/sigma; as n grows

    delta(eps) ~ phi(chi eps sqrt n)/(chi^3 eps^2 n^{3/2})                                     (1)

for eps well above 1/sqrt n and O(sqrt(log n/n)) (*Analysis of Shuffling Beyond Pure Local
Differential Privacy*, 2026). With the blanket as reference it follows the upper bounds, with R_x2
the lower ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.pairs import midpoints
from shuffledp.propose.gains import Pair, in_floats
from shuffledp.published.estimate import Estimate
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import Input
from shuffledp.values.described import ByContent, by_name

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Standard deviations from which 1 - t mills(t) loses ten of its digits.
_FEW_DIGITS = 1e3
# The largest eps in nats that is looked at.
_LARGEST_EPSILON = 30.0
# Probability of an output that no number of users up to 1e12 ever sees: far above what laws leave
# out (1e-290).
_RAREST = 1e-250
# The share of a variance that outputs rarer than that may have: one that diverges has nearly all of
# itself there, one that converges nothing.
_SHARE = 1e-6
# Halvings that leave of a bracket of eps no more than a few roundings.
_HALVINGS = 60


@dataclass(frozen=True, eq=False, repr=False)
class ShuffleIndex(ByContent):
    """Both shuffle indices of a randomizer; ``lower`` <= ``upper``.

    Attributes
    ----------
    lower : Estimate
        chi of the blanket, smallest over pairs of inputs: follows the upper bounds.
    upper : Estimate
        chi of R_x2, smallest over triples of inputs: follows the lower bounds.
    """

    lower: Estimate
    upper: Estimate


_SOURCE = "Analysis of Shuffling Beyond Pure Local Differential Privacy, 2026"


@by_name
def shuffle_index(randomizer: Randomizer) -> ShuffleIndex:
    """Both shuffle indices, over the randomizer's worst pairs and its datasets.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.

    Raises
    ------
    ParameterError
        Of a protocol of several messages a user, which has no such index.
    NotCertified
        If some variance is infinite, where there is no such limit law, or decided by outputs far
        too rare to be seen.
    """
    if not isinstance(randomizer, Randomizer):
        raise rejected("randomizer", randomizer, "a mechanism of one message a user, such as KRR")
    worst = randomizer.worst_pairs().pairs
    low = min(chi_of(randomizer, pair, None) for pair in worst)
    high = min(chi_of(randomizer, (x0, x1), x2) for x0, x1, x2 in randomizer.datasets())
    return ShuffleIndex(
        Estimate("shuffle index", low, "chi of the blanket, infimum over pairs", _SOURCE),
        Estimate("shuffle index", high, "chi of R_x2, infimum over triples", _SOURCE),
    )


def chi_of(randomizer: Randomizer, pair: tuple[Input, Input], x2: Input | None) -> float:
    """chi of one pair of inputs, with R_x2 as the reference, or the blanket where x2 is None.

    Of continuous outputs sums over cells stand for integrals.
    """
    law = midpoints(randomizer, pair if x2 is None else (*pair, x2))
    reference, difference = law.reference, law.first - law.second
    used = difference != 0.0
    small = reference[used] <= np.abs(difference[used]) * 1e-290
    if bool(small.any()) and not law.continuous:
        msg = (
            f"{randomizer.name}: an output of one input is impossible under another, the variance "
            "is infinite and there is no shuffle index"
        )
        raise NotCertified(msg)
    kept = ~small
    rare = reference[used][kept]
    squares = difference[used][kept] ** 2 / rare
    total = float(squares.sum())
    # Beyond the last cells, and in cells left out, there is as much and more.
    if float(squares[rare < _RAREST].sum()) > _SHARE * total:
        msg = (
            f"{randomizer.name}: the variance is decided by outputs of probability below "
            f"{_RAREST:g} under the reference, and there is no shuffle index that can be seen"
        )
        raise NotCertified(msg)
    return 1.0 / math.sqrt(total) if total > 0.0 else math.inf


def band_epsilon(*, chi: float, n: int, delta: float) -> float:
    """eps at which formula (1) equals delta = alpha/n, by Lambert's W.

    eps = sqrt(2 W0(sqrt n/(2 sqrt(2 pi) alpha chi)))/(chi sqrt n): with both shuffle indices, the
    delta band.
    """
    chi = _check.positive("chi", chi)
    n, delta = _check.count("n", n), _check.open_unit("delta", delta)
    argument = 1.0 / (2.0 * math.sqrt(2.0 * math.pi) * math.sqrt(n) * delta * chi)
    return math.sqrt(2.0 * float(np.real(special.lambertw(argument)))) / (chi * math.sqrt(n))


def gaussian_log_delta(pair: Pair, *, epsilon: float) -> float:
    """log of (s/sqrt n)(phi(t) - t(1 - Phi(t))), t = sqrt n (e^eps - 1)/s, s^2 = Var G.

    The central limit theorem for E[S]_+/n at this eps, before Mills' ratio is expanded as in (1).
    Left-over included in the variance; outputs outside the reference are added in full.
    """
    epsilon = _check.epsilon("epsilon", epsilon)
    with ctx.workprec(precision_for(pair.n)):
        law = in_floats(pair, epsilon)
    mean, seen = float(law.masses @ law.gains), law.seen
    return normal_log_delta(mean, float(law.masses @ law.gains**2) - mean * mean, pair.n, seen)


def normal_log_delta(mean: float, variance: float, n: int, seen: float = 0.0) -> float:
    """The same of gains with this mean and variance, and what is seen for sure.

    Parameters
    ----------
    mean, variance : float
        Of one gain.
    n : int
        Messages.
    seen : float
        What is added to delta.
    """
    if not variance > 0.0:
        main = max(mean, 0.0)
        return math.log(main + seen) if main + seen > 0.0 else -math.inf
    s = math.sqrt(variance)
    t = -math.sqrt(n) * mean / s
    log = math.log(s / math.sqrt(n)) + _log_loss(t)
    total = math.log(math.exp(log) + seen) if seen > 0.0 else log
    return min(total, 0.0)


def gaussian_epsilon(pair: Pair, *, delta: float, cap: float) -> float:
    """eps at which ``gaussian_log_delta`` is log delta; ``cap`` where that is not below it."""
    goal = math.log(_check.open_unit("delta", delta))
    high = min(cap, _LARGEST_EPSILON)

    def gap(epsilon: float) -> float:
        return gaussian_log_delta(pair, epsilon=epsilon) - goal

    if gap(0.0) <= 0.0:
        return 0.0
    # The variance grows with eps, and the form with it in the end: its first crossing is meant.
    low, top = 0.0, min(1e-3 / math.sqrt(pair.n), high)
    while gap(top) > 0.0:
        if top >= high:
            return cap
        low, top = top, min(1.2 * top, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + top)
        low, top = (middle, top) if gap(middle) > 0.0 else (low, middle)
    return top


def _log_loss(t: float) -> float:
    """log(phi(t) - t(1 - Phi(t))), the standard normal loss."""
    if t <= 0.0:
        density = math.exp(-0.5 * t * t - _LOG_SQRT_2PI)
        return math.log(density - t * 0.5 * math.erfc(t / math.sqrt(2.0)))
    mills = math.sqrt(0.5 * math.pi) * float(special.erfcx(t / math.sqrt(2.0)))
    # 1 - t mills = 1/(t^2 + 3) (1 + O(t^-4)), where the difference has no digits left.
    left = 1.0 - t * mills if t < _FEW_DIGITS else 1.0 / (t * t + 3.0)
    return math.log(left) - 0.5 * t * t - _LOG_SQRT_2PI
