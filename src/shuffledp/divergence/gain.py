"""GainLaw: the law of G = a - e^eps b at one eps, with a bound on everything that was rounded.

The kernel only ever sees this: atoms (w, g), and how far M(s) = E e^{sG} of the true law can be
from M of the atoms. Cells of a continuous output become two atoms each, m +- sqrt(v), which keeps
the cell's mean and variance (docs/theory.md, section 6: error of second order in what is not
known of v and of third order in the cell's width).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shuffledp.pair import UNIT_ROUNDOFF, Array, Indices, ShuffledPair


@dataclass(frozen=True)
class GainLaw:
    """Atoms of G under the reference; what is missing to mass 1 sits at G = 0.

    Attributes
    ----------
    w, g : ndarray, shape (K,)
        Masses and values; no g is 0.
    g_err : ndarray, shape (K,)
        Absolute error of g.
    rel : float
        Relative error of w.
    mean, mean_err : float
        E[G] of the true law (known much better than the sum of w g), and its error.
    active : ndarray of bool, shape (K,)
        Atoms of which at least one message must be in the rare form: those where G may be above 0
        (else S <= 0), or those split off as large.
    lost : float
        Mass taken out of the law altogether (not put at 0).
    low, high : float
        Outer bounds of G, 0 included.
    half_var, third, reach, top : ndarray, shape (K,) or None
        For atoms that stand for cells: w times half the uncertainty of the variance, w times the
        third-order constant, the cell's width and its upper end; None for true atoms.
    """

    w: Array
    g: Array
    g_err: Array
    rel: float
    mean: float
    mean_err: float
    active: npt.NDArray[np.bool_]
    low: float
    high: float
    lost: float = 0.0
    half_var: Array | None = None
    third: Array | None = None
    reach: Array | None = None
    top: Array | None = None

    def with_active_above(self, threshold: float) -> GainLaw:
        """The same law, of which at least one atom above the threshold has to occur."""
        return replace(self, active=self.g > threshold)


@dataclass(frozen=True)
class CellGains:
    """G on every fine cell at one eps: mass, mean, and the interval [low, high] that holds it.

    ``total`` is E[G] over all cells, ``total_err`` its error; ``variance`` and ``variance_err`` the
    variance of G within each cell; ``density`` a lower bound of the density of G given the cell,
    everywhere on its interval (0 or None where none is known).
    """

    w: Array
    mean: Array
    low: Array
    high: Array
    err: Array
    total: float
    total_err: float
    variance: Array
    variance_err: Array
    lost: float = 0.0
    density: Array | None = None

    def below(self, threshold: float, rel: float) -> CellGains:
        """The cells with no G above the threshold; the mass of the others is lost."""
        kept = self.high <= threshold
        gone = ~kept
        moved = self.w[gone] * self.mean[gone]
        moved_err = float((self.w[gone] * self.err[gone]).sum()) * 1.01
        moved_err += (2.0 * rel + 64 * UNIT_ROUNDOFF) * float(np.abs(moved).sum())
        return CellGains(
            self.w[kept],
            self.mean[kept],
            self.low[kept],
            self.high[kept],
            self.err[kept],
            self.total - math.fsum(moved),
            self.total_err + moved_err + 4 * UNIT_ROUNDOFF * abs(self.total),
            self.variance[kept],
            self.variance_err[kept],
            self.lost + math.fsum(self.w[gone]),
            None if self.density is None else self.density[kept],
        )


def mean_gain(pair: ShuffledPair, epsilon: float) -> tuple[float, float]:
    """E[G] on the reference's support and its rounding error.

    E[G] = (1 - p) - e^eps (1 - q), p and q the masses outside, so 1 - e^eps where there is none.
    """
    p = math.fsum(pair.outside[:, 0])
    q = math.fsum(pair.outside[:, 1])
    a = math.exp(epsilon)
    parts = (-math.expm1(epsilon), -p, a * q, -pair.tail[0], a * pair.tail[1])
    err = 16 * UNIT_ROUNDOFF * sum(abs(x) for x in parts) + pair.rel * (p + a * q)
    return math.fsum(parts), err + pair.tail_doubt[0] + a * pair.tail_doubt[1]


def atom_gains(pair: ShuffledPair, epsilon: float) -> GainLaw:
    """Law of G of a pair of atoms."""
    a = math.exp(epsilon)
    g = pair.a - a * pair.b
    g_err = 1.01 * (pair.rel + 12 * UNIT_ROUNDOFF) * (pair.a + a * pair.b)
    keep = (pair.w > 0.0) & (g_err > 0.0)
    w, g, g_err = pair.w[keep], g[keep], g_err[keep]
    high = max(0.0, float((g + g_err).max(initial=0.0)))
    floor = _floor(pair.n, high)
    # Wholly below it: a gain that is mostly rounding may be above 0 in truth.
    clipped = g + g_err < floor
    if bool(clipped.any()):
        g = np.where(clipped, floor, g)
        g_err = np.where(clipped, 0.0, g_err)
        mean, mean_err = _plain_mean(w, g, g_err, pair.rel)
    else:
        mean, mean_err = mean_gain(pair, epsilon)
    return GainLaw(
        w=w,
        g=g,
        g_err=g_err,
        rel=pair.rel,
        mean=mean,
        mean_err=mean_err,
        active=g + g_err > 0.0,
        low=min(0.0, float((g - g_err).min(initial=0.0))),
        high=high,
    )


def _floor(n: int, high: float) -> float:
    """G below this may be raised to it: one such message makes S < 0 whatever the others are."""
    return -(1.01 * n * high + 1e-300)


def _plain_mean(w: Array, g: Array, g_err: Array, rel: float) -> tuple[float, float]:
    terms = w * g
    size = float(np.abs(terms).sum())
    err = size * (rel + (2 * w.size + 8) * UNIT_ROUNDOFF) + float((w * g_err).sum())
    return float(terms.sum()), err * (1.0 + 1e-9)


def cell_gains(pair: ShuffledPair, epsilon: float) -> CellGains:
    """G on each cell: mean up to rounding, and an interval that holds every value."""
    if pair.ranges is None:
        msg = "cell_gains needs a pair of cells"
        raise TypeError(msg)
    a = math.exp(epsilon)
    mean = pair.a - a * pair.b
    err = 1.01 * (pair.rel + 12 * UNIT_ROUNDOFF) * (pair.a + a * pair.b)
    size = pair.ranges.a_high + a * pair.ranges.b_high
    pad = 8 * UNIT_ROUNDOFF * size
    low = np.minimum(pair.ranges.a_low - a * pair.ranges.b_high - pad, mean - err)
    high = np.maximum(pair.ranges.a_high - a * pair.ranges.b_low + pad, mean + err)
    # By this much either end may lie beyond where G comes to.
    beyond = 2.0 * pad + err + (0.0 if pair.ranges.blur is None else pair.ranges.blur) * size
    variance, variance_err = _inner_variance(low, high, beyond, pair.ranges.bend)
    total, total_err = mean_gain(pair, epsilon)
    density = _least_density(low, high, beyond, pair.ranges.bend)
    return floored(
        CellGains(
            pair.w, mean, low, high, err, total, total_err, variance, variance_err, density=density
        ),
        pair.n,
        pair.rel,
    )


def floored(cells: CellGains, n: int, rel: float) -> CellGains:
    """Raise cells so far below 0 that one of their messages makes S < 0 whatever the others are.

    Cells that reach below the floor but are not wholly below it stay as they are.
    """
    floor = _floor(n, max(0.0, float(cells.high.max())))
    clipped = cells.high < floor
    if not bool(clipped.any()):
        return cells
    mean = np.where(clipped, floor, cells.mean)
    err = np.where(clipped, 0.0, cells.err)
    total, total_err = _plain_mean(cells.w, mean, err, rel)
    return replace(
        cells,
        mean=mean,
        low=np.where(clipped, floor, cells.low),
        high=np.where(clipped, floor, cells.high),
        err=err,
        total=total,
        total_err=total_err,
        variance=np.where(clipped, 0.0, cells.variance),
        variance_err=np.where(clipped, 0.0, cells.variance_err),
        density=None if cells.density is None else np.where(clipped, 0.0, cells.density),
    )


# Rounding may widen an interval by this share of its width before its density counts as unknown.
_SHARP = 1e-4


def _least_density(low: Array, high: Array, pad: Array, bend: Array | None) -> Array | None:
    """e^-bend over the width, where the interval is known well enough."""
    if bend is None:
        return None
    width = high - low
    known = (bend < 1.0) & (pad < _SHARP * width) & (width > 0.0)
    flat = np.exp(-np.where(known, bend, 0.0)) * (1.0 - 1e-9)
    return np.where(known, flat / np.where(known, np.maximum(width, 1e-290), 1.0), 0.0)


def _inner_variance(low: Array, high: Array, pad: Array, bend: Array | None) -> tuple[Array, Array]:
    """Variance of G within a cell and its uncertainty.

    A density within e^{+-bend} of the uniform one on an interval of width d has variance within
    e^{+-bend} d^2/12; without that knowledge it is between 0 and d^2/4 (Popoviciu). ``pad``: how
    far either end of the interval may lie beyond where G comes to.
    """
    width = np.minimum(high - low, 1e150)
    square = width**2
    if bend is None:
        return square / 8.0, square / 8.0
    known = bend < 1.0
    spread = np.expm1(np.where(known, bend, 0.0))
    # Both ends were moved outward: d^2 is known to 4 pad d, and d^2/12 to pad d/3.
    known_err = square / 12.0 * spread + width * np.minimum(pad, 1e150) * 0.5
    return np.where(known, square / 12.0, square / 8.0), np.where(
        known, np.minimum(known_err, square / 4.0), square / 8.0
    )


def trimmed(pair: ShuffledPair, epsilon: float, log_level: float) -> ShuffledPair:
    """Move far cells at both ends, of P- plus e^eps Q-mass below e^log_level, to the tail.

    Outliers that cannot matter at this level would otherwise stretch the range of G.
    """
    if pair.ranges is None:
        return pair
    level = math.exp(log_level)
    p, q = pair.w * pair.a, pair.w * pair.b
    both = p + math.exp(epsilon) * q
    first = int(np.searchsorted(np.cumsum(both), level))
    last = both.size - int(np.searchsorted(np.cumsum(both[::-1]), level))
    if first == 0 and last == both.size:
        return pair
    if not first < last:
        return pair
    moved = (float(p[:first].sum() + p[last:].sum()), float(q[:first].sum() + q[last:].sum()))
    return without_cells(pair, np.arange(first, last), moved)


def without_cells(pair: ShuffledPair, kept: Indices, moved: tuple[float, float]) -> ShuffledPair:
    """The cells that are kept, in this order; the rest, of these P- and Q-masses, in the tail."""
    if pair.ranges is None:
        raise TypeError("moving cells to the tail needs cells")
    # p and q are products of two numbers with relative errors of their own.
    noise = 1e-6 + 4.0 * pair.rel
    return replace(
        pair,
        w=pair.w[kept],
        a=pair.a[kept],
        b=pair.b[kept],
        tail=(pair.tail[0] + (1.0 + noise) * moved[0], pair.tail[1] + (1.0 + noise) * moved[1]),
        tail_doubt=(
            pair.tail_doubt[0] + 2.0 * noise * moved[0],
            pair.tail_doubt[1] + 2.0 * noise * moved[1],
        ),
        ranges=pair.ranges.part(kept),
    )


def mean_law(cells: CellGains, *, threshold: float = 0.0, most: int = 1 << 14) -> GainLaw:
    """Every cell at its mean: near enough to find the tilt, not to certify."""
    starts = np.arange(0, cells.w.size, -(-cells.w.size // most))
    w = np.add.reduceat(cells.w, starts)
    g = np.add.reduceat(cells.w * cells.mean, starts) / w
    return plain_law(w, g, mean=cells.total, lost=cells.lost, threshold=threshold)


def part_below(law: GainLaw, threshold: float) -> GainLaw:
    """Atoms up to the threshold alone, to find a tilt: the others' mass is lost."""
    kept = law.g <= threshold
    gone = ~kept
    mean = law.mean - float((law.w[gone] * law.g[gone]).sum())
    lost = law.lost + float(law.w[gone].sum())
    return plain_law(law.w[kept], law.g[kept], mean=mean, lost=lost)


def plain_law(
    w: Array, g: Array, *, mean: float, lost: float = 0.0, threshold: float = 0.0
) -> GainLaw:
    """Atoms without errors, those above the threshold active: for what certifies nothing."""
    return GainLaw(
        w=w,
        g=g,
        g_err=np.zeros_like(g),
        rel=0.0,
        mean=mean,
        mean_err=0.0,
        lost=lost,
        active=g > threshold,
        low=min(0.0, float(g.min(initial=0.0))),
        high=max(0.0, float(g.max(initial=0.0))),
    )


def compressed_gains(
    cells: CellGains,
    *,
    rel: float,
    tilt: float,
    groups: int,
    threshold: float | None = None,
    emphasis: float = 1.0,
) -> GainLaw:
    """Group neighbouring fine cells and put two atoms m +- sqrt(v) in place of each group.

    Groups are cut so that sum w e^{tilt g} width^3 is about as small as ``groups`` cells allow:
    equal shares of (w e^{tilt g})^{1/4} width^{3/4}; active cells count ``emphasis`` times.
    """
    active = cells.high > (0.0 if threshold is None else threshold)
    bonus = np.where(active, math.log(emphasis), 0.0)
    starts = group_starts(cells, tilt, groups, active, bonus=bonus)
    counts = np.diff(np.append(starts, cells.w.size))
    w = np.add.reduceat(cells.w, starts)
    index = np.repeat(np.arange(starts.size), counts)
    centre = np.add.reduceat(cells.w * cells.mean, starts) / w
    shift = cells.mean - centre[index]
    m = centre + np.add.reduceat(cells.w * shift, starts) / w
    shift = cells.mean - m[index]
    low = np.minimum.reduceat(cells.low, starts)
    high = np.maximum.reduceat(cells.high, starts)
    width = high - low
    err = np.add.reduceat(cells.w * cells.err, starts) / w
    between = np.add.reduceat(cells.w * shift**2, starts) / w
    within = np.add.reduceat(cells.w * cells.variance, starts) / w
    doubt = np.add.reduceat(cells.w * cells.variance_err, starts) / w
    # What errors of the cell means and weights can do to the variance between cells.
    noise = rel + (64 + counts) * UNIT_ROUNDOFF
    moved = np.add.reduceat(cells.w * cells.err * (np.abs(shift) + cells.err), starts) / w
    blur = 6.0 * moved + 4.0 * noise * (between + within + noise * width**2)
    # A group this wide is no pair of atoms: a point at its mean, the whole variance in doubt.
    wide = tilt * width > _WIDEST_PAIR
    v = np.where(wide, 0.0, between + within)
    root = np.sqrt(v)
    half = np.concatenate([0.5 * w, 0.5 * w])
    g = np.concatenate([m - root, m + root])
    doubt *= 1.0 + 1e-9 + 2.0 * noise
    uncertainty = doubt + blur + np.where(wide, between + within, 0.0)
    largest = between + within + doubt + blur
    reach = np.maximum(width, 2.0 * root)
    spread = np.add.reduceat(cells.w * np.abs(shift), starts) / w
    g_err = 1.01 * err + 4.0 * noise * (spread + noise * width) + 4 * UNIT_ROUNDOFF * np.abs(m)
    return GainLaw(
        w=half,
        g=g,
        g_err=np.concatenate([g_err, g_err]),
        rel=rel + float(2 * counts.max() + 8) * UNIT_ROUNDOFF,
        mean=cells.total,
        mean_err=cells.total_err,
        active=np.tile(np.logical_or.reduceat(active, starts), 2),
        lost=cells.lost,
        low=min(0.0, float(low.min()), float(g.min())),
        high=max(0.0, float(high.max()), float(g.max())),
        half_var=np.concatenate([0.25 * w * uncertainty] * 2),
        third=np.concatenate([0.5 * w * largest * reach / 3.0] * 2),
        reach=np.concatenate([reach, reach]),
        top=np.tile(np.maximum(high, m + root), 2),
    )


_NEGLIGIBLE = 60.0
_LARGEST_GROUP = 1000
_WIDEST_PAIR = 2.0


def group_starts(
    cells: CellGains,
    tilt: float,
    groups: int,
    active: npt.NDArray[np.bool_],
    *,
    order: int = 3,
    bonus: Array | float = 0.0,
) -> npt.NDArray[np.intp]:
    """Where groups begin, so that sum w e^{tilt g + bonus} width^order is about least.

    That is equal shares of (w e^{tilt g + bonus})^{1/(order + 1)} width^{order/(order + 1)}.
    """
    if cells.w.size <= groups:
        return np.arange(cells.w.size)
    width = cells.high - cells.low
    exponent = np.log(cells.w) + tilt * cells.mean + bonus
    weight = np.exp((exponent - exponent.max()) / (order + 1)) * width ** (order / (order + 1))
    share = weight * (groups / float(weight.sum()))
    # Within a group e^{tilt g} must not change by much where it is not negligible.
    share += np.where(tilt * cells.high > -_NEGLIGIBLE, np.minimum(2.0 * tilt * width, 1.0), 0.0)
    bins = np.floor(np.cumsum(share) * (1.0 - 1e-12))
    # No group holds both active and other cells.
    fresh = (np.diff(bins, prepend=-1.0) != 0.0) | np.diff(active, prepend=~active[0])
    # The rounding of a sum of masses grows with their number.
    fresh[::_LARGEST_GROUP] = True
    return np.flatnonzero(fresh)
