"""What sums say of several users who change at once: what ``models.chained`` asks of a view."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp import theorems
from shuffledp.bound import Theorem
from shuffledp.bounds.several_bits import log_threshold
from shuffledp.randomizers import Gaussian
from shuffledp.rounds import compose, stated
from shuffledp.views.certified import log_upper
from shuffledp.views.datasets import (
    all_datasets,
    local_guarantee,
    one_coordinate,
    pure_of_coordinates,
)
from shuffledp.views.sums import Sums

__all__ = ["OfSums"]


class OfSums(Sums):
    """Sums, asked of several users: upper ends of one at any eps, lower ends of many."""

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """log of delta's upper end for one user, at any eps.

        Parameters
        ----------
        log_target : float
            How far down the curve of one coordinate is followed.
        """
        if isinstance(self.mechanism, Gaussian):
            return lambda epsilon: log_upper(self, epsilon=epsilon, log_target=log_target)
        if self.changed == 1:
            one = all_datasets(self)
            return lambda epsilon: one.log_delta(epsilon).high
        part = stated(one_coordinate(self), log_target=log_target, rounds=self.changed, lower=False)
        made = compose([(part, self.changed)])

        def at(epsilon: float) -> float:
            found = made.delta(epsilon=epsilon).log_upper
            return 0.0 if found is None else found

        return at

    def log_lowers(self, changed: int) -> Callable[[float], float] | None:
        """log of a lower end of delta, k users changed at once: the largest of three data sets.

        Ones of all coordinates that fall, and zeros of those that rise, are added up to one number
        (docs/theory-sums.md, Lemma 7.2).

        Parameters
        ----------
        changed : int
            k.
        """
        times = self.falling
        bits, rest = self.coordinates.bits, self.n - changed
        noise = None if self.added is None else self.added.law

        def at(epsilon: float) -> float:
            return max(
                log_threshold(
                    bits,
                    epsilon,
                    high=times * ones,
                    low=times * (rest - ones),
                    changed=times * changed,
                    noise=noise,
                    times=times,
                )
                for ones in sorted({0, rest // 2, rest})
            )

        return at

    def alone(self) -> float:
        """Pure guarantee of one user's reports, or of the sums if their noise has a smaller one."""
        own = local_guarantee(self)
        if self.added is None or isinstance(self.mechanism, Gaussian):
            return own
        return min(own, pure_of_coordinates(self))

    def upper_theorem_at(self, epsilon: float) -> Theorem | None:
        """What one user's upper end rests on, at every eps."""
        del epsilon
        if self.added is not None:
            return theorems.SUMS_ADDED
        return theorems.SUM_OF_NORMALS if isinstance(self.mechanism, Gaussian) else theorems.SUMS

    def together(self, changed: int) -> Sums | None:
        """Of normal noise: k users move the sum as far as one with a range k times as wide."""
        noise = self.mechanism
        if not isinstance(noise, Gaussian):
            return None
        width = (noise.high - noise.low) * changed * (1.0 + 4.0 * math.ulp(1.0))
        wider = Gaussian(sigma=noise.sigma, low=0.0, high=width)
        return Sums(wider, self.n, relation=self.relation, rounds=self.rounds, rtol=self.rtol)


def asked_of_several(view: Sums) -> OfSums:
    """The same sums, with what several users ask.

    Parameters
    ----------
    view : Sums
        What is added up.
    """
    fields = ("mechanism", "n", "ones", "relation", "rounds", "rtol", "added")
    return OfSums(**{key: getattr(view, key) for key in fields})
