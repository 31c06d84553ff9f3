r"""E[G_1 + ... + G_n]_+ by a tilted contour integral, every error bounded, all in balls.

In the scaled units of `transform` (x = alpha S, tilt 1) and with z = 1 + i t,

    E x_+ = N (1/2 pi) \int p(t) / z^2 dt,          p(t) = phi(t)^n,   N = (E e^(alpha G))^n,

or p and N of another measure of sums (`powers`).

* Smoothing: x_+ <= E(x + eta Z)_+ <= x_+ + eta normal(x/eta), Z a standard normal variable, puts
  e^(eta^2 z^2/2) under the integral, or eta^2 z^2 times that for the last term.
* Trapezoidal rule with step 2 pi/L: by Poisson's formula the sum is that of e^(-kL) psi(x + kL)
  over all integers k. All terms are positive; those with k != 0 are bounded by Chernoff's method.
* The event of n exactly zero gains sits on the kink: its share of the sum is known and taken out.
* Nodes where |p| is negligible are not evaluated but bounded, an interval at a time.
* The sum is cut where the normal factor ends it; the rest is bounded by an integral.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.arithmetic.balls import acb, arb, float_above, float_below
from shuffledp.errors import NotCertified

from .powers import Powers

__all__ = ["PrecisionError", "positive_part_by_contour"]

_LEAF = 32  # nodes that are evaluated together rather than bounded
_FEW, _CHEAP = 64, 20_000_000  # atoms; nodes times atoms
_PASSES, _LENGTHENINGS = 12, 80
_WIDEST = 1e6
_RIGHT = (0.03, 0.2, 0.5, 0.7, 0.85, 0.93, 0.97, 0.985, 0.993, 0.997, 0.999)
_LEFT = (1.001, 1.003, 1.007, 1.015, 1.03, 1.07, 1.15, 1.3, 1.6, 2.2, 3.0)


class PrecisionError(ArithmeticError):
    """Rounding, not the method, limits the result: try again with more bits."""


@dataclass
class _Sums:
    """Running sums over the nodes, and what was left out of them."""

    smooth: arb
    bump: arb
    smooth_error: arb
    bump_error: arb


def positive_part_by_contour(powers: Powers, rel: float, work: int) -> tuple[arb, arb]:
    """Enclose E[G_1 + ... + G_n]_+ from below and above.

    Parameters
    ----------
    powers : the transform of the sum; at least one gain is positive.
    rel : relative width wanted.
    work : how many exponentials may be spent.

    Raises
    ------
    NotCertified
        If `work` does not suffice.
    PrecisionError
        If more bits of working precision, or a more accurate transform, are needed.
    """
    lower, upper = _scaled_bracket(powers, rel, work)
    return powers.unit * lower, powers.unit * upper


def _scaled_bracket(powers: Powers, rel: float, work: int) -> tuple[arb, arb]:
    deviation = min(powers.deviation, _WIDEST)
    off_the_kink = float_above(1 - powers.kink)
    value = off_the_kink / (4 + 2.5 * deviation)  # of E x_+ / N: a guess, to be replaced
    eta = (rel / 1.5) ** 0.5
    enough = 0.01 * rel * value
    if powers.limit(arb(enough)) <= enough:
        eta /= 20  # far nodes cost next to nothing, so the smoothing need not show
    spent = 0
    best = None
    for _ in range(_PASSES):
        rule = _Rule(powers, eta, tolerance=rel * value / 12, deviation=deviation)
        lower, upper, bump = rule.bracket(work - spent)
        spent += rule.cost
        best = (lower, upper)
        if lower > 0 and upper - lower <= rel * lower:
            return best
        value = max(float_below(lower), 0.01 * float_above(upper), 1e-4 * value)
        gap = float_above(bump) / value
        if gap > rel / 2:
            eta *= min(0.6, max(0.05, 0.7 * (rel / gap) ** 0.5))
    raise PrecisionError(f"bracket {best} after {_PASSES} passes")


class _Rule:
    """The trapezoidal rule with one smoothing width eta."""

    def __init__(self, powers: Powers, eta: float, *, tolerance: float, deviation: float) -> None:
        self.powers, self.tolerance = powers, arb(tolerance)
        self.eta2 = arb(eta) ** 2
        self.eta = arb(eta)
        self.period, self.alias = self._choose_period(deviation)
        self.step = 2 * arb.pi() / self.period
        self.last, self.cut_smooth, self.cut_bump = self._choose_cut()
        self.cost = 0

    # -- what the rule adds: aliases, k != 0

    def _choose_period(self, deviation: float) -> tuple[arb, arb]:
        sides = [[(arb(b), self._chernoff(b)) for b in betas] for betas in (_RIGHT, _LEFT)]
        length = max(6.0, 3.0 * deviation)
        for _ in range(_LENGTHENINGS):
            alias = sum((self._aliases(side, arb(length)) for side in sides), start=arb(0))
            if alias <= self.tolerance:
                return arb(length), alias.upper()
            length *= 1.15
        raise PrecisionError("no period makes the aliases small")

    def _chernoff(self, beta: float) -> arb:
        """Bound E psi(x) e^(-beta x)/N: psi(x) <= e^(beta x + beta^2 eta^2/2)/(e beta)."""
        exponent = self.powers.log_ratio(beta) + arb(beta) ** 2 * self.eta2 / 2 - 1
        return (exponent.exp() / beta).upper()

    @staticmethod
    def _aliases(side: list[tuple[arb, arb]], length: arb) -> arb:
        """Bound the sum over k >= 1 (or <= -1) of e^(-kL) E psi(x + kL)/M^n, by the best beta."""
        found = []
        for beta, chernoff in side:
            r = (-abs(beta - 1) * length).exp()
            found.append((chernoff * r / (1 - r)).upper())
        return _smallest(found)

    # -- what the rule leaves out: |j| > last

    def _choose_cut(self) -> tuple[int, arb, arb]:
        reach = 2.0
        while True:
            last = int(float((reach / (self.eta * self.step)).mid())) + 1
            x = self.eta * self.step * last
            # sum over j > last of e^(-(eta step j)^2/2) <= e^(-x^2/2)/(x eta step), by the integral
            tail = (
                ((self.eta2 - x**2) / 2).exp() / (x * self.eta * self.step) * self.step / arb.pi()
            )
            smooth = (tail / (1 + (self.step * last) ** 2)).upper()
            bump = (tail * self.eta2).upper()
            if smooth + bump <= self.tolerance:
                return last, smooth, bump
            reach += 0.25

    # -- the sum itself

    def bracket(self, work: int) -> tuple[arb, arb, arb]:
        """Return lower and upper ends of E x_+ / N, and what of it the smoothing costs."""
        sums = _Sums(arb(0), arb(0), self.cut_smooth, self.cut_bump)
        near = self._near()
        leaves = [(first, min(first + _LEAF, near)) for first in range(0, near, _LEAF)]
        self.cost += near * (self.powers.atoms // 8 + 8)
        stack = self._blocks(near)
        while stack:
            first, end = stack.pop()
            if self._left_out(sums, first, end):
                continue
            if end - first > _LEAF:
                middle = first + _LEAF * ((end - first + _LEAF) // (2 * _LEAF))
                stack += [(middle, end), (first, middle)]
            else:
                self.cost += self.powers.atoms * 4
                leaves.append((first, end))
            if self.cost > work:
                raise NotCertified(
                    f"the contour integral needs more than the {work} exponentials allowed: "
                    "ask for a larger rel"
                )
        self._add_nodes(sums, leaves)
        smooth = sums.smooth + arb(0, sums.smooth_error)
        bump = sums.bump + arb(0, sums.bump_error)
        if smooth.rad() - sums.smooth_error > self.tolerance:
            raise PrecisionError("rounding")
        # n exactly zero gains: psi(0) = bump(0) = eta normal(0), once each in the sums.
        if not self.powers.kink.is_zero():
            on_the_kink = self.powers.kink * self.eta / (2 * arb.pi()).sqrt()
            smooth -= on_the_kink
            bump -= on_the_kink
        upper = smooth.upper()
        bump = arb.max(bump.upper(), arb(0))
        return (smooth.lower() - self.alias - bump).lower(), upper, bump

    def _near(self) -> int:
        """How many nodes to evaluate without asking whether they matter."""
        if self.powers.atoms <= _FEW:
            return 1  # asking costs less
        far = self.powers.settled_from(self._negligible(arb(1), arb(1)))
        end = self.last + 1
        if far < math.inf:
            end = min(end, 2 + int(far / float(self.step.mid())))
        return end if end * self.powers.atoms <= _CHEAP else 1

    def _blocks(self, first: int) -> list[tuple[int, int]]:
        """Split first..last into blocks of doubling length, the first on top of the stack."""
        blocks, length = [], max(_LEAF, first // 4)
        while first <= self.last:
            end = min(first + length, self.last + 1)
            blocks.append((first, end))
            first, length = end, 2 * length
        return blocks[::-1]

    def _add_nodes(self, sums: _Sums, leaves: list[tuple[int, int]]) -> None:
        factor = self.step / arb.pi()
        longest = max(end - first for first, end in leaves)
        rows = self.powers.values(self.step, [first for first, _ in leaves], longest)
        for (first, end), row in zip(leaves, rows, strict=True):
            for j, value in zip(range(first, end), row, strict=False):
                z = acb(1, j * self.step)
                square = z * z
                term = value * (self.eta2 * square / 2).exp()
                share = factor if j else factor / 2  # -j is the conjugate of j
                sums.smooth += share * (term / square).real
                sums.bump += share * self.eta2 * term.real

    def _negligible(self, low: arb, high: arb) -> arb:
        """Bound of |p| on [low, high] below which its nodes may be left out.

        With |p|/(1 + t^2) <= pi tolerance w(t), w(t) = 0.1/(1 + t)^1.1, all together are at most
        the tolerance: (step/pi) sum over nodes <= tolerance * integral of w, which is 1.
        """
        share = arb.pi() * self.tolerance * arb(0.1) / (1 + high) ** arb("1.1")
        return (share * (1 + low**2)).lower()

    def _left_out(self, sums: _Sums, first: int, end: int) -> bool:
        """Bound nodes first..end-1 together, if they are negligible."""
        low, high = first * self.step, (end - 1) * self.step
        enough = self._negligible(low, high)
        self.cost += 2 * self.powers.atoms
        power = self.powers.bound((low + high) / 2, (high - low) / 2, enough)
        if not power <= enough:
            return False
        normal = (self.eta2 * (1 - low**2) / 2).exp()
        share = (end - first) * self.step / arb.pi() * power * normal
        sums.smooth_error += (share / (1 + low**2)).upper()
        sums.bump_error += (share * self.eta2).upper()
        return True


def _smallest(balls: list[arb]) -> arb:
    best = balls[0]
    for ball in balls[1:]:
        if ball < best or not best.is_finite():
            best = ball
    return best
