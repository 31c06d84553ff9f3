"""The sum of label stealing for a crowd with several mechanisms, in balls.

Theorems 2.2 and 3.1 of docs/theory-crowds.md. With a measure omega such that q_k omega is below
all laws of group k, the probability s with which the victim joins the reservoir, and the gain
g = R_x0 - a R_x1, a = e^eps,

    delta <= tail + lost + max over a type j(k) of each group k of J,
    J = (1/2 pi) int |c| int_0^1 prod_k (u q_k |c| + |d_k|)^N_k du w d tau
     <= c0 prod_k T_k^N_k (D/2 pi) sum over nodes of min(1/M, psi_c) w prod_k Psi_k^N_k,

where c is the transform of the gains s g/omega under omega, and d_k that of the gains
(1 - s) q_k g/t under t = R - q_k omega, the rest of a law, on the line alpha + i tau. Further
T_k = q_k c0 + d_k(alpha), p_k = q_k c0/T_k, M = sum_k N_k p_k and
Psi_k = p_k (1 + |phi_c|^2)/2 + (1 - p_k) (1 + |phi_k|^2)/2. The free numbers and the contour are
arguments: any are valid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import arb, total
from shuffledp.errors import ParameterError
from shuffledp.kernel.blocks import BLOCK, Nodes
from shuffledp.kernel.contour import Contour, Kernel
from shuffledp.kernel.draws import Draws, Moments

__all__ = ["Free", "Group", "stealing"]

Row = Sequence[arb]
# Most choices of one type in each group that are summed one by one, about a second of work. With
# more, the sum takes each group's largest factor at every node, which is an upper bound for each
# choice.
_MOST_CHOICES = 4096


@dataclass(frozen=True)
class Group:
    """The others of one group.

    Attributes
    ----------
    users : N_k >= 1.
    rows : laws of the inputs that suffice, on the same outputs for all groups.
    least : the minimum of the laws over all of the mechanism's inputs.
    """

    users: int
    rows: Sequence[Row]
    least: Row


@dataclass(frozen=True)
class Free:
    """The free numbers of label stealing in a crowd.

    Attributes
    ----------
    gain, loss : omega's share of min_k B_k/q_k where g > 0 (gain), and elsewhere (loss).
    theta : probability with which the victim joins the reservoir.
    shares : q_k of every group that has another user.
    """

    gain: float
    loss: float
    theta: float
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        kappas = all(0.0 <= x < 1.0 for x in (self.gain, self.loss)) and 0.0 <= self.theta <= 1.0
        if not (kappas and all(0.0 < q <= 1.0 for q in self.shares)):
            raise ParameterError(f"{self}: wanted shares and probabilities from 0 to 1")


def stealing(
    victim: Sequence[Row],
    others: Sequence[Group],
    eps: arb,
    free: Free,
    contour: Contour,
    *,
    enough: arb | None = None,
) -> arb:
    """Upper end of delta over all data sets, for one ordered pair of the victim's inputs.

    Parameters
    ----------
    victim : the victim's two laws, in the order of the divergence.
    others : groups, each with at least one user besides the victim.
    eps : eps in nats.
    free : the free numbers.
    contour : where to sum; ``below`` and ``above`` are not used.
    enough : a delta; a bound at most this is not computed any more sharply.
    """
    if len(free.shares) != len(others):
        raise ParameterError(f"shares = {free.shares}: wanted {len(others)} of them")
    found = _Measures(victim, others, eps, free)
    if not found.reservoir.masses:
        return found.paid.upper()
    line = _Line(found, contour)
    coarse = (found.paid + line.chernoff()).upper()
    if enough is not None and coarse <= enough:
        return coarse
    return (found.paid + line.largest()).upper()


def _least(values: Sequence[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = found.min(value)
    return found


def _largest(values: Sequence[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found


class _Measures:
    """omega and the rests of the laws with their gains, and the costs beside the integral.

    Where R - q omega is not certainly positive, it becomes left-over with gain 0, and the gain
    there is lost: Theorem 2.1 with another t.
    """

    def __init__(
        self, victim: Sequence[Row], others: Sequence[Group], eps: arb, free: Free
    ) -> None:
        grow, self.users = eps.exp(), [group.users for group in others]
        self.shares = [arb(q) for q in free.shares]
        gains = [p0 - grow * p1 for p0, p1 in zip(*victim, strict=True)]
        omega, join = self._split(gains, others, free)
        seen = [(1 - s) * g.max(arb(0)) for s, g in zip(join, gains, strict=True)]
        kept = [y for y, mass in enumerate(omega) if mass > 0]
        self.reservoir = Draws(
            [omega[y] for y in kept], [join[y] * gains[y] / omega[y] for y in kept], 1
        )
        hidden, tail, worst = total(self.reservoir.masses), total(seen), arb(0)
        self.types: list[list[Draws]] = []
        for group, q in zip(others, self.shares, strict=True):
            tail *= (1 - q * hidden) ** group.users
            self.types.append([])
            for row in group.rows:
                masses, labels, lost = [], [], arb(0)
                for y, r in enumerate(row):
                    t = r - q * omega[y]
                    if t > 0:
                        masses.append(t)
                        labels.append((1 - join[y]) * q * gains[y] / t)
                    else:
                        lost += seen[y]
                left_over = 1 - q * hidden - total(masses)
                masses.append(left_over.nonnegative_part())
                labels.append(arb(0))
                self.types[-1].append(Draws(masses, labels, group.users))
                worst = worst.max(lost)
        self.paid = tail + worst

    def _split(
        self, gains: Row, others: Sequence[Group], free: Free
    ) -> tuple[list[arb], list[arb]]:
        """omega and s for every output."""
        omega, join = [], []
        for y, g in enumerate(gains):
            least = _least(
                [group.least[y] / q for group, q in zip(others, self.shares, strict=True)]
            )
            mass = (arb(free.gain) if g > 0 else arb(free.loss)) * least
            # Where omega is not certainly positive it is set to 0: omega is free, so that this is
            # valid.
            omega.append(mass if mass > 0 else arb(0))
            join.append(arb(free.theta) if mass > 0 else arb(0))
        return omega, join


class _Type:
    """One type of one group on the line, and its factor T Psi."""

    def __init__(self, reservoir: Moments, law: Draws, share: arb) -> None:
        self.reservoir, self.law, self.users = reservoir, Moments(law, reservoir.alpha), law.count
        inside = share * reservoir.mass
        self.size = inside + self.law.mass
        self.share = inside / self.size
        self.expected = self.users * self.share
        self.power = self.size**self.users

    def factor(self, square_c: arb, square_d: arb) -> arb:
        """(T Psi)^N, computed from |phi_c|^2 and |phi_d|^2."""
        psi = self.share * (1 + square_c) + (1 - self.share) * (1 + square_d)
        return (self.size * psi / 2) ** self.users


class _Together:
    """Bounds of the largest factor among a group's types, divided by the largest power."""

    def __init__(self, types: Sequence[_Type]) -> None:
        self.types, self.cap = types, arb(1)
        self.power = _largest([one.power for one in types])
        self.atoms = sum(len(one.law.gains) for one in types)
        parts = [types[0].reservoir, *(one.law for one in types)]
        self.spread = _largest([part.variance.nonnegative_part().sqrt() for part in parts])

    def bounds_around(self, step: arb, starts: Sequence[int], size: int, count: int) -> list[arb]:
        common = self.types[0].reservoir.squares_around(step, starts, size, count)
        rows = []
        for one in self.types:
            own = one.law.squares_around(step, starts, size, count)
            rows.append([one.factor(c, d) / self.power for c, d in zip(common, own, strict=True)])
        return [self.cap.min(_largest(column)) for column in zip(*rows, strict=True)]


class _Line:
    """The sum over nodes for every choice of one type in each group."""

    def __init__(self, found: _Measures, contour: Contour) -> None:
        self.kernel, self.contour = Kernel(contour, 0), contour
        self.common = Moments(found.reservoir, self.kernel.alpha)
        self.groups = [
            [_Type(self.common, law, share) for law in laws]
            for laws, share in zip(found.types, found.shares, strict=True)
        ]

    def chernoff(self) -> arb:
        """Upper end of J for all choices, with all psi bounded by 1."""
        expected = total(_least([one.expected for one in types]) for types in self.groups)
        found = self.common.mass * (1 / expected).min(arb(1)) / (2 * self.kernel.alpha)
        for types in self.groups:
            found *= _largest([one.power for one in types])
        return found * (self.kernel.h2 * self.kernel.kappa / 2).exp()

    def largest(self) -> arb:
        """The largest J over all choices of types."""
        together = [_Together(types) for types in self.groups]
        nodes = Nodes(self.kernel, self.contour, together)
        left_out = self.common.mass * nodes.left_out
        for group in together:
            left_out *= group.power

        def squares(part: Moments) -> list[arb]:
            values = part.transforms(nodes.step, nodes.starts, BLOCK)
            return [f.real * f.real + f.imag * f.imag for f in values]

        common = squares(self.common)
        places = (start + k for start in nodes.starts for k in range(BLOCK))
        weights = [self._weight(nodes.step, j) for j in places]
        factors = [
            [
                [one.factor(c, d) for c, d in zip(common, squares(one.law), strict=True)]
                for one in types
            ]
            for types in self.groups
        ]
        expected = [[one.expected for one in types] for types in self.groups]
        if math.prod(len(types) for types in self.groups) > _MOST_CHOICES:
            factors = [
                [[_largest(column) for column in zip(*rows, strict=True)]] for rows in factors
            ]
            expected = [[_least(values)] for values in expected]
        psi, best = [(1 + square) / 2 for square in common], arb(0)
        for choice in itertools.product(*(range(len(rows)) for rows in factors)):
            hidden = total(values[j] for values, j in zip(expected, choice, strict=True))
            rows = [one[j] for one, j in zip(factors, choice, strict=True)]
            best = best.max(_sum(1 / hidden, psi, weights, rows))
        return self.common.mass * best + left_out

    def _weight(self, step: arb, j: int) -> arb:
        """w at a node, times D/2 pi and the number of nodes it stands for."""
        t2 = (step * j) * (step * j)
        kappa = self.kernel.kappa
        found = (self.kernel.h2 * (kappa - t2) / 2).exp() / (kappa + t2)
        return found * step / arb.pi() / (1 if j else 2)


def _sum(over_u: arb, psi: Row, weights: Row, factors: Sequence[Row]) -> arb:
    """J/c0 for one choice of types, without the nodes left out."""
    found = arb(0)
    for square, weight, *parts in zip(psi, weights, *factors, strict=True):
        term = over_u.min(square) * weight
        for part in parts:
            term *= part
        found += term
    return found
