"""Lower ends for several users: k of them hold x0, or x1, and all others hold x2."""

from __future__ import annotations

from typing import Any

import numpy as np

from shuffledp.arithmetic.balls import arb, total
from shuffledp.ball.noises import check_inputs
from shuffledp.ball.record import Definition
from shuffledp.bounds.line import distinct
from shuffledp.kernel.linear_test import DataSets

__all__ = ["several_laws"]

# Share of the mass of the classes with the largest scores, and with the smallest, that are merged.
_RARE = 1e-4
# log of the probability of outputs beyond a cut, which are merged into one class.
_CUT = -40.0
# Most classes of finite reports; cells of a real report, and reach beyond the inputs in standard
# deviations of normal noise. Twice as many cells improve eps by 1e-4 to 5e-3.
_CLASSES, _CELLS, _REACH = 30, 36, 6.0


def several_laws(mechanism: Definition, inputs: tuple[Any, ...], n: int, changed: int) -> DataSets:
    """Laws of two data sets of n users in which ``changed`` users differ.

    Parameters
    ----------
    mechanism : Definition
        The mechanism that each user runs.
    inputs : tuple
        x0 and x1, the two inputs of those who change, and x2, the input of all others.
    n : int
        Number of messages in the shuffle.
    changed : int
        k, the number of users who change.
    """
    first, second, other = _rows(mechanism, inputs)
    return DataSets(first, second, changed, [(other, n - changed)])


def _rows(mechanism: Definition, inputs: tuple[Any, ...]) -> list[list[arb]]:
    """Probabilities of classes of reports under the three inputs; any map of reports is allowed."""
    noise = mechanism.added_noise()
    if noise is None:
        law = mechanism.cut_law(inputs, _CUT)
        return _merged([[one.probability[i] for one in law] for i in range(3)])
    # For Laplace noise, ratios are constant beyond the inputs.
    reach = arb(0) if noise.shape == 1 else _REACH * noise.scale / arb(2).sqrt()
    low, high = (noise.low - reach).mid(), (noise.high + reach).mid()
    places = check_inputs(noise, inputs)
    edges = [*places, *((low + (high - low) * k / _CELLS).mid() for k in range(_CELLS + 1))]
    left, right = (None, None) if noise.ends is None else noise.ends
    cuts = [left, *distinct([e for e in edges if _between(left, e, right)]), right]
    return [[m / noise.inside(x) for m in noise.masses(x, cuts)] for x in places]


def _merged(rows: list[list[arb]]) -> list[list[arb]]:
    """Merge classes with about the same score (P - Q)/R, and the rarest ones at both ends."""
    if len(rows[0]) <= _CLASSES:
        return rows
    mass = np.array([[float(x.mid()) for x in row] for row in rows])
    weight = mass.max(axis=0)
    score = (mass[0] - mass[1]) / np.maximum(mass.mean(axis=0), 1e-300)
    order = np.argsort(score)
    below = np.cumsum(weight[order]) / weight.sum()
    common = score[order][(below > _RARE) & (below < 1.0 - _RARE)]
    low, high = (common[0], common[-1]) if common.size else (score.min(), score.max())
    place = np.clip((score - low) / max(high - low, 1e-300) * _CLASSES, 0, _CLASSES - 1).astype(int)
    used = sorted(set(place.tolist()))
    return [
        [total(x for x, at in zip(row, place, strict=True) if at == k) for k in used]
        for row in rows
    ]


def _between(left: arb | None, place: arb, right: arb | None) -> bool:
    return bool((left is None or left < place) and (right is None or place < right))
