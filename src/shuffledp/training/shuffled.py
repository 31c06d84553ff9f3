"""One epoch of noisy clipped gradients in random order: the clone at several local guarantees."""

from __future__ import annotations

import math

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import LogInterval, log_add
from shuffledp.bounds.clones import stronger_clone_pair
from shuffledp.bounds.pairs import End
from shuffledp.propose.profile import LOOSE, Profile
from shuffledp.rounds.curve import Source
from shuffledp.rounds.gaussian import GaussianCurve, log_delta_gaussian
from shuffledp.search import least_epsilon

U = UNIT_ROUNDOFF

# A clone is rarer than e^-60 with a larger one: it hides nobody.
_LARGEST_EPS0 = 60.0
# log of n delta0 of the local guarantees that are tried.
_LEVELS = tuple(-2.0 - 1.35**k for k in range(19))
# Relative distance of eps0 from the least one: any eps0 gives a valid bound.
_NEAR = 1e-9
# In log eps: so near to each other the same clones, or their neighbours in the list, are the best.
_BUCKET = 0.15


class EpochCurve:
    """Upper bound of one epoch's curve: the clone at several (eps0, delta0), and no shuffling.

    (docs/theory-composition.md, Theorem 5.1.)

    Parameters
    ----------
    n : int
        Users.
    distance : float
        Between two clipped gradients, in deviations of the noise on each.
    alone : Source, optional
        An upper bound without the shuffle; by default that of one noisy gradient.
    """

    def __init__(self, *, n: int, distance: float, alone: Source | None = None) -> None:
        self.alone = GaussianCurve(distance) if alone is None else alone
        self.clones: list[tuple[Profile, float]] = []
        self.chosen: dict[int, int] = {}
        for level in _LEVELS:
            found = least_epsilon(
                lambda eps: log_delta_gaussian(distance, eps).high,
                level - math.log(n),
                start=1.0,
                cap=_LARGEST_EPS0,
                rtol=_NEAR,
            )
            if found is None:
                continue
            eps0 = found.value
            extra = log_extra(eps0, log_delta_gaussian(distance, eps0).high, n)
            self.clones.append((Profile(stronger_clone_pair(eps0=eps0, n=n)), extra))

    def log_delta(self, epsilon: float, *, width: float = LOOSE, end: End = "upper") -> LogInterval:
        """The bound that looks best. The least of several is not one curve: no lower end."""
        found = LogInterval(-math.inf, self.alone.log_delta(epsilon, width=width, end=end).high)
        if self.clones:
            profile, extra = self.clones[self._best(epsilon)]
            inner = profile.log_delta(epsilon, width=width, end=end)
            more = extra + log_add(0.0, epsilon) + 16 * U * (1.0 + abs(extra) + epsilon)
            high = log_add(inner.high, more) + 1e-13
            found = LogInterval(-math.inf, min(high, found.high, 0.0))
        return found

    def rough_log_delta(self, epsilon: float) -> float:
        """The least estimate."""
        alone = self.alone.rough_log_delta(epsilon)
        return min(alone, self._rough(self._best(epsilon), epsilon)) if self.clones else alone

    def log_floor(self) -> float:
        """Nothing is known to be seen for sure."""
        return -math.inf

    def _best(self, epsilon: float) -> int:
        """The clone that looks best; any is valid. Looked for among all at every few eps only."""
        bucket = round(math.log(epsilon + 1e-9) / _BUCKET)
        if bucket not in self.chosen:
            middle = math.exp(bucket * _BUCKET)
            found = [self._rough(i, middle) for i in range(len(self.clones))]
            self.chosen[bucket] = min(range(len(found)), key=found.__getitem__)
        at = self.chosen[bucket]
        near = range(max(at - 1, 0), min(at + 2, len(self.clones)))
        return min(near, key=lambda i: self._rough(i, epsilon))

    def _rough(self, index: int, epsilon: float) -> float:
        profile, extra = self.clones[index]
        return log_add(profile.rough_log_delta(epsilon), extra + log_add(0.0, epsilon))


def log_extra(eps0: float, log_delta0: float, n: int) -> float:
    """log of what is added to the clone's delta, without the factor 1 + e^eps."""
    small = math.exp(-eps0)
    # delta0/(E + 1) + (n - 1)(2 delta0/E)(1 + 1/(E + 1))
    inverse = small / (1.0 + small)
    factor = inverse + (n - 1) * 2.0 * small * (1.0 + inverse)
    return log_delta0 + math.log(factor) + 1e-13 * (1.0 + abs(log_delta0) + eps0)
