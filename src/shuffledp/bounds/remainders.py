"""The types W/eta + m that account for the bend between two places of a cover (Lemma 6.5).

docs/theory-stealing.md, section 6: r is a chord between two densities less the density between
them, W = b a r/f_0 in row (A) and -b r/f_0 in row (B).  m is the cover's share of b (1 - a).
"""

from __future__ import annotations

from itertools import pairwise

from shuffledp.arithmetic.balls import arb
from shuffledp.bounds.covers import Cover, Share
from shuffledp.bounds.interval_cells import Outputs

__all__ = ["Remainder", "remainders"]

_ONE, _NOTHING = arb(1), arb(0)


class Remainder:
    """The type W/eta + m between two places of rows (A) and (B) (Lemma 6.5).

    Attributes
    ----------
    mean : arb
        An upper bound of the mean of its gain.
    """

    def __init__(
        self, boxes: list[tuple[arb, arb, arb]], away: arb, *, kept: arb, mean: arb, rest: arb
    ) -> None:
        self._boxes, self._away = boxes, away
        self._kept, self._mean, self._rest = kept, mean, rest
        self.mean = kept * (mean + away)

    def mass(self, alpha: arb, *, negated: bool = False) -> arb:
        """An upper bound of d(alpha), or of d(-alpha) if ``negated``.

        d(alpha) <= 1 - |c| - (1 - kappa) + (1 - kappa) e^(alpha m) [1 + E w + E(e^w - 1 - w)],
        with w = alpha W/eta. Outside of the cells of normal noise W is 0, and E w is the missing
        part. e^w - 1 - w is convex with its minimum at 0: on a box it is at most its value at one
        end of the range of w. For -alpha, m and w change their signs; the bound of |E w| is the
        same.
        """
        inside = _NOTHING
        for mass, rise, fall in self._boxes:
            up, down = (fall, -rise) if negated else (rise, -fall)
            up, down = alpha * up, alpha * down
            inside += mass * (up.expm1() - up).max(down.expm1() - down)
        mean = -self._mean if negated else self._mean
        return self._rest + self._kept * (alpha * mean).exp() * (1 + alpha * self._away + inside)


def remainders(at: Outputs, cover: Cover, eps: arb, share: Share, hidden: arb) -> list[Remainder]:
    """The remainders of all steps of rows (A) and (B); ``hidden``: |c|."""
    found: list[Remainder] = []
    if not cover.third:
        return found
    grow, kept = eps.exp(), 1 - share.kappa
    for which, row in enumerate((cover.first, cover.second)):
        scale = share.gain * (_ONE if which else grow)
        for (v, w), eta in zip(pairwise(row.places), row.stretch, strict=True):
            size, away = scale / eta, _NOTHING
            boxes = []
            for left, right, mass in _boxes(at, cover, v, w):
                above, below = _bend(at, v, w, left, right)
                # W is a positive multiple of r in row (A), of -r in row (B).
                rise, fall = (below, above) if which else (above, below)
                boxes.append((mass, size * rise, size * fall))
            if at.normal:
                away = size * (at.tail(w, cover.edges[-1]) + at.tail(v, cover.edges[0]))
            mean = share.gain * (1 - grow) * cover.middle
            found.append(Remainder(boxes, away, kept=kept, mean=mean, rest=1 - hidden - kept))
    return found


def _boxes(at: Outputs, cover: Cover, v: float, w: float) -> list[tuple[float, float, arb]]:
    """(left, right, mass under f_0); the outer ends of Laplace noise are boxes of width 0."""
    if at.normal:
        return [(l, r, at.mass(0.0, l, r)) for l, r in pairwise(cover.boxes)]
    found = [(l, r, at.mass(0.0, l, r)) for l, r in pairwise(sorted({*cover.boxes, v, w}))]
    return found + [(y, y, at.tail(0.0, y)) for y in (cover.boxes[0], cover.boxes[-1])]


def _bend(at: Outputs, v: float, w: float, left: float, right: float) -> tuple[arb, arb]:
    """sup over the box and over u in [v, w] of r_+/f_0 and of r_-/f_0, 0 <= v < w.

    r = (1-l) f_v + l f_w - f_u is at most (h^2/8) sup |d^2 f_u/du^2| in size, with h = w - v. For
    Laplace noise of scale b, d^2 f_u(y)/du^2 is f_u/b^2 and, at u = y, a mass of -1/b^2. So r_- is
    0 unless y may lie in [v, w]; there it is at most h/(4 b^2), and at most f(0) - f(h).
    """
    step = arb(w) - v
    far = abs(arb(left) - w).max(abs(arb(right) - v))
    near = (arb(left) - w).max(v - arb(right)).max(_NOTHING)
    if at.normal:
        # u (y - u/2) is largest at y = right and the u nearest to it.
        u = arb(min(max(right, v), w))
        ratio = (at.turn * u * (right - u / 2)).exp()
        bent = abs(at.turn * far * far - 1).max(abs(at.turn * near * near - 1))
        both = (step * step / 8 * at.turn * bent * ratio).upper()
        return both, both
    b, below = at.scale, _NOTHING
    above = step * step / (8 * b * b) * ((right - near) / b).exp()
    if left < w and right > v:
        below = (right / b).exp() * (-(-step / b).expm1()).min(step / (2 * b))
    return above.upper(), below.upper()
