"""The best certified end of all analyses that apply to one mechanism among n users."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from shuffledp import theorems
from shuffledp.amplification.evaluation import Evaluation
from shuffledp.analysis import (
    HONEST,
    Analysis,
    End,
    Found,
    Side,
    Source,
    analysis_named,
    closing,
    own_assumptions,
    usual,
)
from shuffledp.bound import Theorem, delta_from_log
from shuffledp.divergence import LOOSE, met_at
from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS

Trust = Literal["all", "published"]

_ZERO = Found(0.0, None, None, {}, ())
_FINE_CELLS = 1 << 19
# No target leads to an end as small as this, whose own width would ask for brackets of delta
# narrower than arithmetic has them, at any cost.
_NO_END = 1e-9
# Smaller deltas are left to the local guarantee.
_LEAST_DELTA = 1e-300
# Ends as near as that ask for finer cells.
_FINE_RTOL = 1e-7
# Ends farther apart than that, in eps and in log delta, are worth a slow analysis. Among fewer
# users than so many, where an answer takes milliseconds, they have to be farther apart in eps,
# those of delta half as far in eps too. Where wider ends were asked for, these are wide enough.
_GAP, _LOG_GAP, _MANY, _GAP_OF_FEW = 0.01, 0.005, 5_000, 0.02
# A slow analysis looks for an end up to so much above the best one.
_ABOVE = 1.3
# P(L > eps) - delta next to eps = 0, at the least; brackets of delta may take this much of rtol.
_FALL, _SHARE = 0.3, 0.6


class Search:
    """Asks each analysis that applies, and keeps the best end.

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
        self.source, self.n, self.rtol, self.trust = source, n, rtol, trust
        self.eps0 = float(source.eps0)
        # For continuous outputs: about how many cells.
        self.cells = DEFAULT_CELLS if rtol > _FINE_RTOL else _FINE_CELLS
        self.width = max(min(10.0 * rtol, LOOSE), 1e-12)
        self.work = Evaluation(source, n, self.cells)

    def epsilon(self, delta: float, analysis: str | None, *, closing: bool) -> tuple[Found, Found]:
        """Lower and upper end of eps at a delta; of all analyses, or of one.

        ``closing``: slow analyses too, where the others' ends are apart.
        """
        cap = self.local_epsilon(delta)
        upper = self.upper_epsilon(delta, analysis)
        lower = self._best(
            "lower",
            analysis,
            _ZERO,
            lambda work, key: work.epsilon(key, delta, cap=cap, rtol=self.rtol),
            enough=4.0 * self.rtol,
            reached=upper.value / (1.0 + self.rtol),
        )
        gap = max(_GAP if self.n >= _MANY else _GAP_OF_FEW, self.rtol)
        if closing and analysis is None and upper.value > (1.0 + gap) * lower.value:
            # First numbers may serve from above the best end on only, and better ones below it.
            best = min(cap, _ABOVE * upper.value)
            upper = self._closer(
                upper, lambda work, key: work.epsilon(key, delta, cap=best, rtol=self.rtol)
            )
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
            upper = self._closer(
                upper, lambda work, key: work.log_delta(key, epsilon, width=self.width)
            )
        return lower, upper

    def _lower_log_delta(
        self, epsilon: float, analysis: str | None = None, *, reached: float = math.inf
    ) -> Found:
        """log of the lower end of delta, as sharp as it is up to ``reached``."""
        return self._best(
            "lower",
            analysis,
            replace(_ZERO, value=-math.inf),
            lambda work, key: work.log_delta(key, epsilon, width=self.width),
            enough=LOOSE,
            reached=reached,
        )

    def _apart(self, epsilon: float, lower: float, upper: float) -> bool:
        """Whether ends of log delta at this eps are so far apart that a slow analysis is tried."""
        if upper <= lower + _LOG_GAP:
            return False
        if self.n >= _MANY and self.rtol <= _GAP:
            return True
        nearer = epsilon / (1.0 + max(0.5 * _GAP_OF_FEW, self.rtol))
        return upper > self._lower_log_delta(nearer, reached=upper).value

    def _closer(self, upper: Found, run: Callable[[Evaluation, str], Found]) -> Found:
        """The end, or a lower one by what is worth its time only where ends are apart."""
        for analysis in closing(self.source, self.n):
            if self._applies(analysis):
                found = run(self.work, analysis.key)
                upper = found if found.value < upper.value else upper
        return upper

    def upper_epsilon(self, delta: float, analysis: str | None) -> Found:
        """The end, where ``delta`` says no more than the target if a few steps up lead there."""
        cap = self.local_epsilon(delta)
        found = self._best(
            "upper",
            analysis,
            self.local(cap, None),
            lambda work, key: work.epsilon(key, delta, cap=cap, rtol=self.rtol, width=self.width),
            enough=4.0 * self.rtol,
            capped=cap < self.eps0,
            hopeless=lambda side, best: side.hopeless(best.value, math.log(delta)),
        )

        work = self.work
        sides = [work.side(k) for k in self.keys("upper", analysis) if self.side_if_any(k, None)]
        if not sides or not sides[0].profiles:
            # A formula, or a paper's own algorithm: no bracket that could be asked narrower.
            return found

        def gap(epsilon: float) -> float:
            if epsilon >= self.eps0:
                return 0.0
            value = self.upper_log_delta(epsilon, analysis).value
            met = delta_from_log(-math.inf, value)[1] <= delta
            return 0.0 if met else max(value - math.log(delta), UNIT_ROUNDOFF)

        point = met_at(gap, found.value, cap, slope=lambda e: sides[0].slope(e, cap))
        return self._moved(found, point, cap)

    def _moved(self, found: Found, point: float, cap: float) -> Found:
        """The end moved up to a point; at the cap it is the local guarantee's."""
        if point == found.value:
            return found
        if point >= cap:
            return self.local(cap, None)
        wider = None if found.width is None else (1.0 + found.width) * point / found.value - 1.0
        return replace(found, value=point, width=wider)

    def upper_log_delta(self, epsilon: float, analysis: str | None = None) -> Found:
        """log delta as narrow as its own width asks, and as the eps at which delta is this does."""
        usual = self.width
        found = self._upper_at(epsilon, analysis, usual)
        # -delta' = P(L > eps) - delta for the loss L: where that is large log delta is flat against
        # log eps, by eps/delta times it, and brackets have to be so much narrower.
        flat = _FALL * epsilon / max(math.exp(found.value), _LEAST_DELTA)
        width = max(_SHARE * self.rtol * flat, 1e-12)
        if epsilon > _NO_END and width < usual:
            finer = self._upper_at(epsilon, analysis, width)
            found = finer if finer.value <= found.value else found
        return found

    def _upper_at(self, epsilon: float, analysis: str | None, width: float) -> Found:
        # The local guarantee may hold from a smaller eps on than that of all pairs of inputs.
        local = epsilon >= self.local_epsilon(_LEAST_DELTA)
        start = self.local(math.log(_LEAST_DELTA) if local else 0.0, None)
        return self._best(
            "upper",
            analysis,
            start,
            lambda work, key: work.log_delta(key, epsilon, width=width),
            enough=min(4.0 * width, LOOSE),
            hopeless=lambda side, best: side.hopeless(epsilon, best.value),
        )

    def _best(
        self,
        end: Literal["upper", "lower"],
        analysis: str | None,
        start: Found,
        run: Callable[[Evaluation, str], Found],
        *,
        enough: float,
        capped: bool = False,
        hopeless: Callable[[Side, Found], bool] | None = None,
        reached: float = math.inf,
    ) -> Found:
        """The best end of all analyses that apply, or that of the one named.

        ``capped``: an end at the start's value is the cap, which the analysis itself may not give.
        ``hopeless``: whether an analysis would not better what another one has found.
        ``reached``: a lower end that no other one is above by as much as its width.
        """
        best, upper, work = start, end == "upper", self.work
        for key in self.keys(end, analysis):
            side = self.side_if_any(key, analysis)
            if side is None or (hopeless and best is not start and hopeless(side, best)):
                continue
            found = run(work, key)
            if capped and found.value >= start.value:
                continue
            if found.value <= best.value if upper else found.value > best.value:
                best = found
            if upper and found.width is not None and found.width <= enough:
                break  # the tightest came out narrow enough: no other is better
            if not upper and best.value >= reached:
                break  # the ends have met
        return best

    def keys(self, end: End, analysis: str | None) -> list[str]:
        """Analyses of one end, tightest first: those that apply, or the one named."""
        if analysis is not None:
            chosen = analysis_named(analysis)
            if chosen.end != end and chosen.other_end is not None:
                chosen = analysis_named(chosen.other_end)
            # The local guarantee is the cap that every search begins with.
            if chosen.kind != "local" and chosen.end == end:
                chosen.require(self.source)
                return [chosen.key]
            return []
        found = usual(self.source, self.n, end)
        # A lower end is a data set's, whatever is trusted of theorems on upper ends.
        return [one.key for one in found if end == "lower" or self._applies(one)]

    def _applies(self, analysis: Analysis) -> bool:
        try:
            analysis.require(self.source)
            # Where nothing is proved of the mechanism's worst pairs there is no theorem.
            return self._trusted(analysis.theorem_for(self.source))
        except NotCertified:
            return False

    def _trusted(self, theorem: Theorem) -> bool:
        """Whether an upper end may rest on the theorem."""
        return self.trust == "all" or theorem.provenance == "published"

    def local(self, value: float, width: float | None) -> Found:
        """An upper end by the local guarantee."""
        words = (self.source.relation.sentence, HONEST, *own_assumptions(self.source))
        return Found(value, theorems.LOCAL, width, {"analysis": "local"}, words)

    def local_epsilon(self, delta: float) -> float:
        """eps of one report alone at this delta, for neighbours by the source's relation."""
        if not isinstance(self.source, Randomizer):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))

    def side_if_any(self, key: str, analysis: str | None) -> Side | None:
        """The side; None where it cannot be made, or trusted, and was not asked for by name."""
        try:
            side = self.work.side(key)
        except NotCertified:
            if analysis is not None:
                raise
            return None
        # Only once its pairs are made is it known all that they rest on.
        wanted = analysis is not None or side.end != "upper"
        return side if wanted or self._trusted(side.theorem) else None
