"""Label stealing: the upper end by it, and by its form with one distinguished gain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from shuffledp import theorems
from shuffledp.analysis import words as said
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Found, Side
from shuffledp.analysis.source import (
    Family,
    Source,
    has_lone_jumps,
    on_interval,
    one_randomizer,
    settled_others,
    settled_triples,
)
from shuffledp.ball.labels import others_of
from shuffledp.bound import Theorem
from shuffledp.bounds import stealing_along
from shuffledp.bounds.interval_ends import IntervalStealing
from shuffledp.bounds.lone_jump_ends import LoneJump
from shuffledp.bounds.profile import LARGEST_EPSILON
from shuffledp.bounds.stealing import Numbers
from shuffledp.bounds.stealing_ends import End, Stealing
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import table_of
from shuffledp.randomizers import Randomizer
from shuffledp.rounds.curve import Sharper
from shuffledp.values.work import Beside

Some = TypeVar("Some")
Stolen = Randomizer | Family
Ends = Stealing | IntervalStealing

# Numbers of users from and up to which label stealing is tried where the blanket is as good among
# many: with fewer no reservoir is large enough, with more the ends are less than 1 % apart.
_FEWEST, _MOST_OF_FEW = 20, 2_000
# Of chi_B/chi_x: up to it the blanket is as good, and faster.
_WORTH_IT = 1.001
# With fewer users the bound with one gain apart is not worth its five seconds.
_FEWEST_ALONE = 100


@dataclass(frozen=True)
class StealingSide(Side):
    """Upper ends by the label-stealing bound of a source among n users; infinite where none."""

    source: Stolen = field(kw_only=True)
    n: int = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps that was evaluated, with a certified bound of at most delta."""
        del rtol, width
        found = self._if_some(lambda made: made.epsilon(math.log(delta), cap=cap))
        return self._found(found, math.inf if found is None else found.epsilon)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The bound at this eps."""
        del width
        # Delta only falls in eps.
        at = min(epsilon, LARGEST_EPSILON)
        found = self._if_some(lambda made: made.log_delta(at)) if epsilon > 0.0 else None
        return self._found(found, math.inf if found is None else found.log_delta)

    def at_node(self, epsilon: float, *, width: float) -> Found:
        """At free numbers that many eps share."""
        del width
        found = None
        if epsilon > 0.0 and self.n > 1:
            found = _if_any(lambda: _ALONG_SIDE.of(self).bounded(epsilon))
        return self._found(found, math.inf if found is None else found.log_delta)

    def for_rounds(self) -> Sharper:
        """The bound at many eps."""
        return StealingCurve(self.source, self.n)

    def _if_some(self, make: Callable[[Ends], End | None]) -> End | None:
        """None for one user, who has nobody to steal from."""
        return None if self.n < 2 else _if_any(lambda: make(_stealing(self.source, self.n)))

    def _found(self, found: End | None, value: float) -> Found:
        witness: dict[str, Any] = {"analysis": self.key}
        if found is not None:
            witness |= _words(self.source, found.which)
            witness["free"] = [_free_numbers(one) for one in found.numbers]
        return Found(value, self.theorem, None, witness, self.assumptions)


_ALONG_SIDE: Beside[StealingSide, stealing_along.Along] = Beside(
    lambda side: stealing_along.Along(_stealing(side.source, side.n))
)


@lru_cache(maxsize=16)
def _stealing(source: Stolen, n: int) -> Stealing | IntervalStealing:
    """Laws and what they are in floats: both ends, rounds and curves ask for the same."""
    mechanism = source.to_dict() if isinstance(source, Family) else table_of(source)
    return IntervalStealing(mechanism, n) if on_interval(source) else Stealing(mechanism, n)


@lru_cache(maxsize=16)
def _jump(source: Stolen, n: int) -> LoneJump:
    """Both ends, and curves, ask for the same."""
    if isinstance(source, Family):
        raise NotCertified("lone-jump: wanted one randomizer")
    return LoneJump(table_of(source), n)


def _words(source: Stolen, which: int) -> dict[str, Any]:
    """The pair of inputs that is the worst."""
    if isinstance(source, Family):
        return {"member": "any"}
    found = others_of(table_of(source))
    x0, x1 = found.pairs[which] if found is not None else (None, None)
    return {"x0": x0, "x1": x1}


@dataclass(frozen=True)
class StealingCurve:
    """The label-stealing bound at many eps, for rounds: ``Sharper`` of their curve.

    Attributes
    ----------
    source : Randomizer or family
        What each user runs, no randomizer chosen by the messages before it.
    n : int
        Users (messages in the shuffle).
    """

    source: Stolen
    n: int

    @property
    def many(self) -> bool:
        """A reader computes the same sums."""
        return False

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0, 0 where there is none."""
        found = self._bounded(epsilon)
        return 0.0 if found is None else found.log_delta

    def rough(self, epsilon: float) -> float:
        """About the same, not certified."""
        return 0.0 if self.n < 2 else _ALONG.of(self).rough(epsilon)

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """The bound, and the free numbers of each pair."""
        found = self._bounded(epsilon)
        if found is None:
            return None
        return found.log_delta, [_free_numbers(one) for one in found.numbers]

    def _bounded(self, epsilon: float) -> End | None:
        return None if self.n < 2 else _if_any(lambda: _ALONG.of(self).bounded(epsilon))


_ALONG: Beside[StealingCurve, stealing_along.Along] = Beside(
    lambda curve: stealing_along.Along(_stealing(curve.source, curve.n))
)


@dataclass(frozen=True)
class JumpSide(StealingSide):
    """Upper ends by the bound with one distinguished gain; infinite where it has none."""

    def _if_some(self, make: Callable[[Ends], End | None]) -> End | None:
        return _if_any(lambda: make(_jump(self.source, self.n)))


def _if_any(make: Callable[[], Some | None]) -> Some | None:
    """None where the bound would take too many inputs, as for tiny eps: others then serve."""
    try:
        return make()
    except NotCertified:
        return None


def _free_numbers(one: Numbers) -> dict[str, Any]:
    """What a reader needs to evaluate the same bound again."""
    found = one._asdict() | {"share": list(one.share), "join": list(one.join)}
    return {key: value for key, value in found.items() if value is not None}


def _label_stealing(source: Source, n: int) -> Side:
    """The least bound over its free numbers, of the worst pair."""
    settled_triples(source)
    assumed = said.of_all(source)
    if isinstance(source, Family):
        key, theorem = "label-stealing", theorems.LABEL_STEALING_FAMILY
        assumed = (*assumed, said.SAME_FAMILY)
        return StealingSide(key, "upper", theorem, (), (), assumed, source=source, n=n)
    randomizer = one_randomizer(source, "label-stealing")
    theorem = _with_triples(theorems.LABEL_STEALING, randomizer)
    assumed = (*assumed, said.SAME)
    return StealingSide("label-stealing", "upper", theorem, (), (), assumed, source=randomizer, n=n)


def _lone_jump(source: Source, n: int) -> Side:
    """The bound with one gain apart, of noise where single gains without bound may decide."""
    randomizer = one_randomizer(source, "lone-jump")
    if not has_lone_jumps(source):
        raise NotCertified("analysis = 'lone-jump': wanted Gaussian noise that is not very narrow")
    theorem = _with_triples(theorems.LONE_JUMP, randomizer)
    assumed = (*said.of_all(source), said.SAME)
    return JumpSide("lone-jump", "upper", theorem, (), (), assumed, source=randomizer, n=n)


def _with_triples(theorem: Theorem, randomizer: Randomizer) -> Theorem:
    """With the step that names a randomizer's worst triples."""
    found = settled_others(randomizer)
    return theorem if found is None else theorem.with_step(found.step)


def _usual(source: Source, n: int) -> bool:
    if isinstance(source, Randomizer):
        return promising(source, n)
    return isinstance(source, Family) and not source.adaptive


def promising(source: Randomizer, n: int) -> bool:
    """Whether the bound can be much below the blanket's.

    To first order the blanket loses a factor sqrt(chi_B/chi_x) of eps, chi = int (R_x1 - R_x0)^2
    over the blanket or over the worst R_x: 1 for k-RR, for instance, where nothing is to be gained.
    """
    try:
        settled_triples(source)
        made = None if n < 2 else _stealing(source, n)
        if not isinstance(made, Stealing):
            return True
        pairs = made.floats()
    except NotCertified:
        return False
    return len(pairs) > 1 or not pairs[0].blanket_spread <= _WORTH_IT * pairs[0].spreads.max()


def _closing(source: Source, n: int) -> bool:
    """Where the blanket is as good among many: one pair of a randomizer with settled types."""
    few = _FEWEST <= n <= _MOST_OF_FEW
    return few and isinstance(source, Randomizer) and settled_others(source) is not None


def _lone(source: Source, n: int) -> bool:
    """Enough users for a sum beside the gain that is kept."""
    return n >= _FEWEST_ALONE and has_lone_jumps(source)


LABEL_STEALING = Analysis(
    "label-stealing",
    "upper",
    theorems.LABEL_STEALING,
    "one randomizer for all users, any inputs of the others; not adaptive; for randomizers of "
    "which the others' worst inputs are known, and for all eps0-LDP randomizers",
    make=_label_stealing,
    usual=_usual,
    closing=_closing,
)
LONE_JUMP = Analysis(
    "lone-jump",
    "upper",
    theorems.LONE_JUMP,
    "Gaussian noise on an interval, one randomizer for all users, any inputs of the others; "
    "not adaptive; tried where the other ends are apart",
    make=_lone_jump,
    slow=True,
    closing=_lone,
)
