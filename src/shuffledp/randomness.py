"""Random numbers: from the operating system for privacy, from a seed for simulation only."""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.outputs import rational_ball

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]
Octets = npt.NDArray[np.uint8]
Unsigned = npt.NDArray[Any]

_TWO_64 = 2**64
# Binary digits by which a level is evaluated more precisely than a number is known.
_MORE = 64


# A probability, at the working precision.
Level = Callable[[], arb]
# Digits of a probability are found at this precision at most: none in use is so close to a cut.
_FINEST = 1 << 14


def leading(level: Level, bits: int) -> int:
    """The first binary digits of a probability below 1, as a whole number."""
    precision = bits + _MORE
    while precision <= _FINEST:
        with ctx.workprec(precision):
            found = (level() * arb(2) ** bits).floor().unique_fmpz()
        if found is not None:
            return int(found)
        precision *= 2
    raise ValueError(f"probability: its first {bits} digits are not settled by {_FINEST} bits")


class Choice:
    """A law on 0 .. m-1 with probabilities proportional to whole weights.

    Attributes
    ----------
    edges : list of Fraction
        P(outcome <= j), those that are 1 left out.
    first : ndarray
        Their first 64 binary digits.
    """

    def __init__(self, weights: Sequence[int]) -> None:
        sums = list(itertools.accumulate(weights))
        # Where the sum is reached nothing is left for later outcomes.
        self.edges = [Fraction(part, sums[-1]) for part in sums if part < sums[-1]]
        self.first = np.array([int(edge * _TWO_64) for edge in self.edges], dtype=np.uint64)


class RandomSource(ABC):
    """A stream of uniform 64-bit words, and the laws that samplers draw from.

    Discrete draws are exact: the first digits of a uniform number are compared with those of a
    probability, and ties are settled in balls, by as many digits of both as that takes.
    """

    @abstractmethod
    def words(self, size: int) -> Words:
        """Independent uniform 64-bit words, shape (size,)."""

    def octets(self, size: int) -> Octets:
        """Independent uniform bytes, shape (size,)."""
        return self.words(-(-size // 8)).view(np.uint8)[:size]

    def coins(self, level: Level, size: int) -> npt.NDArray[np.bool_]:
        """True with exactly this probability; below 1.

        One byte for each coin, a word where it is that of the probability.
        """
        digits = leading(level, 72)
        drawn, (byte, word) = self.octets(size), divmod(digits, _TWO_64)
        true, tied = drawn < byte, np.flatnonzero(drawn == byte)
        more = self.words(tied.size)
        true[tied] = more < np.uint64(word)
        for i in tied[more == np.uint64(word)]:
            true[i] = Uniform(digits, self, 72).below(level)
        return true

    def choose(self, choice: Choice, size: int) -> Integers:
        """Outcomes with exactly the probabilities of ``choice``, by one word each."""
        drawn = self.words(size)
        outcome = np.searchsorted(choice.first, drawn, side="right").astype(np.int64)
        last = np.append(choice.first, 0)[outcome - 1]
        for i in np.flatnonzero((outcome > 0) & (last == drawn)):
            number, place = Uniform(int(drawn[i]), self), int(outcome[i])
            while place and number.below(partial(rational_ball, choice.edges[place - 1])):
                place -= 1
            outcome[i] = place
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

    def permutation(self, size: int) -> Integers:
        """A uniform permutation of 0 .. size-1, by sorting words (ties are drawn again)."""
        while True:
            keys = self.words(size)
            order = np.argsort(keys, kind="stable")
            sorted_keys = keys[order]
            if not bool((sorted_keys[1:] == sorted_keys[:-1]).any()):
                return order.astype(np.int64)


class Uniform:
    """A number in [0, 1] that is known to as many binary digits as questions have asked for.

    Parameters
    ----------
    digits : int
        The first of them.
    source : RandomSource
        Where further words come from.
    size : int
        How many are known.
    """

    def __init__(self, digits: int, source: RandomSource, size: int = 64) -> None:
        self._digits, self._size, self._source = digits, size, source

    def ball(self) -> arb:
        """The number, known to as many digits as the working precision has."""
        while self._size < ctx.prec:
            self._extend()
        return (self._digits + arb(0.5, 0.5)) / arb(2) ** self._size

    def below(self, level: Callable[[], arb]) -> bool:
        """Whether the number is below a level, evaluated at the precision that settles it."""
        while True:
            with ctx.workprec(self._size + _MORE):
                scaled = level() * arb(2) ** self._size
                if scaled >= self._digits + 1:
                    return True
                if scaled <= self._digits:
                    return False
            self._extend()

    def _extend(self) -> None:
        self._digits = self._digits << 64 | int(self._source.words(1)[0])
        self._size += 64


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
