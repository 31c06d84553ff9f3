"""Labels' laws one by one (docs/theory-stealing.md, sections 5.4 to 5.7), against all inputs."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from laws import law_of
from stealing.channels import Masses, calls, labels_of, shortfall


def masses_of(randomizer: sd.Randomizer, inputs: tuple[object, ...]) -> Masses:
    return law_of(randomizer, inputs).mass


INTERVALS = [
    sd.Piecewise(eps0=0.6),
    sd.Piecewise(eps0=2.5),
    sd.Hybrid(eps0=0.8),
    sd.Hybrid(eps0=2.0),
    sd.Staircase(eps0=2.0, width=0.7),
]


@pytest.mark.parametrize("randomizer", INTERVALS, ids=lambda r: f"{r.name}-{r.eps0}")
def test_corners_dominate_all_triples_of_an_interval(randomizer: sd.Randomizer) -> None:
    rng = random.Random(1)
    labels = labels_of(randomizer)
    low, high = randomizer.low, randomizer.high  # type: ignore[attr-defined]
    for _ in range(12):
        x0, x1, x = (low + (high - low) * rng.random() for _ in range(3))
        law = masses_of(randomizer, (x0, x1, x))
        assert shortfall(law, labels, math.exp(rng.choice([0.02, 0.3, 1.0]))) < 1e-9


def test_without_a_corner_some_triple_is_not_dominated() -> None:
    """The check can fail: three disjoint windows are the worst, and nothing else covers them."""
    randomizer = sd.Piecewise(eps0=2.5)
    apart = masses_of(randomizer, (-1.0, 1.0, 0.0))
    labels = labels_of(randomizer)
    spread = [float(((p[0] - p[1]) ** 2 / p[2]).sum()) for p in labels]
    fewer = [p for p, chi in zip(labels, spread, strict=True) if chi < max(spread) * (1 - 1e-9)]
    assert 0 < len(fewer) < len(labels)
    assert shortfall(apart, labels, 1.2) < 1e-9
    assert shortfall(apart, fewer, 1.2) > 1e-4


# ------------------------------------------------------------------- two-sided geometric noise


def power(rate: Fraction, top: int, x: int) -> list[Fraction]:
    """Two-sided geometric noise around x, outputs beyond 0 and top together; times a constant."""
    inner = [(1 - rate) * rate ** abs(y - x) for y in range(1, top)]
    return [rate**x, *inner, rate ** (top - x)]


def phi(laws: tuple[list[Fraction], ...], a: Fraction, t: Fraction) -> Fraction:
    return sum(
        (max(p - a * q + t * r, Fraction(0)) for p, q, r in zip(*laws, strict=True)), Fraction(0)
    )


def outermost(x0: int, x1: int, x: int, top: int) -> tuple[int, int, int]:
    """The triple that Lemma 5.6 moves this one to, in a range of ``top`` from its least."""
    if x1 < max(x0, x) and not (x < x1 < x0):
        x0, x1, x = top - x0, top - x1, top - x
    low = min(x0, x1, x)
    if x1 >= max(x0, x):
        return x0 - low, top, x - low
    return top, x1 - low, x - low


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(4, 5), Fraction(19, 20)])
def test_outer_moves_exactly(rate: Fraction) -> None:
    """In fractions, at every kink: each triple is dominated by one that spans the range."""
    top, looked = 5, 0
    for x0, x1, x in itertools.product(range(top + 1), repeat=3):
        for a in (Fraction(1), Fraction(101, 100), Fraction(3, 2), Fraction(3)):
            if x0 == x1 or rate ** -abs(x0 - x1) <= a:
                # Nothing is lost: H_a of the two laws is 0.
                continue
            moved = outermost(x0, x1, x, top)
            assert max(moved) - min(moved) == top
            first = tuple(power(rate, top, place) for place in (x0, x1, x))
            second = tuple(power(rate, top, place) for place in moved)
            kinks = {
                (a * q - p) / r for laws in (first, second) for p, q, r in zip(*laws, strict=True)
            }
            for t in kinks:
                assert phi(first, a, t) <= phi(second, a, t)
            looked += 1
    assert looked > 300


def normal(sigma: float, x: int) -> list[Fraction]:
    """Discrete normal noise around x, times a constant; floats as fractions."""
    return [Fraction(math.exp(-((y - x) ** 2) / (2.0 * sigma**2))) for y in range(-40, 45)]


# --------------------------------------------------------------------- reports made of parts


def test_pairs_of_equal_values_are_needed_in_joint_reports() -> None:
    """Not beside each other, but together: another pair of coefficients, another worst label."""
    (equal,) = [masses_of(sd.KRR(k=3, eps0=2.0), (0, 0, 2))]
    alike = [masses_of(sd.KRR(k=3, eps0=2.0), (0, 1, x)) for x in range(3)]
    assert shortfall(equal, alike, 1.5) < 1e-9
    # s = 3 and u = 1: R_x0 is three times as heavy.
    at = np.linspace(-4.0, 1.0, 501)
    heavy = [np.array([3.0 * law[0], law[1], law[2]]) for law in (equal, *alike)]
    truth, *others = (calls(law, 1.0, at) for law in heavy)
    assert all(float((truth - other).max()) > 1e-3 for other in others[:1])
