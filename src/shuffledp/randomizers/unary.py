"""Unary encodings: RAPPOR (symmetric) and OUE (optimized)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.bits import Coordinate
from shuffledp.ball.outputs import Law, check_inputs, hit_or_miss
from shuffledp.mechanism import Domain, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.chances import digits_up, exponential, quotient
from shuffledp.randomizers.frequency import AlikeItems, Support
from shuffledp.randomizers.values import blocks, packed_reports
from shuffledp.randomness import RandomSource


class _Unary(AlikeItems):
    """What unary encodings share: one bit for each item, packed; a set bit supports its item."""

    d: int
    eps0: float

    @property
    def items(self) -> int:
        """d."""
        return self.d

    @property
    def message_bits(self) -> float:
        """d."""
        return float(self.d)

    @abstractmethod
    def _flip(self) -> Decimal:
        """Probability that the bit of an item not held is set."""

    @abstractmethod
    def _own(self, noise: np.ndarray, source: RandomSource) -> np.ndarray:
        """The bits of the items held, given the noise at their places."""

    @abstractmethod
    def coordinate(self) -> Coordinate:
        """One bit: its law is all there is to say of the mechanism's."""

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """The output hits input x if bit x is set; it is e^eps0 times likelier under x then.

        A missed input has its own bit cleared, with probability 1 - p; others clear it with 1 - q:
        (1 - p)/(1 - q) = p/(q e^eps0), in which no digits are lost.
        """
        check_inputs(inputs, self.d)
        eps0, bit = arb(self.eps0), self.coordinate()
        one, zero = bit.q, 1 - bit.q
        base = bit.p / (one * eps0.exp())
        rest = self.d - len(set(inputs))

        def blanket(hits: tuple[bool, ...]) -> arb | None:
            mass = base
            for hit in hits:
                mass = mass * (one if hit else zero)
            if all(hits):
                if rest == 0:
                    return None
                mass = mass * (1 - one**rest)
            return mass

        # All bits set: every input explains it with its own bit and d - 1 others.
        return hit_or_miss(inputs, eps0, blanket, bit.p * one ** (self.d - 1))

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        digits = digits_up(self._flip())
        reports = np.empty((len(values), -(-self.d // 8)), dtype=np.uint8)
        for users in blocks(len(values), self.d):
            count = users.stop - users.start
            bits = source.coins(digits, count * self.d)
            own = np.arange(count) * self.d + values[users]
            bits[own] = self._own(bits[own], source)
            reports[users] = np.packbits(bits.reshape(count, self.d), axis=1)
        return reports

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        return packed_reports(reports, self.d)

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        if items is not None:
            columns = (reports[:, int(x) // 8] >> (7 - int(x) % 8) & 1 for x in items)
            return np.array([np.count_nonzero(column) for column in columns])
        counts = np.zeros(self.d, dtype=np.int64)
        for users in blocks(len(reports), self.d):
            counts += np.unpackbits(reports[users], axis=1, count=self.d).sum(
                axis=0, dtype=np.int64
            )
        return counts


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
        Local privacy of the whole report in nats, 0 < eps0 <= 300.

    Notes
    -----
    Erlingsson, Pihur, Korolova 2014 (one-time basic RAPPOR); blanket exact for finite d.
    """

    name: ClassVar[str] = "rappor"
    aliases: ClassVar[tuple[str, ...]] = ("sue", "symmetric-unary-encoding")
    summary: ClassVar[str] = "symmetric unary encoding (one-time RAPPOR)"
    d: Domain
    eps0: LocalEpsilon

    @property
    def support(self) -> Support:
        """p* = w/(w + 1), q* = 1/(w + 1) with w = e^{eps0/2}."""
        w = math.exp(0.5 * self.eps0)
        keep, flip = w / (w + 1.0), 1.0 / (w + 1.0)
        return Support(keep, flip, flip, keep, gap=math.tanh(0.25 * self.eps0))

    def _flip(self) -> Decimal:
        return quotient(1, exponential(0.5 * self.eps0), 1)

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
        Local privacy in nats, 0 < eps0 <= 300.

    Notes
    -----
    Wang, Blocki, Li, Jha 2017.
    """

    name: ClassVar[str] = "oue"
    aliases: ClassVar[tuple[str, ...]] = ("optimized-unary-encoding",)
    summary: ClassVar[str] = "optimized unary encoding"
    d: Domain
    eps0: LocalEpsilon

    @property
    def support(self) -> Support:
        """p* = 1/2, q* = 1/(e^eps0 + 1)."""
        grow = math.exp(self.eps0)
        other = 1.0 / (grow + 1.0)
        return Support(0.5, 0.5, other, grow * other, gap=0.5 * math.tanh(0.5 * self.eps0))

    def _flip(self) -> Decimal:
        return quotient(1, exponential(self.eps0), 1)

    def _own(self, noise: np.ndarray, source: RandomSource) -> np.ndarray:
        return source.coins(b"\x80", len(noise))

    def coordinate(self) -> Coordinate:
        """A 1 is sent as a fair coin, a 0 as 1 with probability 1/(e^eps0 + 1)."""
        rare = 1 / (arb(self.eps0).exp() + 1)
        return Coordinate(rare, arb(0.5), self.d, symmetric=False, several=True)
