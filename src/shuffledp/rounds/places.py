"""Where dots lie: where a chord between two of them adds the most to the delta of all rounds.

A chord over a panel of length d at a loss l is above the curve by at most a^2 h''(a) d^2/8, d^2/12
in the mean, and a^2 h''(a) is the density p of the round's loss there. Composed with the other
rounds, whose losses add up to a density p_o, that excess adds to delta(eps)

    (d^2/12) int [ p(l) p_o(eps - l) + p(-l) p_o(eps + l) ] dl

(docs/theory-composition.md, section 2.6): d^2/12 times the density with which this round loses
+-l and all of them eps. It is least where all panels add alike (equidistribution). All of it is by
estimates and certifies nothing: wherever the dots are, what is made of them is valid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.pair import Array
from shuffledp.rounds.delta import Parts
from shuffledp.rounds.loss import LossLaw
from shuffledp.rounds.tilt import tilted

# Estimates of eps are some per cent off: the density is smoothed by that share of eps.
_BLURRED = 0.05
# exp(-6^2/2) of a smoothed transform is next to nothing; and so many deviations of a sum.
_FAR = 6.0
# Frequencies at most: with a hundred losses half a second. Beyond it more is smoothed.
_MOST_FREQUENCIES = 1 << 13
# In place of a transform that is 0: its logarithm is a float.
_NOTHING = 1e-300
# Of the largest tilted density what is below rounding says nothing.
_LOST = 1e-12
# Panels at the least, and at most: a curve is not followed more closely by ``curve.march``.
_FEWEST, _MOST_PLACES = 16, 2000
# Of all dots these are laid out evenly along the estimates' own, which follow the curve.
_EVEN = 0.05


class Flow(NamedTuple):
    """About what chords add to delta, over d^2/12, per nat of eps: ``density`` between ``ends``."""

    ends: Array
    density: Array


def flow(own: LossLaw, others: Parts, *, epsilon: float, tilt: float) -> Flow:
    """The density with which one round loses +-l and all of them eps, over l.

    Parameters
    ----------
    own : LossLaw
        About the law of the round whose dots are placed.
    others : sequence of (LossLaw, int)
        About those of all other rounds.
    epsilon : float
        eps > 0 in nats.
    tilt : float
        About where the contour of all rounds crosses at this eps.
    """
    weight = own.mass * _density(others, epsilon - own.loss, tilt, _BLURRED * epsilon)
    size, place = np.unique(np.abs(own.loss), return_inverse=True)
    weight = np.bincount(place, weights=weight)
    # Each loss stands for what is next to it.
    ends = np.concatenate([[0.0], 0.5 * (size[:-1] + size[1:]), size[-1:]])
    kept = np.flatnonzero(np.diff(ends) > 0.0)
    ends = np.append(ends[kept], ends[-1])
    return Flow(ends, weight[kept] / np.diff(ends))


def places(found: Flow, *, budget: float, refine: int) -> tuple[float, ...]:
    """eps at which to evaluate a curve, so that chords add about ``budget`` to delta.

    None where estimates know of no loss. A sum of d^3 f is least where all terms are alike, with d
    as f^{-1/3}: with N panels it is (int f^{1/3})^3/N^2.

    Parameters
    ----------
    found : Flow
        What chords add.
    budget : float
        As much may be added to delta by the dots of this round.
    refine : int
        How often all intervals are halved beyond that: their ends are kept. Below 0 they are
        doubled.
    """
    width = np.diff(found.ends)
    if width.size == 0:
        return ()
    root = np.cbrt(found.density)
    size = float((root * width).sum())
    panels = _FEWEST
    if size > 0.0 and budget > 0.0:
        panels = math.ceil(min(max(math.sqrt(size**3 / 12.0 / budget), _FEWEST), _MOST_PLACES))
    # Equal numbers for every piece of the table, too: estimates may say that nothing is added.
    even = np.full(width.size, 1.0 / width.size)
    part = even if size <= 0.0 else _EVEN * even + (1.0 - _EVEN) * root * width / size
    upto = np.append(0.0, np.cumsum(part))
    at = np.linspace(0.0, upto[-1], math.ceil(panels * 2.0**refine) + 1)
    found_at = np.interp(at, upto, found.ends)
    return tuple(np.unique(np.append(found_at[:-1], found.ends[-1])).tolist())


def _density(parts: Parts, at: Array, tilt: float, blur: float) -> Array:
    """About the P-density of a sum of losses at some places, smoothed.

    By Fourier inversion of the tilted laws: without a tilt what is far out would be rounding.
    """
    laws = [(tilted(law, tilt), count) for law, count in parts if count > 0]
    log_n = math.fsum(count * law.log_n for law, count in laws)
    spread = math.sqrt(math.fsum(count * law.variance for law, count in laws))
    centre = math.fsum(count * law.mean for law, count in laws)
    # Far enough apart that copies of the law do not meet.
    reach = max(abs(centre - float(at.min())), abs(centre - float(at.max())))
    period = 2.0 * (reach + _FAR * (spread + blur))
    blur = max(blur, _FAR * period / (2.0 * math.pi * _MOST_FREQUENCIES))
    step = 2.0 * math.pi / period
    t = step * np.arange(math.ceil(_FAR / (blur * step)) + 1)
    log_value = np.zeros(t.size, dtype=np.complex128)
    for law, count in laws:
        log_value += count * np.log(np.exp(1j * np.outer(t, law.loss)) @ law.weight + _NOTHING)
    value = np.exp(log_value - 0.5 * (blur * t) ** 2)
    value[0] *= 0.5
    found = np.real(np.exp(-1j * np.outer(at, t)) @ value) * step / math.pi
    found = np.where(found > _LOST * float(found.max()), found, 0.0)
    # Only what is compared with what matters: a common factor e^-peak would do as well.
    return found * np.exp(np.minimum(log_n - tilt * at, 600.0))


__all__ = ["Flow", "flow", "places"]
