"""Estimates over all users from the reports of those who were drawn with a known probability."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers.base import Randomizer
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.statistics.estimates import (
    Aggregate,
    AnyEstimate,
    FrequencyEstimate,
    MeanEstimate,
    PartsEstimate,
)


def sampled_estimate(part: Randomizer, sums: Aggregate, *, n: int, rate: float) -> AnyEstimate:
    """Horvitz and Thompson's estimator: the sum over those drawn, divided by n times the rate.

    For an item of frequency f whose estimator has per-user variance v(f) it is unbiased with the
    variance [v(f) + (1 - rate) f]/(rate n): sum over users of (v + x^2)/rate - x^2, x being 0 or 1.
    For a mean it is taken about the middle of the range, whence at most
    [v + (1 - rate) r^2]/(rate n), r half the range.

    Raises
    ------
    ParameterError
        If there are no reports at all, or none that can be estimated from.
    """
    if not n >= 1:
        raise rejected("reports", n, "at least one report")
    if sums.count == 0:
        return _nobody(part, n, rate)
    return _scaled(part, part.estimate(sums), n=n, drawn=sums.count, rate=rate)


def _scaled(
    part: Randomizer, found: AnyEstimate, *, n: int, drawn: int, rate: float
) -> AnyEstimate:
    share = drawn / n / rate
    if isinstance(found, PartsEstimate):
        inner = part.parts()
        if inner is None or inner.weights is not None:
            raise _unknown(part)
        parts = (
            _scaled(r, e, n=n, drawn=drawn, rate=rate)
            for r, e in zip(inner.randomizers, found.parts, strict=True)
        )
        return PartsEstimate(tuple(parts), n)
    if isinstance(found, FrequencyEstimate):
        frequencies = found.frequencies * share
        f = np.clip(frequencies, 0.0, 1.0)
        noise = _variances(part, f)
        return FrequencyEstimate(frequencies, np.sqrt((noise + (1.0 - rate) * f) / rate / n), n)
    middle, reach = _range(part)
    mean = middle + (found.mean - middle) * share
    noise = np.square(found.standard_error) * drawn
    error = np.sqrt((noise + (1.0 - rate) * reach**2) / rate / n)
    if np.ndim(mean) == 0:
        return MeanEstimate(float(mean), float(error), n)
    return MeanEstimate(mean, error, n)


def sampled_variance(part: Randomizer, frequency: float, *, rate: float) -> float:
    """Per-user variance of ``sampled_estimate``; for means the bound stated there."""
    inner = part.parts()
    if inner is not None and inner.weights is None:
        # Every report has all parts: as for one part, the largest of theirs.
        return max(sampled_variance(r, frequency, rate=rate) for r in inner.randomizers)
    noise = part.variance(frequency)
    if isinstance(part, FrequencyRandomizer | Channel):
        return (noise + (1.0 - rate) * frequency) / rate
    return (noise + (1.0 - rate) * _range(part)[1] ** 2) / rate


def _variances(part: Randomizer, frequencies: np.ndarray) -> np.ndarray:
    """The variance is linear in the frequency."""
    none, full = part.variance(0.0), part.variance(1.0)
    return (1.0 - frequencies) * none + frequencies * full


def _nobody(part: Randomizer, n: int, rate: float) -> AnyEstimate:
    """Nobody was drawn: the sum is empty."""
    if not isinstance(part, FrequencyRandomizer):
        raise rejected("reports", 0, f"at least one report of {part.name}")
    zero = np.zeros(part.items)
    return FrequencyEstimate(zero, np.full(part.items, math.sqrt(part.variance() / rate / n)), n)


def _range(part: Randomizer) -> tuple[float, float]:
    """Middle and half length of the range of inputs."""
    low, high = getattr(part, "low", None), getattr(part, "high", None)
    if low is None or high is None:
        raise _unknown(part)
    return 0.5 * (low + high), 0.5 * (high - low)


def _unknown(part: Randomizer) -> NotCertified:
    return NotCertified(f"{part.name}: no estimator from some of the users is defined")
