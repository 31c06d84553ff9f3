"""The label-stealing bound for others of several groups, certified for given free numbers.

Group k has N_k others, each with one of the laws R_kj; omega is one measure for all groups, with
q_k omega <= R_kj. With X_0 = s g/omega under omega (transform c), X_kj = (1 - s) q_k g/t_kj under
t_kj <= R_kj - q_k omega (transform d_kj, what is left over at gain 0 included), and for
s = alpha + i tau (docs/theory-crowds.md, Theorems 2.2 and 3.1)

    delta <= tail + lost + max over one type j(k) in each group of
             (1/2 pi) int |c| int_0^1 prod_k (u q_k |c| + |d_k,j(k)|)^N_k du w dtau,

    |c| <= c0 (1 + |phi_c|^2)/2 and so on: positive definite, one positive sum at any step.

The integral over u of P(u) = prod_k (u a_k + b_k)^N_k is at most P(1)/mu, mu = P'(1)/P(1), as log P
is concave, and at most P(1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.numerics import log_add, log_of
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import (
    Contour,
    or_infinite,
    spreads,
    tilt,
    within_range,
)

U = UNIT_ROUNDOFF
# Choices of one type in each group that are looked at.
MOST_CHOICES = 4096
# Terms below e^-700 of the largest count as that.
_NEVER = 700.0


@dataclass(frozen=True, eq=False)
class Group:
    """Others with one mechanism.

    Attributes
    ----------
    count : int
        N_k >= 1.
    share : float
        q_k, 0 < q_k <= 1: the exact number.
    types : sequence of Measure
        For each input: t_kj with the gains (1 - s) q_k g/t_kj, without what is left over.
    """

    count: int
    share: float
    types: Sequence[Measure]


class CrowdGains(NamedTuple):
    """All that the bound needs at one eps.

    Attributes
    ----------
    reservoir : Measure
        omega with the gains s g/omega.
    groups : sequence of Group
        The others; the victim is none of them.
    positive : float
        Upper bound of int (1 - s) g_+, paid where the reservoir is empty.
    """

    reservoir: Measure
    groups: Sequence[Group]
    positive: float


class _Type(NamedTuple):
    """One type of a group on the line s = alpha + i tau.

    Attributes
    ----------
    power : float
        Upper bound of N_k log(q_k c0 + d0).
    falls : ndarray, shape (nodes + 1,)
        Upper bounds of N_k log psi at the nodes, psi the type's share of both parts' psi.
    expected : float
        Lower bound of N_k q_k c0/(q_k c0 + d0).
    """

    power: float
    falls: Array
    expected: float


def log_crowd_bound(gains: CrowdGains, at: Contour) -> float:
    """Upper bound of log delta.

    Parameters
    ----------
    gains : CrowdGains
        Of any size: alpha is lowered where alpha times the largest is more than 600.
    at : Contour
        Any choice is valid.
    """
    reservoir = gains.reservoir
    lost = max((law.lost for group in gains.groups for law in group.types), default=0.0)
    paid = (_tail(gains) + reservoir.lost + lost) * (1.0 + 16 * U)
    if not reservoir.mass.size:
        return math.log(paid) + 4 * U * abs(math.log(paid)) if paid > 0.0 else -math.inf
    laws = (reservoir, *(law for group in gains.groups for law in group.types))
    at = within_range(at, max(float(law.gain.max(initial=0.0)) for law in laws))
    common = tilt(reservoir.raised(), at.alpha)
    t = at.step * np.arange(at.nodes + 1)
    rel = 4.0 * common.rel + 16 * U
    joined = 0.5 * np.clip(spreads(common, at.step, at.nodes) * (1.0 - rel), 0.0, 1.0)
    groups = [
        [_on_line(group, law, reservoir, joined, at) for law in group.types]
        for group in gains.groups
    ]
    # Masses whose tilted size is below e^-700 are no part of ``mass``.
    leading = math.log(common.mass * (1.0 + common.rel) + 1e-290)
    best = max(or_infinite(_log_sum(choice, joined, t, at)) for choice in _choices(groups))
    best += leading + 16 * U * (abs(best) + abs(leading) + 1.0)
    return log_add(best, log_of(paid), outward=1.0)


def _choices(groups: list[list[_Type]]) -> Iterator[tuple[_Type, ...]]:
    """One type in each group; where these are too many, one that is above all of a group's."""
    if math.prod(len(types) for types in groups) > MOST_CHOICES:
        groups = [[_above(types)] for types in groups]
    return itertools.product(*groups)


def _above(types: list[_Type]) -> _Type:
    """The largest at every node: the sum for it is at least that for each."""
    power = max(found.power for found in types)
    falls = np.max([found.falls + (found.power - power) for found in types], axis=0)
    # Differences of powers are off by a unit roundoff of these.
    falls += 4 * U * (np.abs(falls) + max(abs(found.power) for found in types))
    return _Type(power, falls, min(found.expected for found in types))


def _tail(gains: CrowdGains) -> float:
    """prod_k (1 - q_k |omega|)^N_k int (1 - s) g_+, rounded up."""
    mass = math.fsum(gains.reservoir.mass) * (1.0 - 4 * U)
    log = 0.0
    for group in gains.groups:
        inside = min(group.share * mass * (1.0 - 4 * U), 1.0)
        if inside >= 1.0:
            return 0.0
        log += group.count * math.log1p(-inside)
    return gains.positive * math.exp(log * (1.0 - 8 * U)) * (1.0 + 8 * U)


def _on_line(group: Group, law: Measure, reservoir: Measure, joined: Array, at: Contour) -> _Type:
    """A type's masses raised, with the largest left-over at gain 0, at the nodes.

    The masses then sum to a little more than one (docs/theory-stealing.md, Lemma 4.1).
    """
    share = group.share
    own = [-share * mass for mass in reservoir.mass]
    left = math.fsum([1.0, *own, *(-law.mass)])
    top, common = law.raised(), reservoir.raised()
    mass = np.append(top.mass, max(left, 0.0) + 8 * U + 1e-300)
    whole = Measure(mass, np.append(top.gain, 0.0), law.lost, 0.0)
    excess = math.fsum([-1.0, *(share * m for m in common.mass), *whole.mass])
    excess += 8 * U * abs(excess) + 4 * U
    inside, tilted = tilt(common, at.alpha), tilt(whole, at.alpha)
    rise = share * inside.rise + tilted.rise
    err = share * inside.rise_err + tilted.rise_err
    err += 4 * U * (share * abs(inside.rise) + abs(tilted.rise) + abs(excess))
    log_mass = math.log1p(rise + err + excess)
    rel = 4.0 * (inside.rel + tilted.rel) + 16 * U
    total = share * inside.mass + tilted.mass
    part, other = share * inside.mass / total, tilted.mass / total
    stolen = 0.5 * np.clip(spreads(tilted, at.step, at.nodes) * (1.0 - rel), 0.0, 1.0)
    missing = np.clip((part * joined + other * stolen) * (1.0 - rel), 0.0, 0.75)
    falls = group.count * np.log1p(-missing)
    power = group.count * log_mass
    return _Type(
        power + 8 * U * abs(power), falls * (1.0 - 16 * U), group.count * part * (1.0 - rel)
    )


def _log_sum(choice: tuple[_Type, ...], joined: Array, t: Array, at: Contour) -> float:
    """log of (D/2 pi) sum_j psi_c w int_0^1 prod_k (u a_k + b_k)^N_k du, nodes left out included.

    The integral over u is at most P(1)/mu with mu >= psi_c M, M the sum of ``expected``: the term's
    own psi_c cancels. It is at most P(1), too.
    """
    alpha, smoothing, _, nodes = at
    power = math.fsum(found.power for found in choice)
    size = math.fsum(abs(found.power) for found in choice)
    expected = math.fsum(found.expected for found in choice) * (1.0 - 16 * U)
    exponent = np.sum([found.falls for found in choice], axis=0)
    exponent = exponent + 0.5 * smoothing**2 * (alpha - t) * (alpha + t)
    exponent += 16 * U * (np.abs(exponent) + smoothing**2 * (alpha**2 + t**2))
    exponent += 4 * U * len(choice) * np.abs(exponent)
    over_u = 1.0 - joined if expected <= 1.0 else np.minimum(1.0 - joined, 1.0 / expected)
    terms = over_u * np.exp(np.maximum(exponent, -_NEVER)) / (alpha**2 + t**2)
    terms[t > 0.0] *= 2.0
    total = math.fsum(terms) * at.step / (2.0 * math.pi)
    far = nodes * at.step
    rest = math.exp(0.5 * smoothing**2 * (alpha - far) * (alpha + far))
    rest /= math.pi * smoothing**2 * far**3
    log_sum = math.log((total + rest) * (1.0 + 64 * U) + 1e-300)
    return power + log_sum + 16 * U * (size + abs(log_sum) + 1.0)
