"""The upper end by label stealing, among the sides of the other analyses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.errors import NotCertified
from shuffledp.sides import Found, Side
from shuffledp.stealing import Case, Certified, Contour, Curve

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
        found = _if_any(lambda: self._curve().epsilon(math.log(delta), cap=cap))
        return self._found(found, math.inf if found is None else found.epsilon)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The bound at this eps."""
        del width
        found = None if epsilon <= 0.0 else _if_any(lambda: self._curve().log_delta(epsilon))
        return self._found(found, math.inf if found is None else found.log_delta)

    def _curve(self) -> Curve:
        return Curve(lambda log_delta: [case for case, _ in self.cases(log_delta)], self.n)

    def _found(self, found: Certified | None, value: float) -> Found:
        witness: dict[str, Any] = {"analysis": "label-stealing"}
        if found is not None:
            witness |= self.cases(0.0)[found.which][1] | _free_numbers(found.choice, found.contour)
            witness["free"] = [_free_numbers(*numbers) for numbers in found.numbers]
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
