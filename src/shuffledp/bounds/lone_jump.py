"""Label stealing with one distinguished large gain: Theorem 9.3 of docs/theory-stealing.md.

Jumps are gains above C, the ceiling of the free numbers.  Let N = n - 1 and |c| + |d| = 1; c0 and
d0 are the laws with jumps moved to 0, c_b and d_b the jumps.  The gains of all others are cut at C,
h_G is that of ``bounds.around_jumps``, and the labels are split into two groups:

    delta <= tail + lost_0 + N (O_c + max O_d) (|c_b| + max |d_b|)
             + max over groups X, Y of [T_XY + T_YX + R_X + R_Y]/2,
    T_XY = max over the labels of X of [J_n(c0, d0) + lost + N int d_b h_Y],    R_X = N int c_b h_X,

with O = int (x - C)_+.  Two groups suffice: labels with jumps, and labels almost without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, float_below, total
from shuffledp.bounds.around_jumps import Around, Heights, Others, largest, raised
from shuffledp.bounds.covers import Cover, Share, check, labels, reservoir
from shuffledp.bounds.interval import checked
from shuffledp.bounds.interval_cells import Outputs
from shuffledp.bounds.remainders import Remainder, remainders
from shuffledp.bounds.stealing import Numbers, check_question
from shuffledp.errors import ParameterError
from shuffledp.kernel.cells import spread
from shuffledp.kernel.positive_sum import Atom, Line, alone, rougher, sharpest, tilted

__all__ = ["Laws", "Type", "bound_of", "log_delta_with_jump"]

_NOTHING = arb(0)
# Of this many consecutive gains one is kept for the others' sum.
_COARSE = 2
# Labels whose jumps are worth less than this share of the largest worth form the second group.
_FEW = 0.1


def log_delta_with_jump(
    at: Outputs,
    cover: Cover,
    around: Around,
    numbers: Numbers,
    n: int,
    epsilon: float,
    *,
    two_inputs: bool,
    enough: float = -math.inf,
) -> float:
    """log of the bound, rounded up to a float; ``enough`` if the bound is certainly at most that.

    Parameters
    ----------
    at, cover
        Normal noise, and the grids and cells.
    around : Around
        The places at which h is bounded.
    numbers : Numbers
        As for label stealing; ``ceiling`` is C.
    n : int
        Number of users, the victim included, n >= 3.
    epsilon : float
        eps >= 0 in nats.
    two_inputs : bool
        Whether the only inputs are 0 and 1.
    enough : float
        A log delta: a bound at most this is not computed any more sharply.

    Raises
    ------
    ParameterError
        If a number is out of range.
    NotCertified
        If the cover does not span all inputs, or the places are not valid.
    """
    check_question(n, epsilon, fewest=3)
    check(at, cover, two_inputs=two_inputs)
    share, line = checked(numbers, at)
    if share.ceiling is None:
        raise ParameterError("ceiling: wanted a number above which gains are jumps")
    laws = laws_of(at, cover, arb(epsilon), share, n)
    target = _NOTHING if enough == -math.inf else arb(enough).exp()
    found = bound_of(laws, share.ceiling, n, around, line, target)
    return enough if enough > -math.inf and found <= target else float_above(found.log())


class Type(NamedTuple):
    """A label with the left-over, and the cost ``lost`` of gains left out of it.

    Attributes
    ----------
    atoms, rough : list of Atom
        Its gains, and those of a coarser law that is larger in increasing convex order. The coarser
        one is used where the label belongs to another user in h.
    lost : arb
        A cost added to the bound in any case.
    """

    atoms: list[Atom]
    rough: list[Atom]
    lost: arb


class Laws(NamedTuple):
    """The laws of all data sets, with nothing cut and no gain raised to the floor.

    Attributes
    ----------
    c : list of Atom
        The reservoir.
    hidden : arb
        Mass of the reservoir.
    types : list of Type
        Labels, of mass 1 - |c|.
    remainders : list of Remainder
        Remainders, which have no jumps of their own.
    sure : arb
        The cost for every data set: the tail and lost_0.
    """

    c: list[Atom]
    hidden: arb
    types: list[Type]
    remainders: list[Remainder]
    sure: arb


def bound_of(
    laws: Laws, cut: arb, n: int, around: Around, line: Line, target: arb = _NOTHING
) -> arb:
    """The bound of delta, no sharper than ``target``; gains are first raised to -floor."""
    made = _Bound(laws, cut, n, around, line)
    return made.paid + made.largest(target - made.paid)


def laws_of(at: Outputs, cover: Cover, eps: arb, share: Share, n: int) -> Laws:
    """The laws of noise on an interval."""
    whole = Share(share.kappa, share.theta)
    pool = reservoir(at, cover, eps, whole)
    types = []
    for make in labels(at, cover, eps, whole, cover.edges):
        label = make()
        rest = (1 - pool.mass - total(mass for mass, _ in label.atoms)).nonnegative_part()
        atoms = [*label.atoms, (rest, _NOTHING)]
        types.append(Type(atoms, _coarser(atoms), label.lost))
    sure = pool.unhidden * (1 - pool.mass) ** (n - 1) + pool.lost
    rest = remainders(at, cover, eps, whole, pool.mass)
    return Laws(pool.atoms, pool.mass, types, rest, sure)


def _coarser(atoms: Sequence[Atom]) -> list[Atom]:
    """A law on fewer gains that is larger in increasing convex order.

    Cells of outputs twice as wide are not an alternative: where a gain turns, the certified range
    on a wide cell need not contain the ranges on its halves.
    """
    upper = sorted({x for _, gain in atoms if math.isfinite(x := float_above(gain))})
    lower = [x for _, gain in atoms if math.isfinite(x := float_below(gain))]
    if not (lower and upper):
        return list(atoms)
    return spread(atoms, sorted({min(lower), *upper[_COARSE::_COARSE], upper[-1]}))


class _Bound:
    """The bound and its parts."""

    def __init__(self, laws: Laws, cut: arb, n: int, around: Around, line: Line) -> None:
        self._laws, self._n, self._line, self._alpha = laws, n, line, arb(line.alpha)
        least = -arb(around.floor)
        c = raised(laws.c, least)
        fine = [raised(one.atoms, least) for one in laws.types]
        rough = [raised(one.rough, least) for one in laws.types]
        own, self._jumps = _above(c, cut), [_above(law, cut) for law in fine]
        self._groups = two_groups([_worth(jumps, cut) for jumps in self._jumps])
        first, second = ([rough[i] for i in group] for group in self._groups)
        others = Others(c, laws.hidden, (first, second), laws.remainders)
        self._heights = Heights(others, cut, n - 1, around)
        self._reservoir = self._heights.integral(own)
        self._c = tilted(_silent(c, cut), self._alpha)
        self._silent = [_silent(law, cut) for law in fine]
        over = _over(own, cut) + largest([_over(_above(law, cut), cut) for law in rough])
        jumped = _mass(own) + largest([_mass(jumps) for jumps in self._jumps])
        self.paid = laws.sure + (n - 1) * over * jumped

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
        """J_n(c0, d0) of a label, by the first bound of at most ``room``, or by the sharpest."""
        d, lines = tilted(self._silent[i], self._alpha), (rougher(self._line), self._line)
        return sharpest(self._c, alone(d, self._n), lines, paid=_NOTHING, room=room)


def two_groups(worth: Sequence[float]) -> tuple[list[int], list[int]]:
    """Indices of the labels with jumps, and of those almost without; any split is valid."""
    least = _FEW * max(worth)
    first = [i for i, one in enumerate(worth) if one >= least]
    # All labels that are not in the first group, those with nan included: none is left out.
    return first, [i for i in range(len(worth)) if i not in set(first)]


def _above(atoms: Sequence[Atom], cut: arb) -> list[Atom]:
    """The atoms whose gain is not certainly at most the cut."""
    return [(mass, gain) for mass, gain in atoms if not gain <= cut]


def _silent(atoms: Sequence[Atom], cut: arb) -> list[Atom]:
    """The law with jumps moved to 0; a gain that may be a jump, or below 0, is never raised."""
    return [(mass, gain if gain <= cut else gain.min(_NOTHING)) for mass, gain in atoms]


def _over(jumps: Sequence[Atom], cut: arb) -> arb:
    return total(mass * (gain - cut).nonnegative_part() for mass, gain in jumps)


def _mass(jumps: Sequence[Atom]) -> arb:
    return total(mass for mass, _ in jumps)


def _worth(jumps: Sequence[Atom], cut: arb) -> float:
    return float(_over(jumps, cut).mid())
