"""Lower ends for several users changed at once: k hold x0, or x1, and all others x2.

Each report is mapped to a whole number by a function of the report alone, and only the sum of all
is looked at. With S the sum of the others' and v0, v1 the law of the sum of the k users',

    D >= sum_s ( sum_f (v0(f) - e^eps v1(f)) P(S = s - f) )_+      (post-processing)

for both orders; the truth is no less (docs/theory-shufflers.md, Lemma 5.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.models.sums import Sum
from shuffledp.multimessage import MultiMessage
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers import JointLaw, Randomizer

U = UNIT_ROUNDOFF
# Numbers that a continuous report is mapped to: -8 to 8; a report of classes by its sign alone.
_FINE = 8
# Cells of a continuous report: finer ones say nothing more of 17 numbers.
_CELLS = 512
# Sums of so many numbers are convolved directly; reports count by their sign beyond.
_MOST_WIDE = 512
# e^eps beyond it is no float; nothing is claimed there.
_FARTHEST = 600.0
_SMALLEST, _HALVINGS, _NEAR = 1e-9, 60, 1e-6
# Weight that the rarest reports may have as a share of the scale of scores.
_RARE = 1e-3
_EQUAL = 1e-9
# Where laws of k reports are less certain than that nothing is claimed.
_DOUBT = 1e-3


class Best(NamedTuple):
    """The largest lower end of some datasets, and which one it is of."""

    value: float
    witness: dict[str, Any]


@dataclass(frozen=True, eq=False)
class DataSet:
    """k users' laws of a number in the two datasets, and one other's."""

    first: Array
    second: Array
    others: Sum
    rel: float
    witness: dict[str, Any]

    def log_delta(self, epsilon: float) -> float:
        """A lower bound of log D at this eps."""
        if epsilon > _FARTHEST:
            return -math.inf
        a = math.exp(epsilon)
        # e^eps is off by 2 units of itself.
        err = (self.rel + 8 * U) * (self.first + a * self.second) + 1e-290
        gains = self.first - self.second - math.expm1(epsilon) * self.second - err
        return self.others.log_positive(gains)


class Several:
    """Lower ends of datasets that differ in k users, of one round and so of several.

    Parameters
    ----------
    source : Randomizer or MultiMessage
        What each user runs; of a protocol nothing is known here.
    n : int
        Messages in the shuffle.
    changed : int
        k, at most n.
    """

    def __init__(self, source: Randomizer | MultiMessage, n: int, changed: int) -> None:
        self.sets: list[DataSet] = []
        if isinstance(source, MultiMessage) or changed == 1:
            return
        for x0, x1, x2 in dict.fromkeys(source.datasets()):
            try:
                law = source.law((x0, x1, x2), cells=_CELLS)
            except NotCertified:
                continue
            for swap in (False, True):
                inputs = (x1, x0, x2) if swap else (x0, x1, x2)
                found = _data_set(law, n, changed, swap=swap, inputs=inputs)
                if found is not None:
                    self.sets.append(found)

    def log_delta(self, epsilon: float) -> Best:
        """The largest lower bound of log delta at this eps; -inf where none is found."""
        best = Best(-math.inf, {})
        for one in self.sets:
            value = one.log_delta(epsilon)
            if value > best.value:
                best = Best(value, one.witness)
        return best

    def epsilon(self, log_target: float, *, above: float, cap: float) -> Best | None:
        """The largest eps that was evaluated with delta of at least the target, if above one."""
        slack = 4 * U * (1.0 + abs(log_target))
        best = None
        for one in self.sets:
            low = max(above if best is None else best.value, _SMALLEST)
            met = lambda epsilon, one=one: one.log_delta(epsilon) >= log_target + slack  # noqa: E731
            if low >= cap or not met(low):
                continue
            best = Best(_last(met, low, cap), one.witness)
        return best


def _last(met: Any, low: float, cap: float) -> float:
    """A point that meets, next to one that does not: doubling, then halving in log eps."""
    high = min(2.0 * low, cap)
    while met(high):
        if high >= cap:
            return cap
        low, high = high, min(2.0 * high, cap)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if high <= low * (1.0 + _NEAR) or not low < middle < high:
            break
        low, high = (middle, high) if met(middle) else (low, middle)
    return low


def _data_set(
    law: JointLaw, n: int, changed: int, *, swap: bool, inputs: tuple[Any, ...]
) -> DataSet | None:
    """k users hold x0 or x1, all others x2; None where reports cannot be mapped."""
    order = [1, 0, 2] if swap else [0, 1, 2]
    mass, tails = law.mass[order], law.tails()[order]
    wide = 1 if law.edges is None or changed * _FINE > _MOST_WIDE else _FINE
    if changed * wide > _MOST_WIDE:
        return None
    scores = _scores(mass, wide)
    steps = np.zeros((3, 2 * wide + 1))
    for row, own in zip(steps, mass, strict=True):
        np.add.at(row, scores + wide, own)
    # Reports beyond all cells count as the number that all three inputs give most often; sums of so
    # many masses are off by a unit for each.
    rel = law.rel + 2 * U * mass.shape[1]
    if float(tails.max()) > 0.0:
        least = float(steps.min(axis=0).max())
        rel = rel + float(tails.max()) / least * (1.0 + 4 * U) if least > 0.0 else math.inf
    if changed * rel > _DOUBT:
        return None
    first, second = (_power(row, changed) for row in steps[:2])
    many = changed * (rel + (2 * wide + 6) * U)
    witness = {
        "analysis": "several-dataset",
        "x0": inputs[0],
        "x1": inputs[1],
        "x2": inputs[2],
        "changed": changed,
    }
    others = Sum(steps[2], n - changed, rel)
    return DataSet(first, second, others, math.expm1(many) + 4 * U, witness)


def _scores(mass: Array, wide: int) -> Any:
    """A whole number for each class: about in proportion to (P - Q)/R, or its sign."""
    difference = mass[0] - mass[1]
    # Equal numbers that were rounded otherwise speak for neither.
    difference = np.where(np.abs(difference) > _EQUAL * mass[:2].max(axis=0), difference, 0.0)
    if wide == 1:
        return np.sign(difference).astype(int)
    ratio = difference / np.maximum(mass[2], 1e-300)
    order = np.argsort(np.abs(ratio))
    weight = np.cumsum(mass.max(axis=0)[order][::-1])[::-1]
    common = np.abs(ratio)[order][weight >= _RARE * weight[0]]
    scale = float(common.max()) if common.size else 0.0
    if not scale > 0.0:
        return np.sign(difference).astype(int)
    return np.clip(np.rint(ratio / scale * wide), -wide, wide).astype(int)


def _power(law: Array, times: int) -> Array:
    """Law of the sum of so many."""
    found = law
    for _ in range(times - 1):
        found = np.convolve(found, law)
    return found
