"""Free numbers of the bound with one distinguished gain, chosen in floats: nothing certifies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from shuffledp.stealing.bound import Gains
from shuffledp.stealing.choices import MOST, Cut, least_share
from shuffledp.stealing.jumps import Alone, Family, family_of, log_bound_alone
from shuffledp.stealing.measures import Measure

# Expected number of jumps among all users that is tried: two at once then hardly matter.
JUMPS = (1e-3, 1e-4, 3e-4, 3e-3)
# So much more often than what makes both parts' gains alike the victim may join: single gains count
# for more than the variance says.
JOIN = 1.15
# By so much in log delta a rough bound has to be less, for the sharp one to be as well.
_CLEARLY = 0.005
# A first bound that is deeper is taken for that.
_DEEPEST = -700.0
# Raising the largest losses may move the mean by this share of the sum's deviation.
_RAISED = 0.02
# h alpha: e^{(h alpha)^2/2} is what smoothing costs, 0.2 % of delta.
_SMOOTH = 0.06
# Where a jump is looked at, in deviations of the sum beyond the one that would bring it to 0.
_SHORT = (-4.2, -3.0, -2.1, -1.4, -0.8, -0.3, 0.1)
_BEYOND = (0.1, 0.6, 1.2, 2.2, 4.0)
# h alpha of bounds that only choose among these.
_ROUGH = 0.2
# Exponents that a tilt may reach at the largest gain.
_EXPONENT = 500.0
# What the tilted sum counts as at the least: its logarithm and quotients stay floats.
_SMALLEST = 1e-300


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

    def rough(target: float, jumps: float, join: float) -> float:
        at = propose_alone(case, epsilon, target, n, jumps, join=join)
        return math.inf if at is None else _rough(case, epsilon, at, n)

    target = rough(log_target, JUMPS[0], 1.0)
    target = min(max(target, _DEEPEST), -0.1) if math.isfinite(target) else log_target
    value, jumps = min((rough(target, jumps, 1.0), jumps) for jumps in JUMPS)
    return (jumps, JOIN) if rough(target, jumps, JOIN) < value - _CLEARLY else (jumps, 1.0)


def _rough(case: Apart, epsilon: float, at: Alone, n: int) -> float:
    """About the bound that these numbers give."""
    gains = case.gains(epsilon, Cut(at.kappa, at.theta, math.inf))
    return log_bound_alone(gains, n, at._replace(smooth=_ROUGH))


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
    return Alone(
        kappa,
        theta,
        start,
        max(0.5 * n * math.expm1(epsilon), start),
        floor,
        _tilt(silent, n, 0.0),
        tuple(_tilt(silent, n - 1, max(middle + k * deviation, 0.0)) for k in _SHORT),
        tuple(_tilt(turned, n - 1, -(middle + k * deviation)) for k in _BEYOND),
        _SMOOTH,
    )


def _quantile(types: Sequence[Measure], mass: float) -> float:
    """The gain beyond which no type has more than this mass."""
    found = 0.0
    for law in types:
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


def _tilt(family: Family, n: int, x: float) -> float:
    """alpha that makes e^{alpha x} J about least, for the type for which that is the largest."""
    found = [_saddle(family.reservoir, law, n, x) for law in family.types]
    return max(found, key=lambda pair: pair[1])[0]


def _saddle(common: Measure, law: Measure, n: int, x: float) -> tuple[float, float]:
    mass = np.concatenate([common.mass, law.mass])
    gain = np.concatenate([common.gain, law.gain])
    top = max(float(gain.max()), 1e-12)

    def slope(log_alpha: float) -> float:
        alpha = math.exp(log_alpha)
        weights = mass * np.exp(alpha * gain)
        return alpha * x + n * alpha * float(weights @ gain) / size(alpha) - 2.0

    def size(alpha: float) -> float:
        # Of next to nothing but losses the sum is a rounding error; any alpha is valid.
        return max(1.0 + float((mass * np.expm1(alpha * gain)).sum()), _SMALLEST)

    high = math.log(_EXPONENT / top)
    spread = math.sqrt(n * max(float(mass @ (gain * gain)), 1e-300))
    low = min(-math.log(spread) - 6.0, high - 1.0)
    if slope(high) < 0.0:
        log_alpha = high
    elif slope(low) > 0.0:
        log_alpha = low
    else:
        log_alpha = float(brentq(slope, low, high, xtol=1e-3))  # type: ignore[arg-type]
    alpha = math.exp(log_alpha)
    return alpha, alpha * x + n * math.log(size(alpha)) - 2.0 * log_alpha
