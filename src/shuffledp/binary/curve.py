"""Both ends of a one-bit mechanism's profile: the largest divergence of all data sets and pairs.

Only the pair of inputs with the largest and the least probability of a 1 counts, in both orders,
among others that hold one of these two (docs/theory-binary.md, Theorem 3.2). Probabilities are
known to brackets; upper ends are of wider mechanisms, lower ends of narrower ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.binary.approach import Ends, both_ends
from shuffledp.binary.crowd import Problem, divergence, steep, with_noise_alone
from shuffledp.binary.noise import AddedNoise
from shuffledp.binary.places import Crossing, Point, last_that, place_of, point_at, slope_of
from shuffledp.binary.search import Found, largest
from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers.bits import Bits

U = UNIT_ROUNDOFF
# Users beyond which the search over all data sets takes minutes.
LARGEST_COUNT = 1_000_000
# Up to so many users, and reports of the rarer kind, it is among the default analyses: one answer
# then takes a few tenths of a second at most.
_MOST_QUICK, _MOST_RARE = 30_000, 300.0
# The share of the width wanted of eps that one search may take of it.
_SHARE = 0.25
# The least width of log delta that is asked of a search: rounding is near 1e-9 for many users.
_LEAST_WIDTH = 2e-9
_STEPS = 12
# eps is looked for from here on; below it 0 is as good.
_SMALLEST = 1e-12
# Beyond it delta is bounded by that at it: larger numbers leave the range of floats.
_LARGEST = 600.0
# By how much less eps is looked at where nothing is said at one.
_A_LITTLE_LESS = (1e-9, 1e-3, 0.5)
# A step of log eps that shows the slope of log delta, and the least slope that is believed.
_STEP, _FLATTEST = 1e-3, 1e-3


class Curve:
    """Certified values of a one-bit mechanism among n users.

    Parameters
    ----------
    bits : Bits
        The mechanism.
    n : int
        Users, the victim included.
    noise : AddedNoise, optional
        What is added to the number of ones; ends are then those of the odds' brackets alike.

    Raises
    ------
    NotCertified
        For more than a million users.
    """

    def __init__(self, bits: Bits, n: int, *, noise: AddedNoise | None = None) -> None:
        if n > LARGEST_COUNT:
            msg = (
                f"analysis = 'binary-exact', n = {n:,}: all data sets are searched for up to "
                f"{LARGEST_COUNT:,} users"
            )
            raise NotCertified(msg)
        self._ways = (bits,) if bits.symmetric else (bits, bits.flipped())
        self._n, self._noise = n, noise
        self._points: dict[tuple[float, float], Point] = {}
        self._slopes: dict[float, float] = {}
        self._both: dict[tuple[float, float, float], Ends | None] = {}

    def point(self, epsilon: float, *, rtol: float, most: float = math.inf) -> Point:
        """Both ends of log delta at this eps >= 0.

        Parameters
        ----------
        epsilon : float
            In nats.
        rtol : float
            The ends are as far apart as a quarter of this, relatively, moves delta by moving eps.
        most : float
            And no farther apart than this.
        """
        width = min(self.width(epsilon, rtol), most)
        if (epsilon, width) not in self._points:
            self._points[epsilon, width] = self._point(epsilon, width)
        return self._points[epsilon, width]

    def _point(self, epsilon: float, width: float) -> Point:
        best: Point | None = None
        for way in self._ways:
            enough = -math.inf if best is None else best.log_low + width
            found = self._way(way, epsilon, width, enough)
            best = found if best is None else _larger(best, found)
        if best is None:
            raise ValueError("ways: wanted at least one")
        return best

    def _problem(self, way: Bits, epsilon: float, *, outer: bool) -> Problem | None:
        if self._noise is None:
            return problem(way, epsilon, outer=outer)
        return noisy_problem(way, epsilon, self._noise)

    def _way(self, way: Bits, epsilon: float, width: float, enough: float) -> Point:
        """Victim ``high`` against ``low``."""
        outer = self._outer(way, min(epsilon, _LARGEST))
        others = self._n - 1
        if outer is None:
            return Point(epsilon, -math.inf, -math.inf, way.high, way.low, ((way.low, others),))
        found = self._no_more_than_alone(
            way, epsilon, largest(outer, others, width=width, enough=enough)
        )
        for less in _A_LITTLE_LESS if self._noise is not None else ():
            if found.log_high < 0.0:
                break
            # Nothing was said, as right at noise's own guarantee: delta only falls.
            outer = self._outer(way, min(epsilon, _LARGEST) * (1.0 - less))
            if outer is not None:
                lower = largest(outer, others, width=width, enough=enough)
                found = found._replace(log_high=lower.log_high)
        return self._with_lower(way, epsilon, found)

    def _no_more_than_alone(self, way: Bits, epsilon: float, found: Found) -> Found:
        """At this very eps noise alone leaves no more than that, whatever else is added up."""
        asked = self._problem(way, min(epsilon, _LARGEST), outer=True)
        if self._noise is None or asked is None:
            return found
        most = with_noise_alone(asked).log_high
        return found._replace(log_high=min(found.log_high, most))

    def _outer(self, way: Bits, epsilon: float) -> Problem | None:
        """At this eps, or at a smaller one where deltas are too small: delta only falls."""
        while True:
            found = self._problem(way, epsilon, outer=True)
            if found is None or self._noise is None or not steep(found):
                return found
            epsilon *= 0.5

    def _with_lower(self, way: Bits, epsilon: float, found: Found) -> Point:
        """The lower end is that of the mechanism's own inputs, not of wider ones."""
        inner, others = self._problem(way, epsilon, outer=False), self._n - 1
        low = -math.inf
        if inner is not None and epsilon <= _LARGEST:
            low = divergence(inner, found.high, others - found.high).log_low
        held = ((way.high, found.high), (way.low, others - found.high))
        return Point(epsilon, min(low, found.log_high), found.log_high, way.high, way.low, held)

    def upper(self, log_target: float, *, rtol: float, cap: float) -> Crossing:
        """An eps below ``cap`` that was evaluated, where delta is at most the target; inf if none.

        Parameters
        ----------
        log_target : float
            log of the target delta.
        rtol : float
            About how close to the crossing, relatively.
        cap : float
            eps by the local guarantee, or inf.
        """
        ends = self._ends(log_target, rtol=rtol, cap=cap)
        if ends is not None:
            return ends.upper
        slack = 4 * U * (1.0 + abs(log_target))
        low, high = 0.0, min(cap, _LARGEST)
        point, best, seen = self._alike_crossing(log_target, high), None, None
        slope, farther = self.slope(point, cap), 1.2
        known: list[tuple[float, float]] = []
        for _ in range(_STEPS):
            if not (low < point < high and point >= _SMALLEST):
                break
            at = place_of(point, cap)
            width = self.width(point, rtol)
            seen = self.point(point, rtol=rtol)
            gap = seen.log_high - (log_target - slack)
            if gap <= 0.0:
                best, high = seen, point
                if gap >= -2.0 * width:
                    break
            else:
                # Where rounding is all that is in the way it takes more than is missing.
                low, farther = point, 2.0 * farther
            known.append((at, gap))
            slope = slope_of(known, slope, 20.0 * width)
            point = point_at(at + (gap + farther * width) / slope, cap)
            if not low < point < high:
                point = 0.5 * (low + high)
        if best is None:
            return Crossing(math.inf, math.inf, seen)
        below = self._crossing(best, log_target, best.epsilon)
        return Crossing(best.epsilon, best.epsilon / below - 1.0 if below > 0.0 else math.inf, best)

    def lower(self, log_target: float, *, rtol: float, cap: float) -> Crossing:
        """The largest eps found at which some data set has a delta of at least the target.

        Parameters
        ----------
        log_target, rtol, cap
            As for ``upper``.
        """
        ends = self._ends(log_target, rtol=rtol, cap=cap)
        if ends is not None:
            return ends.lower
        guess = self._alike_crossing(log_target, min(cap, _LARGEST))
        best = Crossing(0.0, math.inf, None)
        for _ in range(2):
            seen = self.point(guess, rtol=rtol)
            at = self._crossing(seen, log_target, min(cap, _LARGEST))
            if not at > best.epsilon:
                break
            best, guess = Crossing(at, 0.0, seen), at
        return best

    def _ends(self, log_target: float, *, rtol: float, cap: float) -> Ends | None:
        """Both, where the short way finds them."""
        if self._noise is not None:
            return None
        question = (log_target, rtol, cap)
        if question not in self._both:
            top = min(cap, _LARGEST)
            start = min(self._normal(log_target), 0.5 * top)
            self._both[question] = both_ends(self, log_target, start=start, rtol=rtol, cap=cap)
        return self._both[question]

    def _normal(self, log_target: float) -> float:
        """About the crossing by the central limit theorem, all others holding the same value."""
        found = 0.0
        for way in self._ways:
            high, low = _share(way.odds_high[1]), _share(way.odds_low[0])
            room = max(min(high * (1.0 - high), low * (1.0 - low)), 1.0 / self._n)
            found = max(found, (high - low) / math.sqrt(room))
        return max(found * math.sqrt(-2.0 * log_target / self._n), _SMALLEST)

    def _crossing(self, seen: Point, log_target: float, top: float) -> float:
        """Almost the largest eps up to ``top`` with delta >= target, for a point's data set."""
        slack = 4 * U * (1.0 + abs(log_target))
        value = self.held(seen)
        return last_that(lambda e: value(e) >= log_target + slack, _SMALLEST, top)

    def held(self, seen: Point) -> Callable[[float], float]:
        """eps -> lower end of log delta of the data set of a point."""
        way = next(w for w in self._ways if w.high == seen.x0)
        # All may hold the same one: then the other is not listed.
        high = sum(count for value, count in seen.others if value == way.high)
        low = self._n - 1 - high

        def value(epsilon: float) -> float:
            asked = self._problem(way, epsilon, outer=False)
            return -math.inf if asked is None else divergence(asked, high, low).log_low

        return value

    def _alike_crossing(self, log_target: float, top: float) -> float:
        """Where the data sets of one value alone cross the target: a first guess."""
        return max(last_that(lambda e: self.alike(e) >= log_target, _SMALLEST, top), _SMALLEST)

    def alike(self, epsilon: float) -> float:
        """log delta where all others hold the same value."""
        found, others = -math.inf, self._n - 1
        for way in self._ways:
            asked = self._problem(way, epsilon, outer=True)
            if asked is not None:
                for high in {0, others}:
                    found = max(found, divergence(asked, high, others - high).log_low)
        return found

    def width(self, epsilon: float, rtol: float) -> float:
        """How far apart both ends of log delta may be: a function of eps, and smaller for less."""
        if epsilon not in self._slopes:
            some = _SMALLEST <= epsilon <= _LARGEST
            self._slopes[epsilon] = self.slope(epsilon, math.inf) if some else 1.0
        # Next to eps = 0 delta hardly moves with log eps: no narrower than its own rtol.
        slope = max(self._slopes[epsilon], 1.0)
        return max(_SHARE * rtol * slope, _LEAST_WIDTH)

    def slope(self, epsilon: float, cap: float) -> float:
        """About -d log delta by place at an eps."""
        place = place_of(epsilon, cap) if epsilon < cap else math.inf
        if not math.isfinite(place):
            return 1.0
        first, second = self.alike(epsilon), self.alike(point_at(place + _STEP, cap))
        slope = (first - second) / _STEP
        return slope if math.isfinite(slope) and slope > _FLATTEST else 1.0


def _larger(first: Point, second: Point) -> Point:
    """The point of the pair with the larger lower end; the larger of both upper ends."""
    chosen = first if first.log_low >= second.log_low else second
    return chosen._replace(log_high=max(first.log_high, second.log_high))


def quick(bits: Bits, n: int) -> bool:
    """Whether the search takes about as long as other analyses do.

    It is the faster the fewer bits are of the rarer kind: data sets differ more then.

    Parameters
    ----------
    bits : Bits
        The mechanism.
    n : int
        Users.
    """
    return n <= _MOST_QUICK and of_the_rarer(bits, n) <= _MOST_RARE


def of_the_rarer(bits: Bits, n: int) -> float:
    """How many of n reports are of the rarer kind, where all hold the value that says so least."""
    return n * max(_share(bits.odds_low[0]), 1.0 / (1.0 + bits.odds_high[1]))


def problem(bits: Bits, epsilon: float, *, outer: bool) -> Problem | None:
    """Victim ``high`` against ``low`` among others of both; None where the divergence is 0.

    Parameters
    ----------
    bits : Bits
        The mechanism, its odds in brackets.
    epsilon : float
        eps >= 0; at most 600 counts.
    outer : bool
        The odds farther apart than they are (for upper ends), or nearer.
    """
    high = bits.odds_high[1 if outer else 0]
    low = bits.odds_low[0 if outer else 1]
    if not low < high:
        return None
    b = math.expm1(min(epsilon, _LARGEST))
    # alpha = p - q - q b, all in odds: p = o/(1 + o).
    p, q = _share(high), _share(low)
    first = p / (1.0 + low) if math.isinf(high) else (high - low) / ((1.0 + high) * (1.0 + low))
    second = q * b
    alpha = first - second
    err = 8 * U * (first + second) + 1e-300
    if alpha + err <= 0.0:
        return None
    step = 4 * U * b
    return Problem(high, low, (alpha - err, alpha + err), (max(b - step, 0.0), b + step))


def noisy_problem(bits: Bits, epsilon: float, noise: AddedNoise) -> Problem | None:
    """As ``problem``, with noise added to the number of ones: of one data set, both ends.

    No data set's divergence is known to fall where the odds are nearer to each other, so that both
    ends are computed for all odds in their brackets (docs/theory-sums.md, Lemma 6.4).

    Parameters
    ----------
    bits : Bits
        The mechanism, its odds in brackets.
    epsilon : float
        eps >= 0; at most 600 counts.
    noise : AddedNoise
        What is added.
    """
    outer = problem(bits, epsilon, outer=True)
    if outer is None:
        return None
    inner = problem(bits, epsilon, outer=False)
    # alpha = v0 - a v1 is the larger the farther the odds are apart.
    low = -(1.0 + outer.b[1]) if inner is None else inner.alpha[0]
    loose = max(_apart(bits.odds_low), _apart(bits.odds_high))
    return outer._replace(
        alpha=(min(low, outer.alpha[0]), outer.alpha[1]), noise=noise, loose=loose
    )


def _apart(odds: tuple[float, float]) -> float:
    """The relative width of a bracket, rounded up."""
    low, high = odds
    if low == high:
        return 0.0
    return (high - low) / low * (1.0 + 8 * U) if low > 0.0 else 1.0


def _share(odds: float) -> float:
    return 1.0 if math.isinf(odds) else odds / (1.0 + odds)
