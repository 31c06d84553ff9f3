"""The papers' own algorithms for the blanket: a certified FFT, and a grid in floating point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis, Curve
from shuffledp.analysis.approximate import FLOATS, IN_FLOATS, by_halving
from shuffledp.analysis.by_curve import CurveSide
from shuffledp.analysis.limits import blanket_pairs
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source, one_randomizer
from shuffledp.baselines import certified_fft, grid
from shuffledp.index import gaussian_epsilon
from shuffledp.pair import UNIT_ROUNDOFF as U
from shuffledp.pair import ShuffledPair
from shuffledp.reductions import blanket_pair

# The FFT grows with n: so many halvings after the guess bring rtol about.
_HALVINGS = 5
# The relative width of delta that the published grid is chosen for, as its authors do.
_GRID_WIDTH = 0.2


class _CertifiedFFT(Analysis):
    """Of one randomizer."""

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """The largest curve of its worst pairs."""
        self.require(source)
        randomizer = one_randomizer(source, self.key)
        pairs = [
            blanket_pair(randomizer, x0, x1, n=n, cells=cells)
            for x0, x1 in randomizer.worst_pairs().pairs
        ]
        cap = float(randomizer.eps0)
        return CurveSide(
            self.key,
            self.end,
            self.theorem_for(source),
            (),
            ({"analysis": self.key},),
            self.assumptions(source),
            ends=_ends(pairs),
            halvings=_HALVINGS,
            guess=lambda delta: gaussian_epsilon(pairs[0], delta=delta, cap=cap),
        )


def _ends(
    pairs: list[ShuffledPair],
) -> Callable[[float, float], tuple[float, float, dict[str, Any]]]:
    def ends(epsilon: float, width: float) -> tuple[float, float, dict[str, Any]]:
        found = [certified_fft.fft_delta(pair, epsilon=epsilon, width=width) for pair in pairs]
        low, high = max(f.low for f in found), max(f.high for f in found)
        points = max(f.points for f in found)
        return _log(low, down=True), _log(high, down=False), {"points": points}

    return ends


def _log(x: float, *, down: bool) -> float:
    if x <= 0.0:
        return -math.inf
    return math.log(x) + (-1.0 if down else 1.0) * 4 * U * (1.0 + abs(math.log(x)))


def _grid(source: Source, n: int, cells: int) -> Curve:
    pairs = blanket_pairs(source, "blanket-grid", n, cells)

    def delta_at(epsilon: float) -> float:
        steps = [grid.step_for(pair, epsilon=epsilon, width=_GRID_WIDTH) for pair in pairs]
        return max(
            grid.grid_delta(pair, epsilon=epsilon, step=step, rounding="up")[0]
            for pair, step in zip(pairs, steps, strict=True)
        )

    return by_halving(delta_at, min(source.eps0, 20.0), FLOATS)


CERTIFIED_FFT = _CertifiedFFT(
    "blanket-certified-fft",
    "upper",
    theorems.CERTIFIED_FFT,
    "as the blanket, n >= 2; its FFT grows with n, and its rounding limits delta",
    kind="algorithm",
    slow=True,
    worst="pairs",
)
GRID = Analysis(
    "blanket-grid",
    "estimate",
    theorems.BLANKET_GRID,
    f"as the blanket{IN_FLOATS}",
    kind="algorithm",
    slow=True,
    approximation=_grid,
)
