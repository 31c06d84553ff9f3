"""Gains rounded to a grid and summed by FFT (Su, Cheng, Wang 2025): both rounded up and down.

The law of G = a - e^eps b is put on a grid of step h, values rounded up for an upper bound of
(1/n) E[G_1 + .. + G_n]_+ and down for a lower one, and convolved n times by one FFT. Rounding moves
the mean of the sum by up to n h, which has to be small against its standard deviation: h falls
like 1/sqrt n, and the cost grows like n log n.

What the window cuts off is bounded here by Bernstein's inequality. (The exponent printed in the
paper for that, 2a^2/b^2 - l, does not follow from Hoeffding's inequality, which gives
2(a - l)^2/b^2; two-sided rounding needs neither.) In exact arithmetic, and but for what the window
cuts off, these are the bounds; in floating point an FFT is off by about 1e-16 times n in every
value, nothing is rounded outward, and a delta below about 1e-12 is noise. For comparison only.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import NotCertified
from shuffledp.pair import Array, ShuffledPair

LARGEST_GRID = 1 << 24
_LOG_CUT = math.log(1e16)
_NOISE = 1e-12
_TINY = 1e-300


class GridBracket(NamedTuple):
    """Both ends of delta in exact arithmetic, and the length of the FFT."""

    low: float
    high: float
    points: int


def grid_delta(
    pair: ShuffledPair, *, epsilon: float, step: float, rounding: Literal["up", "down"]
) -> tuple[float, int]:
    """delta with every gain rounded to the grid, and the length of the FFT.

    Parameters
    ----------
    pair : ShuffledPair
        Atoms, or cells (rounded from the end of the cell that is on the right side).
    epsilon : float
        eps >= 0 in nats.
    step : float
        h > 0, in units of G.
    rounding : {"up", "down"}
        Of the gains.

    Raises
    ------
    NotCertified
        If the grid would need more than 2^24 points.
    """
    epsilon, step = _check.epsilon("epsilon", epsilon), _check.positive("step", step)
    _check.choice("rounding", rounding, ("up", "down"))
    place = _places(pair, epsilon, step, rounding)
    mean = float((pair.w * place).sum())
    variance = float((pair.w * place**2).sum()) - mean**2
    spread = max(float(place.max(initial=0.0)), 0.0) - min(float(place.min(initial=0.0)), 0.0)
    half = _window(pair.n * max(variance, 0.0), spread)
    points = 1 << max(4, math.ceil(math.log2(2.0 * half + 4.0)))
    if points > LARGEST_GRID or spread >= points:
        msg = f"step = {step:g}: the grid would need {points:,} points, more than {LARGEST_GRID:,}"
        raise NotCertified(msg)
    pmf = np.bincount(place.astype(np.int64) % points, weights=pair.w, minlength=points)
    pmf[0] += max(0.0, 1.0 - float(pair.w.sum()))
    total = np.fft.irfft(_power(np.fft.rfft(pmf), pair.n), points)
    start = round(pair.n * mean) - points // 2
    values = start + np.arange(points)
    main = float((np.maximum(values, 0.0) * total[values % points]).sum()) * step / pair.n
    a = math.exp(epsilon)
    seen = float(np.maximum(pair.outside[:, 0] - a * pair.outside[:, 1], 0.0).sum())
    lost = pair.tail[0] if rounding == "up" else -a * pair.tail[1]
    return min(max(main + seen + lost, 0.0), 1.0), points


def grid_bracket(pair: ShuffledPair, *, epsilon: float, width: float) -> GridBracket:
    """Both roundings at a step fine enough for a relative width, if that is within reach."""
    width = _check.positive("width", width)
    step = step_for(pair, epsilon=epsilon, width=width)
    found = GridBracket(0.0, 1.0, 0)
    for _ in range(6):
        high, points = grid_delta(pair, epsilon=epsilon, step=step, rounding="up")
        low, _ = grid_delta(pair, epsilon=epsilon, step=step, rounding="down")
        found = GridBracket(low, high, points)
        if high <= low * (1.0 + width) or high < _NOISE:
            break
        ratio = (high / low - 1.0) / width if low > 0.0 else 16.0
        step /= min(1.2 * ratio, 16.0)
    return found


def step_for(pair: ShuffledPair, *, epsilon: float, width: float) -> float:
    """About the step at which the two roundings are a relative ``width`` apart.

    Together they shift the mean of the sum by n gamma h, and E[S]_+ falls by about t/(s sqrt n) of
    itself for each unit of that.
    """
    gain = pair.a - math.exp(epsilon) * pair.b
    second = float((pair.w * gain**2).sum())
    t = max(math.expm1(epsilon) * math.sqrt(pair.n / second), 1.0)
    return 0.8 * width * math.sqrt(second / pair.n) / (float(pair.w.sum()) * t)


def _power(phi: npt.NDArray[np.complex128], n: int) -> npt.NDArray[np.complex128]:
    """phi^n, by logarithms: NumPy's own power is many times slower."""
    floor = np.where(np.abs(phi) > _TINY, phi, _TINY)
    return np.exp(n * np.log(floor))


def _places(pair: ShuffledPair, epsilon: float, step: float, rounding: str) -> Array:
    a = math.exp(epsilon)
    ranges = pair.ranges
    if rounding == "up":
        gain = pair.a - a * pair.b if ranges is None else ranges.a_high - a * ranges.b_low
        return np.ceil(gain / step)
    gain = pair.a - a * pair.b if ranges is None else ranges.a_low - a * ranges.b_high
    return np.floor(gain / step)


def _window(variance: float, spread: float) -> float:
    """w with exp(-w^2/(2(V + b w/3))) = 1e-16: Bernstein."""
    linear = _LOG_CUT * spread / 3.0
    return linear + math.sqrt(linear**2 + 2.0 * _LOG_CUT * variance)
