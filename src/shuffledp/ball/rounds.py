"""Rounds again, in balls: loss laws on a lattice, and the law of the sum of their losses.

A curve h(a) = sup sum (P - a Q)_+, a >= 0, that is piecewise linear with kinks at a_k = e^(k step)
is that of the losses k step with Q-masses the jumps of its slope and P-masses a_k times these. With
all losses on a lattice the sum over T rounds is the T-th power of a polynomial, here modulo
x^M - 1: what wraps around is bounded by Chernoff's inequality.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import arb, arb_poly, ctx, float_above, float_below
from shuffledp.errors import NotCertified

__all__ = [
    "LatticeLaw",
    "first_by_symmetry",
    "law_above",
    "law_below",
    "log_delta_of_rounds",
    "violation_below",
]

_BITS = 192
_MOST_NODES = 1 << 20
_ENOUGH = 1e-9
_HALVINGS = 200

Vertices = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class LatticeLaw:
    """P-masses of losses (first + j) step, and that of an infinite loss."""

    step: arb
    first: int
    mass: list[arb]
    infinite: arb


def law_above(step: float, values: Sequence[float]) -> LatticeLaw:
    """A law whose curve is above h on all a >= 0, from values >= h(e^(k step)), k = 0, 1, ...

    Above h are its chords, and the last value beyond; on a < 1 the mirror image, h being symmetric:
    h(a) = 1 - a + a h(1/a). Where the chords are not convex a mass would be negative: it is set to
    zero, which raises the curve.
    """
    with ctx.workprec(_BITS):
        h = arb(step)
        v = [arb(x) for x in values]
        a = [(h * k).exp() for k in range(len(v))]
        slope = [(v[k] - v[k + 1]) / (a[k + 1] - a[k]) for k in range(len(v) - 1)] + [arb(0)]
        jump = [_positive(slope[k - 1] - slope[k]) for k in range(1, len(v))]
        up = [a[k + 1] * q for k, q in enumerate(jump)]
        centre = _positive(1 - v[0] - 2 * slope[0])
        return LatticeLaw(h, -len(jump), [*jump[::-1], centre, *up], v[-1])


def first_by_symmetry(step: float, values: Sequence[float]) -> bool:
    """Whether values[0] >= h(1) follows from values[1] >= h(a), a = e^step, for a symmetric h.

    h(1/a) = 1 - 1/a + h(a)/a, and h is convex: on the chord from 1/a to a,
    h(1) <= (a - 1 + 2 h(a))/(a + 1) (docs/theory-composition.md, section 2.4).
    """
    with ctx.workprec(_BITS):
        a = arb(step).exp()
        return bool(values[0] >= (a - 1 + 2 * arb(values[1])) / (a + 1))


def law_below(step: float, forward: Vertices, backward: Vertices) -> LatticeLaw:
    """The law whose curve is the polygon of ``forward`` on a >= 1, that of ``backward`` mirrored.

    Raises
    ------
    NotCertified
        If it is not certainly the curve of a law: convex, and zero at the end.
    """
    with ctx.workprec(_BITS):
        h = arb(step)
        sides = [_jumps(h, side) for side in (forward, backward)]
        if forward[0] != backward[0]:
            raise NotCertified("vertices: wanted one value at eps = 0 for both directions")
        centre = 1 - arb(forward[0][1]) - sides[0][0] - sides[1][0]
        found: dict[int, arb] = {0: centre}
        found |= {k: (h * k).exp() * q for k, q in sides[0][1].items()}
        found |= {-k: q for k, q in sides[1][1].items()}
        if not all(mass >= 0 for mass in found.values()):
            raise NotCertified("vertices: not certainly convex as a function of e^eps")
        first, last = min(found), max(found)
        return LatticeLaw(h, first, [found.get(k, arb(0)) for k in range(first, last + 1)], arb(0))


def _jumps(h: arb, side: Vertices) -> tuple[arb, dict[int, arb]]:
    """First slope, and the jump of the slope at every vertex but the first."""
    index, value = [k for k, _ in side], [arb(v) for _, v in side]
    rising = all(k < m for k, m in itertools.pairwise(index))
    if index[0] != 0 or not rising or not value[-1].is_zero():
        raise NotCertified("vertices: wanted indices 0 < k < m < ... and the last value 0")
    a = [(h * k).exp() for k in index]
    slope = [(value[j] - value[j + 1]) / (a[j + 1] - a[j]) for j in range(len(a) - 1)] + [arb(0)]
    return slope[0], {index[j]: slope[j - 1] - slope[j] for j in range(1, len(a))}


def violation_below(
    step: float, vertices: Vertices, bracket: Callable[[int], tuple[float, float]]
) -> tuple[int, bool] | None:
    """The first interval in which the polygon is not certainly below a convex h; None if it is.

    Between the points k and k + 1 of the lattice h is above the line through its points k - 1 and
    k, continued, and above that through k + 1 and k + 2 (the latter alone for k = 0).

    Parameters
    ----------
    step : float
    vertices : sequence of (int, float)
        The polygon, as a function of a = e^eps, up to where it is 0.
    bracket : callable
        k -> lower and upper end of log h(e^(k step)).

    Returns
    -------
    (int, bool) or None
        The interval, and whether the polygon is certainly above h at its left end.

    Raises
    ------
    NotCertified
        If the vertices are not those of a polygon that ends at 0.
    """
    with ctx.workprec(_BITS):
        h, last = arb(step), vertices[-1][0]
        _jumps(h, vertices)  # refuses what is no polygon down to 0
        known: dict[int, tuple[arb, arb]] = {}

        def ends(k: int) -> tuple[arb, arb]:
            if k not in known:
                known[k] = tuple(_exp(x) for x in bracket(k))  # type: ignore[assignment]
            return known[k]

        a = [(h * k).exp() for k in range(last + 3)]
        g = _polygon(vertices, a)
        for k in range(last):
            if g[k] > ends(k)[1]:
                return k, True
            right = _line((a[k + 1], ends(k + 1)[0]), (a[k + 2], ends(k + 2)[1]))
            lines = [_negative_slope(right, a[k + 1], ends(k + 1)[0])]
            if k:
                lines.insert(0, _line((a[k - 1], ends(k - 1)[1]), (a[k], ends(k)[0])))
            if not (g[k] <= ends(k)[0] and _covered((a[k], g[k]), (a[k + 1], g[k + 1]), lines)):
                return k, False
        return None


Line = Callable[[arb], arb]
Point = tuple[arb, arb]


def _line(first: Point, second: Point) -> Line:
    slope = (second[1] - first[1]) / (second[0] - first[0])
    return lambda x: first[1] + slope * (x - first[0])


def _negative_slope(line: Line, at: arb, value: arb) -> Line:
    """A line that rises to the left of ``at``; level there if it would fall."""
    return line if line(at - 1) >= value else lambda _: value


def _covered(left: Point, right: Point, lines: list[Line]) -> bool:
    """Whether the segment is below the larger of the lines: on either side of a point between."""
    segment, width = _line(left, right), right[0] - left[0]
    if any(all(_under(segment, line, end[0]) for end in (left, right)) for line in lines):
        return True
    if len(lines) < 2:
        return False
    gaps = [float((lines[0](x[0]) - lines[1](x[0])).mid()) for x in (left, right)]
    if not gaps[0] > gaps[1]:
        return False
    middle = left[0] + width * min(max(gaps[0] / (gaps[0] - gaps[1]), 0.0), 1.0)
    first = all(_under(segment, lines[0], x) for x in (left[0], middle))
    return first and all(_under(segment, lines[1], x) for x in (middle, right[0]))


def _under(segment: Line, line: Line, at: arb) -> bool:
    return segment(at) <= line(at)


def _polygon(vertices: Vertices, a: list[arb]) -> list[arb]:
    """Its values at every point of the lattice."""
    found = []
    for (k, v), (m, w) in itertools.pairwise(vertices):
        line = _line((a[k], arb(v)), (a[m], arb(w)))
        found += [arb(v), *(line(a[j]) for j in range(k + 1, m))]
    return [*found, arb(vertices[-1][1])]


# --------------------------------------------------------------------------------- many rounds


def log_delta_of_rounds(law: LatticeLaw, *, rounds: int, epsilon: float) -> tuple[float, float]:
    """Enclose log delta(eps) of the sum of ``rounds`` independent losses of a law.

    delta = (F + p_inf)^T - F^T + sum over sums L > eps of P(L) (1 - e^(eps - L)), F the finite
    mass: of the product measure of T rounds.

    Raises
    ------
    NotCertified
        If it takes more than a million nodes.
    """
    with ctx.workprec(_BITS):
        finite = _sum(law.mass)
        never = (finite + law.infinite) ** rounds - finite**rounds
        low, high = _positive_part(law, rounds, arb(epsilon), finite)
        total = [arb.max((low + never).lower(), arb(0)), (high + never).upper()]
        if total[1].is_zero():
            return -math.inf, -math.inf
        below = float_below(total[0].log()) if total[0] > 0 else -math.inf
        return below, float_above(total[1].log())


def _positive_part(law: LatticeLaw, rounds: int, eps: arb, finite: arb) -> tuple[arb, arb]:
    top = rounds * (law.first + len(law.mass) - 1)
    # Below the least sum there is nothing.
    start = max(_first_above(law, eps), rounds * law.first)
    if start > top:
        return arb(0), arb(0)
    rough = _Rough(law, rounds)
    tilt = arb(rough.tilt(float(eps)))
    whole = rounds * (len(law.mass) - 1) + 1
    nodes = min(whole, rough.nodes(float(tilt.mid()), start))
    while nodes <= _MOST_NODES:
        middle, outside = _window(law, rounds, eps, tilt, (start, top), nodes)
        if nodes >= whole:
            return middle, middle
        error = outside + finite**rounds * (-tilt * law.step * nodes).exp()
        if error < _ENOUGH * middle:
            return middle - error, middle + outside
        nodes = min(whole, 2 * nodes)
    raise NotCertified(f"rounds = {rounds:,}: the composition takes more than a million nodes")


def _window(
    law: LatticeLaw, rounds: int, eps: arb, tilt: arb, ends: tuple[int, int], nodes: int
) -> tuple[arb, arb]:
    """The sum over losses from start on, wrapped modulo ``nodes``; bound of what is beyond them.

    A sum l' >= start + nodes that lands on l counts e^(tilt (l' - l)) times too much; one below
    start counts e^(-tilt (l - l')) times, where it should not at all.
    """
    start, top = ends
    h = law.step
    tilted = [m * (tilt * h * (law.first + j)).exp() for j, m in enumerate(law.mass)]
    scale = _sum(tilted)
    power = _power([t / scale for t in tilted], rounds, nodes)
    total = arb(0)
    weight, ratio = (-tilt * h * start).exp(), (-tilt * h).exp()
    rest, shrink = (eps - h * start).exp(), (-h).exp()
    for loss in range(start, min(top, start + nodes - 1) + 1):
        total += power[(loss - rounds * law.first) % nodes] * weight * (1 - rest)
        weight, rest = weight * ratio, rest * shrink
    outside = arb(0)
    end = start + nodes
    if end <= top:
        b = arb(_Rough(law, rounds).tilt(float((h * end).mid()), least=float(tilt.mid())))
        moment = _sum([m * (b * h * (law.first + j)).exp() for j, m in enumerate(law.mass)])
        outside = moment**rounds * (-(b - tilt) * h * end - tilt * h * start).exp()
    return total * scale**rounds, outside.upper()


def _power(weights: list[arb], rounds: int, nodes: int) -> list[arb]:
    """Coefficients of the polynomial to the power ``rounds``, modulo x^nodes - 1."""
    base = _folded(arb_poly(weights), nodes)
    found = base
    for bit in bin(rounds)[3:]:
        found = _folded(found * found, nodes)
        if bit == "1":
            found = _folded(found * base, nodes)
    values = found.coeffs()
    return values + [arb(0)] * (nodes - len(values))


def _folded(poly: arb_poly, nodes: int) -> arb_poly:
    values = poly.coeffs()
    if len(values) <= nodes:
        return poly
    kept = values[:nodes]
    for j in range(nodes, len(values)):
        kept[j % nodes] += values[j]
    return arb_poly(kept)


def _first_above(law: LatticeLaw, eps: arb) -> int:
    """The first lattice point that is not certainly at or below eps."""
    k = math.floor(float((eps / law.step).mid())) - 1
    while law.step * k <= eps:
        k += 1
    return k


class _Rough:
    """Floating-point proposals: nothing depends on their accuracy."""

    def __init__(self, law: LatticeLaw, rounds: int) -> None:
        self.rounds = rounds
        self.step = float(law.step.mid())
        some = [(self.step * (law.first + j), float(m.mid())) for j, m in enumerate(law.mass)]
        # Losses without mass are none: among large ones the exponentials would overflow.
        some = [(x, m) for x, m in some if m > 0.0] or [(0.0, 1.0)]
        self.loss, self.mass = [x for x, _ in some], [m for _, m in some]

    def tilted(self, r: float) -> tuple[float, float]:
        """Mean and variance of the sum, tilted by r."""
        peak = max(r * x for x in self.loss)
        w = [m * math.exp(r * x - peak) for x, m in zip(self.loss, self.mass, strict=True)]
        total = math.fsum(w)
        mean = math.fsum(p * x for p, x in zip(w, self.loss, strict=True)) / total
        spread = math.fsum(p * (x - mean) ** 2 for p, x in zip(w, self.loss, strict=True)) / total
        return self.rounds * mean, self.rounds * spread

    def tilt(self, eps: float, least: float = 0.0) -> float:
        """About where the tilted mean is eps + 1/r + 1/(1 + r)."""
        low, high = 1e-9, 1e6
        for _ in range(_HALVINGS):
            if high <= low * (1.0 + 1e-6):
                break
            r = math.sqrt(low * high)
            low, high = (
                (low, r) if self.tilted(r)[0] - 1.0 / r - 1.0 / (1.0 + r) > eps else (r, high)
            )
        return max(low, least)

    def nodes(self, r: float, start: int) -> int:
        """Enough for the bulk of the tilted law above the start; aliases are small then."""
        mean, variance = self.tilted(r)
        reach = max(mean - start * self.step, 0.0) + 12.0 * math.sqrt(variance)
        decay = 60.0 / r if r * reach > 0.1 else reach
        return 64 + math.ceil(max(reach, decay) / self.step)


def _positive(x: arb) -> arb:
    return arb.max(x, arb(0))


def _exp(log: float) -> arb:
    return arb(0) if log == -math.inf else arb(log).exp()


def _sum(balls: Sequence[arb]) -> arb:
    total = arb(0)
    for ball in balls:
        total += ball
    return total
