"""Noise on a lattice: cells of the Laplace and the normal law, drawn exactly.

A float added to a float betrays its operands in its last bits. Here inputs are rounded to a lattice
(at random, without bias) and noise is the cell of the lattice that Laplace or normal noise falls
in, drawn from its exact probabilities: what is sent is a function of an ideal report, so that every
bound for the ideal mechanism holds for it (post-processing; inputs between two points of the
lattice are mixtures of them, docs/theory.md, Lemma 1.1). "Exact" is up to 2^-1280.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified
from shuffledp.randomizers.chances import (
    choice,
    digits_up,
    exponential,
    quotient,
    times,
    whole_units,
)
from shuffledp.randomness import BITS, Choice, RandomSource

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]
# Whole numbers of cells: 64-bit integers, or Python's own where these do not hold them.
Cells = npt.NDArray[Any]

# e^-890 < 2^-1280: beyond the last digit of a probability.
FARTHEST = 890.0
# From this step on cells of Laplace noise stay below 2^62 (890 2^52 < 2^62): a sum or difference of
# two of them, and of a value beside them, is an int64.
LEAST_STEP = 2.0**-52
# Normal noise stays below this many standard deviations: e^(-43^2/2) < 2^-1280.
FARTHEST_NORMAL = 43
# Cells of noise below this, and a value's own added, are 64-bit integers.
_LARGEST = 2.0**62
# Error of e^(-x (2k + x)/2) in floats, x from the high digits of its words: far below this.
_DOUBT = 2.0**-44


def scales_between(low: float, high: float, scale: float) -> float:
    """(high - low)/scale, rounded up: an exponent that bounds a ratio of densities is no less."""
    found = (high - low) / scale
    if not math.isfinite(found):
        return found
    exact = (Fraction(high) - Fraction(low)) / Fraction(scale)
    found = exact.numerator / exact.denominator
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)


def to_lattice(place: Floats, points: int, source: RandomSource) -> Integers:
    """A neighbouring point of 0 .. points for each place in [0, 1], unbiased for place * points."""
    exact = place * points
    below = np.floor(exact)
    up = source.bernoulli(exact - below, len(place))
    return below.astype(np.int64) + up


def whole(noise: Floats) -> Cells:
    """Floats rounded down, as integers: Python's own where 64 bits do not hold one of them."""
    floor = np.floor(noise)
    if float(np.abs(floor).max(initial=0.0)) < _LARGEST:
        return floor.astype(np.int64)
    return np.array([int(cell) for cell in floor], dtype=object)


def plus(cells: Integers, noise: Cells) -> Cells:
    """The sum, exactly: noise in 64-bit integers is below 2^62, cells of values are below 2^57."""
    return cells.astype(noise.dtype) + noise


def middles(cells: Cells, bits: int) -> Floats:
    """Middles of cells of width 2^-bits, rounded to floats: a function of the whole number alone.

    Both kinds of integers become the nearest float, to even where there are two.
    """
    return (cells.astype(np.float64) + 0.5) / 2.0**bits


def coarse_middles(cells: Cells, digits: int) -> Floats:
    """Middles of coarser cells in units of cells: those of the first binary digits of the number.

    Noise that is drawn as a float has so many digits that it fills a coarser cell with many draws,
    whatever the value's own cell is; the last digits of a sum would show that.

    Parameters
    ----------
    cells : ndarray
        Whole numbers; cell j is [j, j + 1), and mirrors cell -1 - j.
    digits : int
        Numbers of fewer binary digits are as they are.
    """
    size = np.where(cells >= 0, cells, ~cells)
    found = size.astype(np.float64) + 0.5
    for i in np.flatnonzero(size >= 1 << digits):
        one = int(size[i])
        dropped = one.bit_length() - digits
        found[i] = math.ldexp((one >> dropped) + 0.5, dropped)
    return np.where(cells >= 0, found, -found)


def laplace_cells(step: Decimal, size: int, source: RandomSource) -> Integers:
    """Cell j of Laplace noise of scale 1: it falls in [j step, (j + 1) step).

    Its size is geometric with ratio e^-step, whose binary digits are independent: digit i is 1 with
    probability 1/(e^(2^i step) + 1). The sign is a fair coin, and cell -1 - j mirrors cell j.

    Raises
    ------
    NotCertified
        If the step is below 2^-52: cells would be no int64.
    """
    check_step("noise", "step/scale", step)
    cells = np.zeros(size, dtype=np.int64)
    for place, digits in enumerate(_digit_chances(step)):
        cells |= source.coins(digits, size).astype(np.int64) << place
    return np.where(source.coins(b"\x80", size), cells, ~cells)


def check_step(name: str, argument: str, step: Decimal | float) -> None:
    """NotCertified, in the name of a mechanism, for a step that ``laplace_cells`` has no cells for.

    Parameters
    ----------
    name, argument : str
        The mechanism, and what of it the step is.
    step : Decimal or float
        In units of the noise scale.
    """
    if not step >= LEAST_STEP:
        msg = f"{name}: {argument} = {step:g}: no sampler below 2^-52, where noise is no int64"
        raise NotCertified(msg)


def laplace_reach(step: Decimal) -> int:
    """No cell of Laplace noise is farther out than this many; below 2^62 for steps above 2^-51."""
    return 1 << len(_digit_chances(step))


@lru_cache(maxsize=64)
def _digit_chances(step: Decimal) -> tuple[bytes, ...]:
    found = []
    length = step
    while length < FARTHEST:
        found.append(digits_up(quotient(1, exponential(length), 1)))
        length = times(2, length)
    return tuple(found)


def normal_cells(bits: int, size: int, source: RandomSource) -> Integers:
    """Cell j of standard normal noise: it falls in [j 2^-bits, (j + 1) 2^-bits), bits <= 57.

    Karney's algorithm: k with probability proportional to e^(-k^2/2), x uniform on [0, 1), kept
    with probability e^(-x (2k + x)/2), else all anew; k + x is the size.

    Notes
    -----
    Karney 2016, "Sampling exactly from the normal distribution", algorithm N.
    """
    cells = np.empty(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        k = source.choose(_whole_parts(), missing.size)
        x, coin = source.words(missing.size), source.words(missing.size)
        kept = _kept(k, x, coin, source)
        size_of = k[kept] << bits | (x[kept] >> np.uint64(64 - bits)).astype(np.int64)
        cells[missing[kept]] = size_of
        missing = missing[~kept]
    return np.where(source.coins(b"\x80", size), cells, ~cells)


@lru_cache(maxsize=64)
def _whole_parts() -> Choice:
    return choice([whole_units(exponential(-0.5 * k * k)) for k in range(FARTHEST_NORMAL)])


def _kept(
    k: Integers, x: np.ndarray, coin: np.ndarray, source: RandomSource, *, doubt: float = _DOUBT
) -> npt.NDArray[np.bool_]:
    """Whether coin < e^(-x (2k + x)/2), both known by their first 64 binary digits.

    What floats cannot tell is settled by as many further digits as it takes.
    """
    place = x.astype(np.float64) * 2.0**-64
    margin = np.exp(-0.5 * place * (2.0 * k + place)) - coin.astype(np.float64) * 2.0**-64
    kept = margin > 0.0
    for i in np.flatnonzero(np.abs(margin) <= doubt):
        kept[i] = _settled(int(k[i]), int(x[i]), int(coin[i]), source)
    return kept


def _settled(k: int, x: int, coin: int, source: RandomSource) -> bool:
    """The same for one draw, digits appended until it is decided."""
    unit = 1 << 64
    while unit < 1 << BITS:
        # x and the coin lie between these and the next.
        if not Decimal(coin) < times(unit, _chance(k, x, unit)):
            return False
        if Decimal(coin + 1) <= times(unit, _chance(k, x + 1, unit)):
            return True
        more = source.words(2)
        x, coin, unit = x << 64 | int(more[0]), coin << 64 | int(more[1]), unit << 64
    return False


def _chance(k: int, x: int, unit: int) -> Decimal:
    """e^(-x (2k + x)/2) at x/unit."""
    return exponential(quotient(-x * (2 * k * unit + x), 2 * unit * unit))


def step_of(eps0: float, bits: int) -> Decimal:
    """eps0 2^-bits, exact: the lattice's step in units of the noise scale."""
    return times(Decimal(eps0), quotient(1, 2**bits))


def bits_for(scale: float, wanted: int) -> int:
    """Least number of halvings that bring ``scale`` below 2^-wanted, at least 0."""
    return max(0, wanted + math.frexp(scale)[1])
