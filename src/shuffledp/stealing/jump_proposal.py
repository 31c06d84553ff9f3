"""Free numbers of the bound with one distinguished gain, chosen in floats: nothing certifies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from shuffledp.arithmetic.floats import Array
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.choices import MOST, Cut, least_share
from shuffledp.stealing.jump_rough import log_about_alone
from shuffledp.stealing.jump_worst import Family
from shuffledp.stealing.jumps import Alone, family_of, log_bound_alone
from shuffledp.stealing.measures import Measure

# Expected number of jumps among all users that is tried: two at once then hardly matter.
JUMPS = (1e-3, 1e-4, 3e-4, 3e-3)
# So much more often than what makes both parts' gains alike the victim may join: single gains count
# for more than the variance says.
JOIN = 1.15
# By so much in log delta a rough bound has to be less, for the sharp one to be as well.
_CLEARLY = 0.005
# So near moments do not tell what is better.
_TIE = 5e-4
# A first bound that is deeper is taken for that.
_DEEPEST = -700.0
# Raising the largest losses may move the mean by this share of the sum's deviation.
_RAISED = 0.02
# h alpha: e^{(h alpha)^2/2} is what smoothing costs, 0.2 % of delta.
_SMOOTH = 0.06
# Where a jump is looked at, in deviations of the sum beyond the one that would bring it to 0.
_SHORT = (-4.2, -3.0, -2.1, -1.7, -1.4, -0.8, -0.3, 0.1)
_BEYOND = (0.1, 0.6, 1.2, 2.2, 4.0)
# h alpha of bounds that only choose among these.
_ROUGH = 0.2
# log alpha is met to that, in so many steps at the most: halving alone takes 20.
_NEAR, _NEWTON = 1e-4, 40
# J is (c + d)^n over alpha and over the tilted deviation of the sum, which grows a little with it.
_FALL = 2.02
# Least alpha, in logs, against that of the standard deviation of the sum.
_LEAST = 6.0
# Exponents that a tilt may reach at the largest gain.
_EXPONENT = 500.0
# What the tilted sum counts as at the least: its logarithm and quotients stay floats.
_SMALLEST = 1e-300
# Moments beyond it, times users and exponentials, would leave the floats.
_LARGEST = 1e280


_Bound = Callable[[Gains, int, Alone], float]


class Apart(Protocol):
    """A case whose reservoir and labels are dominated apart, with constant shares."""

    def gains(self, epsilon: float, choice: Cut) -> Gains:
        """Measures of the types that are likely to matter."""
        ...

    @property
    def blanket_mass(self) -> float:
        """Mass of the blanket."""
        ...


def propose_alone(
    case: Apart, epsilon: float, log_target: float, n: int, jumps: float, *, join: float = 1.0
) -> Alone | None:
    """Numbers for a bound of about e^log_target; None where no reservoir is large enough.

    Parameters
    ----------
    case : Apart
        The victim's pair and the others' types.
    epsilon : float
        eps in nats.
    log_target : float
        About log delta.
    n : int
        Users, the victim included.
    jumps : float
        Expected number of jumps among all users.
    join : float
        How many times more often the victim joins than would make both parts' gains alike.
    """
    kappa = least_share(case.blanket_mass, log_target, n)
    if not kappa <= MOST:
        return None
    found = _with_jumps(case, epsilon, kappa, jumps / n, n)
    return found._replace(theta=min(join * found.theta, MOST))


def jumps_worth(case: Apart, epsilon: float, log_target: float, n: int) -> tuple[float, float]:
    """The expected number of jumps, and how often to join, that seem best.

    Parameters
    ----------
    case, epsilon, log_target, n
        As for ``propose_alone``; ``log_target`` may be a guess.
    """

    def valued(jumps: float, join: float, by: _Bound = log_about_alone) -> float:
        at = propose_alone(case, epsilon, target, n, jumps, join=join)
        if at is None:
            return math.inf
        gains = case.gains(epsilon, Cut(at.kappa, at.theta, math.inf))
        return by(gains, n, at._replace(smooth=_ROUGH))

    target = log_target
    first = valued(JUMPS[0], 1.0)
    target = min(max(first, _DEEPEST), -0.1) if math.isfinite(first) else log_target
    about = [valued(jumps, 1.0) for jumps in JUMPS]
    # Of what is about as good the fewest jumps: with these a cover costs the least.
    tied = [(k, v) for k, v in zip(JUMPS, about, strict=True) if not v > min(about) + _TIE]
    jumps, value = min(tied)
    saved = value - valued(jumps, JOIN) - _CLEARLY
    if abs(saved) <= _TIE:
        saved = valued(jumps, 1.0, log_bound_alone) - valued(jumps, JOIN, log_bound_alone)
        saved -= _CLEARLY
    return jumps, JOIN if saved > 0.0 else 1.0


def _with_jumps(case: Apart, epsilon: float, kappa: float, mass: float, n: int) -> Alone:
    """Numbers for jumps of this mass for one user."""
    halves = case.gains(epsilon, Cut(kappa, 0.5, math.inf))
    start = _quantile(halves.types, mass)
    joined = _second(halves.reservoir, start / kappa)
    stolen = max(_second(law, start) for law in halves.types)
    theta = stolen / (joined + stolen) if joined + stolen > 0.0 else 0.5
    gains = case.gains(epsilon, Cut(kappa, theta, math.inf))
    start = _quantile(gains.types, mass)
    free = family_of(gains, math.inf).mapped(lambda gain: np.where(gain > start, 0.0, gain))
    mean, deviation = max(_moments(free.reservoir, law, start) for law in free.types)
    deviation *= math.sqrt(n)
    floor = _floor(gains, start, _RAISED * deviation / n)
    silent = free.mapped(lambda gain: np.maximum(gain, -floor))
    turned = silent.mapped(np.negative)
    middle = -(n - 1) * mean
    short = np.array([max(middle + k * deviation, 0.0) for k in _SHORT])
    beyond = np.array([-(middle + k * deviation) for k in _BEYOND])
    # The sum of all n users without a jump, and those of n - 1 beside one.
    alpha, *forward = _tilts(
        silent, np.array([n, *(n - 1 for _ in short)]), np.append(0.0, short)
    ).tolist()
    return Alone(
        kappa,
        theta,
        start,
        max(0.5 * n * math.expm1(epsilon), start),
        floor,
        alpha,
        tuple(forward),
        tuple(_tilts(turned, np.full(beyond.size, n - 1), beyond).tolist()),
        _SMOOTH,
    )


def _quantile(types: Sequence[Measure], mass: float) -> float:
    """The gain beyond which no type has more than this mass."""
    found = 0.0
    for law in types:
        if not law.gain.size:
            continue
        order = np.argsort(-law.gain, kind="stable")
        above = np.cumsum(law.mass[order])
        index = min(int(np.searchsorted(above, mass)), above.size - 1)
        found = max(found, float(law.gain[order][index]))
    return found


def _second(law: Measure, start: float) -> float:
    kept = np.abs(law.gain) <= start
    return float(law.mass[kept] @ (law.gain[kept] * law.gain[kept]))


def _moments(common: Measure, law: Measure, start: float) -> tuple[float, float]:
    """Mean of one user's gain, and its deviation without large losses."""
    mean = float(common.mass @ common.gain + law.mass @ law.gain)
    spread = _second(common, start) + _second(law, start)
    return mean, math.sqrt(max(spread - mean * mean, 1e-300))


def _floor(gains: Gains, start: float, allowed: float) -> float:
    """Losses beyond it have a mean excess of at most ``allowed``."""
    floor = max(start, 1e-6)
    for _ in range(200):
        excess = max(
            float(law.mass @ np.maximum(-floor - law.gain, 0.0))
            for law in (gains.reservoir, *gains.types)
        )
        if excess <= allowed:
            break
        floor *= 1.3
    return floor


def _tilts(family: Family, n: Array, x: Array) -> Array:
    """alpha that makes e^{alpha x} J about least, for the type for which that is the largest.

    For each number of users and each x, shape (K,).
    """
    found = [_saddles(family.reservoir, law, n, x) for law in family.types]
    alpha, value = (np.array(part) for part in zip(*found, strict=True))
    return np.take_along_axis(alpha, value.argmax(axis=0)[None, :], axis=0)[0]


# What is beyond the floats is a poor alpha, and any alpha is valid.
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _saddles(common: Measure, law: Measure, n: Array, x: Array) -> tuple[Array, Array]:
    """alpha, and alpha x + n log(c + d) - 2 log alpha there, each of shape (K,).

    Where alpha x + n alpha K'(alpha) = 2.02, K = log(c + d): it rises where it is above 0. Newton's
    method in log alpha, halved where it leaves the bracket; an end if the root is beyond it.
    """
    mass = np.concatenate([common.mass, law.mass])
    gain = np.concatenate([common.gain, law.gain])
    powers = np.clip(np.stack([mass, mass * gain, mass * gain * gain]), -_LARGEST, _LARGEST)
    plain = powers.sum(axis=1)
    most = math.log(_EXPONENT / max(float(gain.max()), 1e-12))
    spread = np.sqrt(n * max(float(plain[2]), 1e-300))
    low = np.minimum(-np.log(spread) - _LEAST, most - 1.0)
    high = np.full(x.size, most)
    # Where two moments put it.
    mean, square = plain[1] + x / n, max(float(plain[2]), 1e-300)
    start = (np.sqrt(mean * mean + 8.0 * square / n) - mean) / (2.0 * square)
    at = np.clip(np.log(np.maximum(start, _SMALLEST)), low, high)
    for _ in range(_NEWTON):
        alpha = np.exp(at)
        moved = np.expm1(alpha[:, None] * gain) @ powers.T
        # Of next to nothing but losses the sum is a rounding error; any alpha is valid.
        size = np.maximum(1.0 + moved[:, 0], _SMALLEST)
        first, second = (moved[:, 1] + plain[1]) / size, (moved[:, 2] + plain[2]) / size
        value = alpha * x + n * alpha * first - _FALL
        low, high = np.where(value > 0.0, low, at), np.where(value > 0.0, at, high)
        rate = alpha * x + n * alpha * (first + alpha * (second - first * first))
        to = at - value / rate
        to = np.where((low <= to) & (to <= high) & (rate > 0.0), to, 0.5 * (low + high))
        near = float(np.abs(to - at).max()) <= _NEAR
        at = to
        if near:
            break
    alpha = np.exp(at)
    size = np.maximum(1.0 + np.expm1(alpha[:, None] * gain) @ mass, _SMALLEST)
    return alpha, alpha * x + n * np.log(size) - 2.0 * at
