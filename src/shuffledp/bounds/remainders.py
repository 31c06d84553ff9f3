"""The types W/eta + m that stand for the bend between two places of a cover (Lemma 6.5).

docs/theory-stealing.md, section 6: r is the difference of a chord between two densities and the
density, W = b a r/f_0 in row (A) and -b r/f_0 in row (B), m = b (1 - a).
"""

from __future__ import annotations

from itertools import pairwise

from shuffledp.arithmetic.balls import arb
from shuffledp.bounds.covers import Share
from shuffledp.bounds.interval_cells import Outputs
from shuffledp.propose.covers import Cover

__all__ = ["Remainder", "remainders"]

_ONE, _NOTHING = arb(1), arb(0)


class Remainder:
    """The type W/eta + m between two places of rows (A) and (B) (Lemma 6.5).

    Attributes
    ----------
    mean : arb
        At least the mean of its gain.
    """

    def __init__(
        self, boxes: list[tuple[arb, arb]], away: arb, *, kept: arb, mean: arb, rest: arb
    ) -> None:
        self._boxes, self._away = boxes, away
        self._kept, self._mean, self._rest = kept, mean, rest
        self.mean = kept * (mean + away)

    def mass(self, alpha: arb, *, negated: bool = False) -> arb:
        """At least d(alpha), or d(-alpha).

        d(alpha) <= 1 - |c| - (1 - kappa) + (1 - kappa) e^(alpha m) [1 + E w + E(e^|w| - 1 - |w|)],
        w = alpha W/eta; outside the cells of normal noise W is 0, and E w what is missing there.
        For -alpha the signs of m and E w are the others; the bound of |E w| is the same.
        """
        inside = _NOTHING
        for mass, size in self._boxes:
            power = alpha * size
            inside += mass * (power.expm1() - power)
        mean = -self._mean if negated else self._mean
        return self._rest + self._kept * (alpha * mean).exp() * (1 + alpha * self._away + inside)


def remainders(at: Outputs, cover: Cover, eps: arb, share: Share, hidden: arb) -> list[Remainder]:
    """Those of all steps of rows (A) and (B); ``hidden``: |c|."""
    found: list[Remainder] = []
    if not cover.third:
        return found
    grow, kept = eps.exp(), 1 - share.kappa
    for which, row in enumerate((cover.first, cover.second)):
        scale = share.gain * (_ONE if which else grow)
        for (v, w), eta in zip(pairwise(row.places), row.stretch, strict=True):
            size, away = scale / eta, _NOTHING
            boxes = [
                (mass, size * _bend(at, v, w, left, right))
                for left, right, mass in _boxes(at, cover, v, w)
            ]
            if at.normal:
                away = size * (at.tail(w, cover.edges[-1]) + at.tail(v, cover.edges[0]))
            mean = share.gain * (1 - grow)
            found.append(Remainder(boxes, away, kept=kept, mean=mean, rest=1 - hidden - kept))
    return found


def _boxes(at: Outputs, cover: Cover, v: float, w: float) -> list[tuple[float, float, arb]]:
    """(left, right, mass under f_0); the ends of Laplace noise are boxes without width."""
    if at.normal:
        return [(l, r, at.mass(0.0, l, r)) for l, r in pairwise(cover.boxes)]
    found = [(l, r, at.mass(0.0, l, r)) for l, r in pairwise(sorted({*cover.boxes, v, w}))]
    return found + [(y, y, at.tail(0.0, y)) for y in (cover.boxes[0], cover.boxes[-1])]


def _bend(at: Outputs, v: float, w: float, left: float, right: float) -> arb:
    """sup over the box and over u in [v, w] of |(1-l) f_v + l f_w - f_u|/f_0, 0 <= v < w.

    At most (h^2/8) sup |d^2 f_u/du^2|, h = w - v; for Laplace noise where y may lie in [v, w], at
    most f(0) - f(h) as well.
    """
    step = arb(w) - v
    far = abs(arb(left) - w).max(abs(arb(right) - v))
    near = (arb(left) - w).max(v - arb(right)).max(_NOTHING)
    if at.normal:
        # u (y - u/2) is largest at y = right, and there at the u nearest to it.
        u = arb(min(max(right, v), w))
        ratio = (at.turn * u * (right - u / 2)).exp()
        bent = abs(at.turn * far * far - 1).max(abs(at.turn * near * near - 1))
        return (step * step / 8 * at.turn * bent * ratio).upper()
    b = at.scale
    top = step * step / (8 * b * b) * ((right - near) / b).exp()
    if left < w and right > v:
        top = top.max((right / b).exp() * -(-step / b).expm1())
    return top.upper()
