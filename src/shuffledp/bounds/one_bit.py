"""One-bit reports: the divergence of one data set, and of the worst one, in balls.

S is the number of ones of the others (m of whom send a 1 with probability p, N - m with q < p),
plus integer noise where an aggregator adds it; a = e^eps, b = a - 1, alpha = p - a q > 0 and
tau = 1 + b/alpha. The divergence is that of the threshold test (docs/theory-binary.md):

    D(m) = max_j F_j,    F_j = alpha P(S = j) - b P(S > j).

One data set (Theorem 2.1): h_k = F_(k-1) - F_k changes its sign once, from - to +. F_j is a sum
over M points of a circle of radius rho > 1, with what it leaves out added (Theorem 4.1).

All data sets: intervals of m are halved, the one with the largest bound first, until that bound is
as low as wanted. One bound of an interval leaves out the others whose input is not determined
(Theorem 3.1). The other is sharp even for all m at once (Theorem 4.2): D(m) = F_(c(m) + s) for some
s in [-1, 1], with c(m) the mean of S under the tilt tau; and the sum over the circle is defined,
and nearly linear up to a factor e^(linear), for all real m and s.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from shuffledp.arithmetic.balls import acb, acb_mat, arb, precision_for, total
from shuffledp.arithmetic.intervals import LogInterval, log_above, log_interval
from shuffledp.ball.outputs import largest as max_of
from shuffledp.ball.record import Bit
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.errors import NotCertified

__all__ = ["Circle", "OneBit", "Sum", "largest"]

# Terms left out of a sum are below e^-_GOAL = 2e-16 of its level; each further try adds _MORE to
# the exponent.
_GOAL, _MORE, _TRIES = 36.0, 24.0, 6
# Bits to which a divergence has to be known: ends are rounded to floats.
_ENOUGH = 36
# Most steps from the estimated change of sign of h to a k at which the sign is certain.
_STEPS = 4096
# Largest tilt with Laplace noise, as a share of the noise's rate: its transform has a pole at 1.
_SHARE = 0.6
# Range of j that is searched with noise, where every integer j is possible.
_FAR = 1 << 40
# log of the least level of a data set that is evaluated.
_DEEPEST = -2000.0
# Most points that are summed: about a second. Sizes M are powers of _LADDER, and numbers of points
# multiples of _SHARED, so that similar data sets share their points.
_MOST_POINTS, _LADDER, _SHARED = 1 << 15, math.sqrt(2.0), 4
# Chernoff's radii are rho e^u, with u one of these numbers over the standard deviation of S, which
# counts as at least _NARROW.
_RADII, _NARROW = tuple(2.0**k for k in range(-3, 7)), 0.1
# Most evaluations before the search returns the ends found so far: some seconds.
_MOST_EVALUATIONS = 5_000
# Number of places s between which F is bounded by chords.
_PLACES = 25
# Largest ratio of variances at an interval's two ends: beyond it too many points are needed.
_ALIKE = 4.0

# Numbers of others who send a 1 with probability p, and with q.
Kind = tuple[int, int]


class OneBit:
    """One victim at one eps, in one order: ``high`` in the first data set, ``low`` in the second.

    Create and use it at a working precision of at least ``precision(others)`` bits.

    Parameters
    ----------
    high, low : Bit
        The laws of the victim's bit, P(1) of the first being the larger.
    others : int
        N = n - 1.
    epsilon : float
        eps >= 0 in nats.
    noise : NoiseLaw, optional
        The noise added to the number of ones.
    """

    def __init__(
        self, high: Bit, low: Bit, *, others: int, epsilon: float, noise: NoiseLaw | None = None
    ) -> None:
        self.bits, self.others, self.noise = (high, low), others, noise
        self.laplace = noise is not None and noise.kind == "discrete-laplace"
        self.b = arb(epsilon).expm1()
        # (p - q) - (a - 1) q: the difference p - a q would lose all digits near eps = 0.
        self.alpha = (high.share - low.share) - self.b * low.share
        self._factors: dict[float, list[arb]] = {}
        self._circles: dict[tuple[float, int], Circle] = {}
        if self.alpha > 0:
            self._tilt()

    @staticmethod
    def precision(others: int) -> int:
        """Working precision in bits: alpha and powers of N factors are known to 2^-60 or better."""
        return 32 + precision_for(others)

    def _tilt(self) -> None:
        """Tilt S by tau, or by less where the noise has no such moment."""
        self.tau = 1 + self.b / self.alpha
        self._most = _SHARE / self.noise.scale if self.noise and self.laplace else math.inf
        self._log_tilt = min(max(float(self.tau.log().mid()), 0.0), self._most)
        tilt = self.tau if self._log_tilt < self._most else arb(self._most).exp()
        self.shares = [bit.one * tilt / (bit.zero + bit.one * tilt) for bit in self.bits]
        self._drift = arb(0) if self.noise is None else self.noise.tilted_mean(tilt)
        self._variances = [float((share * (1 - share)).mid()) for share in self.shares]

    def variance(self, kind: Kind) -> float:
        """An estimate of the variance of S under the tilt."""
        noise = 0.0 if self.noise is None else self.noise.variance
        return sum(n * v for n, v in zip(kind, self._variances, strict=True)) + noise

    def mean(self, kind: Kind) -> arb:
        """c: the mean of S under the tilt."""
        return kind[0] * self.shares[0] + kind[1] * self.shares[1] + self._drift

    def log_transform(self, kind: Kind, log_z: float) -> arb:
        """log of G(z) = E z^S for z > 0."""
        if log_z not in self._factors:
            z = arb(log_z).exp()
            logs = [(bit.rest + bit.share * z).log() for bit in self.bits]
            self._factors[log_z] = [*logs, self.noise.log_mean(z) if self.noise else arb(0)]
        return total(n * x for n, x in zip((*kind, 1), self._factors[log_z], strict=True))

    # ------------------------------------------------------------------------- one data set

    def zero(self) -> bool:
        """Whether D = 0 is certain for every data set."""
        if self.alpha <= 0:
            return True
        if self.noise is None or not self.laplace:
            return False
        # P(S = k - 1)/P(S = k) <= 1/r < tau for all k (docs/theory-sums.md, Lemma 6.3).
        return bool(self.alpha * (1 / self.noise.decay - 1) <= self.b)

    def of_dataset(self, high: int, low: int) -> arb:
        """D with ``high`` others of the first kind and ``low`` of the second.

        Some of the N others may be left out. D is then an upper bound for all values of theirs
        (docs/theory-binary.md, Theorem 3.1).
        """
        if self.zero():
            return arb(0)
        # F_j <= alpha P(S = j).
        if not self.alpha > 0:
            return arb(0).union(self.alpha)
        random = (high and not self.bits[0].zero.is_zero(), low and not self.bits[1].one.is_zero())
        if self.noise and self.laplace and not any(random):
            return self.noise.alone(self.alpha, self.b)
        for more in range(_TRIES):
            sums = self._sums([(high, low)], _GOAL + _MORE * more)
            found = sums[0].largest() if sums else None
            if found is not None and found > 0 and found.rel_accuracy_bits() >= _ENOUGH:
                return found
        return arb(0).union(self._most_of((high, low)))

    def _most_of(self, kind: Kind) -> arb:
        """Upper bound of D: alpha P(S = J) by Chernoff's inequality, where J is at least c - 1."""
        if self.laplace:
            return self.alpha
        level = self.log_transform(kind, self._log_tilt) - self._log_tilt * (self.mean(kind) - 1)
        return self.alpha * level.exp().min(arb(1))

    # ------------------------------------------------------------------------ all data sets

    def above(self, first: int, last: int) -> arb:
        """Upper bound of D(m) for all first <= m <= last."""
        chords = self.by_chords(first, last)
        if chords is not None and self.noise is None and last - first < self.others:
            return chords
        # Next to wide noise the others hide little, so that leaving some out costs little; where
        # their bits are known, leaving all out costs nothing.
        left_out = self.of_dataset(first, self.others - last).upper()
        return left_out if chords is None else arb.min(chords, left_out)

    def by_chords(self, first: int, last: int) -> arb | None:
        """The same by chords in m and s (docs/theory-binary.md, Theorem 4.2).

        None where there is no such bound, as with Laplace noise, or where it is too much work.
        """
        if not self.alpha > 0 or self.laplace:
            return None
        kinds = [(m, self.others - m) for m in (first, last)]
        variances = [self.variance(kind) for kind in kinds]
        if max(variances) > _ALIKE * min(variances) + 1.0:
            return None
        sums = self._sums(kinds, _GOAL)
        found = arb.nan() if sums is None else _chords(sums[0], sums[1], last - first)
        return found.upper() if found.is_finite() else None

    # --------------------------------------------------------------- where sums are evaluated

    def _sums(self, kinds: Sequence[Kind], goal: float) -> list[Sum] | None:
        """F of some data sets at the same points of a circle; None if these are too many.

        Floats choose the circle, so that what is left out of F_j is below e^-goal of its level.
        """
        widest = max(math.sqrt(max(map(self.variance, kinds))), _NARROW)
        # Similar data sets share the circle.
        width = _LADDER ** math.ceil(math.log(widest, _LADDER))
        # If it is larger than that of the tilt, the aliases below are small near eps = 0 too.
        log_rho = min(max(self._log_tilt, 1.0 / width), self._most)
        # F_J may be so much below alpha times the level.
        goal += math.log1p(width * width) + max(float(self.tau.log().mid()), 0.0)
        # With Laplace noise J may be far from the mean.
        near, need, radii = 2.0 + (width if self.laplace else 0.0), 16.0, list[float]()
        for kind in kinds:
            mean, here = self.mean(kind), self.log_transform(kind, log_rho)
            level, tried = float((here - mean * arb(log_rho)).mid()), list[tuple[float, float]]()
            for u in (ratio / width for ratio in _RADII):
                chernoff = float((self.log_transform(kind, log_rho + u) - here - u * mean).mid())
                size = (chernoff + goal) / u
                tried.append((size if math.isfinite(size) else math.inf, u))
            if not level > _DEEPEST or min(tried)[0] == math.inf:
                return None
            need = max(need, near + min(tried)[0], near + (goal - level) / log_rho)
            radii.append(min(tried)[1])
        size = 2 * math.ceil(0.5 * _LADDER ** math.ceil(math.log(need, _LADDER)))
        circle = self._circles.setdefault((log_rho, size), Circle(self, log_rho, size))
        count = max(circle.enough(kind, goal) for kind in kinds)
        if count > _MOST_POINTS:
            return None
        return [circle.sum(kind, u, count) for kind, u in zip(kinds, radii, strict=True)]


class Point(NamedTuple):
    """A point z of the circle, and what a sum over the circle needs of it.

    Attributes
    ----------
    log : log z.
    gain : alpha (z - tau)/(z - 1).
    most : upper bound of the modulus of ``gain`` at all later points.
    bits : logs of a bit's factor of G over that at rho, for p and for q.
    noise : the noise's factor over that at rho.
    """

    log: acb
    gain: acb
    most: arb
    bits: tuple[acb, acb]
    noise: acb


class Circle:
    """M points z = rho e^(i pi (2i + 1)/M), and the sums over them.

    Parameters
    ----------
    one : OneBit
        The victim, with alpha > 0.
    log_rho : float
        log rho > 0.
    size : int
        M, an even number.
    """

    def __init__(self, one: OneBit, log_rho: float, size: int) -> None:
        if size < 2 or size % 2 or not log_rho > 0.0:
            raise NotCertified(f"one-bit reports: {size} points of a circle of radius e^{log_rho}")
        self.one, self.log_rho, self.size = one, log_rho, size
        self._points: list[Point] = []
        self._sums: dict[tuple[Kind, float, int], Sum] = {}
        self._places: dict[int, acb_mat] = {}

    def enough(self, kind: Kind, goal: float) -> int:
        """An estimate of the number of points beyond which |G(z)/G(rho)| < e^-goal."""
        one, rho = self.one, arb(self.log_rho).exp()
        weights = [(bit.zero, bit.one * rho) for bit in one.bits]
        squares = [float((4 * x * y / ((x + y) * (x + y))).mid()) for x, y in weights]

        def is_small(i: int) -> bool:
            turn = (2 * i + 1) / self.size
            # |1 - p + p e^(it)|^2 = 1 - 4 p (1 - p) sin^2 (t/2).
            sine = math.sin(0.5 * math.pi * turn) ** 2
            both = zip(kind, squares, strict=True)
            log = sum(0.5 * n * math.log1p(-min(x * sine, 1.0 - 1e-15)) for n, x in both)
            if one.noise is not None:
                size = abs(one.noise.ratio(rho * acb(turn).exp_pi_i(), rho)).mid()
                log += math.log(max(float(size), 1e-300))
            return log <= -goal

        found = bisect_left(range(self.size // 2), x=True, key=is_small) + 1
        return min(_SHARED * math.ceil(found / _SHARED), self.size // 2)

    def upto(self, count: int) -> list[Point]:
        """The first points of the upper half circle, from the positive real axis."""
        if not 1 <= count <= self.size // 2:
            raise NotCertified(f"one-bit reports: {count} points of half a circle of {self.size}")
        while len(self._points) < count:
            self._points.append(self._point(len(self._points)))
        return self._points[:count]

    def _point(self, i: int) -> Point:
        one, turn = self.one, arb(2 * i + 1) / self.size
        rho = arb(self.log_rho).exp()
        z = rho * acb(turn).exp_pi_i()
        factors = [(bit.zero + bit.one * z) / (bit.zero + bit.one * rho) for bit in one.bits]
        return Point(
            acb(self.log_rho, turn * arb.pi()),
            one.alpha * (z - one.tau) / (z - 1),
            one.alpha * (rho + one.tau) / abs(z - 1),
            (factors[0].log(), factors[1].log()),
            acb(1) if one.noise is None else one.noise.ratio(z, rho),
        )

    def sum(self, kind: Kind, u: float, count: int) -> Sum:
        """F of a data set by the first points, with Chernoff's bound at the radius rho e^u."""
        key = kind, u, count
        if key not in self._sums:
            self._sums[key] = Sum(self, kind, u, count)
        return self._sums[key]

    def at_places(self, count: int) -> acb_mat:
        """z^-s at the places s in [-1, 1], a row for each, and the first points."""
        if count not in self._places:
            places = [arb(2 * k) / (_PLACES - 1) - 1 for k in range(_PLACES)]
            rows = [[(-s * point.log).exp() for point in self.upto(count)] for s in places]
            self._places[count] = acb_mat(rows)
        return self._places[count]


class Sum:
    """F_j of one data set, as a sum over the points of a circle, for real j.

    Parameters
    ----------
    circle : Circle
        The points.
    kind : (int, int)
        Numbers of others who send a 1 with probability p, and with q.
    u : float
        log of the ratio of Chernoff's radius to rho, u > 0.
    count : int
        Number of points of the upper half circle that are summed.
    """

    def __init__(self, circle: Circle, kind: Kind, u: float, count: int) -> None:
        if not u > 0.0:
            raise NotCertified(f"one-bit reports: no bound of aliases at a radius rho e^{u}")
        one = circle.one
        self.circle, self.kind, self.points = circle, kind, circle.upto(count)
        self.mean = one.mean(kind)
        self._level = one.log_transform(kind, circle.log_rho)
        self._far, self._log_far = (
            one.log_transform(kind, circle.log_rho + u),
            arb(circle.log_rho + u),
        )
        powers = [
            (kind[0] * point.bits[0] + kind[1] * point.bits[1]).exp() * point.noise
            for point in self.points
        ]
        self.terms = [x * point.gain for x, point in zip(powers, self.points, strict=True)]
        whole = 2 * count == circle.size
        self._rest = arb(0) if whole else self.points[-1].most * abs(powers[-1])
        self._known: dict[int, arb] = {}

    def value(self, j: int) -> arb:
        """F_j."""
        if j not in self._known:
            found = arb(0)
            for term, point in zip(self.terms, self.points, strict=True):
                sine, cosine = (j * point.log.imag).sin_cos()
                found += term.real * cosine + term.imag * sine
            level = (self._level - j * arb(self.circle.log_rho)).exp()
            self._known[j] = 2 * found / self.circle.size * level + arb(0, self.left_out(arb(j)))
        return self._known[j]

    def left_out(self, j: arb) -> arb:
        """Upper bound of what the sum leaves out of F_j."""
        return total(self.errors(j)).upper()

    def errors(self, j: arb) -> tuple[arb, arb, arb]:
        """Upper bounds of the other points' terms, and of aliases F_(j + l M), l > 0 and l < 0.

        For l > 0 |F_k| <= alpha tau G(lambda) lambda^-k, lambda = rho e^u; for l < 0
        |F_k| <= max(alpha, b).
        """
        one, size = self.circle.one, self.circle.size
        log_rho, log_far = arb(self.circle.log_rho), self._log_far
        points = (self._level - j * log_rho).exp() * self._rest
        up, down = (-(log_far - log_rho) * size).exp(), (-log_rho * size).exp()
        above = one.alpha * one.tau * (self._far - j * log_far).exp() * up / (1 - up)
        return points, above, arb.max(one.alpha, one.b) * down / (1 - down)

    # ------------------------------------------------------------------------- one data set

    def step(self, k: int) -> arb:
        """h_k = F_(k-1) - F_k."""
        return self.value(k - 1) - self.value(k)

    def largest(self) -> arb | None:
        """D = F_t + sum_(l < k <= t) (h_k)_+ with h_l < 0 and h_(t+1) > 0 for certain, or None."""
        finite = self.circle.one.noise is None
        least, most = (0, sum(self.kind)) if finite else (-_FAR, _FAR)
        j = self._threshold(least, most)
        # Without noise h_0 < 0 < h_(others + 1).
        below, above = range(j, max(j - _STEPS, least - 1), -1), range(j, min(j + _STEPS, most + 1))
        l_end = next((k for k in below if (finite and k == least) or self.step(k) < 0), None)
        t = next((k for k in above if (finite and k == most) or self.step(k + 1) > 0), None)
        if l_end is None or t is None:
            return None
        return self.value(t) + total(
            self.step(k).nonnegative_part() for k in range(l_end + 1, t + 1)
        )

    def _threshold(self, least: int, most: int) -> int:
        """An estimate of the first j with h_(j+1) >= 0, that of the largest F_j."""

        def falls(j: int) -> bool:
            return j >= most or (j >= least and bool(self.step(j + 1).mid() >= 0))

        high = min(max(round(float(self.mean.mid())), least), most)
        reach, low = 1, high
        while low > least and falls(low - 1):
            low, reach = max(low - reach, least), 2 * reach
        reach = 1
        while not falls(high):
            high, reach = min(high + reach, most), 2 * reach
        return low + bisect_left(range(low, high), x=True, key=falls)

    # ------------------------------------------------------------------------ all data sets

    @cached_property
    def top(self) -> arb:
        """The largest f(m, s) at the places s, at least 0, with F_(c(m) + s) = E(m) f(m, s).

        Chords of logarithms need a number that is not negative.
        """
        turns = [acb(0, -point.log.imag) * self.mean for point in self.points]
        column = acb_mat([[x * t.exp()] for x, t in zip(self.terms, turns, strict=True)])
        values = self.circle.at_places(len(self.terms)) * column
        top = max_of([value.real for value in values.entries()])
        return 2 * top.nonnegative_part() / self.circle.size

    @property
    def level(self) -> arb:
        """log E(m), E(m) = G(rho) rho^-c(m)."""
        return self._level - self.mean * arb(self.circle.log_rho)


def _chords(first: Sum, second: Sum, width: int) -> arb:
    """Upper bound of D(m) between two data sets, ``width`` apart in m (Theorem 4.2)."""
    circle, step = first.circle, arb(2) / (_PLACES - 1)
    apart, bend = circle.one.shares[0] - circle.one.shares[1], arb(0)
    for point, x, y in zip(first.points, first.terms, second.terms, strict=True):
        turn = abs(point.bits[0] - point.bits[1] - acb(0, point.log.imag) * apart) * width
        shift = abs(point.log) * step
        bend += arb.max(abs(x), abs(y)) * (turn * turn + shift * shift) / 8
    # rho^-s is at most rho.
    error = 2 * bend / circle.size * arb(circle.log_rho).exp()
    ends = [(one.top + error).upper() for one in (first, second)]
    # E(m) f(m, s) with f at most a line l: log l is at most its tangent at either end.
    rise, moved = second.level - first.level, ends[1] - ends[0]
    left = first.level + (rise + moved / ends[0]).nonnegative_part()
    right = second.level + (-rise - moved / ends[1]).nonnegative_part()
    found = arb.min(left.exp() * ends[0], right.exp() * ends[1])
    # What is left out is log-linear in m, and largest at s = -1.
    return found + total(one.left_out(one.mean - 1) for one in (first, second))


def largest(one: OneBit, *, width: float) -> tuple[LogInterval, int]:
    """Both ends of log max_m D(m), -inf for 0, and the m that attains the lower one.

    Parameters
    ----------
    one : OneBit
        The victim, at the working precision of its creation.
    width : float
        Requested log_high - log_low.
    """
    known: dict[int, LogInterval] = {}

    def above(first: int, last: int) -> float:
        if first < last:
            return log_above(one.above(first, last))
        if first not in known:
            found = one.of_dataset(first, one.others - first)
            known[first] = log_interval(found.lower(), found.upper())
        return known[first].high

    for m in (0, one.others):
        above(m, m)
    heap = [(-above(0, one.others), 0, one.others)]
    for _ in range(_MOST_EVALUATIONS):
        top, first, last = heap[0]
        # The bound at a single m cannot be improved: the rest is rounding.
        if -top <= max(ends.low for ends in known.values()) + width or first == last:
            break
        heapq.heappop(heap)
        middle = (first + last) // 2
        for low, up in ((first, middle), (middle + 1, last)):
            heapq.heappush(heap, (max(top, -above(low, up)), low, up))
    best = max(known, key=lambda m: known[m].low)
    return LogInterval(known[best].low, max(-heap[0][0], known[best].low)), best
