"""The upper end by label stealing, among the sides of the other analyses."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.errors import NotCertified
from shuffledp.randomizers import Randomizer
from shuffledp.sides import Found, Side, Source
from shuffledp.stealing import Along, Case, Certified, Contour, Curve, any_local, cases_of
from shuffledp.stealing.jump_curve import CertifiedAlone, jump_curve
from shuffledp.work import Beside

Cases = Callable[[float], list[tuple[Case, dict[str, Any]]]]


@dataclass(frozen=True)
class StealingSide(Side):
    """Upper ends by the label-stealing bound; infinite where it has none.

    ``cases(log_delta)`` gives the pairs of inputs, with the others' inputs, and words for them.
    """

    cases: Cases = field(kw_only=True)
    n: int = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps that was evaluated, with a certified bound of at most delta."""
        del rtol, width
        curve, words = self._curve()
        found = _if_any(lambda: curve.epsilon(math.log(delta), cap=cap))
        return self._found(found, words, math.inf if found is None else found.epsilon)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The bound at this eps."""
        del width
        curve, words = self._curve()
        found = None if epsilon <= 0.0 else _if_any(lambda: curve.log_delta(epsilon))
        return self._found(found, words, math.inf if found is None else found.log_delta)

    def _curve(self) -> tuple[Curve, list[dict[str, Any]]]:
        """The curve, and words for its cases once it has made them."""
        words: list[dict[str, Any]] = []

        def cases(log_delta: float) -> list[Case]:
            made = self.cases(log_delta)
            words[:] = [said for _, said in made]
            return [case for case, _ in made]

        return Curve(cases, self.n), words

    def _found(self, found: Certified | None, words: list[dict[str, Any]], value: float) -> Found:
        witness: dict[str, Any] = {"analysis": "label-stealing"}
        if found is not None:
            witness |= words[found.which] | _free_numbers(found.choice, found.contour)
            witness["free"] = [_free_numbers(*numbers) for numbers in found.numbers]
        return Found(value, self.theorem, None, witness, self.assumptions)


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
    def covered(self) -> bool:
        """Whether a cover of a continuum of inputs is looked at."""
        return _ALONG.of(self).slow

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

    case: Callable[[float], Case] = field(kw_only=True)
    n: int = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps below the cap that was evaluated, with a certified bound of at most delta."""
        del rtol, width
        found = jump_curve(self.case, self.n).epsilon(math.log(delta), cap=cap)
        return self._found(found, math.inf if found is None else found.epsilon)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The bound at this eps."""
        del width
        curve = jump_curve(self.case, self.n)
        found = None if epsilon <= 0.0 else curve.log_delta(epsilon)
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
