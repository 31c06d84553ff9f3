"""Reports of a mechanism that are added up: who, how often, what neighbours change in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp import theorems
from shuffledp._check import exact
from shuffledp.amplification.one_bit import all_data_sets
from shuffledp.amplification.seen import Quantity
from shuffledp.amplification.words import ONE_ROUND, SAME, own_assumptions
from shuffledp.ball.record import Bits
from shuffledp.bound import Bound, Theorem
from shuffledp.errors import NotCertified
from shuffledp.neighbours import REPLACE_SPECIAL, REPLACEMENT, Relation
from shuffledp.propose.one_bit import AllDataSets
from shuffledp.randomizers import Gaussian, GaussianBall, Randomizer
from shuffledp.statements import Sentence, say
from shuffledp.views.noise import AddedNoise


@dataclass(frozen=True)
class AddedUp:
    """A mechanism among n users whose reports are added up.

    Attributes
    ----------
    mechanism : Randomizer
        ``RAPPOR``, ``OUE``, a mechanism with one-bit reports, ``Gaussian`` or ``GaussianBall``.
    n : int
        Users whose reports are added up, the one who is protected included.
    ones : int
        The most 1s that a report holds before it is randomized (multi-hot vectors); 1: an item.
    relation : Relation
        One user's data replaced ("replace-one"), or replaced by a report of zeros
        ("replace-special").
    rounds : int
        How often everybody reports.
    rtol : float or None
        Requested relative width of eps; by default what is worth the time, 5e-4 or so.
    added : AddedNoise or None
        Noise of the aggregator's own on every coordinate's sum.
    """

    mechanism: Randomizer
    n: int
    ones: int = 1
    relation: Relation = REPLACEMENT
    rounds: int = 1
    rtol: float | None = None
    added: AddedNoise | None = None

    @property
    def seen(self) -> Sentence:
        """What the analyst sees, in words."""
        return say("sums" if self.added is None else "noisy-sums")

    def assumptions(self) -> tuple[str, ...]:
        """What the numbers ask a reader to believe."""
        words: list[str] = [self.relation.sentence]
        if self.relation == REPLACE_SPECIAL:
            words.append(say("zero-vector"))
        words += [say("added-up"), self.seen]
        if self.added is not None:
            words.append(self.added.words)
        if self.normal is None and self.count > 1:
            item = say("or-item" if self.relation == REPLACE_SPECIAL else "item")
            words.append(item if self.items else say("ones", self.ones))
        if isinstance(self.mechanism, GaussianBall):
            words.append(say("vector-sums", exact(self.mechanism.radius)))
        elif self.normal is not None:
            words.append(say("real-sums", exact(self.normal.low), exact(self.normal.high)))
        words.append(ONE_ROUND if self.rounds == 1 else say("sums-rounds", self.rounds))
        return (*words, *own_assumptions(self.mechanism), SAME)

    @property
    def theorems(self) -> tuple[Theorem, Theorem]:
        """What the upper end rests on, and the lower one, a pair of data sets."""
        if self.added is not None:
            return theorems.SUMS_ADDED, theorems.SUMS_ADDED_DATASET
        if self.normal is not None:
            return theorems.SUM_OF_NORMALS, theorems.SUM_OF_NORMALS
        return theorems.SUMS, theorems.SUMS_DATASET

    def bound_of(
        self,
        quantity: Quantity,
        value: float,
        found: tuple[tuple[float, float], tuple[float | None, float | None]],
        witness: dict[str, Any],
        widths: tuple[float | None, float | None],
    ) -> Bound:
        """Both ends, with their logarithms, as a Bound."""
        ends, logs = found
        fixed = "delta" if quantity == "epsilon" else "epsilon"
        upper, lower = self.theorems
        return Bound(
            quantity=quantity,
            lower=min(ends),
            upper=ends[1],
            at={fixed: value, "n": self.n, "rounds": self.rounds},
            lower_theorem=lower if witness["lower"] else None,
            upper_theorem=upper if math.isfinite(ends[1]) else None,
            relation=self.relation,
            assumptions=self.assumptions(),
            log_lower=logs[0],
            log_upper=logs[1],
            upper_width=widths[0],
            lower_width=widths[1],
            witness=witness,
        )

    @property
    def normal(self) -> Gaussian | None:
        """Noise on numbers; on vectors, that along the diameter of the ball, where two may differ.

        None of bits.
        """
        noise = self.mechanism
        if isinstance(noise, GaussianBall):
            return noise.coordinate_noise
        return noise if isinstance(noise, Gaussian) else None

    @property
    def bits(self) -> Bits:
        """One coordinate's laws in balls; NotCertified where reports are no bits."""
        found = self.mechanism.added_bits()
        if found is None:
            raise NotCertified(
                f"{self.mechanism.name}: no sum of its reports is accounted for: wanted rappor, "
                "oue, a mechanism with one-bit reports, gaussian or gaussian-ball"
            )
        return found

    @property
    def count(self) -> int:
        """Coordinates of a report of bits."""
        found = self.mechanism.added_bits()
        return 1 if found is None else found.size

    @property
    def items(self) -> bool:
        """Whether every report holds exactly one 1 before it is randomized."""
        return self.ones == 1 and self.count > 1

    @property
    def of_all(self) -> AllDataSets:
        """One coordinate's delta, the largest of all data sets."""
        noise = None if self.added is None else self.added.law
        return all_data_sets(self.mechanism, self.n, noise)

    @property
    def changed(self) -> int:
        """Coordinates that a neighbour may change, in all rounds; of numbers the rounds."""
        if self.normal is not None:
            return self.rounds
        return sum(self.changes()[0]) * self.rounds

    @property
    def falling(self) -> int:
        """Coordinates of one pair of datasets that are alike: all if bits are symmetric.

        Else the coordinates that go from 1 to 0 (docs/theory-sums.md, Lemma 2.1).
        """
        if self.normal is not None or self.bits.mirrored:
            return self.changed
        return min(self.ones, self.count) * self.rounds

    def changes(self) -> list[tuple[int, int]]:
        """(coordinates that fall, coordinates that rise): as many as can be, up to the order."""
        count, ones = self.count, min(self.ones, self.count)
        if self.relation == REPLACE_SPECIAL:
            return [(ones, 0)]
        changed = min(2 * ones, count)
        down = {ones, -(-changed // 2)}
        return [(d, changed - d) for d in sorted(down)]

    def others(self, down: int, up: int) -> list[tuple[int, int]]:
        """Values (0 or 1) of all others at the coordinates that fall, and at those that rise."""
        found = [(0, 0)] if not self.items or self.count > down + up else []
        found += [(1, 0)] if down else []
        found += [(0, 1)] if up else []
        return [*found, *([(1, 1)] if down + up <= self.ones else [])]
