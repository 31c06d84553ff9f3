"""Heavy hitters over a domain far too large to list: the prefix tree.

Each user is put, by a public draw that does not depend on the value, into one of several groups;
group j reports the first l_j bits of the value by local hashing. The collector starts with all
prefixes of l_1 bits, keeps those that stand out, extends them to l_2 bits, and so on: it only ever
estimates the candidates. (Bassily, Nissim, Stemmer, Thakurta 2017; Wang, Li, Jha 2019.) One report
a user, so the guarantee is that of ``Parallel`` over the groups' mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.randomizers import OLH, Parallel, Randomizer
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]
Batches = Callable[[], Iterator[np.ndarray]]
_MOST_BITS = 29
_DECIMALS = 1e-6
_FIRST_BITS = 10
_MOST_CANDIDATES = 1 << 22


@dataclass(frozen=True)
class HeavyHitters:
    """Items found, largest first.

    Attributes
    ----------
    items : ndarray of int, shape (m,)
        Values of ``bits`` bits.
    frequencies : ndarray, shape (m,)
        Unbiased for a fixed item; that these were chosen for being large biases them upwards.
    standard_errors : ndarray, shape (m,)
        Of the randomizers' coins and of the draw of the last group.
    n : int
        Users, all groups together.
    """

    items: Integers
    frequencies: Floats
    standard_errors: Floats
    n: int


@dataclass(frozen=True, kw_only=True)
class PrefixTree:
    """Find the most frequent of 2^bits values.

    Parameters
    ----------
    bits : int
        Values are 0 .. 2^bits - 1, 2 <= bits <= 29.
    eps0 : float
        Local privacy of each report, in nats.
    groups : int, optional
        Prefix lengths; by default one for about every four bits after the first ten.
    keep : int
        Prefixes kept at each length.
    """

    bits: int
    eps0: float
    groups: int | None = None
    keep: int = 64

    def __post_init__(self) -> None:
        bits = _check.count("bits", self.bits, low=2, high=_MOST_BITS)
        _check.local_epsilon("eps0", self.eps0)
        groups = max(1, math.ceil((bits - _FIRST_BITS) / 4) + 1)
        if self.groups is not None:
            groups = _check.count("groups", self.groups, high=bits - 1)
        object.__setattr__(self, "groups", groups)
        keep = _check.count("keep", self.keep, high=_MOST_CANDIDATES)
        steps = np.diff(self.lengths, prepend=0)
        widest = max(1 << int(steps[0]), *(keep << int(step) for step in steps[1:]), 0)
        if widest > _MOST_CANDIDATES:
            raise rejected("keep", keep, f"fewer than {_MOST_CANDIDATES:,} candidates at a time")

    @property
    def lengths(self) -> tuple[int, ...]:
        """Prefix lengths, growing, the last one all bits."""
        count = int(self.groups or 1)
        first = min(_FIRST_BITS, self.bits) if count > 1 else self.bits
        first = min(first, self.bits - count + 1)
        return tuple(int(x) for x in np.linspace(first, self.bits, count).round())

    @property
    def randomizer(self) -> Parallel:
        """What each user runs; give it to ``shuffle`` for the guarantee."""
        parts = tuple(OLH(domain=1 << length, eps0=self.eps0) for length in self.lengths)
        return Parallel(parts, weights=(1.0 / len(parts),) * len(parts))

    def inputs(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Prefixes of every length, shape (n, groups): what the randomizer takes."""
        column = np.asarray(values)
        if column.ndim != 1 or column.dtype.kind not in "iu":
            raise rejected("values", str(column.dtype), "whole numbers, shape (n,)")
        if column.size and not 0 <= int(column.min()) <= int(column.max()) < 1 << self.bits:
            bad = column[(column < 0) | (column >= 1 << self.bits)][0]
            raise rejected("values", int(bad), f"whole numbers below 2^{self.bits}")
        wide = column.astype(np.int64)
        return np.stack([wide >> (self.bits - length) for length in self.lengths], axis=1)

    @classmethod
    def of(cls, randomizer: Randomizer, *, bits: int) -> PrefixTree:
        """The tree whose mechanism this is; ParameterError says what it would have to be."""
        parts = randomizer.randomizers if isinstance(randomizer, Parallel) else ()
        eps0 = float(parts[0].eps0) if parts else float(randomizer.eps0)
        tree = cls(bits=bits, eps0=eps0, groups=len(parts) or None)
        wanted_parts = tree.randomizer.randomizers
        if not isinstance(randomizer, Parallel) or parts != wanted_parts or not _equal(randomizer):
            domains = ", ".join(str(1 << length) for length in tree.lengths)
            wanted = f"parallel, equal weights, of olh with eps0 = {eps0:g} and domain {domains}"
            raise rejected("randomizer", randomizer.name, wanted)
        return tree

    def find(self, reports: np.ndarray | Batches, *, top: int = 10) -> HeavyHitters:
        """The ``top`` largest items, from reports of all groups (shuffled or not).

        Parameters
        ----------
        reports : ndarray or callable
            What the randomizer made; or what starts an iteration over batches of it, which is done
            once for each prefix length.
        top : int
            How many items to return, at most ``keep``.
        """
        top = _check.count("top", top, high=self.keep)
        batches: Batches = reports if callable(reports) else (lambda: iter((reports,)))
        randomizer, share = self.randomizer, 1.0 / len(self.lengths)
        candidates = np.arange(1 << self.lengths[0], dtype=np.int64)
        last = len(self.lengths) - 1
        for j in range(last):
            found, _ = self._level(randomizer, batches, j, candidates)
            kept = candidates[largest_first(found, self.keep)]
            step = self.lengths[j + 1] - self.lengths[j]
            candidates = ((kept << step)[:, None] + np.arange(1 << step)).reshape(-1)
        found, n = self._level(randomizer, batches, last, candidates)
        order = largest_first(found, top)
        frequencies, noise = found.frequencies[order], found.standard_errors[order]
        # The last group is a random share of the users: its own frequencies scatter by that.
        f = np.clip(frequencies, 0.0, 1.0)
        errors = np.sqrt(noise**2 + f * (1.0 - f) * (1.0 - share) / found.n)
        return HeavyHitters(candidates[order], frequencies, errors, n)

    def _level(
        self, randomizer: Parallel, batches: Batches, j: int, candidates: Integers
    ) -> tuple[FrequencyEstimate, int]:
        """Estimates of candidate prefixes from the reports of one group, and all reports' count."""
        part = randomizer.randomizers[j]
        if not isinstance(part, OLH):
            raise rejected("randomizer", part.name, "local hashing in every group")
        total, n = Aggregate(0, np.zeros(candidates.size)), 0
        for batch in batches():
            n += len(batch)
            mine = batch[f"part{j}"][batch["choice"] == j]
            if len(mine):
                total = total + part.aggregate(mine, items=candidates)
        if not n:
            raise rejected("reports", 0, "at least one report")
        if not total.count:
            raise rejected("reports", f"none of group {j}", "reports of every group")
        return part.estimate(total), n


@dataclass(frozen=True)
class Spelling:
    """Short text as whole numbers: a letter's place in the alphabet from 1 on, 0 after the end.

    Parameters
    ----------
    alphabet : str
        2 or more different letters, a public choice.
    length : int
        Longest text; all letters together take at most 29 bits.
    """

    alphabet: str
    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.alphabet, str) or len(self.alphabet) < 2:
            raise rejected("alphabet", self.alphabet, "text of 2 or more letters")
        if len(set(self.alphabet)) < len(self.alphabet):
            raise rejected("alphabet", self.alphabet, "every letter once")
        most = _MOST_BITS // self.letter_bits
        _check.count("length", self.length, high=most)

    @property
    def letter_bits(self) -> int:
        """Bits of one letter, or of the end."""
        return len(self.alphabet).bit_length()

    @property
    def bits(self) -> int:
        """Bits of a text."""
        return self.letter_bits * self.length

    def codes(self, texts: Sequence[str]) -> Integers:
        """Numbers of the texts; -1 for those that cannot be spelled."""
        places = {letter: i for i, letter in enumerate(self.alphabet, start=1)}
        return np.array([self._code(text, places) for text in texts], dtype=np.int64)

    def _code(self, text: str, places: dict[str, int]) -> int:
        if not 1 <= len(text) <= self.length or any(letter not in places for letter in text):
            return -1
        code = 0
        for i in range(self.length):
            place = places[text[i]] if i < len(text) else 0
            code = (code << self.letter_bits) | place
        return code

    def text(self, code: int) -> str:
        """The text of a number; "?" for what stands for no letter."""
        letters = []
        for i in range(self.length):
            place = code >> self.letter_bits * (self.length - 1 - i)
            place &= (1 << self.letter_bits) - 1
            letters.append("" if place == 0 else (self.alphabet + "?" * 64)[place - 1 : place])
        return "".join(letters) or "?"


def _equal(randomizer: Parallel) -> bool:
    """Whether the groups are equally likely, as far as decimals in a file say it."""
    share = 1.0 / len(randomizer.weights)
    return all(abs(weight - share) < _DECIMALS for weight in randomizer.weights)


def largest_first(found: FrequencyEstimate, count: int) -> npt.NDArray[np.intp]:
    """Places of the largest estimates."""
    return np.argsort(-found.frequencies, kind="stable")[:count]
