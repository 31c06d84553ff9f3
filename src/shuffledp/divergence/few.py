"""Few messages with continuous outputs: E[S]_+ on a lattice, from both sides of the convex order.

Every cell, or part of one, is put at its mean (below) or on its two ends with the same mean
(above), and every such atom on the two points of a lattice h Z next to it, which keeps its mean and
raises the law a little; below, as much is taken back by moving mass from k - 1 and k + 1 to k. For
a law on the lattice the contour integral is a finite sum (``lattice``): nothing has to be smoothed
away, however slowly its transform decays (docs/theory.md, section 6.13).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.divergence.gain import CellGains, mean_law
from shuffledp.divergence.lattice import (
    UNDERFLOW,
    Complex,
    Lattice,
    Transforms,
    near_zero,
    sum_nodes,
    transform,
)
from shuffledp.divergence.tilt import find_tilt
from shuffledp.pair import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
MOST_MESSAGES, VERY_FEW = 40, 20
# Below this the cells themselves are what makes the bracket wide.
SHARP = 1e-5
_TILT_CELLS = 1024
_MOST_NODES = 1 << 21
_FEWEST_NODES = 1 << 10
_CHEAP_NODES = 1 << 19
_LOOSEST = 0.1
# What Chernoff's bound may be too large by, when the period is chosen.
_MARGIN = 12.0
_BETAS = (0.03, 0.2, 0.5, 0.8, 0.95, 1.05, 1.15, 1.3, 1.6, 2.0, 3.0, 17.0)
_SMALLEST = 1e-200
_ROOM, _MOST_MOVED = 1e-9, 0.49
_COARSEST = 0.5
# Cells are cut into so many parts; an end of each of this share of its width may hold nothing.
_PARTS, _ENDS, _SPLIT_BELOW = 3, 1e-4, 1e-3
_ANYTHING = LogInterval(-math.inf, math.inf)


class Atoms(NamedTuple):
    """Masses (as logarithms) at values of G."""

    log_w: Array
    g: Array

    def part(self, kept: npt.NDArray[np.bool_]) -> Atoms:
        """Some of the atoms."""
        return Atoms(self.log_w[kept], self.g[kept])


def few_messages(
    cells: CellGains, n: int, *, rel: float, width: float, cheap: bool = False
) -> LogInterval:
    """Bracket log E[S]_+ to about a relative ``width``, or as near as the cells and work allow.

    Parameters
    ----------
    cells : CellGains
        Cells with G on both sides of 0, none of their mass lost.
    n : int
        Number of messages, 2 or more.
    rel : float
        Relative error of the cells' masses.
    width : float
        Requested relative width.
    cheap : bool
        Say nothing where many nodes would be needed.
    """
    width = min(width, _LOOSEST)
    tilt = _tilt(cells, n, width)
    if tilt is None:
        return _ANYTHING
    inner, outer = _inner(cells, rel, width), _outer(cells, rel, width)
    step = math.sqrt(width / n)
    lattice = _lattice(tilt, step)
    if lattice.alpha * lattice.h > _COARSEST or (cheap and lattice.count > _CHEAP_NODES):
        return _ANYTHING
    low, gap = _lower_end(inner, lattice, n)
    high = _upper_end(outer, lattice, n)
    # Finer points help where noise is most of the width.
    if high - low > width and gap > 0.5 * width and lattice.count < _MOST_NODES:
        finer = _lattice(tilt, step * max(min(0.5, math.sqrt(0.15 * width / gap)), 0.05))
        low = max(low, _lower_end(inner, finer, n)[0])
    return LogInterval(low, high)


def _tilt(cells: CellGains, n: int, width: float) -> tuple[float, float] | None:
    """The tilt, and a period that leaves little to copies of S."""
    law = mean_law(cells, most=_TILT_CELLS)
    if not bool(law.active.any()):
        return None
    alpha = find_tilt(law, n).alpha
    if not _SMALLEST < alpha < 1.0 / _SMALLEST:
        return None
    atoms = _with_leftover(np.log(law.w), law.g, 1.0 - float(law.w.sum()))
    period = max(_period(atoms, n, alpha, math.log(100.0 / width) + _MARGIN), 4.0 / alpha)
    return (alpha, 1.01 * period) if _SMALLEST < period < 1.0 / _SMALLEST else None


def _lattice(tilt: tuple[float, float], step: float) -> Lattice:
    """Points about ``step``/alpha apart, or as near as the most nodes there may be allow."""
    alpha, period = tilt
    h = 2.0 ** math.floor(math.log2(step / alpha))
    count = 2 ** math.ceil(math.log2(max(period / h, _FEWEST_NODES)))
    if count > _MOST_NODES:
        count = _MOST_NODES
        h = 2.0 ** math.ceil(math.log2(period / count))
    return Lattice(alpha, h, count)


def _period(atoms: Atoms, n: int, alpha: float, guard: float) -> float:
    """Where copies of S shifted by the period count for about e^-guard of Chernoff's bound."""
    base = _log_growth(atoms, n, alpha)
    above, below = n * float(atoms.g.max()), math.inf
    for ratio in _BETAS:
        growth = _log_growth(atoms, n, ratio * alpha) - base - math.log(ratio)
        side = (growth + guard) / (abs(ratio - 1.0) * alpha)
        if ratio > 1.0:
            above = min(above, side)
        else:
            below = min(below, side)
    return max(above, below)


def _with_leftover(log_w: Array, g: Array, leftover: float) -> Atoms:
    """The atoms and what is missing to mass 1, at G = 0."""
    if leftover <= 0.0:
        return Atoms(log_w, g)
    return Atoms(np.append(log_w, math.log(leftover)), np.append(g, 0.0))


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(x)


class _Split(NamedTuple):
    """Cells as a uniform law of mass ``share`` on [low, low + q width] and the rest, of this mean.

    ``err``: how far the rest's mean may be off; ``pad``: the rounding of values.
    """

    share: Array
    low: Array
    width: Array
    mean: Array
    err: Array
    pad: Array


def _split(cells: CellGains, width: float) -> _Split:
    """Where the density of a cell is known to be nearly constant, and little is asked for."""
    pad = 16 * U * (np.abs(cells.mean) + np.abs(cells.low) + np.abs(cells.high))
    room = cells.high - cells.low
    share = np.zeros_like(room)
    if cells.density is not None and width <= _SPLIT_BELOW:
        share = (1.0 - 2.0 * _ENDS) * (1.0 - 1e-9) * cells.density * room
    split = (share >= 0.5) & (share < 1.0)
    share = np.where(split, share, 0.0)
    middle = np.where(split, 0.5 * (cells.low + cells.high), 0.0)
    low = np.where(split, cells.low + _ENDS * room, cells.mean)
    step = np.where(split, (1.0 - 2.0 * _ENDS) * room / _PARTS, 0.0)
    mean = (cells.mean - share * middle) / (1.0 - share)
    return _Split(share, low, step, mean, (cells.err + pad) / (1.0 - share), pad)


def _inner(cells: CellGains, rel: float, width: float) -> Atoms:
    """Below the law of G: every part of a cell at its mean, masses and means rounded down."""
    by = _split(cells, width)
    g, share = [by.mean - by.err], [1.0 - by.share]
    for i in range(_PARTS):
        g.append(by.low + (i + 0.5) * by.width - by.pad)
        share.append(by.share / _PARTS)
    return _weighted(cells, share, g, rel, -1.0)


def _outer(cells: CellGains, rel: float, width: float) -> Atoms:
    """Above the law of G: every part of a cell on its two ends, masses and means rounded up."""
    by = _split(cells, width)
    mean = by.mean + by.err
    low, high = np.minimum(cells.low, mean), np.maximum(cells.high, mean)
    room = high - low
    flat = ~(room > 0.0)
    room = np.where(flat, 1.0, room)
    rest = 1.0 - by.share
    g, share = [high, low], [rest * np.where(flat, 1.0, (mean - low) / room)]
    share.append(rest * np.where(flat, 0.0, (high - mean) / room))
    for i in range(_PARTS + 1):
        g.append(by.low + i * by.width + by.pad)
        share.append(by.share / (_PARTS if 0 < i < _PARTS else 2 * _PARTS))
    return _weighted(cells, share, g, rel, 1.0)


def _weighted(
    cells: CellGains, share: Sequence[Array], g: Sequence[Array], rel: float, outward: float
) -> Atoms:
    """Shares of the cells' masses, off by their error, and the left-over; no mass is 0."""
    total = math.fsum(cells.w)
    leftover = 1.0 - total - cells.lost + outward * (1.01 * rel * total + 16 * U)
    log_w = np.tile(_log(cells.w), len(share)) + _log(np.concatenate(share))
    kept = log_w > -math.inf
    shift = outward * (1.01 * rel + 32 * U)
    return _with_leftover(log_w[kept] + shift, np.concatenate(g)[kept], leftover)


class Points(NamedTuple):
    """Tilted masses at points k of the lattice, in increasing order.

    ``spread`` is what atoms put there before any of it was moved together; ``noise`` the part of
    that which is not taken back: atoms of intervals whose neighbours are too light.
    """

    k: Array
    mass: Array
    spread: Array
    noise: Array


def _spread(atoms: Atoms, lattice: Lattice, scale: float, outward: float) -> Points | None:
    """Every atom on the two points of the lattice next to it, with the same mean; h = 2^m.

    Masses are w e^{alpha k h - scale}, rounded outward. Below, the law is brought under that of
    the atoms again where there is mass enough on either side; the others' mass is ``noise``.
    """
    place = atoms.g / lattice.h
    if not bool(np.isfinite(place).all()):
        return None
    k = np.floor(place)
    part = place - k
    moment = lattice.alpha * (k * lattice.h)
    exponent = atoms.log_w + moment - scale
    counted = exponent > UNDERFLOW
    k, part = k[counted], part[counted]
    if k.size == 0:
        return Points(k, part, part, part)
    # Rounding of the exponents, of exp, and of the sums.
    reach = np.abs(atoms.log_w) + np.abs(moment) + abs(scale)
    off = 8 * U * float(reach[counted].max(initial=0.0)) + (4 * k.size + 64) * U
    if not off < 0.1 * _ROOM:
        return None
    mass = np.exp(exponent[counted]) * (1.0 + outward * off)
    points, index = np.unique(np.concatenate([k, k + 1.0]), return_inverse=True)
    rise = math.exp(lattice.alpha * lattice.h)
    left, right = index[: k.size], index[k.size :]
    parts = mass * (1.0 - part), mass * part * rise
    total = _added(index, np.concatenate(parts), points.size)
    if outward > 0.0:
        return Points(points, total, total, np.zeros_like(total))
    gap = _added(left, mass * part * (1.0 - part), points.size)
    less, handled = _contracted(points, total, gap, rise)
    noisy = ~handled[left] & (part > 0.0)
    noise = _added(left[noisy], parts[0][noisy], points.size)
    noise += _added(right[noisy], parts[1][noisy], points.size)
    return Points(points, less, total, noise * (1.0 + 4.0 * _ROOM))


def _added(place: npt.NDArray[np.intp], mass: Array, size: int) -> Array:
    return np.bincount(place, weights=mass, minlength=size).astype(float)


def _contracted(
    points: Array, mass: Array, gap: Array, rise: float
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Move e_k from each of k - 1 and k + 1 to k, e_k >= gap on both sides; where that was done.

    ``gap``: sum of w theta (1 - theta) over the atoms between k and k + 1; h times it bounds by how
    much the spread law's E(G - t)_+ is too large there. e_k at most 0.49 of the mass of either
    neighbour leaves every mass well above 0. Everything at k is tilted by rise^k.
    """
    next_to = np.diff(points) == 1.0
    before = np.append(0.0, np.where(next_to, gap[:-1] * rise, 0.0))
    need = np.maximum(gap, before) * (1.0 + _ROOM)
    below = np.append(0.0, np.where(next_to, mass[:-1] * rise, 0.0))
    above = np.append(np.where(next_to, mass[1:] / rise, 0.0), 0.0)
    enough = need <= _MOST_MOVED * np.minimum(below, above)
    moved = np.where(enough, need, 0.0)
    gone = np.append(moved[1:] / rise, 0.0) + np.append(0.0, moved[:-1] * rise)
    size = mass + 2.0 * moved + gone
    total = np.maximum(mass + 2.0 * moved - gone - 64 * U * size, 0.0)
    handled = enough & np.append(enough[1:] & next_to, False)
    return total, handled


class _Laws(NamedTuple):
    """The tilted law on the lattice: atoms with G <= 0 and those above, and their units."""

    rest: Points
    active: Points
    log_m: float
    log_v: float

    @property
    def noisy(self) -> bool:
        """Whether some atom was raised and not taken back."""
        return bool(self.rest.noise.any() or self.active.noise.any())

    def transforms(self, lattice: Lattice) -> Transforms:
        """Of the law itself."""
        rest, err = _transform(self.rest.k, self.rest.mass, lattice)
        active, active_err = _transform(self.active.k, self.active.mass, lattice)
        return Transforms(rest, active, None, None, self.log_m, self.log_v, err, active_err)

    def spread_transforms(self, lattice: Lattice) -> Transforms:
        """Of the law before mass was moved together, and of the noise, which is a part of it."""
        found, errs = [], []
        for points in (self.rest, self.active):
            for mass in (points.spread, points.noise):
                values, err = _transform(points.k, mass, lattice)
                found.append(values)
                errs.append(err)
        rest, noise, active, active_noise = found
        least = (max(errs[:2]), max(errs[2:]))
        return Transforms(rest, active, noise, active_noise, self.log_m, self.log_v, *least)


def _transform(k: Array, mass: Array, lattice: Lattice) -> tuple[Complex | None, float]:
    return transform(mass, np.mod(k, lattice.count).astype(np.intp), lattice.count)


def _laws(atoms: Atoms, lattice: Lattice, outward: float) -> _Laws | None:
    """Both parts of the law on the lattice; None where they are out of range."""
    on = atoms.g > 0.0
    exponent = atoms.log_w + lattice.alpha * atoms.g
    log_v, log_m = _log_sum_exp(exponent[on]), _log_sum_exp(exponent)
    if not (math.isfinite(log_v) and math.isfinite(log_m)):
        return None
    rest = _spread(atoms.part(~on), lattice, log_m, outward)
    active = _spread(atoms.part(on), lattice, log_v, outward)
    return None if rest is None or active is None else _Laws(rest, active, log_m, log_v)


def _upper_end(atoms: Atoms, lattice: Lattice, n: int) -> float:
    """Copies of S only add to the sum: it stays an upper end."""
    laws = _laws(atoms, lattice, 1.0)
    if laws is None:
        return math.inf
    sums = sum_nodes(laws.transforms(lattice), lattice, n)
    return _log_end(sums.value + sums.err, laws, n, math.inf, 1.0)


def _lower_end(atoms: Atoms, lattice: Lattice, n: int) -> tuple[float, float]:
    """Less what noise adds to the law of means, and less copies of S; the noise's relative size."""
    laws = _laws(atoms, lattice, -1.0)
    if laws is None:
        return -math.inf, 0.0
    sums = sum_nodes(laws.transforms(lattice), lattice, n)
    added = _price(laws, lattice, n) if laws.noisy else 0.0
    copies = _copies(atoms, lattice, n, laws.log_v + (n - 1) * laws.log_m)
    end = _log_end(sums.value - sums.err - added - copies, laws, n, -math.inf, -1.0)
    return end, added / sums.value if sums.value > 0.0 else math.inf


def _price(laws: _Laws, lattice: Lattice, n: int) -> float:
    """n h/3 P(first message noise, |S| < (1 + sqrt n) h): Lemma 6.27, from the spread law.

    Spreading has a variance of at most n h^2/4, so it stays within sqrt(n) h with probability 3/4
    and more. Half as many nodes add copies of S that hardly count.
    """
    coarse = replace(lattice, count=max(lattice.count // 2, 2))
    near = near_zero(laws.spread_transforms(coarse), coarse, n, 1 + math.isqrt(n))
    return n * lattice.h / 3.0 * near * (1.0 + 1e-6)


def _log_end(value: float, laws: _Laws, n: int, nothing: float, outward: float) -> float:
    if not value > 0.0:
        return nothing
    scale = (laws.log_v, (n - 1) * laws.log_m, math.log(value))
    total = math.fsum(scale)
    return total + outward * 16 * U * (1.0 + sum(abs(x) for x in scale))


def _copies(atoms: Atoms, lattice: Lattice, n: int, unit: float) -> float:
    """sum over k != 0 of e^{-alpha k L} E(S + k L)_+, in units of e^unit.

    x_+ <= e^{beta x}/(e beta): any beta in (0, alpha) for k > 0, any beta > alpha for k < 0.
    """
    alpha, period, h = lattice.alpha, lattice.period, lattice.h
    above = below = math.inf
    for ratio in _BETAS:
        beta = ratio * alpha
        slack = 1e-9 + 64 * U * n * float((np.abs(atoms.log_w) + np.abs(beta * atoms.g)).max())
        decay = abs(beta - alpha) * period * (1.0 - 1e-12)
        # Spreading over an interval of length h raises E e^{beta G} by e^{(beta h)^2/8} at most.
        slack += n * (beta * h) ** 2 / 8.0
        exponent = _log_growth(atoms, n, beta) + slack - unit - decay - math.log(math.e * beta)
        if not exponent < -UNDERFLOW:
            continue
        series = math.exp(exponent) / -math.expm1(-decay) * (1.0 + 1e-6)
        if ratio > 1.0:
            above = min(above, series)
        else:
            below = min(below, series)
    if n * (float(atoms.g.max()) + h) * (1.0 + 1e-9) <= period:
        above = 0.0
    return below + above


def _log_growth(atoms: Atoms, n: int, beta: float) -> float:
    """Log of n V(beta) M(beta)^(n-1), which is at least M(beta)^n - M_A(beta)^n."""
    exponent = atoms.log_w + beta * atoms.g
    return math.log(n) + _log_sum_exp(exponent[atoms.g > 0.0]) + (n - 1) * _log_sum_exp(exponent)


def _log_sum_exp(exponent: Array) -> float:
    top = float(exponent.max(initial=-math.inf))
    return top + math.log(float(np.exp(exponent - top).sum())) if math.isfinite(top) else top
