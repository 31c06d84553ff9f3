"""Label stealing in a crowd: free numbers are proposed in floats, and eps is searched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, precision_for
from shuffledp.ball.groups import Kind
from shuffledp.bounds.crowds import Groups, groups_of, log_delta
from shuffledp.kernel.contour import Contour
from shuffledp.kernel.crowd_sum import Free
from shuffledp.propose.crowds import FloatCrowd, Proposal, contour_of, estimate, propose
from shuffledp.propose.data_sets import MORE_BITS, finer
from shuffledp.propose.solve import Scale, root

__all__ = ["Certified", "Stealing"]

# First guess of log delta, the largest number of guesses, and the least guess.
_GUESS, _GUESSES, _DEEPEST = -20.0, 3, -1500.0
# Least and largest eps that is tried, and the most certificates for one eps.
_SMALLEST, _LARGEST, _CERTIFICATES = 1e-9, 40.0, 8
# How far log delta may end below the target: 1e-6 of eps where log delta falls by 20 or more from
# eps to twice eps.
_NEAR = 2e-5
# Most rounds of proposing at the last eps found, and the relative change at which they end.
_ROUNDS, _SETTLED = 4, 1e-3
# h alpha of a quick bound; it costs (h alpha)^2/2 of delta.
_QUICK = 0.03


class Certified(NamedTuple):
    """A certified bound, and the free numbers of all pairs that reproduce it.

    Attributes
    ----------
    epsilon, log_delta : float
        log delta(epsilon) <= log_delta.
    numbers : tuple of (Free, Contour)
        One for each pair.
    """

    epsilon: float
    log_delta: float
    numbers: tuple[tuple[Free, Contour], ...]


class Stealing:
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
        self.groups, self.kind, self.victim = groups, kind, victim
        self.pairs = kind.pairs[victim]
        with ctx.workprec(precision_for(sum(count for _, count in groups))):
            self._floats = self._float_crowds()
        self._last: dict[int, Free] = {}

    def _float_crowds(self) -> list[FloatCrowd]:
        rows, others = groups_of(self.groups, self.kind, self.victim)
        laws = tuple(np.array([_floats(row) for row in one.rows]) for one in others)
        least = np.array([_floats(one.least) for one in others])
        users = np.array([float(one.users) for one in others])
        return [
            FloatCrowd(np.array([_floats(rows[x]) for x in pair]), laws, least, users)
            for pair in self.pairs
        ]

    # ------------------------------------------------------------------------------ questions

    def log_delta(self, epsilon: float, *, quick: bool = False) -> Certified | None:
        """Upper bound of log delta at this eps > 0; None where no reservoir is large enough.

        Parameters
        ----------
        epsilon : float
            eps in nats.
        quick : bool
            For curves: a smoothing that costs 4e-4 of delta, and a search that starts from the last
            quick question's numbers. All other answers depend on the question alone.
        """
        found = [self._proposed(i, epsilon, go_on=quick) for i in range(len(self.pairs))]
        if any(one is None for one in found):
            return None
        known = [one for one in found if one is not None]
        return self._certified(epsilon, known, smoothing=_QUICK if quick else None)

    def epsilon(self, log_target: float, *, cap: float) -> Certified | None:
        """An eps below ``cap`` whose certified bound is at most the target; None if none is found.

        Parameters
        ----------
        log_target : float
            log of the target delta.
        cap : float
            eps of the local guarantee, in nats.
        """
        log_target -= 4.0 * math.ulp(log_target)
        cap = min(cap, _LARGEST)
        found = self._worst_of_all(log_target, cap)
        return None if found is None else self._met(*found, log_target, cap)

    # ------------------------------------------------------------------------------ proposals

    def _proposed(
        self, i: int, epsilon: float, guess: float | None = None, *, go_on: bool = False
    ) -> Proposal | None:
        """Good free numbers for one pair.

        ``go_on``: guess log delta from the last numbers found.
        """
        crowd, near = self._floats[i], None
        about = _GUESS if guess is None else guess
        if go_on and i in self._last:
            near = estimate(crowd, epsilon, self._last[i])
        if near is not None:
            about = max(min(near.log_delta, -0.1), _DEEPEST)
        found = _served(crowd, epsilon, about)
        for _ in range(1, _GUESSES if guess is None and near is None else 1):
            if found is not None:
                about = max(min(found.log_delta, -0.1), _DEEPEST)
                found = _served(crowd, epsilon, about) or found
        if found is not None and go_on:
            self._last[i] = found.free
        return found

    def _worst_of_all(self, log_target: float, cap: float) -> tuple[float, list[Proposal]] | None:
        """An estimate of the eps at which the worst pair meets the target, with proposals."""
        epsilon = 0.0
        worst, tried = 0, set[int]()
        while worst not in tried:
            tried.add(worst)
            found = self._solved(worst, log_target, epsilon or _first_eps(log_target, cap), cap)
            if found is None:
                return None
            epsilon = max(epsilon, found)
            proposals = [self._proposed(i, epsilon, log_target) for i in range(len(self.pairs))]
            if any(one is None for one in proposals):
                return None
            known = [one for one in proposals if one is not None]
            logs = [one.log_delta for one in known]
            worst = max(range(len(logs)), key=logs.__getitem__)
            if logs[worst] <= log_target + _SETTLED or worst in tried:
                return epsilon, known
        return None

    def _solved(self, i: int, log_target: float, start: float, cap: float) -> float | None:
        """The eps at which the estimate for one pair meets the target."""
        crowd, epsilon = self._floats[i], start
        for _ in range(_ROUNDS):
            found = self._proposed(i, epsilon, log_target)
            if found is None:
                epsilon *= 0.5
                if epsilon < _SMALLEST:
                    return None
                continue

            def log_delta(at: float, free: Free = found.free) -> float:
                there = estimate(crowd, at, free)
                return math.inf if there is None else there.log_delta

            met = root(log_delta, log_target, epsilon, Scale(cap), tolerance=1e-6).epsilon
            if abs(met / epsilon - 1.0) < _SETTLED:
                return met
            epsilon = met
        return epsilon

    # ---------------------------------------------------------------------------- certificates

    def recomputed(self, epsilon: float, numbers: Sequence[tuple[Free, float, float]]) -> float:
        """The bound at the given free numbers, alpha and h of every pair, with more bits and nodes.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        numbers : sequence of (Free, float, float)
            Free numbers, alpha and h for each pair.
        """
        contours = [
            (free, finer(contour_of(crowd, epsilon, free, alpha, smoothing)))
            for crowd, (free, alpha, smoothing) in zip(self._floats, numbers, strict=False)
        ]
        return self._log_bound(epsilon, contours, more_bits=MORE_BITS)

    def _certified(
        self, epsilon: float, found: Sequence[Proposal], *, smoothing: float | None = None
    ) -> Certified:
        """The bound at these numbers; ``smoothing``: h alpha, in place of the proposed one."""
        numbers = [
            (
                one.free,
                contour_of(
                    crowd,
                    epsilon,
                    one.free,
                    one.alpha,
                    None if smoothing is None else smoothing / one.alpha,
                ),
            )
            for crowd, one in zip(self._floats, found, strict=True)
        ]
        order = sorted(range(len(found)), key=lambda i: -found[i].log_delta)
        log = self._log_bound(epsilon, numbers, order)
        return Certified(epsilon, log, tuple(numbers))

    def _log_bound(
        self,
        epsilon: float,
        numbers: Sequence[tuple[Free, Contour]],
        first: Sequence[int] = (),
        *,
        more_bits: int = 0,
    ) -> float:
        crowd = self.groups, self.kind, self.victim
        return log_delta(*crowd, epsilon, numbers, first=first, more_bits=more_bits)

    def _met(
        self, start: float, found: Sequence[Proposal], log_target: float, cap: float
    ) -> Certified | None:
        """Certify near this eps; each miss of the target moves eps along the slope of log delta."""
        best: Certified | None = None
        epsilon, low, slope = min(start, cap), 0.0, -20.0
        last: tuple[float, float] | None = None
        for _ in range(_CERTIFICATES):
            one = self._certified(epsilon, found)
            gap = one.log_delta - log_target
            if last is not None and epsilon != last[0] and math.isfinite(gap + last[1]):
                slope = min((gap - last[1]) / math.log(epsilon / last[0]), -0.1)
            last = (epsilon, gap)
            if gap <= 0.0 and (best is None or epsilon < best.epsilon):
                best = one
            elif gap > 0.0:
                low = max(low, epsilon)
            if best is not None and (-_NEAR < gap <= 0.0 or best.epsilon <= low * (1.0 + 1e-8)):
                break
            step = -(gap + 0.3 * _NEAR) / slope if math.isfinite(gap) else 0.3
            epsilon *= math.exp(max(min(-step, 0.3), -0.3) if gap <= 0.0 else min(abs(step), 0.3))
            high = cap if best is None else best.epsilon
            if not low < epsilon < high:
                if best is None and low >= cap:
                    return None
                epsilon = high if best is None else math.sqrt(max(low, _SMALLEST) * high)
        return best


def _floats(row: Sequence[arb]) -> list[float]:
    return [float(x.mid()) for x in row]


def _served(crowd: FloatCrowd, epsilon: float, log_delta: float) -> Proposal | None:
    """A proposal for log delta near this value, or for a larger one if there is none."""
    for _ in range(8):
        found = propose(crowd, epsilon, log_delta)
        if found is not None or log_delta > -0.2:
            return found
        log_delta *= 0.5
    return None


def _first_eps(log_target: float, cap: float) -> float:
    return min(max(0.5 * cap, _SMALLEST), 0.02 * math.sqrt(-2.0 * log_target))
