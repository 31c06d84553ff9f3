"""The view of all messages of n users in uniformly random order: the best ends of all analyses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from shuffledp import theorems
from shuffledp._check import Trust
from shuffledp.amplification.analyses import ANALYSES, UNCERTIFIED, Analysis, When, analysis_named
from shuffledp.amplification.end import (
    Certifier,
    End,
    EpsilonAt,
    LogDeltaAt,
    Side,
    bound_of,
    exact_ends,
)
from shuffledp.amplification.rounds import label_of, round_of
from shuffledp.amplification.seen import Quantity, Seen
from shuffledp.amplification.words import HONEST, own_assumptions
from shuffledp.bound import Bound, Theorem, delta_from_log
from shuffledp.bounds.local import log_local_delta
from shuffledp.bounds.shufflers import local_guarantee
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.sources import Source, lower_theorem
from shuffledp.neighbours import Relation
from shuffledp.propose.data_sets import DataSet, lower_epsilon, lower_log_delta, several_sets
from shuffledp.propose.profile import LOOSE
from shuffledp.published import FORMULAS, Estimate
from shuffledp.randomizers import GaussianBall, Randomizer
from shuffledp.rounds import Round
from shuffledp.values.work import Answers, Beside

# Relative width of eps to aim at where several users change: a value takes one evaluation for every
# step of the group.
_SEVERAL_RTOL = 1e-4
_ZERO = End(0.0, None, None, {}, ())
_NOTHING = _ZERO._replace(value=-math.inf)
# eps below which brackets are not narrowed further. Delta's bracket would have to be narrower than
# the arithmetic allows, and no target leads to an end this small.
_NO_END = 1e-9
# Smaller deltas are left to the local guarantee.
_LEAST_DELTA = 1e-300
# Relative gap of the ends of eps above which an analysis that takes seconds is tried (a wider
# requested rtol replaces it).
GAP = 0.01
# An analysis whose estimated log delta exceeds the best end by more than this is skipped.
_NEAR = 0.5
# Assumed least value of P(L > eps) - delta near eps = 0, and the share of rtol that the brackets of
# delta may use.
_FALL, _SHARE = 0.1, 0.6
# Most steps from eps to one at which the upper end of delta meets the target as well; the first
# step is rtol/16, each later one twice the last.
_STEPS = 12


@dataclass(frozen=True)
class Messages(Seen):
    """A mechanism among n users behind one perfect shuffler, over one or more rounds.

    Whatever is cached is a function of the fields and the question: the answer to a question does
    not depend, to the last bit, on earlier questions.

    Attributes
    ----------
    source : Randomizer, MultiMessage or family
        The mechanism each user runs.
    n : int
        Number of users (messages in the shuffle), the victim included.
    rounds : int
        How often everybody reports; each round is shuffled anew.
    rtol : float
        Requested relative width of each analysis' own numerical bracket of eps.
    trust : {"all", "published"}
        "published" leaves out theorems that are proved only in docs/.
    """

    source: Source
    n: int
    rounds: int = 1
    rtol: float = 1e-6
    trust: Trust = "all"

    @property
    def eps0(self) -> float:
        """Local guarantee of one report in nats; inf if there is none."""
        return float(self.source.eps0)

    @property
    def relation(self) -> Relation:
        """What one user may change."""
        return self.source.relation

    @property
    def guarantee(self) -> float:
        """Pure guarantee in nats of one user's reports in all rounds."""
        return local_guarantee(self.eps0, 1, self.rounds)

    @property
    def width(self) -> float:
        """Relative width of delta wanted at a given eps."""
        return max(min(10.0 * self.rtol, LOOSE), 1e-12)

    # ------------------------------------------------------------------------------ both ends

    def bound(
        self,
        quantity: Quantity,
        value: float,
        *,
        analysis: str | None = None,
        closing: bool = True,
    ) -> Bound:
        """Both ends, by the best of all analyses or by the one named.

        ``closing``: also try analyses that take seconds, where the other ends are apart.
        """
        if self.rounds > 1:
            if analysis is not None:
                raise rejected("analysis", analysis, "none with rounds: the best is composed")
            return _WORK.of(self).answer("composed", self.composed).bound(quantity, value)
        if analysis is not None:
            analysis_named(analysis)  # refuses published formulas that are not certified
            closing = False
        elif self.n == 1 and (alone := _exactly_known(self.source)) is not None:
            return self._alone(alone, quantity, value)
        if quantity == "epsilon":
            upper = self._upper_epsilon(value, analysis)
            lower, upper = self._lower_epsilon(value, upper, analysis, closing=closing)
            at, wanted = {"delta": value, "n": self.n}, self.rtol
        else:
            lower, upper = self._log_delta(value, analysis, closing=closing)
            at, wanted = {"epsilon": value, "n": self.n}, self.width
        return bound_of(quantity, lower, upper, at=at, relation=self.relation, wanted=wanted)

    def _alone(self, source: Randomizer, quantity: Quantity, value: float) -> Bound:
        """Both ends at n = 1, where the messages are the report itself."""
        x0, x1 = source.worst_pairs().pairs[0]
        low, high = exact_ends(partial(log_local_delta, source, x0, x1), quantity, value)
        upper, lower = self._local(high, None), _ZERO._replace(value=low)
        if low not in {0.0, -math.inf}:
            witness = {"analysis": "dataset", "x0": x0, "x1": x1, "swap": False}
            lower = lower._replace(theorem=lower_theorem(self.source), witness=witness)
        at = {"delta" if quantity == "epsilon" else "epsilon": value, "n": 1}
        return bound_of(quantity, lower, upper, at=at, relation=self.relation, wanted=self.rtol)

    def estimate(self, delta: float, analysis: str) -> Estimate:
        """eps at this delta by a published formula."""
        if self.rounds > 1:
            raise rejected("analysis", analysis, "none with rounds: the best is composed")
        if analysis not in FORMULAS:
            raise rejected("analysis", analysis, "one of " + ", ".join(FORMULAS))
        cap = self._local_epsilon(delta)
        return FORMULAS[analysis].estimate(self.source, n=self.n, delta=delta, cap=cap)

    def _lower_epsilon(
        self, delta: float, upper: End, analysis: str | None, *, closing: bool
    ) -> tuple[End, End]:
        """The lower end of eps, and the upper end, improved by slow analyses if they are apart."""
        cap = self._local_epsilon(delta)
        if cap <= 0.0:
            return _ZERO, upper
        asked = EpsilonAt(delta, cap, self.rtol)
        lower = self._largest(asked, analysis, _ZERO, reached=upper.value / (1.0 + self.rtol))
        if closing and upper.value > (1.0 + self._gap) * lower.value:
            # A search that may not exceed the end found so far can miss a lower one.
            upper = self.closer(upper, EpsilonAt(delta, cap, self.rtol))
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
        """The upper end of eps alone, for solvers that need no lower end."""
        if self.rounds > 1:
            return self.composed().upper_epsilon(delta=delta)
        return self._upper_epsilon(delta, None).value

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """Function from eps (nats) to the upper end of log delta."""
        del log_target
        return self.log_upper

    def log_upper(self, epsilon: float) -> float:
        """Upper end of log delta at this eps (nats)."""
        if epsilon >= self.guarantee:
            return -math.inf
        if self.rounds > 1:
            return _WORK.of(self).answer("composed", self.composed).log_upper(epsilon)
        return self.upper_end(epsilon).value

    def upper_theorem_at(self, epsilon: float, one: Bound) -> Theorem | None:
        """The theorem of delta's upper end here, asked anew if ``one`` is a local guarantee."""
        if one.upper_theorem == theorems.LOCAL:
            one = self.bound("delta", epsilon)
        return one.upper_theorem

    def _upper_epsilon(self, delta: float, analysis: str | None) -> End:
        """Upper end of eps, raised until the upper end of delta there meets the target too."""
        cap = self._local_epsilon(delta)
        if cap <= 0.0:
            return self._local(0.0, None)  # one report alone meets the target at eps = 0
        start = self._local(cap, None)
        asked = EpsilonAt(delta, cap, self.rtol, self.width)
        found = self._least(asked, analysis, start, enough=4.0 * self.rtol)
        if found.width is None or found.value <= 0.0:
            return found  # no bracket that could be narrowed
        own = found.witness["analysis"]
        epsilon, step = found.value, self.rtol / 16.0
        for _ in range(_STEPS):
            if epsilon >= cap:
                return start
            log = self.upper_end(epsilon, own).value
            if delta_from_log(-math.inf, log)[1] <= delta:
                break
            epsilon, step = epsilon * (1.0 + step), 2.0 * step
        if epsilon == found.value:
            return found
        wider = None if found.width is None else (1.0 + found.width) * epsilon / found.value - 1.0
        return found._replace(value=epsilon, width=wider)

    def upper_end(self, epsilon: float, analysis: str | None = None) -> End:
        """Upper end of log delta, so narrow that an eps solved from it is narrow too."""
        found = self.upper_at(LogDeltaAt(epsilon, self.width), analysis)
        # -delta' = P(L > eps) - delta for the loss L. Where it is large, log delta changes by
        # eps/delta times it along log eps; brackets are narrowed accordingly.
        flat = _FALL * epsilon / max(math.exp(found.value), _LEAST_DELTA)
        width = max(_SHARE * self.rtol * flat, 1e-12)
        if epsilon > _NO_END and width < self.width:
            finer = self.upper_at(LogDeltaAt(epsilon, width), analysis)
            found = finer if finer.value <= found.value else found
        return found

    def upper_at(self, asked: LogDeltaAt, analysis: str | None) -> End:
        """Upper end of log delta at an eps, to the width asked where that is reached."""
        # The local guarantee may hold from a smaller eps on than eps0, the guarantee over all
        # pairs.
        local = asked.epsilon >= self._local_epsilon(_LEAST_DELTA)
        start = self._local(math.log(_LEAST_DELTA) if local else 0.0, None)
        return self._least(asked, analysis, start, enough=min(4.0 * asked.width, LOOSE))

    def closer(self, upper: End, asked: EpsilonAt | LogDeltaAt) -> End:
        """The upper end, or a lower one by analyses that are tried only if the ends are apart."""
        for _, one in self.asked("upper", None, "apart"):
            found = self._end(one, asked, named=False)
            upper = found if found is not None and found.value < upper.value else upper
        return upper

    @property
    def _gap(self) -> float:
        return max(GAP, self.rtol)

    # ------------------------------------------ the least upper and the largest lower end

    def _least(
        self,
        asked: EpsilonAt | LogDeltaAt,
        analysis: str | None,
        start: End,
        *,
        enough: float,
    ) -> End:
        """The least upper end of all analyses that apply, or that of the analysis named.

        ``enough``: relative width at which the search stops, as the tightest analysis comes first.
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
                # Slow analyses search only below the end found so far.
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
        """The largest lower end; the search stops once ``reached`` is met."""
        best = start
        for _, one in self.asked("lower", analysis):
            found = self._end(one, asked, named=analysis is not None)
            best = found if found is not None and found.value > best.value else best
            if best.value >= reached:
                break
        return best

    def _end(self, one: Certifier, asked: EpsilonAt | LogDeltaAt, *, named: bool) -> End | None:
        """The end of one analysis, cached; None if it has none here, unless it was named."""
        found, key = _WORK.of(self), (one.key, asked)
        if isinstance(asked, LogDeltaAt) and not one.has_width:
            key = one.key, asked._replace(width=self.width)
        if found.get(key) is None and (named or key not in found):
            try:
                at_delta = isinstance(asked, EpsilonAt)
                found[key] = one.epsilon(asked) if at_delta else one.log_delta(asked)
            except NotCertified:
                if named:
                    raise
                found[key] = None
        return found[key]

    # -------------------------------------------------------------------- the analyses to ask

    def asked(
        self, end: Side, analysis: str | None, when: When = "always"
    ) -> Iterator[tuple[Analysis, Certifier]]:
        """Analyses for one end: all that apply and are trusted, tightest first, or the one named.

        ``when``: keeps the analyses that are tried always, or only where the other ends are apart.

        Raises
        ------
        NotCertified
            If the named analysis does not apply.
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
        # The local guarantee is the cap of every search, so it is not asked again.
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
        """The analysis with this key; None if it does not apply or rests on an untrusted theorem.

        A lower end comes from a data set, so that trust in upper-end theorems does not matter.
        """
        made = self._make(key)
        if isinstance(made, NotCertified):
            return None
        return made if made.end == "lower" or made.theorem.serves(self.trust) else None

    def _make(self, key: str) -> Certifier | NotCertified:
        """The analysis, made once, or the reason why it does not apply."""
        made = _WORK.of(self)
        if key not in made:
            try:
                made[key] = analysis_named(key).make(self.source, self.n)
            except NotCertified as error:
                made[key] = error.with_traceback(None)
        return made[key]

    def uses(self, key: str) -> bool:
        """Whether the analysis is among those whose best end is taken."""
        if key in UNCERTIFIED:
            return False
        return self._when(analysis_named(key)) == "always" and self.certifier(key) is not None

    # --------------------------------------------------------------------- the local guarantee

    def _local(self, value: float, width: float | None) -> End:
        """An upper end by the local guarantee."""
        words = (self.relation.sentence, HONEST, *own_assumptions(self.source))
        return End(value, theorems.LOCAL, width, {"analysis": "local"}, words)

    def _local_epsilon(self, delta: float) -> float:
        """eps of a single report at this delta, for the source's neighbouring relation."""
        if not isinstance(self.source, Randomizer):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))

    # ---------------------------------------------------------------------- several users

    def several_rtol(self, changed: int) -> float:
        """The requested width if one user changes, else at least ``_SEVERAL_RTOL``."""
        return self.rtol if changed == 1 else max(self.rtol, _SEVERAL_RTOL)

    def lower_log_delta(self, changed: int, epsilon: float) -> tuple[float, dict[str, Any]]:
        """Lower end of log delta, by data sets of one round that differ in all changed users.

        More rounds only increase delta.
        """
        return lower_log_delta(self._sets(changed), epsilon)

    def lower_epsilon(
        self, changed: int, log_delta: float, *, above: float, cap: float
    ) -> tuple[float, dict[str, Any]] | None:
        """Lower end of eps in nats by the same data sets if it is above ``above``, else None."""
        return lower_epsilon(self._sets(changed), log_delta, above=above, cap=cap)

    def _sets(self, changed: int) -> list[DataSet]:
        source = self.source
        if not isinstance(source, Randomizer):
            return []
        return _WORK.of(self).answer(
            changed, lambda: several_sets(source, source.datasets(), self.n, changed)
        )

    # ----------------------------------------------------------------------------- rounds

    def as_round(self) -> Round:
        """One round, to be composed with others."""
        return _WORK.of(self).answer("round", self._round)

    def _round(self) -> Round:
        uppers = [one for _, one in self.asked("upper", None)]
        exact = next((one for one in uppers if one.exact() is not None), None)
        upper = exact or next((one for one in uppers if one.profiles), None)
        if upper is None:
            raise NotCertified(
                f"{label_of(self.source)}: no analysis gives a curve of it, so that rounds cannot "
                "be composed"
            )
        curves = (one for one in uppers if one.for_rounds() is not None and exact is None)
        key = (self.source, self.n, self.trust, self.rtol)
        return round_of(self.source, self.n, self.rtol, upper, next(curves, None), key)


def _exactly_known(source: Source) -> Randomizer | None:
    """The noise of a report without a pure guarantee whose own delta is known exactly, or None."""
    if not isinstance(source, Randomizer) or math.isfinite(source.eps0):
        return None
    alone = source.coordinate_noise if isinstance(source, GaussianBall) else source
    # A single worst pair attains both ends.
    return alone if alone.added_noise() and len(alone.worst_pairs().pairs) == 1 else None


_WORK: Beside[Messages, Answers] = Beside(lambda _: Answers())
