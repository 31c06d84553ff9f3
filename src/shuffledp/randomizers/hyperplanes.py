"""What mechanisms whose reports support the items of a hyperplane over a finite field share."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.arithmetic.balls import nmod_mat
from shuffledp.ball.outputs import check_inputs
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.mechanism import Domain, LocalEpsilon
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.randomizers.primes import field_size
from shuffledp.theorems import HYPERPLANE_PAIRS, HYPERPLANE_TRIPLES


@dataclass(frozen=True, kw_only=True, repr=False)
class HyperplaneResponse(FrequencyRandomizer):
    """R_x(y) is e^eps0 times as large where the vectors of x and y have the product 0 as elsewhere.

    Any two inputs' vectors are independent, so all pairs have one law; three are dependent or not,
    so there are two kinds of third inputs. Subclasses give ``normals``, ``support``, ``_others``,
    ``_best_prime`` and how reports are drawn and counted.
    """

    domain: Domain
    eps0: LocalEpsilon
    q: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "q", field_size(self.q, self._best_prime))

    @abstractmethod
    def _best_prime(self) -> int:
        """The field's size where none is given."""

    @property
    @abstractmethod
    def _others(self) -> tuple[int, ...]:
        """0, 1, and a third input on the line through these and one off it, where there are."""

    @abstractmethod
    def normals(self, inputs: Sequence[int]) -> list[list[int]]:
        """Vectors of inputs, of which reports take the product with their own."""

    def others(self) -> Others:
        """0 and 1, the pair; a third input on the line through these and one off it."""
        return Others("alike", HYPERPLANE_TRIPLES, ((0, 1),), self._others)

    def orthogonal(self, inputs: Sequence[Any]) -> dict[tuple[bool, ...], int]:
        """Numbers of vectors orthogonal to exactly these normals of different inputs, by which.

        q^(m - rank) are orthogonal to all of a set and perhaps to more; inclusion and exclusion
        over the sets that contain it leaves those orthogonal to no more.
        """
        check_inputs(inputs, self.domain)
        normals = self.normals(inputs)
        q, m = self.size, len(normals[0])
        at_least: dict[tuple[bool, ...], int] = {}
        for flags in itertools.product((False, True), repeat=len(normals)):
            rows = [row for row, flag in zip(normals, flags, strict=True) if flag]
            at_least[flags] = q ** (m - (nmod_mat(rows, q).rank() if rows else 0))
        found = {}
        for flags in at_least:
            larger = (
                (-1) ** (sum(more) - sum(flags)) * number
                for more, number in at_least.items()
                if all(b >= a for a, b in zip(flags, more, strict=True))
            )
            found[flags] = sum(larger)
        return found

    @property
    def items(self) -> int:
        """The domain's size."""
        return self.domain

    @property
    def size(self) -> int:
        """q."""
        return 0 if self.q is None else self.q

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs have one law, in both directions."""
        return WorstPairs(((0, 1),), HYPERPLANE_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1, or a third value on or off the line through these."""
        return tuple((0, 1, x2) for x2 in self._others)
