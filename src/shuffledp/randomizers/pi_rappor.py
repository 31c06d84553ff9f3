"""PI-RAPPOR: unary encoding whose bits are pairwise independent, a hash function for a report."""

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
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.hyperplanes import HyperplaneResponse
from shuffledp.randomizers.krr import respond
from shuffledp.randomizers.primes import primes_beside
from shuffledp.randomizers.values import blocks, row_reports, smallest_type
from shuffledp.randomness import RandomSource


@dataclass(frozen=True, kw_only=True, repr=False)
class PIRAPPOR(HyperplaneResponse):
    """PI-RAPPOR: R_x(a, b) = q^-t (e^eps0 if a . x + b = 0 else 1)/(e^eps0 + q - 1), in a field.

    A report is an affine function on the vectors of t elements of the field of q, t the least with
    q^t >= domain; an input is the vector of its digits to base q, and the report's bit for it is 1
    where the function vanishes, once in q. Any two inputs' bits are independent. Only a = b = 0 is
    1 for the whole domain, so the blanket is 1/Z but e^eps0/Z there. Reports are rows
    (a_1, .., a_t, b) of the smallest unsigned type, a_1 for the highest digit. A digit and an
    element of a report are numbers 0 .. q-1.

    Parameters
    ----------
    domain : int
        Number of inputs, 2 <= domain <= 1e9.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    q : int, optional
        Size of the field, a prime below 2^31; by default of the two primes
        next to e^eps0 + 1 the one with less variance at frequency 0.

    Notes
    -----
    Feldman, Talwar 2021, with bits that are 1 on one element of the field, as for fast decoding in
    Feldman, Nelson, Nguyen, Talwar 2022.
    """

    name: ClassVar[str] = "pi-rappor"
    summary: ClassVar[str] = "RAPPOR with pairwise independent bits (PI-RAPPOR)"

    @property
    def digits(self) -> int:
        """t: elements of the field that make an input."""
        t = 1
        while self.size**t < self.domain:
            t += 1
        return t

    @property
    def support(self) -> Support:
        """p* = e^eps0/(e^eps0 + q - 1), q* = 1/q: the function vanishes at the item."""
        return _support(self.size, math.exp(self.eps0), math.expm1(self.eps0))

    @property
    def message_bits(self) -> float:
        """(t + 1) log2(q)."""
        return (self.digits + 1) * math.log2(self.size)

    def _best_prime(self) -> int:
        """Of the primes next to e^eps0 + 1 that with the smaller q*(1 - q*)/(p* - q*)^2.

        That is (e^eps0 + q - 1)^2/(q - 1), without the factor that q does not enter.
        """
        grow = math.exp(self.eps0)
        near = primes_beside(grow + 1.0)
        return min(near, key=lambda q: (Fraction(grow) + q - 1) ** 2 / (q - 1))

    # ------------------------------------------------------------------------------- the law

    def normals(self, inputs: Sequence[int]) -> list[list[int]]:
        """Vectors (x, 1) of inputs: the product with (a, b) is the function's value."""
        return [[*row, 1] for row in field.digits(inputs, self.size, self.digits).tolist()]

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """More than q^(t-1) inputs are in no hyperplane: only (0, 0) favours all."""
        counts, eps0 = self.orthogonal(sorted(set(inputs))), arb(self.eps0)
        total = arb(self.size**self.digits) * (eps0.exp() + (self.size - 1))

        def blanket(hits: tuple[bool, ...]) -> arb | None:
            vectors = counts[hits] - all(hits)
            return vectors / total if vectors else None

        return hit_or_miss(inputs, eps0, blanket, eps0.exp() / total)

    @property
    def _others(self) -> tuple[int, ...]:
        """0 and 1; 2 is on their line, if that has three elements; q has another digit."""
        return tuple(x for x in dict.fromkeys((0, 1, 2, self.size)) if x < self.domain)

    # ----------------------------------------------------------------------------- running it

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        """Coefficients uniform, and the constant q-RR of what makes the function 0 at the value."""
        q, t = self.size, self.digits
        reports = np.empty((len(values), t + 1), dtype=smallest_type(q))
        for users in blocks(len(values), t + 1):
            part = reports[users]
            part[:, :t] = source.uniform(q, len(part) * t).reshape(len(part), t)
            x = field.digits(values[users], q, t)
            part[:, t] = -field.dot(part[:, :t].astype(np.int64), x, q) % q
        reports[:, t] = respond(reports[:, t], q, self.eps0, source)
        return reports

    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        return row_reports(reports, self.digits + 1, self.size)

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        t = self.digits
        chosen = np.arange(self.domain) if items is None else items.astype(np.int64)

        def parts() -> Iterator[tuple[Any, Any, None]]:
            for users in blocks(len(reports), t + 1):
                part = reports[users].astype(np.int64)
                yield part[:, t], part[:, :t], None

        return field.supporters(parts, self.size, t, chosen)


def _support(q: int, grow: float, gain: float) -> Support:
    total = grow + (q - 1)
    return Support(
        own=grow / total,
        own_miss=(q - 1) / total,
        other=1.0 / q,
        other_miss=(q - 1) / q,
        gap=gain / total * ((q - 1) / q),
    )
