"""Unary encodings (RAPPOR, OUE) and local hashing (BLH, OLH)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.record import Bit, Bits
from shuffledp.mechanism.parameters import Domain, LocalEpsilon, number, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import (
    AlikeItems,
    FrequencyRandomizer,
    Sizes,
    UniformOrOwn,
    independent_hits,
)
from shuffledp.randomizers.values import bit_counts, blocks, packed_reports, smallest_type
from shuffledp.randomness import RandomSource
from shuffledp.theorems import HASHED_PAIRS, Theorem


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
    """What unary encodings share: bits that are independent.

    Attributes
    ----------
    mirrored : bool
        Whether a 1 is as likely sent as a 0 as the other way round: p = 1 - q.
    """

    mirrored: ClassVar[bool]

    @property
    def sizes(self) -> Sizes:
        """Outputs by the law of the noise bits: an item's is set with q, two items' with q^2."""
        q, _ = self._rates()
        return Sizes(1, q, q * q)

    @abstractmethod
    def _rates(self) -> tuple[arb, arb]:
        """q and p: that a bit is set of an item not held, and of the item held."""

    def added_bits(self) -> Bits:
        """One bit of a report: its law is all there is to say of the mechanism's."""

        def law(x: int) -> Bit:
            share = self._rates()[x]
            return Bit(1 - share, share)

        return Bits((0, 1), law, mirrored=self.mirrored, size=self.d)

    def _normaliser(self) -> arb:
        """Z = 1 + q (e^eps0 - 1): the own bit is set with p = q e^eps0/Z."""
        return 1 + self._rates()[0] * arb(self.eps0).expm1()

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], arb]:
        """An output hits an input whose bit is set: noise bits are independent."""
        return independent_hits(len(inputs), self._rates()[0], arb(1))

    def hit_by_all(self) -> arb:
        """All bits set."""
        return self._rates()[0] ** self.d

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        reports = np.empty((len(values), -(-self.d // 8)), dtype=np.uint8)
        for users in blocks(len(values), self.d):
            count = users.stop - users.start
            bits = source.coins(lambda: self._rates()[0], count * self.d)
            own = np.arange(count) * self.d + values[users]
            bits[own] = source.coins(lambda: self._rates()[1], count)
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
    mirrored: ClassVar[bool] = True
    d: Domain
    eps0: LocalEpsilon

    def _rates(self) -> tuple[arb, arb]:
        """Each bit flipped with probability 1/(e^(eps0/2) + 1)."""
        flip = 1 / ((arb(self.eps0) / 2).exp() + 1)
        return flip, 1 - flip


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
    mirrored: ClassVar[bool] = False
    d: Domain
    eps0: LocalEpsilon

    def _rates(self) -> tuple[arb, arb]:
        """A 1 is sent as a fair coin, a 0 as 1 with probability 1/(e^eps0 + 1)."""
        return 1 / (arb(self.eps0).exp() + 1), arb(0.5)


@dataclass(frozen=True, kw_only=True)
class LocalHash(AlikeItems, UniformOrOwn):
    """Local hashing: a random h: [domain] -> [l], then l-RR of h(x); (h, z) is sent.

    R_x(h, z) = (1/#h) (e^eps0 if z = h(x) else 1) / (e^eps0 + l - 1). The law is that of a
    uniformly random h: given z, every input is hit independently with probability 1/l.

    What is run is h(x) = sum_j a_j x_j mod l over the m binary digits x_j of x, with a_1 .. a_m
    uniform. Any three inputs are hit independently under it, so all laws of up to three inputs are
    those stated, but for outputs that hit the whole domain: these have the larger share l^-m
    instead of l^(1 - domain), which makes the blanket bound smaller. Upper bounds of the stated law
    hold for what is run, lower bounds for one pair of datasets are exact (docs/theory.md,
    section 4). Reports are rows (a_1, .., a_m, z) of the smallest unsigned type.

    Parameters
    ----------
    domain : int
        Number of inputs, 2 <= domain <= 1e9.
    l : int
        Number of hash values, >= 2. ``BLH`` has l = 2, ``OLH`` l = e^eps0 + 1 rounded.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.

    Notes
    -----
    Bassily, Smith 2015; Wang, Blocki, Li, Jha 2017.
    """

    name: ClassVar[str] = "local-hash"
    summary: ClassVar[str] = "local hashing with l hash values"
    # No worse than under a uniformly random function.
    pairs_alike: ClassVar[Theorem] = HASHED_PAIRS
    domain: Domain
    l: Annotated[int, whole(low=2)]
    eps0: LocalEpsilon

    @property
    def sizes(self) -> Sizes:
        """Values; one of them is the hash of an input, and of two inputs' once in l functions."""
        return Sizes(self.l, 1, Fraction(1, self.l))

    @property
    def letters(self) -> int:
        """l."""
        return self.l

    @property
    def word(self) -> int:  # type: ignore[override]
        """m + 1: the hash and its noisy value."""
        return self._digits + 1

    @property
    def _digits(self) -> int:
        return (self.domain - 1).bit_length()

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """A uniform hash and the value's under it. Sums stay below 30 * 10^15 < 2^63."""
        m = self._digits
        a = source.uniform(self.l, len(values) * m).reshape(len(values), m).astype(np.int64)
        digits = values.astype(np.int64)[:, None] >> np.arange(m) & 1
        return np.column_stack([a, (a * digits).sum(axis=1) % self.l])

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        chosen = np.arange(self.domain) if items is None else items.astype(np.int64)
        counts, places = np.zeros(len(chosen), dtype=np.int64), np.arange(len(chosen))
        for users in blocks(len(reports)):
            *a, z = reports[users].T.astype(smallest_type(2 * self.l))
            self._count(counts, places, chosen, a, z)
        return counts

    def _count(
        self,
        counts: np.ndarray,
        places: np.ndarray,
        items: np.ndarray,
        a: list[np.ndarray],
        left: np.ndarray,
    ) -> None:
        """Count at these places of the items the reports whose hash of the low digits is left.

        Items that agree in their high digits share what z leaves of these digits' hash, so that a
        report and an item cost about two additions.
        """
        if not a:
            counts[places] += np.count_nonzero(left == 0)
            return
        digit = items[places] >> (len(a) - 1) & 1
        for value in (0, 1):
            part = places[digit == value]
            if part.size:
                # Below 0 the difference wraps around and is the larger one.
                less = np.minimum(left - a[-1], left + (self.l - a[-1])) if value else left
                self._count(counts, part, items, a[:-1], less)

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], arb]:
        """A value is the hash of each input in one of l functions, independently."""
        return independent_hits(len(inputs), arb(1) / self.l, arb(self.l))

    def hit_by_all(self) -> arb:
        """l of the l^domain functions and l values: they are constant and sent as they are."""
        return self.l * (arb(1) / self.l) ** self.domain


@dataclass(frozen=True, kw_only=True)
class BLH(LocalHash):
    """Binary local hashing: ``LocalHash`` with l = 2 (Bassily, Smith 2015).

    Parameters
    ----------
    domain : int
        Number of inputs.
    eps0 : float
        Local privacy in nats.
    """

    name: ClassVar[str] = "blh"
    summary: ClassVar[str] = "binary local hashing"
    l: int = field(init=False, repr=False, default=2)


@dataclass(frozen=True, kw_only=True)
class OLH(LocalHash):
    """Optimized local hashing: ``LocalHash`` with l = round(e^eps0) + 1, the least variance.

    Parameters
    ----------
    domain : int
        Number of inputs.
    eps0 : float
        Local privacy in nats; at most 30, so that l is at most about 1e13.

    Notes
    -----
    Wang, Blocki, Li, Jha 2017.
    """

    name: ClassVar[str] = "olh"
    summary: ClassVar[str] = "optimized local hashing"
    l: int = field(init=False, repr=False)
    eps0: Annotated[float, number(low=_check.SMALLEST_EPS0, high=30.0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "l", round(math.exp(self.eps0)) + 1)
