"""What mechanisms whose reports support the items of a hyperplane over a finite field share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.mechanism import Domain, LocalEpsilon
from shuffledp.randomizers.base import WorstPairs
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.randomizers.primes import field_size
from shuffledp.theorems import HYPERPLANE_PAIRS


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
