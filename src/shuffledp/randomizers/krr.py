"""k-ary randomized response and its binary case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.bits import Bits, Matrix, bits_between
from shuffledp.mechanism.parameters import Domain, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import AlikeItems, Sizes, UniformOrOwn, occurrences
from shuffledp.randomness import RandomSource
from shuffledp.theorems import TWO_INPUTS, Theorem


class _Response(AlikeItems, UniformOrOwn):
    """What k-RR and its binary case share: a report is a value, and supports that value alone."""

    @property
    def sizes(self) -> Sizes:
        """k outputs, one of which hits an input."""
        return Sizes(self.items, 1, 0)

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], int]:
        """One output for each input, the value itself; all others hit none."""
        own = {tuple(x == y for x in inputs): 1 for y in inputs}
        return {**own, (False,) * len(inputs): self.items - len(inputs)}

    def one_bit(self) -> Bits | None:
        """Of two values."""
        return bits_between(self.eps0, 0, 1) if self.items == 2 else None

    def output_matrix(self) -> Matrix:
        """Itself e^eps0 times as likely as another value."""
        k = self.items

        def weights() -> list[list[arb]]:
            grow = arb(self.eps0).exp()
            return [[grow if x == y else arb(1) for y in range(k)] for x in range(k)]

        return Matrix(k, k, weights, grow=lambda: arb(self.eps0).exp())

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """The truth."""
        del source
        return values

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        return occurrences(reports, self.items, items)


@dataclass(frozen=True, kw_only=True)
class KRR(_Response):
    """k-ary randomized response: R_x(y) = (e^eps0 if y = x else 1) / (e^eps0 + k - 1).

    Blanket: uniform, gamma = k / (e^eps0 + k - 1). Reports are values, in the smallest unsigned
    type.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 1e9; inputs and outputs are 0 .. k-1.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Kairouz, Oh, Viswanath 2014; Balle et al. 2019, section 5 (blanket).
    """

    name: ClassVar[str] = "k-rr"
    aliases: ClassVar[tuple[str, ...]] = (
        "grr",
        "generalized-randomized-response",
        "randomized-response",
    )
    summary: ClassVar[str] = "k-ary randomized response"
    k: Domain
    eps0: LocalEpsilon

    @property
    def items(self) -> int:
        """k."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class BinaryRR(_Response):
    """Binary randomized response: the truth with probability e^eps0 / (e^eps0 + 1).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Warner 1965.
    """

    name: ClassVar[str] = "binary-rr"
    aliases: ClassVar[tuple[str, ...]] = ("warner", "rr")
    summary: ClassVar[str] = "binary randomized response (Warner)"
    pairs_alike: ClassVar[Theorem] = TWO_INPUTS
    eps0: LocalEpsilon

    @property
    def items(self) -> int:
        """2: no and yes."""
        return 2
