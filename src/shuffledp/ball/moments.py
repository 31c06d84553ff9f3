"""The positive sum with few nodes, in balls: how much gains spread says what the others are worth.

With psi as in docs/theory-stealing.md, Theorem 3.1, and p the tilted weights of gains x, any set S
of gains and s_i = sum_S p (x - z)^i,

    1 - |phi(t)|^2 >= (s_0 s_2 - s_1^2) t^2 - (2 s_0 s_4 - 8 s_1 s_3 + 6 s_2^2) t^4/24 .

So 1 - psi >= a t^2 - b t^4 up to the turn e = sqrt(a/(2 b)) (Lemma 3.3), and beyond it psi is seen
at a few places between which it moves little (Lemma 3.4).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator

from shuffledp.arithmetic.balls import acb, arb, float_above, float_below

from .stealing import Tilted, log_power, squares_of

__all__ = ["Few", "Spread"]

# Sets S: gains up to so many deviations from the mean.
_RADII = (2.0, 3.0, 4.5, 7.0, 12.0, 25.0, math.inf)
# psi^n beyond the nodes: e^-25 is nothing against the sum.
_GONE = 25.0
# Nodes of the sum by moments, up to where that is so; h alpha that is tried.
_NODES, _SMOOTHINGS = 16, (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
# Nodes end before the turn by that factor.
_BEFORE = 0.9
# Places beyond the turn; where they do not do there is no bound with few nodes.
_MOST_PLACES, _MOST_FEW = 60, 400


class Spread:
    """1 - |phi|^2 of one tilted law from below: a t^2 - b t^4 for each radius, unhalved.

    Parameters
    ----------
    law : Tilted
        Its gains.
    """

    def __init__(self, law: Tilted) -> None:
        self.law = law
        both = zip(law.weights, law.gains, strict=True)
        # About the mean: any number will do.
        self._mean = float((sum((w * x for w, x in both), arb(0)) / law.total).mid())
        self._parts: list[tuple[arb, arb]] | None = None

    @property
    def parts(self) -> list[tuple[arb, arb]]:
        """(s_0 s_2 - s_1^2, (2 s_0 s_4 - 8 s_1 s_3 + 6 s_2^2)/24) for each radius."""
        if self._parts is None:
            self._parts = self._moments()
        return self._parts

    def _moments(self) -> list[tuple[arb, arb]]:
        shells = [[arb(0)] * 5 for _ in _RADII]
        deviation = math.sqrt(max(self.law.variance, 1e-300))
        for weight, gain in zip(self.law.weights, self.law.gains, strict=True):
            x = gain - self._mean
            far = abs(float(x.mid())) / deviation
            sums = shells[bisect.bisect_left(_RADII[:-1], far)]
            first, square = weight * x, x * x
            second = weight * square
            for i, term in enumerate((weight, first, second, second * x, second * square)):
                sums[i] += term
        found, total = [], [arb(0)] * 5
        norm = self.law.total * self.law.total
        for shell in shells:
            total = [old + new for old, new in zip(total, shell, strict=True)]
            s0, s1, s2, s3, s4 = total
            quartic = (2 * s0 * s4 - 8 * s1 * s3 + 6 * s2 * s2) / 24
            found.append(((s0 * s2 - s1 * s1) / norm, quartic / norm))
        return found

    def slopes(self) -> tuple[float, float]:
        """(M, V): half of |d|phi|^2/dt| is at most M, and at most V t."""
        both = list(zip(self.law.weights, self.law.gains, strict=True))
        first = sum((w * abs(x - self._mean) for w, x in both), arb(0)) / self.law.total
        second = (
            sum((w * (x - self._mean) * (x - self._mean) for w, x in both), arb(0)) / self.law.total
        )
        return float_above(first), float_above(second)


class Few:
    """J of a reservoir and types at one tilt, with few nodes.

    Parameters
    ----------
    common : Tilted
        The reservoir.
    n : int
        Exponent.
    alpha, smoothing, step : float
        Tilt, h, and the step of the sharp sum.
    """

    def __init__(
        self, common: Tilted, n: int, *, alpha: float, smoothing: float, step: float
    ) -> None:
        self._common, self._n, self._alpha = Spread(common), n, alpha
        self._smoothing, self._step = smoothing, step
        self._known: list[arb] = []
        self._coming: Iterator[arb] = iter(squares_of(common, step, _MOST_FEW))

    def by_moments(self, law: Spread) -> float:
        """log J by Lemma 3.3; infinite where gains are too heavy for it."""
        bounds = self._bounds(law)
        best = self._best(bounds)
        if best is None:
            return math.inf
        a, b, end, reach = best
        n, alpha = self._n, self._alpha
        step = arb(reach) / _NODES
        far = step * _NODES
        total = arb(0)
        for j in range(_NODES + 1):
            t = step * j
            near = reach * j / _NODES
            lost = arb(0)
            usable = [(a * near**2 - b * near**4, a, b) for a, b, e in bounds if near < e]
            if j and usable:
                _, one, two = max(usable)
                if t < arb(one / two / 2).sqrt():
                    lost = ((one - two * t * t) * t * t).max(arb(0))
            term = (n * (1 - lost).log()).exp() / (arb(alpha) ** 2 + t * t)
            total += term if j == 0 else 2 * term
        main = total * step / (2 * arb.pi())
        main += (n * (1 - a * far**2 + b * far**4).log()).exp() / (arb.pi() * far)
        found = math.inf
        turn = arb(end)
        for wide in _SMOOTHINGS:
            h = arb(wide) / alpha
            rest = _after(h, alpha, turn, step)
            found = min(found, float_above(((arb(wide) ** 2 / 2).exp() * main + rest).log()))
        return float_above(log_power(self._common.law, law.law, n) + arb(found))

    def sharp(self, law: Spread) -> float:
        """log J by Lemma 3.4; infinite where it would take many nodes."""
        best = self._best(self._bounds(law))
        if best is None or best[3] > _MOST_FEW * self._step:
            return math.inf
        a, b, end, reach = best
        n, h, alpha = self._n, arb(self._smoothing), arb(self._alpha)
        nodes = math.ceil(reach / self._step)
        last = arb(self._step) * nodes
        if not last < end:
            return math.inf
        beyond = self._beyond(law, end)
        if beyond is None:
            return math.inf
        total = arb(0)
        both = self._common.law.total + law.law.total
        own = squares_of(law.law, self._step, nodes)
        for j, (first, second) in enumerate(zip(self._first(nodes), own, strict=True)):
            t = arb(self._step) * j
            lost = self._common.law.total * (1 - first) + law.law.total * (1 - second)
            exponent = n * (1 - lost / (2 * both)).log() + h * h * (alpha * alpha - t * t) / 2
            term = exponent.exp() / (alpha * alpha + t * t)
            total += term if j == 0 else 2 * term
        total *= arb(self._step) / (2 * arb.pi())
        worst = (1 - a * last**2 + b * last**4).max(arb(beyond[0]))
        total += ((h * alpha) ** 2 / 2 + n * worst.log()).exp() / (arb.pi() * last)
        total += _after(h, alpha, arb(beyond[1]), arb(self._step))
        return float_above(log_power(self._common.law, law.law, n) + total.log())

    def _first(self, nodes: int) -> list[arb]:
        """|phi_c|^2 at the nodes."""
        while len(self._known) <= nodes:
            self._known.append(next(self._coming))
        return self._known[: nodes + 1]

    def _bounds(self, law: Spread) -> list[tuple[float, float, float]]:
        """(a, b, turn) of 1 - psi for each radius, a rounded down and b up."""
        c0, d0 = self._common.law.total, law.law.total
        found = []
        for (a1, b1), (a2, b2) in zip(self._common.parts, law.parts, strict=True):
            a = float_below((c0 * a1 + d0 * a2) / (2 * (c0 + d0)))
            b = float_above((c0 * b1 + d0 * b2) / (2 * (c0 + d0)))
            if a > 0.0 and 0.0 < b < math.inf:
                found.append((a, b, math.sqrt(0.5 * a / b)))
        return found

    def _best(
        self, bounds: list[tuple[float, float, float]]
    ) -> tuple[float, float, float, float] | None:
        """a, b, a float below the turn, and where psi^n is nothing; the radius that turns last."""
        found = []
        for a, b, turn in bounds:
            end = turn * (1.0 - 1e-12)
            most = a * end**2 - b * end**4
            # a t^2 - b t^4 = enough, or nearly the turn.
            enough = _GONE / self._n
            if enough < 0.9 * most:
                root = math.sqrt(max(a * a - 4.0 * b * enough, 0.0))
                found.append((end, a, b, math.sqrt(2.0 * enough / (a + root))))
        usable = [(end, a, b, reach) for end, a, b, reach in found if reach <= _BEFORE * end]
        if not usable:
            return None
        end, a, b, reach = max(usable)
        return a, b, end, reach

    def _beyond(self, law: Spread, start: float) -> tuple[float, float] | None:
        """(Q, far): psi <= Q from ``start`` to far; None where that takes too many places."""
        c0, d0 = self._common.law.total, law.law.total
        share = d0 / (c0 + d0)
        steep, steeper = (share * slope for slope in law.slopes())
        top = math.exp(-_GONE / self._n)
        far = 4.0 / self._smoothing
        t = start
        for _ in range(_MOST_PLACES):
            if t >= far:
                return top, far
            phi = sum(
                (
                    w * acb(0, arb(t) * x).exp()
                    for w, x in zip(law.law.weights, law.law.gains, strict=True)
                ),
                acb(0),
            )
            second = (phi.real * phi.real + phi.imag * phi.imag) / law.law.total**2
            # The reservoir's |phi|^2 is at most 1.
            psi = 1 - share * (1 - second) / 2
            room = float_below(arb(top) - psi)
            if not room > 0.0:
                return None
            move = 0.99 * max(room / float_above(steep), _step_of(room, float_above(steeper), t))
            if not (steep * move).min(steeper * move * (t + move)) <= room:
                return None
            t += move
        return None


def _after(h: arb, alpha: arb | float, place: arb, step: arb) -> arb:
    """(D/2 pi) sum of w over the nodes beyond a place that is no node, both signs, from above.

    w falls, so its sum there is at most w at the place and its integral from there.
    """
    falls = (h * h * (arb(alpha) ** 2 - place**2) / 2).exp() / (arb.pi() * place**2)
    return falls * (1 / (h * h * place) + step)


def _step_of(room: float, slope: float, t: float) -> float:
    """r with slope r (t + r) = room."""
    return (math.sqrt(t * t + 4.0 * room / slope) - t) / 2.0
