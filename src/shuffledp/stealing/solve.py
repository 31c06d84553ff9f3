"""The label-stealing bound as a curve: log delta at an eps, and an eps for a delta.

The free numbers at an eps are proposed by floats, from that eps alone, and certified once: so the
bound is a function of eps, and every eps that is returned for a delta was evaluated.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.stealing.approach import NEAR, Standing, crossing, lower_by, slope_of
from shuffledp.stealing.bound import log_bound
from shuffledp.stealing.cases import Case
from shuffledp.stealing.noise import IntervalCase
from shuffledp.stealing.positive_sum import Contour
from shuffledp.stealing.proposal import Proposal, estimated, nothing, propose, served
from shuffledp.stealing.tuning import Search

U = UNIT_ROUNDOFF
# So far above its estimate, and the target, a first certified bound is given up, in log delta.
_HOPELESS = 1.0
# Certified bounds on the way to one delta; where they run out the best one so far is returned.
_STEPS = 8
# A first eps is bettered where choices at it say that it is so far off, in log delta.
_FAR = 0.5
# Where log delta is guessed to be before anything is known, and rounds of guessing.
_GUESS, _GUESSES = -20.0, 3
# How much deeper than the guess delta may be before the cases are made anew for less of it, and
# the least delta they are made for.
_DEEPER, _DEEPEST = 10.0, -1500.0
# Levels of detail that are kept.
_LEVELS = 4
# Where estimates find no eps: in log eps, how far below the cap choices are looked for at most, and
# how near to the last eps that has some.
_BACK, _NEARLY_LAST = 1.5, 1e-2
# eps is looked for between these.
_LARGEST, _SMALLEST = 40.0, 1e-12
# e^700 is a float, with room for what it is multiplied by.
_LARGEST_FLOAT = 700.0


class Certified(NamedTuple):
    """A certified bound and what reproduces it.

    Attributes
    ----------
    epsilon, log_delta : float
        log delta(epsilon) <= log_delta.
    which : int
        The case whose bound is the largest.
    choice : Cut
        Its free numbers.
    contour : Contour
        Where its sum was taken.
    numbers : tuple of (choice, contour)
        Those of all cases, in order: the bound is the largest of theirs.
    case : Case
        That of ``which``.
    """

    epsilon: float
    log_delta: float
    which: int
    choice: Any
    contour: Contour
    numbers: tuple[tuple[Any, Contour], ...]
    case: Case


Proposed = tuple[Sequence[Case], Sequence[Proposal]]


class Curve:
    """Upper bounds of one mechanism among n users.

    Parameters
    ----------
    cases_for : callable
        log delta -> pairs of inputs, with the inputs of the others, that dominate all others, in
        enough detail for such a delta.
    n : int
        Users, the victim included.
    """

    def __init__(self, cases_for: Callable[[float], Sequence[Case]], n: int) -> None:
        self._cases_for, self._n = cases_for, n
        self._cases: dict[float, Sequence[Case]] = {}
        self._search = Search(n)
        self._known: dict[float, Certified | None] = {}
        self._guesses: dict[float, float] = {}
        self._last: tuple[float, Proposed | None] | None = None

    def log_delta(self, epsilon: float) -> Certified | None:
        """Upper bound of log delta at this eps > 0; None where no reservoir is large enough."""
        if epsilon > _LARGEST_FLOAT:
            # e^eps leaves the range of floats: nothing is won there.
            return None
        if epsilon not in self._known:
            self._known[epsilon] = self._log_delta(epsilon)
        return self._known[epsilon]

    def _log_delta(self, epsilon: float) -> Certified | None:
        found = self.proposals(epsilon)
        if found is None:
            return None
        return self._certified(found[0], epsilon, found[1])

    def rough(self, epsilon: float) -> float:
        """About log delta at an eps >= 0, by the first choice of every case; 0 without one."""
        if self._n < 2:
            return 0.0
        guess, value = _GUESS, 0.0
        cases = self.cases(2.0 * _GUESS)
        for _ in range(_GUESSES):
            guess, found = served(functools.partial(self._first, cases, epsilon), guess)
            value = max((p.log_delta for p in found), default=0.0)
            guess = max(min(value, -0.1), 2.0 * _DEEPEST)
        return value

    def proposals(self, epsilon: float) -> Proposed | None:
        """The cases, in enough detail for this eps, and a choice for each; None without one."""
        if self._last is None or self._last[0] != epsilon:
            self._last = epsilon, self._all_proposals(epsilon)
        return self._last[1]

    def _all_proposals(self, epsilon: float) -> Proposed | None:
        if self._n < 2:
            return None
        level = 2.0 * _GUESS
        while True:
            cases = self.cases(level)
            proposals = self._proposals(cases, epsilon)
            if proposals is None:
                return None
            if level <= _DEEPEST or max(p.log_delta for p in proposals) > level + _DEEPER:
                return cases, proposals
            level *= 2.0

    def epsilon(self, log_target: float, *, cap: float) -> Certified | None:
        """An eps with a certified log delta of at most the target, close to the least.

        Parameters
        ----------
        log_target : float
            log of the target delta.
        cap : float
            eps by the local guarantee: None where the answer is not below it.
        """
        top = min(cap, _LARGEST)
        # Below the least eps that is looked at, as of a subsample rarer than delta, nothing is won.
        start = None if self._n < 2 or top <= _SMALLEST else self._start(log_target, top)
        if start is None:
            return None
        point, guess = self._nearer(start, log_target)
        slack = 4 * U * (1.0 + abs(log_target))
        best: Certified | None = None
        low, high = 0.0, top
        known: list[tuple[float, float]] = []
        for _ in range(_STEPS):
            found = self.log_delta(point)
            if found is None:
                return best
            gap = found.log_delta - (log_target - slack)
            if not known and gap > _HOPELESS and self._missed(found):
                # The estimate is far below what can be certified: more points would not help.
                return None
            known.append((math.log(point), gap + 0.5 * NEAR))
            if gap <= 0.0:
                best, high = found, point
                if gap >= -NEAR:
                    break
            else:
                low = point
            slope = slope_of(known, guess)
            moved = math.exp(known[-1][0] + known[-1][1] / slope)
            if len(known) == 1:
                # Afterwards two certified bounds say more than estimates do.
                at = Standing(found.case, point, found.choice, self._guesses.get(point, _GUESS))
                moved = lower_by(known[0][1], at, self._n, slope)
            point = moved if low < moved < high else 0.5 * (low + high)
            if not point < top:
                break
        return best

    def _start(self, log_target: float, top: float) -> tuple[float, float] | None:
        """A first eps, and -d log delta/d log eps there, by estimates."""
        found = self._crossing(log_target, top)
        if found is not None and self.proposals(found[0]) is not None:
            return found
        # Estimates are by reservoirs for such a delta, and larger ones may do better.
        return self._last_with_choices(log_target, top)

    def _missed(self, found: Certified) -> bool:
        """Whether a bound is far above what was estimated at its own eps."""
        tried = self.proposals(found.epsilon)
        return tried is None or found.log_delta > _HOPELESS + max(p.log_delta for p in tried[1])

    def _nearer(self, start: tuple[float, float], log_target: float) -> tuple[float, float]:
        """The first eps by better choices, where it may be far off or bounds take long."""
        point, slope = start
        found = self.proposals(point)
        if found is None:
            return start
        case, best = max(zip(*found, strict=True), key=lambda one: one[1].log_delta)
        gap = best.log_delta - log_target
        if not math.isfinite(gap) or (abs(gap) < _FAR and not isinstance(case, IntervalCase)):
            return start
        at = Standing(case, point, best.choice, self._guesses.get(point, _GUESS))
        moved = lower_by(gap, at, self._n, slope)
        better = self.proposals(moved)
        near = math.inf if better is None else max(p.log_delta for p in better[1]) - log_target
        return (moved, slope) if abs(near) < abs(gap) else start

    def cases(self, level: float) -> Sequence[Case]:
        """Those in enough detail for a log delta."""
        if level not in self._cases:
            if len(self._cases) >= _LEVELS:
                self._cases.clear()
            self._cases[level] = self._cases_for(level)
        return self._cases[level]

    def _first(self, cases: Sequence[Case], epsilon: float, log_delta: float) -> list[Proposal]:
        """Every case's first choice at this eps; empty where one has none."""
        found = []
        for case in cases:
            choice = case.first(epsilon, log_delta, self._n)
            if choice is None:
                return []
            found.append(estimated(case, epsilon, choice, self._n) or nothing(choice))
        return found

    def _proposals(self, cases: Sequence[Case], epsilon: float) -> list[Proposal] | None:
        """A choice for every case: the best one for those whose bound is the largest."""
        guessed = self._guessed(cases, epsilon)
        if guessed is None:
            return None
        guess, found = guessed
        self._guesses[epsilon] = guess
        refined: list[int] = []
        while True:
            worst = max(range(len(found)), key=lambda i: found[i].log_delta)
            if worst in refined:
                return found
            better = propose(cases[worst], epsilon, guess, self._n) or found[worst]
            found[worst] = self._search.sharpened(cases[worst], epsilon, better, guess)
            refined.append(worst)

    def _guessed(
        self, cases: Sequence[Case], epsilon: float, *, rounds: int = _GUESSES
    ) -> tuple[float, list[Proposal]] | None:
        """About log delta at this eps by first choices, and these; None where a case has none."""
        guess, found = _GUESS, list[Proposal]()
        for _ in range(rounds):
            guess, found = served(functools.partial(self._first, cases, epsilon), guess)
            if not found:
                return None
            guess = min(max(p.log_delta for p in found), -0.1)
            guess = max(guess, 2.0 * _DEEPEST)
        return guess, found

    def _estimate(self, log_epsilon: float, log_target: float) -> float:
        """About log delta at this eps, from what serves where it is about the target."""
        deep = log_target <= 2.0 * _GUESS + _DEEPER
        cases = self.cases(2.0 * (log_target if deep else _GUESS))
        found = self._first(cases, math.exp(log_epsilon), log_target)
        return max((max(p.log_delta, -1e4) for p in found), default=1.0)

    def _crossing(self, log_target: float, top: float) -> tuple[float, float] | None:
        """About where the bound crosses the target, and -d log delta/d log eps, by estimates."""

        def above(log_epsilon: float) -> float:
            return self._estimate(log_epsilon, log_target) - log_target

        # Where the central limit theorem puts the crossing, for a spread of one and for this one.
        middle = 0.5 * math.log(-2.0 * log_target / self._n)
        spread = max(case.spread for case in self.cases(2.0 * _GUESS))
        start = middle + math.log(spread) if 0.0 < spread < math.inf else middle
        places = (math.log(_SMALLEST), start, middle, math.log(top))
        return crossing(above, places, usual=2.0 * abs(log_target) + 1.0)

    def _last_with_choices(self, log_target: float, top: float) -> tuple[float, float] | None:
        """About the largest eps at which every case has a choice, where these meet the target."""
        cases = self.cases(2.0 * _GUESS)
        low, high = math.log(top) - _BACK, math.log(top)
        if self._guessed(cases, math.exp(low)) is None:
            return None
        while high - low > _NEARLY_LAST:
            middle = 0.5 * (low + high)
            some = self._guessed(cases, math.exp(middle)) is not None
            low, high = (middle, high) if some else (low, middle)
        found = self.proposals(math.exp(low))
        if found is None or max(p.log_delta for p in found[1]) > log_target:
            return None
        return math.exp(low), 2.0 * abs(log_target)

    def _certified(
        self, cases: Sequence[Case], epsilon: float, proposals: Sequence[Proposal]
    ) -> Certified:
        """The largest bound of all cases at this eps, each with its choice."""
        order = sorted(range(len(proposals)), key=lambda i: -proposals[i].log_delta)
        numbers = tuple((p.choice, p.contour) for p in proposals)
        best: Certified | None = None
        for i in order:
            proposal = proposals[i]
            value = log_bound(
                cases[i].certified_gains(epsilon, proposal.choice),
                self._n,
                proposal.contour,
                enough=-math.inf if best is None else best.log_delta,
            )
            if best is None or value > best.log_delta:
                best = Certified(epsilon, value, i, *numbers[i], numbers, cases[i])
        if best is None:
            msg = "cases: wanted at least one"
            raise ValueError(msg)
        return best._replace(log_delta=min(best.log_delta, 0.0))
