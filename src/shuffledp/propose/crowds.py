"""Free numbers of label stealing in a crowd, in floats: any are valid, good ones are sharp.

The estimate of log delta is that of ``kernel.crowd_sum`` for the worst type of each group, with
alpha at the saddle point and the integral evaluated at t = sinh(u)/width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import NotCertified
from shuffledp.kernel.contour import Contour
from shuffledp.kernel.crowd_sum import Free

__all__ = ["FloatCrowd", "Proposal", "contour_of", "estimate", "propose", "spread_of"]

Array = NDArray[np.float64]
# Share of delta that the empty reservoir may cost at the start of a search.
_TAIL = 0.002
# Sizes of the reservoir that are tried, relative to the least one by that share, and its relative
# sizes at outputs that speak against the victim's x0.
_LARGER, _AGAINST = (2.0, 1.0, 5.0, 15.0), (0.2, 1.0, 0.05)
# Largest share of the common part of all laws that a reservoir may have.
_MOST = 0.97
# Factors by which the numbers are changed one after the other, as long as the estimate falls by at
# least _GAIN.
_FACTORS, _GAIN = (2.0, 1.3), 2e-3
# Most estimates of one search.
_MOST_ESTIMATES = 400
# h alpha, and the period relative to the sum's standard deviation and to 1/alpha: together they
# cost 1e-5 of delta.
_SMOOTHING, _PERIOD, _PERIOD_OF_ALPHA = 0.005, 6.0, 14.0
# Nodes left out, as a share of the sum.
_LEFT_OUT = 3e-5
# Places u of the integral. The first _NEAR_PLACES reach nine standard deviations of the sum; all
# are used if the expected number of hidden users M is below _FEW, as the transform then returns to
# e^(-M/2) of its peak.
_PLACES, _NEAR_PLACES, _FEW = np.linspace(0.0, 7.25, 101), 41, 60.0
# Largest exponent of a tilt, and the one that is used if no gain is positive.
_LARGEST, _STEEP = 600.0, 40.0


@dataclass(frozen=True)
class FloatCrowd:
    """A victim's pair of laws among the others of all groups, as in ``kernel.crowd_sum``."""

    victim: Array
    rows: tuple[Array, ...]
    least: Array
    users: Array


class Proposal(NamedTuple):
    """Free numbers, tilt, and an estimate of their log delta."""

    free: Free
    alpha: float
    value: float


class _Parts(NamedTuple):
    """Measures at one eps: row 0 is the reservoir, the other rows are one type of each group."""

    mass: Array
    gain: Array
    shares: Array
    users: Array
    paid: float


def propose(
    crowd: FloatCrowd, epsilon: float, log_target: float, start: Free | None = None
) -> Proposal | None:
    """Good free numbers for a log delta near ``log_target``; None if no reservoir is large enough.

    Parameters
    ----------
    crowd : the victim's pair and the others.
    epsilon : eps > 0 in nats.
    log_target : an estimate of log delta.
    start : numbers to start from.
    """
    # Numbers that overflow are not proposed.
    with np.errstate(all="ignore"):
        best = None if start is None else _estimated(crowd, epsilon, start)
        best = best or _first(crowd, epsilon, log_target)
        return None if best is None else _refined(crowd, epsilon, best)


def contour_of(
    crowd: FloatCrowd, epsilon: float, free: Free, alpha: float, smoothing: float | None = None
) -> Contour:
    """The contour for these free numbers, with a good smoothing where none is given."""
    with np.errstate(all="ignore"):
        parts = _parts(crowd, epsilon, free, alpha)
        _, width, leading, inside = _on_line(parts, alpha)
        integral = _integral(parts, alpha, width, inside) if leading > 0.0 else 1.0
    period = max(_PERIOD * width, _PERIOD_OF_ALPHA / alpha)
    h = _SMOOTHING / alpha if smoothing is None else smoothing
    if not (0.0 < h < math.inf and 0.0 < period < math.inf and integral < math.inf):
        raise NotCertified(f"a crowd: alpha = {alpha!r} leaves the floats")
    tolerance = max(_LEFT_OUT * integral, 1e-300)
    return Contour(alpha, h, period, tolerance, 0.5 * alpha, 1.5 * alpha)


def estimate(crowd: FloatCrowd, epsilon: float, free: Free) -> Proposal | None:
    """The estimate for these free numbers at this eps."""
    with np.errstate(all="ignore"):
        return _estimated(crowd, epsilon, free)


def spread_of(crowd: FloatCrowd) -> float:
    """Variance of the privacy loss to first order, where all of a group hold its worst input."""
    g, mass = _gain(crowd, 0.0), np.zeros(crowd.victim.shape[1])
    for rows, count in zip(crowd.rows, crowd.users, strict=True):
        mass += count * rows[int(np.argmax(_over(g * g, rows).sum(axis=1)))]
    return float(_over(g * g, mass).sum())


# ------------------------------------------------------------------------------------ searches


def _first(crowd: FloatCrowd, epsilon: float, log_target: float) -> Proposal | None:
    """The best of some starts, with one number varied after the other."""
    best: Proposal | None = None
    at, tried = (0, 0, 0), set[tuple[int, ...]]()
    shares = _shares(crowd, epsilon)
    for where, options in ((0, _LARGER), (1, _AGAINST), (2, shares), (0, _LARGER)):
        for i in range(len(options)):
            now = (*at[:where], i, *at[where + 1 :])
            if now in tried:
                continue
            tried.add(now)
            factors = (_LARGER[now[0]], _AGAINST[now[1]])
            free = _sized(crowd, epsilon, log_target, factors, shares[now[2]])
            found = None if free is None else _estimated(crowd, epsilon, free)
            if found is not None and (best is None or found.value < best.value):
                best, at = found, now
    return best


def _refined(crowd: FloatCrowd, epsilon: float, best: Proposal) -> Proposal:
    """Each number multiplied or divided by a factor, as long as the estimate falls."""
    left = _MOST_ESTIMATES
    for factor in _FACTORS:
        fell = True
        while fell and left > 0:
            fell = False
            for move in _moves(len(crowd.users)):
                for by in (factor, 1.0 / factor):
                    left -= 1
                    free = move(best.free, by)
                    found = None if free is None else _estimated(crowd, epsilon, free)
                    if found is not None and found.value < best.value - _GAIN:
                        best, fell = found, True
                        break
    return best


def _moves(groups: int) -> list[Callable[[Free, float], Free | None]]:
    """Changes of single numbers; None if a number would leave its range."""

    def gain(free: Free, by: float) -> Free | None:
        value = free.gain * by
        return replace(free, gain=value) if value <= _MOST else None

    def loss(free: Free, by: float) -> Free | None:
        value = free.loss * by
        return replace(free, loss=value) if value <= _MOST else None

    def theta(free: Free, by: float) -> Free:
        odds = by * free.theta / max(1.0 - free.theta, 1e-300)
        return replace(free, theta=odds / (1.0 + odds))

    def share(k: int) -> Callable[[Free, float], Free | None]:
        def change(free: Free, by: float) -> Free | None:
            shares = list(free.shares)
            shares[k] *= by
            # Only q_k omega matters, so the largest share is kept at 1.
            top = max(shares)
            both = [x / top for x in (free.gain, free.loss)]
            if max(both) > _MOST or min(shares) <= 0.0:
                return None
            return replace(free, gain=both[0], loss=both[1], shares=tuple(q / top for q in shares))

        return change

    each = [share(k) for k in range(groups)] if groups > 1 else []
    return [gain, loss, theta, *each]


def _shares(crowd: FloatCrowd, epsilon: float) -> list[tuple[float, ...]]:
    """Three choices of q_k: proportional to 1/V_k, to its square root, and all equal.

    V_k is the largest sum of g^2/R over the laws R of group k.
    """
    g = _gain(crowd, epsilon)
    spreads = []
    for rows in crowd.rows:
        each = np.where(g != 0.0, g * g / rows, 0.0).sum(axis=1)
        spreads.append(float(each.max()))
    if not all(0.0 < v < math.inf for v in spreads):
        return [(1.0,) * len(spreads)]
    varied = [max(min(spreads) / v, 1e-6) for v in spreads]
    tried = [varied, [math.sqrt(q) for q in varied], [1.0] * len(varied)]
    return list(dict.fromkeys(tuple(one) for one in tried))


def _sized(
    crowd: FloatCrowd,
    epsilon: float,
    log_target: float,
    factors: tuple[float, float],
    shares: tuple[float, ...],
) -> Free | None:
    """A reservoir ``factors`` times the least one; None if the laws have too little in common."""
    factor, against = factors
    g = _gain(crowd, epsilon)
    common = (crowd.least / np.array(shares)[:, None]).min(axis=0)
    mass = float((common * np.where(g > 0.0, 1.0, against)).sum())
    expected = float(crowd.users @ np.array(shares))
    if not mass > 0.0:
        return None
    kappa = -factor * (log_target + math.log(_TAIL)) / (expected * mass)
    if not 0.0 < kappa <= _MOST:
        return None
    half = Free(kappa, against * kappa, 0.5, shares)
    # theta^2 A + (1 - theta)^2 B, the sum's variance, is least at theta = B/(A + B).
    parts = _parts(crowd, epsilon, half)
    seconds = (parts.mass * parts.gain * parts.gain).sum(axis=1)
    joined = expected * float(seconds[0])
    stolen = float(crowd.users @ seconds[1:])
    return replace(half, theta=stolen / (joined + stolen) if joined + stolen > 0.0 else 0.5)


# ------------------------------------------------------------------------------------ estimates


def _gain(crowd: FloatCrowd, epsilon: float) -> Array:
    return (crowd.victim[0] - crowd.victim[1]) - math.expm1(epsilon) * crowd.victim[1]


def _parts(crowd: FloatCrowd, epsilon: float, free: Free, alpha: float = 0.0) -> _Parts:
    """The reservoir and the worst type of each group: at alpha, or by the second moment."""
    g, shares = _gain(crowd, epsilon), np.array(free.shares)
    common = (crowd.least / shares[:, None]).min(axis=0)
    omega = np.where(g > 0.0, free.gain, free.loss) * common
    join = np.where(omega > 0.0, free.theta, 0.0)
    seen = (1.0 - join) * np.maximum(g, 0.0)
    mass, gain, worst = [omega], [_over(join * g, omega)], 0.0
    for rows, q in zip(crowd.rows, shares, strict=True):
        left = np.maximum(rows - q * omega, 0.0)
        labels = _over((1.0 - join) * q * g, left)
        # Tilts whose exponent overflows are never used.
        grown = np.expm1(np.minimum(alpha * labels, 700.0)) if alpha > 0.0 else labels * labels
        j = int(np.argmax((left * grown).sum(axis=1)))
        mass.append(left[j])
        gain.append(labels[j])
        worst = max(worst, float(np.where(left > 0.0, 0.0, seen).sum(axis=1).max()))
    hidden = float(omega.sum())
    log_empty = float(crowd.users @ np.log1p(-np.minimum(shares * hidden, 1.0 - 1e-16)))
    paid = math.exp(log_empty) * float(seen.sum()) + worst
    return _Parts(np.array(mass), np.array(gain), shares, crowd.users, paid)


def _over(first: Array, second: Array) -> Array:
    return np.divide(
        first, second, out=np.zeros(np.broadcast(first, second).shape), where=second > 0
    )


def _estimated(crowd: FloatCrowd, epsilon: float, free: Free) -> Proposal | None:
    parts = _parts(crowd, epsilon, free)
    if not parts.mass[0].any():
        return None
    top = float(parts.gain.max())
    if not top > 0.0:
        # No sum is positive: a larger alpha only lowers the bound.
        log = math.log(parts.paid) if parts.paid > 0.0 else -math.inf
        return Proposal(free, _STEEP / max(-float(parts.gain.min()), 1e-300), log)
    found = _at_saddle(parts, free)
    if found is None:
        return None
    again = _parts(crowd, epsilon, free, found.alpha)
    if np.array_equal(again.gain, parts.gain):
        return found
    other = _at_saddle(again, free)
    return found if other is None or other.value < found.value else other


def _at_saddle(parts: _Parts, free: Free) -> Proposal | None:
    top = float(parts.gain.max())
    if not top > 0.0:
        return None
    alpha = _saddle(parts, top)
    power, width, leading, inside = _on_line(parts, alpha)
    if not leading > 0.0:
        return None
    value = power + math.log(leading) + math.log(_integral(parts, alpha, width, inside))
    log_delta = float(np.logaddexp(value, math.log(parts.paid))) if parts.paid > 0.0 else value
    return Proposal(free, alpha, log_delta)


def _saddle(parts: _Parts, top: float) -> float:
    """Solve alpha sum_k N_k (log(q_k c + d_k))' = 2, by Newton in log alpha between bounds."""
    low, high = -math.inf, math.log(_LARGEST / top)
    spread = float(parts.users @ (parts.mass * parts.gain**2).sum(axis=1)[1:])
    at = min(math.log(2.0) - 0.5 * math.log(spread) if spread > 0.0 else high, high)
    for _ in range(50):
        alpha = math.exp(at)
        rises = np.expm1(alpha * parts.gain)
        tilted = parts.mass * (rises + 1.0)
        firsts, seconds = (tilted * parts.gain).sum(axis=1), (tilted * parts.gain**2).sum(axis=1)
        rise = (parts.mass * rises).sum(axis=1)
        whole = 1.0 + parts.shares * rise[0] + rise[1:]
        mean = (parts.shares * firsts[0] + firsts[1:]) / whole
        square = (parts.shares * seconds[0] + seconds[1:]) / whole - mean * mean
        value = alpha * float(parts.users @ mean) - 2.0
        low, high = (low, at) if value > 0.0 else (at, high)
        slope = alpha * float(parts.users @ (mean + alpha * square))
        new = at - value / slope if slope > 0.0 else high
        if not low <= new <= high:
            new = 0.5 * (max(low, at - 4.0) + high)
        if abs(new - at) < 1e-5:
            break
        at = new
    return math.exp(at)


def _on_line(parts: _Parts, alpha: float) -> tuple[float, float, float, Array]:
    """log prod T^N, the standard deviation of the sum by psi, c0, and p_k."""
    rises = np.expm1(alpha * parts.gain)
    rise = (parts.mass * rises).sum(axis=1)
    tilted = parts.mass * (rises + 1.0)
    leading = float(tilted[0].sum())
    whole = np.maximum(1.0 + parts.shares * rise[0] + rise[1:], 1e-300)
    power = float(parts.users @ np.log(whole))
    inside = parts.shares * leading / whole
    firsts, seconds = (tilted * parts.gain).sum(axis=1), (tilted * parts.gain**2).sum(axis=1)
    left = np.maximum(whole - parts.shares * leading, 1e-300)
    joined = seconds[0] / leading - (firsts[0] / leading) ** 2 if leading > 0.0 else 0.0
    stolen = seconds[1:] / left - (firsts[1:] / left) ** 2
    variance = float(parts.users @ (inside * joined + (1.0 - inside) * stolen))
    return power, math.sqrt(max(variance, 0.0)), leading, inside


def _integral(parts: _Parts, alpha: float, width: float, inside: Array) -> float:
    """An estimate of (1/2 pi) int min(1/M, psi_c) prod Psi^N/(alpha^2 + t^2) dt."""
    scale, hidden = max(width, 1.0 / alpha), float(parts.users @ inside)
    places = _PLACES if hidden < _FEW else _PLACES[:_NEAR_PLACES]
    t = np.sinh(places) / scale
    turned = np.exp(1j * t[:, None, None] * parts.gain)
    tilted = parts.mass * np.exp(alpha * parts.gain)
    values = (turned * tilted).sum(axis=2)
    sizes = tilted.sum(axis=1)
    leading = sizes[0]
    # The left-over has gain 0.
    whole = parts.shares * leading / inside
    rest = np.maximum(whole - parts.shares * leading - sizes[1:], 0.0)
    left = np.maximum(sizes[1:] + rest, 1e-300)
    psi_c = 0.5 * (1.0 + np.abs(values[:, 0] / leading) ** 2)
    psi = 0.5 * (1.0 + np.abs((values[:, 1:] + rest) / left) ** 2)
    both = inside * psi_c[:, None] + (1.0 - inside) * psi
    power = np.exp(np.log(np.minimum(both, 1.0)) @ parts.users)
    terms = np.minimum(1.0 / hidden, psi_c) * power / (alpha * alpha + t * t)
    terms *= np.cosh(places) / scale
    terms[0] *= 0.5
    return float(terms.sum()) * (places[1] - places[0]) / math.pi
