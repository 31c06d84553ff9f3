"""A randomizer among n users behind a shuffler, and the questions that are asked of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

from shuffledp import _check, theorems
from shuffledp.analyses import (
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
from shuffledp.analyses.approximate import estimate
from shuffledp.analyses.ends import Ends
from shuffledp.bound import Bound, Theorem, delta_from_log
from shuffledp.composition import Composed, Round, compose
from shuffledp.curves import Accountant
from shuffledp.divergence import LOOSE, met_at
from shuffledp.errors import NotCertified, rejected
from shuffledp.index import Estimate
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS
from shuffledp.shuffle.comparison import Comparison, compare
from shuffledp.shuffle.evaluation import Evaluation
from shuffledp.shuffle.rounds import round_of
from shuffledp.values.described import by_name
from shuffledp.values.work import Beside

Trust = Literal["all", "published"]

_ZERO = Found(0.0, None, None, {}, ())
_FINE_CELLS = 1 << 19
# No target leads to an end as small as this, whose own width would ask for brackets of delta
# narrower than arithmetic has them, at any cost.
_NO_END = 1e-9
_SMALLER = 6
_LEAST_DELTA = 1e-300
_FINE_RTOL = 1e-7
# Ends farther apart than that, in eps and in log delta, are worth a slow analysis. Among fewer
# users than so many, where an answer takes milliseconds, they have to be farther apart in eps,
# those of delta half as far in eps too.
_GAP, _LOG_GAP, _MANY, _GAP_OF_FEW = 0.01, 0.005, 5_000, 0.02
# A slow analysis looks for an end up to so much above the best one.
_ABOVE = 1.3
# P(L > eps) - delta next to eps = 0, at the least; brackets of delta may take this much of rtol.
_FALL, _SHARE = 0.3, 0.6


@dataclass(frozen=True)
class Shuffled(Accountant):
    """A randomizer among n users behind a shuffler; made by ``shuffle`` or ``generic``.

    Attributes
    ----------
    source : Randomizer or family
        What each user runs.
    n : int
        Users (messages in the shuffle), the one who is protected included.
    rtol : float
        Requested relative width of each analysis' own numerical bracket of eps.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/theory.md.
    """

    source: Source
    n: int
    rtol: float = 1e-6
    trust: Trust = "all"

    @property
    def eps0(self) -> float:
        """Local guarantee in nats (inf where there is none)."""
        return float(self.source.eps0)

    @overload
    def epsilon(
        self, *, delta: float, analysis: str | None = None, certified: Literal[True] = True
    ) -> Bound: ...

    @overload
    def epsilon(self, *, delta: float, analysis: str, certified: Literal[False]) -> Estimate: ...

    @by_name
    def epsilon(
        self, *, delta: float, analysis: str | None = None, certified: bool = True
    ) -> Bound | Estimate:
        """Central eps at a given delta, both ends certified.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        analysis : str, optional
            One analysis alone in place of the best of all; ``analyses()`` lists them.
        certified : bool
            False: the named analysis' number alone, as an ``Estimate``, also where it is no bound.

        Returns
        -------
        Bound
            0 <= lower <= upper; upper is at most the local guarantee. An ``Estimate`` with
            ``certified=False``.

        Raises
        ------
        ParameterError
            If delta or the analysis' name is outside its domain.
        NotCertified
            If the named analysis does not apply to this randomizer.
        """
        delta = _check.open_unit("delta", delta)
        if not self._bounds(analysis, certified=certified):
            return self._estimate("epsilon", delta, str(analysis))
        return self._epsilon(delta, analysis, closing=True)

    def _epsilon_at(self, delta: float) -> Bound:
        return self._epsilon(delta, None, closing=True)

    def _delta_at(self, epsilon: float) -> Bound:
        return self._delta(epsilon, None, closing=True)

    def _epsilon(self, delta: float, analysis: str | None, *, closing: bool) -> Bound:
        cap = self._local_epsilon(delta)
        upper = self._upper_epsilon(delta, analysis)
        lower = self._best(
            "lower",
            analysis,
            _ZERO,
            lambda work, key: work.epsilon(key, delta, cap=cap, rtol=self.rtol),
            enough=4.0 * self.rtol,
            reached=upper.value / (1.0 + self.rtol),
        )
        gap = _GAP if self.n >= _MANY else _GAP_OF_FEW
        if closing and analysis is None and upper.value > (1.0 + gap) * lower.value:
            # First numbers may serve from above the best end on only, and better ones below it.
            best = min(cap, _ABOVE * upper.value)
            upper = self._closer(
                upper, lambda work, key: work.epsilon(key, delta, cap=best, rtol=self.rtol)
            )
        ends = Ends(lower, upper, {"delta": delta, "n": self.n}, self.source.relation)
        return ends.bound("epsilon", (lower.value, upper.value), wanted=self.rtol)

    @overload
    def delta(
        self, *, epsilon: float, analysis: str | None = None, certified: Literal[True] = True
    ) -> Bound: ...

    @overload
    def delta(self, *, epsilon: float, analysis: str, certified: Literal[False]) -> Estimate: ...

    @by_name
    def delta(
        self, *, epsilon: float, analysis: str | None = None, certified: bool = True
    ) -> Bound | Estimate:
        """Central delta at a given eps, both ends certified; ``log_upper`` where it underflows.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        analysis : str, optional
            One analysis alone in place of the best of all.
        certified : bool
            False: the named analysis' number alone, as an ``Estimate``, also where it is no bound.

        Returns
        -------
        Bound
            0 <= lower <= upper <= 1, with natural logarithms of both ends. An ``Estimate`` with
            ``certified=False``.

        Raises
        ------
        ParameterError
            If eps or the analysis' name is outside its domain.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        if not self._bounds(analysis, certified=certified):
            return self._estimate("delta", epsilon, str(analysis))
        return self._delta(epsilon, analysis, closing=True)

    def _delta(self, epsilon: float, analysis: str | None, *, closing: bool) -> Bound:
        if epsilon >= self.eps0:
            upper = self._local(-math.inf, 0.0)
            lower = replace(_ZERO, value=-math.inf)
        else:
            width = self._width()
            upper = self._upper_log_delta(epsilon, analysis)
            lower = self._lower_log_delta(epsilon, analysis, reached=upper.value - width)
            if closing and analysis is None and self._apart(epsilon, lower.value, upper.value):
                upper = self._closer(
                    upper, lambda work, key: work.log_delta(key, epsilon, width=width)
                )
        ends = Ends(lower, upper, {"epsilon": epsilon, "n": self.n}, self.source.relation)
        return ends.bound(
            "delta", delta_from_log(lower.value, upper.value), wanted=self._width(), logs=True
        )

    @by_name
    def recomputable_epsilon(self, *, delta: float, slow: bool = True) -> Bound:
        """As ``epsilon``: by analyses that ``shuffledp verify`` recomputes.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        slow : bool
            Also an analysis that takes seconds, where the others' ends are apart.
        """
        return self._epsilon(_check.open_unit("delta", delta), None, closing=slow)

    @by_name
    def recomputable_delta(self, *, epsilon: float, slow: bool = True) -> Bound:
        """As ``delta``, by analyses that ``shuffledp verify`` recomputes.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        slow : bool
            As for ``recomputable_epsilon``.
        """
        return self._delta(_check.epsilon("epsilon", epsilon), None, closing=slow)

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps alone: for solvers, which need no lower end.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        """
        return self._upper_epsilon(_check.open_unit("delta", delta), None).value

    def _lower_log_delta(
        self, epsilon: float, analysis: str | None = None, *, reached: float = math.inf
    ) -> Found:
        """log of the lower end of delta, as sharp as it is up to ``reached``."""
        return self._best(
            "lower",
            analysis,
            replace(_ZERO, value=-math.inf),
            lambda work, key: work.log_delta(key, epsilon, width=self._width()),
            enough=LOOSE,
            reached=reached,
        )

    def _apart(self, epsilon: float, lower: float, upper: float) -> bool:
        """Whether ends of log delta at this eps are so far apart that a slow analysis is tried."""
        if upper <= lower + _LOG_GAP:
            return False
        if self.n >= _MANY:
            return True
        nearer = epsilon / (1.0 + 0.5 * _GAP_OF_FEW)
        return upper > self._lower_log_delta(nearer, reached=upper).value

    def _closer(self, upper: Found, run: Callable[[Evaluation, str], Found]) -> Found:
        """The end, or a lower one by what is worth its time only where ends are apart."""
        for analysis in closing(self.source, self.n):
            if self._applies(analysis):
                found = run(_WORK.of(self), analysis.key)
                upper = found if found.value < upper.value else upper
        return upper

    def _upper_epsilon(self, delta: float, analysis: str | None) -> Found:
        """The end, where ``delta`` says no more than the target if a few steps up lead there."""
        cap = self._local_epsilon(delta)
        found = self._best(
            "upper",
            analysis,
            self._local(cap, None),
            lambda work, key: work.epsilon(
                key, delta, cap=cap, rtol=self.rtol, width=self._width()
            ),
            enough=4.0 * self.rtol,
            capped=cap < self.eps0,
            hopeless=lambda side, best: side.hopeless(best.value, math.log(delta)),
        )

        work = _WORK.of(self)
        sides = [work.side(k) for k in self._keys("upper", analysis) if self._side_if_any(k, None)]
        if not sides or not sides[0].profiles:
            # A formula, or a paper's own algorithm: no bracket that could be asked narrower.
            return found

        def gap(epsilon: float) -> float:
            if epsilon >= self.eps0:
                return 0.0
            value = self._upper_log_delta(epsilon, analysis).value
            met = delta_from_log(-math.inf, value)[1] <= delta
            return 0.0 if met else max(value - math.log(delta), UNIT_ROUNDOFF)

        point = met_at(gap, found.value, cap, slope=lambda e: sides[0].slope(e, cap))
        return self._moved(found, point, cap)

    def _moved(self, found: Found, point: float, cap: float) -> Found:
        """The end moved up to a point; at the cap it is the local guarantee's."""
        if point == found.value:
            return found
        if point >= cap:
            return self._local(cap, None)
        wider = None if found.width is None else (1.0 + found.width) * point / found.value - 1.0
        return replace(found, value=point, width=wider)

    def log_upper(self, epsilon: float) -> float:
        """log of the certified upper end of delta alone: for solvers, which need no lower end.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        if epsilon >= self.eps0:
            return -math.inf
        value = self._upper_log_delta(epsilon).value
        for k in range(1, _SMALLER + 1):
            if value < 0.0:
                break
            # Nothing was found, as for deltas far below the smallest float: delta only falls in
            # eps, so that a bound at a smaller one will do.
            value = self._upper_log_delta(epsilon * 0.5**k).value
        return value

    def _upper_log_delta(self, epsilon: float, analysis: str | None = None) -> Found:
        """log delta as narrow as its own width asks, and as the eps at which delta is this does."""
        usual = self._width()
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
        local = epsilon >= self._local_epsilon(_LEAST_DELTA)
        start = self._local(math.log(_LEAST_DELTA) if local else 0.0, None)
        return self._best(
            "upper",
            analysis,
            start,
            lambda work, key: work.log_delta(key, epsilon, width=width),
            enough=min(4.0 * width, LOOSE),
            hopeless=lambda side, best: side.hopeless(epsilon, best.value),
        )

    @by_name
    def profile(self, epsilons: Iterable[float], *, analysis: str | None = None) -> list[Bound]:
        """delta at each eps: the privacy profile.

        Parameters
        ----------
        epsilons : iterable of float
            Values of eps >= 0 in nats.
        analysis : str, optional
            One analysis alone in place of the best of all.
        """
        return [self.delta(epsilon=e, analysis=analysis) for e in epsilons]

    @by_name
    def compare(self, *, delta: float, slow: bool = False) -> Comparison:
        """Every analysis that applies, side by side: eps, validity, time, factor lost.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        slow : bool
            Also the papers' algorithms whose cost grows with n.
        """
        return compare(self, delta=_check.open_unit("delta", delta), slow=slow)

    @by_name
    def compose(self, *, rounds: int, rtol: float | None = None) -> Composed:
        """The same mechanism in several rounds on the same users (see ``compose``).

        Parameters
        ----------
        rounds : int
            1 <= rounds <= 1e9.
        rtol : float, optional
            Requested relative width of eps, 1e-6 to 0.1. By default what is worth the time (5e-4,
            or 6e-3 for continuous outputs), or more or less where this mechanism's own ``rtol`` is
            above that or below 1e-6.
        """
        return compose([self], rounds=rounds, rtol=rtol)

    @by_name
    def renyi(self, *, order: float) -> Bound:
        """Renyi divergence in nats at an order > 1, both ends certified (see ``Composed``)."""
        return self.compose(rounds=1).renyi(order=order)

    def rdp(self, orders: Iterable[float]) -> list[float]:
        """Upper ends of the Renyi divergence at each order."""
        return self.compose(rounds=1).rdp(orders)

    @by_name
    def tradeoff(self, *, alpha: float) -> Bound:
        """Least type II error of a test with type I error alpha; the lower end is the guarantee."""
        return self.compose(rounds=1).tradeoff(alpha=alpha)

    @by_name
    def pld(self, *, discretization: float = 1e-4) -> Any:
        """A dp_accounting PrivacyLossDistribution that dominates the mechanism."""
        return self.compose(rounds=1).pld(discretization=discretization)

    def as_round(self, *, sharper: bool = True) -> Round:
        """One round of a composition, with this mechanism.

        Parameters
        ----------
        sharper : bool
            False: by the analyses that have a pair alone, without label stealing.
        """
        answers = _WORK.of(self).answers
        return answers.answer(("round", sharper), lambda: self._round(sharper=sharper))

    def _round(self, *, sharper: bool) -> Round:
        found = [self._side_if_any(key, None) for key in self._keys("upper", None)]
        sides = [side for side in found if side is not None]
        curves = [side for side in sides if side.for_rounds() is not None]
        return round_of(
            self.source,
            [side for side in sides if side.profiles],
            sharper=curves[0] if sharper and curves else None,
            label=getattr(self.source, "name", "generic"),
            eps0=self.eps0,
            n=self.n,
            cells=self._cells(),
            rtol=self.rtol,
            key=(self.source, self.n, self.trust, self.rtol, sharper),
        )

    def uses(self, key: str) -> bool:
        """Whether the analysis is one of those that the best is taken of.

        Parameters
        ----------
        key : str
            Its name.
        """
        return key in {*self._keys("upper", None), *self._keys("lower", None)}

    def with_n(self, n: int) -> Shuffled:
        """The same randomizer and settings among another number of users."""
        return Shuffled(self.source, _check.count("n", n), self.rtol, self.trust)

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
        best, upper, work = start, end == "upper", _WORK.of(self)
        for key in self._keys(end, analysis):
            side = self._side_if_any(key, analysis)
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

    def _bounds(self, analysis: str | None, *, certified: bool) -> bool:
        """Whether a Bound is asked for; NotCertified where only an estimate can be given."""
        if not isinstance(certified, bool):
            raise rejected("certified", certified, "True or False")
        if analysis is None and not certified:
            raise rejected("certified", certified, "True, unless one analysis is named")
        if certified and analysis is not None and not analysis_named(analysis).certified:
            msg = (
                f"analysis = {analysis!r}: no bound ({analysis_named(analysis).validity}); "
                "certified=False gives its number as an estimate"
            )
            raise NotCertified(msg)
        return certified

    def _estimate(self, quantity: Literal["epsilon", "delta"], at: float, key: str) -> Estimate:
        """The analysis' number without its certificate."""
        analysis = analysis_named(key)
        if analysis.approximation is not None:
            cap = self._local_epsilon(at) if quantity == "epsilon" else math.inf
            return estimate(
                self.source, analysis, quantity, at, n=self.n, cells=self._cells(), cap=cap
            )
        if quantity == "epsilon":
            bound = self.epsilon(delta=at, analysis=key)
        else:
            bound = self.delta(epsilon=at, analysis=key)
        return Estimate(
            quantity,
            bound.lower if analysis.end == "lower" else bound.upper,
            analysis.theorem.title,
            analysis.theorem.source,
            at=bound.at,
            log_value=bound.log_lower if analysis.end == "lower" else bound.log_upper,
        )

    def _width(self) -> float:
        return max(min(10.0 * self.rtol, LOOSE), 1e-12)

    def _keys(self, end: End, analysis: str | None) -> list[str]:
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

    def _local(self, value: float, width: float | None) -> Found:
        """An upper end by the local guarantee."""
        words = (self.source.relation.sentence, HONEST, *own_assumptions(self.source))
        return Found(value, theorems.LOCAL, width, {"analysis": "local"}, words)

    def _local_epsilon(self, delta: float) -> float:
        """eps of one report alone at this delta, for neighbours by the source's relation."""
        if not isinstance(self.source, Randomizer):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))

    def _side_if_any(self, key: str, analysis: str | None) -> Side | None:
        """The side; None where it cannot be made, or trusted, and was not asked for by name."""
        try:
            side = _WORK.of(self).side(key)
        except NotCertified:
            if analysis is not None:
                raise
            return None
        # Only once its pairs are made is it known all that they rest on.
        wanted = analysis is not None or side.end != "upper"
        return side if wanted or self._trusted(side.theorem) else None

    def _cells(self) -> int:
        return DEFAULT_CELLS if self.rtol > _FINE_RTOL else _FINE_CELLS


_WORK: Beside[Shuffled, Evaluation] = Beside(
    lambda accountant: Evaluation(accountant.source, accountant.n, accountant._cells())  # noqa: SLF001
)
