"""The end that the profiles of some pairs of laws give."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.amplification.end import Certifier, End, EpsilonAt, LogDeltaAt, Side
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Theorem
from shuffledp.bounds.inverse import LowerEpsilon, UpperEpsilon
from shuffledp.bounds.profile import Profile
from shuffledp.laws.sources import Named

# Up to so many profiles a loose bracket of each costs more than it saves.
_FEW = 2
# Estimates of log delta are better than that, some per cent of delta: what they order by more is in
# that order.
_NEAR = 0.5
_UNKNOWN = LogInterval(-math.inf, math.inf)


def of_pairs(
    key: str, end: Side, theorem: Theorem, pairs: Sequence[Named], assumptions: tuple[str, ...]
) -> Pairs:
    """The end that the largest of the pairs' profiles gives; equal laws count once.

    Parameters
    ----------
    key : str
        The analysis.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        What certifies it.
    pairs : sequence of (pair, dict)
        Pairs, with the words that reproduce each.
    assumptions : tuple of str
        Under which it holds, in words.
    """
    kept: dict[Hashable, tuple[Profile, dict[str, Any]]] = {}
    for pair, witness in pairs:
        profile = Profile(pair)
        # Alone it is like no other: its law need not be made to see that.
        same = len(pairs) == 1 or profile.fingerprint()
        kept.setdefault(same, (profile, witness))
    profiles, witnesses = zip(*kept.values(), strict=True)
    return Pairs(key, end, theorem, assumptions, profiles, witnesses)


@dataclass(frozen=True)
class Pairs(Certifier):
    """The largest of some profiles.

    Attributes
    ----------
    witnesses : tuple of dict
        What each of the profiles stands for.
    """

    witnesses: tuple[dict[str, Any], ...] = ()

    def epsilon(self, asked: EpsilonAt) -> End:
        """Where the largest profile meets the target, certified on the side of this end."""
        upper = self.end == "upper"
        delta, cap, rtol, width = asked
        solver = UpperEpsilon if upper else LowerEpsilon
        low, high, which = solver(
            self.profiles, math.log(delta), cap=cap, rtol=rtol, width=width
        ).solve()
        apart = 0.0 if high == low else high / low - 1.0 if low > 0.0 else math.inf
        return self._end(high if upper else low, apart, which)

    def log_delta(self, asked: LogDeltaAt) -> End:
        """The largest of the profiles' ends."""
        upper, (epsilon, width, _) = self.end == "upper", asked
        brackets = self._brackets(epsilon, width) if upper else self._best(epsilon, width)
        ends = [bracket.high if upper else bracket.low for bracket in brackets]
        which = max(range(len(ends)), key=ends.__getitem__)
        low, high = brackets[which]
        low = max(bracket.low for bracket in brackets) if upper else low
        gap = 0.0 if high == low else math.expm1(min(high - low, 700.0))
        return self._end(ends[which], gap, which)

    def rough(self, epsilon: float) -> float:
        """About the largest log delta of its profiles."""
        return max(profile.rough_log_delta(epsilon) for profile in self.profiles)

    def nearest(self, epsilons: Sequence[float]) -> Pairs:
        """Of a lower end: only those of its profiles that seem the largest at one of these eps."""
        of_all = range(len(self.profiles))
        kept = sorted(
            {max(of_all, key=lambda i: self.profiles[i].rough_log_delta(e)) for e in epsilons}
        )
        profiles, words = ([row[i] for i in kept] for row in (self.profiles, self.witnesses))
        return replace(self, profiles=tuple(profiles), witnesses=tuple(words))

    @property
    def variance(self) -> float:
        """About the largest variance of a gain at eps = 0: eps grows as its root among many."""
        return max(profile.variance() for profile in self.profiles)

    def _end(self, value: float, width: float, which: int) -> End:
        return End(value, self.theorem, width, self.witnesses[which], self.assumptions)

    def _brackets(self, epsilon: float, width: float) -> list[LogInterval]:
        """Of all profiles; of many, those that loose brackets rule out stay loose."""
        if len(self.profiles) <= _FEW:
            return [profile.log_delta(epsilon, width=width) for profile in self.profiles]
        brackets = [profile.log_delta(epsilon) for profile in self.profiles]
        largest = max(bracket.low for bracket in brackets)
        for i, bracket in enumerate(brackets):
            if bracket.high >= largest:
                found = self.profiles[i].log_delta(epsilon, width=width)
                low, high = max(bracket.low, found.low), min(bracket.high, found.high)
                brackets[i] = LogInterval(low, high)
        return brackets

    def _best(self, epsilon: float, width: float) -> list[LogInterval]:
        """Of those that may be the largest by an estimate: each one's own low end is a lower end.

        Of a profile that is not looked at nothing is said.
        """
        rough = [profile.rough_log_delta(epsilon) for profile in self.profiles]
        order = sorted(range(len(rough)), key=lambda i: -rough[i])
        near = [i for i in order if not rough[i] < rough[order[0]] - _NEAR]
        brackets = [_UNKNOWN] * len(rough)
        largest = -math.inf
        for i in near:
            profile = self.profiles[i]
            # A loose bracket first of all but the one that seems the largest.
            if i != order[0] and profile.log_delta(epsilon).high < largest:
                continue
            brackets[i] = profile.log_delta(epsilon, width=width)
            largest = max(largest, brackets[i].low)
        return brackets
