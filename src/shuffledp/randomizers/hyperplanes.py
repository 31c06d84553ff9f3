"""Reports that support the items of a hyperplane: projective geometry response and PI-RAPPOR.

Vectors are over a field of a prime number q < 2^31 of elements. An element is a number 0 .. q-1, a
vector a row of such numbers; arithmetic is modulo q.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.arithmetic.balls import fmpz
from shuffledp.ball.record import Others, WorstPairs
from shuffledp.errors import rejected
from shuffledp.mechanism.parameters import Domain, LocalEpsilon
from shuffledp.randomizers.base import Reports
from shuffledp.randomizers.frequency import HitOrMiss, Sizes, UniformOrOwn, least_spread, orthogonal
from shuffledp.randomizers.values import blocks
from shuffledp.randomness import RandomSource
from shuffledp.theorems import HYPERPLANE_PAIRS, HYPERPLANE_TRIPLES
from shuffledp.values.described import DerivedInt, given

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# Blocks of reports: constants (users,), coefficients (users, m) and how often each report occurs.
Blocks = Callable[[], Iterator[tuple[Integers, Integers, Any]]]

# Entries of the table that is transformed: 8 MB of counts, three times that while it is.
_TABLE = 1 << 20

# Products of two elements of a field are below 2^62.
LARGEST = 2**31 - 1


def primes_beside(x: float) -> tuple[int, ...]:
    """The largest prime up to x and the smallest from x on; one where they are the same."""
    place = min(max(x, 2.0), float(LARGEST))
    below, above = range(math.floor(place), 1, -1), range(math.ceil(place), LARGEST + 1)
    return tuple(
        dict.fromkeys(next(q for q in way if fmpz(q).is_prime()) for way in (below, above))
    )


def field_size(value: int | None, choose: Callable[[], int]) -> int:
    """The field's size: as given, if it is prime, or as chosen.

    Raises
    ------
    ParameterError
        If it is no prime number, or not below 2^31.
    """
    if not given(value):
        return DerivedInt(choose())
    q = _check.count("q", value, low=2, high=LARGEST)
    if not fmpz(q).is_prime():
        raise rejected("q", value, "a prime number")
    return q


def points(q: int, t: int) -> int:
    """Points of PG(t-1, q): lines through the origin of a space of t dimensions."""
    return (q**t - 1) // (q - 1)


def digits(numbers: npt.ArrayLike, q: int, m: int) -> Integers:
    """The m digits of numbers below q^m to base q, the highest first, shape (users, m)."""
    left = np.array(numbers, dtype=np.int64)
    found = np.empty((left.size, m), dtype=np.int64)
    for j in range(m - 1, -1, -1):
        left, found[:, j] = np.divmod(left, q)
    return found


def dot(a: Integers, b: Integers, q: int) -> Integers:
    """Products of rows, shape (users,); single products are below 2^62."""
    found = np.zeros(len(a), dtype=np.int64)
    for x, y in zip(a.T, b.T, strict=True):
        found = (found + x.astype(np.int64) * y) % q
    return found


def inverse(a: Integers, q: int) -> Integers:
    """a^(q - 2): what a has to be multiplied by for 1."""
    found, power = np.ones_like(a), a
    exponent = max(q - 2, 1)
    while exponent:
        if exponent & 1:
            found = found * power % q
        power, exponent = power * power % q, exponent >> 1
    return found


# ------------------------------------------------------------------------------- sums of reports


def supporters(reports: Blocks, q: int, m: int, items: Integers) -> Integers:
    """For items x below q^m: how many reports have b + a . x = 0, x the vector of its digits.

    Items whose high digits agree go together: b and the high part of a . x make one element s of
    the field, reports are counted by (s, low coefficients y), a table of q^(r+1) entries, and

        #{s + w . y = 0}  =  (1/q) sum_c F[c, c w],
        F[c, d]  =  sum_{s, y} X(c s + d . y) table[s, y],    X(v) = e^{-2 pi i v/q},

    for all w of r digits at once: the sum over c of X(c v) is q for v = 0, else 0. Reports and a
    table are all that is held, never reports times items.

    Parameters
    ----------
    reports : callable
        Makes the blocks of reports, anew for each group of items: b, a and how often (None: once).
    q : int
        The field's size.
    m : int
        Digits of an item, coefficients of a report.
    items : ndarray of int, shape (K,)
        In any order, repeats allowed.
    """
    r = _low_digits(q, m, len(items))
    heads, lows = np.divmod(items, q**r)
    found = np.zeros(len(items), dtype=np.int64)
    for head in np.unique(heads):
        mine = heads == head
        found[mine] = _of_head(reports, q, digits([head], q, m - r), r)[lows[mine]]
    return found


def _low_digits(q: int, m: int, count: int) -> int:
    """The most digits whose table is small enough, and no larger than the items are many."""
    r = 0
    while r < m and q ** (r + 2) <= _TABLE and q ** (r + 1) <= count:
        r += 1
    return r


def _of_head(reports: Blocks, q: int, head: Integers, r: int) -> Integers:
    """Counts of all items with these high digits, by their r low ones."""
    high = head.shape[1]
    places = q ** np.arange(r, -1, -1)
    table = np.zeros(q ** (r + 1) if r else 1)
    for constants, coefficients, times in reports():
        known = np.broadcast_to(head, (len(constants), high))
        s = (constants + dot(coefficients[:, :high], known, q)) % q
        if not r:
            table[0] += np.count_nonzero(s == 0) if times is None else times[s == 0].sum()
            continue
        codes = coefficients[:, high:] @ places[:-1] + s
        table += np.bincount(codes, weights=times, minlength=table.size)
    if not r:
        return table.astype(np.int64)
    return _solutions(table, q, r)


def _solutions(table: Floats, q: int, r: int) -> Integers:
    """Sum of table[y, s] over s + w . y = 0, for all w; table and sums in rows, as numbers.

    The table's numbers are whole and their sum N; rounding errs by less than 100 N 2^-53, which
    is far below 1/2 for all N < 2^40. F[c, c w] and F[-c, -c w] are conjugate: of each such two the
    one is taken whose last digit, c, is in the half that the transform keeps.
    """
    spectrum = np.fft.rfftn(table.reshape((q,) * (r + 1)))
    total = np.zeros((q,) * r)
    for c in range(q // 2 + 1):
        along = c * np.arange(q) % q
        share = 1.0 if 2 * c % q == 0 else 2.0
        total += share * np.real(spectrum[..., c][np.ix_(*[along] * r)])
    return np.rint(total / q).astype(np.int64).ravel()


@dataclass(frozen=True, kw_only=True, repr=False)
class HyperplaneResponse(HitOrMiss, UniformOrOwn):
    """R_x(y) is e^eps0 times as large where the vectors of x and y have the product 0 as elsewhere.

    Any two inputs' vectors are independent, so all pairs have one law; three are dependent or not,
    so there are two kinds of third inputs. Subclasses give ``normals``, ``_sizes``, ``_others``
    and how reports are drawn and counted.
    """

    domain: Domain
    eps0: LocalEpsilon
    q: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "q", field_size(self.q, self._best_prime))

    def _best_prime(self) -> int:
        """The field's size where none is given: of those worth trying the one of least variance."""
        near = primes_beside(math.exp(self.eps0) + 1.0)
        return least_spread((*near, *self._more_primes), self._sizes, self.eps0)

    @property
    def _more_primes(self) -> tuple[int, ...]:
        """Sizes worth trying beside the primes next to e^eps0 + 1."""
        return ()

    @abstractmethod
    def _sizes(self, q: int) -> Sizes:
        """Outputs over a field of this size."""

    @property
    def sizes(self) -> Sizes:
        """Outputs, those on a hyperplane, and those on two."""
        return self._sizes(self.size)

    @property
    @abstractmethod
    def _others(self) -> tuple[int, ...]:
        """0, 1, and a third input on the line through these and one off it, where there are."""

    @abstractmethod
    def normals(self, inputs: Sequence[int]) -> list[list[int]]:
        """Vectors of inputs, of which reports take the product with their own."""

    def others(self) -> Others:
        """0 and 1, the pair; a third input on the line through these and one off it."""
        return Others("alike", HYPERPLANE_TRIPLES, ((0, 1),), self._others)

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], int]:
        """Vectors that are orthogonal to exactly which of these inputs' normals."""
        return orthogonal(self.normals(inputs), self.size)

    @property
    def size(self) -> int:
        """q."""
        return 0 if self.q is None else self.q

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs have one law, in both directions."""
        return WorstPairs(((0, 1),), HYPERPLANE_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1, or a third value on or off the line through these."""
        return tuple((0, 1, x2) for x2 in self._others)


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
        Local privacy in nats, 1e-9 <= eps0 <= 300.
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
        return points(self.size, self.dimension)

    @property
    def on_hyperplane(self) -> int:
        """c: points of a hyperplane."""
        return points(self.size, self.dimension - 1)

    def _sizes(self, q: int) -> Sizes:
        """Points of the space, of a hyperplane, and of the (c - 1)/q that two hyperplanes share."""
        t = _dimension(self.domain, q)
        return Sizes(*(points(q, m) for m in (t, t - 1, t - 2)))

    @property
    def _more_primes(self) -> tuple[int, ...]:
        """The least one with ``domain`` points on a line."""
        return primes_beside(float(self.domain - 1))[-1:]

    # ------------------------------------------------------------------------------- the law

    def normals(self, inputs: Sequence[int]) -> list[list[int]]:
        """Vectors of inputs: a point is on the hyperplane of those it has the product 0 with."""
        return self.vectors(np.array(inputs, dtype=np.int64)).tolist()

    def hit_counts(self, inputs: Sequence[int]) -> dict[tuple[bool, ...], int]:
        """The vector 0 is orthogonal to all and no point; q - 1 vectors are one.

        More inputs than a hyperplane has points are in no hyperplane: no point hits all.
        """
        counts = super().hit_counts(inputs)
        return {hits: (n - all(hits)) // (self.size - 1) for hits, n in counts.items()}

    @property
    def _others(self) -> tuple[int, ...]:
        """0 and 1; 2 is on their line, which has q + 1 points; q + 1 is the next one."""
        return tuple(x for x in (0, 1, 2, self.size + 1) if x < self.domain)

    # ----------------------------------------------------------------------------- running it

    def vectors(self, numbers: np.ndarray, dimension: int | None = None) -> np.ndarray:
        """The vectors that stand for points of this or of a smaller space, shape (users, t)."""
        q, t = self.size, self.dimension if dimension is None else dimension
        left = numbers.astype(np.int64)
        starts = np.array([points(q, m) for m in range(t)])
        places = np.searchsorted(starts, left, side="right") - 1
        found = digits(left - starts[places], q, t)
        found[np.arange(len(left)), t - 1 - places] = 1
        return found

    def _numbers(self, vectors: np.ndarray) -> np.ndarray:
        """Numbers of the points whose lines these vectors are on; none is 0."""
        q, t = self.size, self.dimension
        first = np.argmax(vectors != 0, axis=1)
        rows = np.arange(len(vectors))
        leading = vectors[rows, first]
        scaled = vectors * inverse(leading, q)[:, None] % q
        scaled[rows, first] = 0
        number = np.zeros(len(vectors), dtype=np.int64)
        for column in scaled.T:
            number = number * q + column
        starts = np.array([points(q, m) for m in range(t)])
        return number + starts[t - 1 - first]

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> np.ndarray:
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
        vectors[rows[:, 0], start[:, 0]] = -dot(vectors, own, q) % q
        return self._numbers(vectors)

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
            first, last = points(q, m), points(q, m + 1)
            mine = (chosen >= first) & (chosen < last)
            if bool(mine.any()):
                found = supporters(lambda m=m: parts(m), q, m, chosen[mine] - first)
                counts[mine] = found
        return counts


def _dimension(domain: int, q: int) -> int:
    t = 2
    while points(q, t) < domain:
        t += 1
    return t


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
        Local privacy in nats, 1e-9 <= eps0 <= 300.
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
        return _digits(self.domain, self.size)

    @property
    def letters(self) -> int:
        """q."""
        return self.size

    @property
    def word(self) -> int:  # type: ignore[override]
        """t + 1: coefficients and the constant."""
        return self.digits + 1

    def _sizes(self, q: int) -> Sizes:
        """Functions: one in q vanishes at an item, one in q^2 at two."""
        t = _digits(self.domain, q)
        return Sizes(*(q**m for m in (t + 1, t, t - 1)))

    # ------------------------------------------------------------------------------- the law

    def normals(self, inputs: Sequence[int]) -> list[list[int]]:
        """Vectors (x, 1) of inputs: the product with (a, b) is the function's value."""
        return [[*row, 1] for row in digits(inputs, self.size, self.digits).tolist()]

    def hit_by_all(self) -> int:
        """More than q^(t-1) inputs are in no hyperplane: (0, 0) alone vanishes on all."""
        return 1

    @property
    def _others(self) -> tuple[int, ...]:
        """0 and 1; 2 is on their line, if that has three elements; q has another digit."""
        return tuple(x for x in dict.fromkeys((0, 1, 2, self.size)) if x < self.domain)

    # ----------------------------------------------------------------------------- running it

    def _own_reports(self, values: np.ndarray, source: RandomSource) -> Reports:
        """Coefficients uniform, and the constant that makes the function 0 at the value."""
        q, t = self.size, self.digits
        a = source.uniform(q, len(values) * t).reshape(len(values), t).astype(np.int64)
        return np.column_stack([a, -dot(a, digits(values, q, t), q) % q])

    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        t = self.digits
        chosen = np.arange(self.domain) if items is None else items.astype(np.int64)

        def parts() -> Iterator[tuple[Any, Any, None]]:
            for users in blocks(len(reports), t + 1):
                part = reports[users].astype(np.int64)
                yield part[:, t], part[:, :t], None

        return supporters(parts, self.size, t, chosen)


def _digits(domain: int, q: int) -> int:
    t = 1
    while q**t < domain:
        t += 1
    return t
