"""One-bit reports: the largest divergence over m, the number of others with the likelier 1.

Intervals of m are halved, the one with the largest bound first, until that bound is as low as
wanted. An interval has two bounds. One leaves out the others whose input is not determined
(docs/theory-binary.md, Theorem 3.1). The other is sharp even for all m at once (Theorem 4.2): with
the tilt tau, the tilted mean mu(m) and E(m) = G(tau) tau^-mu(m) (mu and log E are linear in m),

    D(m) = E(m) f(m, s),   s = J - mu(m) in [-1, 1],

where f is a sum over the circle that is defined, and nearly linear, for all real m and s.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import NamedTuple

from shuffledp.arithmetic.balls import acb, acb_mat, arb
from shuffledp.bounds.circle import Circle
from shuffledp.bounds.circle_points import Plan, plan
from shuffledp.bounds.one_bit import Ends, OneBit, log_ends

__all__ = ["Largest", "largest"]

# Most evaluations before the search returns the ends found so far: some seconds.
_MOST_EVALUATIONS = 20_000
# Number of places s between which f is bounded by chords.
_PLACES = 9
# Largest ratio of variances at an interval's two ends: beyond it too many points are needed.
_ALIKE = 4.0
# Terms left out of a sum are below e^-_GOAL of its level.
_GOAL = 36.0


class Largest(NamedTuple):
    """log of both ends of the largest divergence, and the m that attains the lower one.

    Attributes
    ----------
    log_low, log_high : float
        The ends; -inf for 0.
    high : int
        m, the number of others with the larger probability of a 1, at the lower end.
    """

    log_low: float
    log_high: float
    high: int


def largest(
    one: OneBit,
    *,
    width: float,
    enough: float = -math.inf,
    given_up: float = math.inf,
    start: Iterable[int] = (),
) -> Largest:
    """Both ends of log max_m D(m).

    Parameters
    ----------
    one : OneBit
        The victim, at the working precision of its creation.
    width : float
        Requested log_high - log_low.
    enough : float
        The upper end need not be computed below this log delta.
    given_up : float
        Once the lower end exceeds this, the upper end does not matter.
    start : iterable of int
        Values of m that may be the worst.
    """
    search = _Search(one)
    for m in {min(max(m, 0), one.others) for m in (*start, 0, one.others)}:
        search.look(m)
    heap = [(-search.above(0, one.others), 0, one.others)]
    while True:
        top, first, last = heap[0]
        log_high = max(-top, search.log_low)
        done = log_high <= max(search.log_low + width, enough) or search.log_low > given_up
        if done or first == last or search.evaluations >= _MOST_EVALUATIONS:
            # The bound at a single m cannot be improved: the rest is rounding.
            return Largest(search.log_low, log_high, search.high)
        heapq.heappop(heap)
        middle = (first + last) // 2
        for low, high in ((first, middle), (middle + 1, last)):
            heapq.heappush(heap, (-min(search.above(low, high), -top), low, high))


class _Search:
    """The evaluations so far, and the largest of their lower ends."""

    def __init__(self, one: OneBit) -> None:
        self._one, self._chords = one, Chords(one)
        self._known: dict[int, Ends] = {}
        self.log_low, self.high, self.evaluations = -math.inf, 0, 0

    def look(self, m: int) -> float:
        """Upper end of log D(m); records the lower end."""
        if m not in self._known:
            self.evaluations += 1
            found = log_ends(*self._one.of_dataset(m, self._one.others - m))
            self._known[m] = found
            if found.log_low > self.log_low:
                self.log_low, self.high = found.log_low, m
        return self._known[m].log_high

    def above(self, first: int, last: int) -> float:
        """Upper bound of log D(m) for all first <= m <= last."""
        if first == last:
            return self.look(first)
        self.evaluations += 1
        bound = self._chords.above(first, last)
        whole = last - first == self._one.others
        if bound is not None and self._one.noise is None and not whole:
            return log_ends(arb(0), bound).log_high
        # Next to wide noise the others hide little, so that leaving some out costs little.
        left_out = log_ends(*self._one.of_dataset(first, self._one.others - last)).log_high
        return left_out if bound is None else min(log_ends(arb(0), bound).log_high, left_out)


class Chords:
    """Upper bounds of D(m) on intervals of m by chords of f (docs/theory-binary.md, Theorem 4.2).

    Parameters
    ----------
    one : OneBit
        The victim, without noise or with Gaussian noise. That noise is a sum of independent bits as
        well (Jacobi's triple product), so that J is within one of the tilted mean (Darroch 1964).
    """

    def __init__(self, one: OneBit) -> None:
        self._one = one
        # Tilted mean of the noise, as an exact number, and the largest |s|.
        self._drift, self._reach = arb(0), arb(1)
        self._places: dict[tuple[int, int], acb_mat] = {}
        self._ends: dict[tuple[int, int, int], arb] = {}
        self._moduli: dict[tuple[int, int, int], list[arb]] = {}
        self._bends: dict[tuple[int, int], list[tuple[arb, arb]]] = {}

    def above(self, first: int, last: int) -> arb | None:
        """Upper bound of D(m) for first <= m <= last.

        None where this kind of bound does not apply.
        """
        one = self._one
        if not one.alpha > 0 or (one.noise is not None and one.noise.kind == "discrete-laplace"):
            return None
        rho, tilted = one.tilted()
        if one.noise is not None and self._drift == 0:
            mean = one.noise.tilted_mean(rho)
            self._drift, self._reach = mean.mid(), 1 + mean.rad()
        if not self._reach < 2:
            return None
        kinds = [(m, one.others - m) for m in (first, last)]
        variances = [tilted.spread(*kind) for kind in kinds]
        if max(variances) > _ALIKE * min(variances) + 1.0:
            return None
        slack = max(float((one.difference.both(rho) / one.alpha).log().mid()), 0.0)
        log_b = float(one.b.log().mid()) if one.b > 0 else -math.inf
        found = plan(
            tilted,
            tuple(kinds),
            goal=_GOAL + slack + math.log1p(max(variances)),
            offset=2.0,
            log_b=log_b,
        )
        if found is None:
            return None
        circle = one.circle(found.size, rho)
        more = self._error(circle, found, kinds)
        ends = [(self._top(circle, found, kind) + more).upper() for kind in kinds]
        levels = [circle.level(*kind) - self._drift * circle.log_rho for kind in kinds]
        bound = _on_chord(levels, ends) + circle.total()
        return bound if bound.is_finite() else None

    def _top(self, circle: Circle, found: Plan, kind: tuple[int, int]) -> arb:
        """The largest f at the places s, for one m."""
        key = (found.size, found.points, kind[0])
        if key not in self._ends:
            column = acb_mat([[w] for w in circle.weights(*kind, found.points)])
            values = self._rows(circle, found) * column
            top = arb(0)
            for k in range(_PLACES):
                top = arb.max(top, values[k, 0].real)
            self._ends[key] = 2 * top / circle.size
        return self._ends[key]

    def _rows(self, circle: Circle, found: Plan) -> acb_mat:
        """z^-s of all points at the places s, turned back by the noise's tilted mean."""
        key = (found.size, found.points)
        if key not in self._places:
            logs = [acb(circle.log_rho, p.angle) for p in circle.upto(found.points)]
            turns = [acb(0, -self._drift * log.imag) for log in logs]
            places = [self._reach * (arb(2 * k) / (_PLACES - 1) - 1) for k in range(_PLACES)]
            self._places[key] = acb_mat(
                [[(t - s * log).exp() for log, t in zip(logs, turns, strict=True)] for s in places]
            )
        return self._places[key]

    def _sizes(self, circle: Circle, found: Plan, kind: tuple[int, int]) -> list[arb]:
        """Moduli of the points' weights, for one m."""
        key = (found.size, found.points, kind[0])
        if key not in self._moduli:
            self._moduli[key] = [abs(w) for w in circle.weights(*kind, found.points)]
        return self._moduli[key]

    def _curved(self, circle: Circle, found: Plan) -> list[tuple[arb, arb]]:
        """Squares of d log/dm and of the step of s times d log/ds at the points, divided by 8."""
        key = (found.size, found.points)
        if key not in self._bends:
            step, log = 2 * self._reach / (_PLACES - 1), circle.log_rho
            self._bends[key] = [
                (
                    abs(point.high - point.low) * abs(point.high - point.low) / 8,
                    step * step * (log * log + point.angle * point.angle) / 8,
                )
                for point in circle.upto(found.points)
            ]
        return self._bends[key]

    def _error(self, circle: Circle, found: Plan, kinds: list[tuple[int, int]]) -> arb:
        """An upper bound of f less its chords in m and s, with the terms left out of the sum."""
        width = kinds[1][0] - kinds[0][0]
        sizes = [self._sizes(circle, found, kind) for kind in kinds]
        total = arb(0)
        for (apart, turned), first, second in zip(self._curved(circle, found), *sizes, strict=True):
            total += arb.max(first, second) * (width * width * apart + turned)
        rest = arb(0)
        for kind in kinds:
            aliases = circle.aliases(*kind, found)
            rest += circle.beyond(*kind, found.points)
            for s in (-self._reach, self._reach):
                rest += aliases(self._drift + s)
        # tau^-s is largest at s = -reach.
        return (self._reach * circle.log_rho).exp() * (2 * total / circle.size + rest)


def _on_chord(levels: list[arb], ends: list[arb]) -> arb:
    """Upper bound of e^level f on an interval: level linear, f at most a line, both ends of f > 0.

    log f is concave, so that its tangent at either end lies above it.
    """
    rise = levels[1] - levels[0]
    apart = ends[1] - ends[0]
    first = levels[0] + (rise + apart / ends[0]).nonnegative_part()
    second = levels[1] + (-rise - apart / ends[1]).nonnegative_part()
    return arb.min(first.exp() * ends[0], second.exp() * ends[1])
