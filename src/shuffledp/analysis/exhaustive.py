"""Few users, few inputs and outputs: both ends by the divergence of every data set."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Found, Side
from shuffledp.analysis.source import Source, one_randomizer
from shuffledp.divergence import LOOSE
from shuffledp.errors import NotCertified
from shuffledp.exhaustive.curve import Curve, Witness
from shuffledp.exhaustive.datasets import MOST_USERS, cost_of
from shuffledp.exhaustive.statistic import Statistic, statistic_of
from shuffledp.neighbours import REPLACEMENT
from shuffledp.numerics import LogInterval
from shuffledp.randomizers import Randomizer
from shuffledp.values.work import Beside

_KEY = "exhaustive"
# Beyond it a positive delta of floats does not fall any more.
_FAR = 600.0
# Multiplications of what a verifier, who merges nothing, recomputes within some two seconds: of the
# work that is quick here, 24 million, it takes four to eighteen.
_MOST_READ = 3_000_000
# Both ends of one mechanism are of the same laws, which live as long as one of them does.
_CURVES: weakref.WeakValueDictionary[tuple[Randomizer, int], Curve] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class ExhaustiveSide(Side):
    """The largest delta of all data sets: its upper or, by the analysis' end, its lower end."""

    supremum: ExhaustiveSupremum = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps that was evaluated and is certified for this end."""
        del rtol, width
        found = _SUMMED.of(self.supremum).crossing(delta)
        if self.end == "lower":
            return self._found(min(found.low, cap), None, found.witness)
        apart = found.high / found.low - 1.0 if 0.0 < found.low <= found.high < math.inf else None
        return self._found(found.high, 0.0 if found.high == 0.0 else apart, None)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end at this eps."""
        del width
        found = _SUMMED.of(self.supremum).point(epsilon)
        if self.end == "lower":
            return self._found(found.log_low, None, found.witness)
        apart = None
        if found.log_low > -math.inf:
            apart = math.expm1(found.log_high - found.log_low)
        return self._found(found.log_high, apart, None)

    def exact(self) -> ExhaustiveSupremum:
        """The largest delta of all data sets, for rounds."""
        return self.supremum

    def _found(self, value: float, apart: float | None, data: Witness | None) -> Found:
        witness: dict[str, Any] = {"analysis": self.key}
        if data is not None:
            others = [[x, count] for x, count in data.others]
            witness |= {"x0": data.x0, "x1": data.x1, "others": others}
        return Found(value, self.theorem, apart, witness, self.assumptions)


@dataclass(frozen=True)
class ExhaustiveSupremum:
    """log delta, the largest of all data sets and ordered pairs: ``Exact`` curve of rounds.

    Attributes
    ----------
    randomizer : Randomizer
        What each user runs.
    n : int
        Users, the victim included.
    """

    randomizer: Randomizer
    n: int
    slow: ClassVar[bool] = False

    @property
    def slow_to_read(self) -> bool:
        """Whether a verifier takes several seconds for a value."""
        return cost_of(_statistic(self.randomizer, self.n), self.n).work > _MOST_READ

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Both ends at eps >= 0: sums of floats, as near to each other as these are."""
        del width
        found = _SUMMED.of(self).point(epsilon)
        return LogInterval(found.log_low, found.log_high)

    def rough_log_delta(self, epsilon: float) -> float:
        """The upper end: an estimate would take no less."""
        return self.log_delta(epsilon).high

    def log_floor(self) -> float:
        """What outputs that tell the victim's value leave at any eps."""
        return -math.inf if math.isfinite(self.randomizer.eps0) else self.log_delta(_FAR).low


def _curve(randomizer: Randomizer, n: int) -> Curve:
    found = _CURVES.get((randomizer, n))
    if found is None:
        found = _CURVES[randomizer, n] = Curve(_statistic(randomizer, n), n, _KEY)
    return found


_SUMMED: Beside[ExhaustiveSupremum, Curve] = Beside(lambda sets: _curve(sets.randomizer, sets.n))


class _Exhaustive(Analysis):
    """Of mechanisms with finite laws, few users and any two inputs that may be neighbours."""

    def require(self, source: Source) -> None:
        """A randomizer that says all its inputs."""
        super().require(source)
        randomizer = one_randomizer(source, _KEY, lacks="data sets of its own")
        if randomizer.inputs() is None or randomizer.relation != REPLACEMENT:
            msg = (
                f"analysis = {_KEY!r}: wanted a mechanism with finitely many inputs and outputs, "
                "any two inputs neighbours"
            )
            raise NotCertified(msg)

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """One end of the largest delta of all data sets."""
        del cells
        self.require(source)
        supremum = ExhaustiveSupremum(one_randomizer(source, _KEY), n)
        _SUMMED.of(supremum)  # too many data sets: said now
        words = self.assumptions(source)
        return ExhaustiveSide(self.key, self.end, self.theorem, (), (), words, supremum=supremum)


def _statistic(randomizer: Randomizer, n: int) -> Statistic:
    """Its law on as few outputs and inputs as there are; NotCertified for many users."""
    if n > MOST_USERS:
        msg = f"analysis = {_KEY!r}, n = {n:,}: wanted at most {MOST_USERS:,} users"
        raise NotCertified(msg)
    return statistic_of(randomizer, n, _KEY)


def _quick(source: Source, n: int) -> bool:
    """Whether all data sets are enumerated by default: where that takes no longer than the rest."""
    try:
        EXHAUSTIVE.require(source)
        statistic = _statistic(one_randomizer(source, _KEY), n)
    except NotCertified:
        return False
    cost = cost_of(statistic, n)
    return cost.feasible and cost.quick


_FEW = (
    "one randomizer with few inputs and outputs for all users, few users, any inputs of the "
    "others; not adaptive"
)
EXHAUSTIVE = _Exhaustive(
    _KEY,
    "upper",
    theorems.EXHAUSTIVE,
    f"{_FEW}; with it the lower end of exhaustive-lower",
    kind="algorithm",
    slow=True,
    other_end="exhaustive-lower",
    usual=_quick,
)
EXHAUSTIVE_LOWER = _Exhaustive(
    "exhaustive-lower",
    "lower",
    theorems.EXHAUSTIVE_LOWER,
    _FEW,
    kind="algorithm",
    slow=True,
    usual=_quick,
)
