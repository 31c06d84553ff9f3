"""The transform of n gains on a long row of nodes alpha + i t_j, with a bound on the error at each.

t_j = j D with j = p Q + q (giant and baby steps), so that e^{s g} = e^{x_p} e^{y_q} and the sum
over atoms is a matrix product, of columns q and -q together: e^{y_q} has conjugates there.

    e^{x+y} - 1       = (e^x - 1)(e^y - 1) + (e^x - 1) + (e^y - 1),
    e^{x+y} - 1 - x-y = (e^x - 1)(e^y - 1) + (e^x - 1 - x) + (e^y - 1 - y).

The second, centred form is used near the axis: M(s) - 1 = s E[G] + sum w (e^{sg} - 1 - sg), whose
terms are of second order where |s g| is small, so that n times their rounding error stays small at
n = 1e15.
M(s)^n is never formed by powering: it is exp(n log1p(M(s) - 1)).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.contour import Nodes
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.returns import LEAST_COLUMNS, LEVEL, MOST_ATOMS, Returns
from shuffledp.divergence.tilt import Tilt, weighted_exponential
from shuffledp.numerics.elementary import (
    SERIES,
    Complex,
    complex_expm1,
    complex_expm1_minus,
    complex_log1p,
)
from shuffledp.numerics.rounding import capped, grown
from shuffledp.pair import UNIT_ROUNDOFF, Array, Indices

U = UNIT_ROUNDOFF
Real = npt.NDArray[np.floating[Any]]
_LARGEST_SHIFT = 690.0
_LARGEST_STEP = 100.0
# Values beyond e^200 units are no values: by Chernoff's bound the true ones are O(1) units. Below
# e^-700 a front may have lost its digits, or itself, to underflow.
_LARGEST_SCALED, _SMALLEST_SCALED = 200.0, -700.0
_LARGEST_PHASE = 1e6
_CHUNK = 1 << 15
_LOST_FRONT = 2.0 * math.exp(_SMALLEST_SCALED)
_FLOOR = 1e-3
# Short rows cost more a node: they are worth it where less than a half is kept.
_ENOUGH = 2
# Elementary functions are taken to be within 4 ulp (8 u); tests hold them to it.
_FUNCTION = 32.0
# Four real sums of K products make a complex one: sqrt(2) K roundings (theory.md, Theorem 6.13).
_SUMS = 1.5

# What overflows is an error that says nothing, or a value that ``capped`` leaves behind.
_quiet = np.errstate(over="ignore", invalid="ignore")


class _Columns(NamedTuple):
    """Offsets y of the nodes of a row; ``mirrored``: 0, y_1 .. y_h, -y_1 .. -y_h."""

    y: Real
    mirrored: bool = False

    @property
    def half(self) -> Real:
        """Those of which the others' exponentials are conjugates: all where none are."""
        return self.y[: self.y.size // 2 + 1] if self.mirrored else self.y


class _Grid(NamedTuple):
    """Nodes t = (p width + q) D: the rows p that are looked at, and the columns q of each.

    ``mirrored``: q is 0, 1 .. h, -1 .. -h, of width 2 h + 1; else 0 .. width - 1.
    ``gone``: how many nodes are in rows that are left out.
    """

    rows: Indices
    places: Indices
    mirrored: bool
    gone: int

    @property
    def width(self) -> int:
        """Nodes of a row."""
        return self.places.size


class _BabySteps:
    """f(i y_q g_j) of a row's columns q and the atoms j, where f(conj z) = conj f(z).

    Only those of the columns q >= 0 are kept: at -y_q stand their conjugates.
    """

    def __init__(self, half: Complex, *, mirrored: bool) -> None:
        self._real, self._imag = np.ascontiguousarray(half.real), np.ascontiguousarray(half.imag)
        self._mirrored = mirrored

    def summed(self, weights: Array) -> Complex:
        """Sums over the atoms, one for each column."""
        real, imag = self._real @ weights, self._imag @ weights
        return self._both(real, imag, real, -imag, axis=0)

    def times(self, giant: Complex) -> Complex:
        """Sums over the atoms of products with the rows of ``giant``: shape (rows, columns)."""
        parts = np.concatenate([giant.real, giant.imag])
        (rr, ir), (ri, ii) = (np.split(parts @ b.T, 2) for b in (self._real, self._imag))
        return self._both(rr - ii, ir + ri, rr + ii, ir - ri, axis=1)

    def _both(self, real: Array, imag: Array, other: Array, beside: Array, *, axis: int) -> Complex:
        half = real + 1j * imag
        if not self._mirrored:
            return half
        back = np.take(other + 1j * beside, np.arange(1, real.shape[axis]), axis=axis)
        return np.concatenate([half, back], axis=axis)

    def of_columns(self, sizes: Array) -> Array:
        """What is even in y, of all columns, from that of the half."""
        return np.concatenate([sizes, sizes[1:]]) if self._mirrored else sizes


class _Powers(NamedTuple):
    """M(s)^n (or M(s)^n - w0^n) in units of the scale: value, size of the error, error."""

    value: Complex
    err: Array


def node_blocks(law: GainLaw, n: int, tilt: Tilt, *, step: float, count: int) -> Iterator[Nodes]:
    """Yield the transform on t_j = j * step, j = 0 .. count, in blocks of bounded memory.

    Of a law of few true atoms, rows on which it is certified to be negligible are left out.
    """
    grid = _grid(law, n, tilt, step, count)
    width, columns = grid.width, _Columns(grid.places * step, grid.mirrored)
    evaluate = (_RarePowers if tilt.rare else _BulkPowers)(law, n, tilt, columns)
    kept = grid.rows
    series, switch = evaluate.centred_rows(width * step, int(kept[-1]) + 1)
    marks = np.searchsorted(kept, [series, switch])
    edges = sorted({*range(0, kept.size, max(1, _CHUNK // width)), *map(int, marks), kept.size})
    # Everywhere |transform| is at most its value at t = 0; so is the error, whatever else fails.
    mass = _axis_mass(
        evaluate(np.zeros(1), centred=switch > 0), tilt.log_growth(law, n, tilt.alpha)
    )
    left_out = grid.gone * math.exp(-LEVEL) * mass * (1.0 + 1e-9) if grid.gone else 0.0
    for start, stop in itertools.pairwise(edges):
        row = kept[start:stop]
        x = row * (width * step)
        powers = evaluate(x, centred=int(row[-1]) < switch)
        value, err = capped(powers.value, powers.err, mass)
        place = row[:, None] * width + grid.places[None, :]
        # Nodes below 0 or past the last one asked for are left out, not added.
        inside = (place >= 0) & (place <= count)
        yield Nodes(start == 0, place * step, inside, value, err, left_out if start == 0 else 0.0)


def _grid(law: GainLaw, n: int, tilt: Tilt, step: float, count: int) -> _Grid:
    """How many nodes a row has, and which rows are looked at."""
    half = max(LEAST_COLUMNS, math.isqrt(count) + 1) // 2
    width = 2 * half + 1
    columns = np.concatenate([np.arange(half + 1), np.arange(-1, -half - 1, -1)])
    every = _Grid(np.arange((count + half) // width + 1), columns, mirrored=True, gone=0)
    if tilt.rare or law.reach is not None or law.g.size > MOST_ATOMS:
        return every
    returns = Returns(law, n, tilt)
    if not returns.usable:
        return every
    # Half of where it is not negligible: longer rows hold much that is, shorter ones cost more.
    short = max(LEAST_COLUMNS, int(min(0.5 * returns.width() / step, width)))
    some = returns.rows(step, short, count // short + 1)
    if _ENOUGH * some.kept.size * short > every.rows.size * width:
        return every
    return _Grid(some.kept, np.arange(short), mirrored=False, gone=some.gone)


def _axis_mass(axis: _Powers, log_growth: float) -> float:
    """Upper bound of the transform on the axis: what was computed there, or the bound of growth."""
    found = float(axis.value[0, 0].real) + float(axis.err[0, 0])
    bound = math.exp(log_growth) * (1.0 + 1e-9) if log_growth < _LARGEST_SHIFT else math.inf
    # In this order: what is not a number is not less than the bound.
    return min(bound, found)


class _BulkPowers:
    """exp(n (log M(s) - log_m)) from M(s) - 1."""

    def __init__(self, law: GainLaw, n: int, tilt: Tilt, columns: _Columns) -> None:
        self.law, self.n, self.tilt = law, n, tilt
        self.columns, self.y = columns, columns.y
        self.phase = 1j * np.outer(columns.half, law.g)
        half = complex_expm1(self.phase)
        self.baby = _BabySteps(half, mirrored=columns.mirrored)
        size = np.abs(half)
        self.baby_size = self.baby.of_columns(size @ law.w)
        self.baby_square = self.baby.of_columns(np.sqrt(size**2 @ law.w))
        self.baby_sum = self.baby.summed(law.w)
        self.constants = _error_constants(law, tilt.alpha)
        self.function = (_SUMS * law.g.size + 4.0 * _FUNCTION) * U + 2.0 * law.rel

    def centred_rows(self, stride: float, rows: int) -> tuple[int, int]:
        """How many of the first rows need the series alone, and how many the centred form.

        The centred form's error falls like |s|^2 where the plain form's falls like |s|.
        """
        c, alpha = self.constants, self.tilt.alpha
        largest = float(np.abs(self.law.g).max())
        if not c.centred > 0.0:
            # It underflowed, and says nothing.
            return 0, 0
        reach = min((c.first - c.mean) / c.centred, _LARGEST_PHASE / largest)
        whole = _rows_within(reach, alpha, stride, rows)
        if whole:
            self.prepare_rest()
        return _rows_within(min(reach, SERIES / largest), alpha, stride, rows), whole

    def prepare_rest(self) -> None:
        """What the centred form needs of the columns."""
        rest = complex_expm1_minus(self.phase)
        self.rest = _BabySteps(rest, mirrored=self.columns.mirrored).summed(self.law.w)
        self.rest_size = self.baby.of_columns(np.abs(rest) @ self.law.w)

    def __call__(self, x: Real, *, centred: bool) -> _Powers:
        law, n = self.law, self.n
        z = (self.tilt.alpha + 1j * x)[:, None] * law.g[None, :]
        giant = complex_expm1(z)
        weighted = giant * law.w
        s = np.hypot(self.tilt.alpha, x[:, None] + self.y[None, :])
        excess = self.baby.times(weighted) - law.lost
        row = np.abs(weighted).sum(axis=1)
        # Cauchy and Schwarz; where a square would overflow |e^{iy} - 1| <= 2 must do.
        grown = np.abs(giant) * np.sqrt(law.w)
        square = np.sqrt((np.minimum(grown, 1e150) ** 2).sum(axis=1))
        size = np.minimum(np.outer(square, self.baby_square), 2.0 * row[:, None])
        size[grown.max(axis=1) > 1e150] = 2.0 * row[grown.max(axis=1) > 1e150, None]
        size += law.lost
        c = self.constants
        if centred:
            rest = complex_expm1_minus(z) * law.w
            excess += rest.sum(axis=1)[:, None]
            excess += self.rest[None, :]
            mean = (self.tilt.alpha + 1j * (x[:, None] + self.y[None, :])) * law.mean
            excess += mean
            size = size + np.abs(rest).sum(axis=1)[:, None] + self.rest_size[None, :]
            # Where y < 0 the giant step is farther out than the node.
            reach = np.hypot(self.tilt.alpha, x[:, None] + np.abs(self.y)[None, :])
            drift = c.mean * s + c.centred * s**2 + 4 * U * np.abs(mean) + self._subtraction(reach)
        else:
            excess += weighted.sum(axis=1)[:, None] + self.baby_sum[None, :]
            size = size + row[:, None] + self.baby_size[None, :]
            drift = c.first * s
        error = self.function * size + drift + c.cells(s)
        return self._power(excess, error, n)

    def _subtraction(self, reach: Array) -> Array:
        """e^z - 1 - z by subtraction, for atoms too far out for the series: 96 u |z| each."""
        size = np.abs(self.law.g)
        far = size * float(reach.max()) > 0.9 * SERIES
        return 96.0 * U * float((self.law.w * size)[far].sum()) * reach

    @_quiet
    def _power(self, excess: Complex, error: Array, n: int) -> _Powers:
        real, imag, modulus = complex_log1p(excess)
        tilt = self.tilt
        scaled = n * (real - tilt.log_m)
        angle = n * imag
        # Far above 0 only where 1 + excess is lost in its error, which then is beyond any value.
        value = np.exp(np.clip(scaled, -745.0, _LARGEST_SCALED)) * np.exp(1j * angle)
        forming = error + 24.0 * U * np.abs(excess) * (1.0 + np.abs(excess))
        floor = _FLOOR * math.exp(tilt.log_m)
        base = np.maximum(modulus, floor)
        log_size = np.where(modulus > floor, scaled, n * (np.log(base) - tilt.log_m))
        relative = n * forming / base * (1.0 + 1e-9)
        rounding = U * (64.0 + 16.0 * n * (np.abs(real) + abs(tilt.log_m) + np.abs(imag)))
        err = grown(log_size, relative + rounding)
        return _Powers(value, np.where(scaled <= _LARGEST_SCALED, err, np.inf))


def _rows_within(reach: float, alpha: float, stride: float, rows: int) -> int:
    """How many of the first rows have |s| < reach at every node."""
    if not reach > alpha:
        return 0
    return int(min(math.sqrt(reach * reach - alpha * alpha) * (1.0 - 1e-9) / stride, rows))


class _RarePowers:
    """(M(s)^n - M_-(s)^n) in units of the scale, as M_-^n expm1(n log1p(V / M_-)).

    V(s) = sum over atoms that may be positive of w e^{sg}; M_- = M - V. Where M_- nearly vanishes
    the two powers are subtracted as they are.
    """

    def __init__(self, law: GainLaw, n: int, tilt: Tilt, columns: _Columns) -> None:
        self.n, self.tilt, self.y = n, tilt, columns.y
        up, down = law.active, ~law.active
        self.up_w, self.up_g = law.w[up], law.g[up]
        self.down_w, self.down_g = law.w[down], law.g[down]
        half = columns.half
        self.up_baby = _BabySteps(np.exp(1j * np.outer(half, self.up_g)), mirrored=columns.mirrored)
        down_half = complex_expm1(1j * np.outer(half, self.down_g))
        self.down_baby = _BabySteps(down_half, mirrored=columns.mirrored)
        self.down_size = self.down_baby.of_columns(np.abs(down_half) @ self.down_w)
        self.down_sum = self.down_baby.summed(self.down_w)
        self.up_mass = math.fsum(self.up_w) + law.lost
        self.rise = float((self.up_w * np.exp(tilt.alpha * self.up_g)).sum())
        self.function = (_SUMS * law.g.size + 4.0 * _FUNCTION) * U + 2.0 * law.rel
        excess = float((self.down_w * np.expm1(tilt.alpha * self.down_g)).sum()) - self.up_mass
        front = n * math.log1p(max(excess, -1.0 + 1e-15)) - tilt.log_scale
        self.shift = min(max(front, 0.0), _LARGEST_SHIFT)
        self.up_drift = _error_constants(law, tilt.alpha, up)
        self.down_drift = _error_constants(law, tilt.alpha, down)

    def centred_rows(self, stride: float, rows: int) -> tuple[int, int]:
        """The rare form is never centred."""
        del stride, rows
        return 0, 0

    def __call__(self, x: Real, *, centred: bool) -> _Powers:
        del centred
        alpha = self.tilt.alpha
        s = np.hypot(alpha, x[:, None] + self.y[None, :])
        contour = (alpha + 1j * x)[:, None]
        giant_up = np.asarray(np.exp(contour * self.up_g) * self.up_w, dtype=np.complex128)
        v = self.up_baby.times(giant_up)
        v_err = self.function * self.rise + self.up_drift.at(s)
        giant = complex_expm1(contour * self.down_g) * self.down_w
        row = np.abs(giant).sum(axis=1)[:, None]
        rest = self.down_baby.times(giant) + giant.sum(axis=1)[:, None]
        rest += self.down_sum[None, :] - self.up_mass
        size = 3.0 * row + self.down_size[None, :] + self.up_mass
        rest_err = self.function * size + self.down_drift.at(s)
        return self._power(v, v_err, rest, rest_err)

    @_quiet
    def _power(self, v: Complex, v_err: Array, rest: Complex, rest_err: Array) -> _Powers:
        n, scale = self.n, self.tilt.log_scale
        real, imag, modulus = complex_log1p(rest)
        rest_err = rest_err + 24.0 * U * np.abs(rest) * (1.0 + np.abs(rest))
        good = modulus > np.maximum(_FLOOR, 2.0 * rest_err)
        safe = np.where(good, 1.0 + rest, 1.0)
        ratio = np.where(good, v, 0.0) / safe
        up_real, up_imag, up_modulus = complex_log1p(np.asarray(ratio, dtype=np.complex128))
        # M_-^n is e^shift units large and its factor e^-shift small: shared out, neither overflows.
        # Where the factor is large the front alone has room for what there is.
        shift = np.where(n * up_real > 1.0, 0.0, self.shift)
        lift = np.exp(shift)
        # Where the ratio's power is beyond e^100 the front takes the rest: e^-100 is less than u.
        beyond = np.maximum(n * up_real - _LARGEST_STEP, 0.0)
        log_front = n * real - scale - shift + beyond
        step = complex_expm1(np.maximum(n * up_real - beyond, -745.0) + 1j * n * up_imag) * lift
        front = np.exp(np.clip(log_front, -745.0, _LARGEST_SCALED))
        value = front * np.exp(1j * n * imag) * step
        rounding = U * (192.0 + 8.0 * abs(scale) + 16.0 * n * (np.abs(real) + np.abs(imag)))
        front_err = n * rest_err / np.maximum(modulus, _FLOOR) + rounding
        ratio_err = (v_err + np.abs(ratio) * rest_err) / np.abs(safe)
        ratio_err = ratio_err * (1.0 + 2.0 * np.minimum(rest_err / np.abs(safe), 0.5) + 1e-9)
        ratio_err = ratio_err + 24.0 * U * np.abs(ratio) * (1.0 + np.abs(ratio))
        base = np.maximum(up_modulus, _FLOOR)
        bend = n * ratio_err / base * (1.0 + 1e-9)
        # expm1 has a relative error, which the error of the front covers (theory.md, 6.11).
        bend = bend + 32.0 * U * n * (np.abs(up_real) + np.abs(up_imag))
        log_wide = np.maximum(n * np.log(base), 0.0)
        err = grown(log_front - beyond + front_err + log_wide, bend) * lift
        err = err + (grown(log_front, front_err) + _LOST_FRONT) * np.abs(step) * (1.0 + 1e-9)
        err = np.where(log_front <= _LARGEST_SCALED, err, np.inf)
        # Where M_- is next to nothing both powers are bounded by themselves.
        whole = np.maximum(np.abs(1.0 + rest + v), _FLOOR)
        both = (v_err + rest_err + 64.0 * U) / whole
        crude = grown(n * np.log(whole) - scale + 1.0, n * both + 1.0)
        least = np.maximum(modulus, _FLOOR)
        crude += grown(n * np.log(least) - scale + 1.0, n * rest_err / least + 1.0)
        return _Powers(np.where(good, value, 0.0), np.where(good, err, crude))


class _Constants(NamedTuple):
    """|M_true(s) - M(s)| <= first |s| + second |s|^2 + third |s|^3 (centred: mean, centred).

    ``square`` |s|^2 and ``whole`` bound the cells' part too, and take over where |s| is large;
    ``flat`` is the part of groups so wide that only their mass counts.
    """

    first: float
    mean: float
    centred: float
    second: float
    third: float
    square: float
    whole: float
    flat: float

    def at(self, s: Array) -> Array:
        """The uncentred bound on |s| = s."""
        return self.first * s + self.cells(s)

    def cells(self, s: Array) -> Array:
        """What two atoms in place of each cell can change."""
        if self.whole == 0.0 and self.flat == 0.0:
            return np.zeros_like(s)
        near = self.second * s**2 + np.minimum(self.third * s**3, self.square * s**2)
        return np.minimum(near, self.whole) + self.flat


def _error_constants(
    law: GainLaw, alpha: float, chosen: npt.NDArray[np.bool_] | slice = slice(None)
) -> _Constants:
    """What the errors of the input and of the products s*g can do to M(s) at Re s = alpha.

    A product of two steps is off by 8 u |s g| (docs/theory.md, Theorem 6.13, (a)): 12 u here.
    """
    w, g, g_err = law.w[chosen], law.g[chosen], law.g_err[chosen]
    top = alpha * (g + g_err)
    if float(top.max(initial=0.0)) > _LARGEST_SHIFT:
        wide = math.inf
        return _Constants(wide, wide, wide, 0.0, 0.0, 0.0, 0.0, wide)
    rise = np.exp(top)
    shift = (g_err + 12 * U * np.abs(g)) * w
    grown = 1.0 + 1e-9
    second = third = square = whole = flat = 0.0
    if (
        law.half_var is not None
        and law.third is not None
        and law.reach is not None
        and law.top is not None
    ):
        far = alpha * law.top[chosen]
        reach = law.reach[chosen]
        order = alpha**2 * law.half_var[chosen] + alpha**3 * law.third[chosen]
        near = order <= w
        third = weighted_exponential(law.third[chosen][near], far[near]) * grown
        second = weighted_exponential(law.half_var[chosen][near], (alpha * g)[near]) * grown
        # third = w v reach/3: |E e^{s(G-m)} - 1| <= |s|^2 v/2 e^{alpha reach} for both laws.
        square = 3.0 * law.third[chosen][near] / np.maximum(reach[near], 1e-300)
        square = weighted_exponential(square, far[near]) * grown
        whole = 2.0 * weighted_exponential(w[near], far[near]) * grown
        flat = 2.0 * weighted_exponential(w[~near], far[~near]) * grown
    return _Constants(
        first=float((rise * shift).sum()) * grown,
        mean=law.mean_err + 8 * U * abs(law.mean),
        centred=float((np.maximum(rise, 1.0) * shift * (np.abs(g) + g_err)).sum()) * grown,
        second=second,
        third=third,
        square=square,
        whole=whole,
        flat=flat,
    )
