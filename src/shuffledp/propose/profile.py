"""Privacy profile: log delta(eps) of one pair of laws, proposed in floats, certified in balls."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, precision_for, total
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.pairs import Atoms, End
from shuffledp.bounds.profile import Divergence, Expectation
from shuffledp.errors import NotCertified
from shuffledp.propose import layers
from shuffledp.propose.gains import Pair, gains_of, in_floats
from shuffledp.propose.saddle import Array, Part, Sum

__all__ = ["LARGEST_EPSILON", "LOOSE", "Profile", "rough_log_expectation"]

# Largest eps that is evaluated; delta does not increase in eps. e^300 is far below the largest
# float.
LARGEST_EPSILON = 300.0
# Relative width of delta of a bracket, where none is requested.
LOOSE = 3e-2
# Number of count vectors up to which they are enumerated in place of an integral: some
# milliseconds.
_FEW_COUNTS = 2_000
# Variance of the count of two atoms up to which the binomial sum is faster than an integral: ten
# standard deviations have some thousand terms.
_DIRECT = 200_000.0
# A bracket this many times wider than requested is repeated with its own value of delta as the
# guess; most repetitions.
_MISSED, _TRIES = 3.0, 5
# Distance in log delta at which a bracket counts as far from a target.
_FAR = 0.3
# If the new guess is this near to the last one, the bracket would be the same.
_SAME_GUESS = 0.1
# Most contours tried for one sum. One that misses its width by e^x is refined by e^(x/2), with x at
# most the second number.
_CONTOURS, _MOST_FINER = 6, 6.0
# Largest work, in nodes times atoms, of the first contour and of later ones: about 0.1 and 0.6
# seconds. If the first contour exceeds it, its smoothing is multiplied by _ROUGHER; if it still
# does, its log error grows by _LOOSER.
_CHEAP, _DEAR, _ROUGHER, _LOOSER = 1.5e6, 1e7, 8.0, 4.0
# If an integral exceeds the largest work, it is requested this much wider, with fewer cells.
_COARSER = 16.0
_UNKNOWN = LogInterval(-math.inf, math.inf)
# If n E G and n E G_+ agree to this relative accuracy, an estimate uses either.
_SAME = 1e-9
_NO_FLOATS = "ratios of probabilities that are no floats: wanted noise that is not so narrow"
# Layers below this share of the requested width are bounded by Chernoff's method.
_NEGLIGIBLE = 1e-2


# Estimates lower larger gains to this value: sums of their squares would overflow.
_LARGEST_GAIN = 1e140


def rough_log_expectation(
    masses: Array, gains: Array, n: int, surplus: float
) -> tuple[float, list[int]]:
    """An estimate of log E (sum of n)_+ of a sorted law, and where to cut it into layers."""
    if not gains.size or gains[-1] <= 0.0:
        return -math.inf, []
    if n == 1:
        value = float(masses @ np.maximum(gains, 0.0))
        return (math.log(value) if value > 0.0 else -math.inf), [gains.size]
    gains = np.minimum(gains, _LARGEST_GAIN)
    mean, most = float(masses @ gains), float(masses @ np.maximum(gains, 0.0))
    if most <= 0.0:
        return -math.inf, []  # masses of the gains above 0 underflow
    if mean > (1.0 - _SAME) * most:
        return math.log(n * mean), [gains.size]
    if _vectors(n, gains.size) <= _FEW_COUNTS:
        return layers.by_counts(masses, gains, n), [gains.size]
    value, cuts = layers.log_expectation(masses, gains, n, surplus)
    return min(value, math.log(n * most)), cuts


def _vectors(n: int, atoms: int) -> int:
    """Number of count vectors; any number above the limit where it is surely exceeded."""
    return math.comb(n + atoms - 1, atoms - 1) if n + atoms < _FEW_COUNTS else _FEW_COUNTS + n


class Profile:
    """delta(eps) = (1/n) E (G_1 + ... + G_n)_+ + seen for one pair in one direction.

    (docs/theory.md, section 2.) An answer is a function of the pair, eps and the requested width:
    caches save time and change no bit.

    Parameters
    ----------
    pair : Pair
        The laws of one message.
    """

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._bits = precision_for(pair.n)
        self._found: dict[tuple[float, float, End, float], LogInterval] = {}
        self._estimates: dict[float, float] = {}

    def __reduce__(self) -> tuple[type[Profile], tuple[Pair]]:
        return Profile, (self.pair,)

    def fingerprint(self) -> Hashable:
        """A key that is equal only for pairs with the same answers."""
        with ctx.workprec(self._bits):
            return self.pair.fingerprint()

    def log_floor(self) -> float:
        """Lower bound of log delta(eps) at every eps, from outputs that only P can give."""
        with ctx.workprec(self._bits):
            return self.pair.log_floor()

    def log_delta(
        self,
        epsilon: float,
        *,
        width: float = LOOSE,
        end: End = "both",
        target: float | None = None,
        off: float = 0.0,
    ) -> LogInterval:
        """Bracket log delta(eps) to about a relative ``width`` of delta, or wider.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        width : float
            Requested relative width of delta.
        end : {"both", "upper", "lower"}
            The end that is wanted; the other one may be infinite.
        target : float, optional
            The log delta of interest: a bracket far from it may be as wide as the distance.
        off : float
            The amount by which log delta seems to exceed its estimate.
        """
        if epsilon > LARGEST_EPSILON:
            return LogInterval(-math.inf, self.log_delta(LARGEST_EPSILON, width=width).high)
        if not self.pair.one_law and end == "both":
            low = self.log_delta(epsilon, width=width, end="lower", target=target, off=off).low
            high = self.log_delta(epsilon, width=width, end="upper", target=target, off=off).high
            return LogInterval(low, high)
        end = "both" if self.pair.one_law else end
        asked = (epsilon, width, end, off)
        if asked not in self._found:
            with ctx.workprec(self._bits):
                found, far = self._bracket(epsilon, width, end, target, off)
            if far:
                return found
            self._found[asked] = found
        return self._found[asked]

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of log delta(eps) in floats, not certified."""
        epsilon = min(epsilon, LARGEST_EPSILON)
        if epsilon not in self._estimates:
            with ctx.workprec(self._bits):
                self._estimates[epsilon] = self._estimate(epsilon)
        return self._estimates[epsilon]

    def variance(self) -> float:
        """An estimate of the variance of one gain at eps = 0 over n, to start a search of eps."""
        with ctx.workprec(self._bits):
            law = in_floats(self.pair, 0.0)
        return float(law.masses @ (law.gains * law.gains)) / self.pair.n

    # ---------------------------------------------------------------------------- estimates

    def _estimate(self, epsilon: float) -> float:
        law = in_floats(self.pair, epsilon)
        n, order = self.pair.n, np.argsort(law.gains)
        masses, gains = law.masses[order], law.gains[order]
        # As in `_far_lows_raised`.
        gains = np.maximum(gains, -n * max(float(gains[-1]), 0.0)) if gains.size else gains
        value, _ = rough_log_expectation(masses, gains, n, law.surplus)
        value -= math.log(self.pair.n)
        return float(np.logaddexp(value, math.log(law.seen))) if law.seen > 0.0 else value

    # --------------------------------------------------------------------------- certificates

    def _bracket(
        self, epsilon: float, width: float, end: End, target: float | None, off: float
    ) -> tuple[LogInterval, bool]:
        """The ends, and whether they stay wider than requested because the target is far away."""
        guess, best, far = self.rough_log_delta(epsilon) + off, _UNKNOWN, False
        for _ in range(_TRIES):
            try:
                found, own = self._at(epsilon, guess, width, end)
            except NotCertified:
                width *= _COARSER
                continue
            best = LogInterval(max(best.low, found.low), min(best.high, found.high))
            far = own.width > _MISSED * width and _is_far(own, target)
            if far or own.width <= _MISSED * width:
                break
            before, guess = guess, own.low if own.low > -math.inf else own.high - 3.0
            if abs(guess - before) < _SAME_GUESS:
                break
        return LogInterval(best.low, best.high if end == "lower" else min(best.high, 0.0)), far

    def _at(
        self, epsilon: float, guess: float, width: float, end: End
    ) -> tuple[LogInterval, LogInterval]:
        """The ends of log delta, which is near `guess`, and the bracket that shows how near."""
        log_error = guess + math.log(width) if guess > -math.inf else _DEEPEST
        made, n = gains_of(self.pair, arb(epsilon), log_error - 3.0, end, guess), self.pair.n
        found = Divergence(made, n)
        for one in dict.fromkeys((found.above, found.below)):
            if one is not None:
                _narrow(one, log_error + math.log(n))
        return found.log_delta(), found.apart()


def _is_far(found: LogInterval, target: float | None) -> bool:
    """Whether a bracket is so far from the target that its width does not matter."""
    if target is None or found.width == math.inf:
        return False
    return max(found.low - target, target - found.high) > max(_FAR, found.width)


# log of the mass that may be cut off where log delta has no estimate.
_DEEPEST = -250.0


def _narrow(found: Expectation, log_error: float) -> None:
    """Narrow the ends of E (S)_+ until they are apart by about e^log_error."""
    n, masses, gains = found.n, *_floats(found.atoms)
    if not found.cap > 0 or n == 1 or found.cap - found.mean <= arb(log_error).exp():
        return
    if _is_direct(masses, n):
        found.count()
        return
    surplus = float(total(found.atoms.masses) - 1)
    whole = Sum([Part(masses, np.minimum(gains, _LARGEST_GAIN), n, surplus)])
    if layers.is_one_layer(whole, masses, gains, n):
        found.split([(0, masses.size)])
        _by_contours(found, 0, whole, log_error)
        return
    _, cuts = rough_log_expectation(masses, gains, n, surplus)
    parts = layers.parts_of(masses, gains, n, surplus, cuts or [masses.size])
    found.split([(p.masses.size - p.rare if p.rare else 0, p.masses.size) for p in parts])
    share = log_error - 0.5 * math.log(len(parts)) if parts else log_error
    for i, part in enumerate(parts):
        proposed = Sum([part])
        if part.rare:
            bound = found.at_tilt(i, proposed.alpha)
            if bound <= arb(share).exp() * _NEGLIGIBLE:
                continue
        _by_contours(found, i, proposed, share)


def _floats(law: Atoms) -> tuple[Array, Array]:
    """Masses and gains in floats."""
    masses, gains = (np.array([float(x) for x in row]) for row in law)
    if not (np.isfinite(masses).all() and np.isfinite(gains).all()):
        raise NotCertified(_NO_FLOATS)
    return masses, gains


def _is_direct(masses: Array, n: int) -> bool:
    """Whether E (S)_+ is computed by a sum over counts."""
    if masses.size == 2 and n * float(masses.prod()) < _DIRECT:
        return True
    return _vectors(n, masses.size) <= _FEW_COUNTS


def _by_contours(found: Expectation, layer: int, proposed: Sum, log_error: float) -> None:
    """Narrow a layer: its ends apart by about e^log_error, or as near as bounded work allows.

    Smoothing costs h^2/2 times the density at 0. Where large gains decide, that density is not a
    normal sum's, and a first contour estimates it: a coarse one where the normal sum's contour is
    too much work.

    Raises
    ------
    NotCertified
        If no contour is cheap enough.
    """
    times, reached, work = 1.0, math.inf, _CHEAP
    looser = 0.0
    for _ in range(_CONTOURS):
        try:
            contour = proposed.contour(log_error + looser, times)
            low, high = found.on(layer, contour, work=work)
        except NotCertified:
            if reached == math.inf:
                # Also leave out more of the nodes and of the tail.
                times, looser = _ROUGHER, looser + (_LOOSER if times == _ROUGHER else 0.0)
            elif (times := 2.0 * times) >= reached:
                break
            work = _DEAR
            continue
        reached, work = times, _DEAR
        missed = float((high - low).log()) - log_error if high > low else 0.0
        if missed <= math.log(_MISSED) or looser > 0.0:
            break
        times *= math.exp(-0.5 * min(missed, _MOST_FINER))
    if reached == math.inf:
        raise NotCertified(f"no contour of less than {_DEAR:.0e} nodes times atoms")
