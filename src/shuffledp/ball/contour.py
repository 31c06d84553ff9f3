r"""E[G_1 + ... + G_n]_+ by a tilted contour integral, every error bounded, all in balls.

In the scaled units of `transform` (x = alpha S, tilt 1) and with z = 1 + i t,

    E x_+ = M^n (1/2 pi) \int phi(t)^n / z^2 dt,                M = E e^(alpha G).

* Smoothing: x_+ <= E(x + eta Z)_+ <= x_+ + eta normal(x/eta), Z a standard normal variable, puts
  e^(eta^2 z^2/2) under the integral, or eta^2 z^2 times that for the last term.
* Trapezoidal rule with step 2 pi/L: by Poisson's formula the sum is that of e^(-kL) psi(x + kL)
  over all integers k. All terms are positive; those with k != 0 are bounded by Chernoff's method.
* The event of n exactly zero gains sits on the kink: its share of the sum is known and taken out.
* Nodes where |phi|^n is negligible are not evaluated but bounded, an interval at a time.
* The sum is cut where the normal factor ends it; the rest is bounded by an integral.
"""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.errors import NotCertified

from ._flint import acb, arb, float_above, float_below
from .gains import GainLaw
from .transform import Tilted, saddle_point, tilt

__all__ = ["positive_part_by_contour"]

_LEAF = 6  # fewer nodes than this are evaluated rather than bounded
_PASSES = 12


class PrecisionError(ArithmeticError):
    """Rounding, not the method, limits the result: try again with more bits."""


@dataclass
class _Sums:
    """Running sums over the nodes, and what was left out of them."""

    smooth: arb
    bump: arb
    smooth_error: arb
    bump_error: arb


def positive_part_by_contour(law: GainLaw, n: int, rel: float, work: int) -> tuple[arb, arb]:
    """Enclose E[G_1 + ... + G_n]_+ from below and above.

    Parameters
    ----------
    law : GainLaw with at least one positive gain.
    n : number of messages.
    rel : relative width wanted.
    work : how many exponentials may be spent.

    Raises
    ------
    NotCertified
        If `work` does not suffice.
    PrecisionError
        If more bits of working precision are needed.
    """
    alpha = saddle_point(law, n)
    tilted = tilt(law, alpha)
    unit = (n * tilted.log_moment).exp() / alpha
    lower, upper = _scaled_bracket(tilted, n, rel, work)
    return unit * lower, unit * upper


def _scaled_bracket(tilted: Tilted, n: int, rel: float, work: int) -> tuple[arb, arb]:
    deviation = float((n * tilted.variance).sqrt().mid())
    off_the_kink = float_above(1 - tilted.zero**n)
    value = off_the_kink / (4 + 2.5 * deviation)  # of E x_+ / M^n: a guess, to be replaced
    eta = (rel / 1.5) ** 0.5
    if tilted.rough is not None and tilted.rough.limit() ** n <= 0.01 * rel * value:
        eta /= 20  # far nodes cost next to nothing, so the smoothing need not show
    spent = 0
    best = None
    for _ in range(_PASSES):
        rule = _Rule(tilted, n, eta, tolerance=rel * value / 12, deviation=deviation)
        lower, upper, bump = rule.bracket(work - spent)
        spent += rule.cost
        best = (lower, upper)
        if lower > 0 and upper - lower <= rel * lower:
            return best
        value = max(float_below(lower), 0.05 * float_above(upper), 0.01 * value)
        gap = float_above(bump) / value
        if gap > rel / 2:
            eta *= min(0.6, max(0.05, 0.7 * (rel / gap) ** 0.5))
    raise PrecisionError(f"bracket {best} after {_PASSES} passes")


class _Rule:
    """The trapezoidal rule with one smoothing width eta."""

    def __init__(
        self, tilted: Tilted, n: int, eta: float, *, tolerance: float, deviation: float
    ) -> None:
        self.tilted, self.n, self.tolerance = tilted, n, arb(tolerance)
        self.eta2 = arb(eta) ** 2
        self.eta = arb(eta)
        self.period, self.alias = self._choose_period(deviation)
        self.step = 2 * arb.pi() / self.period
        self.last, self.cut_smooth, self.cut_bump = self._choose_cut()
        # |phi|^n below this may be left out: the weights of all nodes sum to less than 1 + eta.
        self.negligible = self.tolerance / (1 + self.eta)
        self.cost = 0

    # -- what the rule adds: aliases, k != 0

    def _choose_period(self, deviation: float) -> tuple[arb, arb]:
        length = max(6.0, 3.0 * deviation)
        for _ in range(80):
            alias = self._aliases(length, deviation)
            if alias <= self.tolerance:
                return arb(length), alias
            length *= 1.15
        raise PrecisionError("no period makes the aliases small")

    def _aliases(self, length: float, deviation: float) -> arb:
        shift = length / deviation**2
        right = [1 - min(x, 0.97) for x in (shift, shift / 2, 0.5)]
        left = [1 + x for x in (shift, shift / 2, shift / 4, 0.5, 2.0)]
        total = arb(0)
        for betas in (right, left):
            total += _smallest([self._one_side(arb(b), arb(length)) for b in betas])
        return total.upper()

    def _one_side(self, beta: arb, length: arb) -> arb:
        """Bound the sum over k >= 1 (or <= -1) of e^(-kL) E psi(x + kL)/M^n.

        Chernoff: psi(x) <= e^(beta x + beta^2 eta^2/2)/(e beta) for every beta > 0.
        """
        chernoff = (self.n * self.tilted.log_ratio(beta) + beta**2 * self.eta2 / 2 - 1).exp() / beta
        r = (-abs(beta - 1) * length).exp()
        return (chernoff * r / (1 - r)).upper()

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
        """Return lower and upper ends of E x_+ / M^n, and what of it the smoothing costs."""
        sums = _Sums(arb(0), arb(0), self.cut_smooth, self.cut_bump)
        half = self.step / (2 * arb.pi())
        self._add_nodes(sums, 0, 1, half)
        stack = self._blocks()
        while stack:
            first, end = stack.pop()
            if end - first < _LEAF:
                self._add_nodes(sums, first, end, 2 * half)
            elif not self._left_out(sums, first, end, 2 * half):
                middle = (first + end) // 2
                stack += [(middle, end), (first, middle)]
            if self.cost > work:
                raise NotCertified(
                    f"the contour integral needs more than the {work} exponentials allowed: "
                    "ask for a larger rel"
                )
        smooth = sums.smooth + arb(0, sums.smooth_error)
        bump = sums.bump + arb(0, sums.bump_error)
        if smooth.rad() - sums.smooth_error > self.tolerance:
            raise PrecisionError("rounding")
        # n exactly zero gains: psi(0) = bump(0) = eta normal(0), once each in the sums.
        if not self.tilted.zero.is_zero():
            on_the_kink = self.tilted.zero**self.n * self.eta / (2 * arb.pi()).sqrt()
            smooth -= on_the_kink
            bump -= on_the_kink
        upper = smooth.upper()
        bump = arb.max(bump.upper(), arb(0))
        return (smooth.lower() - self.alias - bump).lower(), upper, bump

    def _blocks(self) -> list[tuple[int, int]]:
        """Split 1..last into blocks of doubling length, the first on top of the stack."""
        blocks, first, length = [], 1, _LEAF
        while first <= self.last:
            end = min(first + length, self.last + 1)
            blocks.append((first, end))
            first, length = end, 2 * length
        return blocks[::-1]

    def _add_nodes(self, sums: _Sums, first: int, end: int, factor: arb) -> None:
        for j in range(first, end):
            t = j * self.step
            z = acb(1, t)
            square = z * z
            term = self.tilted.phi(t) ** self.n * (self.eta2 * square / 2).exp()
            sums.smooth += factor * (term / square).real
            sums.bump += factor * self.eta2 * term.real
        self.cost += (end - first) * (len(self.tilted.weight) + 8)

    def _largest_power(self, middle: arb, radius: arb) -> arb:
        """Bound |phi|^n on an interval from above."""
        rough = self.tilted.rough
        if rough is not None:
            self.cost += 2 * len(rough.weight) + 4
            power = rough.largest_modulus(middle, radius) ** self.n
            if power <= self.negligible:
                return power
        self.cost += 2 * len(self.tilted.weight)
        return self.tilted.largest_modulus(middle, radius) ** self.n

    def _left_out(self, sums: _Sums, first: int, end: int, factor: arb) -> bool:
        """Bound nodes first..end-1 together, if they are negligible."""
        low, high = first * self.step, (end - 1) * self.step
        power = self._largest_power((low + high) / 2, (high - low) / 2)
        if not power <= self.negligible:
            return False
        normal = (self.eta2 * (1 - low**2) / 2).exp()
        share = (end - first) * factor * power * normal
        sums.smooth_error += (share / (1 + low**2)).upper()
        sums.bump_error += (share * self.eta2).upper()
        return True


def _smallest(balls: list[arb]) -> arb:
    best = balls[0]
    for ball in balls[1:]:
        if ball < best or not best.is_finite():
            best = ball
    return best
