"""Where to split large G off: layers of G, each of which gets a contour of its own.

Nothing here is certified: any cuts are valid (docs/theory.md, section 6.10); good ones leave little
to cancel. All of it works on a few hundred atoms that stand for the cells.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from shuffledp.divergence.gain import GainLaw, part_below
from shuffledp.divergence.tilt import find_tilt
from shuffledp.pair import Array

ROUGH_CELLS, MORE_ROUGH_CELLS = 512, 8192
_SPLIT_GAIN = 1.5
_LIGHT = 3.0
_SPLIT_LEVELS = 34
# How far apart layers are, and how far once one large message makes S > 0 by itself.
_LAYER = 4.0
_LAYER_GAIN = 0.5
_LAYER_BEYOND = 16.0
_CLEAR = 30.0
_MOST_LAYERS = 40
_REFINEMENTS, _NEGLIGIBLE = 4, 10.0
_FAR_BELOW = 40.0


@dataclass
class Hint:
    """Where large messages were split off at an eps nearby; it saves time and certifies nothing.

    ``atoms``: how many stand for the cells when cuts are looked for.
    """

    cuts: list[float] | None = None
    atoms: int = ROUGH_CELLS

    def of(self, law: GainLaw, n: int) -> list[float]:
        """The cuts for a law of a few hundred atoms: those known where they still divide it."""
        if self.cuts is None or not divides(self.cuts, law.g, law.g):
            self.cuts = _cuts(law, n)
        return self.cuts


def divides(cuts: list[float], mean: Array, high: Array) -> bool:
    """Whether there is something in (0, first cut], between any two, and above the last."""
    if not cuts:
        return True
    ends = itertools.pairwise([0.0, *cuts, math.inf])
    return all(bool(np.any((mean > low) & (high <= top))) for low, top in ends)


def layer_scale(law: GainLaw, cut: float, n: int) -> float:
    """log of transform/alpha at the tilt, for sums with some G above the cut."""
    law = law.with_active_above(cut)
    if not bool(law.active.any()) or bool(law.active.all()):
        return math.inf
    return _rough_scale(law, n, force_rare=True)


def bulk_scale(law: GainLaw, n: int) -> float:
    """log of transform/alpha at the tilt, for all sums."""
    return _rough_scale(law, n, force_rare=False)


def _rough_scale(law: GainLaw, n: int, *, force_rare: bool) -> float:
    tilt = find_tilt(law, n, allow_rare=True, force_rare=force_rare)
    return tilt.log_scale - math.log(tilt.alpha)


def _cuts(law: GainLaw, n: int) -> list[float]:
    """What makes the scales together smallest, and layers above and below it.

    The scale is what Chernoff's bound gives; the nearer it is to the truth, the less cancels.
    """
    if not float(law.g.min(initial=0.0)) < 0.0 < float(law.g.max(initial=0.0)):
        return []
    whole = find_tilt(law, n)
    if whole.alpha * float(law.g.max()) < _LIGHT:
        # The tilt hardly tells the largest G from others: there is no tail to split off.
        return []
    first = _first_cut(law, n, whole.log_scale - math.log(whole.alpha))
    if first is None:
        return []
    return _refined(law, _lower_cuts(law, _upper_cuts(law, [first], n), n), n)


def _first_cut(law: GainLaw, n: int, whole: float) -> float | None:
    """Where the scales below and above are about equal: one falls and the other rises with it."""
    positive = law.g[law.g > 0.0]
    cuts = np.geomspace(float(positive.min()), float(positive.max()), _SPLIT_LEVELS)[1:-1]
    # Something has to lie below the cut and above it.
    cuts = cuts[(cuts > float(positive.min())) & (cuts < float(positive.max()))]
    found = {}

    def scales(i: int) -> tuple[float, float]:
        if i not in found:
            cut = float(cuts[i])
            found[i] = bulk_scale(part_below(law, cut), n), layer_scale(law, cut, n)
        return found[i]

    low, high = 0, cuts.size
    while low < high:
        middle = (low + high) // 2
        below, beyond = scales(middle)
        low, high = (low, middle) if below >= beyond else (middle + 1, high)
    for i in (low - 1, low):
        if 0 <= i < cuts.size:
            scales(i)
    total, i = min(
        ((float(np.logaddexp(*both)), i) for i, both in found.items()), default=(math.inf, 0)
    )
    return float(cuts[i]) if total < whole - _SPLIT_GAIN else None


def _scales(law: GainLaw, cuts: list[float], n: int) -> list[tuple[float, float, float]]:
    """Every layer above the first cut: its ends, and its scale."""
    ends = itertools.pairwise([*cuts, float(law.g.max())])
    return [(low, high, layer_scale(part_below(law, high), low, n)) for low, high in ends]


def _largest(layers: list[tuple[float, float, float]]) -> float:
    return max((scale for _, _, scale in layers if scale < math.inf), default=-math.inf)


def _lower_cuts(law: GainLaw, cuts: list[float], n: int) -> list[float]:
    """More cuts below the first that make what is left under all cuts smaller."""
    upper = part_below(law, cuts[0])
    base, above = bulk_scale(upper, n), _largest(_scales(law, cuts, n))
    # Below what lies above the cut by this much nothing is gained.
    while len(cuts) < _MOST_LAYERS and base > above - _NEGLIGIBLE:
        cut = cuts[0] / _LAYER
        small = part_below(upper, cut)
        if not float(small.g.max(initial=-1.0)) > 0.0:
            break
        under = bulk_scale(small, n)
        if np.logaddexp(under, layer_scale(upper, cut, n)) >= base - _LAYER_GAIN:
            break
        cuts.insert(0, cut)
        base, upper = under, small
    return cuts


def _upper_cuts(law: GainLaw, cuts: list[float], n: int) -> list[float]:
    """More cuts above, a factor apart, none next to the largest G."""
    top = float(law.g.max())
    clear = _CLEAR * n * max(-law.mean, 0.0)
    most = layer_scale(law, cuts[0], n)
    while len(cuts) < _MOST_LAYERS:
        ratio = _LAYER if cuts[-1] < clear else _LAYER_BEYOND
        cut = cuts[-1] * ratio
        if cut * _LAYER > top or not bool(np.any((law.g > cuts[-1]) & (law.g <= cut))):
            break
        if layer_scale(law, cuts[-1], n) < most - _FAR_BELOW:
            break
        cuts.append(cut)
    return cuts


def _refined(law: GainLaw, cuts: list[float], n: int) -> list[float]:
    """Cuts inside layers that count, where that makes what is relative to them smaller."""
    base = bulk_scale(part_below(law, cuts[0]), n)
    for _ in range(_REFINEMENTS):
        layers = _scales(law, cuts, n)
        most = max(base, _largest(layers))
        found = [
            math.sqrt(low) * math.sqrt(high)
            for low, high, scale in layers
            if most - _NEGLIGIBLE < scale < math.inf and _gains(law, low, high, scale, n)
        ]
        if not found:
            break
        cuts = sorted([*cuts, *found])
    return cuts


def _gains(law: GainLaw, low: float, high: float, scale: float, n: int) -> bool:
    """Whether a layer is better in two."""
    middle = math.sqrt(low) * math.sqrt(high)
    one = layer_scale(part_below(law, middle), low, n)
    two = layer_scale(part_below(law, high), middle, n)
    return bool(np.logaddexp(one, two) < scale - _LAYER_GAIN)
