"""Label stealing with one large gain kept whole: Theorem 9.3 of docs/theory-stealing.md.

Jumps are gains above C, the ceiling of the free numbers.  With N = n - 1, |c| + |d| = 1, c0 and d0
the laws with jumps put at 0, c_b and d_b the jumps, the gains of all others cut at C, h_G of
``bounds.around_jumps``, and the labels split into two groups,

    delta <= tail + lost_0 + N (O_c + max O_d) (|c_b| + max |d_b|)
             + max over groups X, Y of [T_XY + T_YX + R_X + R_Y]/2,
    T_XY = max over the labels of X of [J_n(c0, d0) + lost + N int d_b h_Y],    R_X = N int c_b h_X,

with O = int (x - C)_+.  Two groups are enough: labels with jumps, and those almost without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, total
from shuffledp.bounds.around_jumps import Heights, Others, largest, raised
from shuffledp.bounds.covers import Label, Reservoir, Share, check, labels, reservoir
from shuffledp.bounds.interval import checked, rough_line
from shuffledp.bounds.interval_cells import Outputs
from shuffledp.bounds.remainders import remainders
from shuffledp.bounds.stealing import Numbers
from shuffledp.errors import ParameterError
from shuffledp.kernel.draws import Moments
from shuffledp.kernel.positive_sum import Atom, Line, by_moments, chernoff, positive_sum, tilted
from shuffledp.propose.covers import Cover
from shuffledp.propose.lone_jump import Around

__all__ = ["log_delta_with_jump"]

_NOTHING = arb(0)
# Of the edges so many make one for the others' sum.
_COARSE = 2
# Labels whose jumps are worth less than this share of the most are of the second group.
_FEW = 0.1


def log_delta_with_jump(
    at: Outputs,
    cover: Cover,
    around: Around,
    numbers: Numbers,
    n: int,
    epsilon: float,
    *,
    enough: float = -math.inf,
) -> float:
    """A float certainly not below log of the bound; any up to ``enough`` where it is no more.

    Parameters
    ----------
    at, cover
        Normal noise, and grids and cells.
    around : Around
        Where h is bounded.
    numbers : Numbers
        As for label stealing; ``ceiling`` is C.
    n : int
        Users, the victim included, n >= 3.
    epsilon : float
        eps >= 0 in nats.
    enough : float
        What is certainly no more than that, in logs, need not be told any sharper.

    Raises
    ------
    ParameterError
        For numbers out of range.
    NotCertified
        For a cover that does not reach over all inputs, and for places that are none.
    """
    if n < 3:
        raise ParameterError(f"n = {n}: lone-jump wanted at least three users")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    check(at, cover)
    share, line = checked(numbers, at)
    if share.ceiling is None:
        raise ParameterError("ceiling: wanted a number above which gains are jumps")
    made = _Laws(at, cover, arb(epsilon), share, -arb(around.floor))
    bound = _Bound(made, share.ceiling, n, around, line)
    target = _NOTHING if enough == -math.inf else arb(enough).exp()
    found = bound.paid + bound.largest(target - bound.paid)
    return enough if enough > -math.inf and found <= target else float_above(found.log())


class _Type(NamedTuple):
    """A label, left-over included: all gains, and what is seen for sure beside them."""

    atoms: list[Atom]
    lost: arb


class _Laws:
    """Reservoir, labels and remainders, gains raised to ``least``; nothing is cut."""

    def __init__(self, at: Outputs, cover: Cover, eps: arb, share: Share, least: arb) -> None:
        whole = Share(share.kappa, share.theta)
        self.pool: Reservoir = reservoir(at, cover, eps, whole)
        self.c = raised(self.pool.atoms, least)
        self.remainders = remainders(at, cover, eps, whole, self.pool.mass)

        def made(edges: Sequence[float]) -> list[_Type]:
            return [self._type(make(), least) for make in labels(at, cover, eps, whole, edges)]

        self.types = made(cover.edges)
        # The others' sum needs fewer cells than the jump itself.
        self.rough = made([*cover.edges[:-1:_COARSE], cover.edges[-1]])

    def _type(self, label: Label, least: arb) -> _Type:
        rest = (1 - self.pool.mass - total(mass for mass, _ in label.atoms)).nonnegative_part()
        return _Type(raised([*label.atoms, (rest, _NOTHING)], least), label.lost)


class _Bound:
    """The bound's parts."""

    def __init__(self, laws: _Laws, cut: arb, n: int, around: Around, line: Line) -> None:
        self._laws, self._n, self._line, self._alpha = laws, n, line, arb(line.alpha)
        self._jumps = [_above(one.atoms, cut) for one in laws.types]
        self._groups = _split([_worth(jumps, cut) for jumps in self._jumps])
        rough = [one.atoms for one in laws.rough]
        first, second = ([rough[i] for i in group] for group in self._groups)
        others = Others(laws.c, laws.pool.mass, (first, second), laws.remainders)
        self._heights = Heights(others, cut, n - 1, around)
        own = _above(laws.c, cut)
        self._reservoir = self._heights.integral(own)
        self._silent = [_silent(one.atoms, cut) for one in laws.types]
        self._c = tilted(_silent(laws.c, cut), self._alpha)
        over = _over(own, cut) + largest(
            [_over(jumps, cut) for jumps in (*self._jumps, *(_above(law, cut) for law in rough))]
        )
        jumped = _mass(own) + largest([_mass(jumps) for jumps in self._jumps])
        pool = laws.pool
        self.paid = pool.unhidden * (1 - pool.mass) ** (n - 1) + pool.lost
        self.paid += (n - 1) * over * jumped

    def largest(self, target: arb) -> arb:
        """The largest bracket, no sharper than ``target``."""
        (own, other), (first, second) = self._reservoir, self._groups
        worst = across = _NOTHING
        for i in first:
            alike, apart = self._heights.integral(self._jumps[i])
            beside = self._laws.types[i].lost
            alike, apart = alike + own + beside, apart + own + beside
            found = self._sum(i, target.max(worst) - alike)
            worst, across = worst.max(found + alike), across.max(found + apart)
        for i in second:
            apart, alike = self._heights.integral(self._jumps[i])
            beside = self._laws.types[i].lost
            alike, apart = alike + other + beside, apart + other + beside
            room = target.max(worst)
            found = self._sum(i, (room - alike).min(2 * room - across - apart))
            worst = worst.max(found + alike).max((across + found + apart) / 2)
        for one in self._laws.remainders:
            both = self._c.mass + one.mass(self._alpha)
            found = both**self._n / (2 * self._alpha * self._n) + other
            worst = worst.max(found).max((across + found) / 2)
        return worst

    def _sum(self, i: int, room: arb) -> arb:
        """J_n(c0, d0) of a label by the first bound that fits into the room, or the sharpest."""
        c, d, n, line = self._c, tilted(self._silent[i], self._alpha), self._n, self._line
        best = arb("inf")
        for bound in _bounds(c, d, n, line):
            best = best.min(bound())
            if best <= room:
                break
        return best


def _bounds(c: Moments, d: Moments, n: int, line: Line) -> list[Callable[[], arb]]:
    return [
        lambda: chernoff(c, d, n, arb(line.alpha)),
        lambda: by_moments(c, d, n, line.alpha),
        lambda: positive_sum(c, d, n, rough_line(line)),
        lambda: positive_sum(c, d, n, line),
    ]


def _split(worth: Sequence[float]) -> tuple[list[int], list[int]]:
    """Places of the labels with jumps, and of those almost without; any split is valid."""
    least = _FEW * max(worth)
    first = [i for i, one in enumerate(worth) if one >= least]
    return first, [i for i, one in enumerate(worth) if one < least]


def _above(atoms: Sequence[Atom], cut: arb) -> list[Atom]:
    """Jumps, and what may be one."""
    return [(mass, gain) for mass, gain in atoms if not gain <= cut]


def _silent(atoms: Sequence[Atom], cut: arb) -> list[Atom]:
    """The others, and jumps at 0."""
    return [(mass, gain if gain <= cut else _NOTHING) for mass, gain in atoms]


def _over(jumps: Sequence[Atom], cut: arb) -> arb:
    return total(mass * (gain - cut).nonnegative_part() for mass, gain in jumps)


def _mass(jumps: Sequence[Atom]) -> arb:
    return total(mass for mass, _ in jumps)


def _worth(jumps: Sequence[Atom], cut: arb) -> float:
    return float(_over(jumps, cut).mid())
