"""Layers: the part of a sum's measure in which at least one draw is among the rare large gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.balls import acb, arb, disc, total
from shuffledp.errors import ParameterError
from shuffledp.kernel.draws import Draws, Moments, TiltedSum, power

__all__ = ["AtLeastOne"]


@dataclass(frozen=True)
class AtLeastOne:
    """Draws from `usual` + `rare`, at least one of them from `rare`: M^n - A^n (theory.md, 6.10).

    With A and V the transforms of `usual` and `rare`, the transform of this part of the measure is
    (A + V)^n - A^n = A^n expm1(n log1p(V/A)), which loses no digits where V is small.
    """

    usual: Draws
    rare: Draws

    def __post_init__(self) -> None:
        if self.usual.count != self.rare.count:
            raise ParameterError(
                f"counts = {self.usual.count}, {self.rare.count}: wanted the same count twice"
            )

    def log_moment(self, tilt: arb) -> arb:
        """log ((A + V)^n - A^n) at a real tilt; it increases with A and with V."""
        n, a, v = self.usual.count, self.usual.moment(tilt), self.rare.moment(tilt)
        return n * a.log() + (n * (v / a).log1p()).expm1().log()

    def mass_at_zero(self) -> arb:
        """The trivial lower bound 0 of the mass at S = 0 exactly."""
        return arb(0)

    def tilted(self, alpha: arb) -> TiltedSum:
        """The transform on Re s = alpha."""
        return _TiltedDifference(self, alpha)


class _TiltedDifference:
    """`TiltedSum` of the difference of two powers (theory.md, Theorem 6.10)."""

    def __init__(self, draws: AtLeastOne, alpha: arb) -> None:
        self.count = n = draws.usual.count
        self.usual = Moments(draws.usual, alpha)
        # The rare gains are divided by the same mass and centred at the same mean as the usual
        # ones.
        self.rare = Moments(draws.rare, alpha, mass=self.usual.mass, mean=self.usual.mean)
        rare = total(self.rare.law)
        self.step_up = (n * rare.log1p()).expm1()
        self.log_scale = n * self.usual.mass.log() + self.step_up.log()
        self.drift = n * self.usual.mean
        self.rare_mass, self.cap = rare, arb(1)
        self.atoms = len(self.usual.gains) + len(self.rare.gains)
        self.spread = self.usual.variance.nonnegative_part().sqrt()

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[acb]:
        usual = self.usual.transforms(step, starts, count)
        rare = self.rare.transforms(step, starts, count)
        return [self._difference(a, v) for a, v in zip(usual, rare, strict=True)]

    def _difference(self, a: acb, v: acb) -> acb:
        """((a + v)^n - a^n) / step_up."""
        n = self.count
        if not a.contains(0):
            found = power(a, n) * (n * (v / a).log1p()).expm1() / self.step_up
            if found.is_finite():
                return found
        size = v.abs_upper()
        return disc(n * size * (a.abs_upper() + size) ** (n - 1) / self.step_up)

    def bounds_around(self, step: arb, starts: Sequence[int], size: int, count: int) -> list[arb]:
        """The lesser of n V (|A| + V)^(n-1) and the cap, |A| bounded from midpoints of blocks."""
        n, rare = self.count, self.rare_mass
        squares = self.usual.squares_around(step, starts, size, count)
        return [
            self.cap.min(n * rare * (x.sqrt() + rare) ** (n - 1) / self.step_up) for x in squares
        ]
