"""One-bit reports: delta over all data sets at any eps, and eps at a delta, both ends.

The pair of inputs with the largest and the least probability of a 1, in both orders, among others
who hold one of these two, is sufficient (docs/theory-binary.md, Theorem 3.2). Midpoints propose
where a curve crosses a target; every end is an eps at which balls were evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import ctx
from shuffledp.ball.record import Bits
from shuffledp.bounds.all_datasets import largest
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.one_bit import Ends, OneBit, log_ends
from shuffledp.propose.solve import Root, Value, certified, root

__all__ = ["Crossing", "Curve", "Dataset", "Point"]

# Share of the requested width of eps that the search over data sets may use, and relative accuracy
# of the largest eps of one data set.
_SHARE, _LAST = 0.25, 1e-12
# Largest eps that is tried. Beyond it delta is bounded by its value there.
_LARGEST = 600.0
# Most data sets that turn out to be the worst, one after the other.
_TRIES = 12
# Least eps that is tried; smaller ones are no better than 0.
_SMALLEST = 1e-12
# The first search, for the worst data set, may be wider by this factor.
_COARSE = 8.0
# Relative accuracy of floats of log delta.
_UNIT = 2.0**-52
# Tolerance in log delta of a crossing: the accuracy of floats.
_TOLERANCE = 1e-13


class Dataset(NamedTuple):
    """The order of the two inputs, and the number of others who hold the victim's first input."""

    way: int
    high: int


class Point(NamedTuple):
    """Both ends of log delta at an eps, and the data set that attains the lower end."""

    epsilon: float
    log_low: float
    log_high: float
    held: Dataset


class Crossing(NamedTuple):
    """An eps that is certified for its side; 0 or inf where none was found.

    ``width``: of an upper end, its ratio to an eps certified for the lower side, less 1. ``point``:
    the evaluation behind the eps.
    """

    epsilon: float
    width: float
    point: Point | None


class Curve:
    """Certified values of one-bit reports among n users.

    Parameters
    ----------
    bits : Bits
        The laws of the bit under the two inputs.
    n : int
        Users, the victim included.
    noise : NoiseLaw, optional
        The noise added to the number of ones.
    """

    def __init__(self, bits: Bits, n: int, *, noise: NoiseLaw | None = None) -> None:
        self.bits, self.n, self.noise = bits, n, noise
        self._precision = OneBit.precision(n - 1)
        low, high = bits.inputs
        # If the laws are mirror images, the second order is the mirror image of the first.
        self._orders = [(high, low)] if bits.mirrored else [(high, low), (low, high)]
        self._made: dict[tuple[int, float], OneBit] = {}
        self._values: dict[tuple[int, int, float], Ends] = {}
        self._points: dict[tuple[float, float, float, float], Point] = {}
        self._ends: dict[tuple[float, float, float], tuple[Crossing, Crossing]] = {}

    # ------------------------------------------------------------------------------- values

    def of_dataset(self, held: Dataset, epsilon: float) -> Ends:
        """Both ends of log delta for one data set."""
        key = (held.way, held.high, epsilon)
        if key not in self._values:
            with ctx.workprec(self._precision):
                one = self._one(held.way, epsilon)
                self._values[key] = log_ends(*one.of_dataset(held.high, self.n - 1 - held.high))
        return self._values[key]

    def of_order(self, x0: Any, held: int, epsilon: float) -> Ends:
        """Both ends of log delta, given the victim's first input and how many others hold it."""
        if self.bits.mirrored and x0 == self.bits.inputs[0]:
            # The mirror image: the other input, with as many users who hold it.
            return self.of_dataset(Dataset(0, held), epsilon)
        way = next(i for i, order in enumerate(self._orders) if order[0] == x0)
        return self.of_dataset(Dataset(way, held), epsilon)

    def point(
        self,
        epsilon: float,
        *,
        width: float,
        enough: float = -math.inf,
        given_up: float = math.inf,
    ) -> Point:
        """Both ends of log delta over all data sets.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        width : float
            Requested distance of the two ends.
        enough : float
            The upper end need not be computed below this log delta.
        given_up : float
            Once the lower end exceeds this, the upper end does not matter.
        """
        key = (epsilon, width, enough, given_up)
        if key not in self._points:
            at = min(epsilon, _LARGEST)
            found = self._search(at, width, enough, given_up)._replace(epsilon=epsilon)
            if epsilon > _LARGEST:
                found = found._replace(log_low=-math.inf)
            self._points[key] = found
        return self._points[key]

    def _search(self, epsilon: float, width: float, enough: float, given_up: float) -> Point:
        best: Point | None = None
        with ctx.workprec(self._precision):
            for way in range(len(self._orders)):
                aim = enough if best is None else max(enough, best.log_low + width)
                one = self._one(way, epsilon)
                start = self._starts(way)
                found = largest(one, width=width, enough=aim, given_up=given_up, start=start)
                mine = Point(epsilon, found.log_low, found.log_high, Dataset(way, found.high))
                best = mine if best is None else _larger(best, mine)
        if best is None:
            raise ValueError("orders: wanted at least one")
        return best

    def _starts(self, way: int) -> Iterable[int]:
        """Worst data sets at the last eps, as starts of the search."""
        return {p.held.high for p in list(self._points.values())[-2:] if p.held.way == way}

    def _one(self, way: int, epsilon: float) -> OneBit:
        key = (way, epsilon)
        if key not in self._made:
            self._made = dict(list(self._made.items())[-3:])
            first, second = (self.bits.law(x) for x in self._orders[way])
            if way == 1:
                first, second = first.flipped, second.flipped
            self._made[key] = OneBit(
                first, second, others=self.n - 1, epsilon=epsilon, noise=self.noise
            )
        return self._made[key]

    def alike(self, epsilon: float) -> float:
        """An estimate of log delta from data sets in which all others hold the same value."""
        return max(self.of_dataset(held, epsilon).log_low for held in self._simple())

    def _simple(self) -> list[Dataset]:
        ends = sorted({0, self.n - 1})
        return [Dataset(way, high) for way in range(len(self._orders)) for high in ends]

    def named(self, held: Dataset) -> dict[str, Any]:
        """The witness of a data set: x0, x1 and what the others hold."""
        x0, x1 = self._orders[held.way]
        others = [[x0, held.high], [x1, self.n - 1 - held.high]]
        return {"x0": x0, "x1": x1, "others": others}

    # ----------------------------------------------------------------------------- crossings

    def upper(self, log_target: float, *, rtol: float, cap: float) -> Crossing:
        """An eps up to ``cap`` at which delta is at most the target for every data set.

        Parameters
        ----------
        log_target : float
            log of the target delta.
        rtol : float
            Requested relative distance from the crossing.
        cap : float
            eps of a pure guarantee in nats, or inf.
        """
        return self._both(log_target, rtol, cap)[1]

    def lower(self, log_target: float, *, rtol: float, cap: float) -> Crossing:
        """An eps at which some data set's delta is at least the target.

        Parameters as in ``upper``.
        """
        return self._both(log_target, rtol, cap)[0]

    def _both(self, log_target: float, rtol: float, cap: float) -> tuple[Crossing, Crossing]:
        key = (log_target, rtol, cap)
        if key not in self._ends:
            self._ends[key] = self._cross(log_target, rtol, cap)
        return self._ends[key]

    def _cross(self, log_target: float, rtol: float, cap: float) -> tuple[Crossing, Crossing]:
        slack = 4.0 * _UNIT * (1.0 + abs(log_target))
        top = min(cap, _LARGEST)
        nothing = self._trivial(log_target - slack, top)
        if nothing is not None:
            return nothing
        first = Root(self._normal(log_target, top))
        start = root(self.alike, log_target, first, top, tolerance=_TOLERANCE)
        seen = self.point(start.epsilon, width=_COARSE * _SHARE * rtol)
        best, above = Crossing(0.0, math.inf, None), Crossing(math.inf, math.inf, seen)
        for _ in range(_TRIES):
            found = self._last(seen, log_target + slack, start, top)
            best = max(best, found, key=lambda one: one.epsilon)
            near = start._replace(epsilon=best.epsilon or start.epsilon)
            above = self._above(log_target, slack, near, top, rtol)
            # Whether another data set is worse there.
            if above.point is None or above.point.held == seen.held:
                break
            seen = above.point
        if best.epsilon > 0.0 and math.isfinite(above.epsilon):
            above = above._replace(width=above.epsilon / best.epsilon - 1.0)
        return best, above

    def _last(self, seen: Point, goal: float, start: Root, top: float) -> Crossing:
        """An eps just below the largest at which the set's delta reaches the goal; 0 if none."""

        def certify(epsilon: float, near: float) -> Value:
            del near
            return Value(self.of_dataset(seen.held, epsilon).log_low)

        found = certified(certify, goal, start, top, upper=False, rtol=_LAST)
        return Crossing(0.0 if found is None else found.epsilon, 0.0, seen)

    def _above(
        self, log_target: float, slack: float, start: Root, top: float, rtol: float
    ) -> Crossing:
        """An eps at which no data set exceeds the target; inf if none is found."""
        aim = log_target - slack
        seen: list[Point] = []

        def certify(epsilon: float, near: float) -> Value:
            width = 0.25 * max(near, _SHARE * rtol)
            point = self.point(epsilon, width=width, enough=aim, given_up=log_target)
            seen.append(point)
            worse = point.log_low >= log_target
            return Value(point.log_high, point, about=point.log_low if worse else None)

        found = certified(certify, aim, start, top, upper=True, rtol=rtol)
        if found is None:
            return Crossing(math.inf, math.inf, seen[-1] if seen else None)
        return Crossing(found.epsilon, math.inf, found.value.witness)

    def _trivial(self, log_target: float, top: float) -> tuple[Crossing, Crossing] | None:
        """The ends if eps near 0 meets the target, or if a bit tells the value and no eps does."""
        seen = self.alike(_SMALLEST)
        if seen < log_target:
            at = self.point(_SMALLEST, width=1.0, enough=log_target)
            if at.log_high <= log_target:
                return Crossing(0.0, math.inf, None), Crossing(_SMALLEST, math.inf, at)
        if top < _LARGEST or not self.tells or self.alike(top) < log_target:
            return None
        floor = max(self._simple(), key=lambda held: self.of_dataset(held, top).log_low)
        at = Point(top, self.of_dataset(floor, top).log_low, 0.0, floor)
        return Crossing(top, 0.0, at), Crossing(math.inf, math.inf, at)

    @property
    def tells(self) -> bool:
        """Whether a bit is sent under only one of the inputs, and so reveals it."""
        laws = [self.bits.law(x) for x in self.bits.inputs]
        return any(law.zero.is_zero() or law.one.is_zero() for law in laws)

    @property
    def rarest(self) -> float:
        """An estimate of the least of P(0) and P(1) over both inputs."""
        with ctx.workprec(64):
            laws = [self.bits.law(x) for x in self.bits.inputs]
            return min(float(p.mid()) for law in laws for p in (law.share, law.rest))

    def _normal(self, log_target: float, top: float) -> float:
        """An estimate of the crossing by the central limit theorem, all others alike."""
        with ctx.workprec(64):
            low, high = (float(self.bits.law(x).share.mid()) for x in self.bits.inputs)
        room = max(min(high * (1.0 - high), low * (1.0 - low)), 1.0 / self.n)
        spread = self.n * room
        if self.noise is not None:
            spread += self.noise.scale**2
        found = abs(high - low) / math.sqrt(spread) * math.sqrt(max(-2.0 * log_target, 0.1))
        return min(max(found, _SMALLEST), 0.5 * top)


def _larger(first: Point, second: Point) -> Point:
    """The point with the larger lower end, and the larger of the two upper ends."""
    chosen = first if first.log_low >= second.log_low else second
    return chosen._replace(log_high=max(first.log_high, second.log_high))
