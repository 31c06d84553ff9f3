"""PairProfile: log delta(eps) of one ShuffledPair in one direction, certified at both ends."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.divergence.contour import LogInterval, expected_positive_part
from shuffledp.divergence.decay import Decay
from shuffledp.divergence.enumeration import Enumeration, composition_count
from shuffledp.divergence.gain import (
    CellGains,
    GainLaw,
    CellGains,
    GainLaw,
    atom_gains,
    cell_gains,
    compressed_gains,
    mean_law,
    trimmed,
)
from shuffledp.divergence.tilt import Tilt, find_tilt, log_moment, weighted_exponential
from shuffledp.pair import UNIT_ROUNDOFF, ShuffledPair

U = UNIT_ROUNDOFF
LARGEST_EPSILON = 300.0
LOOSE = 3e-2
_CHEAP_ENUMERATION = 30_000
_LARGEST_ENUMERATION = 3_000_000
_FEW = 30
_FEWEST_GROUPS = 100
_MOST_GROUPS = 6000
# Cells below e^level in both laws are left out first; lower if delta turns out that small.
_FIRST_LEVEL = -60.0
_LAST_LEVEL = -724.0
_LEVEL_MARGIN = 30.0
_NOTHING = LogInterval(-math.inf, -math.inf)


class PairProfile:
    """delta(eps) = (1/n) E[sum_i G_i]_+ + sum_outside [p - e^eps q]_+ of one pair, one direction.

    (docs/theory.md, section 2.) Results are cached per (eps, width).
    """

    def __init__(self, pair: ShuffledPair) -> None:
        self.pair = pair.merged()
        self._enumeration: Enumeration | None = None
        self._cache: dict[float, tuple[float, LogInterval]] = {}

    def fingerprint(self) -> bytes:
        """Equal for pairs of atoms with the same law, so that symmetric ones are solved once."""
        pair = self.pair
        parts = [pair.w, pair.a, pair.b, pair.outside.ravel(), np.array([float(pair.n), *pair.tail])]
        if pair.ranges is None:
            order = np.lexsort((pair.b, pair.a, pair.w))
            parts[:3] = [pair.w[order], pair.a[order], pair.b[order]]
        return b"|".join(part.tobytes() for part in parts)

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Bracket log delta(eps) to about the relative ``width``, or as near as bounded work allows.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        width : float
            Requested relative width of delta.
        """
        known = self._cache.get(epsilon)
        if known is not None and (known[0] <= width or known[1].width <= width):
            return known[1]
        found = self._compute(epsilon, width)
        self._cache[epsilon] = (width, found)
        return found

    def _compute(self, epsilon: float, width: float) -> LogInterval:
        if epsilon > LARGEST_EPSILON:
            # delta falls in eps, and e^eps would overflow.
            return LogInterval(-math.inf, self.log_delta(LARGEST_EPSILON, width=width).high)
        if self.pair.ranges is None:
            return self._assemble(self.pair, self._positive_part(epsilon, width), epsilon)
        return self._trimmed_cells(epsilon, width)

    def _trimmed_cells(self, epsilon: float, width: float) -> LogInterval:
        """Leave out far cells that cannot matter; keep more of them if delta turns out smaller."""
        level = _FIRST_LEVEL
        while True:
            pair = trimmed(self.pair, epsilon, level)
            last = level <= _LAST_LEVEL
            rough = _rough_log_delta(cell_gains(pair, epsilon), pair.n)
            if last or rough >= level + _LEVEL_MARGIN:
                break
            level = max(2.0 * level, _LAST_LEVEL)
        # What is left out is counted in full: it must be small against the width of delta.
        needed = rough - 4.0 + math.log(3e-3 * width)
        pair = trimmed(self.pair, epsilon, max(level, needed))
        found = self._assemble(pair, _cells(pair, cell_gains(pair, epsilon), width), epsilon)
        if found.width <= width or needed <= level:
            return found
        lower = max(2.0 * needed, level)
        pair = trimmed(self.pair, epsilon, lower)
        again = self._assemble(pair, _cells(pair, cell_gains(pair, epsilon), width), epsilon)
        return LogInterval(max(found.low, again.low), min(found.high, again.high))

    def _assemble(self, pair: ShuffledPair, main: LogInterval, epsilon: float) -> LogInterval:
        shift = -math.log(pair.n)
        slack = 4 * U * (1.0 + abs(shift))
        low, high = main.low + shift - slack, main.high + shift + slack
        seen_low, seen_high = self._outside(epsilon)
        lost_p, lost_q = pair.tail
        high = _log_add(high, seen_high + lost_p * (1.0 + 4 * U))
        low = _log_subtract(_log_add(low, seen_low), lost_q * math.exp(epsilon) * (1.0 + 4 * U))
        return _outward(low, min(high, 0.0))

    def _outside(self, epsilon: float) -> tuple[float, float]:
        if self.pair.outside.size == 0:
            return 0.0, 0.0
        p, q = self.pair.outside[:, 0], math.exp(epsilon) * self.pair.outside[:, 1]
        slack = (self.pair.rel + 16 * U) * (p + q)
        pad = 1.0 + (p.size + 8) * U
        low = float(np.maximum(p - q - slack, 0.0).sum()) / pad
        return low, float(np.maximum(p - q + slack, 0.0).sum()) * pad

    def _positive_part(self, epsilon: float, width: float) -> LogInterval:
        """log E[S]_+ by the first method that fits."""
        if self.pair.w.size == 0:
            return _NOTHING
        count = composition_count(self.pair)
        if self.pair.n == 1 or count <= _CHEAP_ENUMERATION:
            return self._enumerate(epsilon)
        law = atom_gains(self.pair, epsilon)
        found = _one_sided(law, self.pair.n)
        if found is None:
            found = expected_positive_part(
                law, self.pair.n, find_tilt(law, self.pair.n), width=width
            )
        if found.width > width and count <= _LARGEST_ENUMERATION:
            return self._enumerate(epsilon)
        return _capped(found, self.pair, epsilon)

    def _enumerate(self, epsilon: float) -> LogInterval:
        if self._enumeration is None:
            self._enumeration = Enumeration(self.pair)
        return self._enumeration.expected_positive_part(epsilon)


def _cells(pair: ShuffledPair, cells: CellGains, width: float) -> LogInterval:
    """log E[S]_+ of a pair of cells.

    Where |phi| is certified to decay, few nodes and few groups of cells do. With few messages, or
    few of them outside the left-over, the whole contour is needed, and groups to match.
    """
    alone = _one_message(cells)
    n = pair.n
    if n == 1:
        return alone
    rough = mean_law(cells)
    if float(rough.g.max()) <= 0.0:
        return _one_sided_cells(alone, n)
    first = find_tilt(rough, n)
    law = compressed_gains(cells, rel=pair.rel, tilt=first.alpha, groups=_FEWEST_GROUPS)
    found = _one_sided(law, n)
    if found is not None:
        return found
    cap = alone.high + math.log(n)
    best = LogInterval(-math.inf, cap + 4 * U * (1.0 + abs(cap)))
    for whole in (False, True):
        groups = _groups(law, first, n, width, whole=whole)
        grouped = compressed_gains(cells, rel=pair.rel, tilt=first.alpha, groups=groups)
        tilt = find_tilt(grouped, n, allow_rare=whole)
        decay = None if whole else _decay(cells, grouped, tilt, pair)
        if not whole and decay is None:
            continue
        found = expected_positive_part(grouped, n, tilt, width=width, decay=decay)
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
        if best.width <= width:
            break
    return best


def _rough_log_delta(cells: CellGains, n: int) -> float:
    """About log delta (Chernoff's bound of the cells' means); not certified."""
    law = mean_law(cells)
    if float(law.g.max()) <= 0.0:
        return -math.inf
    alpha = find_tilt(law, n, allow_rare=False).alpha
    return n * log_moment(law, alpha)[0] - 1.0 - math.log(alpha) - math.log(n)


def _decay(cells: CellGains, law: GainLaw, tilt: Tilt, pair: ShuffledPair) -> Decay | None:
    """Bounds on |phi| where they can help."""
    log_m, slack = log_moment(law, tilt.alpha)
    if pair.n <= _FEW or not math.isfinite(log_m + slack):
        return None
    return Decay(cells, rel=pair.rel, alpha=tilt.alpha, log_m=log_m + slack)


def _groups(law: GainLaw, tilt: Tilt, n: int, width: float, *, whole: bool) -> int:
    """How many groups of cells keep the third-order error, like groups^-3, small enough.

    Near the axis, |s| ~ 6 over the tilted standard deviation of S, it must be below the width.
    Along the whole contour it is weighted by |F|: with many messages F is tiny there and the error
    of n log M only has to stay moderate; with few it counts in full.
    """
    if law.third is None or law.top is None or not tilt.variance > 0.0:
        return _FEWEST_GROUPS
    third = weighted_exponential(law.third, tilt.alpha * law.top)
    near = math.hypot(tilt.alpha, 6.0 / math.sqrt(n * tilt.variance))
    excess = n * near**3 * third / (0.05 * width)
    if whole:
        far = 8.0 / math.sqrt(width)
        scale = n * tilt.alpha**3 * third
        excess = max(excess, min(scale * far**3 / 10.0, scale * far**2 / (0.1 * width)))
        if n <= _FEW:
            excess = max(excess, scale * far**2 / (0.1 * width))
    grown = _FEWEST_GROUPS * min(excess, 1e9) ** (1.0 / 3.0)
    return int(min(_MOST_GROUPS, max(_FEWEST_GROUPS, grown)))


def _one_sided_cells(alone: LogInterval, n: int) -> LogInterval:
    """E[S]_+ <= n E[G]_+ where no cell has a positive mean."""
    top = alone.high + math.log(n)
    return LogInterval(-math.inf, top + 4 * U * (1.0 + abs(top)) if top > -math.inf else top)


def _one_message(cells: CellGains) -> LogInterval:
    """log E[G]_+ for n = 1: the mean on a cell, or the spread to the ends of the one it straddles."""
    below = np.maximum(cells.mean - cells.err, 0.0)
    room = np.maximum(cells.high - cells.low, 1e-300)
    spread = cells.high * np.clip((cells.mean + cells.err - cells.low) / room, 0.0, 1.0)
    above = np.where(cells.low >= 0.0, cells.mean + cells.err, np.where(cells.high > 0, spread, 0.0))
    pad = 1.0 + 1e-9
    low, high = float((cells.w * below).sum()) / pad, float((cells.w * above).sum()) * pad
    return LogInterval(
        math.log(low) if low > 0.0 else -math.inf, math.log(high) if high > 0.0 else -math.inf
    )


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


def _capped(found: LogInterval, pair: ShuffledPair, epsilon: float) -> LogInterval:
    """E[S]_+ <= n E[G]_+: the divergence of n messages is at most that of one."""
    one = Enumeration(pair.with_n(1)).expected_positive_part(epsilon)
    cap = one.high + math.log(pair.n)
    return LogInterval(found.low, min(found.high, cap + 4 * U * (1.0 + abs(cap))))


def _outward(low: float, high: float) -> LogInterval:
    """Make room for the rounding of logarithms themselves, which matters far from 0."""
    if math.isfinite(low):
        low -= 8 * U * (1.0 + abs(low))
    if math.isfinite(high):
        high = min(high + 8 * U * (1.0 + abs(high)), 0.0)
    return LogInterval(low, high)


def _log_add(log_x: float, y: float) -> float:
    """log(e^log_x + y) for y >= 0."""
    if y <= 0.0:
        return log_x
    log_y = math.log(y)
    top, rest = max(log_x, log_y), min(log_x, log_y)
    return top + math.log1p(math.exp(rest - top))


def _log_subtract(log_x: float, y: float) -> float:
    """log(e^log_x - y)_+ for y >= 0."""
    if y <= 0.0 or log_x == -math.inf:
        return log_x
    gap = math.log(y) - log_x
    return log_x + math.log1p(-math.exp(gap)) if gap < 0.0 else -math.inf
