"""Projective geometry response: a point is sent, likelier on the hyperplane of the own input."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, hit_or_miss
from shuffledp.randomizers import field
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.chances import digits_up, exponential, quotient, times
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.hyperplanes import HyperplaneResponse
from shuffledp.randomizers.primes import primes_beside
from shuffledp.randomizers.values import blocks, smallest_type, whole_reports
from shuffledp.randomness import RandomSource


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectiveGeometry(HyperplaneResponse):
    """Projective geometry response: R_x(y) = (e^eps0 if x . y = 0 else 1)/Z for points x, y.

    Inputs and outputs are points of PG(t-1, q): K = (q^t - 1)/(q - 1) lines through the origin of
    the space of t dimensions over the field of q elements, t >= 2 the least with K >= domain. With
    c = (q^(t-1) - 1)/(q - 1) points on every hyperplane Z = c e^eps0 + K - c. No point is on all
    inputs' hyperplanes, so the blanket is uniform, gamma = K/Z. Points are numbered by the vector
    (0, .., 0, 1, y_1, .., y_m) on the line, those with smaller m first, those of one m by y as a
    number to base q; reports are such numbers in the smallest unsigned type. An element is a number
    0 .. q-1.

    Parameters
    ----------
    domain : int
        Number of inputs, 2 <= domain <= 1e9.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    q : int, optional
        Size of the field, a prime below 2^31; by default, of the two primes
        next to e^eps0 + 1 and the least one with domain points on a line, that with the least
        variance at frequency 0.

    Notes
    -----
    Feldman, Nelson, Nguyen, Talwar 2022. With t = 2 it is k-RR on q + 1 values.
    """

    name: ClassVar[str] = "projective-geometry"
    summary: ClassVar[str] = "projective geometry response"

    @property
    def dimension(self) -> int:
        """t, of the space whose lines through the origin are the points."""
        return _dimension(self.domain, self.size)

    @property
    def outputs(self) -> int:
        """K: number of points."""
        return field.points(self.size, self.dimension)

    @property
    def on_hyperplane(self) -> int:
        """c: points of a hyperplane."""
        return field.points(self.size, self.dimension - 1)

    @property
    def support(self) -> Support:
        """p* = c e^eps0/Z and q*, of the (c - 1)/q points that two hyperplanes share."""
        grow, gain = math.exp(self.eps0), math.expm1(self.eps0)
        return _support(self.size, self.dimension, grow, gain)

    @property
    def message_bits(self) -> float:
        """log2(K)."""
        return math.log2(self.outputs)

    def _best_prime(self) -> int:
        """The one with the least q*(1 - q*)/(p* - q*)^2 of the three."""
        grow, gain = math.exp(self.eps0), math.expm1(self.eps0)
        line = primes_beside(float(self.domain - 1))[-1]

        def spread(q: int) -> Fraction:
            t = _dimension(self.domain, q)
            rates = _support(q, t, grow, gain)
            # Without the factor 1/(e^eps0 - 1)^2 of all, which may leave the range of floats.
            gap = Fraction(_support(q, t, grow, 1.0).gap)
            return Fraction(rates.other) * Fraction(rates.other_miss) / gap**2

        # Of equal ones the smallest, which has the shortest reports.
        return min((*primes_beside(grow + 1.0), line), key=lambda q: (spread(q), q))

    # ------------------------------------------------------------------------------- the law

    def normals(self, inputs: Sequence[int]) -> list[list[int]]:
        """Vectors of inputs: a point is on the hyperplane of those it has the product 0 with."""
        return self.vectors(np.array(inputs, dtype=np.int64)).tolist()

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """More inputs than a hyperplane has points are in no hyperplane: no point favours all."""
        counts, eps0 = self.orthogonal(sorted(set(inputs))), arb(self.eps0)
        total = self.on_hyperplane * eps0.exp() + (self.outputs - self.on_hyperplane)

        def blanket(hits: tuple[bool, ...]) -> arb | None:
            # 0 is orthogonal to all and no point; q - 1 vectors are one.
            found = (counts[hits] - all(hits)) // (self.size - 1)
            return found / total if found else None

        return hit_or_miss(inputs, eps0, blanket, None)

    @property
    def _others(self) -> tuple[int, ...]:
        """0 and 1; 2 is on their line, which has q + 1 points; q + 1 is the next one."""
        return tuple(x for x in (0, 1, 2, self.size + 1) if x < self.domain)

    # ----------------------------------------------------------------------------- running it

    def vectors(self, numbers: np.ndarray, dimension: int | None = None) -> np.ndarray:
        """The vectors that stand for points of this or of a smaller space, shape (users, t)."""
        q, t = self.size, self.dimension if dimension is None else dimension
        left = numbers.astype(np.int64)
        starts = np.array([field.points(q, m) for m in range(t)])
        places = np.searchsorted(starts, left, side="right") - 1
        found = field.digits(left - starts[places], q, t)
        found[np.arange(len(left)), t - 1 - places] = 1
        return found

    def _numbers(self, vectors: np.ndarray) -> np.ndarray:
        """Numbers of the points whose lines these vectors are on; none is 0."""
        q, t = self.size, self.dimension
        first = np.argmax(vectors != 0, axis=1)
        rows = np.arange(len(vectors))
        leading = vectors[rows, first]
        scaled = vectors * field.inverse(leading, q)[:, None] % q
        scaled[rows, first] = 0
        number = np.zeros(len(vectors), dtype=np.int64)
        for column in scaled.T:
            number = number * q + column
        starts = np.array([field.points(q, m) for m in range(t)])
        return number + starts[t - 1 - first]

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        """A uniform point with probability gamma, rounded up, else one of the own hyperplane."""
        k, c = self.outputs, self.on_hyperplane
        uniform = digits_up(quotient(k, times(c, exponential(self.eps0)), k - c))
        reports = np.empty(len(values), dtype=smallest_type(k))
        for users in blocks(len(values), 4 * self.dimension):
            own = values[users].astype(np.int64)
            free = source.coins(uniform, len(own))
            drawn = np.empty(len(own), dtype=np.int64)
            drawn[free] = source.below(k, int(np.count_nonzero(free)))
            drawn[~free] = self._on_hyperplanes(own[~free], source)
            reports[users] = drawn
        return reports

    def _on_hyperplanes(self, values: np.ndarray, source: RandomSource) -> np.ndarray:
        """A uniform point of each value's hyperplane.

        Where the value's vector starts with its 1 the coordinate follows from the others, which
        are those of a uniform point of a space of one dimension less.
        """
        t, q = self.dimension, self.size
        own = self.vectors(values)
        others = self.vectors(source.below(self.on_hyperplane, len(values)), t - 1)
        column = np.arange(t)
        start = np.argmax(own != 0, axis=1)[:, None]
        rows = np.arange(len(values))[:, None]
        # In place of the coordinate left out stands one whose factor is taken out of the sum.
        vectors = others[rows, np.clip(column - (column > start), 0, t - 2)]
        vectors[rows, start] = 0
        vectors[rows[:, 0], start[:, 0]] = -field.dot(vectors, own, q) % q
        return self._numbers(vectors)

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        return whole_reports(reports, self.outputs)

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        """Items (0, .., 0, 1, x) of one length m: b + a . x = 0, (b, a) the report's last m + 1."""
        q, t = self.size, self.dimension
        kinds, times_ = np.unique(reports, return_counts=True)
        chosen = np.arange(self.domain) if items is None else items.astype(np.int64)
        counts = np.zeros(len(chosen), dtype=np.int64)

        def parts(m: int) -> Iterator[tuple[Any, Any, Any]]:
            for some in blocks(len(kinds), 4 * t):
                vectors = self.vectors(kinds[some])
                yield vectors[:, t - 1 - m], vectors[:, t - m :], times_[some]

        for m in range(t):
            first, last = field.points(q, m), field.points(q, m + 1)
            mine = (chosen >= first) & (chosen < last)
            if bool(mine.any()):
                found = field.supporters(lambda m=m: parts(m), q, m, chosen[mine] - first)
                counts[mine] = found
        return counts


def _dimension(domain: int, q: int) -> int:
    t = 2
    while field.points(q, t) < domain:
        t += 1
    return t


def _support(q: int, t: int, grow: float, gain: float) -> Support:
    """From c - i = q^(t-2), K - c = q^(t-1) and K - 2c + i = q^(t-1) - q^(t-2), i the shared."""
    c, i = field.points(q, t - 1), field.points(q, t - 2)
    far, near = q ** (t - 1), q ** (t - 2)
    total = c * grow + far
    return Support(
        own=c * grow / total,
        own_miss=far / total,
        other=(i * grow + near) / total,
        other_miss=(near * grow + (far - near)) / total,
        gap=near * gain / total,
    )
