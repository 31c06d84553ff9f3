"""PCKV-GRR: key-value pairs, one of s sampled and randomized as one symbol."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb, fmpq, fmpq_mat
from shuffledp.ball.outputs import Favours, Law, check_inputs, flags, rational_ball, two_levels
from shuffledp.ball.record import Masses, Others, WorstPairs, three
from shuffledp.errors import rejected
from shuffledp.mechanism.parameters import LocalEpsilon, Switch, whole
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import (
    SETS,
    UniformOrOwn,
    histogram,
    occurrences,
)
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import MeanEstimate
from shuffledp.theorems import CORNER_TRIPLES, LEAST_OVERLAP

_LARGEST_SET = 10**6


_SetSize = Annotated[int, whole(high=lambda m: min(m.domain, _LARGEST_SET))]


@dataclass(frozen=True, kw_only=True)
class PCKVGRR(UniformOrOwn):
    """PCKV-GRR: one of s pairs (key, value in [-1, 1]), its value rounded to a sign, then k-RR.

    The value becomes +1 with probability (1 + v)/2; the symbol (key, sign) goes through k-RR over
    the 2D symbols with e^eps = s (e^eps0 - 1) + 1, so that a symbol has probability between 1/Z and
    e^eps0/Z, Z = s (e^eps0 - 1) + 2D. The blanket is uniform, gamma = 2D/Z. The same s keys with
    values +1 and with values -1 favour disjoint symbols: no pair is worse. D is the number of keys,
    and s more where ``padding`` lets users hold fewer than s pairs: dummy keys with value 0.

    Inputs of its law: 0 and 1 hold the first s keys with values +1 and -1; 2 holds the last s keys
    with values +1, or nothing at all where there is padding. Values are shape (n, s, 2), rows
    (key, value); with padding a key of -1 means no pair. Reports are 2 key + (1 if the sign is +),
    in the smallest unsigned type. ``estimate`` gives the frequencies of the keys, exactly unbiased
    whatever the values; ``estimate_values`` what the values add up to.

    Parameters
    ----------
    domain : int
        Number of keys, 1 <= domain <= 1e8.
    s : int
        Pairs of a user, 1 <= s <= domain.
    eps0 : float
        Local privacy in nats, 1e-9 <= eps0 <= 300.
    padding : bool
        True where users may hold fewer than s pairs.

    Notes
    -----
    Gu, Li, Cheng, Xiong, Cao 2020, with their optimal split of the privacy budget.
    """

    task: ClassVar[str] = SETS
    name: ClassVar[str] = "pckv-grr"
    summary: ClassVar[str] = "key-value pairs, one of s, by k-RR (PCKV-GRR)"
    domain: Annotated[int, whole(high=10**8)]
    s: _SetSize
    eps0: LocalEpsilon
    padding: Switch = False

    @property
    def symbols(self) -> int:
        """2D: keys, dummies included, with either sign."""
        return 2 * (self.domain + self.s if self.padding else self.domain)

    @property
    def letters(self) -> int:
        """2D."""
        return self.symbols

    @property
    def uniform_share(self) -> arb:
        """2D/Z."""
        return self.symbols / self._total

    @property
    def _total(self) -> arb:
        """Z = s (e^eps0 - 1) + 2D."""
        return self.s * arb(self.eps0).expm1() + self.symbols

    def rates(self) -> tuple[arb, arb, arb]:
        """p* = (e^eps0 + 1)/Z, q* = 2/Z: of a key, with either sign."""
        gain, total = arb(self.eps0).expm1(), self._total
        return (gain + 2) / total, 2 / total, gain / total

    def _value_variances(self) -> tuple[float, float]:
        """Variances at value 0, of holders and others: the key's probability by the gap squared."""
        gain = arb(self.eps0).expm1()
        scale = self._total / (gain * gain)
        return float((gain + 2) * scale), float(2 * scale)

    # ----------------------------------------------------------------------------- running it

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return _pairs(values, self.domain, self.s, padding=self.padding)

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        slot = source.below(self.s, len(values))
        keys, at = values[np.arange(len(values)), slot].T
        sign = source.unit(len(values)) < 0.5 + 0.5 * at
        return 2 * np.where(keys < 0.0, self.domain + slot, keys) + sign

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        return occurrences(reports >> 1, self.symbols // 2, items)[: self.domain]

    def _signs(self, reports: np.ndarray) -> np.ndarray:
        """Counts of each key with either sign, shape (domain, 2)."""
        return histogram(reports, self.symbols).reshape(-1, 2)[: self.domain]

    def estimate_values(self, reports: ArrayLike) -> MeanEstimate:
        """Unbiased sums over users of each key's values, divided by the number of users.

        Divided by the frequencies of ``estimate`` they are the mean values among the holders.

        Parameters
        ----------
        reports : array_like of int
            What ``randomize`` returned.

        Returns
        -------
        MeanEstimate
            One entry for each key; standard errors are those of values 0, the largest.
        """
        checked = self._checked_reports(reports)
        frequencies = self.estimate(checked).frequencies
        counts = self._signs(checked)
        n = len(checked)
        means = (counts[:, 1] - counts[:, 0]) / n / self.support.gap
        own, other = self._value_variances()
        share = np.clip(frequencies, 0.0, 1.0)
        return MeanEstimate(means, np.sqrt((share * own + (1.0 - share) * other) / n), n)

    # -------------------------------------------------------------------------------- its law

    @property
    def _runs(self) -> list[tuple[int, int]]:
        """Runs of keys that each input holds, all of a run with one sign, or does not hold."""
        cuts = {0, self.s, self.domain - self.s, self.domain}
        return list(itertools.pairwise(sorted(cuts)))

    def pairs_of(self, x: int) -> list[tuple[int, float]]:
        """The s pairs (key, value) that an input of ``law`` stands for, those of ``randomize``.

        Parameters
        ----------
        x : int
            0, 1 or 2.
        """
        index = _check.count("input", x, low=0, high=2)
        if self.padding and index == 2:
            return [(-1, 0.0)] * self.s
        signs = ((start, end, self._held(start)[index]) for start, end in self._runs)
        return [
            (key, float(sign)) for start, end, sign in signs if sign for key in range(start, end)
        ]

    def _held(self, key: int) -> tuple[int, ...]:
        """The sign with which each input holds a key; 0 where it does not."""
        first, last = int(key < self.s), int(key >= self.domain - self.s)
        return (first, -first, last)

    def worst_pairs(self) -> WorstPairs:
        """The same keys with values +1 and -1; exchanged, the law is the same."""
        return WorstPairs(((0, 1),), LEAST_OVERLAP)

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """A symbol has the probability (1 + (E - 1) f)/Z, f the sum of P(pair becomes the symbol).

        With padding a user without pairs holds s dummy keys with value 0.
        """
        check_inputs(inputs, 3)
        total = self._total
        parts: list[tuple[arb, Favours]] = []
        for start, end in self._runs:
            held = self._held(start)
            signs = [0 if self.padding and x == 2 else held[x] for x in inputs]
            parts += [((end - start) / total, flags(s == sign for s in signs)) for sign in (-1, 1)]
        if self.padding:
            half = tuple(Fraction(int(x == 2), 2) for x in inputs)
            parts.append((2 * self.s / total, half))
        return two_levels(parts, arb(self.eps0))

    def others(self) -> Others:
        """The labels' laws by corners of what three inputs may share."""
        return Others("corners", CORNER_TRIPLES, self.worst_pairs().pairs, labels=self._corners)

    def _corners(self) -> Iterator[list[Masses]]:
        """Numbers of keys by who holds them with which sign, at the corners of what is possible.

        Four linear equations (keys in all, and held by each of three inputs): four states, a basis.
        """
        states = list(itertools.product((-1, 0, 1), repeat=3))
        # The two symbols of a key change places if all signs change.
        states = [state for state in states if state >= tuple(-v for v in state)]
        wanted = fmpq_mat([[fmpq(v)] for v in (self.symbols // 2, self.s, self.s, self.s)])
        grown, seen = arb(self.eps0).exp(), set()
        for basis in itertools.combinations(states, 4):
            table = fmpq_mat([[fmpq(1)] * 4, *([fmpq(abs(z[i])) for z in basis] for i in range(3))])
            if table.det() == 0:
                continue
            numbers = [table.solve(wanted)[i, 0] for i in range(4)]
            if min(numbers) < 0:
                continue
            counts: dict[tuple[bool, ...], Fraction] = {}
            for number, state in zip(numbers, basis, strict=True):
                share = Fraction(int(number.p), int(number.q))
                for sign in (-1, 1):
                    hits = tuple(v == sign for v in state)
                    counts[hits] = counts.get(hits, Fraction(0)) + share
            key = tuple(sorted((hits, count) for hits, count in counts.items() if count))
            if key in seen:
                continue
            seen.add(key)
            bases = ((hits, rational_ball(count) / self._total) for hits, count in key)
            yield [three(base * grown if hit else base for hit in hits) for hits, base in bases]

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold one of the two sets, or a set as far from them as they can."""
        return tuple((0, 1, x2) for x2 in (0, 1, 2))


def _pairs(values: ArrayLike, domain: int, s: int, *, padding: bool) -> np.ndarray:
    """Rows of s pairs (key, value) as floats; every key at most once in a row."""
    wanted = f"(n, {s}, 2): {s} pairs (key, value) for each user"
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise rejected("values", values, f"numbers, shape {wanted}") from None
    if rows.size == 0:
        return rows.reshape(0, s, 2)
    if rows.ndim != 3 or rows.shape[1:] != (s, 2):
        raise rejected("values shape", rows.shape, wanted)
    keys, numbers = rows[..., 0], rows[..., 1]
    none = keys == -1.0 if padding else np.zeros(keys.shape, dtype=bool)
    fine = (keys >= 0.0) & (keys <= domain - 1) & (keys == np.floor(keys))
    fine &= (numbers >= -1.0) & (numbers <= 1.0)
    fine |= none
    if not bool(fine.all()):
        user, place = (int(i) for i in np.argwhere(~fine)[0])
        wanted = f"a key 0 to {domain - 1:,} and a value -1 to 1"
        raise rejected(f"values[{user}, {place}]", rows[user, place].tolist(), wanted)
    # Missing pairs are told apart from each other, so that they do not count as equal keys.
    apart = np.where(none, -1.0 - np.arange(s), keys)
    ordered = np.sort(apart, axis=1)
    bad = np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bool(bad.any()):
        first = int(np.argmax(bad))
        raise rejected(f"keys of values[{first}]", keys[first].tolist(), "different keys")
    return np.where(none[..., None], np.array([-1.0, 0.0]), rows)
