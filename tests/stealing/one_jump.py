"""Theorem 9.3 of docs/theory-stealing.md as it is printed, in floats, and F by enumeration."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Law = list[tuple[float, float]]


def exact_f(common: Law, laws: Sequence[Law]) -> float:
    """F(c; d) = int_0^1 int (x)_+ c prod_i (u c + d_i) du, by expanding the product."""
    total = 0.0
    marked = [[(m, x, 1) for m, x in common] + [(m, x, 0) for m, x in law] for law in laws]
    first = [(m, x, 0) for m, x in common]
    for (mass, gain, _), *rest in itertools.product(first, *marked):
        weight = mass * math.prod(m for m, _, _ in rest)
        largest = max(gain + sum(x for _, x, _ in rest), 0.0)
        total += weight * largest / (1 + sum(joined for _, _, joined in rest))
    return total


def worst_f(common: Law, types: Sequence[Law], others: int) -> float:
    """The largest F of all data sets with this many others."""
    held = itertools.combinations_with_replacement(types, others)
    return max(exact_f(common, laws) for laws in held)


def random_laws(rng: random.Random) -> tuple[Law, list[Law]]:
    """A reservoir and two or three types with left-over; some gains are large and rare."""
    share = rng.uniform(0.05, 0.5)
    common = [(0.9 * share, -1.0), (0.1 * share, rng.uniform(0.0, 6.0))]
    types = []
    for _ in range(rng.randint(2, 3)):
        rare = rng.choice([0.0, 0.002, 0.02, 0.1])
        parts = [0.7, 0.2, rare]
        scale = rng.uniform(0.7, 1.0) * (1.0 - share) / sum(parts)
        gains = [-rng.uniform(0.3, 2.0), rng.uniform(0.0, 1.0), rng.uniform(2.0, 9.0)]
        law = [(scale * m, x) for m, x in zip(parts, gains, strict=True)]
        types.append([*law, (1.0 - share - sum(m for m, _ in law), 0.0)])
    return common, types


def sum_of(common: Law, law: Law, n: int, alpha: float, h: float) -> float:
    """min of Chernoff's bound and of ((c0 + d0)^n/n) (1/2 pi) int psi^n w dt, at smoothing h."""
    both = np.array([(m * math.exp(alpha * x), x) for m, x in common])
    label = np.array([(m * math.exp(alpha * x), x) for m, x in law])
    c0, d0 = both[:, 0].sum(), label[:, 0].sum()
    widest = max(abs(x) for _, x in (*common, *law))
    step = 0.05 * min(alpha, 1.0 / (widest * math.sqrt(n)))
    t = np.arange(0.0, 6.0 / h, step)
    square = [
        np.abs(np.exp(1j * np.outer(t, one[:, 1])) @ one[:, 0]) ** 2 / one[:, 0].sum() ** 2
        for one in (both, label)
    ]
    psi = (c0 * (1.0 + square[0]) + d0 * (1.0 + square[1])) / (2.0 * (c0 + d0))
    terms = psi**n * np.exp(0.5 * h * h * (alpha**2 - t * t)) / (alpha**2 + t * t)
    integral = (terms.sum() - 0.5 * terms[0]) * step / math.pi
    return float((c0 + d0) ** n / n * min(integral, 1.0 / (2.0 * alpha)))


class At(NamedTuple):
    """Where the theorem is evaluated: tilts at places, forward and backward; C is the first."""

    places: tuple[tuple[float, float, bool], ...]
    floor: float
    alpha: float
    smoothing: float


class Printed:
    """The theorem for two groups of types, those with the most worth in jumps first."""

    def __init__(self, common: Law, types: Sequence[Law], n: int, at: At, share: float) -> None:
        self.n, self.at, self.cut = n, at, at.places[0][0]
        self.laws = [[(m, max(x, -at.floor)) for m, x in law] for law in (common, *types)]
        worth = [self._over(law) for law in self.laws[1:]]
        first = [i for i, one in enumerate(worth) if one >= share * max(worth)]
        self.groups = [first, [i for i in range(len(types)) if i not in first]]
        self.heights = [self._heights(group) for group in self.groups]

    def _over(self, law: Law) -> float:
        return sum(m * max(x - self.cut, 0.0) for m, x in law)

    def _jumps(self, law: Law) -> Law:
        return [(m, x) for m, x in law if x > self.cut]

    def _heights(self, group: Sequence[int]) -> list[tuple[float, float]]:
        """h at each place: both bounds are those of the first group if that has the least."""
        return [(one[0], self._height(group, *one)) for one in self._chosen()]

    def _chosen(self) -> list[tuple[float, float, bool]]:
        """The place's bound that is the least for the first group."""
        found: dict[float, tuple[float, float, bool]] = {}
        for one in self.at.places:
            old, first = found.get(one[0]), self.groups[0]
            if old is None or self._height(first, *one) < self._height(first, *old):
                found[one[0]] = one
        return [found[x] for x in sorted(found)]

    def _height(self, group: Sequence[int], x: float, tilt: float, forward: bool) -> float:
        cut = [[(m, min(g, self.cut)) for m, g in law] for law in self.laws]
        others, smoothing = self.n - 1, 0.15 / tilt
        if not group:
            return 0.0
        if forward:
            values = [sum_of(cut[0], cut[i + 1], others, tilt, smoothing) for i in group]
            return math.exp(tilt * x) * max(values)
        back = [[(m, -g) for m, g in law] for law in cut]
        values = [sum_of(back[0], back[i + 1], others, tilt, smoothing) for i in group]
        first, *means = (sum(m * g for m, g in law) for law in cut)
        if first > 0.0 or max(means) > 0.0:
            return math.inf
        gone = (1.0 - sum(m for m, _ in cut[0])) ** (others - 1)
        line = x / others + first + (1.0 - gone) * max(means)
        return line + math.exp(-tilt * x) * max(values)

    def _integral(self, law: Law, group: int) -> float:
        """N int h over the jumps, h on chords and beyond the last place on a line."""
        others, values = self.n - 1, self.heights[group]
        xs, hs = ([one[k] for one in values] for k in (0, 1))
        total = 0.0
        for mass, gain in self._jumps(law):
            h = float(np.interp(gain, xs, hs)) + max(gain - xs[-1], 0.0) / others
            total += mass * h
        return others * total

    def value(self) -> float:
        """The bound without what is paid for sure."""
        n, at = self.n, self.at
        silent = [[(m, 0.0 if x > self.cut else x) for m, x in law] for law in self.laws]
        over = self._over(self.laws[0]) + max(self._over(law) for law in self.laws[1:])
        mass = [sum(m for m, _ in self._jumps(law)) for law in self.laws]
        second = (n - 1) * over * (mass[0] + max(mass[1:]))
        sums = [sum_of(silent[0], law, n, at.alpha, at.smoothing) for law in silent[1:]]

        def most(x: int, y: int) -> float:
            return max(sums[i] + self._integral(self.laws[i + 1], y) for i in self.groups[x])

        own = [self._integral(self.laws[0], y) if self.groups[y] else 0.0 for y in (0, 1)]
        some = [x for x in (0, 1) if self.groups[x]]
        brackets = [(most(x, y) + most(y, x) + own[x] + own[y]) / 2 for x in some for y in some]
        return second + max(brackets)
