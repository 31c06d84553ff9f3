"""A program without a declared law: lower confidence bounds by sample splitting.

The event is chosen on one half of the reports and counted on the other half, so that its limits
hold whatever the choice was (docs/theory-audit.md, section 6).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audit.limits import Ratio
from shuffledp.errors import rejected

Labels = npt.NDArray[np.integer]
Ends = npt.NDArray[np.floating]

# Outputs that are told apart: a category of its own each; of numbers cells between quantiles.
_MOST_CATEGORIES = 512
_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Unknown:
    """Lower confidence bounds for a program of which nothing is declared.

    Attributes
    ----------
    pair : tuple
        The two values.
    alpha : float
        All bounds hold together with probability at least 1 - alpha.
    epsilon : float
        Lower bound of eps0.
    delta : tuple of (eps, delta)
        Lower bound of delta at each eps that was asked for.
    event : str
        The event that bounds eps0.
    """

    pair: tuple[Any, Any]
    alpha: float
    epsilon: float
    delta: tuple[tuple[float, float], ...]
    event: str


def unknown(
    program: Callable[[Any], Any],
    pair: tuple[Any, Any],
    *,
    reports: int,
    alpha: float = 0.05,
    epsilons: Sequence[float] = (),
) -> Unknown:
    """Bound eps0 of a program from below, and delta at given eps, in the direction given first.

    Parameters
    ----------
    program : callable
        An array of values -> as many reports: numbers, or rows of them.
    pair : tuple
        Two values; the bound is on P(.|first) against P(.|second), the better direction.
    reports : int
        For each of the two values; half of them choose the event.
    alpha : float
        One minus the confidence.
    epsilons : sequence of float
        Where delta is bounded.
    """
    n = _check.count("reports", reports, low=100, high=10**9)
    level = _check.open_unit("alpha", alpha)
    wanted = [_check.epsilon("epsilons", e) for e in epsilons]
    found = [_asked(program, value, n) for value in pair]
    half = n // 2
    categories = _categories([rows[:half] for rows in found])
    cells = len(categories.names)
    first = [np.bincount(categories.of(rows[:half]), minlength=cells) for rows in found]
    second = [np.bincount(categories.of(rows[half:]), minlength=cells) for rows in found]
    each = level / (1 + len(wanted))
    choices = [_best(first, half, each, i) for i in (0, 1)]
    way = max((0, 1), key=lambda i: choices[i][0])
    _, inside, share = choices[way]
    ratio = _ratio(second, n - half, inside, share, way)
    deltas = []
    for epsilon in wanted:
        event, towards = _for_delta(first, half, epsilon)
        chosen = _ratio(second, n - half, event, 0.5, towards)
        deltas.append((epsilon, chosen.delta(each, epsilon=epsilon)))
    names = [categories.names[c] for c in np.flatnonzero(inside)[:4]]
    more = f" and {int(inside.sum()) - 4} more" if int(inside.sum()) > 4 else ""
    return Unknown(pair, level, ratio.epsilon(each), tuple(deltas), ", ".join(names) + more)


def _asked(program: Callable[[Any], Any], value: Any, n: int) -> Any:
    values = np.array([value] * n)
    rows = np.asarray(program(values))
    if len(rows) != n:
        raise rejected("reports of a call", len(rows), f"{n:,}, one for each value")
    return rows


@dataclass(frozen=True)
class _Categories:
    names: tuple[str, ...]
    of: Callable[[Any], Labels]


def _categories(halves: list[Any]) -> _Categories:
    """Cells from the first halves alone: single outputs, or quantiles of numbers."""
    both = np.concatenate(halves)
    if both.ndim == 1 and both.dtype.kind in "iuf":
        kinds = np.unique(both[np.isfinite(both)] if both.dtype.kind == "f" else both)
        if kinds.size <= _MOST_CATEGORIES:
            return _single(kinds)
        return _quantile(both)
    keys, counts = np.unique(_keys(both), return_counts=True)
    chosen = keys[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]].tolist()
    places = {key: place for place, key in enumerate(chosen)}

    def of(rows: Any) -> Labels:
        found = [places.get(key, len(places)) for key in _keys(np.asarray(rows)).tolist()]
        return np.array(found, dtype=np.int64)

    return _Categories((*(f"output {k}" for k in chosen), "any other output"), of)


def _keys(rows: Any) -> Any:
    """Rows as hexadecimal text, which sorts and compares."""
    return np.array([row.tobytes().hex() for row in rows])


def _single(kinds: Any) -> _Categories:
    def of(rows: Any) -> Labels:
        place = np.minimum(np.searchsorted(kinds, rows), kinds.size - 1)
        return np.where(kinds[place] == rows, place, kinds.size)

    return _Categories((*(f"output {k}" for k in kinds.tolist()), "any other output"), of)


def _quantile(both: Any) -> _Categories:
    tails = np.geomspace(30.0 / both.size, 0.02, 24)
    levels = np.unique(np.concatenate([tails, np.linspace(0.02, 0.98, 97), 1.0 - tails]))
    edges = np.unique(np.quantile(both[np.isfinite(both)], levels))

    def of(rows: Any) -> Labels:
        labels = np.searchsorted(edges, rows, side="left")
        return np.where(np.isfinite(rows), labels, edges.size + 1)

    shown = [f"{e:.6g}" for e in edges.tolist()]
    names = [f"up to {shown[0]}"]
    names += [f"({a}, {b}]" for a, b in itertools.pairwise(shown)]
    return _Categories((*names, f"above {shown[-1]}", "no finite number"), of)


def _best(counts: list[Any], n: int, level: float, way: int) -> tuple[float, Any, float]:
    """The set of cells, by decreasing ratio, with the largest bound on the first half."""
    a, b = counts[way], counts[1 - way]
    order = np.argsort(-(np.log(a + 0.5) - np.log(b + 0.5)), kind="stable")
    best: tuple[float, Any, float] = (-1.0, np.arange(len(a)) == order[0], 0.5)
    tops, bottoms = np.cumsum(a[order]), np.cumsum(b[order])
    for j in range(len(order) - 1):
        for share in _SHARES:
            value = Ratio(int(tops[j]), n, int(bottoms[j]), n, share).epsilon(level)
            if value > best[0]:
                inside = np.zeros(len(order), dtype=bool)
                inside[order[: j + 1]] = True
                best = (value, inside, share)
    return best


def _ratio(counts: list[Any], n: int, inside: Any, share: float, way: int) -> Ratio:
    tops, bottoms = (int(counts[i][inside].sum()) for i in (way, 1 - way))
    return Ratio(tops, n, bottoms, n, share)


def _for_delta(counts: list[Any], n: int, epsilon: float) -> tuple[Any, int]:
    """Cells where the first half's excess P - e^eps Q is positive, in the better direction."""
    grow = math.exp(min(epsilon, 700.0))
    options = []
    for way in (0, 1):
        gain = counts[way] / n - grow * counts[1 - way] / n
        options.append((float(np.maximum(gain, 0.0).sum()), way, gain > 0.0))
    _, way, inside = max(options, key=lambda option: option[0])
    return inside, way
