"""The cases of label stealing in plain floats: laws of pairs of inputs, and which pairs are near.

Nothing here is certified.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.bounds.stealing_cases import Case, InputCases

__all__ = ["MANY_PAIRS", "AllFloats", "Array", "Floats", "Places"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# From more pairs of inputs than this, numbers start from all outputs, so that many pairs can share
# them, and a blanket of all pairs takes long.
MANY_PAIRS = 132
# Tilt for pairs that are bounded together, relative to that of the worst pair, and a margin in log
# delta, as eps and delta still move.
_STEEPER, _SAFE = 1.2, 0.7


class Floats:
    """A case in floats: rows of the reservoir, and of all labels side by side, padded with 0."""

    def __init__(
        self, case: Case, kept: dict[int, Array] | None = None, *, shared: bool = False
    ) -> None:
        #: Whether its numbers have to serve many pairs of inputs.
        self.shared = shared
        rows: dict[int, Array] = {} if kept is None else kept

        def row(values: Any) -> Array:
            if id(values) not in rows:
                rows[id(values)] = np.array([float(x.mid()) for x in values])
            return rows[id(values)]

        self.blanket, self.first, self.second = map(row, (case.blanket, case.first, case.second))
        size = max(len(label[2]) for label in case.labels)
        stack = np.zeros((4, len(case.labels), size))
        for j, label in enumerate(case.labels):
            for i, values in enumerate(label[:4]):
                stack[i, j, : len(values)] = row(values)
        self.label_first, self.label_second, self.other, self.hidden = stack
        self.tuned, self.unbounded = case.parts is not None, case.unbounded
        self.parts = np.array(case.parts or [0] * self.blanket.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = (self.label_first - self.label_second) ** 2
            self.spreads = np.where(change > 0.0, change / self.other, 0.0).sum(axis=1)
            change = (self.first - self.second) ** 2
            self.blanket_spread = np.where(change > 0.0, change / self.blanket, 0.0).sum()
        self.order = np.argsort(-self.spreads, kind="stable")
        #: The group of each label, and the groups' numbers of others; None of a single mechanism.
        self.group = np.array([label.group for label in case.labels])
        self.users = np.array([float(one.users) for one in case.groups]) if case.groups else None
        self._leasts = [row(one.least) for one in case.groups]
        #: Each group's labels, and the one of them with the largest spread.
        self.members = [np.flatnonzero(self.group == k) for k in range(self.group.max() + 1)]
        self.leads = np.array([own[self.spreads[own].argmax()] for own in self.members])

    @property
    def spread(self) -> float:
        """The spread of the worst labels: their harmonic mean, weighted by users, in a crowd."""
        worst = self.spreads[self.leads]
        if self.users is None or not worst.all():
            return float(worst.max())
        return float(self.users.sum() / (self.users / worst).sum())

    def shares(self) -> list[Array]:
        """First q of the groups, the likely best first: 1/spread, its square root, all equal."""
        worst = self.spreads[self.leads]
        if not ((worst > 0.0) & np.isfinite(worst)).all():
            return [np.ones(worst.size)]
        varied = np.maximum(worst.min() / worst, 1e-6)
        return [varied, np.sqrt(varied), np.ones(worst.size)][: 3 if worst.size > 1 else 1]

    def split(self, shares: Array) -> tuple[Array, Array]:
        """The reservoir's measure B, and for every label the measure of which a share is hidden."""
        if self.users is None:
            return self.blanket, self.hidden
        common = (np.array(self._leasts) / shares[:, None]).min(axis=0)
        return common, shares[self.group][:, None] * common

    def gains(self, eps: float) -> tuple[Array, Array]:
        """g = R_x0 - e^eps R_x1, for the reservoir's outputs and for those of all labels."""
        more = math.expm1(eps)
        return (
            (self.first - self.second) - more * self.second,
            (self.label_first - self.label_second) - more * self.label_second,
        )


class AllFloats(Sequence[Floats]):
    """Cases in floats, each made when needed; rows shared by several are converted once."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases, self._kept = cases, dict[int, Array]()
        self._made: dict[int, Floats] = {}
        #: The cases' common laws, if others hold any of given inputs.
        self.inputs = _Inputs(cases) if isinstance(cases, InputCases) else None
        #: The largest spread of a label in each case.
        self.spreads: list[float] = (
            [one.spread for one in self] if self.inputs is None else self.inputs.spreads()
        )

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, i: Any) -> Any:
        if i not in self._made:
            shared = len(self._cases) > MANY_PAIRS
            self._made[i] = Floats(self._cases[i], self._kept, shared=shared)
        return self._made[i]


class _Inputs:
    """Laws of all inputs in floats, for estimates of all pairs at once."""

    def __init__(self, cases: InputCases) -> None:
        self._law = np.array([[float(p.mid()) for p in row] for row in cases.rows])
        self._blanket = np.array([float(b.mid()) for b in cases.blanket])
        self._pairs, self._others = np.array(cases.pairs).T, self._law[cases.labels]

    def spreads(self) -> list[float]:
        """For each pair, the largest sum of (R_x0 - R_x1)^2/R_x over the others' inputs x."""
        found = np.zeros(len(self._pairs[0]))
        change = (self._law[self._pairs[0]] - self._law[self._pairs[1]]) ** 2
        for row in self._others:
            inverse = np.divide(1.0, row, out=np.zeros_like(row), where=row > 0.0)
            found = np.maximum(found, change @ inverse)
        return found.tolist()

    def perhaps_above(
        self, share: Array, join: Array, alpha: float, n: int, eps: float, log_delta: float
    ) -> set[int]:
        """The pairs that ``InputCases.surely_met`` would hardly certify at this delta.

        ``share``, ``join``, ``alpha``: the free numbers of the pair that is the worst.
        """
        beta, s, alpha = share * self._blanket, join, _STEEPER * alpha
        limit = math.exp((math.log(2.0 * alpha * n) + log_delta - _SAFE) / n)
        with np.errstate(all="ignore"):
            joined = self._tilted(beta, alpha * s / beta, eps)
            stolen = [
                self._tilted(rest, alpha * (1.0 - s) / rest, eps) for rest in self._others - beta
            ]
            found = joined + np.max(stolen, axis=0)
        return set(np.flatnonzero(~(found <= limit)).tolist())

    def _tilted(self, mass: Array, steps: Array, eps: float) -> Array:
        """Sum of m e^(w (R_x0 - a R_x1)) over outputs, for each pair."""
        right = np.exp(-math.exp(eps) * steps * self._law)
        every = (mass * np.exp(steps * self._law)) @ right.T
        return every[self._pairs[0], self._pairs[1]]
