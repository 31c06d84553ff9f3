"""The best certified end of all analyses that apply to one mechanism among n users."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from shuffledp import theorems
from shuffledp._check import Trust
from shuffledp.analysis import (
    HONEST,
    End,
    Found,
    Side,
    Source,
    analysis_named,
    closing,
    own_assumptions,
    usual,
)
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.bound import delta_from_log
from shuffledp.bounds.inverse import met_at
from shuffledp.bounds.profile import LOOSE
from shuffledp.errors import NotCertified
from shuffledp.propose.stealing_solve import MOST_ALONE
from shuffledp.randomizers import Randomizer
from shuffledp.values.work import Answers

_ZERO = Found(0.0, None, None, {}, ())
# No target leads to an end as small as this, whose own width would ask for brackets of delta
# narrower than arithmetic has them, at any cost.
_NO_END = 1e-9
# Smaller deltas are left to the local guarantee.
_LEAST_DELTA = 1e-300
# Ends farther apart than that, in eps and in log delta, are worth a slow analysis. Among fewer
# users than so many, where an answer takes milliseconds, they have to be farther apart in eps,
# those of delta half as far in eps too. Where wider ends were asked for, these are wide enough.
_GAP, _LOG_GAP, _MANY, _GAP_OF_FEW = 0.01, 0.005, 5_000, 0.02
# A slow analysis looks for an end up to so much above the best one.
_ABOVE = 1.3
# P(L > eps) - delta next to eps = 0, at the least; brackets of delta may take this much of rtol.
_FALL, _SHARE = 0.3, 0.6


class EpsilonAt(NamedTuple):
    """eps at a delta, as ``Side.epsilon`` is asked for it."""

    delta: float
    cap: float
    rtol: float
    width: float | None = None

    def of(self, side: Side) -> Found:
        """The end of one analysis."""
        return side.epsilon(self.delta, cap=self.cap, rtol=self.rtol, width=self.width)

    def hopeless(self, side: Side, best: float) -> bool:
        """Whether an analysis would not better this end."""
        return side.hopeless(best, math.log(self.delta))


class LogDeltaAt(NamedTuple):
    """log delta at an eps, as ``Side.log_delta`` is asked for it."""

    epsilon: float
    width: float

    def of(self, side: Side) -> Found:
        """The end of one analysis."""
        return side.log_delta(self.epsilon, width=self.width)

    def hopeless(self, side: Side, best: float) -> bool:
        """Whether an analysis would not better this end."""
        return side.hopeless(self.epsilon, best)


class NodeAt(NamedTuple):
    """log delta at one of many eps, as ``Side.at_node`` is asked for it."""

    epsilon: float
    width: float
    # A question of another length than the others' is equal to none of them.
    shared: bool = True

    def hopeless(self, side: Side, best: float) -> bool:
        """Whether an analysis would not better this end."""
        return side.hopeless(self.epsilon, best)

    def of(self, side: Side) -> Found:
        """The end of one analysis."""
        return side.at_node(self.epsilon, width=self.width)


Question = EpsilonAt | LogDeltaAt | NodeAt


class Evaluation:
    """Asks each analysis that applies, and keeps the best end.

    All that is remembered is a function of the source, n, rtol, trust and the question: a question
    is answered alike, to the last bit, whatever was asked before it.

    Parameters
    ----------
    source : Randomizer or family
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
        self.answers = Answers()

    def epsilon(self, delta: float, analysis: str | None, *, closing: bool) -> tuple[Found, Found]:
        """Lower and upper end of eps at a delta; of all analyses, or of one.

        ``closing``: slow analyses too, where the others' ends are apart.
        """
        cap = self.local_epsilon(delta)
        upper = self.upper_epsilon(delta, analysis)
        if cap <= 0.0:
            return _ZERO, upper
        question = EpsilonAt(delta, cap, self.rtol)
        lower = self._largest(question, analysis, _ZERO, reached=upper.value / (1.0 + self.rtol))
        gap = max(_GAP if self.n >= _MANY else _GAP_OF_FEW, self.rtol)
        if closing and analysis is None and upper.value > (1.0 + gap) * lower.value:
            # First numbers may serve from above the best end on only, and better ones below it.
            best = min(cap, _ABOVE * upper.value)
            upper = self.closer(upper, EpsilonAt(delta, best, self.rtol))
        return lower, upper

    def log_delta(
        self, epsilon: float, analysis: str | None, *, closing: bool
    ) -> tuple[Found, Found]:
        """The same of log delta at an eps."""
        if epsilon >= self.eps0:
            return replace(_ZERO, value=-math.inf), self.local(-math.inf, 0.0)
        upper = self.upper_log_delta(epsilon, analysis)
        lower = self._lower_log_delta(epsilon, analysis, reached=upper.value - self.width)
        if closing and analysis is None and self._apart(epsilon, lower.value, upper.value):
            upper = self.closer(upper, LogDeltaAt(epsilon, self.width))
        return lower, upper

    def upper_epsilon(self, delta: float, analysis: str | None) -> Found:
        """The end, where ``delta`` says no more than the target if a few steps up lead there."""
        cap = self.local_epsilon(delta)
        if cap <= 0.0:
            return self.local(0.0, None)  # one report alone meets the target at eps = 0
        found = self._least(
            EpsilonAt(delta, cap, self.rtol, self.width),
            analysis,
            self.local(cap, None),
            enough=4.0 * self.rtol,
            capped=cap < self.eps0,
        )
        tightest = next(self.sides("upper", analysis), None)
        if tightest is None or not tightest.profiles:
            # A formula, or a paper's own algorithm: no bracket that could be asked narrower.
            return found

        def gap(epsilon: float) -> float:
            if epsilon >= self.eps0:
                return 0.0
            value = self.upper_log_delta(epsilon, analysis).value
            met = delta_from_log(-math.inf, value)[1] <= delta
            return 0.0 if met else max(value - math.log(delta), UNIT_ROUNDOFF)

        point = met_at(gap, found.value, cap, slope=lambda e: tightest.slope(e, cap))
        if point == found.value:
            return found
        if point >= cap:
            return self.local(cap, None)
        wider = None if found.width is None else (1.0 + found.width) * point / found.value - 1.0
        return replace(found, value=point, width=wider)

    def upper_log_delta(self, epsilon: float, analysis: str | None = None) -> Found:
        """log delta as narrow as its own width asks, and as the eps at which delta is this does."""
        found = self._upper_at(epsilon, analysis, self.width)
        # -delta' = P(L > eps) - delta for the loss L: where that is large log delta is flat against
        # log eps, by eps/delta times it, and brackets have to be so much narrower.
        flat = _FALL * epsilon / max(math.exp(found.value), _LEAST_DELTA)
        width = max(_SHARE * self.rtol * flat, 1e-12)
        if epsilon > _NO_END and width < self.width:
            finer = self._upper_at(epsilon, analysis, width)
            found = finer if finer.value <= found.value else found
        return found

    def upper_at_node(self, epsilon: float, analysis: str | None, width: float) -> Found:
        """log delta at one of many eps, about a relative ``width`` of delta wide."""
        return self._least_at(NodeAt(epsilon, width), analysis)

    def _upper_at(self, epsilon: float, analysis: str | None, width: float) -> Found:
        return self._least_at(LogDeltaAt(epsilon, width), analysis)

    def _least_at(self, question: LogDeltaAt | NodeAt, analysis: str | None) -> Found:
        # The local guarantee may hold from a smaller eps on than that of all pairs of inputs.
        local = question.epsilon >= self.local_epsilon(_LEAST_DELTA)
        start = self.local(math.log(_LEAST_DELTA) if local else 0.0, None)
        return self._least(question, analysis, start, enough=min(4.0 * question.width, LOOSE))

    def _lower_log_delta(
        self, epsilon: float, analysis: str | None = None, *, reached: float = math.inf
    ) -> Found:
        """log of the lower end of delta, as sharp as it is up to ``reached``."""
        nothing = replace(_ZERO, value=-math.inf)
        return self._largest(LogDeltaAt(epsilon, self.width), analysis, nothing, reached=reached)

    def _apart(self, epsilon: float, lower: float, upper: float) -> bool:
        """Whether ends of log delta at this eps are so far apart that a slow analysis is tried."""
        if upper <= lower + _LOG_GAP:
            return False
        if self.n >= _MANY and self.rtol <= _GAP:
            return True
        nearer = epsilon / (1.0 + max(0.5 * _GAP_OF_FEW, self.rtol))
        return upper > self._lower_log_delta(nearer, reached=upper).value

    def _least(
        self,
        question: Question,
        analysis: str | None,
        start: Found,
        *,
        enough: float,
        capped: bool = False,
    ) -> Found:
        """The least upper end of all analyses that apply, or that of the one named.

        ``capped``: an end at the start's value is the cap, which the analysis itself may not give.
        ``enough``: an end this narrow is the last, as the tightest analysis comes first.
        """
        best = start
        for side in self.sides("upper", analysis):
            if best is not start and question.hopeless(side, best.value):
                continue
            found = self._answer(side, question, named=analysis is not None)
            if found is None or (capped and found.value >= start.value):
                continue
            best = found if found.value <= best.value else best
            if found.width is not None and found.width <= enough:
                break
            if side.key == "label-stealing" and found is best and self.has_many_pairs:
                break
        return best

    def _largest(
        self, question: Question, analysis: str | None, start: Found, *, reached: float
    ) -> Found:
        """The largest lower end; none is above ``reached`` by more than its width."""
        best = start
        for side in self.sides("lower", analysis):
            found = self._answer(side, question, named=analysis is not None)
            best = found if found is not None and found.value > best.value else best
            if best.value >= reached:
                break
        return best

    @property
    def has_closing(self) -> bool:
        """Whether there are analyses that are tried where ends are apart."""
        return bool(closing(self.source, self.n))

    def closer(self, upper: Found, question: Question) -> Found:
        """The end, or a lower one by what is worth its time only where ends are apart."""
        for analysis in closing(self.source, self.n):
            side = self.side(analysis.key)
            if side is not None:
                found = self._answer(side, question, named=False)
                upper = found if found is not None and found.value < upper.value else upper
        return upper

    def _answer(self, side: Side, question: Question, *, named: bool) -> Found | None:
        """One analysis' end, found once; None where it has none here and was not named."""
        asked = (side.key, question)
        if asked not in self.answers:
            try:
                self.answers[asked] = question.of(side)
            except NotCertified:
                if named:
                    raise
                self.answers[asked] = None
        return self.answers[asked]

    def sides(self, end: End, analysis: str | None = None) -> Iterator[Side]:
        """Curves of one end, tightest first: of all analyses that apply, or of the one named.

        Raises
        ------
        NotCertified
            If the analysis that is named does not apply.
        """
        if analysis is None:
            found = (self.side(one.key) for one in usual(self.source, self.n, end))
            yield from (side for side in found if side is not None)
            return
        chosen = analysis_named(analysis)
        if chosen.end != end and chosen.other_end is not None:
            chosen = analysis_named(chosen.other_end)
        # The local guarantee is the cap that every search begins with.
        if chosen.key != "local" and chosen.end == end:
            yield self._made(chosen.key)

    @property
    def has_many_pairs(self) -> bool:
        """Whether the blanket of every pair takes too long where label stealing has a bound."""
        source = self.source
        return isinstance(source, Randomizer) and len(source.worst_pairs().pairs) > MOST_ALONE

    def side(self, key: str) -> Side | None:
        """The end of one analysis; None if it does not apply or rests on what is not trusted.

        A lower end is a data set's, whatever is trusted of theorems on upper ends.
        """
        try:
            side = self._made(key)
        except NotCertified:
            return None
        return side if side.end == "lower" or side.theorem.serves(self.trust) else None

    def _made(self, key: str) -> Side:
        asked = ("side", key)
        return self.answers.answer(asked, lambda: analysis_named(key).make(self.source, self.n))

    def local(self, value: float, width: float | None) -> Found:
        """An upper end by the local guarantee."""
        words = (self.source.relation.sentence, HONEST, *own_assumptions(self.source))
        return Found(value, theorems.LOCAL, width, {"analysis": "local"}, words)

    def local_epsilon(self, delta: float) -> float:
        """eps of one report alone at this delta, for neighbours by the source's relation."""
        if not isinstance(self.source, Randomizer):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))
