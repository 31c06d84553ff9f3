"""Quick estimates of log E[S]_+: they propose where to look and certify nothing."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from shuffledp.divergence.gain import CellGains, GainLaw, mean_law
from shuffledp.divergence.tilt import RARE, log_expm1, log_moment, solve_tilt, tilted_law

Indices = npt.NDArray[np.intp]

_ROUGH_CELLS = 2048
# Expected numbers of messages above the cut that are tried.
_LARGE_MESSAGES = (1.0, 1e-2, 1e-4)
_LOWS_LEFT_OUT = (0.0, 0.5, 2.0, 6.0)
_SQRT_TAU = math.sqrt(2.0 * math.pi)


def rough_log_expectation(law: GainLaw, n: int) -> float:
    """About log E[S]_+: the tilted law of S taken to be normal."""
    if law.g.size == 0 or not float(law.g.max()) > 0.0:
        return -math.inf
    if float(law.g.min()) >= 0.0 and law.mean > 0.0:
        return math.log(n * law.mean)
    alpha = solve_tilt(law, n, whole=False)
    tilted = tilted_law(law, n, alpha)
    log_m, _ = log_moment(law, alpha)
    if tilted.log_ratio <= RARE and tilted.negative > 0.0:
        # Few active messages: Chernoff's scale, times the usual constant.
        scale = n * math.log(tilted.negative) + log_expm1(max(tilted.log_ratio, 1e-300))
        return scale - math.log(alpha) - 1.0
    if not math.isfinite(log_m) or not tilted.variance > 0.0:
        return -math.inf
    deviation = math.sqrt(n * tilted.variance)
    # Where S hardly varies both are next to infinite; their squares must not overflow.
    distance = min(2.0 / alpha / deviation, 1e100)
    z = max(distance - alpha * deviation, -1e100)
    if z < -5.0:
        log_tail = math.log(1.0 / (z * z) * (1.0 - 3.0 / (z * z)))
    else:
        log_part = 0.5 * z * z + float(log_ndtr(z)) + 0.5 * math.log(2.0 * math.pi)
        log_tail = math.log1p(z * math.exp(log_part)) if z < 5.0 else math.log(z) + log_part
    constant = log_tail + math.log(deviation / _SQRT_TAU)
    return n * log_m - 0.5 * distance**2 + constant


def rough_log_expectation_of_cells(cells: CellGains, n: int) -> float:
    """The same for cells; where G has a heavy tail, one large message is taken by itself.

    E[S]_+ is about E[S_s]_+ + n E[(G + S_s)_+; G > cut], S_s a sum of messages below the cut.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        law = mean_law(cells, most=_ROUGH_CELLS)
        best = rough_log_expectation(law, n)
        if not best > -math.inf:
            return best
        order = np.argsort(law.g)
        above = np.cumsum(law.w[order][::-1])[::-1]
        for messages in _LARGE_MESSAGES:
            first = int(np.searchsorted(-above, -messages / n))
            if 0 < first < order.size and float(law.g[order[-1]]) > 0.0:
                bulk = rough_log_expectation(_part(law, order[:first]), n)
                jump = _one_jump(law, order[:first], order[first:], n)
                best = min(best, float(np.logaddexp(bulk, jump)))
        return best


def _part(law: GainLaw, chosen: Indices) -> GainLaw:
    """The law without the other atoms, whose mass is lost."""
    w, g = law.w[chosen], law.g[chosen]
    return GainLaw(
        w=w,
        g=g,
        g_err=np.zeros_like(g),
        rel=0.0,
        mean=float((w * g).sum()),
        mean_err=0.0,
        lost=law.lost + float(law.w.sum() - w.sum()),
        active=g > 0.0,
        low=min(0.0, float(g.min())),
        high=max(0.0, float(g.max())),
    )


def _one_jump(law: GainLaw, small: Indices, large: Indices, n: int) -> float:
    """log of n E[(G + rest)_+; G large], the rest at its mean if no far low is among them.

    Far lows may make the mean without being typical: leaving out those of which k are expected
    costs a factor e^-k.
    """
    below = np.cumsum(law.w[small])
    best = -math.inf
    for lows in _LOWS_LEFT_OUT:
        kept = small[int(np.searchsorted(below, lows / n)) :]
        rest = (n - 1) * float((law.w[kept] * law.g[kept]).sum())
        jump = n * float((law.w[large] * np.maximum(law.g[large] + rest, 0.0)).sum())
        if jump > 0.0:
            best = max(best, math.log(jump) - lows)
    return best
