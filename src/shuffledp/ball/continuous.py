"""Gain laws of continuous mechanisms: cells with exact moments, and what the cells leave out.

On a cell the reference mass w and the first two moments of G are known in closed form. The cell
is replaced by two atoms m - s and m + s with the same moments: by Taylor's formula about m,

    |E e^(zG) - (e^(z(m-s)) + e^(z(m+s)))/2| <= |z|^3 e^(Re(z)(m + D)) s^2 D / 3,   Re z >= 0,

where D bounds the width of G on the cell. So the law of G itself is enclosed, not a rounded one.
Where the likelihood ratios are unbounded (Gaussian), outputs beyond a cut are taken out: with
G = 0 there, delta moves by something in [-e^eps Q(beyond), P(beyond)].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.errors import NotCertified

from ._flint import arb, float_above
from .contour import PrecisionError
from .densities import Line, Noise, Piece, pieces
from .gains import GainLaw
from .transform import saddle_point, tilt

__all__ = ["ContinuousPair", "continuous_law"]

_FIRST_CELLS = 96
_MOST_CELLS = 12_000
_GRID = 512


@dataclass(frozen=True)
class ContinuousPair:
    """Inputs of a continuous mechanism: x2 = None means the blanket as reference."""

    noise: Callable[[], Noise]
    x0: arb
    x1: arb
    x2: arb | None


@dataclass(frozen=True)
class _Cell:
    """One cell: its ends, its piece, its mass, mean, squared deviation and width of G."""

    left: arb
    right: arb
    piece: Piece
    mass: arb
    mean: arb
    square: arb
    width: arb


def continuous_law(
    pair: ContinuousPair, eps: arb, *, n: int, rel: float, log_cut: float
) -> GainLaw:
    """Build a gain law with cells fine enough for a relative width `rel` of delta at this n.

    Parameters
    ----------
    log_cut : logarithm of the P and Q mass, roughly, that may be cut off at unbounded ends.

    Raises
    ------
    NotCertified
        If more than 12,000 cells would be needed.
    """
    cells, tilted_by = _FIRST_CELLS, 0.0
    for _ in range(12):
        law = _law(pair, eps, cells, log_cut, tilted_by)
        if not law.remainder:
            return law
        alpha = saddle_point(law, n)
        ratio = float_above(n * tilt(law, alpha).slack / (rel / 8))
        if not 0 <= ratio < math.inf:
            ratio = 512.0  # the remainder swallows the moment itself
        if ratio <= 1 and tilted_by > 0:
            return law
        tilted_by = float(alpha)
        # The slack falls with the third power of the number of cells.
        cells = int(cells * min(max(1.1 * ratio ** (1 / 3), 1.0), 8.0)) + 1
        if cells > _MOST_CELLS:
            break
    raise NotCertified(f"rel = {rel!r}: would need more than {_MOST_CELLS} cells")


def _law(pair: ContinuousPair, eps: arb, count: int, log_cut: float, tilted_by: float) -> GainLaw:
    noise = pair.noise()
    weight: list[arb] = []
    gain: list[arb] = []
    cells: list[_Cell] = []
    runs: list[list[_Cell]] = []  # the cells of one piece, side by side
    below = above = arb(0)  # what cutting moves delta by, downward and upward
    beyond = arb(0)
    bounded: list[Piece] = []
    for piece in pieces(noise, pair.x0, pair.x1, pair.x2):
        if _is_constant(piece):
            weight.append(noise.integral(piece.lines[2], piece.left, piece.right))
            gain.append(_gain(noise, piece, eps, arb(0)))
            continue
        inner, outer = _cut_off(noise, piece, pair, log_cut)
        bounded.append(inner)
        for left, right in outer:
            p, q, r = (noise.integral(line, left, right) for line in piece.lines)
            above += p
            below += eps.exp() * q
            beyond += r
    for piece, edges in _place_cells(noise, bounded, eps, count, tilted_by):
        spans = pairwise(edges)
        runs.append([_cell(noise, piece, eps, left, right) for left, right in spans])
        cells += runs[-1]
    remainder = []
    for c in cells:
        deviation = c.square.sqrt()
        weight += [c.mass / 2, c.mass / 2]
        gain += [c.mean - deviation, c.mean + deviation]
        remainder.append((c.mass * c.square * c.width / 3, c.mean + c.width))
    if pair.x2 is None:
        beyond = 1 - sum(
            (c.mass for c in cells), start=sum(weight[: len(weight) - 2 * len(cells)], start=arb(0))
        )
    weight.append(beyond)
    gain.append(arb(0))
    true_atoms = [*range(len(weight) - 1 - 2 * len(cells)), len(weight) - 1]

    def spread(alpha: arb) -> tuple[list[int], arb]:
        total = arb(0)
        for run in runs:
            total += _variation(noise, run, eps, alpha)
        return true_atoms, total

    outside = (above - below) / 2 + arb(0, ((above + below) / 2).upper())
    return GainLaw(weight, gain, outside, remainder, spread if cells else None)


# -------------------------------------------------------------------------------- one cell


def _difference(a: Line, b: Line) -> Line:
    return Line(a.slope - b.slope, a.level - b.level)


def _ratios(noise: Noise, piece: Piece, y: arb) -> tuple[arb, arb]:
    p, q, reference = piece.lines
    out = []
    for line in (p, q):
        d = _difference(line, reference)
        out.append((noise.unit * (d.slope * y + d.level)).exp())
    return out[0], out[1]


def _is_constant(piece: Piece) -> bool:
    p, q, reference = piece.lines
    return bool((p.slope - reference.slope).is_zero() and (q.slope - reference.slope).is_zero())


def _gain(noise: Noise, piece: Piece, eps: arb, y: arb) -> arb:
    p, q, _ = piece.lines
    d = _difference(p, q)
    _, b = _ratios(noise, piece, y)
    return b * eps.exp() * (noise.unit * (d.slope * y + d.level) - eps).expm1()


def _cell(noise: Noise, piece: Piece, eps: arb, left: arb, right: arb) -> _Cell:
    p, q, ref = piece.lines
    alpha = eps.exp()

    def mixed(a: Line, b: Line) -> arb:
        line = Line(a.slope + b.slope - ref.slope, a.level + b.level - ref.level)
        return noise.integral(line, left, right)

    mass = noise.integral(ref, left, right)
    mean = (noise.integral(p, left, right) - alpha * noise.integral(q, left, right)) / mass
    second = (mixed(p, p) - 2 * alpha * mixed(p, q) + alpha**2 * mixed(q, q)) / mass
    a, b = zip(_ratios(noise, piece, left), _ratios(noise, piece, right), strict=True)
    width = abs(a[1] - a[0]) + alpha * abs(b[1] - b[0])
    square = second - mean**2
    if not square > 0:
        raise PrecisionError("the variance on a cell")
    return _Cell(left, right, piece, mass, mean, square, width.upper())


def _variation(noise: Noise, run: list[_Cell], eps: arb, alpha: arb) -> arb:
    """Bound V with |integral over a run of cells of ref e^((alpha + iu) G)| <= V/|u|.

    Integration by parts: with r = ref e^(alpha G) the integral is that of (r/(iu G')) d e^(iuG),
    so V = |r/G'| at both ends of the run + sum over the cells of length * sup |(r/G')'|.
    """
    total = arb(0)
    for c, y in ((run[0], run[0].left), (run[-1], run[-1].right)):
        total += abs(_over_slope(noise, c, eps, alpha, y)[0])
    for c in run:
        length = c.right - c.left
        whole = (c.left + c.right) / 2 + arb(0, (length / 2).upper())
        value, change = _over_slope(noise, c, eps, alpha, whole)
        total += length * abs(value) * abs(change)
    return total.upper()


def _over_slope(noise: Noise, c: _Cell, eps: arb, alpha: arb, y: arb) -> tuple[arb, arb]:
    """Return r/G' and its logarithmic derivative at y, r = ref e^(alpha G)."""
    p, q, ref = c.piece.lines
    a, b = _ratios(noise, c.piece, y)
    b = eps.exp() * b
    ka, kb = (noise.unit * (line.slope - ref.slope) for line in (p, q))
    first, second = ka * a - kb * b, ka**2 * a - kb**2 * b
    line = noise.unit * (ref.slope * y + ref.level)
    log_r = noise.log_norm + noise.quadratic * y**2 + line + alpha * (a - b)
    log_slope = 2 * noise.quadratic * y + noise.unit * ref.slope + alpha * first - second / first
    return log_r.exp() / first, log_slope


# -------------------------------------------------------------------------------- placing the cells


def _cut_off(
    noise: Noise, piece: Piece, pair: ContinuousPair, log_cut: float
) -> tuple[Piece, list[tuple[arb | None, arb | None]]]:
    """Return the bounded part of a piece, and the unbounded rests."""
    sigma = 1 / math.sqrt(float(noise.unit.mid()))
    x0, x1 = float(pair.x0.mid()), float(pair.x1.mid())
    # Where P reaches farther G is unbounded above, which the tilt feels: cut as early as allowed.
    by_p, by_q = sigma * _normal_reach(log_cut), sigma * _normal_reach(log_cut - 7)
    low, high = (x0 - by_p, x1 + by_q) if x0 < x1 else (x1 - by_q, x0 + by_p)
    left, right = piece.left, piece.right
    rests: list[tuple[arb | None, arb | None]] = []
    if left is None:
        left = arb(low)
        rests.append((None, left))
    if right is None:
        right = arb(high)
        rests.append((right, None))
    return Piece(left, right, piece.lines), rests


def _normal_reach(log_tail: float) -> float:
    """Roughly the z with log P(Z > z) = log_tail, Z standard normal."""
    z = math.sqrt(max(-2 * log_tail, 1.0))
    for _ in range(4):
        z = math.sqrt(max(-2 * (log_tail + math.log(2.5066 * z)), 0.25))
    return z


def _place_cells(
    noise: Noise, bounded: list[Piece], eps: arb, count: int, tilted_by: float
) -> list[tuple[Piece, list[arb]]]:
    """Choose cell edges by the density r^(1/3) |G'|^(2/3), which minimises the sum of w D^3.

    r is the reference tilted by e^(alpha G). Any edges are valid: this uses floating point.
    """
    profiles = [_importance(noise, piece, eps, tilted_by) for piece in bounded]
    largest = max(max(logs) for _, logs, _ in profiles)
    shares = []
    for ys, logs, slopes in profiles:
        step = ys[1] - ys[0]
        shares.append(
            [
                (step * (math.exp(v - largest) + 1e-9), step * g)
                for v, g in zip(logs, slopes, strict=True)
            ]
        )
    total = sum(v for share in shares for v, _ in share)
    out = []
    for piece, (ys, _, _), share in zip(bounded, profiles, shares, strict=True):
        running = [0.0]
        for v, width in share:
            # No cell wider than about 1/(2 alpha), or its e^(alpha width) ruins the remainder.
            running.append(running[-1] + count * v / total + min(2 * tilted_by * width, count))
        out.append((piece, _edges(piece, ys, running, max(2, round(running[-1])))))
    return out


def _importance(
    noise: Noise, piece: Piece, eps: arb, tilted_by: float
) -> tuple[list[float], list[float], list[float]]:
    """Return grid points, log(r |G'|^2)/3 and |G'| between them."""
    left, right = _finite(piece.left), _finite(piece.right)
    step = (right - left) / _GRID
    ys = [left + i * step for i in range(_GRID + 1)]
    logs, steepness = [], []
    unit, quadratic = float(noise.unit.mid()), float(noise.quadratic.mid())
    p, q, ref = ((float(x.slope.mid()), float(x.level.mid())) for x in piece.lines)
    for y0, y1 in pairwise(ys):
        y = (y0 + y1) / 2
        log_ref = quadratic * y * y + unit * (ref[0] * y + ref[1])
        log_a, log_b = (
            min(unit * ((x[0] - ref[0]) * y + x[1] - ref[1]) + shift, 600.0)
            for x, shift in ((p, 0.0), (q, float(eps.mid())))
        )
        slopes = [
            math.log(abs(x[0] - ref[0])) + log_x
            for x, log_x in ((p, log_a), (q, log_b))
            if x[0] != ref[0]
        ]
        log_tilted = log_ref + tilted_by * (math.exp(log_a) - math.exp(log_b))
        logs.append(log_tilted / 3 + 2 * max(slopes) / 3)
        steepness.append(unit * math.exp(max(slopes)))
    return ys, logs, steepness


def _finite(y: arb | None) -> float:
    return 0.0 if y is None else float(y.mid())


def _edges(piece: Piece, ys: list[float], running: list[float], cells: int) -> list[arb]:
    """Invert the running sum at equal steps; the ends are those of the piece exactly."""
    inner = []
    k = 0
    for i in range(1, cells):
        target = running[-1] * i / cells
        while running[k + 1] < target:
            k += 1
        share = (target - running[k]) / (running[k + 1] - running[k])
        inner.append(ys[k] + share * (ys[k + 1] - ys[k]))
    left, right = piece.left, piece.right
    if left is None or right is None:
        raise PrecisionError("an unbounded piece was not cut")
    edges = [left]
    for y in inner:
        ball = arb(y)
        if ball > edges[-1] and ball < right:
            edges.append(ball)
    return [*edges, right]
