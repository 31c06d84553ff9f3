"""Quick estimates of log E[S]_+: they propose where to look and certify nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.divergence.gain import GainLaw, mean_gain, part_below, plain_law, trimmed
from shuffledp.divergence.layers import ROUGH_CELLS, Hint
from shuffledp.divergence.scattered import coarse, is_scattered
from shuffledp.divergence.tilt import find_tilt
from shuffledp.numerics.normal import log_mean_excess
from shuffledp.pair import ShuffledPair

_LARGEST_LOSS, _RARE_LOSS = 6.0, 2.5
_SQRT_TAU = math.sqrt(2.0 * math.pi)


class Part(NamedTuple):
    """A layer of G: log of transform/alpha at its tilt, and about log E[S_+; largest G in it]."""

    scale: float
    value: float


_NOTHING = Part(math.inf, -math.inf)


def rough_log_expectation(law: GainLaw, n: int) -> float:
    """About log E[S]_+: the tilted law of S taken to be normal."""
    return rough_part(law, n).value


def rough_part(law: GainLaw, n: int, *, force_rare: bool = False) -> Part:
    """The same, of the event that some active message occurs, and what it is relative to."""
    if law.g.size == 0 or not float(law.g.max()) > 0.0:
        return _NOTHING
    if float(law.g.min()) >= 0.0 and law.mean > 0.0:
        return Part(math.log(n * law.mean), math.log(n * law.mean))
    tilt = find_tilt(law, n, force_rare=force_rare)
    scale = tilt.log_scale - math.log(tilt.alpha)
    if not math.isfinite(scale):
        return Part(scale, -math.inf)
    if 0.0 < tilt.spread < math.inf:
        value = tilt.log_scale + _normal_part(tilt.alpha, tilt.slope, tilt.spread)
        # Chernoff: never above scale/e; and far below it only where the law is far from normal.
        least = scale - (_RARE_LOSS if tilt.rare else _LARGEST_LOSS)
        return Part(scale, min(max(value, least), scale - 1.0))
    # A single atom may be all there is: Chernoff's scale, times the usual constant.
    return Part(scale, scale - 1.0 if tilt.rare else -math.inf)


def _normal_part(alpha: float, slope: float, variance: float) -> float:
    """log E[S_+ e^{-alpha S}] for S normal of mean slope/alpha and this variance."""
    deviation = math.sqrt(variance)
    # Where S hardly varies both are next to infinite; their squares must not overflow.
    distance = min(max(slope / alpha / deviation, -1e100), 1e100)
    z = max(distance - alpha * deviation, -1e100)
    return log_mean_excess(z) + math.log(deviation / _SQRT_TAU) - 0.5 * distance**2


def rough_parts(law: GainLaw, n: int, cuts: Sequence[float]) -> list[Part]:
    """Below the first cut, then with the largest G between two cuts, last above all of them."""
    parts = [*(part_below(law, cut) for cut in cuts), law]
    found = [rough_part(parts[0], n)]
    for cut, upper in zip(cuts, parts[1:], strict=True):
        layer = upper.with_active_above(cut)
        divided = bool(layer.active.any()) and not bool(layer.active.all())
        found.append(rough_part(layer, n, force_rare=True) if divided else _NOTHING)
    return found


class Coarse:
    """A few hundred atoms in place of a pair's cells, those that matter above e^level."""

    def __init__(self, pair: ShuffledPair, level: float, atoms: int = ROUGH_CELLS) -> None:
        if is_scattered(pair):
            pair = coarse(pair)
            starts = np.arange(pair.w.size)
        else:
            pair = trimmed(pair, 0.0, level)
            starts = np.arange(0, pair.w.size, -(-pair.w.size // atoms))
        self._pair = pair
        self._w = np.add.reduceat(pair.w, starts)
        self._a = np.add.reduceat(pair.w * pair.a, starts) / self._w
        self._b = np.add.reduceat(pair.w * pair.b, starts) / self._w
        self.seen = pair.tail[0]

    def law(self, epsilon: float) -> GainLaw:
        """G at one eps, every atom exact."""
        g = self._a - math.exp(epsilon) * self._b
        # As in the certified law: one message below the floor settles the sum.
        floor = -(1.01 * self._pair.n * max(0.0, float(g.max())) + 1e-300)
        floored = bool((g < floor).any())
        g = np.maximum(g, floor)
        mean = float((self._w * g).sum()) if floored else mean_gain(self._pair, epsilon)[0]
        return plain_law(self._w, g, mean=mean)


def rough_log_expectation_of_layers(law: GainLaw, n: int, hint: Hint) -> float:
    """The same for laws with a heavy tail: a sum over layers of the largest G."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if not float(law.g.min()) < 0.0 < float(law.g.max()):
            return rough_log_expectation(law, n)
        return total_of(rough_parts(law, n, hint.of(law, n)))


def total_of(parts: Sequence[Part]) -> float:
    """log of the sum of the parts' values."""
    return float(np.logaddexp.reduce([part.value for part in parts]))
