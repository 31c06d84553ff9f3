"""Unary encodings: RAPPOR (symmetric) and OUE (optimized)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.bits import Coordinate
from shuffledp.mechanism.parameters import Domain, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import AlikeItems, FrequencyRandomizer, Sizes, independent_hits
from shuffledp.randomizers.levels import coin, grown, half_grown
from shuffledp.randomizers.values import bit_counts, blocks, packed_reports
from shuffledp.randomness import RandomSource


class BitVectors(FrequencyRandomizer):
    """Reports of one bit for each of d items, packed in bytes; a set bit supports its item."""

    d: int

    @property
    def items(self) -> int:
        """d."""
        return self.d

    @property
    def message_bits(self) -> float:
        """d."""
        return float(self.d)

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        return packed_reports(reports, self.d)

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        if items is None:
            return bit_counts(reports, self.d)
        columns = (reports[:, int(x) // 8] >> (7 - int(x) % 8) & 1 for x in items)
        return np.array([np.count_nonzero(column) for column in columns])


class _Unary(BitVectors, AlikeItems):
    """What unary encodings share: bits that are independent."""

    @abstractmethod
    def _flip(self) -> Fraction:
        """Probability that the bit of an item not held is set, to 420 places."""

    @abstractmethod
    def _own(self, noise: np.ndarray, source: RandomSource) -> np.ndarray:
        """The bits of the items held, given the noise at their places."""

    @property
    def sizes(self) -> Sizes:
        """Outputs by the law of the noise bits: an item's is set with q, two items' with q^2."""
        q = self._flip()
        return Sizes(Fraction(1), q, q * q)

    @abstractmethod
    def coordinate(self) -> Coordinate:
        """One bit: its law is all there is to say of the mechanism's."""

    def _normaliser(self) -> arb:
        """Z = 1 + q (e^eps0 - 1): the own bit is set with p = q e^eps0/Z."""
        return 1 + self.coordinate().q * arb(self.eps0).expm1()

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], arb]:
        """An output hits an input whose bit is set: noise bits are independent."""
        return independent_hits(len(inputs), self.coordinate().q, arb(1))

    def hit_by_all(self) -> arb:
        """All bits set."""
        return self.coordinate().q ** self.d

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        digits = coin(self._flip())
        reports = np.empty((len(values), -(-self.d // 8)), dtype=np.uint8)
        for users in blocks(len(values), self.d):
            count = users.stop - users.start
            bits = source.coins(digits, count * self.d)
            own = np.arange(count) * self.d + values[users]
            bits[own] = self._own(bits[own], source)
            reports[users] = np.packbits(bits.reshape(count, self.d), axis=1)
        return reports


@dataclass(frozen=True, kw_only=True)
class RAPPOR(_Unary):
    """Symmetric unary encoding: x as a one-hot vector, each bit flipped w.p. 1/(e^{eps0/2} + 1).

    With w = e^{eps0/2} and R_0 the law of the noise bits alone, R_x(y) = R_0(y) w^{+1 if y_x else
    -1}. Blanket: R_0/w, but w R_0 on the all-ones output. Reports are bits packed in bytes, shape
    (n, ceil(d/8)), as ``np.unpackbits`` reads them.

    Parameters
    ----------
    d : int
        Domain size (bits in a report), 2 <= d <= 1e9.
    eps0 : float
        Local privacy of the whole report in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Erlingsson, Pihur, Korolova 2014 (one-time basic RAPPOR); blanket exact for finite d.
    """

    name: ClassVar[str] = "rappor"
    aliases: ClassVar[tuple[str, ...]] = ("sue", "symmetric-unary-encoding")
    summary: ClassVar[str] = "symmetric unary encoding (one-time RAPPOR)"
    d: Domain
    eps0: LocalEpsilon

    def _flip(self) -> Fraction:
        return 1 / (half_grown(self.eps0) + 1)

    def _own(self, noise: np.ndarray, source: RandomSource) -> np.ndarray:
        del source
        return ~noise

    def coordinate(self) -> Coordinate:
        """Each bit flipped with probability 1/(e^(eps0/2) + 1)."""
        flip = 1 / ((arb(self.eps0) / 2).exp() + 1)
        return Coordinate(flip, 1 - flip, self.d, symmetric=True, several=True)


@dataclass(frozen=True, kw_only=True)
class OUE(_Unary):
    """Optimized unary encoding: own bit is 1 w.p. 1/2, every other bit w.p. 1/(e^eps0 + 1).

    With R_0 the law of bits that are all 1 w.p. 1/(e^eps0 + 1), R_x(y) = R_0(y) (e^eps0 + 1)/2 if
    y_x = 1, R_0(y) (1 + e^-eps0)/2 if y_x = 0. The blanket is the latter, but the former on the
    all-ones output. Reports are bits packed in bytes, shape (n, ceil(d/8)), as ``np.unpackbits``
    reads them.

    Parameters
    ----------
    d : int
        Domain size (bits in a report), 2 <= d <= 1e9.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Wang, Blocki, Li, Jha 2017.
    """

    name: ClassVar[str] = "oue"
    aliases: ClassVar[tuple[str, ...]] = ("optimized-unary-encoding",)
    summary: ClassVar[str] = "optimized unary encoding"
    d: Domain
    eps0: LocalEpsilon

    def _flip(self) -> Fraction:
        return 1 / (grown(self.eps0) + 1)

    def _own(self, noise: np.ndarray, source: RandomSource) -> np.ndarray:
        return source.coins(b"\x80", len(noise))

    def coordinate(self) -> Coordinate:
        """A 1 is sent as a fair coin, a 0 as 1 with probability 1/(e^eps0 + 1)."""
        rare = 1 / (arb(self.eps0).exp() + 1)
        return Coordinate(rare, arb(0.5), self.d, symmetric=False, several=True)
