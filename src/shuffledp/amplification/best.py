"""The best certified end of all analyses that apply to one source among n users."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from shuffledp import theorems
from shuffledp._check import Trust
from shuffledp.amplification.analyses import ANALYSES, Analysis, When, analysis_named
from shuffledp.amplification.end import Certifier, End, Side
from shuffledp.amplification.words import HONEST, own_assumptions
from shuffledp.bound import delta_from_log
from shuffledp.bounds.profile import LOOSE
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Source
from shuffledp.randomizers import Randomizer

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
# A slow analysis looks for an end up to so much above the best one.
_ABOVE = 1.3
# P(L > eps) - delta next to eps = 0, at the least; brackets of delta may take this much of rtol.
_FALL, _SHARE = 0.3, 0.6
# Steps up to where a bracket of another width says no more than the target, from a sixteenth of
# rtol on, each twice the last.
_STEPS = 12


class EpsilonAt(NamedTuple):
    """eps at a delta, as ``Certifier.epsilon`` is asked for it."""

    delta: float
    cap: float
    rtol: float
    width: float | None = None

    def of(self, one: Certifier) -> End:
        """The end of one analysis."""
        return one.epsilon(self.delta, cap=self.cap, rtol=self.rtol, width=self.width)

    def hopeless(self, one: Certifier, best: float) -> bool:
        """Whether an analysis would not better this end."""
        return one.hopeless(best, math.log(self.delta))


class LogDeltaAt(NamedTuple):
    """log delta at an eps, as ``Certifier.log_delta`` is asked for it."""

    epsilon: float
    width: float
    along: bool = False

    def of(self, one: Certifier) -> End:
        """The end of one analysis."""
        return one.log_delta(self.epsilon, width=self.width, along=self.along)

    def hopeless(self, one: Certifier, best: float) -> bool:
        """Whether an analysis would not better this end."""
        return one.hopeless(self.epsilon, best)


Question = EpsilonAt | LogDeltaAt


class Best:
    """Asks each analysis that applies, and keeps the best end.

    All that is remembered is a function of the source, n, rtol, trust and the question: a question
    is answered alike, to the last bit, whatever was asked before it.

    Parameters
    ----------
    source : Randomizer, family or protocol
        What each user runs.
    n : int
        Users (messages in the shuffle).
    rtol : float
        Requested relative width of each analysis' own bracket of eps.
    trust : {"all", "published"}
        Which theorems an upper end may rest on.
    """

    def __init__(self, source: Source, n: int, *, rtol: float, trust: Trust) -> None:
        self.source, self.n, self.rtol = source, n, rtol
        self.trust: Trust = trust
        self.eps0 = float(source.eps0)
        self.width = max(min(10.0 * rtol, LOOSE), 1e-12)
        # Of each analysis and of each question; None where there is none.
        self._made: dict[str, Certifier | None] = {}
        self._found: dict[tuple[str, Question], End | None] = {}

    # ------------------------------------------------------------------------------ both ends

    def epsilon(self, delta: float, analysis: str | None, *, closing: bool) -> tuple[End, End]:
        """Lower and upper end of eps at a delta; of all analyses, or of one.

        ``closing``: analyses that take seconds too, where the others' ends are apart.
        """
        cap = self.local_epsilon(delta)
        upper = self.upper_epsilon(delta, analysis)
        if cap <= 0.0:
            return _ZERO, upper
        question = EpsilonAt(delta, cap, self.rtol)
        lower = self._largest(question, analysis, _ZERO, reached=upper.value / (1.0 + self.rtol))
        if closing and analysis is None and upper.value > (1.0 + self._gap) * lower.value:
            # First numbers may serve from above the best end on only, and better ones below it.
            best = min(cap, _ABOVE * upper.value)
            upper = self.closer(upper, EpsilonAt(delta, best, self.rtol))
        return lower, upper

    def log_delta(self, epsilon: float, analysis: str | None, *, closing: bool) -> tuple[End, End]:
        """The same of log delta at an eps."""
        if epsilon >= self.eps0:
            return _NOTHING, self.local(-math.inf, 0.0)
        upper = self.upper_log_delta(epsilon, analysis)
        question = LogDeltaAt(epsilon, self.width)
        lower = self._largest(question, analysis, _NOTHING, reached=upper.value - self.width)
        if closing and analysis is None and upper.value > lower.value + self.width:
            nearer = LogDeltaAt(epsilon / (1.0 + self._gap), self.width)
            if upper.value > self._largest(nearer, None, _NOTHING, reached=upper.value).value:
                upper = self.closer(upper, question)
        return lower, upper

    def upper_epsilon(self, delta: float, analysis: str | None) -> End:
        """The end, at which the upper end of delta is at most the target too."""
        cap = self.local_epsilon(delta)
        if cap <= 0.0:
            return self.local(0.0, None)  # one report alone meets the target at eps = 0
        start = self.local(cap, None)
        question = EpsilonAt(delta, cap, self.rtol, self.width)
        found = self._least(question, analysis, start, enough=4.0 * self.rtol)
        first = next(self.asked("upper", analysis), None)
        if first is None or not first[1].profiles or found.value <= 0.0:
            return found  # no bracket that could be asked narrower
        epsilon, step = found.value, self.rtol / 16.0
        for _ in range(_STEPS):
            if epsilon >= cap:
                return start
            log = self.upper_log_delta(epsilon, analysis).value
            if delta_from_log(-math.inf, log)[1] <= delta:
                break
            epsilon, step = epsilon * (1.0 + step), 2.0 * step
        if epsilon == found.value:
            return found
        wider = None if found.width is None else (1.0 + found.width) * epsilon / found.value - 1.0
        return found._replace(value=epsilon, width=wider)

    def upper_log_delta(self, epsilon: float, analysis: str | None = None) -> End:
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

    def upper_at(self, question: LogDeltaAt, analysis: str | None) -> End:
        """log delta at an eps, about as narrow as is asked."""
        # The local guarantee may hold from a smaller eps on than that of all pairs of inputs.
        local = question.epsilon >= self.local_epsilon(_LEAST_DELTA)
        start = self.local(math.log(_LEAST_DELTA) if local else 0.0, None)
        return self._least(question, analysis, start, enough=min(4.0 * question.width, LOOSE))

    def closer(self, upper: End, question: Question) -> End:
        """The end, or a lower one by what is worth its time only where ends are apart."""
        for _, one in self.asked("upper", None, "apart"):
            found = self._end(one, question, named=False)
            upper = found if found is not None and found.value < upper.value else upper
        return upper

    @property
    def _gap(self) -> float:
        return max(GAP, self.rtol)

    # ------------------------------------------------------------------- a min, and a max

    def _least(self, question: Question, analysis: str | None, start: End, *, enough: float) -> End:
        """The least upper end of all analyses that apply, or that of the one named.

        ``enough``: an end this narrow is the last, as the tightest analysis comes first.
        """
        best = start
        for which, one in self.asked("upper", analysis):
            if best is not start and question.hopeless(one, best.value):
                continue
            found = self._end(one, question, named=analysis is not None)
            if found is None:
                continue
            best = found if found.value < best.value else best
            narrow = found.width is not None and found.width <= enough
            if narrow or (found is best and which.alone(self.source)):
                break
        return best

    def _largest(
        self, question: Question, analysis: str | None, start: End, *, reached: float
    ) -> End:
        """The largest lower end; none is above ``reached`` by more than its width."""
        best = start
        for _, one in self.asked("lower", analysis):
            found = self._end(one, question, named=analysis is not None)
            best = found if found is not None and found.value > best.value else best
            if best.value >= reached:
                break
        return best

    def _end(self, one: Certifier, question: Question, *, named: bool) -> End | None:
        """One analysis' end, found once; None where it has none here and was not named."""
        key = one.key, question
        if self._found.get(key) is None and (named or key not in self._found):
            try:
                self._found[key] = question.of(one)
            except NotCertified:
                if named:
                    raise
                self._found[key] = None
        return self._found[key]

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
                if one.end == end and one.when(self) == when:
                    made = self.certifier(one.key)
                    if made is not None:
                        yield one, made
            return
        chosen = analysis_named(analysis)
        if chosen.end != end and chosen.other_end is not None:
            chosen = analysis_named(chosen.other_end)
        # The local guarantee is the cap that every search begins with.
        if chosen.key != "local" and chosen.end == end:
            made = self._make(chosen.key, named=True)
            yield from () if made is None else ((chosen, made),)

    def certifier(self, key: str) -> Certifier | None:
        """One analysis; None if it does not apply or rests on what is not trusted.

        A lower end is a data set's, whatever is trusted of theorems on upper ends.
        """
        made = self._make(key, named=False)
        if made is None or made.end == "lower" or made.theorem.serves(self.trust):
            return made
        return None

    def _make(self, key: str, *, named: bool) -> Certifier | None:
        if self._made.get(key) is None and (named or key not in self._made):
            try:
                self._made[key] = analysis_named(key).make(self.source, self.n)
            except NotCertified:
                if named:
                    raise
                self._made[key] = None
        return self._made[key]

    # --------------------------------------------------------------------- the local guarantee

    def local(self, value: float, width: float | None) -> End:
        """An upper end by the local guarantee."""
        words = (self.source.relation.sentence, HONEST, *own_assumptions(self.source))
        return End(value, theorems.LOCAL, width, {"analysis": "local"}, words)

    def local_epsilon(self, delta: float) -> float:
        """eps of one report alone at this delta, for neighbours by the source's relation."""
        if not isinstance(self.source, Randomizer):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))
