"""Layers of a law of gains, by the largest gain, in floats.

Where rare large gains decide, the Chernoff bound of the whole sum far exceeds E f(S - shift), and a
single contour would have to cancel most of it. The draws are then split by their largest gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from shuffledp.kernel.direct import count_vectors
from shuffledp.propose.saddle import Array, Part, Sum

__all__ = ["by_counts", "is_one_layer", "log_expectation", "parts_of", "usual_deviation"]

# Amount in logs by which a layer's Chernoff bound may exceed the whole answer: the contour then
# cancels a factor of at most e^6.
_APART = 6.0
# Gains of one layer reach up to this many times the cut below it, even if they are sparse.
_REACH = 1.7
# The saddle point of all gains belongs to the usual ones if its tilt is at least this number over
# the standard deviation of their sum.
_ACTIVE = 0.3
# And if the tilted sum's standard deviation is below this many times that one: large gains do not
# decide.
_WIDE = 3.0
# A draw beyond a cut is alone if at most this many are expected there.
_ONE = 0.5
# Gains are not usual if the expected number of draws with them is at most this.
_RARE = 0.1
# A law is one layer if alpha times its largest gain is at most this.
_STEEP = 3.0
# Number of tilts at which truncated laws are evaluated, and the largest exponent.
_TILTS, _LARGEST = 96, 600.0
# Most guesses of the answer on which the cuts depend.
_GUESSES = 4


def log_expectation(masses: Array, gains: Array, n: int, surplus: float) -> tuple[float, list[int]]:
    """An estimate of log E (S)_+, and the cuts: the number of sorted atoms below each.

    Parameters
    ----------
    masses, gains : arrays sorted by gains.
    n : int
        Number of draws.
    surplus : float
        The sum of the masses less 1.
    """
    whole, cuts = Sum([Part(masses, gains, n, surplus)]), [masses.size]
    if is_one_layer(whole, masses, gains, n):
        return whole.estimate.log_value, cuts
    truncated = _Truncated(masses, gains, n, surplus)
    cut, guess = truncated.split(masses)
    if cut == masses.size:
        return whole.estimate.log_value, cuts
    cap, found = _log(n * float(masses @ np.maximum(gains, 0.0))), -math.inf
    for _ in range(_GUESSES):
        cuts = truncated.cuts(guess)
        found = min(_of_layers(masses, gains, n, surplus, cuts[0]), cap)
        if abs(found - guess) < 1.0 or found == -math.inf:
            break
        guess = found
    if found >= cap:
        # So large an estimate says nothing: take that of one large draw among all others.
        found = min(_of_layers(masses, gains, n, surplus, cut), cap)
    return found, cuts


def is_one_layer(whole: Sum, masses: Array, gains: Array, n: int) -> bool:
    """Whether one contour serves the sum of all draws, as the largest gains do not decide."""
    if whole.alpha * float(gains[-1]) < _STEEP:
        return True
    deviation = usual_deviation(masses, gains, n)
    return whole.alpha * deviation > _ACTIVE and whole.width < _WIDE * deviation


@np.errstate(over="ignore", invalid="ignore")
def _of_layers(masses: Array, gains: Array, n: int, surplus: float, first: int) -> float:
    """An estimate of log E (S)_+, from atoms below the first cut and one draw above it.

    The others' sum is taken as normal except for its skewness. For Z with mean 0, deviation s and
    E Z^3 = c s^3, E (z s + Z)_+ is about s [z Phi(z) + phi(z) (1 - c z/6)]. That factor is clipped
    to [0, 1]: if rare large gains remain among the others, c is huge and meaningless.
    """
    parts = parts_of(masses, gains, n, surplus, [first])
    bulk = Sum(parts).estimate.log_value if parts else -math.inf
    if first == masses.size:
        return bulk
    m, g = masses[:first], gains[:first]
    mean = float(m @ g) / float(m.sum())
    deviation = math.sqrt(n * float(m @ (g - mean) ** 2)) + 1e-300
    skew = n * float(m @ ((g - mean) / deviation) ** 3)
    z = ((n - 1) * mean + gains[first:]) / deviation
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    tail = 0.5 * np.array([math.erfc(-x / math.sqrt(2.0)) for x in z])
    payoff = np.maximum(z * tail + density * np.clip(1.0 - skew * z / 6.0, 0.0, 1.0), 0.0)
    others = math.exp((n - 1) * math.log(max(float(m.sum()) - min(surplus, 0.0), 1e-300)))
    payoff = np.nan_to_num(payoff)
    jump = n * deviation * min(others, 1.0) * float(masses[first:] @ payoff)
    return float(np.logaddexp(bulk, _log(jump)))


class _Truncated:
    """Chernoff bounds of E (S)_+ for laws truncated at every atom, at many tilts."""

    def __init__(self, masses: Array, gains: Array, n: int, surplus: float) -> None:
        self.n, self.gains = n, gains
        second = masses * gains * gains
        low = 1e-2 / math.sqrt(n * float(second.sum()) + 1e-300)
        high = 60.0 / usual_deviation(masses, gains, n)
        high = max(high, _LARGEST / max(float(gains.max()), 1e-300))
        self.tilts = np.geomspace(low, max(high, 10.0 * low), _TILTS)
        with np.errstate(over="ignore"):
            exponent = np.minimum(np.multiply.outer(self.tilts, gains), _LARGEST)
        missing = surplus - (float(masses.sum()) - np.cumsum(masses))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            rise = np.cumsum(masses * np.expm1(exponent), axis=1)
            self.logs = n * np.log1p(rise + missing)

    def bounds(self, before: int) -> Array:
        """log of the bound for every cut, of sums with a draw beyond the first ``before`` atoms."""
        logs = self.logs
        with np.errstate(invalid="ignore", divide="ignore"):
            if before:
                lower = logs[:, before - 1 : before]
                logs = logs + np.log(-np.expm1(np.minimum(lower - logs, 0.0)))
            found = (logs - np.log(self.tilts)[:, None] - 1.0).min(axis=0)
        return np.where(np.isfinite(found), found, -math.inf)

    def split(self, masses: Array) -> tuple[int, float]:
        """Where to separate one large draw from all others, and an estimate of log E (S)_+.

        A draw beyond the cut contributes its gain plus the mean of the others' sum, and at most
        their standard deviation more.
        """
        n, gains = self.n, self.gains
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rest = (n - 1) * float(masses @ gains)
            spread = np.sqrt(n * np.cumsum(masses * gains * gains))
            large = n * masses * np.maximum(gains + rest + spread, 0.0)
            beyond = np.append(np.cumsum(large[::-1])[::-1][1:], 0.0)
            both = np.nan_to_num(np.logaddexp(self.bounds(0), np.log(beyond)), nan=-math.inf)
        least = np.searchsorted(gains, 0.0, side="right")
        both[: max(int(least) - 1, 0)] = math.inf
        # Two or more such draws are usual: their sum may be large although none of them is.
        both[n * (float(masses.sum()) - np.cumsum(masses)) > _ONE] = math.inf
        # If one draw does not outweigh the others' mean, several decide.
        both[:-1][beyond[:-1] == 0.0] = math.inf
        # Among equal values take the last one, for fewer layers.
        cut = both.size - int(both[::-1].argmin())
        return cut, float(both[cut - 1]) - 2.0

    def cuts(self, log_answer: float) -> list[int]:
        """As few cuts as possible such that every layer's bound is near the answer."""
        size, before, found = self.gains.size, 0, list[int]()
        while before < size:
            fits = np.flatnonzero(self.bounds(before) <= log_answer + _APART)
            cut = int(fits[-1]) + 1 if fits.size else before + 1
            if before and self.gains[before - 1] > 0.0:
                cut = max(cut, int(np.searchsorted(self.gains, self.gains[before - 1] * _REACH)))
            elif not before:
                cut = max(cut, min(int(np.searchsorted(self.gains, 0.0, side="right")), size))
            before = max(cut, before + 1)
            found.append(min(before, size))
        return found


def usual_deviation(masses: Array, gains: Array, n: int) -> float:
    """An estimate of the standard deviation of a sum of n draws, without very rare gains."""
    size = np.abs(gains)
    order = np.argsort(-size)
    beyond = np.cumsum(masses[order])
    first = int(np.searchsorted(beyond, _RARE / n))
    top = size[order[min(first, size.size - 1)]]
    return math.sqrt(n * float(masses @ np.minimum(size, top) ** 2)) + 1e-300


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def parts_of(
    masses: Array, gains: Array, n: int, surplus: float, cuts: Sequence[int]
) -> list[Part]:
    """The layers: all draws below the first cut, then at least one draw between successive cuts.

    The first layer is left out if no gain in it is positive, as its sum is then at most 0.
    """
    found, before = [], 0
    for cut in cuts:
        missing = surplus - float(masses[cut:].sum())
        if before:
            found.append(Part(masses[:cut], gains[:cut], n, missing, cut - before))
        elif gains[cut - 1] > 0.0:
            found.append(Part(masses[:cut], gains[:cut], n, missing))
        before = cut
    return found


@lru_cache(maxsize=8)
def _counts(n: int, atoms: int) -> tuple[Array, Array]:
    """All counts of n draws from this number of atoms, and logs of multinomial coefficients."""
    counts = np.array(list(count_vectors(n, atoms)), dtype=np.float64)
    logs = np.cumsum([0.0, *np.log(np.arange(1, n + 1))])
    return counts, logs[n] - logs[counts.astype(np.intp)].sum(axis=1)


def by_counts(masses: Array, gains: Array, n: int) -> float:
    """log E (S)_+ by enumeration of all counts.

    Parameters
    ----------
    masses, gains : arrays of the same size
        The law of one draw.
    n : int
        Number of draws.
    """
    counts, log = _counts(n, masses.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.exp(log + np.where(counts > 0.0, counts * np.log(masses), 0.0).sum(axis=1))
    value = float(weights @ np.maximum(counts @ gains, 0.0))
    return math.log(value) if value > 0.0 else -math.inf
