"""Privacy profile: log delta(eps) of one pair of laws, certified at both ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, precision_for, total
from shuffledp.arithmetic.intervals import LogInterval, log_interval
from shuffledp.bounds.pairs import Atoms, End, Pair
from shuffledp.errors import NotCertified
from shuffledp.kernel import AtLeastOne, Draws, by_counts, expect, two_atoms
from shuffledp.kernel.draws import Summand
from shuffledp.propose import layers
from shuffledp.propose.saddle import Array, Part, Sum

__all__ = ["LARGEST_EPSILON", "LOOSE", "Profile"]

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


class _Sorted(NamedTuple):
    """A law of gains in ascending order, in balls and in floats."""

    atoms: Atoms
    masses: Array
    gains: Array
    surplus: float

    @classmethod
    def of(cls, law: Atoms) -> _Sorted:
        order = sorted(range(len(law.gains)), key=lambda j: float(law.gains[j]))
        atoms = Atoms([law.masses[j] for j in order], [law.gains[j] for j in order])
        masses, gains = (np.array([float(x) for x in row]) for row in (atoms.masses, atoms.gains))
        if not (np.isfinite(masses).all() and np.isfinite(gains).all()):
            raise NotCertified(_NO_FLOATS)
        return cls(atoms, masses, gains, float(total(atoms.masses) - 1))

    def is_direct(self, n: int) -> bool:
        """Whether E (sum)_+ is computed by a sum over counts."""
        size = self.masses.size
        if size == 2 and n * float(self.masses.prod()) < _DIRECT:
            return True
        return _vectors(n, size) <= _FEW_COUNTS


# Estimates lower larger gains to this value: sums of their squares would overflow.
_LARGEST_GAIN = 1e140


def _log_expectation(
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
    more_bits : int
        Bits beyond the usual working precision.
    """

    def __init__(self, pair: Pair, *, more_bits: int = 0) -> None:
        self.pair, self._more_bits = pair, more_bits
        self._bits = precision_for(pair.n) + more_bits
        self._found: dict[tuple[float, float, End, float], LogInterval] = {}
        self._estimates: dict[float, float] = {}

    def __reduce__(self) -> tuple[Callable[..., Profile], tuple[Pair]]:
        return partial(Profile, more_bits=self._more_bits), (self.pair,)

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
            law = self.pair.in_floats(0.0)
        return float(law.masses @ (law.gains * law.gains)) / self.pair.n

    # ---------------------------------------------------------------------------- estimates

    def _estimate(self, epsilon: float) -> float:
        law = self.pair.in_floats(epsilon)
        n, order = self.pair.n, np.argsort(law.gains)
        masses, gains = law.masses[order], law.gains[order]
        # As in `_far_lows_raised`.
        gains = np.maximum(gains, -n * max(float(gains[-1]), 0.0)) if gains.size else gains
        value, _ = _log_expectation(masses, gains, n, law.surplus)
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
        """The ends of log delta, which is near `guess`, and the bracket that shows how near.

        If one end is wanted, that bracket is the one of its law alone. It says nothing of delta at
        the other end.
        """
        log_error = guess + math.log(width) if guess > -math.inf else _DEEPEST
        made, n = self.pair.gains(arb(epsilon), log_error - 3.0, end, guess), self.pair.n
        log_error += math.log(n)
        above = None if made.above is None else self._expectation(made.above, log_error)
        below = above
        if made.below is not made.above:
            below = None if made.below is None else self._expectation(made.below, log_error)
        seen = (made.seen.lower(), made.seen.upper())
        both = [(x[0] / n + seen[0], x[1] / n + seen[1]) for x in (below, above) if x is not None]
        low = both[0][0] if below is not None else arb(0)
        high = both[-1][1] if above is not None else arb("inf")
        return log_interval(low, high), log_interval(both[0][0], both[-1][1])

    def _expectation(self, atoms: Atoms, log_error: float) -> tuple[arb, arb]:
        """Both ends of E (sum)_+ of one law, limited by n E G <= E (sum)_+ <= n E G_+."""
        n = self.pair.n
        atoms = _far_lows_raised(atoms, n)
        law, both = _Sorted.of(atoms), list(zip(atoms.masses, atoms.gains, strict=True))
        mean = n * total(m * x for m, x in both)
        cap = n * total(m * x.nonnegative_part() for m, x in both)
        if not cap > 0 or n == 1:
            return (cap if n == 1 else mean.max(arb(0))).lower(), cap.upper()
        if cap - mean <= arb(log_error).exp():
            return mean.lower(), cap.upper()
        if law.is_direct(n):
            draws = Draws(*atoms, n)
            low, high = two_atoms(draws) if len(atoms.gains) == 2 else by_counts([draws])
        else:
            whole = Sum([Part(law.masses, np.minimum(law.gains, _LARGEST_GAIN), n, law.surplus)])
            if layers.is_one_layer(whole, law.masses, law.gains, n):
                low, high = _by_contours(Draws(*law.atoms, n), whole, log_error)
            else:
                low, high = _by_layers(law, n, log_error)
        return low.max(mean.max(arb(0)).lower()), high.min(cap.upper())


def _is_far(found: LogInterval, target: float | None) -> bool:
    """Whether a bracket is so far from the target that its width does not matter."""
    if target is None or found.width == math.inf:
        return False
    return max(found.low - target, target - found.high) > max(_FAR, found.width)


# log of the mass that may be cut off where log delta has no estimate.
_DEEPEST = -250.0


def _far_lows_raised(law: Atoms, n: int) -> Atoms:
    """Raise gains certainly below -n max G to about that value (docs/theory.md, Lemma 6.11).

    A sum with one such draw is at most 0 before and after, so that E (sum)_+ does not change.
    """
    top = max((x.upper() for x in law.gains), key=float, default=arb(0))
    floor = (-n * top.max(arb(0))).lower()
    if not any(x < 2 * floor for x in law.gains):
        return law
    return Atoms(law.masses, [max(x, floor) for x in law.gains])


def _by_layers(law: _Sorted, n: int, log_error: float) -> tuple[arb, arb]:
    """Both ends of E (sum)_+ by contours, one for each layer of the largest gain."""
    _, cuts = _log_expectation(law.masses, law.gains, n, law.surplus)
    parts = layers.parts_of(law.masses, law.gains, n, law.surplus, cuts or [law.masses.size])
    low, high = arb(0), _left_out(law.atoms, parts, n)
    share = log_error - 0.5 * math.log(len(parts)) if parts else log_error
    for part in parts:
        ends = of_part(law.atoms, Sum([part]), n, share)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _left_out(atoms: Atoms, parts: Sequence[Part], n: int) -> arb:
    """Contribution to E (sum)_+ of sums below the first layer; 0 if they have no gain > 0.

    Raises
    ------
    NotCertified
        If a layer does not begin where the one before it ends, or the last one is not the whole
        law.
    """
    starts = [part.masses.size - part.rare if part.rare else 0 for part in parts]
    ends = [part.masses.size for part in parts]
    if starts[1:] != ends[:-1] or (ends and ends[-1] != len(atoms.gains)):
        raise NotCertified("layers: they are not all of the law")
    skipped = starts[0] if starts else len(atoms.gains)
    both = list(zip(atoms.masses[:skipped], atoms.gains[:skipped], strict=True))
    positive = total(m * x.nonnegative_part() for m, x in both)
    return n * positive * total(m for m, _ in both) ** (n - 1)


def of_part(atoms: Atoms, proposed: Sum, n: int, log_error: float) -> tuple[arb, arb]:
    """Both ends of one layer's contribution to E (sum of n draws)_+."""
    part = proposed.parts[0]
    size = part.masses.size
    usual = size - part.rare
    draws = Draws(atoms.masses[:usual], atoms.gains[:usual], n)
    summand: Summand = draws
    if part.rare:
        rare = Draws(atoms.masses[usual:size], atoms.gains[usual:size], n)
        summand = AtLeastOne(draws, rare)
        alpha = arb(proposed.alpha)
        # y_+ <= e^(alpha y - 1)/alpha: sufficient if this layer hardly counts.
        bound = (summand.log_moment(alpha) - 1).exp() / alpha
        if alpha > 0 and bound <= arb(log_error).exp() * _NEGLIGIBLE:
            return arb(0), bound.upper()
    return _by_contours(summand, proposed, log_error)


def _by_contours(summand: Summand, proposed: Sum, log_error: float) -> tuple[arb, arb]:
    """Both ends of E (sum)_+, apart by about e^log_error or as near as bounded work allows.

    Smoothing costs h^2/2 times the density at 0. Where large gains decide, that density is not a
    normal sum's, and a first contour estimates it: a coarse one where the normal sum's contour is
    too much work.

    Raises
    ------
    NotCertified
        If no contour is cheap enough.
    """
    low, high, times, reached, work = arb(0), arb("inf"), 1.0, math.inf, _CHEAP
    looser = 0.0
    for _ in range(_CONTOURS):
        try:
            contour = proposed.contour(log_error + looser, times)
            ends = expect([summand], contour, work=work)
        except NotCertified:
            if reached == math.inf:
                # Also leave out more of the nodes and of the tail.
                times, looser = _ROUGHER, looser + (_LOOSER if times == _ROUGHER else 0.0)
            elif (times := 2.0 * times) >= reached:
                break
            work = _DEAR
            continue
        low, high, reached, work = max(low, ends[0]), min(high, ends[1]), times, _DEAR
        missed = float((high - low).log()) - log_error if high > low else 0.0
        if missed <= math.log(_MISSED) or looser > 0.0:
            break
        times *= math.exp(-0.5 * min(missed, _MOST_FINER))
    if reached == math.inf:
        raise NotCertified(f"no contour of less than {_DEAR:.0e} nodes times atoms")
    return low, high
