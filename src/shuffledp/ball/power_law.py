"""Gain laws of generalized Gaussian noise, and what they leave out.

The blanket at an output is the density of the farther end of the inputs. Far outputs are cut off,
as for the Gaussian (`continuous`): with G = 0 there, delta moves by something in
[-e^eps Q(beyond), P(beyond)].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import acb, arb, ctx, float_below
from shuffledp.errors import NotCertified

from .densities import check_inputs
from .gains import ByParts, Far, GainLaw, Run, Sums
from .power import PowerNoise
from .power_panels import PowerPanel, Stretch, make_panel, plan, tilted_mass, variation
from .powers import Power, Powers, in_floats, tilt_in_floats
from .quadrature import Band, PanelError

__all__ = ["power_terms"]

_SHRINK = 8  # how much nearer to a branch point the next panel is
_MOST_PANELS = 1000
_REACH = 100.0  # frequency, in units of the tilt, up to which the law's own panels are accurate
_ROUGH_BITS = 64
_Q_DEEPER = 7.0


def power_terms(
    noise: PowerNoise,
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
        tilt, last = tilt_in_floats(in_floats(source.law(Band(0.0, 0.0, 0.0))), n), 0.0
        for _ in range(2):
            if abs(tilt - last) <= 0.05 * tilt:
                break
            tilt, last = tilt_in_floats(in_floats(source.law(Band(tilt, 0.0, tilt))), n), tilt
        yield Power(source.law(Band(tilt, 0.0, _REACH * tilt)), n)

    return terms(), outside


@dataclass(frozen=True)
class _Source:
    """What a law's transform is computed from; `zero` is the weight of G = 0."""

    noise: PowerNoise
    eps: arb
    stretches: list[Stretch]
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

    def _sums(
        self, panels: list[list[PowerPanel]]
    ) -> tuple[list[arb], list[arb], list[PanelError]]:
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

    def _panels(self, stretch: Stretch, band: Band) -> Iterator[PowerPanel]:
        """Panels that fill a stretch, from its near end on."""
        length = stretch.far - stretch.near
        todo, count = [(0.0, 1.0)], 0
        while todo:
            start, end = todo.pop()
            first, last = (stretch.near + length * arb(v) for v in (start, end))
            if first > last:
                first, last = last, first
            chosen = plan(self.noise, stretch, self.eps, first, last, band, self.log_error)
            if chosen is not None:
                yield make_panel(self.noise, stretch, self.eps, first, last, *chosen)
                continue
            at = end / _SHRINK
            if start > 0.0:
                at = math.sqrt(start * end) if end > 4.0 * start else 0.5 * (start + end)
            todo += [(at, end), (start, at)]
            count += 1
            if count > _MOST_PANELS:
                raise NotCertified(f"more than {_MOST_PANELS} panels would be needed")

    def _runs(self, stretch: Stretch, panels: list[PowerPanel], alpha: arb) -> list[Run]:
        """Consecutive panels on which G is monotone, and single ones of which it is not known.

        |integral of f e^(iuG)| <= V/u, f = r e^(alpha G): by parts V = |f/G'| at both ends + the
        integral of |(f/G')'|, bounded cell by cell.
        """
        found: list[Run] = []
        mass, total, last = arb(0), arb(0), None
        for panel in panels:
            own = tilted_mass(panel, alpha)
            inner, ends = variation(self.noise, stretch, self.eps, alpha, panel)
            if not (inner.is_finite() and all(end.is_finite() for end in ends)):
                found.append(_run(own, arb("inf")))
                if last is not None:
                    found.append(_run(mass.upper(), (total + last).upper()))
                mass, total, last = arb(0), arb(0), None
                continue
            near, away = ends if panel.first_is_near else ends[::-1]
            if last is None:
                total = near
            mass, total, last = mass + own, total + inner, away
        if last is not None:
            found.append(_run(mass.upper(), (total + last).upper()))
        return found


def _run(mass: arb, variation: arb) -> Run:
    """A run without a bulk."""
    return Run(mass, lambda: ByParts(variation, arb(0), mass))


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
) -> list[Stretch]:
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
            found += [Stretch(a, centre, sides), Stretch(b, centre, sides)]
        elif ends[1]:
            found.append(Stretch(b, a, sides))
        else:
            found.append(Stretch(a, b, sides))
    return found


def _float(x: arb) -> float:
    return float(x.mid())


def _distinct(points: Sequence[arb]) -> list[arb]:
    out: list[arb] = []
    for p in sorted(points, key=_float):
        if not out or p > out[-1]:
            out.append(p)
    return out
