"""Certified E[S]_+ for continuous outputs, from fine cells.

Three devices, each exact or accounted for (docs/theory.md, section 6): cells are put in groups of
two atoms that keep mean and variance; far nodes are spared where |phi| is certified to decay; and
where G has a heavy tail the event of a large message is split off, S|none and S|some being
integrated each on its own contour.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from shuffledp.divergence.contour import LogInterval, expected_positive_part
from shuffledp.divergence.decay import Decay, SplitDecay
from shuffledp.divergence.estimate import rough_log_expectation_of_cells
from shuffledp.divergence.gain import CellGains, GainLaw, compressed_gains, mean_law
from shuffledp.divergence.tilt import (
    Tilt,
    active_moment,
    find_tilt,
    log_moment,
    weighted_exponential,
)
from shuffledp.pair import UNIT_ROUNDOFF, ShuffledPair

U = UNIT_ROUNDOFF
FIRST_LEVEL = -60.0
_FEW = 15
_FEWEST_GROUPS = 100
_MOST_GROUPS = 6000
_GROUPS_FOR_FEW = 3000
_ROUGH_CELLS = 2048
_NEAR_ENOUGH = 4.0
_LOOSEST = 0.1
_SPLIT_GAIN = 1.5
_SPLIT_LEVELS = 14
# Layers of G: how far apart, and how far once one large message makes S > 0 by itself.
_LAYER = 4.0
_LAYER_GAIN = 0.5
_LAYER_BEYOND = 16.0
_CLEAR = 30.0
_MOST_LAYERS = 40
_LEAST_CELLS = 8
_NOTHING = LogInterval(-math.inf, -math.inf)


@dataclass
class Hint:
    """Where large messages were split off at an eps nearby; it saves time and certifies nothing."""

    cuts: list[float] | None = None


def expected_positive_part_of_cells(
    pair: ShuffledPair, cells: CellGains, width: float, hint: Hint
) -> LogInterval:
    """Bracket log E[S]_+ of a pair of cells to about the relative ``width``."""
    # In extreme laws error terms overflow to inf, which only makes the bracket say less.
    with np.errstate(over="ignore", invalid="ignore"):
        return _bracket(pair, cells, width, hint)


def _bracket(pair: ShuffledPair, cells: CellGains, width: float, hint: Hint) -> LogInterval:
    alone = _one_message(cells, pair.rel)
    n = pair.n
    if n == 1:
        return alone
    if float(cells.high.max()) <= 0.0:
        return _NOTHING
    if float(cells.mean.max()) <= 0.0:
        return _one_sided_cells(alone, n)
    if float(cells.low.min()) >= 0.0:
        return _all_positive(cells, n)
    known = hint.cuts is not None and _still_apart(cells, hint.cuts)
    cuts = hint.cuts if known and hint.cuts is not None else _cuts(cells, n)
    hint.cuts = cuts
    found = _layered(pair, cells, cuts, width) if cuts else _whole(pair, cells, width)
    cap = alone.high + math.log(n)
    return LogInterval(found.low, min(found.high, cap + 4 * U * (1.0 + abs(cap))))


def log_sum(x: LogInterval, y: LogInterval) -> LogInterval:
    """The bracket of a sum."""
    return LogInterval(_log_add(x.low, y.low, -1.0), _log_add(x.high, y.high, 1.0))


def _log_add(x: float, y: float, outward: float) -> float:
    top, rest = max(x, y), min(x, y)
    if not math.isfinite(top) or rest == -math.inf:
        return top
    total = top + math.log1p(math.exp(rest - top))
    return total + outward * 8 * U * (1.0 + abs(total))


def _whole(pair: ShuffledPair, cells: CellGains, width: float) -> LogInterval:
    """One contour. Where |phi| is certified to decay, few nodes and few groups of cells do.

    With few messages, or few of them outside the left-over, the whole contour is needed, and
    groups to match.
    """
    n = pair.n
    if float(cells.mean.max()) <= 0.0:
        return _one_sided_cells(_one_message(cells, pair.rel), n)
    means = mean_law(cells)
    first = find_tilt(means, n)
    emphasis = _emphasis(means, first, n)

    def grouped(groups: int) -> GainLaw:
        return compressed_gains(
            cells, rel=pair.rel, tilt=first.alpha, groups=groups, emphasis=emphasis
        )

    few = grouped(_FEWEST_GROUPS)
    best = LogInterval(-math.inf, math.inf)
    for whole in (False, True):
        law = grouped(_groups(few, first, n, width, whole=whole, emphasis=emphasis))
        tilt = find_tilt(law, n, allow_rare=whole)
        decay = None if whole else _decay(cells, law, tilt, pair)
        if not whole and decay is None:
            continue
        found = expected_positive_part(law, n, tilt, width=width, decay=decay)
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
        # The whole contour helps where the decay could not be certified, not to shave a little off.
        if best.width <= _NEAR_ENOUGH * width:
            break
    return best


def _some_large(
    pair: ShuffledPair, cells: CellGains, small: CellGains, threshold: float, width: float
) -> LogInterval:
    """E[S_+; some message has G above the threshold], on a contour of its own."""
    n = pair.n
    means = mean_law(cells, threshold=threshold)
    first = find_tilt(means, n, force_rare=True)
    emphasis = _emphasis(means, first, n)

    def grouped(groups: int) -> GainLaw:
        return compressed_gains(
            cells,
            rel=pair.rel,
            tilt=first.alpha,
            groups=groups,
            threshold=threshold,
            emphasis=emphasis,
        )

    best = LogInterval(-math.inf, math.inf)
    for whole in (False, True):
        law = grouped(
            _groups(grouped(_FEWEST_GROUPS), first, n, width, whole=whole, emphasis=emphasis)
        )
        tilt = find_tilt(law, n, force_rare=True)
        decay = None if whole else _split_decay(law, small, tilt, pair)
        if not whole and decay is None:
            continue
        found = expected_positive_part(law, n, tilt, width=width, decay=decay)
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
        if best.width <= _NEAR_ENOUGH * width:
            break
    return best


def _emphasis(law: GainLaw, tilt: Tilt, n: int) -> float:
    """Errors count relative to the part split off, which is n V M_s^{n-1} where that is rare."""
    if not tilt.rare:
        return 1.0
    return max(1.0, 1.0 / (n * max(active_moment(law, tilt.alpha), 1e-300)))


def _layered(pair: ShuffledPair, cells: CellGains, cuts: list[float], width: float) -> LogInterval:
    """E[S]_+ by where the largest G lies: below the first cut, between two of them, above all.

    Each layer has a contour of its own, and an accuracy that its share of the whole calls for.
    """
    n = pair.n
    parts = [cells.below(cut, pair.rel) for cut in cuts]
    layers = list(zip(parts, cuts, [*parts[1:], cells], strict=True))
    scales = [_rough_scale(mean_law(parts[0], most=_ROUGH_CELLS), n, force_rare=False)]
    scales += [_layer_scale(upper, cut, n) for _, cut, upper in layers]
    rough = rough_log_expectation_of_cells(cells, n)
    share = width / len(scales)

    def wanted(scale: float) -> float:
        return min(share * math.exp(min(max(rough - scale, 0.0), 300.0)), _LOOSEST)

    total = _whole(pair, parts[0], wanted(scales[0]))
    for (small, cut, upper), scale in zip(layers, scales[1:], strict=True):
        total = log_sum(total, _some_large(pair, upper, small, cut, wanted(scale)))
    return total


def _cuts(cells: CellGains, n: int) -> list[float]:
    """Where to split large G off: what makes the scales together smallest, and layers above it.

    The scale is what Chernoff's bound gives; the nearer it is to the truth, the less cancels.
    """
    law = mean_law(cells, most=_ROUGH_CELLS)
    best, first = _rough_scale(law, n, force_rare=False) - _SPLIT_GAIN, None
    mass = law.w * np.maximum(law.g, 0.0)
    order = np.argsort(law.g)
    above = np.cumsum(mass[order][::-1])[::-1]
    total = float(above[0])
    for k in range(1, _SPLIT_LEVELS):
        at = int(np.searchsorted(-above, -total * math.exp(-2.0 * k)))
        if not 0 < at < order.size - 2:
            continue
        cut = float(law.g[order[at]])
        if not cut > 0.0:
            continue
        small = cells.below(cut, 0.0)
        if float(small.mean.max(initial=-1.0)) <= 0.0:
            continue
        one = _rough_scale(mean_law(small, most=_ROUGH_CELLS), n, force_rare=False)
        two = _layer_scale(cells, cut, n)
        both = max(one, two) + math.log1p(math.exp(-abs(one - two)))
        if both < best:
            best, first = both, cut
    return [] if first is None else _layer_cuts(cells, first, n)


def _still_apart(cells: CellGains, cuts: list[float]) -> bool:
    """Whether there is something below all cuts, between any two, and above the last."""
    if not cuts:
        return True
    ends = [0.0, *cuts, math.inf]
    inner = [
        bool(np.any((cells.mean > low) & (cells.high <= top)))
        for low, top in itertools.pairwise(ends)
    ]
    return all(inner)


def _lower_cuts(cells: CellGains, first: float, n: int) -> list[float]:
    """The first cut and those below it that make what is left under all cuts smaller."""
    cuts = [first]
    upper = cells.below(first, 0.0)
    base = _rough_scale(mean_law(upper, most=_ROUGH_CELLS), n, force_rare=False)
    while len(cuts) < _MOST_LAYERS:
        cut = cuts[0] / _LAYER
        small = upper.below(cut, 0.0)
        if float(small.mean.max(initial=-1.0)) <= 0.0:
            break
        under = _rough_scale(mean_law(small, most=_ROUGH_CELLS), n, force_rare=False)
        if np.logaddexp(under, _layer_scale(upper, cut, n)) >= base - _LAYER_GAIN:
            break
        cuts.insert(0, cut)
        base, upper = under, small
    return cuts


def _layer_cuts(cells: CellGains, first: float, n: int) -> list[float]:
    """The cuts: below and above the first, a factor apart, none next to the largest G."""
    top = float(cells.high.max())
    clear = _CLEAR * n * max(-cells.total, 0.0)
    cuts = _lower_cuts(cells, first, n)
    while len(cuts) < _MOST_LAYERS:
        ratio = _LAYER if cuts[-1] < clear else _LAYER_BEYOND
        cut = cuts[-1] * ratio
        if cut * _LAYER > top:
            break
        above = (cells.high > cuts[-1]) & (cells.high <= cut)
        if int(above.sum()) > _LEAST_CELLS:
            cuts.append(cut)
        else:
            break
    return cuts


def _layer_scale(cells: CellGains, cut: float, n: int) -> float:
    law = mean_law(cells, threshold=cut, most=_ROUGH_CELLS)
    if not bool(law.active.any()) or bool(law.active.all()):
        return math.inf
    return _rough_scale(law, n, force_rare=True)


def _rough_scale(law: GainLaw, n: int, *, force_rare: bool) -> float:
    """log of transform/alpha at the tilt, for cells at their means."""
    tilt = find_tilt(law, n, allow_rare=True, force_rare=force_rare)
    return tilt.log_scale - math.log(tilt.alpha)


def _decay(cells: CellGains, law: GainLaw, tilt: Tilt, pair: ShuffledPair) -> Decay | None:
    """Bounds on |phi| where they can help."""
    log_m, slack = log_moment(law, tilt.alpha)
    if pair.n <= _FEW or not math.isfinite(log_m + slack):
        return None
    return Decay(cells, rel=pair.rel, alpha=tilt.alpha, log_m=log_m + slack)


def _split_decay(
    law: GainLaw, small: CellGains, tilt: Tilt, pair: ShuffledPair
) -> SplitDecay | None:
    """Bounds on |M^n - M_s^n|, from the decay of the small part."""
    log_m, slack = log_moment(law, tilt.alpha)
    part = active_moment(law, tilt.alpha)
    if pair.n <= _FEW or not math.isfinite(log_m + slack) or not 0.0 < part < math.inf:
        return None
    # M_s <= M: an upper bound of log M serves for both.
    decay = Decay(small, rel=pair.rel, alpha=tilt.alpha, log_m=log_m + slack)
    return SplitDecay(
        decay, log_small=log_m + slack, log_part=math.log(part), log_scale=tilt.log_scale
    )


def _groups(
    law: GainLaw, tilt: Tilt, n: int, width: float, *, whole: bool, emphasis: float = 1.0
) -> int:
    """How many groups of cells keep the third-order error, like groups^-3, small enough.

    Near the axis, |s| ~ 6 over the tilted standard deviation of S, it must be below the width.
    Along the whole contour it is weighted by |F|: with many messages F is tiny there and the error
    of n log M only has to stay moderate; with few it counts in full.
    """
    if law.third is None or law.top is None or law.reach is None or not tilt.variance > 0.0:
        return _FEWEST_GROUPS
    # Groups too wide for the third order count in full: more groups make them narrower.
    counted = np.minimum(law.third, law.w / max(tilt.alpha, 1e-100) ** 3)
    counted *= np.where(law.active, emphasis, 1.0)
    third = weighted_exponential(counted, tilt.alpha * law.top)
    near = math.hypot(tilt.alpha, 6.0 / math.sqrt(n * tilt.variance))
    excess = n * near**3 * third / (0.02 * width)
    if whole:
        far = 8.0 / math.sqrt(width)
        scale = n * tilt.alpha**3 * third
        excess = max(excess, min(scale * far**3 / 10.0, scale * far**2 / (0.1 * width)))
        if n <= _FEW:
            excess = max(excess, scale * far**2 / (0.1 * width))
    grown = _FEWEST_GROUPS * min(excess, 1e9) ** (1.0 / 3.0)
    fewest = _GROUPS_FOR_FEW if whole and n <= _FEW else _FEWEST_GROUPS
    return int(min(_MOST_GROUPS, max(fewest, grown)))


def _one_sided_cells(alone: LogInterval, n: int) -> LogInterval:
    """E[S]_+ <= n E[G]_+ where no cell has a positive mean."""
    top = alone.high + math.log(n)
    return LogInterval(-math.inf, top + 4 * U * (1.0 + abs(top)) if top > -math.inf else top)


def _one_message(cells: CellGains, rel: float) -> LogInterval:
    """log E[G]_+ for n = 1: the mean on a cell, or its spread to the ends where it straddles 0.

    ``rel`` is the relative error of the masses.
    """
    below = np.maximum(cells.mean - cells.err, 0.0)
    room = np.maximum(cells.high - cells.low, 1e-300)
    spread = cells.high * np.clip((cells.mean + cells.err - cells.low) / room, 0.0, 1.0)
    above = np.where(
        cells.low >= 0.0, cells.mean + cells.err, np.where(cells.high > 0, spread, 0.0)
    )
    pad = 1.0 + 1e-9 + 2.0 * rel
    low, high = float((cells.w * below).sum()) / pad, float((cells.w * above).sum()) * pad
    return LogInterval(
        math.log(low) if low > 0.0 else -math.inf, math.log(high) if high > 0.0 else -math.inf
    )


def _all_positive(cells: CellGains, n: int) -> LogInterval:
    """E[S]_+ = n E[G] where G >= 0 throughout."""
    low, high = n * (cells.total - cells.total_err), n * (cells.total + cells.total_err)
    return LogInterval(
        math.log(low) - 16 * U * (1.0 + abs(math.log(low))) if low > 0.0 else -math.inf,
        math.log(high) + 16 * U * (1.0 + abs(math.log(high))) if high > 0.0 else -math.inf,
    )
