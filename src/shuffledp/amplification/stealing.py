"""Label stealing as an analysis: its upper end, and the one with a distinguished gain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeVar

from shuffledp import theorems
from shuffledp.amplification import words
from shuffledp.amplification.end import Certifier, End, EpsilonAt, LogDeltaAt
from shuffledp.arithmetic.balls import precision_for
from shuffledp.bounds.stealing_cases import Numbers, cases_of
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import (
    Family,
    RatioFamily,
    Source,
    one_randomizer,
    refuse_protocol,
    settled_others,
)
from shuffledp.propose.interval_ends import IntervalStealing
from shuffledp.propose.lone_jump_ends import LoneJump
from shuffledp.propose.profile import LARGEST_EPSILON
from shuffledp.propose.stealing_ends import End as Found
from shuffledp.propose.stealing_ends import Stealing as Ends
from shuffledp.propose.stealing_solve import FiniteStealing
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Source as Curve
from shuffledp.rounds import UpperValues
from shuffledp.theorems import Theorem

Some = TypeVar("Some")
Stolen = Randomizer | Family


@dataclass(frozen=True)
class Stealing(Certifier):
    """Upper ends by the label-stealing bound of a source among n users; inf where it has none."""

    source: Stolen = field(kw_only=True)
    n: int = field(kw_only=True)
    has_width: ClassVar[bool] = False

    def epsilon(self, asked: EpsilonAt) -> End:
        """An evaluated eps (nats) whose certified bound of delta is at most the target."""
        found = if_any(lambda: self._ends().epsilon(math.log(asked.delta), cap=asked.cap))
        return self._end(found, math.inf if found is None else found.epsilon)

    def log_delta(self, asked: LogDeltaAt) -> End:
        """The bound of log delta at this eps; ``along``: at free numbers shared by many eps."""
        found, (epsilon, _, along) = None, asked
        if epsilon > 0.0:
            # delta does not increase in eps.
            at = min(epsilon, LARGEST_EPSILON)
            found = self._bounded(epsilon) if along else if_any(lambda: self._ends().log_delta(at))
        return self._end(found, math.inf if found is None else found.log_delta)

    def dear(self, log_delta: float) -> bool:
        """True for noise among few users, where a bound takes seconds."""
        found = if_any(self._ends)
        return isinstance(found, IntervalStealing) and found.is_dear(log_delta)

    def for_rounds(self) -> Curve | None:
        """The bound at many eps, which share their free numbers."""
        return UpperValues(self.log_upper, self.rough_log_delta)

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0 (nats); 0 if there is none."""
        found = self._bounded(epsilon)
        return 0.0 if found is None else found.log_delta

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of log delta at this eps; 0 if there is none."""
        if self.n < 2:
            return 0.0
        return self._ends().rough(epsilon)

    def _ends(self) -> Ends:
        return _stealing(self.source, self.n, precision_for(self.n))

    def _bounded(self, epsilon: float) -> Found | None:
        return if_any(lambda: self._ends().bounded(epsilon))

    def _end(self, found: Found | None, value: float) -> End:
        witness: dict[str, Any] = {"analysis": self.key}
        if found is not None:
            witness |= _worst_pair(self.source, found.which)
            witness["free"] = [free_numbers(one) for one in found.numbers]
        return End(value, self.theorem, None, witness, self.assumptions)


@dataclass(frozen=True)
class LoneJumps(Stealing):
    """Upper ends by the bound with one distinguished gain, evaluated at one eps at a time."""

    def for_rounds(self) -> Curve | None:
        """None: each value takes seconds."""
        return None

    def _ends(self) -> Ends:
        return _jump(self.source, self.n, precision_for(self.n))

    def _bounded(self, epsilon: float) -> Found | None:
        del epsilon
        return None


# Caches of laws and their float versions, shared by both ends, rounds and curves. Laws of another
# working precision are others.


@lru_cache(maxsize=16)
def _stealing(source: Stolen, n: int, bits: int) -> Ends:
    del bits
    if n < 2:
        raise NotCertified("label-stealing: one user has nobody to steal from")
    if on_interval(source):
        return IntervalStealing(source, n)
    return FiniteStealing(partial(cases_of, source), n)


@lru_cache(maxsize=16)
def _jump(source: Stolen, n: int, bits: int) -> LoneJump:
    del bits
    return LoneJump(one_randomizer(source, "lone-jump"), n)


def if_any(make: Callable[[], Some | None]) -> Some | None:
    """``make()``, or None where it is not certified (for instance too many inputs at tiny eps).

    Proposals are floats: where noise is so large, or eps is, that they divide by zero or overflow,
    there is no proposal.
    """
    try:
        return make()
    except (NotCertified, ArithmeticError):
        return None


def _worst_pair(source: Stolen, which: int) -> dict[str, Any]:
    if isinstance(source, Family):
        return {"member": "any"}
    found = settled_others(source)
    x0, x1 = found.pairs[which] if found is not None else (None, None)
    return {"x0": x0, "x1": x1}


def free_numbers(one: Numbers) -> dict[str, Any]:
    """The free numbers at which a reader can evaluate the same bound again."""
    named = {key: list(x) if isinstance(x, tuple) else x for key, x in one._asdict().items()}
    if one.shares == (1.0,):
        del named["shares"]
    return {key: value for key, value in named.items() if value is not None}


# ----------------------------------------------------------------- where the bounds apply


def on_interval(source: Source) -> bool:
    """Whether the others' inputs fill an interval, so that covers are needed."""
    found = settled_others(source) if isinstance(source, Randomizer) else None
    return found is not None and found.how == "span"


def refuse_unsettled(source: Source) -> None:
    """Raise NotCertified unless the others' worst inputs are known, as label stealing requires."""
    refuse_protocol(source, "label-stealing")
    if isinstance(source, RatioFamily) or (isinstance(source, Family) and source.adaptive):
        what = "p, beta and q" if isinstance(source, RatioFamily) else "an adaptive choice of them"
        raise NotCertified(f"analysis = 'label-stealing': wanted one randomizer, not {what}")
    if isinstance(source, Randomizer) and settled_others(source) is None:
        msg = (
            f"analysis = 'label-stealing': of {source.name} it is not settled which inputs of the "
            "others are the worst"
        )
        raise NotCertified(msg)


def has_lone_jumps(source: Source) -> bool:
    """Whether a single unbounded gain may decide: noise whose worst triples span an interval."""
    found = settled_others(source) if isinstance(source, Randomizer) else None
    return found is not None and found.how == "span" and found.unbounded


def label_stealing(source: Source, n: int) -> Stealing:
    """The label-stealing analysis: the least bound over the free numbers, at the worst pair."""
    refuse_unsettled(source)
    key, assumed = "label-stealing", words.of_all(source)
    if isinstance(source, Family):
        assumed, theorem = (*assumed, words.SAME_FAMILY), theorems.LABEL_STEALING_FAMILY
        return Stealing(key, "upper", theorem, assumed, source=source, n=n)
    randomizer = one_randomizer(source, key)
    theorem = _with_triples(theorems.LABEL_STEALING, randomizer)
    return Stealing(key, "upper", theorem, (*assumed, words.SAME), source=randomizer, n=n)


def lone_jump(source: Source, n: int) -> LoneJumps:
    """The analysis with one distinguished gain, for noise with unbounded gains."""
    key = "lone-jump"
    randomizer = one_randomizer(source, key)
    if not has_lone_jumps(source):
        raise NotCertified("analysis = 'lone-jump': wanted Gaussian noise that is not very narrow")
    assumed = (*words.of_all(source), words.SAME)
    theorem = _with_triples(theorems.LONE_JUMP, randomizer)
    return LoneJumps(key, "upper", theorem, assumed, source=randomizer, n=n)


def _with_triples(theorem: Theorem, randomizer: Randomizer) -> Theorem:
    """The theorem with the step that names the randomizer's worst triples added."""
    found = settled_others(randomizer)
    return theorem if found is None else theorem.with_step(found.step)
