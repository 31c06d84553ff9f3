"""Certified E[S]_+ for continuous outputs, from fine cells.

Three devices, each exact or accounted for (docs/theory.md, section 6): cells are put in groups of
two atoms that keep mean and variance; far nodes are spared where |phi| is certified to decay; and
where G has a heavy tail the event of a large message is split off, S|none and S|some being
integrated each on its own contour.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.intervals import LogInterval, added, common
from shuffledp.divergence.chernoff import log_chernoff
from shuffledp.divergence.decay import Decay, SplitDecay
from shuffledp.divergence.estimate import Part, rough_parts, total_of
from shuffledp.divergence.few import MOST_MESSAGES, SHARP, VERY_FEW, few_messages
from shuffledp.divergence.gain import CellGains, GainLaw, compressed_gains, mean_law
from shuffledp.divergence.layers import Hint, divides
from shuffledp.divergence.positive_part import expected_positive_part
from shuffledp.divergence.tilt import (
    Tilt,
    active_moment,
    find_tilt,
    log_moment,
    weighted_exponential,
)
from shuffledp.pair import UNIT_ROUNDOFF, ShuffledPair

U = UNIT_ROUNDOFF
_FEW, _RATHER_FEW = 15, 40
_FEWEST_GROUPS = 100
_MOST_GROUPS = 6000
_GROUPS_FOR_FEW = 3000
_TILT_CELLS, _FINE_TILT_CELLS, _STEEP = 1024, 1 << 14, 15.0
_NEAR_ENOUGH, _SETTLED = 4.0, 20.0
_GROUPINGS = 2
_LOOSEST, _SLIGHT = 0.1, 3.0
_USUAL_LOSS, _LARGEST_LOSS = 3.0, 12.0
_NOTHING = LogInterval(-math.inf, -math.inf)


# In extreme laws error terms overflow to inf, which only makes the bracket say less.
@np.errstate(over="ignore", invalid="ignore")
def expected_positive_part_of_cells(
    pair: ShuffledPair, cells: CellGains, width: float, hint: Hint
) -> LogInterval:
    """Bracket log E[S]_+ of a pair of cells to about the relative ``width``."""
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
    found = LogInterval(-math.inf, math.inf)
    if n <= MOST_MESSAGES:
        found = few_messages(cells, n, rel=pair.rel, width=width, cheap=n > VERY_FEW)
    if found.width > max(width, SHARP):
        found = common(found, _layered(pair, cells, hint, width))
    if VERY_FEW < n <= MOST_MESSAGES and found.width > max(width, SHARP):
        found = common(found, few_messages(cells, n, rel=pair.rel, width=width))
    cap = alone.high + math.log(n)
    return LogInterval(found.low, min(found.high, cap + 4 * U * (1.0 + abs(cap))))


class _Layer(NamedTuple):
    """Cells with some G above ``threshold``, where those of ``small`` end; or all cells."""

    cells: CellGains
    small: CellGains | None = None
    threshold: float | None = None

    @property
    def split(self) -> bool:
        """Whether some message has to be large."""
        return self.small is not None


def _integrated(
    pair: ShuffledPair, layer: _Layer, part: Part, width: float, *, enough: float
) -> LogInterval:
    """E[S_+; some G in the layer] on a contour of its own, or Chernoff's bound below e^enough.

    Where |phi| is certified to decay, few nodes and few groups of cells do. With few messages, or
    few of them outside the left-over, the whole contour is needed, and groups to match.
    """
    n, cells = pair.n, layer.cells
    if not layer.split and float(cells.mean.max()) <= 0.0:
        return _one_sided_cells(_one_message(cells, pair.rel), n)
    means, first = _first_tilt(layer, n)
    best = LogInterval(-math.inf, math.inf)
    if part.scale < enough:
        cap = log_chernoff(cells, n, first.alpha, rel=pair.rel, threshold=layer.threshold)
        best = LogInterval(-math.inf, cap)
        if cap < enough:
            return best
    emphasis, loss = _emphasis(means, first, n), _loss(part)

    def grouped(groups: int) -> GainLaw:
        return compressed_gains(
            cells,
            rel=pair.rel,
            tilt=first.alpha,
            groups=groups,
            threshold=layer.threshold,
            emphasis=emphasis,
        )

    few = grouped(_FEWEST_GROUPS)
    for whole in (False, True):
        groups = _groups(few, first, n, width / loss, whole=whole, emphasis=emphasis)
        settled = False
        for _ in range(_GROUPINGS):
            law = grouped(groups)
            rare = layer.split or whole
            tilt = find_tilt(law, n, allow_rare=rare, force_rare=layer.split, start=first.alpha)
            decay = None if whole else _decay_of(layer, law, tilt, pair)
            if not whole and decay is None:
                break
            found, settled = expected_positive_part(law, n, tilt, width=width, decay=decay)
            best = LogInterval(max(best.low, found.low), min(best.high, found.high))
            if whole or not settled or best.width <= _NEAR_ENOUGH * width or groups == _MOST_GROUPS:
                break
            # Errors of groups may count farther out than was thought; they fall like groups^-3.
            groups = _more(groups, min(best.width, 1.0) / width)
        # The whole contour helps where the decay could not be certified, not to shave a little off.
        if best.width <= (_SETTLED if settled else _NEAR_ENOUGH) * width:
            break
    return best


def _more(groups: int, excess: float) -> int:
    return int(min(_MOST_GROUPS, groups * min(1.5 * excess ** (1.0 / 3.0), 10.0) + 1))


def _first_tilt(layer: _Layer, n: int) -> tuple[GainLaw, Tilt]:
    """The saddle point for cells at their means, in steps as fine as its exponentials need."""
    for most in (_TILT_CELLS, _FINE_TILT_CELLS):
        means = mean_law(layer.cells, threshold=layer.threshold or 0.0, most=most)
        first = find_tilt(means, n, force_rare=layer.split)
        if first.alpha * float(layer.cells.high.max()) <= _STEEP:
            break
    return means, first


def _decay_of(
    layer: _Layer, law: GainLaw, tilt: Tilt, pair: ShuffledPair
) -> Decay | SplitDecay | None:
    """Bounds on the integrand far out, where they can help."""
    if layer.small is None:
        return _decay(layer.cells, law, tilt, pair)
    return _split_decay(law, layer.small, tilt, pair)


def _emphasis(law: GainLaw, tilt: Tilt, n: int) -> float:
    """Errors count relative to the part split off, which is n V M_s^{n-1} where that is rare."""
    if not tilt.rare:
        return 1.0
    return max(1.0, 1.0 / (n * max(active_moment(law, tilt.alpha), 1e-300)))


def _layered(pair: ShuffledPair, cells: CellGains, hint: Hint, width: float) -> LogInterval:
    """E[S]_+ by where the largest G lies: below the first cut, between two of them, above all.

    Each layer has a contour of its own, and an accuracy that its share of the whole calls for.
    """
    n = pair.n
    law = mean_law(cells, most=hint.atoms)
    cuts = hint.of(law, n)
    if not divides(cuts, cells.mean, cells.high):
        cuts = []
    parts = [*(cells.below(cut, pair.rel) for cut in cuts), cells]
    rough = rough_parts(law, n, cuts)
    share, total = width / len(rough), total_of(rough)
    found = _NOTHING
    for layer, part in zip(_layers(parts, cuts), rough, strict=True):
        # A part that the estimate finds empty is looked at closely where all of them are.
        spare = total - part.value if total > -math.inf else 0.0
        wanted = min(share * math.exp(min(max(spare, 0.0), 300.0)), _LOOSEST)
        enough = total + math.log(share) - _SLIGHT
        found = added(found, _integrated(pair, layer, part, wanted, enough=enough))
    return found


def _layers(parts: list[CellGains], cuts: list[float]) -> list[_Layer]:
    above = zip(itertools.pairwise(parts), cuts, strict=True)
    return [_Layer(parts[0]), *(_Layer(upper, small, cut) for (small, upper), cut in above)]


def _loss(part: Part) -> float:
    """By how much Chernoff's bound, which errors are relative to, is more than usually too large.

    A bound on a bulk of normal sums is about e^3 times their value.
    """
    if not math.isfinite(part.scale - part.value):
        return 1.0
    return math.exp(min(max(part.scale - part.value - _USUAL_LOSS, 0.0), _LARGEST_LOSS))


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
    alpha = min(max(tilt.alpha, 1e-100), 1e100)
    counted = np.minimum(law.third, law.w / alpha**3)
    counted *= np.where(law.active, emphasis, 1.0)
    third = weighted_exponential(counted, tilt.alpha * law.top)
    near = min(math.hypot(alpha, 6.0 / math.sqrt(n * tilt.variance)), 1e100)
    excess = n * near**3 * third / (0.1 * width)
    if whole:
        far = 8.0 / math.sqrt(width)
        scale = n * alpha**3 * third
        excess = max(excess, min(scale * far**3 / 10.0, scale * far**2 / (0.1 * width)))
        if n <= _RATHER_FEW:
            excess = max(excess, scale * far**2 / (0.1 * width))
    grown = _FEWEST_GROUPS * min(1e9, excess) ** (1.0 / 3.0)
    fewest = _GROUPS_FOR_FEW if whole and n <= _RATHER_FEW else _FEWEST_GROUPS
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
