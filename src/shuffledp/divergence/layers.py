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


class _Scales:
    """Scales of one law between any two cuts, each computed once.

    A scale is log of transform/alpha at the tilt: what Chernoff's bound gives.
    """

    def __init__(self, law: GainLaw, n: int) -> None:
        self.law, self._n = law, n
        self._under: dict[float, GainLaw] = {math.inf: law}
        self._found: dict[tuple[float, float], float] = {}

    def under(self, cut: float) -> GainLaw:
        """What lies up to the cut."""
        if cut not in self._under:
            self._under[cut] = part_below(self.law, cut)
        return self._under[cut]

    def below(self, cut: float) -> float:
        """Of all sums of gains up to the cut."""
        if (0.0, cut) not in self._found:
            self._found[0.0, cut] = _rough_scale(self.under(cut), self._n, force_rare=False)
        return self._found[0.0, cut]

    def between(self, low: float, high: float) -> float:
        """Of sums of gains up to ``high``, some above ``low`` > 0; inf where all or none are."""
        if (low, high) not in self._found:
            law = self.under(high).with_active_above(low)
            some = bool(law.active.any()) and not bool(law.active.all())
            scale = _rough_scale(law, self._n, force_rare=True) if some else math.inf
            self._found[low, high] = scale
        return self._found[low, high]

    def layers(self, cuts: list[float]) -> list[tuple[float, float, float]]:
        """Every layer above the first cut: its ends, and its scale."""
        ends = itertools.pairwise([*cuts, math.inf])
        return [(low, high, self.between(low, high)) for low, high in ends]

    def largest(self, cuts: list[float]) -> float:
        """The largest finite scale of a layer above the first cut."""
        found = (scale for _, _, scale in self.layers(cuts) if scale < math.inf)
        return max(found, default=-math.inf)


def _rough_scale(law: GainLaw, n: int, *, force_rare: bool) -> float:
    tilt = find_tilt(law, n, allow_rare=True, force_rare=force_rare)
    return tilt.log_scale - math.log(tilt.alpha)


def _cuts(law: GainLaw, n: int) -> list[float]:
    """What makes the scales together smallest, and layers above and below it.

    The nearer a scale is to the truth, the less cancels.
    """
    if not float(law.g.min(initial=0.0)) < 0.0 < float(law.g.max(initial=0.0)):
        return []
    whole = find_tilt(law, n)
    if whole.alpha * float(law.g.max()) < _LIGHT:
        # The tilt hardly tells the largest G from others: there is no tail to split off.
        return []
    scales = _Scales(law, n)
    first = _first_cut(scales, whole.log_scale - math.log(whole.alpha))
    if first is None:
        return []
    clear = _CLEAR * n * max(-law.mean, 0.0)
    return _refined(scales, _lower_cuts(scales, _upper_cuts(scales, [first], clear)))


def _first_cut(scales: _Scales, whole: float) -> float | None:
    """Where the scales below and above are about equal: one falls and the other rises with it."""
    positive = scales.law.g[scales.law.g > 0.0]
    cuts = np.geomspace(float(positive.min()), float(positive.max()), _SPLIT_LEVELS)[1:-1]
    # Something has to lie below the cut and above it.
    cuts = cuts[(cuts > float(positive.min())) & (cuts < float(positive.max()))].tolist()

    def both(cut: float) -> tuple[float, float]:
        return scales.below(cut), scales.between(cut, math.inf)

    low, high = 0, len(cuts)
    seen = set()
    while low < high:
        middle = (low + high) // 2
        below, beyond = both(cuts[middle])
        seen.add(middle)
        low, high = (low, middle) if below >= beyond else (middle + 1, high)
    seen.update(i for i in (low - 1, low) if 0 <= i < len(cuts))
    found = [(float(np.logaddexp(*both(cuts[i]))), cuts[i]) for i in seen]
    total, cut = min(found, default=(math.inf, 0.0))
    return cut if total < whole - _SPLIT_GAIN else None


def _lower_cuts(scales: _Scales, cuts: list[float]) -> list[float]:
    """More cuts below the first that make what is left under all cuts smaller."""
    above = scales.largest(cuts)
    # Below what lies above the cut by this much nothing is gained.
    while len(cuts) < _MOST_LAYERS and scales.below(cuts[0]) > above - _NEGLIGIBLE:
        cut = cuts[0] / _LAYER
        if not float(scales.under(cut).g.max(initial=-1.0)) > 0.0:
            break
        two = np.logaddexp(scales.below(cut), scales.between(cut, cuts[0]))
        if two >= scales.below(cuts[0]) - _LAYER_GAIN:
            break
        cuts = [cut, *cuts]
    return cuts


def _upper_cuts(scales: _Scales, cuts: list[float], clear: float) -> list[float]:
    """More cuts above, a factor apart, none next to the largest G.

    Above ``clear`` one message makes S > 0 whatever the others are.
    """
    g = scales.law.g
    top, most = float(g.max()), scales.between(cuts[0], math.inf)
    while len(cuts) < _MOST_LAYERS:
        cut = cuts[-1] * (_LAYER if cuts[-1] < clear else _LAYER_BEYOND)
        if cut * _LAYER > top or not bool(np.any((g > cuts[-1]) & (g <= cut))):
            break
        if scales.between(cuts[-1], math.inf) < most - _FAR_BELOW:
            break
        cuts = [*cuts, cut]
    return cuts


def _refined(scales: _Scales, cuts: list[float]) -> list[float]:
    """Cuts inside layers that count, where that makes what is relative to them smaller."""
    top = float(scales.law.g.max())
    for _ in range(_REFINEMENTS):
        most = max(scales.below(cuts[0]), scales.largest(cuts))
        found = [
            _between(low, high, top)
            for low, high, scale in scales.layers(cuts)
            if most - _NEGLIGIBLE < scale < math.inf and _gains(scales, low, high, top)
        ]
        if not found:
            break
        cuts = sorted([*cuts, *found])
    return cuts


def _between(low: float, high: float, top: float) -> float:
    return math.sqrt(low) * math.sqrt(min(high, top))


def _gains(scales: _Scales, low: float, high: float, top: float) -> bool:
    """Whether a layer is better in two."""
    middle = _between(low, high, top)
    two = np.logaddexp(scales.between(low, middle), scales.between(middle, high))
    return bool(two < scales.between(low, high) - _LAYER_GAIN)
