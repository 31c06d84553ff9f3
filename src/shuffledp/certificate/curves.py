"""delta of one round (or one coordinate) at any eps, as a claim's witness says to compute it.

The engine is asked again with more bits than wrote the claim; nothing is searched for but data sets
of one-bit reports, all of which an upper end is about.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from shuffledp.ball.bits import Bits
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.one_bit_curve import Curve as BitCurve
from shuffledp.bounds.stealing_claims import StealingClaims
from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import Verdict
from shuffledp.certificate.model import FreeNumbers, Witness
from shuffledp.certificate.widened import Target
from shuffledp.certificate.witness import JUMP
from shuffledp.deployment.setting import Setting
from shuffledp.errors import NotCertified, ParameterError

__all__ = [
    "AllDataSets",
    "Answer",
    "Bound",
    "Bracket",
    "Brackets",
    "Curve",
    "Guarantee",
    "Stolen",
    "compared",
    "distance_words",
]

# Relative widths of delta; each is tried only if the one before could not tell.
_WIDTHS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# Asking for less is over where it made a bracket no narrower than this times the one before.
_NARROWER = 0.9
# In log delta: a bound that far above a claim is not what was claimed. Half of that may be due to
# the cells of a bound with one distinguished gain.
_FAR = 1e-2
# Bits beyond the engine's own working precision.
_MORE_BITS = 64
# Where a bound of all data sets decides nothing: as near to the largest one found.
_NEAR = 1e-9
Answer = tuple[Verdict, str]
# (epsilon, relative width) -> ends of log delta.
Bracket = Callable[[float, float], Target]


class Curve(ABC):
    """One claim's way to delta."""

    @abstractmethod
    def decide(self, epsilon: float, target: Target) -> Answer:
        """Whether delta at this eps is on the claim's side of a number, and what was recomputed.

        Parameters
        ----------
        epsilon : float
            eps >= 0.
        target : tuple of two floats
            Floats below and above the log of the number.
        """

    def value(self, place: int, epsilon: float, target: Target) -> Answer:
        """The same of one of the witness' values, of which some have numbers of their own."""
        del place
        return self.decide(epsilon, target)

    def bracket(self, *, swap: bool) -> Bracket:
        """delta of the witness' data set, in one order or the other."""
        raise NotCertified(f"no data set: {swap}")


def compared(bracket: Target, target: Target, *, upper: bool) -> Verdict:
    """Whether log delta, in this bracket, is on the claim's side of the target for sure."""
    low, high = bracket
    if high <= target[0] if upper else low >= target[1]:
        return "holds"
    if low > target[1] if upper else high < target[0]:
        return "does not hold"
    return "undecided"


def bounded(bound: float, target: Target, *, upper: bool) -> Verdict:
    """The same of one bound alone: what is little beyond it may be due to another step."""
    if bound <= target[0] if upper else bound >= target[1]:
        return "holds"
    far = bound > target[1] + _FAR if upper else bound < target[0] - _FAR
    return "does not hold" if far else "undecided"


class Directed(Protocol):
    """Something with brackets in both directions."""

    def __call__(self, *, swap: bool) -> Bracket:
        """In the one, or the other."""
        ...


class Brackets(Curve):
    """Brackets of several pairs: an upper end has to hold for all of them.

    Parameters
    ----------
    named : sequence of (str, callable)
        Words for each, and its brackets.
    upper : bool
        Which end.
    swap : bool
        The direction.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Directed]],
        *,
        upper: bool,
        swap: bool = False,
    ) -> None:
        self._named, self._upper, self._swap = named, upper, swap

    def decide(self, epsilon: float, target: Target) -> Answer:
        """For each, with narrower brackets where the one before could not tell."""
        worst: Verdict = "holds"
        closest, how = -math.inf, ""
        for words, made in self._named:
            verdict, found, width = self._one(made(swap=self._swap), epsilon, target)
            distance = found[1] if self._upper else -found[0]
            if not how or distance > closest or verdict != "holds":
                closest, how = (
                    distance,
                    f"{words}{distance_words(found, target)} (balls: {width:.0e})",
                )
            if verdict == "does not hold":
                return verdict, how
            worst = verdict if verdict == "undecided" else worst
        many = f"; {len(self._named)} ordered pairs" if len(self._named) > 2 else ""
        return worst, how + many

    def _one(
        self, bracket: Bracket, epsilon: float, target: Target
    ) -> tuple[Verdict, Target, float]:
        found, width = (-math.inf, math.inf), math.inf
        for width in _WIDTHS:
            before, found = found, bracket(epsilon, width)
            verdict = compared(found, target, upper=self._upper)
            narrower = found[1] - found[0] < _NARROWER * (before[1] - before[0])
            if verdict != "undecided" or not narrower:
                return verdict, found, width
        return "undecided", found, width

    def bracket(self, *, swap: bool) -> Bracket:
        """Of the one data set that a lower end names."""
        return self._named[0][1](swap=swap)


class Stolen(Curve):
    """A bound by label stealing with the claim's own free numbers: an upper end, no bracket.

    Parameters
    ----------
    setting : Setting
        One mechanism.
    witness : Witness
        With ``free``, or with ``frees`` for each of its values.
    otherwise : Curve
        For values that need no free numbers.
    """

    def __init__(self, setting: Setting, witness: Witness, otherwise: Curve | None) -> None:
        self._setting, self._witness, self._otherwise = setting, witness, otherwise
        self._claims: StealingClaims | None = None

    def decide(self, epsilon: float, target: Target) -> Answer:
        """By the free numbers of the claim."""
        return self._by(self._witness.free or [], epsilon, target)

    def value(self, place: int, epsilon: float, target: Target) -> Answer:
        """By the value's own, if it has some."""
        free = (self._witness.frees or [None])[place]
        if free is not None:
            return self._by(free, epsilon, target)
        if self._otherwise is None:
            raise NotCertified("a value without free numbers")
        return self._otherwise.decide(epsilon, target)

    def _by(self, free: Sequence[FreeNumbers], epsilon: float, target: Target) -> Answer:
        analysis = self._witness.analysis
        if self._claims is None:
            values = [math.log(one) for one in self._witness.values or () if one > 0.0]
            least = min(values, default=target[0] if math.isfinite(target[0]) else -60.0)
            setting = self._setting
            self._claims = StealingClaims(setting.source, setting.own, least, jump=analysis == JUMP)
        numbers = [one.model_dump() for one in free]
        # The bound itself, or any number up to what is claimed.
        high = self._claims.log_delta(numbers, epsilon=epsilon, enough=target[0])
        words = f"{analysis}, its free numbers as given: {apart('the bound is', high, target[0])}"
        return bounded(high, target, upper=True), words


class AllDataSets(Curve):
    """One-bit reports, or one coordinate of sums of bits: every data set, or one that is named.

    Parameters
    ----------
    bits : Bits
        Of one report.
    n : int
        Users.
    noise : NoiseLaw, optional
        The aggregator's own.
    held : (input, int), optional
        Of a lower end: the victim's first value, and how many others hold that.
    words : str
        What is recomputed.
    """

    def __init__(
        self,
        bits: Bits,
        n: int,
        words: str,
        *,
        noise: NoiseLaw | None = None,
        held: tuple[Any, int] | None = None,
    ) -> None:
        self._curve = BitCurve(bits, n, noise=noise, more_bits=_MORE_BITS)
        self._bits, self._n, self._held, self._words = bits, n, held, words
        if held is not None and not 0 <= held[1] <= n - 1:
            raise ParameterError(f"others = {held[1]!r}: wanted at most {n - 1:,}")

    def decide(self, epsilon: float, target: Target) -> Answer:
        """All data sets are below the target, or some is above it; or the one is."""
        if not math.isfinite(epsilon):
            raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number")
        if self._held is not None:
            found = self.bracket(swap=False)(epsilon, 0.0)
            words = f"{self._words}: {distance_words(found, target)}"
            return compared(found, target, upper=False), words
        seen = self._curve.point(epsilon, width=_NEAR, enough=target[0], given_up=target[0])
        holds = seen.log_high <= target[0]
        log = seen.log_high if holds else seen.log_low
        # Where it fails a data set was seen whose delta is not below that.
        verdict: Verdict = "holds" if holds else "does not hold" if log > target[1] else "undecided"
        words = f"{self._words}, all data sets: {apart('the bound is', log, target[0])}"
        return verdict, words

    def bracket(self, *, swap: bool) -> Bracket:
        """Of the data set that is named; swapped, the victim holds the other value first."""
        first, count = self._held or (None, 0)
        low, high = self._bits.inputs
        if swap:
            first, count = (high if first == low else low), self._n - 1 - count

        def ends(epsilon: float, _width: float) -> Target:
            found = self._curve.of_order(first, count, epsilon)
            return found.log_low, found.log_high

        return ends


class Bound(Curve):
    """One bound, from above or from below."""

    def __init__(self, words: str, made: Callable[[float], float], *, upper: bool) -> None:
        self._words, self._made, self._upper = words, made, upper

    def decide(self, epsilon: float, target: Target) -> Answer:
        """As far as one bound tells."""
        found = self._made(epsilon)
        what = "the bound is" if self._upper else "the best test shows"
        words = f"{self._words}: {apart(what, found, target[0])}"
        return bounded(found, target, upper=self._upper), words


class Guarantee(Curve):
    """What all reports of a user tell alone: nothing is left beyond it."""

    def __init__(self, eps0: float) -> None:
        self._eps0 = eps0

    def decide(self, epsilon: float, target: Target) -> Answer:
        """Whatever delta is claimed."""
        del target
        holds = epsilon >= self._eps0
        words = "no log ratio of a user's reports is larger" if holds else "one may be larger"
        return ("holds" if holds else "does not hold"), f"local: {words}"


def distance_words(bracket: Target, target: Target) -> str:
    """How far a delta is from the one that is claimed."""
    low, high = bracket
    if high == -math.inf:
        return "delta is exactly 0"
    middle = high if low == -math.inf else 0.5 * (low + high)
    if not math.isfinite(target[0]):
        return f"log delta is {middle:.6g}, and 0 was claimed"
    return apart("delta", middle, target[0])
