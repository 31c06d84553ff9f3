"""A victim's pair among the others of a crowd: measures for free numbers, and a choice of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.crowds.kernel import CrowdGains, Group, log_crowd_bound
from shuffledp.numerics.roots import bracketed_root
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers import JointLaw
from shuffledp.stealing.measures import Measure, Split, difference, labelled, reservoir
from shuffledp.stealing.positive_sum import LARGEST_EXPONENT, Contour, nodes_of

U = UNIT_ROUNDOFF
# The empty reservoir may cost this share of delta.
_TAIL = 0.002
# Reservoirs that are tried against the smallest that keeps the empty one from mattering, and how
# dense they are where an output speaks against the victim's x0.
_LARGER, _AGAINST = (2.0, 1.0, 5.0, 15.0), (0.2, 1.0, 0.05)
# The share of what all laws have in common that a reservoir may have.
_MOST = 0.97
# As in ``stealing.proposal``: h alpha, and steps against both scales.
_SMOOTHING, _SUM_STEP, _PAYOFF_STEP = 0.04, 1.2, 0.6


class Choice(NamedTuple):
    """The free numbers.

    Attributes
    ----------
    gain, loss : float
        omega is this share of min_k B_k/q_k where g > 0, and where g <= 0.
    theta : float
        Probability to join the reservoir.
    shares : tuple of float
        q_k for each group, 0 < q_k <= 1.
    """

    gain: float
    loss: float
    theta: float
    shares: tuple[float, ...]


class Proposal(NamedTuple):
    """A choice, where its sum is taken, and about the log delta it gives."""

    choice: Choice
    contour: Contour
    log_delta: float


@dataclass(frozen=True, eq=False)
class Others:
    """One group of others: how many, the laws they may have, and the minimum over all inputs."""

    count: int
    rows: Array
    blanket: Array


@dataclass(frozen=True, eq=False)
class CrowdCase:
    """A victim with two laws among groups of others on the same outputs.

    Attributes
    ----------
    victim : ndarray, shape (2, C)
        The victim's laws, in the order of the divergence.
    others : tuple of Others
        Groups with at least one user each.
    rel : float
        Bound on the relative errors of all entries.
    ties : bool
        As of ``Table``.
    """

    victim: Array
    others: tuple[Others, ...]
    rel: float
    ties: bool

    def gains(self, epsilon: float, choice: Choice) -> CrowdGains:
        """The measures at this eps."""
        common = self._omega(epsilon, choice)
        join = np.where(common > 0.0, choice.theta, 0.0)
        laws = [self._law(group.rows) for group in self.others]
        g = difference(laws[0], epsilon)
        groups = []
        for group, law, share in zip(self.others, laws, choice.shares, strict=True):
            split = Split(share * common, join)
            types = [_scaled(labelled(law, 2 + j, g, split), share) for j in range(len(group.rows))]
            groups.append(Group(group.count, share, types))
        positive = math.fsum((1.0 - join) * g.positive) * (1.0 + 2.0**-50)
        return CrowdGains(reservoir(laws[0], g, Split(common, join)), groups, positive)

    def log_bound(self, epsilon: float, choice: Choice, contour: Contour) -> float:
        """Upper bound of log delta at this eps."""
        return log_crowd_bound(self.gains(epsilon, choice), contour)

    def _law(self, rows: Array) -> JointLaw:
        mass = np.concatenate([self.victim, rows])
        # The victim's own laws say whether they are told apart: there is no blanket here.
        ties = JointLaw(self.victim, self.victim.min(axis=0), self.rel, ties=self.ties).ties
        # q omega has a rounding of its own.
        return JointLaw(mass, np.zeros(mass.shape[1]), self.rel + 8 * U, ties=ties)

    def _omega(self, epsilon: float, choice: Choice) -> Array:
        """kappa(y) min_k B_k(y)/q_k: below every law of group k when it is multiplied by q_k."""
        least = np.min(
            [group.blanket / q for group, q in zip(self.others, choice.shares, strict=True)], axis=0
        )
        g = difference(self._law(self.others[0].rows), epsilon).high
        return np.where(g > 0.0, choice.gain, choice.loss) * least

    def propose(self, epsilon: float, log_target: float) -> Proposal | None:
        """A good choice where log delta is about that, one number varied after the other.

        None where no reservoir is large enough.
        """
        best: Proposal | None = None
        at: tuple[int, ...] = (0, 0, 0)
        tried: set[tuple[int, ...]] = set()
        shares = self._shares(epsilon)
        for place, options in enumerate((_LARGER, _AGAINST, shares, _LARGER)):
            where = (0, 1, 2, 0)[place]
            for i in range(len(options)):
                now = (*at[:where], i, *at[where + 1 :])
                if now in tried:
                    continue
                tried.add(now)
                choice = self._sized(
                    epsilon, log_target, _LARGER[now[0]], _AGAINST[now[1]], shares[now[2]]
                )
                found = None if choice is None else self._estimated(epsilon, choice)
                if found is not None and (best is None or found.log_delta < best.log_delta):
                    best, at = found, now
        return best

    def _shares(self, epsilon: float) -> list[tuple[float, ...]]:
        """q_k in proportion to 1/V_k, less different, and all alike."""
        g = difference(self._law(self.others[0].rows), epsilon).high
        spreads = [max(_spread(g, row) for row in group.rows) for group in self.others]
        if not all(math.isfinite(v) and v > 0.0 for v in spreads):
            return [(1.0,) * len(spreads)]
        least = min(spreads)
        varied = [max(least / v, 1e-6) for v in spreads]
        tried = [varied, [math.sqrt(q) for q in varied], [1.0] * len(varied)]
        return list(dict.fromkeys(tuple(one) for one in tried))

    def _sized(
        self,
        epsilon: float,
        log_target: float,
        factor: float,
        ratio: float,
        shares: tuple[float, ...],
    ) -> Choice | None:
        """A reservoir ``factor`` times the least; None where the laws have not that in common."""
        g = difference(self._law(self.others[0].rows), epsilon).high
        unit = self._omega(epsilon, Choice(1.0, 1.0, 0.5, shares))
        mass = float((unit * np.where(g > 0.0, 1.0, ratio)).sum())
        expected = sum(group.count * q for group, q in zip(self.others, shares, strict=True))
        if mass <= 0.0:
            return None
        kappa = -factor * (log_target + math.log(_TAIL)) / (expected * mass)
        if kappa > _MOST:
            return None
        half = Choice(kappa, ratio * kappa, 0.5, shares)
        return half._replace(theta=self._balanced(epsilon, half))

    def _balanced(self, epsilon: float, half: Choice) -> float:
        """theta that makes the sum's variance least: theta^2 A + (1 - theta)^2 B."""
        found = self.gains(epsilon, half)
        expected = sum(group.count * group.share for group in found.groups)
        joined = expected * found.reservoir.second_moment
        stolen = sum(group.count * _worst(group).second_moment for group in found.groups)
        return stolen / (joined + stolen) if joined + stolen > 0.0 else 0.5

    def _estimated(self, epsilon: float, choice: Choice) -> Proposal | None:
        """The contour for a choice, and about the log delta it gives."""
        gains = self.gains(epsilon, choice)
        types = [_worst(group) for group in gains.groups]
        found = _saddle(gains, types)
        if found is None:
            return None
        alpha, value, within = found
        smoothing = _SMOOTHING / alpha
        step = min(_SUM_STEP / within if within > 0.0 else math.inf, _PAYOFF_STEP * alpha)
        paid = gains.positive * math.exp(_log_empty(gains))
        paid += gains.reservoir.lost + max(law.lost for law in types)
        total = float(np.logaddexp(value, math.log(paid))) if paid > 0.0 else value
        return Proposal(choice, Contour(alpha, smoothing, step, nodes_of(smoothing, step)), total)


def _root_or_end(rising: Callable[[float], float], low: float, high: float) -> float:
    if rising(high) < 0.0:
        return high
    return low if rising(low) > 0.0 else bracketed_root(rising, low, high, absolute=1e-4)


def _scaled(law: Measure, share: float) -> Measure:
    """Gains times q_k, rounded up."""
    gain = law.gain * share
    return Measure(law.mass, gain + 4 * U * np.abs(gain), law.lost, law.rel)


def _spread(g: Array, row: Array) -> float:
    # Far out in eps its squares leave the floats: infinite, as where an output is impossible.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return float(np.where(g != 0.0, g * g / row, 0.0).sum())


def _worst(group: Group) -> Measure:
    return max(group.types, key=lambda law: law.second_moment)


def _log_empty(gains: CrowdGains) -> float:
    mass = float(gains.reservoir.mass.sum())
    return sum(g.count * math.log1p(-min(g.share * mass, 1.0 - 1e-16)) for g in gains.groups)


def _saddle(gains: CrowdGains, types: Sequence[Measure]) -> tuple[float, float, float] | None:
    """alpha of sum_k N_k log(q_k c + d_k) - 2 log alpha, about log of the integral, deviation."""
    laws = [gains.reservoir, *types]
    if not gains.reservoir.mass.size:
        return None
    top = max(float(law.gain.max(initial=-math.inf)) for law in laws)
    if top <= 0.0:
        return 1.0, -math.inf, 0.0

    def parts(alpha: float) -> list[tuple[float, float, float]]:
        """Of each law: mass added by the tilt, tilted first and second moments."""
        found = []
        for law in laws:
            weight = law.mass * np.exp(np.maximum(alpha * law.gain, -700.0))
            rise = float((law.mass * np.expm1(alpha * law.gain)).sum())
            found.append((rise, float(weight @ law.gain), float(weight @ law.gain**2)))
        return found

    def slope(log_alpha: float) -> float:
        alpha = math.exp(log_alpha)
        (rise, first, _), *rest = parts(alpha)
        total = 0.0
        for group, (more, moment, _) in zip(gains.groups, rest, strict=True):
            total += group.count * (group.share * first + moment) / (1 + group.share * rise + more)
        return alpha * total - 2.0

    high = math.log(LARGEST_EXPONENT / top) - 0.01
    spread = sum(g.count * law.second_moment for g, law in zip(gains.groups, types, strict=True))
    low = min(-0.5 * math.log(max(spread, 1e-300)) - 5.0, high - 1.0)
    log_alpha = _root_or_end(slope, low, high)
    alpha = math.exp(log_alpha)
    (rise, first, second), *rest = parts(alpha)
    mass = float(gains.reservoir.mass.sum()) + rise
    power = within = expected = 0.0
    for group, law, (more, moment, square) in zip(gains.groups, types, rest, strict=True):
        whole = 1.0 + group.share * rise + more
        inside = whole - group.share * mass
        power += group.count * math.log(whole)
        expected += group.count * group.share * mass / whole
        spread_in = second - first * first / mass if mass > 0.0 else 0.0
        spread_out = square - moment * moment / inside if inside > 0.0 else 0.0
        within += group.count * (group.share * spread_in + spread_out) / whole
        del law
    if not mass > 0.0:
        # Tilted so far that nothing is left of the reservoir.
        return None
    value = power + math.log(mass) - math.log(max(expected, 1.0)) - 2.0 * log_alpha
    value -= 0.5 * math.log(2.0 * math.pi * (within + 2.0 / alpha**2))
    return alpha, value, math.sqrt(max(within, 0.0))
