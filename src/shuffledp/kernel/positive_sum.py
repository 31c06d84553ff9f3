"""The sum of label stealing: upper bounds of J (docs/theory-crowds.md, Theorems 2.2 and 3.1).

    J = (1/2 pi) int |c| int_0^1 prod_k (u q_k |c| + |d_k|)^N_k du w dt,
    w(t) = e^(h^2 (alpha^2 - t^2)/2)/(alpha^2 + t^2),

where c(s) and d_k(s), s = alpha + i t, are the transforms of finite measures of gains, and group k
has N_k other users; n is 1 + sum_k N_k. With one group and q = 1 it is J(c, d) of
docs/theory-stealing.md, Theorem 2.3. Tilted by e^(alpha x) and centred, c and d_k are c0 phi_c and
d0_k phi_k. With psi_c = (1 + |phi_c|^2)/2, psi_k likewise and z_k = q_k c0 psi_c + d0_k psi_k,

    F = prod_k z_k^N_k min(c0 psi_c, N/(n sum_k N_k q_k/z_k)),    N = sum_k N_k,

is at least the integrand without w, and rises in psi_c and in every z_k. The numbers that decide
how sharp a bound is come from outside, as plain floats in a ``Line``: any of them are valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shuffledp.arithmetic.balls import acb, arb, total
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.draws import Draws, Moments

__all__ = [
    "Atom",
    "Group",
    "Line",
    "ManySums",
    "alone",
    "chernoff",
    "line_at",
    "positive_sum",
    "rougher",
    "sharpest",
    "step_of",
    "tilted",
    "tilted_mass",
]

# (mass, gain).
Atom = tuple[arb, arb]

# h T at the last node T: e^-8.8 of w is left there, less than 1e-8 of J. Blocks below the second
# number, as a share of the first term, are only bounded, which costs at most 1e-6 of J in total.
# Most nodes of one sum.
_FAR, _SMALL, _MOST_NODES = 4.2, 1e-7, 100_000
# h alpha of a coarse sum that separates most labels from the worst; it costs e^(h^2 alpha^2/2),
# 1 % of J.
_ROUGH = 0.15
# Steps in standard deviations of psi^n, and relative to alpha: aliases are e^(-(2 pi/1.1)^2/2) and
# e^(-4 pi).
_STEP, _STEP_OF_ALPHA = 1.1, 0.5
# Number of nodes in a block that is summed, and of blocks that a larger one is split into: the
# fastest among 4, 8, 16 and 2, 4, 8.
_SMALLEST, _SPLIT = 8, 4


@dataclass(frozen=True)
class Line:
    """The nodes at which J is summed: any positive numbers are valid, and no others are accepted.

    Attributes
    ----------
    alpha : float
        Tilt: the line is Re s = alpha.
    smoothing : float
        h, the standard deviation of a normal variable that is added.
    step : float
        D, the distance of adjacent nodes.
    last : int
        Nodes are 0 .. last - 1; the rest is bounded by the smoothing.
    small : float
        Blocks of nodes below this share of the first term are only bounded.
    """

    alpha: float
    smoothing: float
    step: float
    last: int
    small: float

    def __post_init__(self) -> None:
        numbers = (self.alpha, self.smoothing, self.step, self.small)
        if not (all(0.0 < x < math.inf for x in numbers) and self.last >= 1):
            raise ParameterError(f"{self}: wanted finite positive numbers")


def line_at(alpha: float, smoothing: float, step: float) -> Line:
    """The line at these free numbers.

    Raises
    ------
    ParameterError
        If a number is not positive and finite.
    NotCertified
        If the line has too many nodes.
    """
    width = smoothing * step
    last = _FAR / width if width > 0.0 else 1.0
    line = Line(alpha, smoothing, step, max(math.ceil(min(last, 1e18)), 1), _SMALL)
    if last > _MOST_NODES:
        raise NotCertified(f"label stealing: a sum of {last:.3g} nodes")
    return line


def step_of(width: float, alpha: float) -> float:
    """Distance of nodes at which aliases are negligible."""
    return min(_STEP / width, _STEP_OF_ALPHA * alpha)


def rougher(line: Line) -> Line:
    """A line with fewer nodes and more smoothing: enough for labels that are not the worst one."""
    smoothing = max(line.smoothing, _ROUGH / line.alpha)
    last = math.ceil(line.last * line.smoothing / smoothing)
    return replace(line, smoothing=smoothing, last=last)


class Group(NamedTuple):
    """The other users of one group.

    Attributes
    ----------
    users : int
        N_k >= 1.
    share : arb
        q_k > 0.
    laws : sequence of Moments
        The tilted laws d_k of the types that are bounded together: at each node the largest z_k
        stands for all of them.
    """

    users: int
    share: arb
    laws: Sequence[Moments]


def alone(d: Moments, n: int) -> list[Group]:
    """The one group of n - 1 others that all have the type d."""
    return [Group(n - 1, arb(1), [d])]


def sharpest(
    c: Moments, groups: Sequence[Group], lines: Sequence[Line], *, paid: arb, room: arb
) -> arb:
    """J + paid, by the first bound that is at most ``room``, or by the least one.

    The bounds are Chernoff's, and Theorem 3.1 on each of the lines, which share one alpha.
    """
    best = _Product(c, groups).whole / (2 * c.alpha) + paid
    for line in lines:
        if best <= room:
            break
        best = best.min(positive_sum(c, groups, line) + paid)
    return best


def tilted(measure: Sequence[Atom], alpha: arb) -> Moments:
    """A finite measure times e^(alpha x), as its mass and a centred law."""
    masses, gains = zip(*measure, strict=True)
    return Moments(Draws(masses, gains, 1), alpha)


def tilted_mass(measure: Sequence[Atom], alpha: arb) -> arb:
    """The mass of a finite measure times e^(alpha x)."""
    return total(mass * (alpha * gain).exp() for mass, gain in measure)


def _square(f: acb) -> arb:
    return f.real * f.real + f.imag * f.imag


def chernoff(c0: arb, groups: Sequence[tuple[int, arb, arb]], alpha: arb) -> arb:
    """Upper bound of J with h = 0, by psi <= 1 (docs/theory-stealing.md, Corollary 3.2).

    Parameters
    ----------
    c0 : arb
        c(alpha).
    groups : sequence of (int, arb, arb)
        N_k, q_k, and the largest q_k c0 + d_k(alpha) of the group.
    alpha : arb
        The tilt.
    """
    return _factor(c0, groups) / (2 * alpha)


def _factor(led: arb, groups: Sequence[tuple[int, arb, arb]]) -> arb:
    """F, from c0 psi_c and (N_k, q_k, z_k) of every group."""
    power, inverse, count = arb(1), arb(0), 0
    for users, share, z in groups:
        power, inverse, count = power * z**users, inverse + users * share / z, count + users
    return power * led.min(count / ((count + 1) * inverse))


class _Product:
    """F on the line of one measure c and its groups."""

    def __init__(self, c: Moments, groups: Sequence[Group]) -> None:
        self._c0, self._groups = c.mass, groups
        self.parts = [c, *(law for group in groups for law in group.laws)]
        #: F with all psi bounded by 1.
        self.whole = self.at([arb(1)] * len(self.parts))

    def at(self, squares: Sequence[arb]) -> arb:
        """F, computed from |phi|^2 of all ``parts``."""
        led, found, rest = self._c0 * (1 + squares[0]) / 2, list[tuple[int, arb, arb]](), 1
        for users, share, laws in self._groups:
            z = arb(0)
            for law in laws:
                z, rest = z.max(law.mass * (1 + squares[rest]) / 2), rest + 1
            found.append((users, share, share * led + z))
        return _factor(led, found)


class _Window:
    """w on a line."""

    def __init__(self, at: Line) -> None:
        alpha, h = arb(at.alpha), arb(at.smoothing)
        self.alpha2, self.h2, self.step = alpha * alpha, h * h, arb(at.step)

    def node(self, j: int) -> arb:
        """w at the j-th node."""
        t = self.step * j
        return (self.h2 * (self.alpha2 - t * t) / 2).exp() / (self.alpha2 + t * t)

    def beyond(self, last: int) -> arb:
        """Upper bound of twice the sum of w over all nodes from ``last`` on.

        It is at most 2 w(T) + (2/D) int_T^inf w <= 2 w(T) (1 + 1/(h^2 T D)).
        """
        return 2 * self.node(last) * (1 + 1 / (self.h2 * self.step * self.step * last))


def positive_sum(c: Moments, groups: Sequence[Group], at: Line) -> arb:
    """Upper bound of J by Theorem 3.1.

    The integrand is at most a positive definite function, so that its sum over the nodes of any
    step is at least its integral. A block of nodes that is certainly small is bounded rather than
    summed.
    """
    product, window = _Product(c, groups), _Window(at)
    kept, rest = _blocks(product, at, window)
    found = arb(0)
    if kept:
        nodes = (i + k for i in kept for k in range(_SMALLEST))
        values = (part.transforms(window.step, kept, _SMALLEST) for part in product.parts)
        for j, *row in zip(nodes, *values, strict=True):
            term = product.at([_square(f) for f in row]) * window.node(j)
            found += 2 * term if j else term
    return (found + rest) * window.step / (2 * arb.pi())


class ManySums:
    """Upper bounds of J(c, d) for many d at one c, by Theorem 3.1 with few nodes, none left out.

    Parameters
    ----------
    c : Moments
        The part common to all sums.
    n : int
        One more than the number of others, n >= 2.
    at : Line
        The nodes; ``small`` is not used.
    """

    def __init__(self, c: Moments, n: int, at: Line) -> None:
        self._c, self._n, self._window = c, n, _Window(at)
        self._starts = range(0, at.last, _SMALLEST)
        self._squares = self._of(c)

    def bound(self, d: Moments) -> arb:
        """Upper bound of J(c, d)."""
        product, window, found = _Product(self._c, alone(d, self._n)), self._window, arb(0)
        for j, row in enumerate(zip(self._squares, self._of(d), strict=True)):
            term = product.at(row) * window.node(j)
            found += 2 * term if j else term
        found += product.whole * window.beyond(_SMALLEST * len(self._starts))
        return found * window.step / (2 * arb.pi())

    def _of(self, law: Moments) -> list[arb]:
        """|phi|^2 at all nodes."""
        return [_square(f) for f in law.transforms(self._window.step, self._starts, _SMALLEST)]


def _blocks(product: _Product, at: Line, window: _Window) -> tuple[list[int], arb]:
    """First nodes of the blocks to be summed, and an upper bound of all other terms.

    A block's terms are at most sup F times w at its first node; beyond the last node psi <= 1.
    """
    size = _SMALLEST
    while size * _SPLIT < at.last:
        size *= _SPLIT
    todo, width, rest = [0], -(-at.last // size), arb(0)
    one, enough = arb(1), product.whole * arb(at.small) / window.alpha2
    while True:
        firsts = [i + k * size for i in todo for k in range(width)]
        squares = (part.squares_around(window.step, todo, size, width) for part in product.parts)
        left = []
        for i, *row in zip(firsts, *squares, strict=True):
            if i >= at.last:
                continue
            bound = 2 * size * product.at([one.min(x) for x in row]) * window.node(i)
            if bound < enough / (1 + i * at.step / at.alpha):
                rest += bound
            else:
                left.append(i)
        if size == _SMALLEST or not left:
            break
        todo, size, width = left, size // _SPLIT, _SPLIT
    return left, rest + product.whole * window.beyond(at.last)
