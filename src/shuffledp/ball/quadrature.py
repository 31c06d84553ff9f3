"""Gauss-Legendre panels for E e^(sG) over a piece of outputs, with a proven error for every s.

On a piece the reference density is r(y) = norm e^(q y^2 + unit (slope y + level)), q <= 0, and
G = a - e^eps b with a and b exponentials of lines, so r e^(sG) is entire: the piece may be
integrated along any path between its ends. Along the real line it oscillates with the frequency
Im s, wildly where G is large; a path that leaves the line makes e^(i Im(s) G) fall instead.

With N nodes on a straight panel c + h [-1, 1] and |r e^(sG)| <= M on the Bernstein ellipse
c + h E_rho,

    |integral - rule| <= 8 |h| M rho^(1 - 2N)/(rho - 1):

the Chebyshev coefficients are at most 2 M rho^-k, so cutting after degree 2N - 1 leaves at most
2 M rho^(1 - 2N)/(rho - 1), which the integral and the rule both multiply by at most 2 |h|. Where
r e^(sG) is negligible no nodes are spent: then the error is 2 |h| times its largest modulus.

Where to put the panels is decided in floating point; what they are worth is computed in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from shuffledp.arithmetic.balls import acb, arb, ctx
from shuffledp.errors import NotCertified

from .densities import Noise, Piece

__all__ = [
    "Band",
    "Panel",
    "PanelError",
    "Sketch",
    "bounds_of_exponential",
    "gain_at",
    "make_panels",
]

NODES = 32
_RADII = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0)
_MOST_PANELS = 3000
_DEEPEST = 60
_LARGEST_EXPONENT = 600.0
_STEEPEST_TURN = 1.4  # radians, less than a right angle
_LARGEST_SHIFT = 2.8  # deviations of Gaussian noise
# Of a piece of ten deviations: forty to each, of which a tilted law takes a dozen at least.
_MIDPOINTS = 400
_POINTS, _LIGHT = 100, 4.5  # on a piece; a Gaussian density at three deviations is e^-4.5


@dataclass(frozen=True)
class Band:
    """Where the transform has to be accurate: s = real + iu, low <= u <= high."""

    real: float
    low: float
    high: float


@dataclass(frozen=True)
class PanelError:
    """The rule's error on a panel: coefficient * e^(Re(s) top + Im(s) swing), Re s, Im s >= 0."""

    coefficient: arb
    top: arb
    swing: arb

    def scaled(self, alpha: arb) -> PanelError:
        """Return the same for alpha G in place of G."""
        return PanelError(self.coefficient, alpha * self.top, alpha * self.swing)

    def at(self, real: arb, imaginary: arb) -> arb:
        """Evaluate the bound at s = real + i imaginary, imaginary >= 0."""
        return self.coefficient * (real * self.top + imaginary * self.swing).exp()


@dataclass(frozen=True)
class Panel:
    """A panel's ends, its weights and gains (none where it is negligible), and its error."""

    start: acb
    end: acb
    weight: list[acb]
    gain: list[acb]
    error: PanelError


def make_panels(
    noise: Noise, piece: Piece, eps: arb, *, path: Sequence[acb], band: Band, log_error: float
) -> list[Panel]:
    """Cut a path into panels with an error of about e^log_error each on the band.

    Parameters
    ----------
    path : corners of a path with sides parallel to the axes.

    Raises
    ------
    NotCertified
        If more than 3000 panels would be needed.
    """
    sketch = Sketch(noise, piece, eps)
    panels: list[Panel] = []
    for first, last in pairwise(path):
        chosen = _cut(sketch, _rough(first), _rough(last), band, log_error)
        start = first
        for i, (at, rho) in enumerate(chosen):
            end = last if i == len(chosen) - 1 else acb(arb(at.real), arb(at.imag))
            panels.append(_panel(noise, piece, eps, start, end, rho))
            start = end
        if len(panels) > _MOST_PANELS:
            raise NotCertified(f"more than {_MOST_PANELS} panels would be needed")
    return panels


def _cut(
    sketch: Sketch, first: complex, last: complex, band: Band, log_error: float
) -> list[tuple[complex, float | None]]:
    """Return the panels' ends, in order, each with its ellipse (None: no nodes)."""
    todo, chosen = [(first, last, 0)], []
    while todo:
        start, end, depth = todo.pop()
        if sketch.log_size(start, end, band) <= log_error:
            chosen.append((end, None))
            continue
        best, rho = min((sketch.log_error(start, end, rho, band), rho) for rho in _RADII)
        if best <= log_error or depth == _DEEPEST:
            chosen.append((end, rho))
        else:
            middle = (start + end) / 2
            todo += [(middle, end, depth + 1), (start, middle, depth + 1)]
        if len(chosen) + len(todo) > _MOST_PANELS:
            raise NotCertified(f"more than {_MOST_PANELS} panels would be needed")
    return chosen


class Sketch:
    """A piece in floating point: q, and rates and levels of r, a and e^eps b."""

    def __init__(self, noise: Noise, piece: Piece, eps: arb) -> None:
        p, q, ref = piece.lines
        unit = float(noise.unit.mid())
        self.quadratic = float(noise.quadratic.mid())
        self.r1 = unit * float(ref.slope.mid())
        self.r0 = unit * float(ref.level.mid()) + float(noise.log_norm.mid())
        self.a1 = unit * float((p.slope - ref.slope).mid())
        self.a0 = unit * float((p.level - ref.level).mid())
        self.b1 = unit * float((q.slope - ref.slope).mid())
        self.b0 = unit * float((q.level - ref.level).mid()) + float(eps.mid())
        self.eps = float(eps.mid())

    def shift(self) -> float:
        """How far from the line, and to which side, a path makes e^(iuG) fall; 0 for nowhere.

        On y + iv the gain's imaginary part has the sign of a1 sin(a1 v) - b1 sin(b1 v) where G is
        monotone, which has to be positive.
        """
        rising, falling = max(self.a1, -self.b1), max(-self.a1, self.b1)
        if min(rising, falling) > 0.0:
            return 0.0  # not monotone
        shift = _STEEPEST_TURN / max(rising, falling)
        if self.quadratic < 0.0:
            shift = min(shift, _LARGEST_SHIFT / math.sqrt(-2.0 * self.quadratic))
        return shift if rising > 0.0 else -shift

    def largest_a(self, left: float, right: float) -> float:
        """The largest a on an interval."""
        return max(_exp(self.a1 * y + self.a0) for y in (left, right))

    def where_a_exceeds(self, level: float, left: float, right: float) -> tuple[float, float]:
        """The interval on which a > level; empty at the right end if there is none."""
        if self.a1 == 0.0:
            return (left, right) if self.a0 > math.log(level) else (right, right)
        at = min(max((math.log(level) - self.a0) / self.a1, left), right)
        return (at, right) if self.a1 > 0.0 else (left, at)

    def where_moderate(self, log: float, left: float, right: float) -> tuple[float, float]:
        """The interval on which log a and log b are at most so large."""
        for rate, level in ((self.a1, self.a0), (self.b1, self.b0 - self.eps)):
            if rate > 0.0:
                right = min(right, (log - level) / rate)
            elif rate < 0.0:
                left = max(left, (log - level) / rate)
        return left, max(left, right)

    def where_heavy(self, tilt: float, left: float, right: float) -> tuple[float, float]:
        """Where r e^(tilt G) is not much smaller than at its largest, between two points."""
        points = [left + (right - left) * k / _POINTS for k in range(_POINTS + 1)]
        logs = [self._log_tilted(tilt, y) for y in points]
        least = max(logs) - _LIGHT
        heavy = [k for k, log in enumerate(logs) if log >= least]
        return points[max(heavy[0] - 1, 0)], points[min(heavy[-1] + 1, _POINTS)]

    def atoms(self, left: float, right: float) -> list[tuple[float, float]]:
        """Weights and gains by the midpoint rule."""
        length = (right - left) / _MIDPOINTS
        found = []
        for k in range(_MIDPOINTS):
            y = left + (k + 0.5) * length
            weight = length * math.exp((self.quadratic * y + self.r1) * y + self.r0)
            found.append((weight, _exp(self.a1 * y + self.a0) - _exp(self.b1 * y + self.b0)))
        return found

    def _log_tilted(self, tilt: float, y: float) -> float:
        gain = _exp(self.a1 * y + self.a0) - _exp(self.b1 * y + self.b0)
        return (self.quadratic * y + self.r1) * y + self.r0 + tilt * gain

    def log_error(self, start: complex, end: complex, rho: float, band: Band) -> float:
        """Roughly the logarithm of the rule's error."""
        half = abs(end - start) / 2
        rule = math.log(8 * half / (rho - 1)) + (1 - 2 * NODES) * math.log(rho)
        return rule + self._largest(start, end, (rho + 1 / rho) / 2, (rho - 1 / rho) / 2, band)

    def log_size(self, start: complex, end: complex, band: Band) -> float:
        """Roughly the logarithm of the length times the largest modulus."""
        return math.log(abs(end - start)) + self._largest(start, end, 1.0, 0.0, band)

    def _largest(self, start: complex, end: complex, a: float, b: float, band: Band) -> float:
        """Bound log |r e^(sG)| on c + h ([-a, a] + i[-b, b])."""
        c, h = (start + end) / 2, (end - start) / 2
        slope = (2 * self.quadratic * c + self.r1) * h
        log_r = (self.quadratic * c * c + self.r1 * c + self.r0).real
        log_r += abs(slope.real) * a + abs(slope.imag) * b
        log_r -= self.quadratic * abs(h) ** 2 * (a * a if abs(h.imag) > abs(h.real) else b * b)
        p = _range(self.a1 * c + self.a0, self.a1 * h, a, b)
        q = _range(self.b1 * c + self.b0, self.b1 * h, a, b)
        top, swing = p[1] - q[0], q[3] - p[2]
        # Larger tilts are needed for the aliases, on the line alone.
        ends: list[float] = [band.real * top + u * swing for u in (band.low, band.high)]
        if band.low == 0.0:
            ends.append(2 * band.real * top)
        return float(log_r + max(ends))


def _range(
    exponent: complex, rate: complex, a: float, b: float
) -> tuple[float, float, float, float]:
    """Bounds of Re and Im of e^(exponent + rate z), z in [-a, a] + i[-b, b]."""
    spread = abs(rate.real) * a + abs(rate.imag) * b
    turn = abs(rate.imag) * a + abs(rate.real) * b
    low, high = (_exp(exponent.real + x) for x in (-spread, spread))
    parts = []
    for angle in (exponent.imag, exponent.imag - math.pi / 2):
        least, most = _cosines(angle - turn, angle + turn)
        parts += [min(least * low, least * high), max(most * low, most * high)]
    return parts[0], parts[1], parts[2], parts[3]


def _cosines(first: float, last: float) -> tuple[float, float]:
    """The least and the largest cosine on an interval."""
    ends = (math.cos(first), math.cos(last))
    turns = first / (2 * math.pi), last / (2 * math.pi)
    most = 1.0 if math.ceil(turns[0]) <= turns[1] else max(ends)
    least = -1.0 if math.ceil(turns[0] - 0.5) <= turns[1] - 0.5 else min(ends)
    return least, most


def _exp(x: float) -> float:
    return math.exp(min(x, _LARGEST_EXPONENT))


def _rough(y: acb) -> complex:
    return complex(float(y.real.mid()), float(y.imag.mid()))


# ----------------------------------------------------------------------------- what is rigorous


def _panel(noise: Noise, piece: Piece, eps: arb, start: acb, end: acb, rho: float | None) -> Panel:
    centre, half = (start + end) / 2, (end - start) / 2
    if rho is None:
        size = _largest(noise, piece, eps, centre, half, arb(1), arb(0))
        error = PanelError((2 * abs(half) * size.coefficient).upper(), size.top, size.swing)
        return Panel(start, end, [], [], error)
    weight, gain = [], []
    for node, share in _gauss_legendre(ctx.prec):
        y = centre + half * node
        weight.append(half * share * _log_reference(noise, piece, y).exp())
        gain.append(gain_at(noise, piece, eps, y))
    r = arb(rho)
    size = _largest(noise, piece, eps, centre, half, (r + 1 / r) / 2, (r - 1 / r) / 2)
    rule = 8 * abs(half) * r ** (1 - 2 * NODES) / (r - 1)
    return Panel(
        start,
        end,
        weight,
        gain,
        PanelError((rule * size.coefficient).upper(), size.top, size.swing),
    )


def _largest(
    noise: Noise, piece: Piece, eps: arb, centre: acb, half: acb, a: arb, b: arb
) -> PanelError:
    """Bound r, Re G and -Im G on c + h z, z in [-a, a] + i[-b, b], which holds the ellipse.

    log r is a parabola: its value and slope at c, and Re(q h^2 z^2) <= -q |h|^2 b^2 along the
    real axis, <= -q |h|^2 a^2 otherwise.
    """
    slope = (2 * noise.quadratic * centre + noise.unit * piece.lines[2].slope) * half
    log_r = _log_reference(noise, piece, centre).real + abs(slope.real) * a + abs(slope.imag) * b
    side = b if half.imag.is_zero() else a
    log_r -= noise.quadratic * abs(half) ** 2 * side**2
    parts = []
    for which, level in ((0, arb(0)), (1, eps)):
        exponent = _log_ratio(noise, piece, which, centre) + level
        line, ref = piece.lines[which], piece.lines[2]
        parts.append(
            bounds_of_exponential(exponent, noise.unit * (line.slope - ref.slope) * half, a, b)
        )
    (_, most_a, least_sine, _), (least_b, _, _, most_sine) = parts
    top, swing = most_a - least_b, most_sine - least_sine
    return PanelError(log_r.exp().upper(), top.upper(), swing.upper())


def bounds_of_exponential(exponent: acb, rate: acb, a: arb, b: arb) -> tuple[arb, arb, arb, arb]:
    """Bound Re and Im of e^(exponent + rate z) from both sides, z in [-a, a] + i[-b, b]."""
    spread = abs(rate.real) * a + abs(rate.imag) * b
    turn = abs(rate.imag) * a + abs(rate.real) * b
    low, high = (exponent.real - spread).exp(), (exponent.real + spread).exp()
    found = []
    for angle in (exponent.imag, exponent.imag - arb.pi() / 2):
        least, most = _least_and_most_cosine(angle - turn, angle + turn)
        found += [arb.min(least * low, least * high), arb.max(most * low, most * high)]
    return found[0], found[1], found[2], found[3]


def _least_and_most_cosine(first: arb, last: arb) -> tuple[arb, arb]:
    """Bound the cosine on an interval from both sides."""
    ends = (first.cos(), last.cos())
    around = 2 * arb.pi()
    most = arb.max(*ends) if (first / around).ceil() > last / around else arb(1)
    half = arb(0.5)
    no_trough = (first / around - half).ceil() > last / around - half
    return arb.min(*ends) if no_trough else arb(-1), most


def _log_reference(noise: Noise, piece: Piece, y: acb) -> acb:
    line = piece.lines[2]
    return noise.log_norm + noise.quadratic * y**2 + noise.unit * (line.slope * y + line.level)


def gain_at(noise: Noise, piece: Piece, eps: arb, y: Any) -> Any:
    """Return G = a - e^eps b as b e^eps expm1(log(a/b) - eps)."""
    p, q, _ = piece.lines
    log_ratio = noise.unit * ((p.slope - q.slope) * y + (p.level - q.level))
    return _ratio(noise, piece, 1, y) * eps.exp() * (log_ratio - eps).expm1()


def _ratio(noise: Noise, piece: Piece, which: int, y: acb) -> acb:
    return _log_ratio(noise, piece, which, y).exp()


def _log_ratio(noise: Noise, piece: Piece, which: int, y: acb) -> acb:
    line, ref = piece.lines[which], piece.lines[2]
    return noise.unit * ((line.slope - ref.slope) * y + (line.level - ref.level))


@lru_cache(maxsize=8)
def _gauss_legendre(bits: int) -> list[tuple[arb, arb]]:
    """Return nodes and weights on [-1, 1]; the weights are positive and sum to 2."""
    with ctx.workprec(bits):
        return [arb.legendre_p_root(NODES, k, weight=True) for k in range(NODES)]
