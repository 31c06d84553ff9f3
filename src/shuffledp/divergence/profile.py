"""PairProfile: log delta(eps) of one ShuffledPair in one direction, certified at both ends."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Protocol

import numpy as np

from shuffledp.arithmetic.intervals import LogInterval, log_add, log_difference, log_of
from shuffledp.divergence.cells import expected_positive_part_of_cells
from shuffledp.divergence.enumeration import CHEAP_ENUMERATION, Enumeration, composition_count
from shuffledp.divergence.estimate import (
    Coarse,
    rough_log_expectation,
    rough_log_expectation_of_layers,
)
from shuffledp.divergence.gain import GainLaw, atom_gains, cell_gains, trimmed
from shuffledp.divergence.layers import MORE_ROUGH_CELLS, ROUGH_CELLS, Hint
from shuffledp.divergence.positive_part import EFFORT, expected_positive_part
from shuffledp.divergence.scattered import (
    has_far_atoms,
    is_scattered,
    may_be_cells,
    prepared,
    scattered_gains,
    scattered_trim,
)
from shuffledp.divergence.tilt import find_tilt
from shuffledp.numerics.merging import as_cells
from shuffledp.pair import UNIT_ROUNDOFF, Indices, InnerMoments, RatioRanges, ShuffledPair

U = UNIT_ROUNDOFF
LARGEST_EPSILON = 300.0
LOOSE = 3e-2
_LARGEST_ENUMERATION = 1_000_000
_LAST_LEVEL = -724.0
_DEEP = -45.0
_LEVELS = (-60.0, -200.0, _LAST_LEVEL)
_SMALLEST = 1e-300
_TRIMMINGS = 8
_FAR_TOO_LOW = 20.0
# Where layers are cut for a quick estimate is looked for at powers of this, and kept in between:
# an eps is never farther than a tenth from one of them.
_GRID = 1.2
_NEAR_LEVEL = 3.0
_MET, _COARSER, _REQUESTS = 3.0, 10.0, 3
_NOTHING = LogInterval(-math.inf, -math.inf)
_ANYTHING = LogInterval(-math.inf, math.inf)


class Profile(Protocol):
    """log delta as a function of eps, in certified brackets."""

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Bracket log delta(eps) to about a relative width."""
        ...


def narrowest(profile: Profile, epsilon: float, width: float) -> tuple[LogInterval, float]:
    """The narrowest bracket to be had down to ``width``, and the request that gave it.

    More terms mean more rounding: where a narrow request fails, a wider one may do better.
    """
    best, asked = profile.log_delta(epsilon, width=width), width
    for _ in range(_REQUESTS):
        if best.width <= _MET * width or width >= LOOSE or best.high == -math.inf:
            break
        # In between it would be the same work again.
        width = min(max(_COARSER * width, best.width), LOOSE)
        found = profile.log_delta(epsilon, width=width)
        if found.width < best.width:
            asked = width
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
    return best, asked


class PairProfile:
    """delta(eps) = (1/n) E[sum_i G_i]_+ + sum_outside [p - e^eps q]_+ of one pair, one direction.

    (docs/theory.md, section 2.) An answer is a function of the pair, eps and the width asked for,
    and of nothing else: what is kept saves time and changes no bit, whatever was asked before.
    """

    def __init__(self, pair: ShuffledPair) -> None:
        self.pair = prepared(pair.merged())
        # Of atoms: how many count vectors there are, and whether one contour may not do for all.
        self._vectors = composition_count(self.pair) if self.pair.ranges is None else 0
        self._is_far = has_far_atoms(self.pair)
        self._coarse: dict[float, Coarse] = {}
        self._enumeration: Enumeration | None = None
        self._alone: Enumeration | None = None
        self._without_width: PairProfile | None = None
        self._estimates: dict[float, list[float]] = {}
        self._cuts: dict[tuple[int, float], list[float]] = {}
        self._found: dict[tuple[float, float], LogInterval] = {}

    def __reduce__(self) -> tuple[type[PairProfile], tuple[ShuffledPair]]:
        return PairProfile, (self.pair,)

    def fingerprint(self) -> tuple[bytes, ...]:
        """Equal only for pairs with the same law, known equally well: such are solved once.

        Everything a bracket depends on is in it: masses, ratios, n, what lies outside and in the
        tails, all errors, and of cells the ranges and moments. The order of atoms is not.
        """
        pair = self.pair
        order: Indices | slice = slice(None)
        if pair.ranges is None:
            order = np.lexsort((pair.b, pair.a, pair.w))
        numbers = [float(pair.n), pair.rel, *pair.tail, *pair.tail_doubt]
        leftover = [] if pair.leftover is None else [*pair.leftover]
        arrays = [pair.w[order], pair.a[order], pair.b[order], pair.outside.ravel()]
        parts = [*arrays, np.array(numbers), np.array(leftover)]
        return tuple(part.tobytes() for part in parts) + _fingerprint_of(pair.ranges)

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Bracket log delta(eps) to about a relative ``width``, or as near as bounded work allows.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        width : float
            Requested relative width of delta.
        """
        asked = (epsilon, width)
        if asked not in self._found:
            self._found[asked] = self._compute(epsilon, width)
        return self._found[asked]

    def rough_log_delta(self, epsilon: float, *, above: float = -math.inf) -> float:
        """About log delta(eps), quickly: a proposal, not certified.

        Where it is far below ``above`` that is all it says.
        """
        epsilon = min(epsilon, LARGEST_EPSILON)
        if self._is_far and may_be_cells(self.pair, epsilon):
            return self._cells().rough_log_delta(epsilon, above=above)
        known = self._estimates.setdefault(epsilon, [])
        levels = _LEVELS if self.pair.ranges is not None else _LEVELS[-1:]
        for i, level in enumerate(levels):
            if i == len(known):
                known.append(self._estimate(epsilon, level))
            if known[i] > level + _FAR_TOO_LOW or known[i] < above - _FAR_TOO_LOW:
                return known[i]
        return known[-1]

    def _estimate(self, epsilon: float, level: float) -> float:
        """The estimate from what matters above e^level."""
        seen = self._outside(epsilon)[1]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.pair.ranges is not None:
                return self._coarse_estimate(epsilon, seen, level)
            if self.pair.w.size == 0:
                main = -math.inf
            elif self._enumerable:
                main = self._enumerate(epsilon).high
            else:
                main = rough_log_expectation(atom_gains(self.pair, epsilon), self.pair.n)
        return min(log_add(main - math.log(self.pair.n), log_of(seen)), 0.0)

    def _coarse_estimate(self, epsilon: float, seen: float, level: float) -> float:
        """With more of the far cells where little is left of delta."""
        coarse = self._coarse_at(level)
        main = rough_log_expectation_of_layers(
            coarse.law(epsilon), self.pair.n, Hint(self._cuts_near(epsilon, level))
        )
        return min(log_add(main - math.log(self.pair.n), log_of(seen + coarse.seen)), 0.0)

    def _coarse_at(self, level: float) -> Coarse:
        if level not in self._coarse:
            atoms = ROUGH_CELLS if level == _LEVELS[0] else MORE_ROUGH_CELLS
            self._coarse[level] = Coarse(self.pair, level, atoms)
        return self._coarse[level]

    def _cuts_near(self, epsilon: float, level: float) -> list[float]:
        """Where layers are cut at the point of the grid next to eps."""
        step = round(math.log(max(epsilon, _SMALLEST)) / math.log(_GRID))
        if (step, level) not in self._cuts:
            law = self._coarse_at(level).law(min(_GRID**step, LARGEST_EPSILON))
            self._cuts[step, level] = Hint().of(law, self.pair.n)
        return self._cuts[step, level]

    def variance(self) -> float:
        """About the variance of one gain at eps = 0 over n."""
        gain = self.pair.a - self.pair.b
        return float((self.pair.w * gain * gain).sum()) / self.pair.n

    def log_floor(self) -> float:
        """Lower bound of log delta(eps) at every eps: outputs that only P can give."""
        if self.pair.outside.size == 0:
            return -math.inf
        p, q = self.pair.outside[:, 0], self.pair.outside[:, 1]
        total = math.fsum(p[q == 0.0]) * (1.0 - self.pair.rel - 8 * U)
        return math.log(total) - 8 * U * (1.0 + abs(math.log(total))) if total > 0.0 else -math.inf

    def _compute(self, epsilon: float, width: float) -> LogInterval:
        if epsilon > LARGEST_EPSILON:
            # delta falls in eps, and e^eps would overflow.
            return LogInterval(-math.inf, self.log_delta(LARGEST_EPSILON, width=width).high)
        if self.pair.ranges is not None:
            return self._trimmed_cells(epsilon, width)
        # One contour may not be enough for all atoms; cells without width are given several.
        found = _ANYTHING
        for cells in (self._is_far, not self._is_far):
            if not cells:
                one = self._assemble(self.pair, self._positive_part(epsilon, width), epsilon)
            elif self.pair.n > 1 and may_be_cells(self.pair, epsilon):
                one = self._cells().log_delta(epsilon, width=width)
            else:
                continue
            found = LogInterval(max(found.low, one.low), min(found.high, one.high))
            # What bounded work reaches is reached: the other form would cost as much again.
            if found.width <= max(width if cells else _MET * width, EFFORT.fine):
                break
        return found

    @property
    def _enumerable(self) -> bool:
        """Whether all count vectors are looked at without a thought."""
        return self.pair.n == 1 or self._vectors <= CHEAP_ENUMERATION

    def _cells(self) -> PairProfile:
        if self._without_width is None:
            self._without_width = PairProfile(as_cells(self.pair))
        return self._without_width

    def _trimmed_cells(self, epsilon: float, width: float) -> LogInterval:
        """Leave out far cells that cannot matter; keep more of them if delta turns out smaller."""
        # What is left out is counted in full: it must be small against the width of delta.
        margin = -math.log(3e-3 * width)
        level = max(self.rough_log_delta(epsilon) - margin, _LAST_LEVEL)
        scattered = is_scattered(self.pair)
        trim, gains = (scattered_trim, scattered_gains) if scattered else (trimmed, cell_gains)
        best, hints = _ANYTHING, {}
        for _ in range(_TRIMMINGS):
            pair = trim(self.pair, epsilon, level)
            if pair.w.size == 0:
                break
            hint = _nearby(hints, level)
            main = expected_positive_part_of_cells(pair, gains(pair, epsilon), width, hint)
            found = self._assemble(pair, main, epsilon)
            best = LogInterval(max(best.low, found.low), min(best.high, found.high))
            if best.width <= width:
                break
            log_tail = math.log(max(pair.tail[0], pair.tail[1] * math.exp(epsilon), 1e-320))
            alone = main.high - math.log(pair.n)
            enough = max(alone - margin, _LAST_LEVEL)
            if main.low == -math.inf and log_tail < alone - 3.0:
                # The cells themselves have no lower end: nothing that is kept besides helps.
                break
            if log_tail >= best.high + math.log(0.1 * width) and level > _LAST_LEVEL:
                # The tail is what makes the bracket wide: lower it below what the cells alone give.
                level = max(min(enough, level - 4.0), _LAST_LEVEL)
            elif enough > level + _FAR_TOO_LOW:
                level = enough
            else:
                break
        return best

    def _assemble(self, pair: ShuffledPair, main: LogInterval, epsilon: float) -> LogInterval:
        shift = -math.log(pair.n)
        slack = 4 * U * (1.0 + abs(shift))
        low, high = main.low + shift - slack, main.high + shift + slack
        seen_low, seen_high = self._outside(epsilon)
        lost_p, lost_q = pair.tail
        high = log_add(high, log_of(seen_high + lost_p * (1.0 + 4 * U)))
        left_out = log_of(lost_q * math.exp(epsilon) * (1.0 + 4 * U))
        low = log_difference(log_add(low, log_of(seen_low)), left_out)
        return _outward(low, min(high, 0.0))

    def _outside(self, epsilon: float) -> tuple[float, float]:
        if self.pair.outside.size == 0:
            return 0.0, 0.0
        p, q = self.pair.outside[:, 0], math.exp(epsilon) * self.pair.outside[:, 1]
        # Among the last floats masses are off by as much as these are apart.
        last = math.ulp(0.0) * (1.0 + math.exp(epsilon) * (q > 0.0))
        slack = (self.pair.rel + 16 * U) * (p + q) + last
        pad = 1.0 + (p.size + 8) * U
        low = float(np.maximum(p - q - slack, 0.0).sum()) / pad
        return low, float(np.maximum(p - q + slack, 0.0).sum()) * pad

    # In extreme laws error terms overflow to inf, which only makes the bracket say less.
    @np.errstate(over="ignore", invalid="ignore")
    def _positive_part(self, epsilon: float, width: float) -> LogInterval:
        """log E[S]_+ by the first method that fits."""
        if self.pair.w.size == 0:
            return _NOTHING
        if self._enumerable:
            return self._enumerate(epsilon)
        law, n = atom_gains(self.pair, epsilon), self.pair.n
        found = _one_sided(law, n)
        if found is None:
            found = expected_positive_part(law, n, find_tilt(law, n), width=width)[0]
        if found.width > width and self._vectors <= _LARGEST_ENUMERATION:
            return self._enumerate(epsilon)
        return self._capped(found, epsilon)

    def _capped(self, found: LogInterval, epsilon: float) -> LogInterval:
        """E[S]_+ <= n E[G]_+: the divergence of n messages is at most that of one."""
        if self._alone is None:
            self._alone = Enumeration(self.pair.with_n(1))
        cap = self._alone.expected_positive_part(epsilon).high + math.log(self.pair.n)
        return LogInterval(found.low, min(found.high, cap + 4 * U * (1.0 + abs(cap))))

    def _enumerate(self, epsilon: float) -> LogInterval:
        if self._enumeration is None:
            self._enumeration = Enumeration(self.pair)
        return self._enumeration.expected_positive_part(epsilon)


def _fingerprint_of(known: RatioRanges | InnerMoments | None) -> tuple[bytes, ...]:
    """All that is said of cells, field by field; b"" for what is not known."""
    if known is None:
        return (b"",)
    found: tuple[bytes, ...] = ()
    for field in fields(known):
        value = getattr(known, field.name)
        given = isinstance(value, np.ndarray)
        found += (value.tobytes(),) if given else _fingerprint_of(value)
    return found


def _nearby(hints: dict[float, Hint], level: float) -> Hint:
    """What is known from a level nearby, kept up to date from here on."""
    near = [(abs(cut - level), cut) for cut in hints if abs(cut - level) <= _NEAR_LEVEL]
    if near:
        return hints[min(near)[1]]
    # Far down the cells that count spread over many powers of ten.
    atoms = MORE_ROUGH_CELLS if level < _DEEP else ROUGH_CELLS
    return hints.setdefault(level, Hint(atoms=atoms))


def _one_sided(law: GainLaw, n: int) -> LogInterval | None:
    """Laws with no gain above 0 (E[S]_+ = 0) or none below (E[S]_+ = n E[G]); None for others."""
    if law.high <= 0.0:
        return _NOTHING
    if float(law.g.max()) <= 0.0:
        # Only rounding says that G may be positive: E[S]_+ <= n E[G]_+.
        top = n * law.high * float(law.w.sum()) * (1.0 + 1e-9)
        return LogInterval(-math.inf, math.log(top) if top > 0.0 else -math.inf)
    if law.low >= 0.0:
        low, high = n * (law.mean - law.mean_err), n * (law.mean + law.mean_err)
        pad = 16 * U
        return LogInterval(
            math.log(low) - pad * (1.0 + abs(math.log(low))) if low > 0.0 else -math.inf,
            math.log(high) + pad * (1.0 + abs(math.log(high))) if high > 0.0 else -math.inf,
        )
    return None


def _outward(low: float, high: float) -> LogInterval:
    """Make room for the rounding of logarithms themselves, which matters far from 0."""
    if math.isfinite(low):
        low -= 8 * U * (1.0 + abs(low))
    if math.isfinite(high):
        high = min(high + 8 * U * (1.0 + abs(high)), 0.0)
    return LogInterval(low, high)
