"""All messages of n users in a uniformly random order: the best ends of all analyses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import theorems
from shuffledp._check import Trust
from shuffledp.amplification.analyses import ANALYSES, UNCERTIFIED, Analysis, When, analysis_named
from shuffledp.amplification.end import Certifier, End, EpsilonAt, LogDeltaAt, Side, bound_of
from shuffledp.amplification.rounds import round_of
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.amplification.words import HONEST, own_assumptions
from shuffledp.bound import Bound, Theorem, delta_from_log
from shuffledp.bounds.data_sets import DataSet, lower_epsilon, lower_log_delta
from shuffledp.bounds.profile import LOOSE
from shuffledp.bounds.several import several_sets
from shuffledp.bounds.shufflers import local_guarantee
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.sources import Source
from shuffledp.neighbours.one_user import Relation
from shuffledp.published import FORMULAS, Estimate
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed, Round, compose
from shuffledp.values.work import Answers, Beside

# Relative width of eps that is worth the time where several users change: each value is as many
# evaluations as there are steps.
_SEVERAL_RTOL = 1e-4
_ZERO = End(0.0, None, None, {}, ())
_NOTHING = _ZERO._replace(value=-math.inf)
# No target leads to an end as small as this, whose own width would ask for brackets of delta
# narrower than arithmetic has them, at any cost.
_NO_END = 1e-9
# Smaller deltas are left to the local guarantee.
_LEAST_DELTA = 1e-300
# Ends farther apart than that in eps are worth an analysis that takes seconds; not where wider ones
# were asked for.
GAP = 0.01
# An analysis whose estimate of log delta is farther above the best end is not asked.
_NEAR = 0.5
# P(L > eps) - delta next to eps = 0, at the least; brackets of delta may take this much of rtol.
_FALL, _SHARE = 0.3, 0.6
# Steps up to where a bracket of another width says no more than the target, from a sixteenth of
# rtol on, each twice the last.
_STEPS = 12


@dataclass(frozen=True)
class Messages(Seen):
    """A mechanism among n users behind one perfect shuffler, in some rounds.

    All that is kept is a function of the fields and the question: a question is answered alike, to
    the last bit, whatever was asked before it.

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

    @property
    def width(self) -> float:
        """Relative width of delta that is asked for at a given eps."""
        return max(min(10.0 * self.rtol, LOOSE), 1e-12)

    # ------------------------------------------------------------------------------ both ends

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
            return _WORK.of(self).answer("composed", self.composed).bound(quantity, value)
        if analysis is not None:
            analysis_named(analysis)  # refuses formulas of which no end is known
            closing = False
        if quantity == "epsilon":
            upper = self._upper_epsilon(value, analysis)
            lower, upper = self._lower_epsilon(value, upper, analysis, closing=closing)
            at, wanted = {"delta": value, "n": self.n}, self.rtol
        else:
            lower, upper = self._log_delta(value, analysis, closing=closing)
            at, wanted = {"epsilon": value, "n": self.n}, self.width
        return bound_of(quantity, lower, upper, at=at, relation=self.relation, wanted=wanted)

    def estimate(self, quantity: Quantity, value: float, analysis: str) -> Estimate:
        """An analysis' number without its certificate."""
        if self.rounds > 1:
            raise rejected("analysis", analysis, "none with rounds: the best is composed")
        if analysis in FORMULAS:
            cap = self._local_epsilon(value) if quantity == "epsilon" else math.inf
            return FORMULAS[analysis].estimate(self.source, quantity, value, n=self.n, cap=cap)
        named = analysis_named(analysis)
        bound, lower = self.bound(quantity, value, analysis=analysis), named.end == "lower"
        return Estimate(
            quantity,
            bound.lower if lower else bound.upper,
            named.theorem.title,
            named.theorem.source,
            at=bound.at,
            log_value=bound.log_lower if lower else bound.log_upper,
        )

    def _lower_epsilon(
        self, delta: float, upper: End, analysis: str | None, *, closing: bool
    ) -> tuple[End, End]:
        """The lower end of eps, and the upper one, closer where the two are apart."""
        cap = self._local_epsilon(delta)
        if cap <= 0.0:
            return _ZERO, upper
        asked = EpsilonAt(delta, cap, self.rtol)
        lower = self._largest(asked, analysis, _ZERO, reached=upper.value / (1.0 + self.rtol))
        if closing and upper.value > (1.0 + self._gap) * lower.value:
            upper = self.closer(upper, EpsilonAt(delta, min(cap, upper.value), self.rtol))
        return lower, upper

    def _log_delta(self, epsilon: float, analysis: str | None, *, closing: bool) -> tuple[End, End]:
        """Both ends of log delta at an eps."""
        if epsilon >= self.eps0:
            return _NOTHING, self._local(-math.inf, 0.0)
        upper = self.upper_end(epsilon, analysis)
        asked = LogDeltaAt(epsilon, self.width)
        lower = self._largest(asked, analysis, _NOTHING, reached=upper.value - self.width)
        if closing and upper.value > lower.value + self.width:
            nearer = LogDeltaAt(epsilon / (1.0 + self._gap), self.width)
            if upper.value > self._largest(nearer, None, _NOTHING, reached=upper.value).value:
                upper = self.closer(upper, asked)
        return lower, upper

    # ------------------------------------------------------------------------ upper ends alone

    def upper_epsilon(self, delta: float) -> float:
        """The upper end of eps by itself: for solvers, which need no lower end."""
        if self.rounds > 1:
            return self.composed().upper_epsilon(delta=delta)
        return self._upper_epsilon(delta, None).value

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
        return self.upper_end(epsilon).value

    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """What certifies it: asked for where nothing is left at the bound's own eps."""
        if one.upper_theorem == theorems.LOCAL:
            one = self.bound("delta", epsilon)
        return one.upper_theorem

    def _upper_epsilon(self, delta: float, analysis: str | None) -> End:
        """The end, at which the upper end of delta is at most the target too."""
        cap = self._local_epsilon(delta)
        if cap <= 0.0:
            return self._local(0.0, None)  # one report alone meets the target at eps = 0
        start = self._local(cap, None)
        asked = EpsilonAt(delta, cap, self.rtol, self.width)
        found = self._least(asked, analysis, start, enough=4.0 * self.rtol)
        first = next(self.asked("upper", analysis), None)
        if first is None or not first[1].profiles or found.value <= 0.0:
            return found  # no bracket that could be asked narrower
        epsilon, step = found.value, self.rtol / 16.0
        for _ in range(_STEPS):
            if epsilon >= cap:
                return start
            log = self.upper_end(epsilon, analysis).value
            if delta_from_log(-math.inf, log)[1] <= delta:
                break
            epsilon, step = epsilon * (1.0 + step), 2.0 * step
        if epsilon == found.value:
            return found
        wider = None if found.width is None else (1.0 + found.width) * epsilon / found.value - 1.0
        return found._replace(value=epsilon, width=wider)

    def upper_end(self, epsilon: float, analysis: str | None = None) -> End:
        """log delta as narrow as its own width asks, and as the eps at which delta is this does."""
        found = self.upper_at(LogDeltaAt(epsilon, self.width), analysis)
        # -delta' = P(L > eps) - delta for the loss L: where that is large log delta is flat against
        # log eps, by eps/delta times it, and brackets have to be so much narrower.
        flat = _FALL * epsilon / max(math.exp(found.value), _LEAST_DELTA)
        width = max(_SHARE * self.rtol * flat, 1e-12)
        if epsilon > _NO_END and width < self.width:
            finer = self.upper_at(LogDeltaAt(epsilon, width), analysis)
            found = finer if finer.value <= found.value else found
        return found

    def upper_at(self, asked: LogDeltaAt, analysis: str | None) -> End:
        """log delta at an eps, about as narrow as is asked."""
        # The local guarantee may hold from a smaller eps on than that of all pairs of inputs.
        local = asked.epsilon >= self._local_epsilon(_LEAST_DELTA)
        start = self._local(math.log(_LEAST_DELTA) if local else 0.0, None)
        return self._least(asked, analysis, start, enough=min(4.0 * asked.width, LOOSE))

    def closer(self, upper: End, asked: EpsilonAt | LogDeltaAt) -> End:
        """The end, or a lower one by what is worth its time only where ends are apart."""
        for _, one in self.asked("upper", None, "apart"):
            found = self._end(one, asked, named=False)
            upper = found if found is not None and found.value < upper.value else upper
        return upper

    @property
    def _gap(self) -> float:
        return max(GAP, self.rtol)

    # ------------------------------------------------------------------- a min, and a max

    def _least(
        self,
        asked: EpsilonAt | LogDeltaAt,
        analysis: str | None,
        start: End,
        *,
        enough: float,
    ) -> End:
        """The least upper end of all analyses that apply, or that of the one named.

        ``enough``: an end this narrow is the last, as the tightest analysis comes first.
        """
        best, last = start, list[Certifier]()
        at_delta = isinstance(asked, EpsilonAt)
        for which, one in self.asked("upper", analysis):
            if at_delta and one.dear(math.log(asked.delta)):
                last.append(one)
                continue
            if best is not start:
                epsilon = best.value if at_delta else asked.epsilon
                log_delta = math.log(asked.delta) if at_delta else best.value
                if one.rough(epsilon) > log_delta + _NEAR:
                    continue
            found = self._end(one, asked, named=analysis is not None)
            if found is None:
                continue
            best = found if found.value < best.value else best
            narrow = found.width is not None and found.width <= enough
            if narrow or (found is best and which.alone(self.source)):
                break
        if isinstance(asked, EpsilonAt):
            for one in last:
                # They look below the others' end alone.
                below = asked._replace(cap=min(asked.cap, best.value))
                found = self._end(one, below, named=analysis is not None)
                best = found if found is not None and found.value < best.value else best
        return best

    def _largest(
        self,
        asked: EpsilonAt | LogDeltaAt,
        analysis: str | None,
        start: End,
        *,
        reached: float,
    ) -> End:
        """The largest lower end; none is above ``reached`` by more than its width."""
        best = start
        for _, one in self.asked("lower", analysis):
            found = self._end(one, asked, named=analysis is not None)
            best = found if found is not None and found.value > best.value else best
            if best.value >= reached:
                break
        return best

    def _end(self, one: Certifier, asked: EpsilonAt | LogDeltaAt, *, named: bool) -> End | None:
        """One analysis' end, found once; None where it has none here and was not named."""
        found, key = _WORK.of(self), (one.key, asked)
        if found.get(key) is None and (named or key not in found):
            try:
                at_delta = isinstance(asked, EpsilonAt)
                found[key] = one.epsilon(asked) if at_delta else one.log_delta(asked)
            except NotCertified:
                if named:
                    raise
                found[key] = None
        return found[key]

    # ------------------------------------------------------------------------ which are asked

    def asked(
        self, end: Side, analysis: str | None, when: When = "always"
    ) -> Iterator[tuple[Analysis, Certifier]]:
        """Those that give one end: all that apply and are trusted, tightest first, or one.

        ``when``: of all, those that are asked always, or where the others' ends are apart.

        Raises
        ------
        NotCertified
            If the analysis that is named does not apply.
        """
        if analysis is None:
            for one in ANALYSES:
                if one.end == end and self._when(one) == when:
                    made = self.certifier(one.key)
                    if made is not None:
                        yield one, made
            return
        chosen = analysis_named(analysis)
        if chosen.end != end and chosen.other_end is not None:
            chosen = analysis_named(chosen.other_end)
        # The local guarantee is the cap that every search begins with.
        if chosen.key != "local" and chosen.end == end:
            made = self._make(chosen.key)
            if isinstance(made, NotCertified):
                raise made
            yield chosen, made

    def _when(self, one: Analysis) -> When:
        found = _WORK.of(self)
        if ("when", one.key) not in found:
            found["when", one.key] = one.when(self)
        return found["when", one.key]

    def certifier(self, key: str) -> Certifier | None:
        """One analysis; None if it does not apply or rests on what is not trusted.

        A lower end is a data set's, whatever is trusted of theorems on upper ends.
        """
        made = self._make(key)
        if isinstance(made, NotCertified):
            return None
        return made if made.end == "lower" or made.theorem.serves(self.trust) else None

    def _make(self, key: str) -> Certifier | NotCertified:
        """The analysis, made once, or why it does not apply."""
        made = _WORK.of(self)
        if key not in made:
            try:
                made[key] = analysis_named(key).make(self.source, self.n)
            except NotCertified as error:
                made[key] = error.with_traceback(None)
        return made[key]

    def uses(self, key: str) -> bool:
        """Whether the analysis is one of those that the best is taken of."""
        if key in UNCERTIFIED:
            return False
        return self._when(analysis_named(key)) == "always" and self.certifier(key) is not None

    # --------------------------------------------------------------------- the local guarantee

    def _local(self, value: float, width: float | None) -> End:
        """An upper end by the local guarantee."""
        words = (self.relation.sentence, HONEST, *own_assumptions(self.source))
        return End(value, theorems.LOCAL, width, {"analysis": "local"}, words)

    def _local_epsilon(self, delta: float) -> float:
        """eps of one report alone at this delta, for neighbours by the source's relation."""
        if not isinstance(self.source, Randomizer):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))

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
        uppers = [one for _, one in self.asked("upper", None)]
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


_WORK: Beside[Messages, Answers] = Beside(lambda _: Answers())
