"""Gain laws of continuous mechanisms: Gauss-Legendre nodes, and what they leave out.

A piece of outputs is integrated by panels with a proven error (`quadrature`); outputs on which G
is constant are atoms. Where the likelihood ratios are unbounded (Gaussian), outputs beyond a cut
are taken out: with G = 0 there, delta moves by something in [-e^eps Q(beyond), P(beyond)].

Where single gains may be much larger than all others together, one tilt does not fit all sums.
Then the law is split by the size of the gain, M = M_0 + T_1 + ... + T_k, and sums are told apart
by their largest gain: M^n = M_0^n + [(M_0 + T_1)^n - M_0^n] + ..., each with its own tilt.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from shuffledp.arithmetic.balls import acb, arb
from shuffledp.errors import NotCertified

from .densities import Noise, Piece, pieces
from .gains import ByParts, Far, GainLaw, Run, Sums
from .layers import Layer, layers_below
from .powers import Atoms, Difference, Power, Powers, tilt_in_floats, tilt_of_difference
from .quadrature import Band, Panel, Sketch, gain_at, make_panels

__all__ = ["ContinuousPair", "continuous_terms"]

_STEPS = 6  # cells of a panel, to bound a variation
_CELLS = 32  # of a piece, under its density: with twice as many 5 % fewer nodes are left
_FIRST_REACH, _REACHES = 30.0, (100.0, 300.0, 1000.0, 3000.0, 10000.0)
_MANY = 1200  # atoms; more than this are worth a path of their own
_MODERATE = 2.0  # logarithm of a likelihood ratio
_HIGH, _LAYER = 12.0, 4.0
_MOST_LAYERS = 40


@dataclass(frozen=True)
class ContinuousPair:
    """Inputs of a continuous mechanism: x2 = None means the blanket as reference."""

    noise: Callable[[], Noise]
    x0: arb
    x1: arb
    x2: arb | None


def continuous_terms(
    pair: ContinuousPair, eps: arb, *, n: int, log_cut: float, log_error: float
) -> tuple[Iterator[Powers], arb]:
    """Return transforms whose contour integrals add up to E[G_1 + ... + G_n]_+, and the outside.

    Parameters
    ----------
    log_cut : logarithm of the P and Q mass, roughly, that may be cut off at unbounded ends.
    log_error : logarithm of each panel's error, roughly.

    Raises
    ------
    NotCertified
        If too many panels would be needed.
    """
    outline = _outline(pair, eps, log_cut)
    return _terms(_Source(pair.noise(), eps, outline, log_error), n), outline.outside


def _terms(source: _Source, n: int) -> Iterator[Powers]:
    for _ in range(_MOST_LAYERS):
        tilt = tilt_in_floats(source.atoms(), n)
        height = source.height()
        # Below e^eps hardly a gain is positive.
        if tilt * height <= _HIGH or height <= 1.5 * _LAYER * math.exp(float(source.eps)):
            yield _whole(source, tilt, n)
            return
        rest, part = source.split(height / _LAYER)
        yield _difference(rest, part, n)
        source = rest
    # What is left may be most of the law.
    raise NotCertified(f"gains of more than {_MOST_LAYERS} sizes would have to be told apart")


def _whole(source: _Source, tilt: float, n: int) -> Power:
    """All of a law, by atoms as far out as its transform matters, if that is cheap."""
    near = Band(tilt, 0.0, _FIRST_REACH * tilt)
    power = Power(source.law(near), n, tilt)
    if power.settled_from(arb(source.log_error).exp()) <= _FIRST_REACH:
        return power
    return Power(source.farther(near), n, tilt)


def _difference(rest: _Source, part: _Source, n: int) -> Difference:
    # The part is compared with itself alone: its errors have to be small for its own size.
    size = part.mass()
    part = replace(part, log_error=rest.log_error + float(size.log().mid()))
    tilt = tilt_of_difference(rest.atoms(), part.atoms(), n)
    band = Band(tilt, 0.0, _FIRST_REACH * tilt)
    return Difference(rest.law(band), part.law(band), n, tilt)


@dataclass(frozen=True)
class _Outline:
    """Pieces on which G varies, bounded; atoms of the others; what was cut off."""

    bounded: list[Piece]
    weight: list[arb]
    gain: list[arb]
    outside: arb


def _outline(pair: ContinuousPair, eps: arb, log_cut: float) -> _Outline:
    noise = pair.noise()
    weight: list[arb] = []
    gain: list[arb] = []
    bounded: list[Piece] = []
    below = above = beyond = inside = arb(0)  # what cutting moves delta by, down and up
    for piece in pieces(noise, pair.x0, pair.x1, pair.x2):
        if _is_constant(piece):
            weight.append(noise.integral(piece.lines[2], piece.left, piece.right))
            gain.append(_constant_gain(noise, piece, eps))
            continue
        inner, outer = _cut_off(noise, piece, pair, log_cut)
        bounded.append(inner)
        inside += noise.integral(inner.lines[2], inner.left, inner.right)
        for left, right in outer:
            p, q, r = (noise.integral(line, left, right) for line in piece.lines)
            above += p
            below += eps.exp() * q
            beyond += r
    if pair.x2 is None:
        # The left-over has G = 0 too.
        beyond = 1 - inside - sum(weight, start=arb(0))
    outside = (above - below) / 2 + arb(0, ((above + below) / 2).upper())
    return _Outline(bounded, [*weight, beyond], [*gain, arb(0)], outside)


@dataclass(frozen=True)
class _Source:
    """What a law's transform is computed from."""

    noise: Noise
    eps: arb
    outline: _Outline
    log_error: float

    def atoms(self) -> Atoms:
        """The law in floats, from which tilts are proposed."""
        fixed = zip(self.outline.weight, self.outline.gain, strict=True)
        found = [(float(w.mid()), float(g.mid())) for w, g in fixed]
        for piece in self.outline.bounded:
            found += self._sketch(piece).atoms(*_ends(piece))
        return found

    def law(self, band: Band) -> GainLaw:
        """The law by atoms on the line, accurate on this band."""
        weight, gain = [*self.outline.weight], [*self.outline.gain]
        atoms = list(range(len(weight)))
        runs = [(piece, self._panels(piece, band, 0.0)) for piece in self.outline.bounded]
        panels = [panel for _, run in runs for panel in run]
        for panel in panels:
            weight += [w.real for w in panel.weight]
            gain += [g.real for g in panel.gain]

        def pieces_tilted(alpha: arb) -> list[Run]:
            return [self._run(piece, run, band, alpha) for piece, run in runs]

        far = Far(atoms, band.high, pieces_tilted, self.beyond, self.bulk)
        return GainLaw(weight, gain, self.outline.outside, [p.error for p in panels], far)

    def _run(self, piece: Piece, panels: list[Panel], band: Band, alpha: arb) -> Run:
        mass = _tilted_mass(panels, alpha)

        def by_parts() -> ByParts:
            variation = _variation(self.noise, piece, panels, self.eps, alpha)
            bulk = self._bulk_of(piece)
            if bulk is None:
                return ByParts(variation, arb(0), mass.upper())
            inner = self._panels(bulk, band, 0.0)
            rest = arb.max((mass - _tilted_mass(inner, alpha)).upper(), arb(0))
            return ByParts(variation, _variation(self.noise, bulk, inner, self.eps, alpha), rest)

        return Run(mass.upper(), by_parts, _layers(self.noise, piece, self.eps, alpha))

    def farther(self, band: Band) -> GainLaw:
        """The law on as wide a band as is cheap."""
        law = self.law(band)
        for reach in _REACHES:
            found = self.law(Band(band.real, 0.0, reach * band.real))
            if len(found.weight) > _MANY:
                break
            law = found
        return law

    def beyond(self, band: Band) -> Sums:
        """Weights, gains and errors along paths on which e^(iuG) falls."""
        weight = [acb(w) for w in self.outline.weight]
        gain = [acb(g) for g in self.outline.gain]
        errors = []
        for piece in self.outline.bounded:
            shift = Sketch(self.noise, piece, self.eps).shift()
            for panel in self._panels(piece, band, shift):
                weight += panel.weight
                gain += panel.gain
                errors.append(panel.error)
        return weight, gain, errors

    def bulk(self, band: Band) -> Sums:
        """Weights, gains and errors on the line, of true atoms and moderate likelihood ratios."""
        weight, gain = [*self.outline.weight], [*self.outline.gain]
        errors = []
        bulks = (self._bulk_of(piece) for piece in self.outline.bounded)
        for piece in (bulk for bulk in bulks if bulk is not None):
            for panel in self._panels(piece, band, 0.0):
                weight += [w.real for w in panel.weight]
                gain += [g.real for g in panel.gain]
                errors.append(panel.error)
        return weight, gain, errors

    def height(self) -> float:
        """The largest a = P/ref, roughly."""
        return max(
            (self._sketch(p).largest_a(*_ends(p)) for p in self.outline.bounded), default=0.0
        )

    def mass(self) -> arb:
        """Reference mass of the pieces."""
        return sum(
            (self.noise.integral(p.lines[2], p.left, p.right) for p in self.outline.bounded),
            start=arb(0),
        )

    def split(self, level: float) -> tuple[_Source, _Source]:
        """The rest, where a = P/ref is at most a level, and the part where it is larger."""
        inner, outer = [], []
        for piece in self.outline.bounded:
            low, high = self._sketch(piece).where_a_exceeds(level, *_ends(piece))
            for side, found in (
                (outer, _within(piece, low, high)),
                (inner, _within(piece, None, low)),
                (inner, _within(piece, high, None)),
            ):
                if found is not None:
                    side.append(found)
        nothing = arb(0)
        rest = replace(self.outline, bounded=inner, outside=nothing)
        part = _Outline(outer, [], [], nothing)
        return replace(self, outline=rest), replace(self, outline=part)

    def _sketch(self, piece: Piece) -> Sketch:
        return Sketch(self.noise, piece, self.eps)

    def _bulk_of(self, piece: Piece) -> Piece | None:
        return _within(piece, *self._sketch(piece).where_moderate(_MODERATE, *_ends(piece)))

    def _panels(self, piece: Piece, band: Band, shift: float) -> list[Panel]:
        ends = [acb(y) for y in (piece.left, piece.right) if y is not None]
        path = ends
        if shift:
            aside = acb(0, arb(shift))
            path = [ends[0], ends[0] + aside, ends[1] + aside, ends[1]]
        return make_panels(
            self.noise, piece, self.eps, path=path, band=band, log_error=self.log_error
        )


def _tilted_mass(panels: list[Panel], alpha: arb) -> arb:
    """E e^(alpha G) on the panels."""
    total = arb(0)
    for panel in panels:
        for w, g in zip(panel.weight, panel.gain, strict=True):
            total += w.real * (alpha * g.real).exp()
        total += arb(0, panel.error.at(alpha, arb(0)).upper())
    return total


def _ends(piece: Piece) -> tuple[float, float]:
    """The ends of a bounded piece."""
    left, right = (0.0 if y is None else float(y.mid()) for y in (piece.left, piece.right))
    return left, right


def _within(piece: Piece, low: float | None, high: float | None) -> Piece | None:
    """The piece between two points (None: up to its own end); None if nothing is left."""
    left, right = _ends(piece)
    if (high is not None and high <= left) or (low is not None and low >= right):
        # Whatever floats are beside an end that is no float: the other part has all of it.
        return None
    start = piece.left if low is None or low <= left else arb(low)
    end = piece.right if high is None or high >= right else arb(high)
    if start is None or end is None or not start < end:
        return None
    return Piece(start, end, piece.lines)


def _is_constant(piece: Piece) -> bool:
    p, q, reference = piece.lines
    return bool((p.slope - reference.slope).is_zero() and (q.slope - reference.slope).is_zero())


def _constant_gain(noise: Noise, piece: Piece, eps: arb) -> arb:
    """Return G = b e^eps expm1(log(a/b) - eps)."""
    p, q, ref = piece.lines
    b = (noise.unit * (q.level - ref.level)).exp()
    return b * eps.exp() * (noise.unit * (p.level - q.level) - eps).expm1()


# ------------------------------------------------------------------- far out on the contour


def _variation(noise: Noise, piece: Piece, panels: list[Panel], eps: arb, alpha: arb) -> arb:
    """Bound V with |integral over the piece of r e^((alpha + iu) G)| <= V/|u|.

    Integration by parts: with f = r e^(alpha G) the integral is that of (f/(iu G')) d e^(iuG), so
    V = |f/G'| at both ends + sum over cells of length * sup |f/G'| * sup |(log (f/G'))'|.
    """
    total = arb(0)
    for y in (panels[0].start.real, panels[-1].end.real):
        total += abs(_over_slope(noise, piece, eps, alpha, y)[0])
    for panel in panels:
        left = panel.start.real
        length = (panel.end.real - left) / _STEPS
        for k in range(_STEPS):
            centre = left + (2 * k + 1) * length / 2
            cell = centre + arb(0, (length / 2).upper())
            value, change = _over_slope(noise, piece, eps, alpha, cell)
            total += length * abs(value) * abs(change)
    return total.upper()


def _layers(noise: Noise, piece: Piece, eps: arb, alpha: arb) -> list[Layer]:
    """Below the density of G on a piece, tilted by alpha, where most of it is.

    On a cell on which G is monotone that density is r e^(alpha G)/|G'|; over cells that follow
    each other G goes on in the same direction.
    """
    low, high = Sketch(noise, piece, eps).where_heavy(float(alpha.mid()), *_ends(piece))
    edges = [arb(low + (high - low) * k / _CELLS) for k in range(_CELLS + 1)]
    heights = []
    for left, right in itertools.pairwise(edges):
        value, _ = _over_slope(noise, piece, eps, alpha, left.union(right))
        # Floats may be beyond an end, where densities are others'.
        known = _is_within(piece, left, right) and value.is_finite()
        heights.append(arb(abs(value).lower()) if known else arb(0))
    return layers_below(heights, [gain_at(noise, piece, eps, y) for y in edges])


def _is_within(piece: Piece, left: arb, right: arb) -> bool:
    """Whether an interval is certainly inside of a piece."""
    above = piece.left is None or left >= piece.left
    return above and (piece.right is None or right <= piece.right)


def _over_slope(noise: Noise, piece: Piece, eps: arb, alpha: arb, y: arb) -> tuple[arb, arb]:
    """Return f/G' and its logarithmic derivative at y, f = r e^(alpha G)."""
    p, q, ref = piece.lines
    ka, kb = (noise.unit * (line.slope - ref.slope) for line in (p, q))
    la, lb = (noise.unit * (line.level - ref.level) for line in (p, q))
    a, b = (ka * y + la).exp(), eps.exp() * (kb * y + lb).exp()
    first, second = ka * a - kb * b, ka**2 * a - kb**2 * b
    log_r = noise.log_norm + noise.quadratic * y**2 + noise.unit * (ref.slope * y + ref.level)
    log_f = log_r + alpha * (a - b)
    slope = 2 * noise.quadratic * y + noise.unit * ref.slope + alpha * first - second / first
    return log_f.exp() / first, slope


# ----------------------------------------------------------------------------------- the cut


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
