"""Label stealing in a crowd of several mechanisms, in balls (docs/theory-crowds.md, section 3).

    delta <= tail + lost + max over a type j(k) of each group k of J,
    J <= c0 prod_k (q_k c0 + d_k)^N_k [(D/2 pi) sum_{|i| <= m} min(1/M, psi_c) W(i D) + rest(m D)],

with c the gains of the reservoir omega, d_k those of what is left of a law of group k without
q_k omega, Psi_k the mean of psi_c and psi_k by their shares p_k, W = w prod_k Psi_k^N_k and
M = sum_k N_k p_k. The shares q_k, the reservoir, the probability to join it, alpha and the
smoothing h are the certificate's: any are valid. Step D and number of nodes are chosen here: any
are valid too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.errors import NotCertified, ParameterError

from .divergence import log_divergence
from .gains import blanket_gains
from .groups import Kind, Side, kinds_of, sides_of
from .outputs import OutputClass
from .stealing import Atom, Tilted, squares_of, tilted

__all__ = ["FREE", "log_delta_common", "log_delta_crowd", "others_of"]

Parameters = Mapping[str, Any]
Numbers = Mapping[str, Any]
# The free numbers of one pair; ``shares`` are the q_k, one for each group with others in it.
FREE = ("alpha", "smoothing", "gain", "loss", "theta", "shares")

_BITS = 192
# As in ``stealing``: aliases and nodes left out do not show in 1e-6 of the bound.
_SUM_STEP, _PAYOFF_STEP, _REACH = 0.9, 0.45, 4.0
_MOST_NODES = 50_000
# Choices of one type in each group that are looked at one by one, as in the theorem's statement.
_MOST_CHOICES = 4096
# About a minute: a unit is a rotation, or a factor of a term.
_MOST_WORK = 40_000_000


class _Group(NamedTuple):
    """Others of one group: how many, q_k, and the atoms of what is left of each type."""

    users: int
    share: arb
    types: list[list[Atom]]


class _Measures(NamedTuple):
    """What the bound needs of a victim's pair at one eps."""

    reservoir: list[Atom]
    groups: list[_Group]
    unhidden: arb
    lost: arb


class _Type(NamedTuple):
    """A type on the line: log of its factor at 0, of its falls at the nodes, and N_k p_k."""

    power: arb
    falls: list[arb]
    expected: arb


def others_of(groups: Sequence[tuple[Parameters, int]], victim: int) -> list[tuple[int, int]]:
    """(group, how many) of the others: groups in which there is nobody else are left out."""
    found = [(k, count - (k == victim)) for k, (_, count) in enumerate(groups)]
    return [(k, count) for k, count in found if count]


def log_delta_crowd(
    groups: Sequence[tuple[Parameters, int]],
    numbers: Sequence[Numbers],
    *,
    victim: int,
    epsilon: float,
    log_claimed: float = -math.inf,
) -> float:
    """A float certainly not below log of the bound for a member of one group.

    Parameters
    ----------
    groups : sequence of (mapping, int)
        Each group's mechanism, {"name": ..., **parameters}, and number of users.
    numbers : sequence of mappings
        The numbers ``FREE`` for each pair of ``kinds_of``, in that order.
    victim : int
        The group whose members are protected.
    epsilon : float
        eps >= 0 in nats.
    log_claimed : float
        Nothing smaller has to be shown: one bound for all choices of types is enough where it is
        not above this.

    Raises
    ------
    ParameterError
        For numbers out of range.
    NotCertified
        Where messages are of different sets, or it would be too much work.
    """
    kind = _kind_of(groups)
    pairs, others = kind.pairs[victim], others_of(groups, victim)
    if len(numbers) != len(pairs):
        raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted {len(pairs)}")
    if not others:
        raise ParameterError("group: nobody else is in the crowd")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    with ctx.workprec(_BITS):
        sides = sides_of([mechanism for mechanism, _ in groups], kind)
        best = -math.inf
        for pair, free in zip(pairs, numbers, strict=True):
            victims = [sides[victim].rows[x] for x in pair]
            counted = [(sides[k], count) for k, count in others]
            found = _measures(victims, counted, arb(epsilon), free)
            line = [_positive(free, key) for key in ("alpha", "smoothing")]
            best = max(best, _log_one(found, line[0], line[1], log_claimed))
        return best


def log_delta_common(
    groups: Sequence[tuple[Parameters, int]],
    *,
    victim: int,
    pair: tuple[int, int],
    epsilon: float,
    rel: float,
) -> tuple[float, float]:
    """Enclose log of the blanket bound with what all groups' laws have in common (Theorem 1.2).

    Parameters
    ----------
    groups, victim, epsilon
        As for ``log_delta_crowd``.
    pair : tuple of int
        Places of the victim's inputs: one of ``kinds_of``.
    rel : float
        Relative width of delta wanted.
    """
    kind = _kind_of(groups)
    mechanisms = [mechanism for mechanism, _ in groups]

    def make() -> Any:
        sides = sides_of(mechanisms, kind)
        rows = [sides[victim].rows[x] for x in pair]
        least = [_least(values) for values in zip(*(side.least for side in sides), strict=True)]
        law = [
            OutputClass(b, (p0, p1))
            for b, p0, p1 in zip(least, *rows, strict=True)
            if not (b.is_zero() and p0.is_zero() and p1.is_zero())
        ]
        return blanket_gains(law, arb(epsilon))

    return log_divergence(make, n=sum(count for _, count in groups), rel=rel)


def _kind_of(groups: Sequence[tuple[Parameters, int]]) -> Kind:
    kind = kinds_of([mechanism for mechanism, _ in groups])
    if kind is None:
        raise NotCertified("a crowd whose groups' messages are of different sets")
    return kind


def _least(values: Sequence[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = arb.min(found, value)
    return found


# ------------------------------------------------------------------------------- free numbers


def _positive(free: Numbers, key: str) -> float:
    value = _number(free, key)
    if not value > 0.0:
        raise ParameterError(f"{key} = {value!r}: wanted a finite number > 0")
    return value


def _number(free: Numbers, key: str) -> float:
    return _finite(free.get(key), key)


def _finite(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ParameterError(f"{key} = {value!r}: wanted a finite number")
    return float(value)


def _kappas(free: Numbers) -> tuple[arb, arb, arb]:
    """Shares of what all laws have in common: where g > 0, elsewhere; and theta."""
    found = []
    for key in ("gain", "loss", "theta"):
        value = _number(free, key)
        if not (0.0 <= value < 1.0 or (value == 1.0 and key == "theta")):
            raise ParameterError(f"{key} = {value!r}: wanted a number from 0 to 1")
        found.append(arb(value))
    return found[0], found[1], found[2]


def _shares(free: Numbers, groups: int) -> list[arb]:
    given = free.get("shares")
    if not isinstance(given, Sequence) or len(given) != groups:
        raise ParameterError(f"shares = {given!r}: wanted {groups} of them")
    found = []
    for one in given:
        value = _finite(one, "shares")
        if not 0.0 < value <= 1.0:
            raise ParameterError(f"shares = {given!r}: wanted numbers above 0, at most 1")
        found.append(arb(value))
    return found


# ----------------------------------------------------------------------------------- measures


def _measures(
    victims: Sequence[list[arb]], others: Sequence[tuple[Side, int]], eps: arb, free: Numbers
) -> _Measures:
    """omega = kappa min_k B_k/q_k with kappa by the sign of g; s = theta where omega > 0.

    What is left of a law, R - q_k omega, is labelled wherever it is positive for sure; where it may
    not be it is left over, with gain 0, and counts as lost.
    """
    gain, loss, theta = _kappas(free)
    shares = _shares(free, len(others))
    grow = eps.exp()
    reservoir: list[Atom] = []
    unhidden, worst = arb(0), arb(0)
    groups = [
        _Group(n, q, [[] for _ in side.rows]) for (side, n), q in zip(others, shares, strict=True)
    ]
    lost = [[arb(0) for _ in side.rows] for side, _ in others]
    for y, (p0, p1) in enumerate(zip(*victims, strict=True)):
        g = p0 - grow * p1
        least = _least([side.least[y] / q for (side, _), q in zip(others, shares, strict=True)])
        omega = (gain if g > 0 else loss) * least
        # Where it is not positive for sure there is none: that is a choice, too.
        omega = omega if omega > 0 else arb(0)
        join = theta if omega > 0 else arb(0)
        seen = (1 - join) * g.max(arb(0))
        unhidden += seen
        if omega > 0:
            reservoir.append((omega, join * g / omega))
        for k, (side, _) in enumerate(others):
            for j, row in enumerate(side.rows):
                rest = row[y] - shares[k] * omega
                if rest > 0:
                    groups[k].types[j].append((rest, (1 - join) * shares[k] * g / rest))
                else:
                    groups[k].types[j].append((rest.nonnegative_part(), arb(0)))
                    lost[k][j] += seen
    for values in lost:
        for value in values:
            worst = worst.max(value)
    return _Measures(reservoir, groups, unhidden, worst)


# -------------------------------------------------------------------------------- the integral


def _log_one(found: _Measures, alpha: float, smoothing: float, log_claimed: float) -> float:
    mass = sum((weight for weight, _ in found.reservoir), arb(0))
    tail = found.unhidden
    for group in found.groups:
        tail = tail * (1 - group.share * mass) ** group.users
    paid = tail + found.lost
    if not found.reservoir:
        return float_above(paid.log()) if not paid.is_zero() else -math.inf
    common = tilted(found.reservoir, alpha)
    laws = [[tilted(atoms, alpha) for atoms in group.types] for group in found.groups]
    line = _Line(common, alpha, smoothing, _step(common, found.groups, laws, alpha))
    work = line.nodes * (len(common.gains) + sum(len(law.gains) for row in laws for law in row))
    if work > _MOST_WORK:
        raise NotCertified("a crowd: too many outputs, or groups, for the verifier")
    types = [
        [line.type_of(group, law) for law in row]
        for group, row in zip(found.groups, laws, strict=True)
    ]
    together = [_largest(row) for row in types]
    best = _with(line.log_sum(together), paid)
    choices = math.prod(len(row) for row in types)
    if (
        best <= log_claimed
        or choices > _MOST_CHOICES
        or choices * line.nodes * len(types) > _MOST_WORK
    ):
        return best
    return min(best, _with(_of_choices(line, types), paid))


def _of_choices(line: _Line, types: list[list[_Type]]) -> float:
    """The largest of all choices of one type in each group: those that may be it are summed."""
    coarse = [(line.log_chernoff(choice), choice) for choice in itertools.product(*types)]
    best = -math.inf
    for above, choice in sorted(coarse, key=lambda one: -one[0]):
        if above <= best:
            break
        best = max(best, line.log_sum(choice))
    return best


def _largest(types: Sequence[_Type]) -> _Type:
    """At every node the largest of a group's factors, and the smallest expected number."""
    if len(types) == 1:
        return types[0]
    power = types[0].power
    for one in types[1:]:
        power = power.max(one.power)
    falls = []
    for values in zip(*(one.falls for one in types), strict=True):
        found = types[0].power + values[0]
        for one, value in zip(types[1:], values[1:], strict=True):
            found = found.max(one.power + value)
        # What no node covers is multiplied by the power: it has to stay there.
        falls.append(found - power)
    return _Type(power, falls, _least([one.expected for one in types]))


def _step(
    common: Tilted, groups: Sequence[_Group], laws: Sequence[Sequence[Tilted]], alpha: float
) -> float:
    """A step for all types: in floats, any is valid."""
    c0, within = float(common.total.mid()), 0.0
    for group, row in zip(groups, laws, strict=True):
        q = float(group.share.mid())
        spreads = []
        for law in row:
            d0 = float(law.total.mid())
            spreads.append((q * c0 * common.variance + d0 * law.variance) / (q * c0 + d0))
        within += group.users * max(spreads)
    within = math.sqrt(max(within, 0.0))
    step = min(_SUM_STEP / within if within > 0.0 else math.inf, _PAYOFF_STEP * alpha)
    if not (math.isfinite(step) and step > 0.0):
        raise NotCertified("a crowd: gains too large for this alpha")
    return step


class _Line:
    """Nodes s = alpha + i j D, the reservoir's psi at them, and w."""

    def __init__(self, common: Tilted, alpha: float, smoothing: float, step: float) -> None:
        self.common, self.alpha, self.smoothing, self.step = (
            common,
            arb(alpha),
            arb(smoothing),
            arb(step),
        )
        nodes = _REACH / smoothing / step
        if not nodes <= _MOST_NODES:
            raise NotCertified("a crowd: too many nodes for this alpha and smoothing")
        self.nodes, self._float_step = max(1, math.ceil(nodes)), step
        self.psi = [(1 + square) / 2 for square in squares_of(common, step, self.nodes)]

    def type_of(self, group: _Group, law: Tilted) -> _Type:
        """N log(q c0 + d0), N log Psi at the nodes, N p."""
        inside = group.share * self.common.total
        both = inside + law.total
        share = inside / both
        squares = squares_of(law, self._float_step, self.nodes)
        falls = [
            group.users * (share * psi + (1 - share) * (1 + square) / 2).log()
            for psi, square in zip(self.psi, squares, strict=True)
        ]
        return _Type(group.users * both.log(), falls, group.users * share)

    def _outside(self, choice: Sequence[_Type]) -> tuple[arb, arb]:
        """log of c0 prod (q c0 + d)^N, and M."""
        power = sum((one.power for one in choice), self.common.total.log())
        return power, sum((one.expected for one in choice), arb(0))

    def log_chernoff(self, choice: Sequence[_Type]) -> float:
        """All psi at most 1, and the integral of w."""
        power, expected = self._outside(choice)
        smooth = (self.smoothing * self.alpha) ** 2 / 2
        over_u = _least([1 / expected, arb(1)])
        return float_above(power + over_u.log() + smooth - (2 * self.alpha).log())

    def log_sum(self, choice: Sequence[_Type]) -> float:
        """Theorem 3.1."""
        power, expected = self._outside(choice)
        a, h, total = self.alpha, self.smoothing, arb(0)
        over_u = 1 / expected
        for j, falls in enumerate(zip(*(one.falls for one in choice), strict=True)):
            t = self.step * j
            exponent = sum(falls, h * h * (a * a - t * t) / 2)
            term = arb.min(over_u, self.psi[j]) * exponent.exp() / (a * a + t * t)
            total += term if j == 0 else 2 * term
        total *= self.step / (2 * arb.pi())
        far = self.step * self.nodes
        rest = (h * h * (a * a - far * far) / 2).exp() / (arb.pi() * h * h * far**3)
        return float_above(power + (total + rest).log())


def _with(log: float, more: arb) -> float:
    """log(e^log + more), rounded up."""
    if more.is_zero() or not math.isfinite(log):
        return log
    return float_above((arb(log).exp() + more).log())
