"""Random numbers: from the operating system for privacy, from a seed for simulation only."""

from __future__ import annotations

import bisect
import math
import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp import _special as special

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]
Octets = npt.NDArray[np.uint8]
Unsigned = npt.NDArray[Any]

_TWO_64 = 2**64
_MOST_ZEROS = 900
# Digits of a probability that is said to be exact: below the smallest positive float.
BITS = 1280


class Choice:
    """A law on 0 .. m-1: edges 0 <= e_0 <= .. <= e_(m-2) < 2^1280, outcome j up to edge j.

    Parameters
    ----------
    edges : tuple of int
        Cumulative probabilities in units of 2^-1280; those that are 1 left out.
    """

    def __init__(self, edges: tuple[int, ...]) -> None:
        self.edges = edges
        self.first = np.array([edge >> (BITS - 64) for edge in edges], dtype=np.uint64)


class RandomSource(ABC):
    """A stream of uniform 64-bit words, and the laws that samplers draw from.

    Discrete draws are exact (``coins``, ``choose``, ``below``) or up to 2^-64 (``bernoulli``).
    """

    @abstractmethod
    def words(self, size: int) -> Words:
        """Independent uniform 64-bit words, shape (size,)."""

    def bernoulli(self, p: float | Floats, size: int) -> npt.NDArray[np.bool_]:
        """True with probability p, rounded to a multiple of 2^-64 (floor)."""
        threshold = np.floor(np.clip(np.asarray(p, dtype=np.longdouble), 0, 1) * _TWO_64)
        certain = threshold >= _TWO_64
        limit = np.where(certain, 0, threshold).astype(np.uint64)
        return (self.words(size) < limit) | certain

    def octets(self, size: int) -> Octets:
        """Independent uniform bytes, shape (size,)."""
        return self.words(-(-size // 8)).view(np.uint8)[:size]

    def coins(self, digits: bytes, size: int) -> npt.NDArray[np.bool_]:
        """True with exactly the probability 0.d1 d2 d3 ... to base 256.

        Bytes are compared digit by digit, further digits only for draws still tied: about one byte
        for each coin, whatever the number of digits.
        """
        drawn = self.octets(size)
        true = drawn < digits[0]
        tied = np.flatnonzero(drawn == digits[0])
        for digit in digits[1:]:
            if tied.size == 0:
                break
            drawn = self.octets(tied.size)
            true[tied] = drawn < digit
            tied = tied[drawn == digit]
        return true

    def choose(self, choice: Choice, size: int) -> Integers:
        """Outcomes with exactly the probabilities of ``choice``.

        One word for each, and all 1280 digits where its 64 are those of an edge.
        """
        drawn = self.words(size)
        outcome = np.searchsorted(choice.first, drawn, side="right").astype(np.int64)
        if choice.first.size:
            tied = np.flatnonzero((outcome > 0) & (choice.first[outcome - 1] == drawn))
            for i in tied:
                digits = [int(drawn[i]), *(int(w) for w in self.words(BITS // 64 - 1))]
                exact = sum(d << (BITS - 64 * (j + 1)) for j, d in enumerate(digits))
                outcome[i] = bisect.bisect_right(choice.edges, exact)
        return outcome

    def below(self, k: int, size: int) -> Integers:
        """Uniform integers 0 .. k-1, exactly uniform (rejection), 1 <= k <= 2^62."""
        k = _check.count("k", k, high=2**62)
        limit = np.uint64((_TWO_64 // k) * k - 1)
        drawn = self.words(size)
        while bool((bad := drawn > limit).any()):
            drawn[bad] = self.words(int(bad.sum()))
        return (drawn % np.uint64(k)).astype(np.int64)

    def uniform(self, k: int, size: int) -> Unsigned:
        """``below`` as the smallest unsigned type, from as few bytes as that has."""
        kind = np.min_scalar_type(_check.count("k", k, high=2**62) - 1)
        values = 256**kind.itemsize
        limit = kind.type(values - values % k - 1)
        drawn = self._typed(kind, size)
        if values % k:
            again = np.flatnonzero(drawn > limit)
            while again.size:
                fresh = self._typed(kind, again.size)
                drawn[again] = fresh
                again = again[fresh > limit]
        return drawn if k == values else drawn % kind.type(k)

    def _typed(self, kind: np.dtype[Any], size: int) -> Unsigned:
        return self.words(-(-size * kind.itemsize // 8)).view(kind)[:size]

    def unit(self, size: int) -> Floats:
        """Uniform on (0, 1): odd multiples of 2^-53, all of them floats, never an end point."""
        return ((self.words(size) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def fine_unit(self, size: int) -> Floats:
        """Uniform on (0, 1), small numbers to 52 digits of their own: for the tails of inversion.

        A number is in [2^-k, 2^-(k-1)) with probability 2^-k, k leading zeros less one, and
        there one of 2^51 middles of even steps, all of them floats.
        """
        zeros = np.zeros(size, dtype=np.int64)
        open_ = np.arange(size)
        while open_.size:
            drawn = self.words(open_.size)
            # frexp of the high and the low half: exact, as a word has too many digits for a float.
            high, low = drawn >> np.uint64(32), drawn & np.uint64(2**32 - 1)
            digits = np.where(high > 0, 32 + np.frexp(high.astype(np.float64))[1], 0)
            digits = np.where(high > 0, digits, np.frexp(low.astype(np.float64))[1])
            zeros[open_] += 64 - digits
            open_ = open_[drawn == 0]
            if int(zeros.max(initial=0)) > _MOST_ZEROS:
                break
        part = ((self.words(size) >> np.uint64(13)).astype(np.float64) + 0.5) * 2.0**-51
        return np.ldexp(1.0 + part, -1 - np.minimum(zeros, _MOST_ZEROS).astype(np.intc))

    def normal(self, size: int) -> Floats:
        """Standard normal by inversion."""
        return special.ndtri(self.unit(size))

    def fine_normal(self, size: int) -> Floats:
        """Standard normal by inversion, numbers next to 0 and far out to 52 digits of their own."""
        part = self.fine_unit(size)
        near = math.sqrt(2.0) * special.erfinv(0.5 * part)
        distance = np.where(self.coins(b"\x80", size), near, -special.ndtri(0.25 * part))
        return np.where(self.coins(b"\x80", size), distance, -distance)

    def exponential(self, size: int) -> Floats:
        """Exponential with mean 1 by inversion."""
        return -np.log(self.unit(size))

    def laplace(self, size: int) -> Floats:
        """Laplace with scale 1."""
        sign = np.where(self.bernoulli(0.5, size), 1.0, -1.0)
        return sign * self.exponential(size)

    def permutation(self, size: int) -> Integers:
        """A uniform permutation of 0 .. size-1, by sorting words (ties are drawn again)."""
        while True:
            keys = self.words(size)
            order = np.argsort(keys, kind="stable")
            sorted_keys = keys[order]
            if not bool((sorted_keys[1:] == sorted_keys[:-1]).any()):
                return order.astype(np.int64)


class SystemSource(RandomSource):
    """The operating system's generator: the one to use for privacy."""

    def words(self, size: int) -> Words:
        """Words from ``os.urandom``."""
        return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64)


class SeededSource(RandomSource):
    """A reproducible stream (Philox), for simulation and tests; never for privacy.

    Parameters
    ----------
    seed : int
        0 <= seed < 2^63.
    stream : int, optional
        Independent streams of one seed, 0 <= stream < 2^63: one for each block of users, so that
        a simulation does not depend on who works on which block.
    """

    def __init__(self, seed: int, *, stream: int | None = None) -> None:
        key = _check.count("seed", seed, low=0, high=2**63 - 1)
        if stream is None:
            bits = np.random.Philox(key)
        else:
            part = _check.count("stream", stream, low=0, high=2**63 - 1)
            bits = np.random.Philox(key=np.array([key, part], dtype=np.uint64))
        self._generator = np.random.Generator(bits)

    def words(self, size: int) -> Words:
        """Words from Philox."""
        return self._generator.integers(0, _TWO_64 - 1, size, dtype=np.uint64, endpoint=True)
