"""All messages of n users in a uniformly random order: the best ends of all analyses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import theorems
from shuffledp._check import Trust
from shuffledp.amplification.analyses import UNCERTIFIED, analysis_named
from shuffledp.amplification.best import Best
from shuffledp.amplification.end import bound_of
from shuffledp.amplification.profile import FEWEST, profile
from shuffledp.amplification.rounds import round_of
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.bound import Bound, Theorem
from shuffledp.bounds.data_sets import DataSet, lower_epsilon, lower_log_delta
from shuffledp.bounds.several import several_sets
from shuffledp.bounds.shufflers import local_guarantee
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.sources import Source
from shuffledp.neighbours import Relation
from shuffledp.published import FORMULAS, Estimate
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed, Round, compose
from shuffledp.values.work import Answers, Beside

# Relative width of eps that is worth the time where several users change: each value is as many
# evaluations as there are steps.
_SEVERAL_RTOL = 1e-4


@dataclass(frozen=True)
class Messages(Seen):
    """A mechanism among n users behind one perfect shuffler, in some rounds.

    Attributes
    ----------
    source : Randomizer, MultiMessage or family
        What each user runs.
    n : int
        Users (messages in the shuffle), the one who is protected included.
    rounds : int
        How often everybody reports, each time shuffled anew.
    rtol : float
        Requested relative width of each analysis' own numerical bracket of eps.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/.
    """

    source: Source
    n: int
    rounds: int = 1
    rtol: float = 1e-6
    trust: Trust = "all"

    @property
    def eps0(self) -> float:
        """Local guarantee of one report in nats (inf where there is none)."""
        return float(self.source.eps0)

    @property
    def relation(self) -> Relation:
        """What one user may change."""
        return self.source.relation

    @property
    def guarantee(self) -> float:
        """Pure guarantee of one user's reports in all rounds."""
        return local_guarantee(self.eps0, 1, self.rounds)

    def bound(
        self,
        quantity: Quantity,
        value: float,
        *,
        recomputed: bool = False,
        analysis: str | None = None,
        closing: bool = True,
    ) -> Bound:
        """Both ends; by one analysis alone where it is named.

        ``closing``: also by an analysis that takes seconds, where the others' ends are apart.
        """
        del recomputed
        if self.rounds > 1:
            if analysis is not None:
                raise rejected("analysis", analysis, "none with rounds: the best is composed")
            whole = _WORK.of(self).answer("composed", self.composed)
            return whole.bound(quantity, value)
        best = _BEST.of(self)
        if quantity == "epsilon":
            ends, wanted = best.epsilon(value, analysis, closing=closing), self.rtol
            at = {"delta": value, "n": self.n}
        else:
            ends, wanted = best.log_delta(value, analysis, closing=closing), best.width
            at = {"epsilon": value, "n": self.n}
        return bound_of(quantity, *ends, at=at, relation=self.relation, wanted=wanted)

    def by_analysis(self, quantity: Quantity, value: float, key: str) -> Bound:
        """Both ends by one analysis; NotCertified where it gives no bound."""
        _refuse_uncertified(key)
        return self.bound(quantity, value, analysis=key)

    def estimate(self, quantity: Quantity, value: float, key: str) -> Estimate:
        """An analysis' number without its certificate."""
        if self.rounds > 1:
            raise rejected("analysis", key, "none with rounds: the best is composed")
        if key in FORMULAS:
            cap = _BEST.of(self).local_epsilon(value) if quantity == "epsilon" else math.inf
            return FORMULAS[key].estimate(self.source, quantity, value, n=self.n, cap=cap)
        analysis = analysis_named(key)
        bound, lower = self.bound(quantity, value, analysis=key), analysis.end == "lower"
        return Estimate(
            quantity,
            bound.lower if lower else bound.upper,
            analysis.theorem.title,
            analysis.theorem.source,
            at=bound.at,
            log_value=bound.log_lower if lower else bound.log_upper,
        )

    def profile(self, epsilons: Sequence[float], analysis: str | None) -> list[Bound]:
        """delta at each eps: of many points chords between certified upper ends."""
        _refuse_uncertified(analysis)
        if len(epsilons) < FEWEST or self.rounds > 1:
            return [self.bound("delta", e, analysis=analysis) for e in epsilons]
        return profile(_BEST.of(self), epsilons, analysis)

    # ------------------------------------------------------------------------ upper ends alone

    def upper_epsilon(self, delta: float) -> float:
        """The upper end of eps by itself: for solvers, which need no lower end."""
        if self.rounds > 1:
            return self.composed().upper_epsilon(delta=delta)
        return _BEST.of(self).upper_epsilon(delta, None).value

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end at any eps."""
        del log_target
        return self.log_upper

    def log_upper(self, epsilon: float) -> float:
        """log of delta's upper end at this eps."""
        if epsilon >= self.guarantee:
            return -math.inf
        if self.rounds > 1:
            return _WORK.of(self).answer("composed", self.composed).log_upper(epsilon)
        return _BEST.of(self).upper_log_delta(epsilon).value

    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """What certifies it: asked for where nothing is left at the bound's own eps."""
        if one.upper_theorem == theorems.LOCAL:
            one = self.bound("delta", epsilon)
        return one.upper_theorem

    # ---------------------------------------------------------------------- several users

    def several_rtol(self, changed: int) -> float:
        """As narrow as is asked for, where one user changes."""
        return self.rtol if changed == 1 else max(self.rtol, _SEVERAL_RTOL)

    def lower_log_delta(self, changed: int, epsilon: float) -> tuple[float, dict[str, Any]]:
        """By data sets of one round that differ in all users who change; more rounds only add."""
        return lower_log_delta(self._sets(changed), epsilon)

    def lower_epsilon(
        self, changed: int, log_delta: float, *, above: float, cap: float
    ) -> tuple[float, dict[str, Any]] | None:
        """The same of eps."""
        return lower_epsilon(self._sets(changed), log_delta, above=above, cap=cap)

    def _sets(self, changed: int) -> list[DataSet]:
        source = self.source
        if not isinstance(source, Randomizer):
            return []
        return _WORK.of(self).answer(
            changed, lambda: several_sets(source, source.datasets(), self.n, changed)
        )

    # ----------------------------------------------------------------------------- rounds

    def among(self, n: int) -> Messages:
        """The same of another number of users."""
        return replace(self, n=n)

    def again(self, rounds: int) -> Messages:
        """The same in so many rounds."""
        return replace(self, rounds=rounds)

    def composed(self, rtol: float | None = None, *, sharper: bool = True) -> Composed:
        """All its rounds; ``sharper``: by label stealing too."""
        return compose([self.as_round(sharper=sharper)], rounds=self.rounds, rtol=rtol)

    def as_round(self, *, sharper: bool = True) -> Round:
        """One of its rounds, to be composed with others."""
        made = lambda: self._round(sharper=sharper)  # noqa: E731
        return _WORK.of(self).answer(("round", sharper), made)

    def _round(self, *, sharper: bool) -> Round:
        uppers = [one for _, one in _BEST.of(self).asked("upper", None)]
        exact = [one for one in uppers if one.exact() is not None][:1]
        curves = [one for one in uppers if one.for_rounds() is not None and not exact]
        return round_of(
            self.source,
            exact or [one for one in uppers if one.profiles],
            sharper=curves[0] if sharper and curves else None,
            label=getattr(self.source, "name", "generic"),
            eps0=self.eps0,
            n=self.n,
            rtol=self.rtol,
            key=(self.source, self.n, self.trust, self.rtol, sharper),
        )

    def uses(self, key: str) -> bool:
        """Whether the analysis is one of those that the best is taken of."""
        if key in UNCERTIFIED:
            return False
        best = _BEST.of(self)
        return analysis_named(key).when(best) == "always" and best.certifier(key) is not None


def _refuse_uncertified(analysis: str | None) -> None:
    if analysis in UNCERTIFIED:
        msg = (
            f"analysis = {analysis!r}: no bound ({FORMULAS[analysis].validity}); "
            "`estimate` gives its number"
        )
        raise NotCertified(msg)


_BEST: Beside[Messages, Best] = Beside(
    lambda asked: Best(asked.source, asked.n, rtol=asked.rtol, trust=asked.trust)
)
_WORK: Beside[Messages, Answers] = Beside(lambda _: Answers())
