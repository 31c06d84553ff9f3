"""Label stealing in a crowd, for a member of one group."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.ball.groups import Kind
from shuffledp.bounds.crowds import Groups, groups_of, log_delta
from shuffledp.propose.crowds import (
    FloatCrowd,
    Proposal,
    contour_of,
    estimate,
    propose,
    spread_of,
)
from shuffledp.propose.stealing_ends import End, Stealing, worst_of

__all__ = ["CrowdStealing"]

# Factors of a guess of log delta, for which no reservoir is large enough, that are tried in turn.
_SHALLOWER = tuple(0.5**k for k in range(8))
# A pair whose log delta is lower by more than this is not the worst at an eps nearby.
_FAR = 1.0
# h alpha of a bound for rounds; it costs (h alpha)^2/2 of delta.
_QUICK = 0.03


class CrowdStealing(Stealing):
    """Upper bounds by label stealing for a member of one group.

    Parameters
    ----------
    groups : sequence of (mechanism, int)
        Each group's mechanism and its number of users, the victim included.
    kind : Kind
        Which inputs and pairs of inputs are sufficient.
    victim : int
        Index of the victim's group. The crowd has at least one other member.
    """

    def __init__(self, groups: Groups, kind: Kind, victim: int) -> None:
        super().__init__()
        self._crowd = groups, kind, victim
        with ctx.workprec(precision_for(sum(count for _, count in groups))):
            rows, others = groups_of(groups, kind, victim)
            laws = tuple(np.array([_floats(row) for row in one.rows]) for one in others)
            least = np.array([_floats(one.least) for one in others])
            users = np.array([float(one.users) for one in others])
            self._floats = [
                FloatCrowd(np.array([_floats(rows[x]) for x in pair]), laws, least, users)
                for pair in kind.pairs[victim]
            ]

    @property
    def deviation(self) -> float:
        """Standard deviation of the privacy loss, to first order."""
        return math.sqrt(max(map(spread_of, self._floats)))

    def search(
        self, eps: float, about: float, last: Sequence[Proposal] | None
    ) -> Sequence[Proposal] | None:
        """Good free numbers for every pair."""
        found: list[Proposal] = []
        top = -math.inf if last is None else last[worst_of(last)].value
        for i, crowd in enumerate(self._floats):
            before = None if last is None else last[i]
            if before is not None and before.value < top - _FAR:
                one = estimate(crowd, eps, before.free)
            else:
                free = None if before is None else before.free
                tried = (propose(crowd, eps, about * share, free) for share in _SHALLOWER)
                one = next((each for each in tried if each is not None), None)
            if one is None:
                return None
            found.append(one)
        return found

    def moved(self, plans: Sequence[Proposal], eps: float, about: float) -> Sequence[Proposal]:
        """The same numbers at another eps, each at its saddle point there."""
        del about
        moved = [estimate(crowd, eps, x.free) for crowd, x in zip(self._floats, plans, strict=True)]
        return [
            old._replace(value=math.inf) if new is None else new
            for old, new in zip(plans, moved, strict=True)
        ]

    def bound(
        self,
        plans: Sequence[Proposal],
        eps: float,
        about: float,
        *,
        enough: float = -math.inf,
        rough: bool = False,
    ) -> End:
        """The largest bound of all pairs."""
        del about, enough
        numbers = [
            (x.free, contour_of(crowd, eps, x.free, x.alpha, _QUICK / x.alpha if rough else None))
            for crowd, x in zip(self._floats, plans, strict=True)
        ]
        order = sorted(range(len(plans)), key=lambda i: -plans[i].value)
        log = log_delta(*self._crowd, eps, numbers, first=order)
        return End(eps, log, numbers, order[0])


def _floats(row: Sequence[arb]) -> list[float]:
    return [float(x.mid()) for x in row]
