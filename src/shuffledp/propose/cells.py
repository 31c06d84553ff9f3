"""Where to cut a line of outputs into cells, in floats: any cuts give valid ends.

Replacing the gain on a cell by its mean, or by the ends of its range, changes E (S)_+ by about

    n w (V/2) p(-g),        V = D^2/12 below, D^2/6 above,

where w is the cell's mass, D the width of its gains, and p the density of the sum of the others'
gains, which is the second derivative of E (g + S')_+ in g. The sum over K cells is least if the
number of cells per length of y is proportional to (f_ref p(-g) g'^2)^(1/3) = h^(1/3). It is then
n V/D^2 (int h^(1/3))^3/(2 K^2).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.bounds.line import Line
from shuffledp.errors import NotCertified
from shuffledp.propose.layers import usual_deviation

__all__ = ["Aim", "Sketch", "edges", "even_edges", "groups_of", "places", "rough_law", "sketch"]

Floats = npt.NDArray[np.float64]

# Variance lost when a uniform gain is replaced by its mean, and gained when it is replaced by its
# ends, in squares of its range.
_BELOW, _ABOVE = 1.0 / 12.0, 1.0 / 6.0
# Number of places at which densities are evaluated: a cell has a few of them.
_PLACES = 600
# Number of tilts on each side at which the others' transform is evaluated; the second where less
# accuracy will do.
_TILTS, _COARSE = 120, 48
# Amount, in logs, by which the Chernoff bound of a saddle point's law may exceed the answer.
_APART = 3.0
# Number of groups of the others' large gains.
_JUMPS = 48
# Share of the allowed error that each of the two ends cut off may cost.
_CUT_OFF = 0.05
_MOST_CELLS = 2500
# Decay per draw, in logs, of the lower limit of the density: a sum of few draws may be anywhere
# within its standard deviation, whatever the saddle point says.
_FEW = 0.3
# A cell is shorter than an interval on which the density changes by a factor of e^2.
_BENT = 2.0
# Relative distance of the outermost places from the outermost atoms.
_MARGIN = 1e-9
# Nodes in a panel of an estimate's law, and log of the mass it leaves out.
_NODES, _ROUGH_DEPTH = 8, -270.0
# Largest exponent, and largest gain, whose powers are finite floats.
_LARGEST, _HUGE = 650.0, 1e100


class Aim(NamedTuple):
    """The purpose of the cells: how many draws, and how accurate.

    Attributes
    ----------
    n : int
        Number of draws.
    log_delta, log_error : float
        Estimates of log delta, and of log of the error allowed in delta.
    """

    n: int
    log_delta: float
    log_error: float

    @property
    def log_answer(self) -> float:
        """log E (S)_+."""
        return self.log_delta + math.log(self.n)


@dataclass(frozen=True)
class Sketch:
    """A law in floats at fixed places, used at every eps.

    Attributes
    ----------
    y : ndarray
        Places, increasing.
    mass : ndarray
        The reference's mass between adjacent places.
    u, v : ndarray
        Likelihood ratios at the places.
    ends : ndarray, shape (K, 3)
        Reference's mass, u and v of the outputs beyond the places, where ratios are constant.
    """

    y: Floats
    mass: Floats
    u: Floats
    v: Floats
    ends: Floats


def sketch(law: Line, log_mass: float) -> Sketch:
    """Evaluate a law down to a mass of e^log_mass in its tails."""
    left, right, kinks = law.outline(log_mass)
    length = right - left
    parts = [np.linspace(left, right, _PLACES)]
    near = length * np.geomspace(1e-9, 0.02, 60)
    parts += [k + s * near for k in kinks for s in (-1.0, 1.0)]
    y = np.unique(np.concatenate(parts))
    y = y[(y >= left) & (y <= right)]
    middle = 0.5 * (y[1:] + y[:-1])
    with np.errstate(over="ignore", under="ignore"):
        mass = np.exp(np.clip(law.log_densities(middle)[0], -_LARGEST, _LARGEST)) * np.diff(y)
        _, u, v = np.exp(np.clip(law.log_densities(y), -_LARGEST, _LARGEST))
    return Sketch(y, mass, u, v, np.array(law.constant_ends()).reshape(-1, 3))


def rough_law(law: Line) -> tuple[Floats, Floats, Floats]:
    """Masses, u and v at Gauss-Legendre nodes, for estimates at every eps.

    Panels are at most as wide as the law's unit, and are cut at kinks.
    """
    left, right, kinks = law.outline(_ROUGH_DEPTH)
    y, weight = [], []
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    cuts = np.unique([left, *(k for k in kinks if left < k < right), right])
    for a, b in itertools.pairwise(cuts):
        places = np.linspace(a, b, max(2, math.ceil((b - a) / law.unit) + 1))
        for low, high in itertools.pairwise(places):
            y.append(0.5 * (low + high) + 0.5 * (high - low) * nodes)
            weight.append(0.5 * (high - low) * weights)
    at = np.concatenate(y)
    with np.errstate(over="ignore", under="ignore"):
        own, u, v = np.exp(np.clip(law.log_densities(at), -_LARGEST, _LARGEST))
    masses = np.concatenate(weight) * own
    ends = law.constant_ends()
    return (
        np.append(masses, [e[0] for e in ends]),
        np.append(u, [e[1] for e in ends]),
        np.append(v, [e[2] for e in ends]),
    )


def edges(seen: Sketch, aim: Aim, *, epsilon: float, upper: bool) -> list[float]:
    """Places at which to cut the line.

    Parameters
    ----------
    seen : Sketch
        The law.
    aim : Aim
        Number of draws, and accuracy.
    epsilon : float
        eps in nats.
    upper : bool
        Whether atoms will be at the ends of ranges (a law above).
    """
    grow = math.exp(epsilon)
    with np.errstate(over="ignore", invalid="ignore"):
        return _edges(seen, aim, grow, upper=upper)


def _edges(seen: Sketch, aim: Aim, grow: float, *, upper: bool) -> list[float]:
    """The places at a = ``grow``."""
    gain = seen.u - grow * seen.v
    others = _others(
        np.append(seen.mass, seen.ends[:, 0]),
        np.append(0.5 * (gain[1:] + gain[:-1]), seen.ends[:, 1] - grow * seen.ends[:, 2]),
        1.0 - grow,
        aim,
    )
    seen = _refined(seen, gain, -others.place)
    gain = seen.u - grow * seen.v
    log_p, tilt = others.at(0.5 * (gain[1:] + gain[:-1]))
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        # cost = h^(1/3) dy with h = (mass/dy) p (dg/dy)^2
        log_h = np.log(seen.mass) + log_p + 2.0 * np.log(np.abs(np.diff(gain)))
        cost = np.exp(np.clip(log_h / 3.0, -_LARGEST, _LARGEST))
        first, last = _cuts(seen, grow, log_p, tilt, aim)
        bend = np.abs(np.diff(np.log(seen.mass / np.diff(seen.y)), prepend=0.0))
    cost[:first] = cost[last:] = bend[: first + 1] = bend[last:] = 0.0
    size = float(cost.sum())
    cells = cost * (_count(size, aim, upper=upper) / max(size, 1e-300))
    cells += np.minimum(np.nan_to_num(bend), 1.0) / _BENT
    whole = np.concatenate([[0.0], np.cumsum(cells)])
    places = np.interp(np.linspace(0.0, whole[-1], math.ceil(whole[-1])), whole, seen.y)
    # Where no cost accrues, interpolation may put the last place anywhere beyond.
    places = np.clip(places, seen.y[first], seen.y[last])
    return [float(y) for y in np.unique(np.concatenate([places, seen.y[[first, last]]]))]


def _count(whole: float, aim: Aim, *, upper: bool) -> int:
    """Number of places at which the error of E (S)_+ is e^log_error."""
    if not math.isfinite(whole):
        msg = "ratios of densities that are no floats: wanted noise that is not so narrow"
        raise NotCertified(msg)
    share = (_ABOVE if upper else _BELOW) / 2.0
    log = 0.5 * (math.log(share) + 3.0 * math.log(whole + 1e-300) - aim.log_error)
    return int(min(max(math.exp(min(log, 20.0)), 8.0), _MOST_CELLS)) + 2


def _refined(seen: Sketch, gain: Floats, wanted: Floats) -> Sketch:
    """The sketch with more places, at which the gain is near a wanted value.

    The others' density bends there. Masses are split evenly, and log ratios are interpolated.
    """
    low, high = np.minimum(gain[1:], gain[:-1]), np.maximum(gain[1:], gain[:-1])
    at, goal = np.nonzero((wanted > low[:, None]) & (wanted < high[:, None]))
    left, right, goals = gain[at], gain[at + 1], wanted[goal]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (goals - left) / (right - left)
        positive = np.log(goals / left) / np.log(right / left)
    share = np.where((left > 0.0) & (right > 0.0), positive, share)
    y = np.unique(np.concatenate([seen.y, seen.y[at] + share * np.diff(seen.y)[at]]))
    start = np.searchsorted(seen.y, 0.5 * (y[1:] + y[:-1])) - 1
    mass = seen.mass[start] * np.diff(y) / np.diff(seen.y)[start]
    with np.errstate(divide="ignore"):
        u, v = (np.exp(np.interp(y, seen.y, np.log(ratio))) for ratio in (seen.u, seen.v))
    return Sketch(y, mass, u, v, seen.ends)


@dataclass(frozen=True)
class _Others:
    """The density p of the sum of the others' gains.

    Attributes
    ----------
    place, log_p, tilt : ndarray
        Sums, log p there without rare large gains, and minus its slope; empty where floats
        overflow.
    rare, rare_gain : ndarray
        Expected numbers of rare large gains, and these gains.
    log_least : float
        log of a lower limit of p.
    """

    place: Floats
    log_p: Floats
    tilt: Floats
    rare: Floats
    rare_gain: Floats
    log_least: float

    def at(self, gain: Floats) -> tuple[Floats, Floats]:
        """Estimates of log p(-g) at every gain, and of minus its slope."""
        if not self.place.size:
            return np.full(gain.size, self.log_least), np.full(gain.size, math.exp(self.log_least))
        found = self._usual(-gain)
        slope = np.interp(-gain, self.place, self.tilt)
        if self.rare.size:
            jump = np.exp(self._usual(-np.add.outer(gain, self.rare_gain))) @ self.rare
            found = np.logaddexp(found, np.log(np.maximum(jump, 1e-300)))
        return np.logaddexp(found, self.log_least), slope

    def _usual(self, at: Floats) -> Floats:
        return np.interp(at, self.place, self.log_p, left=-_LARGEST, right=-_LARGEST)


def _others(mass: Floats, gain: Floats, mean: float, aim: Aim) -> _Others:
    """The density of the others' sum.

    Along saddle points t, the sum of the gains up to a first cut has at x = K'(t) the density
    e^(K(t) - t x)/sqrt(2 pi n V), with K(t) = n log E e^(tG) and the tilted variance V. Beyond the
    cut, one of the others may have a large gain.
    """
    n = aim.n
    order = np.argsort(gain)
    g, w = np.minimum(gain[order], _HUGE), mass[order]
    sd = usual_deviation(w, g, n)
    first = _first_cut(w, g, mean, sd, aim)
    usual, rare = slice(0, first), slice(first, None)
    up = np.geomspace(1e-4 / sd, _steepest(sd, g), _TILTS)
    tilts = np.concatenate([-up[::-1], up])
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        exponent = np.minimum(np.multiply.outer(tilts, g[usual]), _LARGEST)
        lifted = np.expm1(exponent)
        # The mean is known exactly: sums over places are not accurate enough for n of them.
        drift = mean - float(w[rare] @ g[rare])
        rise = (lifted - exponent) @ w[usual] + tilts * drift - float(w[rare].sum())
        first_moment = lifted @ (w * g)[usual] + drift
        second = lifted @ (w * g * g)[usual] + float(w[usual] @ (g * g)[usual])
        size = 1.0 + rise
        log_moment, centre = n * np.log1p(rise), n * first_moment / size
        variance = n * np.maximum(second / size - (first_moment / size) ** 2, 1e-300)
        log_p = log_moment - tilts * centre - 0.5 * np.log(2.0 * math.pi * variance)
    good = np.isfinite(log_p) & np.isfinite(centre)
    if not bool(good.any()):
        none = np.zeros(0)
        return _Others(none, none, none, none, none, -math.log(sd))
    starts = np.arange(first, g.size, max(1, (g.size - first) // _JUMPS))
    weight = np.add.reduceat(w, starts) if starts.size else np.zeros(0)
    heavy = np.add.reduceat(w * g, starts) if starts.size else np.zeros(0)
    return _Others(
        centre[good],
        log_p[good],
        tilts[good],
        weight * n,
        heavy / np.maximum(weight, 1e-300),
        # For few draws the sum is far from a saddle point's: E (S)_+ is about p/tilt^2 at 0.
        min(aim.log_answer - 2.0 * math.log(sd), -math.log(sd) - _FEW * n),
    )


def _first_cut(w: Floats, g: Floats, mean: float, sd: float, aim: Aim) -> int:
    """Number of sorted gains whose Chernoff bound is still near the answer, for a saddle point."""
    tilts = np.geomspace(1e-4 / sd, _steepest(sd, g), _COARSE)
    with np.errstate(over="ignore"):
        exponent = np.minimum(np.multiply.outer(tilts, g), _LARGEST)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        bend = np.cumsum(w * (np.expm1(exponent) - exponent), axis=1)
        above, beyond = (x.sum() - np.cumsum(x) for x in (w * g, w))
        rise = bend + np.multiply.outer(tilts, mean - above) - beyond
        bound = (aim.n * np.log1p(rise) - np.log(tilts)[:, None] - 1.0).min(axis=0)
    fits = np.flatnonzero(bound <= aim.log_answer + _APART)
    least = int(np.searchsorted(g, 0.0, side="right"))
    return max(int(fits[-1]) + 1 if fits.size else least, least)


def _steepest(sd: float, gain: Floats) -> float:
    """The largest tilt: for a sum of many gains, or for the few gains as large as the largest."""
    return max(60.0 / sd, _LARGEST / max(float(gain.max()), 1e-300))


def _cuts(seen: Sketch, grow: float, log_p: Floats, tilt: Floats, aim: Aim) -> tuple[int, int]:
    """The first and the last place worth a cell.

    Beyond an end where gains rise there is one atom and a charge: n min(R p/tilt^2, P) is lost.
    Beyond an end where gains fall they are raised, which costs less than n a Q.
    """
    gain = seen.u - grow * seen.v
    places = []
    for turn in (1, -1):
        mass, u, v, g = (x[::turn] for x in (seen.mass, seen.u, seen.v, gain))
        r, p, q = (np.cumsum(mass * ratio) for ratio in (np.ones_like(mass), u[:-1], v[:-1]))
        if g[0] > g[-1]:
            slope, density = tilt[::turn], log_p[::turn]
            lost = np.log(r) + density - 2.0 * np.log(np.maximum(-slope, 1e-300))
            lost = np.minimum(np.where(slope < 0.0, lost, np.inf), np.log(p))
        else:
            lost = np.log(grow * q)
        kept = lost > math.log(_CUT_OFF) + aim.log_error
        places.append(int(kept.argmax()) if bool(kept.any()) else 0)
    first, last = places[0], len(seen.mass) - places[1]
    return (first, last) if first < last else (0, len(seen.mass))


# ------------------------------------------------------------------- cells that are made once


def even_edges(law: Line, count: int, log_mass: float) -> list[float]:
    """Places to cut at for every eps: sqrt(mass) |d log(u/v)| accrues evenly between them."""
    seen = sketch(law, log_mass)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        loss = np.log(np.maximum(seen.u, 1e-300)) - np.log(np.maximum(seen.v, 1e-300))
        both = seen.mass * (1.0 + 0.5 * (seen.u[1:] + seen.v[1:]))
        cost = np.cbrt(both * np.diff(loss) ** 2) + 1e-3 * np.abs(np.diff(loss))
    cost = np.where(np.isfinite(cost), cost, 0.0)
    whole = np.concatenate([[0.0], np.cumsum(cost)])
    at = np.interp(np.linspace(0.0, whole[-1], count + 1), whole, seen.y)
    return [float(y) for y in np.unique(at)]


def groups_of(rows: Floats, most: int) -> list[npt.NDArray[np.intp]]:
    """Groups of cells near each other in log P/Q, about ``most`` of them.

    Parameters
    ----------
    rows : ndarray, shape (K, 3)
        Masses under the reference, P and Q.
    most : int
        Number of groups wanted.
    """
    with np.errstate(divide="ignore"):
        loss = np.clip(np.log(rows[:, 1]) - np.log(rows[:, 2]), -_LARGEST, _LARGEST)
        tilt = np.clip(np.log(rows[:, 1] + rows[:, 2]) - np.log(rows[:, 0]), -_LARGEST, _LARGEST)
    order = np.lexsort((tilt, np.round(loss * most / (np.ptp(loss) + 1e-300))))
    cost = np.cbrt(rows[order].sum(axis=1)) + 1e-6
    share = np.cumsum(cost) / cost.sum() * most
    starts = np.flatnonzero(np.diff(np.floor(share * (1.0 - 1e-9)), prepend=-1.0))
    return np.split(order, starts[1:])


def places(mass: Floats, gain: Floats, aim: Aim, *, epsilon: float, upper: bool) -> Floats:
    """Gains at which atoms are grouped or split, so that delta's error is as allowed.

    Parameters
    ----------
    mass, gain : ndarray
        Atoms; the mass missing to 1 has the gain 0.
    aim : Aim
        Number of draws, and accuracy.
    epsilon : float
        eps in nats.
    upper : bool
        Whether atoms are split between places (a law above) rather than grouped.
    """
    order = np.argsort(gain)
    w, g = mass[order], gain[order]
    log_p, _ = _others(w, g, 1.0 - math.exp(epsilon), aim).at(g)
    width = np.diff(g)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        own = 0.5 * (w[1:] + w[:-1])
        log_h = np.log(own) + log_p[1:] + 2.0 * np.log(width)
        cost = np.exp(np.clip(log_h / 3.0, -_LARGEST, _LARGEST))
    whole = np.concatenate([[0.0], np.cumsum(cost)])
    count = min(_count(whole[-1], aim, upper=upper), g.size + 1)
    found = np.interp(np.linspace(0.0, whole[-1], count), whole, g)
    # The outermost atoms are balls: they have to lie inside.
    margin = _MARGIN * max(float(np.abs(g[[0, -1]]).max()), 1e-300)
    return np.unique(np.concatenate([found, [g[0] - margin, g[-1] + margin]]))
