"""Extremal mechanisms: every output is e^eps0 times likelier under some inputs than others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.bits import Bits, Matrix, bits_between
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.errors import rejected
from shuffledp.mechanism.parameters import LocalEpsilon, Made
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.channel import LARGEST_ROWS, all_listed, entries_of
from shuffledp.randomizers.frequency import HitOrMiss, Sizes, UniformOrOwn, histogram
from shuffledp.randomness import RandomSource
from shuffledp.theorems import LEAST_COMMON


@dataclass(frozen=True, kw_only=True, repr=False)
class Extremal(HitOrMiss, UniformOrOwn):
    """Extremal mechanism: R_x(y) = (e^eps0 if pattern[x][y] = 1 else 1)/Z.

    Z = e^eps0 h + m - h with m outputs, h of them favoured by each input. Mechanisms of this form
    are optimal for every sublinear utility (an f-divergence or the mutual information), and for two
    inputs binary randomized response is, at every eps0: its pattern is ((1, 0), (0, 1)). An output
    that should weigh k times as much as another is given k times. The blanket is 1/Z, but e^eps0/Z
    on outputs that all inputs favour. Reports are outputs, in the smallest unsigned type.

    Parameters
    ----------
    pattern : sequence of sequences of 0 and 1
        Rows are inputs (2 to 1000), columns outputs; the same number of ones in all rows.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Kairouz, Oh, Viswanath 2016 ("staircase" patterns). Frequencies have the simple estimator where
    each two inputs favour equally many outputs in common, as in any block design.
    """

    name: ClassVar[str] = "extremal"
    summary: ClassVar[str] = "extremal mechanism, by its pattern of zeros and ones"
    pattern: _Pattern
    eps0: LocalEpsilon

    def __post_init__(self) -> None:
        super().__post_init__()
        matrix = np.array(self.pattern, dtype=bool)
        matrix.setflags(write=False)
        object.__setattr__(self, "_matrix", matrix)

    @classmethod
    def binary(cls, *, inputs: int, subset: ArrayLike, eps0: float) -> Extremal:
        """The binary mechanism: which side of a subset the input is on, by randomized response.

        Parameters
        ----------
        inputs : int
            Number of inputs.
        subset : array_like of int
            Inputs that favour output 1; the others favour output 0.
        eps0 : float
            Local privacy in nats.
        """
        count = _check.count("inputs", inputs, low=2, high=LARGEST_ROWS)
        inside = {_check.count("subset", x, low=0, high=count - 1) for x in np.ravel(subset)}
        if not 0 < len(inside) < count:
            raise rejected("subset", sorted(inside), "some of the inputs, not all")
        rows = tuple((0, 1) if x in inside else (1, 0) for x in range(count))
        return cls(pattern=rows, eps0=eps0)

    @property
    def matrix(self) -> np.ndarray:
        """The pattern, shape (inputs, outputs)."""
        return self.__dict__["_matrix"]

    @property
    def items(self) -> int:
        """Number of inputs."""
        return len(self.pattern)

    @property
    def outputs(self) -> int:
        """m."""
        return len(self.pattern[0])

    @property
    def favoured(self) -> int:
        """h: outputs that an input favours."""
        return sum(self.pattern[0])

    @property
    def sizes(self) -> Sizes:
        """m, h, and how many outputs any two inputs favour in common, if these are equally many."""
        common = set(self._common()[~np.eye(self.items, dtype=bool)].tolist())
        both = common.pop() if len(common) == 1 else None
        return Sizes(self.outputs, self.favoured, None if both == self.favoured else both)

    def _common(self) -> np.ndarray:
        matrix = self.matrix.astype(np.int64)
        return matrix @ matrix.T

    # ----------------------------------------------------------------------------- running it

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        favoured = np.array([np.flatnonzero(row) for row in self.matrix])
        return favoured[values, source.below(self.favoured, len(values))]

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        counts = self.matrix.astype(np.int64) @ histogram(reports, self.outputs)
        return counts if items is None else counts[items]

    # -------------------------------------------------------------------------------- its law

    def worst_pairs(self) -> WorstPairs:
        """A pair that favours as few outputs in common as any; exchanged, the law is the same."""
        common = self._common()
        np.fill_diagonal(common, self.favoured + 1)
        x0, x1 = (int(x) for x in np.unravel_index(int(common.argmin()), common.shape))
        return WorstPairs(((x0, x1),), LEAST_COMMON)

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], int]:
        """Outputs by which of the inputs they are favoured."""
        return Counter(tuple(column) for column in self.matrix[list(inputs)].T.tolist())

    def hit_by_all(self) -> int:
        """Outputs that all inputs favour."""
        return int(self.matrix.all(axis=0).sum())

    def others(self) -> Others | None:
        """All inputs, with all ordered pairs: every input gives every output."""
        return all_listed(self.items, everywhere=True)

    def one_bit(self) -> Bits | None:
        """Of two outputs, each favoured by somebody."""
        if self.outputs != 2 or set(self.pattern) != {(0, 1), (1, 0)}:
            return None
        low, high = self.pattern.index((1, 0)), self.pattern.index((0, 1))
        return bits_between(self.eps0, low, high)

    def output_matrix(self) -> Matrix:
        """e^eps0 where the pattern has a 1."""

        def weights() -> list[list[arb]]:
            grow = arb(self.eps0).exp()
            return [[grow if hit else arb(1) for hit in row] for row in self.pattern]

        return Matrix(self.items, self.outputs, weights)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """The pair with the least in common; all others hold each of the inputs, up to 100."""
        ((x0, x1),) = self.worst_pairs().pairs
        others = dict.fromkeys([x0, x1, *range(min(self.items, 100))])
        return tuple((x0, x1, x2) for x2 in others)


def _checked_pattern(pattern: Any) -> tuple[tuple[int, ...], ...]:
    wanted = "rows of zeros and ones, at least 2, with the same number of ones in each"
    array = entries_of("pattern", pattern, wanted)
    if not bool(((array == 0.0) | (array == 1.0)).all()):
        raise rejected("pattern", pattern, wanted)
    ones = array.sum(axis=1)
    if not bool((ones == ones[0]).all()):
        raise rejected("ones in each row of pattern", ones.astype(int).tolist(), "equal numbers")
    if not 0 < ones[0] < array.shape[1]:
        raise rejected("ones in each row of pattern", int(ones[0]), "some of the outputs, not all")
    return tuple(tuple(int(v) for v in row) for row in array)


_Pattern = Annotated[tuple[tuple[int, ...], ...], Made(_checked_pattern)]
