"""The end given by the privacy profiles of some pairs of laws."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.amplification.end import Certifier, End, EpsilonAt, LogDeltaAt, Side
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Theorem
from shuffledp.laws.sources import Named
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.profile import Profile

# Up to this many profiles, all are evaluated at full width: loose brackets first cost more than
# they save.
_FEW = 2
# Margin on log delta for skipping a profile by its estimate. Estimates err by a few per cent of
# delta, so an estimate this far below the largest cannot belong to the largest profile.
_NEAR = 0.5
_UNKNOWN = LogInterval(-math.inf, math.inf)


def of_pairs(
    key: str, end: Side, theorem: Theorem, pairs: Sequence[Named], assumptions: tuple[str, ...]
) -> Pairs:
    """The largest of the pairs' profiles as an end; equal laws count once.

    Parameters
    ----------
    key : str
        Key of the analysis.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        Theorem that certifies the end.
    pairs : sequence of (pair, dict)
        Pairs of laws, each with its witness.
    assumptions : tuple of str
        Assumptions, as sentences.
    """
    kept: dict[Hashable, tuple[Profile, dict[str, Any]]] = {}
    for pair, witness in pairs:
        profile = Profile(pair)
        # A single pair needs no comparison: its law need not be computed here.
        same = len(pairs) == 1 or profile.fingerprint()
        kept.setdefault(same, (profile, witness))
    profiles, witnesses = zip(*kept.values(), strict=True)
    return Pairs(key, end, theorem, assumptions, profiles, witnesses)


@dataclass(frozen=True)
class Pairs(Certifier):
    """The largest of several privacy profiles.

    Attributes
    ----------
    witnesses : tuple of dict
        Witness of each profile.
    """

    witnesses: tuple[dict[str, Any], ...] = ()

    def epsilon(self, asked: EpsilonAt) -> End:
        """The eps at which the largest profile meets the target, certified on this end's side."""
        upper = self.end == "upper"
        delta, cap, rtol, width = asked
        solve = upper_epsilon if upper else lower_epsilon
        low, high, which = solve(self.profiles, math.log(delta), cap=cap, rtol=rtol, width=width)
        apart = 0.0 if high == low else high / low - 1.0 if low > 0.0 else math.inf
        return self._end(high if upper else low, apart, which)

    def log_delta(self, asked: LogDeltaAt) -> End:
        """The largest of the profiles' log deltas, certified on this end's side."""
        upper, (epsilon, width, _) = self.end == "upper", asked
        brackets = self._brackets(epsilon, width) if upper else self._best(epsilon, width)
        ends = [bracket.high if upper else bracket.low for bracket in brackets]
        which = max(range(len(ends)), key=ends.__getitem__)
        low, high = brackets[which]
        low = max(bracket.low for bracket in brackets) if upper else low
        gap = 0.0 if high == low else math.expm1(min(high - low, 700.0))
        return self._end(ends[which], gap, which)

    def rough(self, epsilon: float) -> float:
        """An estimate of the largest log delta of the profiles."""
        return max(profile.rough_log_delta(epsilon) for profile in self.profiles)

    def nearest(self, epsilons: Sequence[float]) -> Pairs:
        """Only the profiles that seem the largest at one of these eps (for lower ends)."""
        of_all = range(len(self.profiles))
        kept = sorted(
            {max(of_all, key=lambda i: self.profiles[i].rough_log_delta(e)) for e in epsilons}
        )
        profiles, words = ([row[i] for i in kept] for row in (self.profiles, self.witnesses))
        return replace(self, profiles=tuple(profiles), witnesses=tuple(words))

    @property
    def variance(self) -> float:
        """An estimate of the largest variance of a gain at eps = 0; eps grows as its root."""
        return max(profile.variance() for profile in self.profiles)

    def _end(self, value: float, width: float, which: int) -> End:
        return End(value, self.theorem, width, self.witnesses[which], self.assumptions)

    def _brackets(self, epsilon: float, width: float) -> list[LogInterval]:
        """Brackets of all profiles; of many, those below the largest low end stay loose."""
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
        """Brackets of the profiles whose estimate is near the largest.

        Each bracket's low end is a valid lower end. Profiles that were not evaluated are unbounded.
        """
        rough = [profile.rough_log_delta(epsilon) for profile in self.profiles]
        order = sorted(range(len(rough)), key=lambda i: -rough[i])
        near = [i for i in order if not rough[i] < rough[order[0]] - _NEAR]
        brackets = [_UNKNOWN] * len(rough)
        largest = -math.inf
        for i in near:
            profile = self.profiles[i]
            # Every profile but the apparent largest is first bracketed loosely.
            if i != order[0] and profile.log_delta(epsilon).high < largest:
                continue
            brackets[i] = profile.log_delta(epsilon, width=width)
            largest = max(largest, brackets[i].low)
        return brackets
