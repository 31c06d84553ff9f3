"""Label stealing: the upper end by it, and by its form with one distinguished gain."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp import theorems
from shuffledp.analysis import words as said
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Found, Side
from shuffledp.analysis.source import (
    Family,
    Source,
    has_lone_jumps,
    one_randomizer,
    settled_triples,
)
from shuffledp.bound import Theorem
from shuffledp.divergence import LARGEST_EPSILON
from shuffledp.errors import NotCertified
from shuffledp.randomizers import Randomizer
from shuffledp.rounds.curve import Sharper
from shuffledp.stealing import (
    Along,
    Case,
    Certified,
    Contour,
    Curve,
    any_local,
    cases_of,
    promising,
)
from shuffledp.stealing.jump_curve import CertifiedAlone, JumpCurve, jump_curve
from shuffledp.values.work import Beside

# Numbers of users from and up to which label stealing is tried where the blanket is as good among
# many: with fewer no reservoir is large enough, with more the ends are less than 1 % apart.
_FEWEST, _MOST_OF_FEW = 20, 2_000
# With fewer users the bound with one gain apart is not worth its five seconds.
_FEWEST_ALONE = 100


@dataclass(frozen=True)
class StealingSide(Side):
    """Upper ends by the label-stealing bound of a source among n users; infinite where none."""

    source: Source = field(kw_only=True)
    n: int = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps that was evaluated, with a certified bound of at most delta."""
        del rtol, width
        curve, words = _CURVE.of(self)
        found = _if_any(lambda: curve.epsilon(math.log(delta), cap=cap))
        return self._found(found, words, math.inf if found is None else found.epsilon)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The bound at this eps."""
        del width
        curve, words = _CURVE.of(self)
        # Delta only falls in eps: where gains leave the floats that at the largest eps is above it.
        at = min(epsilon, LARGEST_EPSILON)
        found = None if epsilon <= 0.0 else _if_any(lambda: curve.log_delta(at))
        return self._found(found, words, math.inf if found is None else found.log_delta)

    def for_rounds(self) -> Sharper:
        """The bound at many eps."""
        return StealingCurve(self.source, self.n)

    def _found(self, found: Certified | None, words: list[dict[str, Any]], value: float) -> Found:
        witness: dict[str, Any] = {"analysis": "label-stealing"}
        if found is not None:
            witness |= words[found.which] | _free_numbers(found.choice, found.contour)
            witness["free"] = [_free_numbers(*numbers) for numbers in found.numbers]
        return Found(value, self.theorem, None, witness, self.assumptions)


def _curve_of(source: Source, n: int) -> tuple[Curve, list[dict[str, Any]]]:
    """The curve, and words for its cases once it has made them."""
    words: list[dict[str, Any]] = []

    def cases(log_delta: float) -> list[Case]:
        made = named_cases(source, log_delta)
        words[:] = [said for _, said in made]
        return [case for case, _ in made]

    return Curve(cases, n), words


_CURVE: Beside[StealingSide, tuple[Curve, list[dict[str, Any]]]] = Beside(
    lambda side: _curve_of(side.source, side.n)
)


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

    source: Source
    n: int

    @property
    def many(self) -> bool:
        """Whether many types are looked at together."""
        return _ALONG.of(self).many

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0, 0 where there is none."""
        return _ALONG.of(self).log_upper(epsilon)

    def rough(self, epsilon: float) -> float:
        """About the same, not certified."""
        return _ALONG.of(self).rough(epsilon)

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """The bound as a reader computes it, and the free numbers of each pair looked at."""
        found = _ALONG.of(self).reproduced(epsilon)
        if found is None:
            return None
        return found.log_delta, [_free_numbers(*numbers) for numbers in found.numbers]


def named_cases(source: Source, log_delta: float) -> list[tuple[Case, dict[str, Any]]]:
    """The pairs that label stealing looks at, with words for them."""
    if isinstance(source, Randomizer):
        return cases_of(source, log_delta)
    return [(any_local(source.eps0), {"member": "any"})]


def _bare_cases(source: Source, log_delta: float) -> list[Case]:
    return [case for case, _ in named_cases(source, log_delta)]


_ALONG: Beside[StealingCurve, Along] = Beside(
    lambda curve: Along(functools.partial(_bare_cases, curve.source), curve.n)
)


@dataclass(frozen=True)
class JumpSide(Side):
    """Upper ends by the bound with one distinguished gain; infinite where it has none."""

    randomizer: Randomizer = field(kw_only=True)
    n: int = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps below the cap that was evaluated, with a certified bound of at most delta."""
        del rtol, width
        found = _JUMPS.of(self).epsilon(math.log(delta), cap=cap)
        return self._found(found, math.inf if found is None else found.epsilon)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The bound at this eps."""
        del width
        # Delta only falls in eps.
        at = min(epsilon, LARGEST_EPSILON)
        found = None if epsilon <= 0.0 else _JUMPS.of(self).log_delta(at)
        return self._found(found, math.inf if found is None else found.log_delta)

    def _found(self, found: CertifiedAlone | None, value: float) -> Found:
        witness: dict[str, Any] = {"analysis": "lone-jump"}
        if found is not None:
            numbers = found.numbers._asdict() | dict(
                zip(("second", "first", "others"), found.cover, strict=False)
            )
            listed = {k: list(v) if isinstance(v, tuple) else v for k, v in numbers.items()}
            witness["alone"] = listed
        return Found(value, self.theorem, None, witness, self.assumptions)


def _alone_of(randomizer: Randomizer, n: int) -> JumpCurve:
    return jump_curve(lambda log_delta: cases_of(randomizer, log_delta)[0][0], n)


# What does not depend on the question, and choices that are made for eps near each other.
_JUMPS: Beside[JumpSide, JumpCurve] = Beside(lambda side: _alone_of(side.randomizer, side.n))


def _if_any(make: Callable[[], Certified | None]) -> Certified | None:
    """None where the bound would take too many inputs, as for tiny eps: others then serve."""
    try:
        return make()
    except NotCertified:
        return None


def _free_numbers(choice: Any, contour: Contour) -> dict[str, Any]:
    """What a reader needs to evaluate the same bound again."""
    numbers = choice._asdict().items()
    numbers = {key: list(v) if isinstance(v, tuple) else v for key, v in numbers}
    numbers = {key: v for key, v in numbers.items() if not (isinstance(v, float) and math.isinf(v))}
    return {**numbers, "alpha": contour.alpha, "smoothing": contour.smoothing}


class _LabelStealing(Analysis):
    """Of mechanisms of which the others' worst inputs are known, and of all eps0-LDP ones."""

    def require(self, source: Source) -> None:
        """One randomizer whose worst triples are known, or all eps0-LDP ones, not adaptive."""
        super().require(source)
        settled_triples(source)

    def theorem_for(self, source: Source) -> Theorem:
        """That of the randomizer's triples, or of all eps0-LDP laws."""
        if isinstance(source, Family):
            return theorems.LABEL_STEALING_FAMILY
        return super().theorem_for(source)

    def _chosen(self, source: Source) -> str:
        return said.SAME_FAMILY if isinstance(source, Family) else super()._chosen(source)

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """The least bound over its free numbers, of the worst pair."""
        del cells
        self.require(source)
        theorem, words = self.theorem_for(source), self.assumptions(source)
        return StealingSide(self.key, self.end, theorem, (), (), words, source=source, n=n)


class _LoneJump(Analysis):
    """Of Gaussian noise on an interval."""

    def require(self, source: Source) -> None:
        """Noise that is not very narrow, where single gains without bound may decide."""
        super().require(source)
        if not has_lone_jumps(source):
            msg = f"analysis = {self.key!r}: wanted Gaussian noise that is not very narrow"
            raise NotCertified(msg)

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """The bound with one gain apart."""
        del cells
        self.require(source)
        randomizer = one_randomizer(source, self.key)
        theorem, words = self.theorem_for(source), self.assumptions(source)
        return JumpSide(self.key, self.end, theorem, (), (), words, randomizer=randomizer, n=n)


def _usual(source: Source, n: int) -> bool:
    del n
    if isinstance(source, Randomizer):
        return promising(source)
    return isinstance(source, Family) and not source.adaptive


def _closing(source: Source, n: int) -> bool:
    """Where the blanket is as good among many: one pair of a randomizer with settled types."""
    few = _FEWEST <= n <= _MOST_OF_FEW
    return few and isinstance(source, Randomizer) and source.worst_triples() is not None


def _lone(source: Source, n: int) -> bool:
    """Enough users for a sum beside the gain that is kept."""
    return n >= _FEWEST_ALONE and has_lone_jumps(source)


LABEL_STEALING = _LabelStealing(
    "label-stealing",
    "upper",
    theorems.LABEL_STEALING,
    "one randomizer for all users, any inputs of the others; not adaptive; for randomizers of "
    "which the others' worst inputs are known, and for all eps0-LDP randomizers",
    kind="algorithm",
    worst="triples",
    usual=_usual,
    closing=_closing,
)
LONE_JUMP = _LoneJump(
    "lone-jump",
    "upper",
    theorems.LONE_JUMP,
    "Gaussian noise on an interval, one randomizer for all users, any inputs of the others; "
    "not adaptive; tried where the other ends are apart",
    kind="algorithm",
    slow=True,
    closing=_lone,
    worst="triples",
)
