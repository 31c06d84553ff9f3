"""Sampling RAPPOR: one of a user's s items, as a noisy one-hot vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.errors import rejected
from shuffledp.mechanism import Domain, LocalEpsilon, Whole
from shuffledp.randomizers.base import Reports, WorstPairs
from shuffledp.randomizers.frequency import SETS, FrequencyRandomizer, Support
from shuffledp.randomizers.sets import item_sets
from shuffledp.randomizers.unary import RAPPOR
from shuffledp.randomizers.values import packed_reports
from shuffledp.randomness import RandomSource
from shuffledp.theorems import FEWEST_SHARED

U = UNIT_ROUNDOFF
_LARGEST_SET = 100
# The rarest class of three inputs has log mass -3 s log(1 + w): above what floats can hold.
_DEEPEST = 230.0
# Classes with few zeros outside the sets are told apart down to this log probability, ...
_RAREST = -100.0
# ... and triples of inputs are looked at, as long as there are not too many classes.
_MOST_CLASSES = 60_000


_SetSize = Annotated[int, Whole(high=lambda m: min(m.d - 1, _LARGEST_SET))]


@dataclass(frozen=True, kw_only=True)
class SamplingRAPPOR(FrequencyRandomizer):
    """Sampling RAPPOR: one of the user's s items, uniform, sent through RAPPOR with d bits.

    With w = e^{eps0/2}, R_0 the law of bits that are all set with probability 1/(w + 1), and c the
    number of set bits in the user's set S: R_S(y) = R_0(y) (c w + (s - c)/w)/s. The blanket is R_0
    times the same with the least possible c, max(0, s - zeros of y). Sets that share as few items
    as possible are the worst pair. Classes of outputs: set bits in S and in S', and zeros elsewhere
    as long as they are fewer than s; where such outputs are rarer than e^-100, their blanket is
    taken as R_0/w, which is smaller.

    Inputs of its law are windows: i stands for the items i .. i + s - 1, modulo d. Values are sets,
    shape (n, s); reports are bits packed in bytes as RAPPOR's.

    Parameters
    ----------
    d : int
        Number of items (bits in a report), 2 <= d <= 1e9.
    s : int
        Items of a user, 1 <= s < d, s <= 100 and s log(1 + e^{eps0/2}) <= 230.
    eps0 : float
        Local privacy of the whole report in nats; attained if 2 s <= d.

    Notes
    -----
    Sampling as in Qin, Yang, Yu, Khalil, Xiao, Ren 2016; Erlingsson, Pihur, Korolova 2014. The law
    by enumeration of counts; the total variation in Wang et al. 2024, table 2, is another.
    """

    task: ClassVar[str] = SETS
    name: ClassVar[str] = "sampling-rappor"
    summary: ClassVar[str] = "RAPPOR of one of a user's s items"
    d: Domain
    s: _SetSize
    eps0: LocalEpsilon

    def __post_init__(self) -> None:
        super().__post_init__()
        depth = self.s * self._log_one
        if not depth <= _DEEPEST:
            wanted = f"s log(1 + e^(eps0/2)) at most {_DEEPEST:g}, here {depth:g}"
            raise rejected("eps0", self.eps0, wanted)

    @property
    def _log_one(self) -> float:
        """-log of 1/(w + 1), the probability of a noise bit."""
        return 0.5 * self.eps0 + math.log1p(math.exp(-0.5 * self.eps0))

    @property
    def items(self) -> int:
        """d."""
        return self.d

    @property
    def message_bits(self) -> float:
        """d."""
        return float(self.d)

    @property
    def support(self) -> Support:
        """p* = (w + s - 1)/(s (w + 1)), q* = 1/(w + 1) with w = e^{eps0/2}."""
        w, s = math.exp(0.5 * self.eps0), self.s
        return Support(
            own=(w + (s - 1)) / (s * (w + 1.0)),
            own_miss=((s - 1) * w + 1.0) / (s * (w + 1.0)),
            other=1.0 / (w + 1.0),
            other_miss=w / (w + 1.0),
            gap=math.tanh(0.25 * self.eps0) / s,
        )

    # ----------------------------------------------------------------------------- running it

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return item_sets(values, self.d, self.s)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        chosen = source.below(self.s, len(values)) if len(values) else np.zeros(0, dtype=np.int64)
        one = values[np.arange(len(values)), chosen]
        return self._rappor._sample(one, source)  # noqa: SLF001, a step of this mechanism

    @property
    def _rappor(self) -> RAPPOR:
        return RAPPOR(d=self.d, eps0=self.eps0)

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        return packed_reports(reports, self.d)

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        return self._rappor._supporters(reports, items)  # noqa: SLF001

    # -------------------------------------------------------------------------------- its law

    def _groups(self, windows: list[int]) -> tuple[list[tuple[tuple[bool, ...], int]], int]:
        """Items by the windows they are in, with their number; and how many are in none."""
        found: dict[tuple[bool, ...], int] = {}
        touched = {(start + i) % self.d for start in windows for i in range(self.s)}
        for item in touched:
            pattern = tuple((item - start) % self.d < self.s for start in windows)
            found[pattern] = found.get(pattern, 0) + 1
        return sorted(found.items()), self.d - len(touched)

    @property
    def _log_zero(self) -> float:
        return math.log1p(math.exp(-0.5 * self.eps0))

    def _split(self, zeros: np.ndarray, rest: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Classes by zeros in all, as far as it matters: their part, log share and zeros.

        From s zeros on the blanket is R_0/w.
        """
        s = self.s
        few = np.arange(min(s, rest + 1))
        log_few = np.array([self._log_zeros(rest, int(z)) for z in few])
        whole = np.arange(len(zeros))
        open_ = zeros < s
        known = few[log_few > _RAREST]
        if rest == 0:
            return whole, np.zeros(len(zeros)), zeros
        if len(known) * int(open_.sum()) > _MOST_CLASSES or not len(known):
            return whole, np.zeros(len(zeros)), np.full(len(zeros), s)
        parts, logs, totals = [whole[~open_]], [np.zeros((~open_).sum())], [zeros[~open_]]
        for z in range(s):
            at = whole[zeros == z]
            mine = known[known < s - z]
            for z_rest in mine:
                parts.append(at)
                logs.append(np.full(len(at), log_few[z_rest]))
                totals.append(np.full(len(at), z + z_rest))
            parts.append(at)
            logs.append(np.full(len(at), self._log_many(rest, mine)))
            totals.append(np.full(len(at), s))
        return np.concatenate(parts), np.concatenate(logs), np.concatenate(totals)

    def _log_zeros(self, size: int, zeros: int) -> float:
        """log P(so many of ``size`` noise bits are 0); few zeros, so the binomial is a product."""
        log = math.fsum(math.log((size - i) / (i + 1)) for i in range(zeros))
        return log - (size - zeros) * self._log_one - zeros * self._log_zero

    def _log_many(self, size: int, without: np.ndarray) -> float:
        """log P(none of these numbers of zeros)."""
        if size <= 2 * _LARGEST_SET:
            others = sorted(set(range(size + 1)) - set(without.tolist()))
            masses = [math.exp(self._log_zeros(size, z)) for z in others]
            return math.log(math.fsum(masses)) if math.fsum(masses) > 0.0 else -math.inf
        lost = math.fsum(math.exp(self._log_zeros(size, int(z))) for z in without)
        return math.log1p(-lost)

    def worst_pairs(self) -> WorstPairs:
        """Two windows that share as few items as they can; exchanged, the law is the same."""
        return WorstPairs(((0, self.s % self.d),), FEWEST_SHARED)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold one of the two sets or, if there are not too many classes, a third."""
        first, second, third = 0, self.s % self.d, 2 * self.s % self.d
        groups, _ = self._groups([first, second, third])
        others = {first, second}
        if math.prod(size + 1 for _, size in groups) <= _MOST_CLASSES:
            others.add(third)
        return tuple((first, second, x2) for x2 in sorted(others))
