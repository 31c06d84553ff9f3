"""One positive sum: a certified upper bound of E[S]_+/n for label stealing.

With c and d the transforms of two measures of gains, reservoir and labelled (left-over included),

    J = 1/(2 pi n) int [(|c| + |d|)^n - |d|^n] w dt at s = alpha + i t,
    w(t) = e^{h^2 (alpha^2 - t^2)/2}/(alpha^2 + t^2),

and, with c0 = c(alpha), d0 = d(alpha) and phi the tilted characteristic functions,

    psi = [c0 (1 + |phi_c|^2) + d0 (1 + |phi_d|^2)]/(2 (c0 + d0)),
    J <= ((c0 + d0)^n/n) (D/2 pi) sum_j psi(j D)^n w(j D) for every step D > 0.

All terms are positive; psi^n w is positive definite, so that Poisson summation makes the sum an
upper bound at any step (docs/theory-stealing.md, Theorem 3.1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.rounding import halved_sum

U = UNIT_ROUNDOFF
# sin and exp of the machine: at most this many units in the last place (docs/theory.md, R1).
ELEMENTARY = 4 * U
# Exponents beyond it would overflow; a proposal cuts gains before.
LARGEST_EXPONENT = 600.0
# Steps this much wider raise a sum of the usual shape by a few per cent.
_WIDER = 1.6
# h alpha of rough sums, which cost e^{(h alpha)^2/2}: 13 % and 1 % of J, and much less time.
_ROUGH = (0.5, 0.15)
# Nodes reach 3.2/h, where e^{-h^2 t^2/2} leaves a share of 1e-4 or less.
_REACH = 3.2
# Nodes, each of some kilobytes on the way: more are not looked at.
MOST_NODES = 20_000
# Angles evaluated together, so that memory stays bounded: 2^20 sines, 8 MB.
_BLOCK = 1 << 20
# Terms below e^-700 of the largest count as that: they are added, so this is outward.
NEVER = 700.0
# Floats below it may have lost bits.
_SMALLEST = 1e-280
# What sums of up to 2^32 positive terms in any order are off by, and far more for fewer.
_GENEROUS = 1.0 + 1e-6


class Contour(NamedTuple):
    """Where the sum is taken: Re s = alpha, smoothing h, step and number of nodes beside 0."""

    alpha: float
    smoothing: float
    step: float
    nodes: int

    def smoothed(self, smoothing: float) -> Contour:
        """With h alpha as large as that, and as many nodes as it asks for."""
        h = smoothing / self.alpha
        return Contour(self.alpha, h, self.step, nodes_of(h, self.step))

    def rougher(self) -> tuple[Contour, ...]:
        """Fewer and wider steps with more smoothing, roughest first; those that save time."""
        found = []
        for smoothing in _ROUGH:
            h, step = smoothing / self.alpha, _WIDER * self.step
            nodes = nodes_of(h, step)
            if nodes < self.nodes:
                found.append(Contour(self.alpha, h, step, nodes))
        return tuple(found)


def nodes_of(smoothing: float, step: float) -> int:
    """As many as it takes up to 3.2/h, or as there may be: what is beyond them is paid for."""
    return math.ceil(min(_REACH / (smoothing * step), MOST_NODES))


def within_range(at: Contour, top: float) -> Contour:
    """The contour with alpha so small that alpha times the largest gain is at most 600.

    Any alpha is valid: one proposed for some laws may be too large for the gains of others, and
    what overflows would be no bound.

    Parameters
    ----------
    at : Contour
        As proposed.
    top : float
        The largest gain of all measures that are tilted.
    """
    if at.alpha * top <= LARGEST_EXPONENT:
        return at
    return at._replace(alpha=LARGEST_EXPONENT / top * (1.0 - 4 * U))


def or_infinite(value: float) -> float:
    """What is not a number bounds nothing: as an upper bound it is infinite."""
    return math.inf if math.isnan(value) else value


class Tilted(NamedTuple):
    """A measure times e^{alpha gain}.

    ``mass`` is its total; ``rise`` = mass - (mass before), without cancellation, and a bound
    ``rise_err`` on its error. ``weights`` sum to about one and have relative errors up to ``rel``;
    ``offsets`` are the gains less their tilted mean.
    """

    mass: float
    rise: float
    rise_err: float
    weights: Array
    offsets: Array
    rel: float


def tilt(measure: Measure, alpha: float) -> Tilted:
    """The measure times e^{alpha gain}, in floats with bounds on their errors.

    Parameters
    ----------
    measure : Measure
        Gains with alpha * gain <= 600.
    alpha : float
        Tilt > 0.

    Raises
    ------
    NotCertified
        If a gain is too large for this alpha.
    """
    exponent = alpha * measure.gain
    if not float(exponent.max(initial=0.0)) <= LARGEST_EXPONENT:
        msg = f"alpha = {alpha!r}: wanted alpha times every gain at most {LARGEST_EXPONENT:g}"
        raise NotCertified(msg)
    weight = measure.mass * np.exp(np.maximum(exponent, -NEVER))
    growth = measure.mass * np.expm1(exponent)
    # Sums of positive terms in any order are off by (K - 1) U of themselves: a part in a million is
    # more than that, and of errors no matter.
    moves = float(weight @ np.abs(np.maximum(exponent, -NEVER))) * _GENEROUS
    rise, sum_err = halved_sum(growth)
    # The exponent's own rounding, a relative 2 U, and the elementary function's and a product's.
    rise_err = (ELEMENTARY + 4 * U) * float(np.abs(growth).sum()) * _GENEROUS + 4 * U * moves
    rise_err += sum_err
    # Leaving atoms out makes 1 - |phi|^2 smaller, which is outward.
    kept = (exponent > -NEVER) & (weight > 0.0)
    gain, weight = measure.gain[kept], weight[kept]
    total = float(weight.sum())
    if total <= 0.0:
        return Tilted(0.0, rise, rise_err, np.ones(1), np.zeros(1), 0.0)
    weights = weight / total
    far = float(np.abs(exponent[kept]).max())
    rel = 2.0 * ((ELEMENTARY + 4 * U) + 2 * U * far + weight.size * U)
    return Tilted(total, rise, rise_err, weights, gain - float(weights @ gain), rel)


def log_chernoff(reservoir: Tilted, labelled: Tilted, excess: float, n: int, at: Contour) -> float:
    """A coarse upper bound of log J: psi <= 1, so J <= (c0 + d0)^n e^{(h alpha)^2/2}/(2 alpha n).

    The parameters are those of ``PositiveSums.log``, and the reservoir and n it is made of.
    """
    log_power = _log_power(reservoir, labelled, excess, n)
    rest = 0.5 * (at.smoothing * at.alpha) ** 2 - math.log(2.0 * at.alpha) - math.log(n)
    return log_power + rest + 16 * U * (1.0 + abs(log_power) + math.log(n) + abs(rest))


class PositiveSums:
    """J of one reservoir beside many labelled parts: its share of each node is computed once.

    Parameters
    ----------
    reservoir : Tilted
        At the contours' alpha.
    n : int
        Users, the victim included.
    """

    def __init__(self, reservoir: Tilted, n: int) -> None:
        self._reservoir, self._n = reservoir, n
        self._spreads: dict[tuple[float, int], Array] = {}

    def log(self, labelled: Tilted, excess: float, at: Contour) -> float:
        """Upper bound of log J.

        Parameters
        ----------
        labelled : Tilted
            At the same alpha; the left-over is an atom of it with gain 0.
        excess : float
            Upper bound of (mass of both before tilting) - 1.
        at : Contour
            Where the sum is taken; any choice is valid.
        """
        n = self._n
        log_power = _log_power(self._reservoir, labelled, excess, n)
        log_sum = math.log(self._sum(labelled, at))
        total = log_power + log_sum - math.log(n)
        return total + 8 * U * (abs(log_power) + abs(log_sum) + math.log(n) + 1.0)

    def _sum(self, labelled: Tilted, at: Contour) -> float:
        """(D/2 pi) sum_j psi^n w, rounded up, nodes left out included."""
        step, nodes = at.step, at.nodes
        reservoir = self._reservoir
        total = reservoir.mass + labelled.mass
        share, other = reservoir.mass / total, labelled.mass / total
        # c0 and d0 have relative errors up to rel: so has each part of 1 - psi.
        rel = 4.0 * (reservoir.rel + labelled.rel) + 16 * U
        if (step, nodes) not in self._spreads:
            self._spreads[step, nodes] = spreads(reservoir, step, nodes)
        lost = share * self._spreads[step, nodes] + other * spreads(labelled, step, nodes)
        return float(summed(0.5 * lost * (1.0 - rel), self._n, at))


def summed(lost: Array, n: int, at: Contour) -> Array:
    """(D/2 pi) sum_j psi^n w, rounded up, nodes left out included.

    Parameters
    ----------
    lost : ndarray, shape (..., nodes + 1)
        Lower bounds of 1 - psi at 0, step, .. nodes step.
    n : int
        Users, the victim included.
    at : Contour
        Where these are.
    """
    alpha, smoothing, step, nodes = at
    t = step * np.arange(nodes + 1)
    lost = np.clip(lost, 0.0, 0.75)
    exponent = n * np.log1p(-lost) + 0.5 * smoothing**2 * (alpha - t) * (alpha + t)
    exponent += 16 * U * (np.abs(exponent) + smoothing**2 * (alpha**2 + t**2))
    terms = np.exp(np.maximum(exponent, -NEVER)) / (alpha**2 + t**2)
    terms[..., 1:] *= 2.0
    total = terms.sum(axis=-1) * (1.0 + t.size * U) * step / (2.0 * math.pi)
    far = nodes * step
    # The sum over |t| > far of a falling w is at most its integral over |t| >= far.
    rest = math.exp(0.5 * smoothing**2 * (alpha - far) * (alpha + far))
    rest /= math.pi * smoothing**2 * far**3
    return (total + rest) * (1.0 + 64 * U) + 1e-300


def _log_power(reservoir: Tilted, labelled: Tilted, excess: float, n: int) -> float:
    """n log(c0 + d0), rounded up; c0 + d0 = 1 + rise."""
    rise = reservoir.rise + labelled.rise
    err = reservoir.rise_err + labelled.rise_err + 2 * U * (abs(rise) + abs(excess))
    log_mass = math.log1p(rise + err + excess)
    return n * (log_mass + 4 * U * abs(log_mass)) + 4 * U * n * abs(log_mass)


def spreads(law: Tilted, step: float, nodes: int) -> Array:
    """Lower bounds of 1 - |phi(t)|^2 at t = 0, step, .. nodes step, for given weights and offsets.

    Parameters
    ----------
    law : Tilted
        Weights and offsets.
    step : float
        Between nodes.
    nodes : int
        Beside 0.
    """
    return spreads_of_many(law.weights[None], law.offsets[None], step, nodes)[0]


def spreads_of_many(weights: Array, offsets: Array, step: float, nodes: int) -> Array:
    """The same of many laws, weights and offsets of shape (T, K); shape (T, nodes + 1).

    1 - |phi|^2 = 2 A - A^2 - B^2 with A = sum p (1 - cos), B = sum p sin. With t = x + y in giant
    and baby steps both are matrix products, of terms without cancellation near t = 0:

        1 - cos(x + y) = (1 - cos x) + cos x (1 - cos y) + sin x sin y,
        sin(x + y) = sin x cos y + cos x sin y.
    """
    columns = math.isqrt(nodes) + 1
    rows = nodes // columns + 1
    many = max(1, _BLOCK // (weights.shape[1] * columns))
    found = [
        _spreads(weights[k : k + many], offsets[k : k + many], step, (rows, columns))
        for k in range(0, len(weights), many)
    ]
    return np.concatenate(found)[:, : nodes + 1]


def _spreads(weights: Array, offsets: Array, step: float, shape: tuple[int, int]) -> Array:
    """As many as fit in memory, shape (T, rows columns)."""
    rows, columns = shape
    chunk = max(1, _BLOCK // weights.size)
    y = step * np.arange(columns)
    baby = _waves(offsets, y)
    turned = _Waves(*(np.swapaxes(part, 1, 2) for part in baby))
    # All of shape (T, 1, 1).
    first = np.sum(np.abs(offsets) * weights, axis=1)[:, None, None]
    # Relative to the widest, so that no square underflows.
    widest = np.abs(offsets).max(axis=1, initial=1e-300)[:, None, None]
    second = np.sum((offsets / widest[:, 0]) ** 2 * weights, axis=1)[:, None, None]
    # Weights that do not quite sum to one: (sum p)^2 - |sum p e^{i t g}|^2 is meant.
    atoms = weights.shape[1]
    off = (np.abs(weights.sum(axis=1) - 1.0) + (atoms + 2.0) * U)[:, None, None]
    sums = (atoms + 32.0) * U
    near = np.swapaxes(baby.fall @ weights[:, :, None], 1, 2)
    found = []
    for start in range(0, rows, chunk):
        x = step * (columns * np.arange(start, min(start + chunk, rows)))
        giant = _waves(offsets, x)
        sine, cosine = giant.sine * weights[:, None], giant.cosine * weights[:, None]
        far = giant.fall @ weights[:, :, None]
        a = far + (cosine @ turned.fall + sine @ turned.sine)
        b = sine @ turned.cosine + cosine @ turned.sine
        t = x[:, None] + y[None, :]
        # A cosine that is off by 8 U moves a and b by that of |near| and of ``first`` t, far below
        # ``sums``. |sin x sin y| <= (1 - cos x) + (1 - cos y): the terms of A are no larger in all.
        size = 2.0 * (far + near) * (1.0 + 1e-9)
        # An angle is off by a relative 4 U: its sine by that times the angle, 1 - cos by that times
        # the angle or its square.
        a_err = sums * size + 8 * U * np.minimum(first * t, second * (widest * t) ** 2)
        b_err = (sums + 8 * U) * first * t
        err = 2.0 * (1.0 + np.abs(a)) * a_err + (2.0 * np.abs(b) + b_err) * b_err
        err += 8 * U * (2.0 * np.abs(a) + a * a + b * b)
        least = 2.0 * a - a * a - b * b - err - 4.0 * off * np.abs(a)
        # What is left of so little may be of lost bits.
        found.append(np.where(np.abs(least) > _SMALLEST, least, np.minimum(least, 0.0)))
    return np.concatenate(found, axis=1).reshape(len(weights), -1)


class _Waves(NamedTuple):
    """1 - cos, cos and sin of all angles, shape (T, nodes, K), each to a few units (cos: of 1)."""

    fall: Array
    cosine: Array
    sine: Array


def _waves(offsets: Array, t: Array) -> _Waves:
    half = 0.5 * (t[:, None] * offsets[:, None, :])
    sine, cosine = np.sin(half), np.cos(half)
    fall = 2.0 * sine * sine
    return _Waves(fall, 1.0 - fall, 2.0 * sine * cosine)
