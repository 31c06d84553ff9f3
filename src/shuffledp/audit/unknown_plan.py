"""What is asked of a program of which no law is declared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.audit.plan import plain
from shuffledp.errors import rejected
from shuffledp.values.described import Described

# Reports under each value that choose the event: half of them, as many as fit the memory.
_MOST_CHOOSING = 1_000_000


def _finite(value: Any) -> bool:
    """Whether every number of a value is finite: files, which are JSON, have no others."""
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return not isinstance(value, float) or math.isfinite(value)


@dataclass(frozen=True, kw_only=True)
class UnknownPlan(Described):
    """Which values, how many reports, and what is bounded.

    Parameters
    ----------
    pair : tuple
        Two values; the bound is on the better of both directions.
    reports : int
        For each of the two values, 100 to 1e9; half of them, at most a million, choose the event.
    alpha : float
        One minus the confidence.
    epsilons : tuple of float
        Where delta is bounded.
    claimed : float, optional
        eps0 that the program is said to have.
    seed : int
        Of the order in which the values are asked for.
    """

    pair: tuple[Any, Any]
    reports: int = 100_000
    alpha: float = 0.05
    epsilons: tuple[float, ...] = ()
    claimed: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        pair = tuple(self.pair) if isinstance(self.pair, tuple | list) else ()
        if len(pair) != 2 or repr(pair[0]) == repr(pair[1]):
            raise rejected("pair", self.pair, "two different values")
        if not all(map(_finite, pair)):
            raise rejected("pair", self.pair, "two values without numbers that are not finite")
        object.__setattr__(self, "pair", pair)
        _check.count("reports", self.reports, low=100, high=10**9)
        object.__setattr__(self, "alpha", _check.open_unit("alpha", self.alpha))
        wanted = tuple(_check.epsilon("epsilons", e) for e in self.epsilons)
        object.__setattr__(self, "epsilons", wanted)
        if self.claimed is not None:
            object.__setattr__(self, "claimed", _check.positive("claimed", self.claimed))
        _check.count("seed", self.seed, low=0, high=2**63 - 1)

    @property
    def choosing(self) -> int:
        """Reports under each value that choose the event."""
        return min(self.reports // 2, _MOST_CHOOSING)

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return {
            "pair": [plain(v) for v in self.pair],
            "reports": self.reports,
            "alpha": self.alpha,
            "epsilons": list(self.epsilons),
            "claimed": self.claimed,
            "seed": self.seed,
        }
