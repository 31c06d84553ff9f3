"""Upper bounds of J for many types at once, from four moments of their tilted gains.

For a law of gains with variance V and fourth central moment m,

    1 - |phi(t)|^2 = sum_kl p_k p_l (1 - cos(t (x_k - x_l))) >= V t^2 - (m + 3 V^2) t^4/12,

because 1 - cos z >= z^2/2 - z^4/24. So psi <= 1 - (A t^2 - B t^4) up to T = sqrt(A/(2B)), where
the right side is least, and psi <= 1 beyond: no sines (docs/theory-stealing.md, Lemma 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import ELEMENTARY, NEVER
from shuffledp.stealing.stack import Stack

U = UNIT_ROUNDOFF
# Nodes up to where n (1 - psi) is 45: e^-45 is next to nothing beside the sum.
_NODES, _GONE = 24, 45.0
# Gains farther from the centre than so many deviations are left out: large ones let the bound turn
# at a small t.
_RADII = (1e9, 8.0, 4.0, 2.0, 1.2)
# Among so many users moments of the whole are enough.
_MANY = 10_000_000
# A factor of J that is never worth paying.
_DEAR = 100.0
# Of a sum's loss of modulus at its turn: below it floats have lost bits.
_SMALLEST_LOSS = 1e-290
# Of a sum that is next to nothing, its rise: log(1 - 2^-52) is the least that is said.
_NOTHING = 2.0 * U - 1.0
# h T of what is left beyond T: e^{-(hT)^2/2} = 0.04 to 1e-8; the best of them is taken.
_SMOOTHINGS = (2.5, 3.5, 5.0, 6.0)
# Fourth moments enter a small correction: a part in a thousand is more than all of their errors.
_GENEROUS = 1e-3


class _Tilted(NamedTuple):
    """Tilted laws: total mass, its rise and that one's error, and coefficients of their spreads.

    For each radius, shape (R, T): 1 - |phi(t)|^2 >= square t^2 - fourth t^4.
    """

    total: Array
    rise: Array
    rise_err: Array
    square: Array
    fourth: Array


def log_coarse(types: Stack, reservoir: Measure, n: int, alpha: float, *, heavy: bool) -> Array:
    """Upper bounds of log (J + lost) of every type, shape (T,).

    Parameters
    ----------
    types : Stack
        Labelled parts of all types.
    reservoir : Measure
        The part common to all, masses not raised.
    n : int
        Users, the victim included.
    alpha : float
        Tilt, with alpha times every gain at most 600.
    heavy : bool
        Whether masses in doubt are raised in place or put at the largest gain (Lemma 4.1).
    """
    sums = (types.longest + 64) * U
    common, listed = reservoir, types.sums(types.mass)
    whole = math.fsum(reservoir.mass)
    top = np.maximum(np.maximum.reduceat(types.gain, types.starts[:-1]), 0.0)
    top = np.maximum(top, float(reservoir.gain.max(initial=0.0)))
    mass, most = types.mass, 1.0 - whole - listed
    more = math.log1p(reservoir.rel) + 4 * U
    if heavy:
        scale = (1.0 + reservoir.rel) * (1.0 + 4 * U)
        common = Measure(reservoir.mass * scale, reservoir.gain, reservoir.lost, 0.0)
        mass = mass * (1.0 + types.rel) * (1.0 + 4 * U)
        left, rest, more = np.maximum(most, 0.0) + sums, np.zeros(most.size), 0.0
        excess = (reservoir.rel * whole + types.rel * listed) * (1.0 + sums) + 4.0 * sums
        excess = excess + np.maximum(-most, 0.0)
    else:
        doubt = (reservoir.rel * whole + types.rel * listed) * (1.0 + sums) + 2.0 * sums
        left = np.maximum(most - doubt, 0.0)
        rest = np.maximum(most - left, 0.0) + sums
        excess = 4.0 * sums + np.maximum(-most, 0.0)
    radii = _RADII if n < _MANY else _RADII[:1]
    first = _tilted(_single(common), common.mass, (_NONE, _NONE, _NONE), alpha, radii)
    law = _tilted(types, mass, (left, rest, top), alpha, radii)
    total = _log_sums(first, law, excess, n, alpha) + more
    with np.errstate(divide="ignore"):
        total = np.logaddexp(total, np.log(types.lost))
    return total + 16 * U * (1.0 + np.abs(total))


def log_coarse_whole(
    types: Stack,
    reservoir: Measure,
    excess: Array,
    n: int,
    alpha: float,
    radii: Sequence[float] = _RADII,
) -> Array:
    """Upper bounds of log J of types that have their left-over, masses upper bounds, shape (T,).

    Parameters
    ----------
    types : Stack
        Whole laws.
    reservoir : Measure
        The part common to all.
    excess : ndarray, shape (T,)
        Upper bounds of the masses of the reservoir and a type less 1.
    n : int
        Factors.
    alpha : float
        Tilt, with alpha times every gain at most 600.
    radii : sequence of float
        Gains farther from the centre than so many deviations are left out; any are valid, and the
        best of them is taken at each node.
    """
    first = _tilted(_single(reservoir), reservoir.mass, (_NONE, _NONE, _NONE), alpha, radii)
    none = np.zeros(len(types))
    law = _tilted(types, types.mass, (none, none, none), alpha, radii)
    return _log_sums(first, law, excess, n, alpha)


def _log_sums(first: _Tilted, law: _Tilted, excess: Array, n: int, alpha: float) -> Array:
    """Upper bounds of log J of a reservoir beside each type, shape (T,)."""
    rise = first.rise + law.rise
    err = first.rise_err + law.rise_err + 4 * U * (np.abs(rise) + np.abs(excess))
    log_mass = np.log1p(np.maximum(rise + err + excess, _NOTHING))
    log_power = n * (log_mass + 8 * U * np.abs(log_mass))
    log_sum = np.log(_sum(first, law, n, alpha))
    total = log_power + log_sum - math.log(n)
    return total + 16 * U * (np.abs(log_power) + np.abs(log_sum) + math.log(n) + 1.0)


def _single(law: Measure) -> Stack:
    """One measure as a stack."""
    return Stack(law.mass, law.gain, np.array([0, law.mass.size]), np.zeros(1), law.rel)


def _tilted(
    types: Stack,
    mass: Array,
    others: tuple[Array, Array, Array],
    alpha: float,
    radii: Sequence[float],
) -> _Tilted:
    """Tilted parts, with the left-over at gain 0 and what is in doubt at the top.

    ``others``: masses of these two, and the largest gains.
    """
    left, rest, top = others
    sums = (types.longest + 64) * U
    exponent = alpha * types.gain
    # Leaving atoms out makes 1 - |phi|^2 smaller, which is outward.
    kept = exponent > -NEVER
    exponent, gain = np.maximum(exponent, -NEVER), np.where(kept, types.gain, 0.0)
    grown = mass * np.exp(exponent)
    weight = grown * kept
    growth = mass * np.expm1(exponent)
    last = rest * np.exp(alpha * top)
    total = types.sums(weight) + left + last
    rise = types.sums(growth) + rest * np.expm1(alpha * top)
    size = types.sums(np.abs(growth)) + rest * np.expm1(alpha * top)
    moves = types.sums(grown * np.abs(exponent)) + last * alpha * top
    rise_err = (ELEMENTARY + 4 * U + sums) * size + 8 * U * moves
    # Any centre will do: it is not in the differences of gains.
    safe = np.where(total > 0.0, total, 1.0)
    centre = (types.sums(weight * gain) + last * top) / safe
    offset = gain - types.spread(centre)
    share = weight / types.spread(safe)
    second = types.sums(share * offset * offset) + left / safe * centre**2
    # Relative errors of the weights, and of the sums.
    far = max(float(np.abs(exponent).max(initial=0.0)), float(alpha * top.max()))
    rel = 4.0 * (ELEMENTARY + 8 * U + 4 * U * far) + 4.0 * sums
    found = [
        _spread(types, share, offset, (left / safe, -centre), np.sqrt(second) * radius, rel)
        for radius in radii
    ]
    square, fourth = (np.array(part) for part in zip(*found, strict=True))
    return _Tilted(total, rise, rise_err, square, fourth)


def _spread(
    types: Stack, share: Array, offset: Array, left: tuple[Array, Array], radius: Array, rel: float
) -> tuple[Array, Array]:
    """Coefficients of the spread, of gains within a radius of the centre alone.

    sum_kl p_k p_l (x_k - x_l)^2 = 2 (s0 s2 - s1^2),
    sum_kl p_k p_l (x_k - x_l)^4 = 2 s0 s4 - 8 s1 s3 + 6 s2^2,   s_i = sum p x^i .
    """
    near = np.abs(offset) <= types.spread(radius)
    p, x = share * near, np.where(near, offset, 0.0)
    at_zero = np.abs(left[1]) <= radius
    p0, x0 = left[0] * at_zero, np.where(at_zero, left[1], 0.0)
    square = x * x
    s0 = types.sums(p) + p0
    s1 = types.sums(p * x) + p0 * x0
    s2 = types.sums(p * square) + p0 * x0**2
    s3 = types.sums(p * np.abs(x) * square) + p0 * np.abs(x0) ** 3
    s4 = types.sums(p * square * square) + p0 * x0**4
    # Offsets are off by 2 U of the largest gain that is near, and of the centre.
    widest = np.maximum.reduceat(np.abs(x), types.starts[:-1]) + np.abs(left[1])
    first = np.abs(s1) + rel * types.sums(p * np.abs(x)) + rel * p0 * np.abs(x0)
    lower = s0 * s2 * (1.0 - 4.0 * rel) - first * first - 64 * U * widest * np.sqrt(s2)
    lower -= (64 * U * widest) ** 2
    upper = (2.0 * s0 * s4 + 8.0 * first * s3 + 6.0 * s2 * s2) / 24.0
    return np.maximum(lower, 0.0), upper * (1.0 + _GENEROUS) + 1e-40 * widest**4


def _sum(first: _Tilted, law: _Tilted, n: int, alpha: float) -> Array:
    """(D/2 pi) sum_j psi^n w, rounded up, all nodes included, shape (T,)."""
    both = first.total + law.total
    share, other = first.total / both, law.total / both
    # Rows: all combinations are valid; the same radius for both parts.
    a = 0.5 * (share * first.square + other * law.square) * (1.0 - _TINY)
    b = 0.5 * (share * first.fourth + other * law.fourth) * (1.0 + _TINY)
    some = (a > 0.0) & (b > 0.0)
    a, b = np.where(some, a, 0.0), np.where(some, b, 1.0)
    # Up to ``end`` a t^2 - b t^4 rises. Corollary 3.2 is there where moments say nothing.
    end = np.sqrt(0.5 * a / b)
    best = np.full(both.size, 0.51 / alpha)
    for far in range(len(a)):
        useful = end[far] > 0.0
        useful &= alpha * _SMOOTHINGS[0] < end[far]
        if bool(useful.any()):
            found = _up_to(a, b, np.where(end > 0.0, end, 1.0), far, n, alpha)
            best = np.where(useful, np.minimum(best, found), best)
    return best * (1.0 + 256 * U) + 1e-300


def _up_to(a: Array, b: Array, end: Array, far: int, n: int, alpha: float) -> Array:
    """The sum where the spread with the ``far``-th radius covers what no node covers.

    Of all radii the largest is taken at each node; beyond the nodes, up to where the far one
    turns, it is at least what that one is at the last node.
    """
    # Where squares leave the range of floats nothing is said.
    known = 0.25 * a[far] * a[far] / b[far] > _SMALLEST_LOSS
    a_far, b_far = np.where(known, a[far], 1.0), np.where(known, b[far], 1.0)
    last, most = end[far], 0.25 * a_far * a_far / b_far
    enough = np.minimum(_GONE / n, 0.9 * np.minimum(most, 0.5))
    reach = np.sqrt(2.0 * enough / (a_far * (1.0 + np.sqrt(1.0 - enough / most))))
    t = reach[:, None] * (np.arange(_NODES + 1) / _NODES)[None, :]
    lost = np.zeros(t.shape)
    for one, two, turn in zip(a, b, end, strict=True):
        value = (one[:, None] - two[:, None] * t * t) * t * t
        lost = np.maximum(lost, np.where(t <= turn[:, None], value, 0.0))
    terms = np.exp(_power(lost, n)) / (alpha**2 + t * t)
    terms[:, 1:] *= 2.0
    main = terms.sum(axis=1) * reach / (2.0 * math.pi * _NODES)
    main += np.exp(_power((a_far - b_far * reach**2) * reach**2, n)) / (math.pi * reach)
    best = np.full(reach.size, math.inf)
    for wide in _SMOOTHINGS:
        # Beyond that Corollary 3.2 is better.
        paid = np.exp(np.minimum(0.5 * (wide / last * alpha) ** 2, _DEAR))
        best = np.minimum(best, paid * main + _after(wide, paid, last, reach / _NODES))
    return np.where(known, best, math.inf)


def _after(wide: float, paid: Array, last: Array, step: Array) -> Array:
    """(D/2 pi) sum of w over the nodes beyond ``last``, which need not be one, for h last = wide.

    w falls, so its sum there is at most w at ``last`` and its integral from there.
    """
    falls = paid * math.exp(-0.5 * wide * wide) / (math.pi * last)
    return falls * (1.0 / (wide * wide) + step / last)


def _power(lost: Array, n: int) -> Array:
    """n log(1 - lost), rounded up."""
    lost = np.clip(lost * (1.0 - 64 * U), 0.0, 0.75)
    return n * np.log1p(-lost) * (1.0 - 16 * U)


_NONE = np.zeros(1)
# What shares and coefficients may be off by in rounding, far above it.
_TINY = 1e-9
