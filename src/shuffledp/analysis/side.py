"""One side of a bound: the profiles of an analysis, and the end of eps or delta they certify."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Theorem
from shuffledp.bounds.inverse import EpsilonInterval, narrowest, slope_of, solve_epsilon
from shuffledp.bounds.profile import Profile
from shuffledp.rounds.curve import Sharper
from shuffledp.rounds.curve import Source as Curve

End = Literal["upper", "lower"]

# Up to so many profiles a loose bracket of each costs more than it saves.
_FEW = 2
# Estimates of log delta at the same eps are as near as that to each other's order: a lower end of
# the second largest would be lower by no more.
_NEAR = 0.5
_UNKNOWN = LogInterval(-math.inf, math.inf)
# Where an estimate is that far above, a loose bracket decides; where it is that much farther, no
# bracket is asked: estimates are off by some per cent of delta, not by a factor of seven.
_FAR_ABOVE, _CERTAINLY_ABOVE = 0.5, 2.0


@dataclass(frozen=True)
class Found:
    """One end: its value, what certifies it, its numerical width, and what reproduces it."""

    value: float
    theorem: Theorem | None
    width: float | None
    witness: dict[str, Any]
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One analysis of one source: the end that it certifies, here by profiles of pairs.

    Attributes
    ----------
    key : str
        The analysis.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        What certifies it.
    profiles : tuple of Profile
        The curves, where it is one of pairs.
    witnesses : tuple of dict
        What each of them stands for.
    assumptions : tuple of str
        Under which it holds, in words.
    """

    key: str
    end: End
    theorem: Theorem
    profiles: tuple[Profile, ...]
    witnesses: tuple[dict[str, Any], ...]
    assumptions: tuple[str, ...]

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """The end of eps at this delta; an upper one may be as large as ``cap`` without saying so.

        Parameters
        ----------
        delta : float
            Target.
        cap : float
            eps by the local guarantee.
        rtol : float
            Relative width wanted.
        width : float, optional
            Relative width of delta that will be asked for at the end.
        """
        upper = self.end == "upper"
        found = solve_epsilon(
            self.profiles, math.log(delta), cap=cap, rtol=rtol, need_all=upper, width=width
        )
        return Found(
            found.high if upper else found.low,
            self.theorem,
            _relative(found),
            self.witnesses[found.which],
            self.assumptions,
        )

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end of log delta at this eps, numerically about a relative ``width`` wide."""
        upper = self.end == "upper"
        brackets = self._brackets(epsilon, width) if upper else self._best(epsilon, width)
        ends = [bracket.high if upper else bracket.low for bracket in brackets]
        which = max(range(len(ends)), key=ends.__getitem__)
        low, high = brackets[which]
        low = max(bracket.low for bracket in brackets) if upper else low
        gap = 0.0 if high == low else math.expm1(min(high - low, 700.0))
        return Found(ends[which], self.theorem, gap, self.witnesses[which], self.assumptions)

    def at_node(self, epsilon: float, *, width: float) -> Found:
        """The same, as one of many eps: what the others need too may be shared with them."""
        return self.log_delta(epsilon, width=width)

    def rough(self, epsilon: float) -> float:
        """About the largest log delta of its profiles; nan where it has none."""
        return max((one.rough_log_delta(epsilon) for one in self.profiles), default=math.nan)

    def nearest(self, epsilons: Sequence[float]) -> Side:
        """Of a lower end: only those of its profiles that seem the largest at one of these eps."""
        if len(self.profiles) <= 1:
            return self
        all_of = range(len(self.profiles))
        best = {
            max(all_of, key=lambda i: self.profiles[i].rough_log_delta(epsilon))
            for epsilon in epsilons
        }
        kept = sorted(best)
        profiles, words = ([row[i] for i in kept] for row in (self.profiles, self.witnesses))
        return replace(self, profiles=tuple(profiles), witnesses=tuple(words))

    def hopeless(self, epsilon: float, log_delta: float) -> bool:
        """Whether delta is above that point: certainly, or by an estimate that is very far above.

        Nothing rests on it but that no end is given away.
        """
        for profile in self.profiles:
            apart = profile.rough_log_delta(epsilon, above=log_delta) - log_delta
            if apart > _CERTAINLY_ABOVE:
                return True
            if apart > _FAR_ABOVE and profile.log_delta(epsilon).low > log_delta:
                return True
        return False

    def for_rounds(self) -> Sharper | None:
        """A curve of the bound for rounds, where it is not one of profiles."""
        return None

    def exact(self) -> Curve | None:
        """The supremum's own curve, where its two ends are known: rounds rest on it alone."""
        return None

    def _brackets(self, epsilon: float, width: float) -> list[LogInterval]:
        """Of all profiles; of many, those that loose brackets rule out stay loose."""
        if len(self.profiles) <= _FEW:
            return [narrowest(profile, epsilon, width)[0] for profile in self.profiles]
        brackets = [profile.log_delta(epsilon) for profile in self.profiles]
        largest = max(bracket.low for bracket in brackets)
        for i, bracket in enumerate(brackets):
            if bracket.high >= largest:
                found = narrowest(self.profiles[i], epsilon, width)[0]
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
            brackets[i] = narrowest(profile, epsilon, width)[0]
            largest = max(largest, brackets[i].low)
        return brackets

    def slope(self, epsilon: float, cap: float) -> float:
        """About -d log delta/d eps, below cap, of the highest profile; certifies nothing."""
        highest = max(self.profiles, key=lambda profile: profile.rough_log_delta(epsilon))
        return slope_of(highest, epsilon, cap)


def _relative(found: EpsilonInterval) -> float:
    if found.high == found.low:
        return 0.0
    return found.high / found.low - 1.0 if found.low > 0.0 else math.inf
