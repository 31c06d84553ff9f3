"""Hadamard response, in one block of columns or in several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import WorstPairs
from shuffledp.mechanism.parameters import Domain, LocalEpsilon, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import (
    HitOrMiss,
    Sizes,
    UniformOrOwn,
    counted,
    histogram,
    orthogonal,
)
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Counts, Step
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate
from shuffledp.theorems import HADAMARD_PAIRS, OTHER_BLOCK, SYMMETRIC_PAIRS
from shuffledp.values.described import ByContent

# Counts of noise from which a normal law serves: the tail of a symmetric one at z is off by
# z^4/24 times the kurtosis, about 1/counts: 5 % of it at z = 4.
_MANY = 200.0
# Share of a limit's probability that is spent on how many users have an item of the block.
_FOR_THE_BLOCK = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class InBlocks(ByContent):
    """Even less odd reports of a block, where others have items of the same block.

    Attributes
    ----------
    signed : ndarray, shape (K,)
        Even less odd reports of each item.
    block : Counts
        All reports of its block.
    own, far : Step
        Of a holder, and of a user with an item of another block.
    """

    signed: np.ndarray
    block: Counts
    own: Step
    far: Step

    @property
    def noise(self) -> float:
        """Reports of the block that come from elsewhere."""
        return self.block.noise

    def ends(self, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits whatever number of users shares the block, of those its reports leave open."""
        n, left = self.block.total, (1.0 - _FOR_THE_BLOCK) * tail
        _, most = self.block.ends(_FOR_THE_BLOCK * tail)
        table = np.stack([self.signed, np.round(most * n)])
        distinct, places = np.unique(table, axis=1, return_inverse=True)
        signed, inside = distinct
        laws = [self._law(signed, np.maximum(inside - fewer, 0.0)) for fewer in (0.0, 1.0)]
        lows, highs = zip(*(law.holders(left) for law in laws), strict=True)
        places = places.reshape(-1)
        return np.minimum(*lows)[places] / n, np.maximum(*highs)[places] / n

    @property
    def _same(self) -> Step:
        """The step of a user with another item of the block."""
        half = 0.5 * (self.own.up + self.own.down)
        return Step(half, self.own.stay, half)

    def _law(self, signed: np.ndarray, inside: np.ndarray) -> Counts:
        n = self.block.total
        return Counts(signed, inside, n, self.own, self._same, ((n - inside, self.far),))


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(HitOrMiss, UniformOrOwn):
    """Hadamard response: R_x(y) proportional to e^eps0 on half a block of columns, to 1 elsewhere.

    Outputs are K columns in B blocks of 2s, a power of two; input x has block x mod B and row
    r = floor(x/B) + 1 of the Sylvester matrix, and R_x(y) = (e^eps0 if y is in the block and
    popcount(r & column) is even else 1) / Z, Z = s e^eps0 + K - s. The blanket is uniform, 1/Z; but
    with B = 1 column 0 is common to all inputs, and no other column is. Reports are columns, in the
    smallest unsigned type.

    Parameters
    ----------
    domain : int
        Number of inputs, 2 <= domain <= 1e9.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    blocks : int
        B, 1 <= B <= domain; least variance near B = e^eps0.

    Notes
    -----
    Acharya, Sun, Zhang 2019, sections 3 and 4; exact for finite domains.
    """

    name: ClassVar[str] = "hadamard-response"
    aliases: ClassVar[tuple[str, ...]] = ("hadamard", "hr")
    summary: ClassVar[str] = "Hadamard response, in B blocks"
    domain: Domain
    eps0: LocalEpsilon
    blocks: Annotated[int, whole(high=lambda m: m.domain)] = 1

    @property
    def half_block(self) -> int:
        """s: half the smallest power of two above the number of inputs of a block."""
        return 1 << (-(-self.domain // self.blocks)).bit_length() - 1

    @property
    def columns(self) -> int:
        """K: number of outputs."""
        return 2 * self.half_block * self.blocks

    @property
    def sizes(self) -> Sizes:
        """Columns and half a block; items of one block share half of that, of two blocks none."""
        both = Fraction(self.half_block, 2) if self.blocks == 1 else None
        return Sizes(self.columns, self.half_block, both)

    @property
    def even_block(self) -> float:
        """b of ``variance`` at uniform values, its mean over the items.

        The sum of the squares of the blocks' shares of the domain. Where B divides the domain it is
        1/B, and so is the mean over the items for any data.
        """
        least, longer = divmod(self.domain, self.blocks)
        pairs = longer * (least + 1) ** 2 + (self.blocks - longer) * least**2
        return pairs / self.domain**2

    # ------------------------------------------------------------------------------- the law

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], int]:
        """Columns by the inputs whose block and row they are even in."""
        size, held = 2 * self.half_block, {x % self.blocks for x in inputs}
        counts: dict[tuple[bool, ...], int] = {}
        for block in held:
            inside = [x % self.blocks == block for x in inputs]
            # The parity of r & y is the product of their bits over the field of two elements.
            rows = [x // self.blocks + 1 for x in inputs if x % self.blocks == block]
            bits = [[r >> b & 1 for b in range(size.bit_length() - 1)] for r in rows]
            for parities, count in orthogonal(bits, 2).items():
                even = iter(parities)
                hits = tuple(here and next(even) for here in inside)
                counts[hits] = counts.get(hits, 0) + count
        nobody = tuple(False for _ in inputs)
        counts[nobody] = counts.get(nobody, 0) + (self.blocks - len(held)) * size
        return counts

    def hit_by_all(self) -> int:
        """Column 0 with one block; with several blocks some input misses every column.

        Rows 1, 2, 4, .. are all in use, and a column that they all hit has no bit set.
        """
        return int(self.blocks == 1)

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): with B = 1 or B = domain all pairs are alike, else two blocks are worst.

        With a block for each input, exchanging blocks is a symmetry; with one block that all pairs
        are alike is a theorem.
        """
        known = {self.domain: SYMMETRIC_PAIRS, 1: HADAMARD_PAIRS}
        return WorstPairs(((0, 1),), known.get(self.blocks, OTHER_BLOCK))

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """x2 = x0, x1, in other blocks, in the same block, rows independent of theirs or not."""
        others = {0, 1, 2, 3, self.blocks, self.blocks + 1, 2 * self.blocks}
        return tuple((0, 1, x2) for x2 in sorted(others) if x2 < self.domain)

    # ----------------------------------------------------------------------------- running it

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """Half of a block from all of it: one bit of the row turns odd parity into even."""
        size, x = 2 * self.half_block, values.astype(np.int64)
        rows, column = x // self.blocks + 1, source.below(size, len(x))
        column ^= np.where(_odd(rows & column), rows & -rows, 0)
        return x % self.blocks * size + column

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        """For each item: reports in its block with even parity less those with odd; all of them."""
        size = 2 * self.half_block
        if items is not None:
            block, column = np.divmod(reports.astype(np.int64), size)
            chosen = items.astype(np.int64)
            sums = np.zeros((2, len(chosen)))
            for i, (b, r) in enumerate(
                zip(chosen % self.blocks, chosen // self.blocks + 1, strict=True)
            ):
                inside = column[block == b]
                sums[:, i] = len(inside) - 2 * np.count_nonzero(_odd(inside & r)), len(inside)
            return sums
        counts = histogram(reports, self.columns).reshape(self.blocks, size)
        rows = np.arange(1, -(-self.domain // self.blocks) + 1)
        signed = _walsh_hadamard(counts)[:, rows].T.ravel()[: self.domain]
        whole = np.tile(counts.sum(axis=1), len(rows))[: self.domain]
        return np.stack([signed, whole])

    def aggregate(self, reports: Reports, *, items: ArrayLike | None = None) -> Aggregate:
        """For each item: reports in its block with even parity less those with odd; all of them.

        ``sums`` has shape (2, items).
        """
        return super().aggregate(reports, items=items)

    def estimate(self, data: Reports | Aggregate) -> FrequencyEstimate:
        """Z/(s (e^eps0 - 1)) times (even - odd)/n, with standard errors at the estimates.

        Raises
        ------
        ParameterError
            If there are no reports.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        n = counted(sums, (2, None))
        total, gain = self._total(), math.expm1(self.eps0)
        signed, whole = sums.sums / n
        frequencies = signed * (total / gain)
        share = np.clip(frequencies, 0.0, 1.0)
        block = np.clip((whole * total - 2.0) / gain, share, 1.0)
        errors = np.sqrt(self._block_variances(share, block) / n)
        law = self._law(sums.sums, n)
        return FrequencyEstimate(frequencies, errors, n, law)

    def _law(self, sums: np.ndarray, n: int) -> Counts | InBlocks | None:
        """The law of even less odd reports: exact with one block or a block for each item.

        Else it depends on how many users have an item of the same block, which the law takes from
        the reports. With many counts a normal law does as well: the noise is symmetric.
        """
        signed, whole = sums
        grow, total = math.exp(self.eps0), self._total()
        if self.blocks == 1:
            rates = Step(grow / total, 1.0 / total), Step(0.5, 0.5)
            return Counts(0.5 * (signed + n), np.full(signed.shape, float(n)), n, *rates)
        if 2.0 * n / total >= _MANY:
            return None
        rest = (2.0 * self.blocks - 2.0) / total
        own = Step(grow / total, rest, 1.0 / total)
        far = Step(1.0 / total, 1.0 - 2.0 / total, 1.0 / total)
        if self.blocks == self.domain:
            return Counts(signed, np.full(signed.shape, float(n)), n, own, far)
        inside = Step((grow + 1.0) / total, rest), Step(2.0 / total, 1.0 - 2.0 / total)
        return InBlocks(signed, Counts(whole, np.full(whole.shape, float(n)), n, *inside), own, far)

    def variance(self, frequency: float = 0.0, *, block: float = 1.0) -> float:
        """V_own f + V_same (b - f) + V_other (1 - b), per user; with t = Z/s = e^eps0 + 2B - 1.

        V_same = (e^eps0 + 1) t/(e^eps0 - 1)^2 is for users with another item of the same block,
        V_own = V_same - 1, V_other = 2t/(e^eps0 - 1)^2 for users in other blocks.

        Parameters
        ----------
        frequency : float
            f, the item's frequency.
        block : float
            b, frequency of all items of its block, f <= b <= 1; all users by default, the worst.
        """
        f = _check.real("frequency", frequency, low=0.0, high=1.0)
        share = _check.real("block", block, low=f, high=1.0)
        return float(self._block_variances(f, share))

    def _total(self) -> float:
        return math.exp(self.eps0) + (2 * self.blocks - 1)

    def _block_variances(self, share: Any, block: Any) -> Any:
        grow, gain = math.exp(self.eps0), math.expm1(self.eps0)
        # V_same - 1, the squares of e^eps0 cancelled by hand.
        own = ((2 * self.blocks + 2) * grow + (2 * self.blocks - 2)) / gain / gain
        same = (grow + 1.0) / gain * (self._total() / gain)
        # With one block nobody is elsewhere.
        other = same if self.blocks == 1 else 2.0 * self._total() / gain / gain
        return share * own + (block - share) * same + (1.0 - block) * other


def _odd(x: np.ndarray) -> np.ndarray:
    """Parity of the number of ones, for numbers below 2^32."""
    for shift in (16, 8, 4, 2, 1):
        x = x ^ (x >> shift)
    return (x & 1).astype(bool)


def _walsh_hadamard(counts: np.ndarray) -> np.ndarray:
    """Rows times the Sylvester matrix, in integers."""
    size = counts.shape[1]
    half = 1
    while half < size:
        pairs = counts.reshape(len(counts), -1, 2, half)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        counts = np.stack([low + high, low - high], axis=2).reshape(len(counts), size)
        half *= 2
    return counts
