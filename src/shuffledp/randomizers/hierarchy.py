"""Hierarchy: range queries by a tree, each user reporting at one level of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.outputs import Law, check_inputs
from shuffledp.ball.record import Masses, Others, WorstPairs
from shuffledp.errors import rejected
from shuffledp.mechanism.base import mechanism_class
from shuffledp.mechanism.parameters import LocalEpsilon, one_of, parameters_of, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.composed import Options
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.randomizers.joint import masses_beside
from shuffledp.randomizers.one_of import Mixture, words_of
from shuffledp.randomizers.values import whole_values
from shuffledp.statistics.estimates import Aggregate, parts_of
from shuffledp.theorems import JOINT_PAIRS, PART_TRIPLES
from shuffledp.values.described import ByContent

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Tree:
    """Leaves 0 .. domain-1, ``branching`` children a node (fewer at the right edge), no root.

    Attributes
    ----------
    widths : tuple of int
        Leaves under a node of each level, top level first; the last is 1.
    sizes : tuple of int
        Nodes of each level; the first is at least 2.
    """

    domain: int
    branching: int
    widths: tuple[int, ...] = field(init=False)
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        widths = [1]
        while widths[-1] * self.branching < self.domain:
            widths.append(widths[-1] * self.branching)
        object.__setattr__(self, "widths", tuple(reversed(widths)))
        object.__setattr__(self, "sizes", tuple(-(-self.domain // w) for w in self.widths))

    def consistent(self, levels: Sequence[Floats], variances: Floats) -> Floats:
        """Leaves of the consistent tree nearest to the estimates (Hay et al. 2010, weighted).

        Least squares with independent errors of the given variance at each level, under the
        constraints that parents are the sums of their children and the top level sums to one.
        """
        gains = _Gains(self, variances)
        z = [level.astype(np.float64) for level in levels]
        for level in range(len(z) - 2, -1, -1):
            below = self._summed(z[level + 1], level)
            z[level] = gains.own[level] * z[level] + gains.below[level] * below
        x = z[0] + gains.part[0] * (1.0 - z[0].sum())
        for level in range(1, len(z)):
            rest = x - self._summed(z[level], level - 1)
            x = z[level] + gains.part[level] * rest[self._parents(level)]
        return x

    def coefficients(self, target: Floats, variances: Floats) -> list[Floats]:
        """c_l with target . consistent(levels) = c_0 + sum_l c_l . levels_l.

        Weighted least squares with the constraint are an affine map, whose linear part is C A' W: C
        is a matrix, A sums leaves up to nodes, W divides by the variances. So c = W A C target, and
        C target is that part at levels z with A' W z = target: at the leaves alone.
        """
        nothing = [np.zeros(size) for size in self.sizes]
        leaves = [*nothing[:-1], variances[-1] * target]
        moved = self.consistent(leaves, variances) - self.consistent(nothing, variances)
        return [
            np.add.reduceat(moved, np.arange(0, self.domain, width)) / variance
            for width, variance in zip(self.widths, variances, strict=True)
        ]

    def _parents(self, level: int) -> npt.NDArray[np.intp]:
        """Parent of each node of a level, as a place in the level above."""
        return np.arange(self.sizes[level]) // self.branching

    def _summed(self, children: Floats, level: int) -> Floats:
        """Sums over the children of the nodes of a level."""
        return np.add.reduceat(children, np.arange(self.sizes[level]) * self.branching)


class _Gains:
    """Weights of the two passes: bottom up (own estimate against children), top down (shares)."""

    def __init__(self, tree: Tree, variances: Floats) -> None:
        last = len(tree.sizes) - 1
        spread = [np.zeros(0)] * (last + 1)
        spread[last] = np.full(tree.sizes[last], variances[last])
        self.own: list[Floats] = [np.ones(0)] * (last + 1)
        self.below: list[Floats] = [np.ones(0)] * (last + 1)
        self.part: list[Floats] = [np.ones(0)] * (last + 1)
        for level in range(last - 1, -1, -1):
            below = tree._summed(spread[level + 1], level)  # noqa: SLF001
            own = variances[level]
            self.own[level], self.below[level] = below / (own + below), own / (own + below)
            spread[level] = own * below / (own + below)
            self.part[level + 1] = spread[level + 1] / below[tree._parents(level + 1)]  # noqa: SLF001
        self.part[0] = spread[0] / spread[0].sum()


# Mechanisms whose supports of three different items are independent, or exclude each other.
BASES = ("k-rr", "rappor", "oue", "blh", "olh")
_LARGEST_DOMAIN = 1 << 24


class RangeEstimate(NamedTuple):
    """Share of the users in a range, and its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class Hierarchy(Mixture):
    """Range queries: each user reports the node of one level of a tree, the level drawn uniformly.

    The domain 0 .. domain-1 is the leaves of a tree with ``branching`` children a node; level l has
    the nodes x // branching^(L - l), and a frequency mechanism of their number: a ``Parallel``
    over the levels, whose worst pair is any two values in different nodes of the top level.

    A range is a sum of few nodes; ``estimate(...).range(low, high)`` adds them up after making the
    tree consistent (parents are the sums of their children, the top adds up to one) by weighted
    least squares. Standard errors are exact given how many users drew each level.

    Parameters
    ----------
    domain : int
        Number of values, 2 <= domain <= 2^24.
    eps0 : float
        Local privacy of a report in nats, 1e-9 <= eps0 <= 300.
    branching : int
        Children of a node, >= 2.
    base : {"k-rr", "rappor", "oue", "blh", "olh"}
        The mechanism of every level.

    Notes
    -----
    Wang et al. 2024, section 6 (hierarchical range queries as a parallel composition); Hay,
    Rastogi, Miklau, Suciu 2010 (consistency).
    """

    name: ClassVar[str] = "hierarchy"
    summary: ClassVar[str] = "range queries by a tree, each user at one level"
    domain: Annotated[int, whole(low=2, high=_LARGEST_DOMAIN)]
    eps0: LocalEpsilon
    branching: Annotated[int, whole(low=2)] = 4
    base: Annotated[str, one_of(BASES)] = "oue"

    def __post_init__(self) -> None:
        super().__post_init__()
        tree = Tree(self.domain, self.branching)
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "_levels", tuple(self._level(size) for size in tree.sizes))
        object.__setattr__(self, "_words", words_of([1.0] * len(tree.sizes)))

    def _level(self, size: int) -> FrequencyRandomizer:
        cls: Any = mechanism_class(self.base)
        # All of the bases are made of a domain's size and eps0.
        name = next(one.name for one in parameters_of(cls) if one.name != "eps0")
        return cls(**{name: size, "eps0": self.eps0})

    @property
    def tree(self) -> Tree:
        """The tree over the domain."""
        return self.__dict__["_tree"]

    @property
    def randomizers(self) -> tuple[FrequencyRandomizer, ...]:  # type: ignore[override]
        """The mechanisms of the levels, top level first."""
        return self.__dict__["_levels"]

    def part_inputs(self, x: Any) -> tuple[int, ...]:
        """The node of each level that holds the value."""
        value = _check.count("input", x, low=0, high=self.domain - 1)
        return tuple(value // width for width in self.tree.widths)

    def worst_pairs(self) -> WorstPairs:
        """The first and the last value: different nodes at every level."""
        return WorstPairs(((0, self.domain - 1),), JOINT_PAIRS)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """The node of one level, and which level."""
        check_inputs(inputs, self.domain)
        return super().output_law(inputs)

    def others(self) -> Others:
        """Values in different nodes of all levels."""
        return Others("parts", PART_TRIPLES, self.worst_pairs().pairs, labels=self._labels)

    def _labels(self) -> Iterator[list[Masses]]:
        """A third value leaves one of the two at some level; of two nodes there is no third."""
        sizes = self.tree.sizes
        for depth, own in itertools.product(range(len(sizes) + 1), (0, 1)):
            row = [own] * depth + [2] * (len(sizes) - depth)
            if all(x < size for x, size in zip(row, sizes, strict=True)):
                yield masses_beside(self.randomizers, self.shares, row)

    def options(self) -> Options:
        """By the symmetry of every level."""
        return Options(((0, self.domain - 1),), ((0, 0),), covered=True)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others with the first value, the last, or one in a third node at every level it can.

        With two nodes at the top that is a value in a third node of the second level.
        """
        others = [0, self.domain - 1]
        level = 0 if self.tree.sizes[0] > 2 else 1
        if level < len(self.tree.sizes):
            others.append(self.tree.widths[level])
        return tuple((0, self.domain - 1, x2) for x2 in others)

    # ------------------------------------------------------------------------- running it

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.domain)

    def _columns(self, values: np.ndarray) -> list[np.ndarray]:
        wide = values.astype(np.int64)
        return [
            part._checked(wide // width)  # noqa: SLF001
            for part, width in zip(self.randomizers, self.tree.widths, strict=True)
        ]

    def estimate(self, data: Reports | Aggregate) -> HierarchyEstimate:  # type: ignore[override]
        """Every level's frequencies, from which ranges are estimated.

        Raises
        ------
        ParameterError
            If nobody drew one of the levels.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        parts = parts_of(sums, len(self.randomizers))
        for level, part in enumerate(parts):
            if part.count == 0:
                raise rejected(f"reports of level {level + 1}", 0, "at least one at every level")
        found = [r.estimate(part) for r, part in zip(self.randomizers, parts, strict=True)]
        return HierarchyEstimate(
            mechanism=self,
            levels=tuple(one.frequencies for one in found),
            counts=tuple(part.count for part in parts),
        )

    def range_variance(
        self, low: int, high: int, *, frequencies: ArrayLike, counts: tuple[int, ...]
    ) -> float:
        """Exact variance of the estimate of a range, given how many users drew each level.

        Over the mechanisms' coins and over who drew which level (a simple random allocation).

        Parameters
        ----------
        low, high : int
            The range low .. high - 1.
        frequencies : array_like, shape (domain,)
            Of the users' values.
        counts : tuple of int
            Users of each level.

        Notes
        -----
        The estimate is sum_l mean over the users of level l of sum_v c_lv Z_v. With y_l(x) = the
        coefficient of the node of x and S^2 the variance over users times n/(n-1), the allocation
        gives sum_l S^2(y_l)/n_l - S^2(sum_l y_l)/n; the coins give each level's noise over n_l.
        """
        low, high = self.checked_range(low, high)
        target = np.zeros(self.domain)
        target[low:high] = 1.0
        c = self.tree.coefficients(target, self.level_variances(counts))
        f = np.asarray(frequencies, dtype=np.float64)
        if f.shape != (self.domain,):
            raise rejected("frequencies shape", f.shape, f"({self.domain},)")
        n = sum(counts)
        total, noise, spread = np.zeros(self.domain), 0.0, 0.0
        leaves = np.arange(self.domain)
        for part, width, own, count in zip(
            self.randomizers, self.tree.widths, c, counts, strict=True
        ):
            y = own[leaves // width]
            noise += _noise(part, own, y, f) / count
            spread += _spread(y, f, n) / count
            total += y
        return noise + spread - _spread(total, f, n) / n

    def checked_range(self, low: int, high: int) -> tuple[int, int]:
        """The ends of a range, 0 <= low <= high <= domain, or ParameterError."""
        low = _check.count("low", low, low=0, high=self.domain)
        return low, _check.count("high", high, low=low, high=self.domain)

    def level_variances(self, counts: tuple[int, ...]) -> Floats:
        """Weights of the least squares: each level's noise at frequency 0."""
        return np.array([r.variance() / k for r, k in zip(self.randomizers, counts, strict=True)])

    def variance(self, frequency: float = 0.0) -> float:
        """Variance of one value by its own level alone; see ``range_variance`` for ranges."""
        return self.variances(frequency)[-1]


@dataclass(frozen=True, eq=False, repr=False)
class HierarchyEstimate(ByContent):
    """What a ``Hierarchy``'s reports say.

    Attributes
    ----------
    mechanism : Hierarchy
        What made them.
    levels : tuple of ndarray
        Unbiased frequencies of the nodes of each level, top level first.
    counts : tuple of int
        Users who drew each level.
    """

    mechanism: Hierarchy
    levels: tuple[Floats, ...]
    counts: tuple[int, ...]

    @property
    def n(self) -> int:
        """Users."""
        return sum(self.counts)

    def frequencies(self) -> Floats:
        """Unbiased frequencies of all values, the tree made consistent, shape (domain,)."""
        weights = self.mechanism.level_variances(self.counts)
        return self.mechanism.tree.consistent(list(self.levels), weights)

    def range(self, low: int, high: int) -> RangeEstimate:
        """Share of the users with values low .. high - 1, unbiased, from the consistent tree.

        Parameters
        ----------
        low, high : int
            0 <= low <= high <= domain.
        """
        low, high = self.mechanism.checked_range(low, high)
        found = self.frequencies()
        share = np.clip(found, 0.0, None)
        total = float(share.sum())
        share = share / total if total > 0.0 else np.full_like(share, 1.0 / share.size)
        variance = self.mechanism.range_variance(low, high, frequencies=share, counts=self.counts)
        return RangeEstimate(float(found[low:high].sum()), math.sqrt(max(variance, 0.0)))


def _spread(y: Floats, f: Floats, n: int) -> float:
    """S^2 of y over users with these frequencies of values."""
    if n < 2:
        return 0.0
    mean = float(f @ y)
    return float(f @ (y - mean) ** 2) * n / (n - 1)


def _noise(part: FrequencyRandomizer, c: Floats, y: Floats, f: Floats) -> float:
    """Mean over users of Var(sum_v c_v Z_v | x), Z_v = (1{v supported} - q*)/(p* - q*).

    Supports of different items are uncorrelated, but in k-RR, where they exclude each other.
    """
    rates = part.support
    own, other = rates.own * rates.own_miss, rates.other * rates.other_miss
    sum_c, squares = float(c.sum()), float(c @ c)
    first, second = float(f @ y), float(f @ (y * y))
    total = second * own + (squares * float(f.sum()) - second) * other
    if part.name == "k-rr":
        beside = sum_c * first - second
        rest = float(f.sum()) * (sum_c**2 - squares) - 2.0 * beside
        total -= 2.0 * beside * rates.own * rates.other + rest * rates.other**2
    return total / rates.gap**2
