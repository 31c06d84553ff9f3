"""Both ends of one-bit mechanisms by all data sets, among the sides of the other analyses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from shuffledp.binary.curve import Curve, Point
from shuffledp.sides import Found, Side

# log delta is asked for ten times as wide, relatively, as eps (``Shuffled``).
_WIDER = 10.0


@dataclass(frozen=True)
class BinarySide(Side):
    """The largest delta of all data sets: its upper or, by the analysis' end, its lower end."""

    curve: Curve = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps that was evaluated and is certified for this end."""
        del width
        find = self.curve.upper if self._upper else self.curve.lower
        found = find(math.log(delta), rtol=rtol, cap=cap)
        apart = found.width if self._upper and math.isfinite(found.width) else None
        return self._found(found.epsilon, found.point, apart)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end at this eps."""
        point = self.curve.point(epsilon, rtol=width / _WIDER, most=width)
        apart = None
        if self._upper and point.log_low > -math.inf:
            apart = math.expm1(point.log_high - point.log_low)
        return self._found(point.log_high if self._upper else point.log_low, point, apart)

    @property
    def _upper(self) -> bool:
        return self.analysis.end == "upper"

    def _found(self, value: float, point: Point | None, apart: float | None) -> Found:
        witness: dict[str, Any] = {"analysis": self.analysis.key}
        if not self._upper and point is not None:
            others = [[x, count] for x, count in point.others]
            witness |= {"x0": point.x0, "x1": point.x1, "others": others}
        return Found(value, self.theorem, apart, witness, self.assumptions)
