"""Independent draws from finite measures on gains, and their transforms on a vertical line.

M(s) = E e^(sX) = sum of mass * e^(s gain), s = alpha + it. Bounds are for the modulus of transforms
tilted by e^(alpha x) and divided by their value at t = 0. All of them are balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shuffledp.arithmetic.balls import acb, acb_mat, arb, disc, total

__all__ = ["Bounded", "Draws", "Moments", "Summand", "TiltedSum"]

# Least number of baby steps that is tried, as a fraction of a run of nodes.
_FINER = 4
# Work of a giant step (an exponential and a product for every law) and of a product inside of the
# matrices, over that of a baby step; measured at 91 bits.
_GIANT, _INSIDE = 2.5, 0.15


class Bounded(Protocol):
    """Bounds of |transform| / scale of a sum of draws on Re s = alpha."""

    cap: arb  # upper bound on the whole line
    atoms: int
    spread: arb  # upper bound of the standard deviation of one draw

    def bounds_around(self, step: arb, starts: Sequence[int], size: int, count: int) -> list[arb]:
        """Upper bounds of |transform| / scale: `count` blocks of `size` nodes from each start."""
        ...


class TiltedSum(Bounded, Protocol):
    """A sum's transform on Re s = alpha, divided by `scale`, which is near its value at t = 0."""

    log_scale: arb
    drift: arb  # values are multiplied by e^(-i t drift)

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[acb]:
        """Enclose transform / scale * e^(-i t drift) at t = step (start + k), k < count."""
        ...


class Summand(Protocol):
    """A summand of `expect`: a number of independent draws, or a part of their joint measure."""

    def log_moment(self, tilt: arb) -> arb:
        """Upper bound of log E e^(tilt S)."""
        ...

    def mass_at_zero(self) -> arb:
        """Lower bound of the mass at S = 0 exactly."""
        ...

    def tilted(self, alpha: arb) -> TiltedSum:
        """The transform on Re s = alpha."""
        ...


@dataclass(frozen=True)
class Draws:
    """`count` independent draws from a finite positive measure.

    Attributes
    ----------
    masses, gains : balls; the masses need not add up to 1.
    count : number of draws.
    """

    masses: Sequence[arb]
    gains: Sequence[arb]
    count: int

    def moment(self, tilt: arb) -> arb:
        """E e^(tilt X) for one draw X."""
        return total(m * (tilt * x).exp() for m, x in zip(self.masses, self.gains, strict=True))

    def log_moment(self, tilt: arb) -> arb:
        """log E e^(tilt S) for the sum S of all draws."""
        return self.count * self.moment(tilt).log()

    def mass_at_zero(self) -> arb:
        """Lower bound of the probability that every draw is exactly 0."""
        zero = total(m for m, x in zip(self.masses, self.gains, strict=True) if x.is_zero())
        return zero**self.count

    def tilted(self, alpha: arb) -> TiltedSum:
        """The transform on Re s = alpha."""
        return _TiltedDraws(self, alpha)


class Moments:
    """A finite measure tilted by e^(alpha x) and divided by its mass, with centred gains."""

    def __init__(
        self, draws: Draws, alpha: arb, *, mass: arb | None = None, mean: arb | None = None
    ) -> None:
        both = list(zip(draws.masses, draws.gains, strict=True))
        weights = [m * (alpha * x).exp() for m, x in both]
        self.alpha = alpha
        self.mass = total(weights) if mass is None else mass
        self.law = [w / self.mass for w in weights]
        if mean is None:
            mean = total(p * x for p, (_, x) in zip(self.law, both, strict=True)).mid()
        self.mean = mean
        self.gains = [x - mean for _, x in both]
        self.moments = [p * x for p, x in zip(self.law, self.gains, strict=True)]
        # For any z, E (X - z)^2 is at least the variance.
        self.variance = total(p * x for p, x in zip(self.moments, self.gains, strict=True))

    def transforms(self, step: arb, starts: Sequence[int], count: int) -> list[acb]:
        """E e^(itX) at t = step (start + k), k < count, for each start in turn."""
        return self._products(step, arb(0), starts, count, [self.law])[0]

    def _products(
        self, step: arb, first: arb, starts: Sequence[int], count: int, laws: list[list[arb]]
    ) -> list[list[acb]]:
        """Sum over atoms of law * e^(itX) for every law, t = step (first + start + k), k < count.

        With start + k = wide q + r this is a product of two matrices, of giant steps (q, atom) and
        of baby steps (atom, r).
        """
        wide, giants = _baby_steps(starts, count)
        turns, near = [acb(0, step * x) for x in self.gains], list[list[acb]]()
        for turn in turns:
            row = [acb(1), turn.exp()]
            # Each product enlarges the rectangle around a number; halving the exponent keeps them
            # few.
            for k in range(2, wide):
                row.append(row[k // 2] * row[k - k // 2])
            near.append(row[:wide])
        far = [[(turn * (first + wide * q)).exp() for turn in turns] for q in giants]
        rows = {q: i * wide for i, q in enumerate(giants)}
        # Giant steps that follow each other have rows that do.
        places = [rows[start // wide] + start % wide for start in starts]
        babies, found = acb_mat(near), []
        for law in laws:
            # The product of two complex balls takes a third of the time of that of a real and a
            # complex one.
            shares = [acb(p) for p in law]
            steps = acb_mat([[p * e for p, e in zip(shares, row, strict=True)] for row in far])
            values = (steps * babies).entries()
            found.append([value for i in places for value in values[i : i + count]])
        return found

    def squares_around(self, step: arb, starts: Sequence[int], size: int, count: int) -> list[arb]:
        """Upper bounds of |E e^(itX)|^2 on `count` blocks of `size` nodes (theory.md, Theorem 6.7).

        |phi|^2 = E cos(t(X - X')) has a second derivative of at most 2 Var. So on |t - m| <= r it
        is at most |phi(m)|^2 + r |(|phi|^2)'(m)| + r^2 Var.
        """
        if len({start % size for start in starts}) > 1:
            rows = (self.squares_around(step, [start], size, count) for start in starts)
            return [square for row in rows for square in row]
        radius = step * size / 2
        bend = self.variance * radius * radius
        # All starts are whole blocks apart.
        middle = arb(2 * starts[0] + size) / (2 * size)
        blocks = [(start - starts[0]) // size for start in starts]
        laws = [self.law, self.moments]
        values, slopes = self._products(step * size, middle, blocks, count, laws)
        found = []
        for f, s in zip(values, slopes, strict=True):
            square = f.real * f.real + f.imag * f.imag
            slope = 2 * abs(f.real * s.imag - f.imag * s.real)
            found.append((square + radius * slope + bend).nonnegative_part())
        return found


class _TiltedDraws:
    """`TiltedSum` of independent draws: the transform of one draw to the power `count`."""

    def __init__(self, draws: Draws, alpha: arb) -> None:
        self.one, self.count = Moments(draws, alpha), draws.count
        self.log_scale = self.count * self.one.mass.log()
        self.drift = self.count * self.one.mean
        self.cap, self.atoms = arb(1), len(draws.masses)
        self.spread = self.one.variance.nonnegative_part().sqrt()

    def values(self, step: arb, starts: Sequence[int], count: int) -> list[acb]:
        ones = self.one.transforms(step, starts, count)
        return [power(one, self.count) for one in ones]

    def bounds_around(self, step: arb, starts: Sequence[int], size: int, count: int) -> list[arb]:
        squares = self.one.squares_around(step, starts, size, count)
        # An even power needs no square root.
        whole, half = divmod(self.count, 2)
        powers = (x**whole * x.sqrt() if half else x**whole for x in squares)
        return [self.cap.min(x) for x in powers]


def _baby_steps(starts: Sequence[int], count: int) -> tuple[int, list[int]]:
    """Number of baby steps and the giant steps for all nodes, with little work."""
    wide = max(count // _FINER, 1)
    inside = [*range(0, count, wide), count - 1]
    giants = {(start + k) // wide for start in starts for k in inside}
    while True:
        fewer = {q // 2 for q in giants}
        if _work(wide, len(giants)) <= _work(2 * wide, len(fewer)):
            return wide, sorted(giants)
        wide, giants = 2 * wide, fewer


def _work(babies: int, giants: int) -> float:
    """Work of the products of all atoms, in baby steps."""
    return babies + _GIANT * giants + _INSIDE * babies * giants


def power(value: acb, count: int) -> acb:
    """value^count; for a ball around 0 by its modulus, as products of such balls would grow."""
    if value.contains(0):
        return disc(value.abs_upper() ** count)
    return value**count
