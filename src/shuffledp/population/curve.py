"""The curve of a crowd for rounds: of one group's members, hidden by all groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.rounds.curve import Sharper
from shuffledp.values.work import Answers, Beside

# Where the own group's other bound promises less than this less it is not asked for.
_CLEAR = 0.1


@dataclass(frozen=True)
class CrowdCurve:
    """log delta's least upper bound at each eps, by all groups and by the own one.

    A pointwise minimum of upper bounds of one supremum is one, and rounds may rest on it
    (docs/theory-composition.md, Lemma 1.6).

    Attributes
    ----------
    upper : callable
        log of what is certified by all groups together; 0 where nothing is.
    own : Sharper, optional
        What the own group's rounds have beside their profiles.
    """

    upper: Callable[[float], float] = field(repr=False)
    own: Sharper | None = field(repr=False)

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0, 0 where there is none.

        Parameters
        ----------
        epsilon : float
            eps in nats.
        """
        found = self._of_all(epsilon)
        if self.own is not None and self.own.rough(epsilon) < found - _CLEAR:
            return min(found, self.own.log_upper(epsilon))
        return found

    def rough(self, epsilon: float) -> float:
        """About the same."""
        found = self._of_all(epsilon)
        return found if self.own is None else min(found, self.own.rough(epsilon))

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """No certificate is written of a crowd's rounds."""
        del epsilon

    def _of_all(self, epsilon: float) -> float:
        return _FOUND.of(self).answer(epsilon, lambda: self.upper(epsilon))


_FOUND: Beside[CrowdCurve, Answers] = Beside(lambda _: Answers())
