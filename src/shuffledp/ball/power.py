"""Generalized Gaussian noise in ball arithmetic: density exp(-(|z|/scale)^shape) over its integral.

The blanket at an output is the density of the farther end of the inputs. On a side of every input
(|y - x|/scale)^shape is analytic, so Gauss-Legendre panels have the error of `quadrature`; towards
an input, where there is a branch point, panels shrink geometrically. The suprema in that error are
bounded by the mean value form, derivatives being enclosed on the rectangle around the ellipse.

Far outputs are cut off, as for the Gaussian (`continuous`): with G = 0 there, delta moves by
something in [-e^eps Q(beyond), P(beyond)].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shuffledp.errors import NotCertified, ParameterError

from ._flint import acb, arb, ctx, float_below
from .densities import check_inputs
from .gains import Far, GainLaw, Run, Sums
from .laws import positive
from .powers import Power, Powers, tilt_in_floats
from .quadrature import Band, PanelError, bounds_of_exponential

__all__ = ["POWER", "PowerNoise", "local_power_delta", "power_noise", "power_terms"]

POWER = "generalized-gaussian"
_RADII = (1.3, 1.7, 2.2, 3.0, 5.0, 9.0)
_NODES = (8, 16, 32)
_SHRINK = 8  # how much nearer to a branch point the next panel is
_MOST_PANELS = 1000
_CELLS = 4  # of a panel, to bound a variation
_REACH = 100.0  # frequency, in units of the tilt, up to which the law's own panels are accurate
_ROUGH_BITS = 64
_HALVINGS = 300
_Q_DEEPER = 7.0


@dataclass(frozen=True)
class PowerNoise:
    """Shape b, scale s, the interval of inputs, and log of the density at 0."""

    shape: arb
    scale: arb
    low: arb
    high: arb
    log_top: arb

    def level(self, x: arb, y: acb, side: int) -> acb:
        """(|y - x|/s)^b, continued analytically from the side of x that y is on."""
        return (side * (y - x) / self.scale) ** self.shape

    def slope(self, x: arb, y: acb, side: int) -> acb:
        """Its derivative."""
        return side * self.shape / self.scale * (side * (y - x) / self.scale) ** (self.shape - 1)

    def derivatives(self, x: arb, y: arb, side: int) -> tuple[arb, arb, arb]:
        """The level at a real y, its first and its second derivative."""
        z = side * (y - x) / self.scale
        rate = side / self.scale
        level = z**self.shape
        first = self.shape * rate * z ** (self.shape - 1)
        second = self.shape * (self.shape - 1) * rate**2 * z ** (self.shape - 2)
        return level, first, second

    def beyond(self, distance: arb) -> arb:
        """P(Z > distance), distance >= 0: half the regularised upper incomplete gamma function."""
        power = (distance / self.scale) ** self.shape
        return power.gamma_upper(1 / self.shape, regularized=1) / 2

    def mass(self, x: arb, left: arb | None, right: arb | None) -> arb:
        """P(left < x + Z < right)."""
        if left is None:
            return arb(1) if right is None else self._above(-x, -right)
        if right is None:
            return self._above(x, left)
        return self._above(x, left) - self._above(x, right)

    def _above(self, x: arb, y: arb) -> arb:
        return self.beyond(y - x) if y > x else 1 - self.beyond(x - y)


def power_noise(mechanism: Mapping[str, Any]) -> PowerNoise:
    """Return the noise of a "generalized-gaussian" mechanism."""
    shape, scale = positive(mechanism, "shape"), positive(mechanism, "scale")
    low, high = (mechanism.get(key, default) for key, default in (("low", 0.0), ("high", 1.0)))
    for key, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ParameterError(f"{key} = {value!r}: wanted a finite number")
    if not low < high:
        raise ParameterError(f"low, high = {low!r}, {high!r}: wanted low < high")
    log_top = -(2 * scale).log() - (1 + 1 / shape).lgamma()
    return PowerNoise(shape, scale, arb(low), arb(high), log_top)


@dataclass(frozen=True)
class _Stretch:
    """Outputs on one side of every input; `near` is the end at which there may be a branch point.

    Attributes
    ----------
    near, far : the ends.
    inputs : those of P, Q and the reference, with the side of them the outputs are on.
    """

    near: arb
    far: arb
    inputs: tuple[tuple[arb, int], ...]


def power_terms(
    mechanism: Mapping[str, Any],
    inputs: Sequence[float],
    eps: arb,
    *,
    n: int,
    log_cut: float,
    log_error: float,
) -> tuple[Iterator[Powers], arb]:
    """Return the transform of the sum of the gains, and what lies outside.

    Parameters
    ----------
    inputs : those of P and Q; and of all others, or nothing for the blanket.
    log_cut : logarithm of the P and Q mass, roughly, that may be cut off.
    log_error : logarithm of each panel's error, roughly.

    Raises
    ------
    NotCertified
        If too many panels would be needed.
    """
    noise = power_noise(mechanism)
    x0, x1, *rest = check_inputs({}, noise, inputs)
    x2 = rest[0] if rest else None
    left, right = _ends(noise, x0, x1, log_cut)
    stretches = _stretches(noise, x0, x1, x2, left, right)
    above, below = (noise.mass(x, None, left) + noise.mass(x, right, None) for x in (x0, x1))
    below = eps.exp() * below
    outside = (above - below) / 2 + arb(0, ((above + below) / 2).upper())
    middle = (noise.low + noise.high) / 2
    if x2 is None:
        inside = noise.mass(noise.high, left, middle) + noise.mass(noise.low, middle, right)
    else:
        inside = noise.mass(x2, left, right)

    source = _Source(noise, eps, stretches, 1 - inside, outside, log_error)

    def terms() -> Iterator[Powers]:
        tilt, last = tilt_in_floats(source.law(Band(0.0, 0.0, 0.0)), n), 0.0
        for _ in range(2):
            if abs(tilt - last) <= 0.05 * tilt:
                break
            tilt, last = tilt_in_floats(source.law(Band(tilt, 0.0, tilt)), n), tilt
        yield Power(source.law(Band(tilt, 0.0, _REACH * tilt)), n)

    return terms(), outside


@dataclass(frozen=True)
class _Source:
    """What a law's transform is computed from; `zero` is the weight of G = 0."""

    noise: PowerNoise
    eps: arb
    stretches: list[_Stretch]
    zero: arb
    outside: arb
    log_error: float

    def law(self, band: Band) -> GainLaw:
        """The law by atoms, accurate on this band."""
        panels = [[*self._panels(stretch, band)] for stretch in self.stretches]
        weight, gain, errors = self._sums(panels)

        def runs(alpha: arb) -> list[Run]:
            found = []
            for stretch, inside in zip(self.stretches, panels, strict=True):
                found += self._runs(stretch, inside, alpha)
            return found

        far = Far([0], band.high, runs, self.beyond, self.bulk)
        return GainLaw(weight, gain, self.outside, errors, far)

    def _sums(self, panels: list[list[_Panel]]) -> tuple[list[arb], list[arb], list[PanelError]]:
        weight, gain, errors = [self.zero], [arb(0)], []
        for panel in itertools.chain.from_iterable(panels):
            weight += panel.weight
            gain += panel.gain
            errors.append(panel.error)
        return weight, gain, errors

    def beyond(self, band: Band) -> Sums:
        """Weights, gains and errors for higher frequencies."""
        weight, gain, errors = self.bulk(band)
        return [acb(w) for w in weight], [acb(g) for g in gain], errors

    def bulk(self, band: Band) -> Sums:
        """The same as real numbers; of all of it."""
        return self._sums([[*self._panels(stretch, band)] for stretch in self.stretches])

    def _panels(self, stretch: _Stretch, band: Band) -> Iterator[_Panel]:
        """Panels that fill a stretch, from its near end on."""
        length = stretch.far - stretch.near
        todo, count = [(0.0, 1.0)], 0
        while todo:
            start, end = todo.pop()
            first, last = (stretch.near + length * arb(v) for v in (start, end))
            if first > last:
                first, last = last, first
            plan = _plan(self.noise, stretch, self.eps, first, last, band, self.log_error)
            if plan is not None:
                yield _panel(self.noise, stretch, self.eps, first, last, *plan)
                continue
            at = end / _SHRINK
            if start > 0.0:
                at = math.sqrt(start * end) if end > 4.0 * start else 0.5 * (start + end)
            todo += [(at, end), (start, at)]
            count += 1
            if count > _MOST_PANELS:
                raise NotCertified(f"more than {_MOST_PANELS} panels would be needed")

    def _runs(self, stretch: _Stretch, panels: list[_Panel], alpha: arb) -> list[Run]:
        """Consecutive panels on which G is monotone, and single ones of which it is not known.

        |integral of f e^(iuG)| <= V/u, f = r e^(alpha G): by parts V = |f/G'| at both ends + the
        integral of |(f/G')'|, bounded cell by cell.
        """
        found: list[Run] = []
        mass, total, last = arb(0), arb(0), None
        for panel in panels:
            own = _tilted_mass(panel, alpha)
            inner, ends = _variation(self.noise, stretch, self.eps, alpha, panel)
            if not (inner.is_finite() and all(end.is_finite() for end in ends)):
                found.append(Run(own, arb("inf"), arb(0), own))
                if last is not None:
                    found.append(Run(mass.upper(), (total + last).upper(), arb(0), mass.upper()))
                mass, total, last = arb(0), arb(0), None
                continue
            near, away = ends if panel.first_is_near else ends[::-1]
            if last is None:
                total = near
            mass, total, last = mass + own, total + inner, away
        if last is not None:
            found.append(Run(mass.upper(), (total + last).upper(), arb(0), mass.upper()))
        return found


@dataclass(frozen=True)
class _Panel:
    """A panel's ends, weights and gains (none where it is negligible), and its error."""

    first: arb
    last: arb
    first_is_near: bool
    weight: list[arb]
    gain: list[arb]
    error: PanelError


def _tilted_mass(panel: _Panel, alpha: arb) -> arb:
    """E e^(alpha G) on a panel, from above."""
    total = panel.error.at(alpha, arb(0)).upper()
    for w, g in zip(panel.weight, panel.gain, strict=True):
        total += w * (alpha * g).exp()
    return total.upper()


def _variation(
    noise: PowerNoise, stretch: _Stretch, eps: arb, alpha: arb, panel: _Panel
) -> tuple[arb, tuple[arb, arb]]:
    """Integral of |(f/G')'| over a panel, and |f/G'| at its ends, from above."""
    if not panel.weight:
        return arb("inf"), (arb(0), arb(0))
    with ctx.workprec(_ROUGH_BITS):
        ends = [
            abs(_over_slope(noise, stretch, eps, alpha, y)[0]).upper()
            for y in (panel.first, panel.last)
        ]
        total, length = arb(0), (panel.last - panel.first) / _CELLS
        for k in range(_CELLS):
            centre = panel.first + (2 * k + 1) * length / 2
            value, change = _over_slope(
                noise, stretch, eps, alpha, centre + arb(0, (length / 2).upper())
            )
            total += length * abs(value) * abs(change)
        return total.upper(), (ends[0], ends[1])


def _over_slope(
    noise: PowerNoise, stretch: _Stretch, eps: arb, alpha: arb, y: arb
) -> tuple[arb, arb]:
    """f/G' and its logarithmic derivative at y, f = r e^(alpha G)."""
    (p, p_side), (q, q_side), (ref, side) = stretch.inputs
    level, slope, bend = noise.derivatives(ref, y, side)
    of_p, of_q = noise.derivatives(p, y, p_side), noise.derivatives(q, y, q_side)
    a, b = (level - of_p[0]).exp(), (level - of_q[0] + eps).exp()
    (a1, a2), (b1, b2) = ((slope - x[1], bend - x[2]) for x in (of_p, of_q))
    first = a * a1 - b * b1
    second = a * (a1 * a1 + a2) - b * (b1 * b1 + b2)
    log_f = noise.log_top - level + alpha * (a - b)
    return log_f.exp() / first, -slope + alpha * first - second / first


def _ends(noise: PowerNoise, x0: arb, x1: arb, log_cut: float) -> tuple[arb, arb]:
    """Where outputs are cut off: little P mass on P's side, still less of Q's on its own."""
    by_p, by_q = (_distance(noise, log) for log in (log_cut, log_cut - _Q_DEEPER))
    if x0 < x1:
        return x0 - by_p, x1 + by_q
    return x1 - by_q, x0 + by_p


def _distance(noise: PowerNoise, log_mass: float) -> arb:
    """Roughly the distance beyond which the noise has this mass, at least the scale."""
    low, high = -60.0, 60.0 * max(1.0, 1.0 / float(noise.shape.mid()))
    with ctx.workprec(_ROUGH_BITS):
        for _ in range(60):
            middle = 0.5 * (low + high)
            found = noise.beyond(noise.scale * arb(middle).exp())
            gone = not found > 0 or float_below(found.log()) < log_mass
            low, high = (low, middle) if gone else (middle, high)
    return (noise.scale * arb(high).exp()).mid()


def _stretches(
    noise: PowerNoise, x0: arb, x1: arb, x2: arb | None, left: arb, right: arb
) -> list[_Stretch]:
    middle = (noise.low + noise.high) / 2
    special = _distinct([x0, x1, *([] if x2 is None else [x2])])
    cuts = _distinct([left, *special, middle, right])
    found = []
    for a, b in itertools.pairwise(cuts):
        centre = (a + b) / 2
        reference = x2
        if reference is None:
            reference = noise.high if centre < middle else noise.low
        sides = tuple((x, 1 if centre > x else -1) for x in (x0, x1, reference))
        ends = [any((e - x).is_zero() for x in special) for e in (a, b)]
        if all(ends):
            found += [_Stretch(a, centre, sides), _Stretch(b, centre, sides)]
        elif ends[1]:
            found.append(_Stretch(b, a, sides))
        else:
            found.append(_Stretch(a, b, sides))
    return found


def _float(x: arb) -> float:
    return float(x.mid())


def _distinct(points: Sequence[arb]) -> list[arb]:
    out: list[arb] = []
    for p in sorted(points, key=_float):
        if not out or p > out[-1]:
            out.append(p)
    return out


# ---------------------------------------------------------------------------------- the panels


def _plan(
    noise: PowerNoise,
    stretch: _Stretch,
    eps: arb,
    first: arb,
    last: arb,
    band: Band,
    log_error: float,
) -> tuple[int, float] | None:
    """How many nodes, and the ellipse, for an error of about e^log_error; None: cut further."""
    with ctx.workprec(_ROUGH_BITS):
        alone = _whole(noise, stretch, eps, first, last)
        if _size(alone, band) <= log_error:
            return 0, 1.0
        best: tuple[int, float] | None = None
        for rho in _RADII:
            bound = _error(noise, stretch, eps, first, last, 1, rho)
            size = _size(bound, band)
            if not size < math.inf:
                break
            for nodes in _NODES:
                if size + (2 - 2 * nodes) * math.log(rho) <= log_error:
                    if best is None or nodes < best[0]:
                        best = nodes, rho
                    break
    return best


def _size(error: PanelError, band: Band) -> float:
    """Roughly the logarithm of the largest error on the band."""
    if not (error.coefficient.is_finite() and error.top.is_finite() and error.swing.is_finite()):
        return math.inf
    c, top, swing = (float(x.mid()) for x in (error.coefficient, error.top, error.swing))
    if not c > 0.0:
        return -math.inf
    # Larger tilts are needed for the aliases, on the line alone.
    return math.log(c) + max(band.real * top + band.high * swing, 2.0 * band.real * top)


def _error(
    noise: PowerNoise,
    stretch: _Stretch,
    eps: arb,
    first: arb,
    last: arb,
    nodes: int,
    rho: float,
) -> PanelError:
    """The rule's error (`quadrature`)."""
    centre, half = (first + last) / 2, (last - first) / 2
    r = arb(rho)
    a, b = (r + 1 / r) / 2, (r - 1 / r) / 2
    box = acb(centre + arb(0, (half * a).upper()), arb(0, (half * b).upper()))
    middle = acb(centre)
    (p, p_side), (q, q_side), (ref, side) = stretch.inputs
    slope_r = -noise.slope(ref, box, side)
    rate = slope_r * half
    log_r = noise.log_top - noise.level(ref, middle, side).real
    log_r += abs(rate.real) * a + abs(rate.imag) * b
    parts = []
    for x, x_side, level in ((p, p_side, arb(0)), (q, q_side, eps)):
        exponent = noise.level(ref, middle, side) - noise.level(x, middle, x_side) + level
        slope = -slope_r - noise.slope(x, box, x_side)
        parts.append(bounds_of_exponential(exponent, slope * half, a, b))
    (_, most_a, least_sine, _), (least_b, _, _, most_sine) = parts
    top, swing = most_a - least_b, arb.max(most_sine - least_sine, arb(0))
    factor = 8 * half * r ** (1 - 2 * nodes) / (r - 1)
    return PanelError((factor * log_r.exp()).upper(), top.upper(), swing.upper())


def _whole(noise: PowerNoise, stretch: _Stretch, eps: arb, first: arb, last: arb) -> PanelError:
    """Length times the largest modulus: levels are monotone on either side of an input."""
    low, high = [], []
    for x, _ in stretch.inputs:
        near, far = sorted((abs(first - x), abs(last - x)), key=_float)
        low.append((near / noise.scale) ** noise.shape)
        high.append((far / noise.scale) ** noise.shape)
    top = (high[2] - low[0]).exp() - (low[2] - high[1] + eps).exp()
    size = (last - first) * (noise.log_top - low[2]).exp()
    return PanelError(size.upper(), top.upper(), arb(0))


def _panel(
    noise: PowerNoise,
    stretch: _Stretch,
    eps: arb,
    first: arb,
    last: arb,
    nodes: int,
    rho: float,
) -> _Panel:
    if nodes:
        error = _error(noise, stretch, eps, first, last, nodes, rho)
    else:
        error = _whole(noise, stretch, eps, first, last)
    centre, half = (first + last) / 2, (last - first) / 2
    weight, gain = [], []
    (p, p_side), (q, q_side), (ref, side) = stretch.inputs
    for node, share in _gauss_legendre(nodes, ctx.prec):
        y = acb(centre + half * node)
        level = noise.level(ref, y, side).real
        a, b = (
            (level - noise.level(x, y, x_side).real) for x, x_side in ((p, p_side), (q, q_side))
        )
        weight.append(half * share * (noise.log_top - level).exp())
        gain.append((b + eps).exp() * (a - b - eps).expm1())
    near = bool(abs(first - stretch.near) < abs(last - stretch.near))
    return _Panel(first, last, near, weight, gain, error)


@lru_cache(maxsize=16)
def _gauss_legendre(nodes: int, bits: int) -> list[tuple[arb, arb]]:
    with ctx.workprec(bits):
        return [arb.legendre_p_root(nodes, k, weight=True) for k in range(nodes)]


# --------------------------------------------------------------------------- without a shuffler


def local_power_delta(mechanism: Mapping[str, Any], inputs: Sequence[float], eps: arb) -> arb:
    """Return the hockey-stick divergence of the noise at two different inputs, unshuffled.

    Between the inputs log P/Q falls from P's to Q's. On P's far side it falls towards the input
    for shape > 1, from infinity, and rises towards it for shape < 1, from 0; on Q's far side it is
    below 0. So for eps >= 0 it exceeds eps from one point, or from the end of the line, to another.
    """
    noise = power_noise(mechanism)
    x0, x1 = check_inputs({}, noise, inputs[:2])
    if eps < 0:
        swapped = local_power_delta(mechanism, [inputs[1], inputs[0]], -eps)
        return 1 - eps.exp() + eps.exp() * swapped
    # The noise is symmetric: P's input to the left.
    x0, x1 = arb(0), abs(x1 - x0)
    most = (x1 / noise.scale) ** noise.shape

    def excess(y: arb) -> arb:
        near, far = ((abs(y - x) / noise.scale) ** noise.shape for x in (x0, x1))
        return far - near - eps

    def to_the_left(k: int) -> arb:
        return x0 - noise.scale * arb(2) ** k

    if noise.shape < 1 and eps > 0:
        if eps >= most:
            return arb(0)
        start, end = _crossing(excess, x0, to_the_left), _crossing(excess, x0, x1)
    elif eps < most:
        # At shape 1 log P/Q does not change beyond P's input; for less it stays above 0.
        start, end = None, _crossing(excess, x0, x1)
    elif noise.shape <= 1:
        return arb(0)
    else:
        start, end = None, _crossing(excess, to_the_left, x0)
    inner = [None if start is None else start[0], end[0]]
    total = noise.mass(x0, inner[0], inner[1]) - eps.exp() * noise.mass(x1, inner[0], inner[1])
    doubt = arb(0)
    for crossing in (start, end):
        if crossing is not None:
            a, b = sorted(crossing, key=_float)
            doubt += noise.mass(x0, a, b) + eps.exp() * noise.mass(x1, a, b)
    # What is between the brackets adds something between 0 and the doubt.
    return arb.max(total, arb(0)).union(arb.max(total, arb(0)) + doubt.upper())


_Place = arb | Callable[[int], arb]


def _crossing(excess: Callable[[arb], arb], inside: _Place, outside: _Place) -> tuple[arb, arb]:
    """(inside, outside): points close to each other with excess > 0 and < 0."""
    low = _found(inside, lambda y: bool(excess(y) > 0))
    high = _found(outside, lambda y: bool(excess(y) < 0))
    for _ in range(_HALVINGS):
        before = low, high
        # The crossing itself may be in the middle, where nothing can be told.
        for share in (0.45, 0.55):
            middle = (low + (high - low) * share).mid()
            value = excess(middle)
            if value > 0:
                low = middle
            elif value < 0:
                high = middle
        if (low, high) == before:
            break
    return low, high


def _found(place: _Place, fits: Callable[[arb], bool]) -> arb:
    if isinstance(place, arb):
        return place
    for k in range(-60, 2000):
        y = place(k).mid()
        if fits(y):
            return y
    raise NotCertified("generalized-gaussian: no output with such a ratio was found")
