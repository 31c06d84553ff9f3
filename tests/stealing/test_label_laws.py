"""Labels' laws one by one (docs/theory-stealing.md, sections 5.4 to 5.7), against all inputs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import shuffledp as sd
from laws import law_of
from shuffledp.arithmetic.balls import ctx
from shuffledp.bounds.stealing_cases import cases_of
from stealing.channels import bounded_by, whole
from stealing.exact import grown, worst
from stealing.test_all_datasets import any_numbers, bound, cases

Masses = np.ndarray


def calls(law: Masses, a: float, at: np.ndarray) -> np.ndarray:
    """Phi_t = sum (R_x0 - a R_x1 + t R_x)_+ for each t; rows x0, x1, x."""
    return np.maximum(law[0] - a * law[1] + at[:, None] * law[2], 0.0).sum(axis=1)


def shortfall(law: Masses, labels: Sequence[Masses], a: float) -> float:
    """How far the best mixture of the labels stays below the law at some t: 0 if one dominates.

    Both sides are linear between the negative gains of either, and alike beyond all of them.
    """
    kinks = [a * one[1] / one[2] - one[0] / one[2] for one in (law, *labels)]
    at = np.unique(np.round(np.concatenate(kinks), 12))
    table = np.array([calls(one, a, at) for one in labels])
    truth = calls(law, a, at)
    # Weights and the shortfall: weights @ table + shortfall >= truth.
    count = len(labels)
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([-table.T, -np.ones(at.size)]),
        b_ub=-truth,
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * (count + 1),
    )
    assert found.status == 0
    return float(found.fun)


def labels_of(randomizer: sd.Randomizer) -> list[Masses]:
    """The labels that are looked at, in floats; outputs that nobody sends left out."""
    with ctx.workprec(100):
        case = cases_of(randomizer, -100.0)[0]
        rows = [
            np.array([[float(x) for x in row] for row in (one.first, one.second, one.other)])
            for one in case.labels
        ]
    return [law[:, law[2] > 0.0] for law in rows]


def masses_of(randomizer: sd.Randomizer, inputs: tuple[object, ...]) -> Masses:
    return law_of(randomizer, inputs).mass


INTERVALS = [
    sd.Piecewise(eps0=0.6),
    sd.Piecewise(eps0=1.0),
    sd.Piecewise(eps0=2.5),
    sd.Hybrid(eps0=0.8),
    sd.Hybrid(eps0=2.0),
    sd.Staircase(eps0=1.0),
    sd.Staircase(eps0=2.0, width=0.7),
]


@pytest.mark.many(4)
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


def signed_sets(keys: int, s: int) -> list[set[tuple[int, int]]]:
    """All sets of s keys with signs."""
    return [
        set(zip(chosen, signs, strict=True))
        for chosen in itertools.combinations(range(keys), s)
        for signs in itertools.product((1, -1), repeat=s)
    ]


def favoured_law(sets: Sequence[set[tuple[int, int]]], keys: int, grow: float) -> np.ndarray:
    """PCKV-GRR from its definition: a symbol has probability e^eps0/Z if favoured, else 1/Z."""
    symbols = [(key, sign) for key in range(keys) for sign in (1, -1)]
    rows = np.array([[grow if y in held else 1.0 for y in symbols] for held in sets])
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("keys", "s"), [(2, 1), (3, 2), (4, 3), (5, 2), (3, 3)])
def test_overlaps_of_signed_keys(keys: int, s: int) -> None:
    rng = random.Random(2)
    randomizer = sd.PCKVGRR(domain=keys, s=s, eps0=1.5)
    labels = labels_of(randomizer)
    every = signed_sets(keys, s)
    for _ in range(15):
        law = favoured_law([rng.choice(every) for _ in range(3)], keys, math.exp(1.5))
        assert shortfall(law, labels, math.exp(rng.choice([0.05, 0.5]))) < 1e-9


def test_values_between_signs_and_missing_pairs() -> None:
    """Values in (-1, 1), and users with fewer pairs: mixtures of signs."""
    rng = np.random.default_rng(3)
    keys, s, eps0 = 3, 2, 1.0
    randomizer = sd.PCKVGRR(domain=keys, s=s, eps0=eps0, padding=True)
    labels = labels_of(randomizer)
    total = s * math.expm1(eps0) + 2 * (keys + s)
    for _ in range(15):
        law = np.full((3, 2 * (keys + s)), 1.0 / total)
        for row in law:
            held = rng.integers(0, s + 1)
            chosen = [*rng.permutation(keys)[:held], *(keys + np.arange(s - held))]
            for slot, key in enumerate(chosen):
                value = rng.uniform(-1.0, 1.0) if slot < held else 0.0
                row[2 * key] += math.expm1(eps0) * 0.5 * (1.0 - value) / total
                row[2 * key + 1] += math.expm1(eps0) * 0.5 * (1.0 + value) / total
        assert shortfall(law, labels, 1.3) < 1e-9


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


@pytest.mark.parametrize("sigma", [1.5, 3.0])
def test_moving_the_second_input_outward(sigma: float) -> None:
    """Symmetric log-concave noise: x1 may be moved away wherever it is outermost."""
    rng = random.Random(9)
    # What lies beyond 40: below e^(-36^2/18) of the mass.
    beyond = Fraction(1, 10**30)
    for x0, x, x1 in itertools.product(range(3), range(3), range(1, 4)):
        if x1 < max(x0, x) or x1 == x0:
            continue
        near, far = (
            tuple(normal(sigma, place) for place in places)
            for places in ((x0, x1, x), (x0, x1 + 1, x))
        )
        for a in (Fraction(1), Fraction(2)):
            kinks = [(a * q - p) / r for laws in (near, far) for p, q, r in zip(*laws, strict=True)]
            for t in rng.sample([t for t in kinks if abs(t) < 1000], 5):
                assert phi(near, a, t) <= phi(far, a, t) + beyond * (1 + abs(t))


def test_outer_moves_need_their_condition() -> None:
    """Where f_x0 <= a f_x1 everywhere, moving x0 out can lower Phi_t."""
    rate, a = Fraction(1, 2), Fraction(6)
    near, far = (
        tuple(power(rate, 8, place) for place in places) for places in ((5, 4, 0), (6, 4, 0))
    )
    kinks = {(a * q - p) / r for laws in (near, far) for p, q, r in zip(*laws, strict=True)}
    assert any(phi(near, a, t) > phi(far, a, t) for t in kinks)


# ------------------------------------------------------------------------------- all data sets


def window_rows(eps0: float, share: float, places: Sequence[float]) -> np.ndarray:
    """Piecewise windows with probability ``share``, else Duchi's bit, from their definitions."""
    w, grow = math.exp(0.5 * eps0), math.exp(eps0)
    cuts = sorted({0.0, w + 1.0, *(w * a for a in places), *(w * a + 1.0 for a in places)})
    base = share / (w * (w + 1.0))
    rows = []
    for a in places:
        row = [
            base * (right - left) * (grow if w * a <= 0.5 * (left + right) <= w * a + 1.0 else 1.0)
            for left, right in itertools.pairwise(cuts)
        ]
        p = (1.0 + (grow - 1.0) * a) / (grow + 1.0)
        rows.append([*row, (1.0 - share) * p, (1.0 - share) * (1.0 - p)])
    return np.array(rows)


def stair_rows(eps0: float, g: float, places: Sequence[float]) -> np.ndarray:
    """Staircase noise, outputs in pieces between jumps and 12 steps to both sides."""
    b = math.exp(-eps0)
    height = (1.0 - b) / (2.0 * (g + b * (1.0 - g)))
    jumps = {
        round(x + sign * (k + part), 12)
        for x in places
        for sign in (1, -1)
        for k in range(13)
        for part in (0.0, g)
    }
    cuts = sorted(jumps)
    rows = []
    for x in places:
        row = []
        for left, right in itertools.pairwise(cuts):
            z = abs(0.5 * (left + right) - x)
            row.append(height * b ** (math.floor(z) + (z % 1.0 >= g)) * (right - left))
        rows.append([*row, max(1.0 - sum(row), 0.0)])
    return np.array(rows)


def check_all_datasets(
    randomizer: sd.Randomizer,
    matrix: np.ndarray,
    *,
    n: int,
    epsilons: Sequence[float],
    firsts: Sequence[int] | None = None,
    apart: int | None = None,
) -> None:
    """All pairs (or by symmetry those of some x0), all data sets, any free numbers.

    ``apart``: pairs whose inputs add up to that are no neighbours.
    """
    rows, total = whole(matrix)
    ((case),) = cases(randomizer)
    rng = random.Random(6)
    for epsilon in epsilons:
        # Entries were rounded by 2^-60: that much of the exact value may be theirs.
        truth = max(
            worst(rows, total, x0, x1, n, grown(epsilon))
            for x0, x1 in itertools.permutations(range(len(rows)), 2)
            if (firsts is None or x0 in firsts) and x0 + x1 != apart
        ) - Fraction(1, 2**40)
        for _ in range(20):
            assert bounded_by(truth, bound(case, any_numbers(rng, case), n, epsilon))


@pytest.mark.many(1)
@pytest.mark.parametrize("eps0", [0.9, 2.0])
def test_piecewise_and_hybrid_all_datasets(eps0: float) -> None:
    places = [0.0, math.exp(-0.5 * eps0), 1.0]
    windows = window_rows(eps0, 1.0, places)[:, :-2]
    check_all_datasets(sd.Piecewise(eps0=eps0), windows, n=3, epsilons=(0.1,))
    share = -math.expm1(-0.5 * eps0)
    mixed = window_rows(eps0, share, places)
    check_all_datasets(sd.Hybrid(eps0=eps0), mixed, n=3, epsilons=(0.4,))


def test_staircase_all_datasets() -> None:
    matrix = stair_rows(1.5, 0.3, [0.0, 0.4, 1.0])
    # Few outputs: those with the same ratios are one.
    ratios = np.round(np.log(matrix / matrix[0]), 6)
    index = np.unique(ratios, axis=1, return_inverse=True)[1].reshape(-1)
    merged = np.array([np.bincount(index, weights=row) for row in matrix])
    randomizer = sd.Staircase(eps0=1.5, width=0.3)
    check_all_datasets(randomizer, merged, n=3, epsilons=(0.1, 0.5))


def test_signed_keys_all_datasets() -> None:
    matrix = favoured_law(signed_sets(3, 2), 3, math.exp(1.5))
    randomizer = sd.PCKVGRR(domain=3, s=2, eps0=1.5)
    check_all_datasets(randomizer, matrix, n=3, epsilons=(0.1, 0.5), firsts=[0])


def test_sets_of_items_all_datasets() -> None:
    d, s, eps0 = 4, 2, 2.0
    keep = 1.0 / (1.0 + math.exp(-0.5 * eps0))
    outputs = list(itertools.product((0, 1), repeat=d))
    rappor = np.array(
        [
            [
                math.prod(keep if bit == (j == x) else 1 - keep for j, bit in enumerate(y))
                for y in outputs
            ]
            for x in range(d)
        ]
    )
    sets = np.array(
        [rappor[list(held)].mean(axis=0) for held in itertools.combinations(range(d), s)]
    )
    randomizer = sd.SamplingRAPPOR(d=d, s=s, eps0=eps0)
    check_all_datasets(randomizer, sets, n=3, epsilons=(0.05, 0.3), firsts=[0])


def test_arcs_of_single_items_all_datasets() -> None:
    """Wheel, three items of one each: independent arcs, by which of them the point is on."""
    randomizer = sd.Wheel(domain=3, s=1, eps0=1.5)
    p = randomizer.arc / (2**31 - 1)
    grow = math.exp(1.5)
    total = p * grow + 1.0 - p
    patterns = list(itertools.product((0, 1), repeat=3))
    base = [math.prod(p if bit else 1.0 - p for bit in pattern) for pattern in patterns]
    rows = [
        [
            mass * (grow if pattern[x] else 1.0) / total
            for mass, pattern in zip(base, patterns, strict=True)
        ]
        for x in range(3)
    ]
    rows_, total_ = whole(np.array(rows))
    bound = sd.shuffle(randomizer, n=4)
    for epsilon in (0.1, 0.4):
        truth = worst(rows_, total_, 0, 1, 4, grown(epsilon)) - Fraction(1, 2**40)
        assert bounded_by(truth, bound.delta(epsilon=epsilon, analysis="label-stealing").log_upper)


# --------------------------------------------------------------------- reports made of parts


def rr(k: int, eps0: float) -> np.ndarray:
    rows = np.ones((k, k)) + math.expm1(eps0) * np.eye(k)
    return rows / rows.sum(axis=1, keepdims=True)


def random_triples(rng: random.Random, inputs: int, count: int) -> list[tuple[int, int, int]]:
    every = list(itertools.product(range(inputs), repeat=3))
    return rng.sample([t for t in every if t[0] != t[1]], count)


PARTS = {
    "joint": (
        sd.Joint([sd.KRR(k=3, eps0=1.0), sd.Duchi(eps0=1.5)]),
        np.kron(rr(3, 1.0), rr(2, 1.5)),
    ),
    "joint of equal parts": (
        sd.Joint([sd.BinaryRR(eps0=1.0)] * 3),
        np.kron(np.kron(rr(2, 1.0), rr(2, 1.0)), rr(2, 1.0)),
    ),
    "joint within one attribute": (
        sd.Joint([sd.BinaryRR(eps0=1.0)] * 2, hamming=1),
        np.kron(rr(2, 1.0), rr(2, 1.0)),
    ),
    "parallel": (
        sd.Parallel([sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=2.0)], weights=[0.25, 0.75]),
        np.array(
            [
                [*(0.25 * rr(3, 1.0)[i]), *(0.75 * rr(2, 2.0)[j])]
                for i, j in itertools.product(range(3), range(2))
            ]
        ),
    ),
    "hierarchy": (
        sd.Hierarchy(domain=4, eps0=1.5, branching=2, base="k-rr"),
        np.array([[*(0.5 * rr(2, 1.5)[x // 2]), *(0.5 * rr(4, 1.5)[x])] for x in range(4)]),
    ),
    "subsampled joint": (
        sd.PoissonSubsample(sd.Joint([sd.BinaryRR(eps0=1.0)] * 2), rate=0.5),
        np.column_stack([0.5 * np.kron(rr(2, 1.0), rr(2, 1.0)), np.full(4, 0.5)]),
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_labels_of_parts_dominate_all_triples(name: str) -> None:
    randomizer, matrix = PARTS[name]
    labels = labels_of(randomizer)
    triples = random_triples(random.Random(8), len(matrix), 20)
    if getattr(randomizer, "hamming", None) == 1:
        # Of two bits: 0 and 3, and 1 and 2, differ in both.
        triples = [(x0, x1, x) for x0, x1, x in triples if x0 + x1 != 3]
    for triple in triples:
        for a in (1.02, 1.7):
            assert shortfall(matrix[list(triple)], labels, a) < 1e-9


@pytest.mark.many(2)
@pytest.mark.parametrize("name", PARTS)
def test_parts_all_datasets(name: str) -> None:
    randomizer, matrix = PARTS[name]
    # By symmetry any first input will do: Duchi's bit has two ends that mirror each other.
    within = getattr(randomizer, "hamming", None) == 1
    check_all_datasets(
        randomizer, matrix, n=3, epsilons=(0.1, 0.4), firsts=[0], apart=3 if within else None
    )


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


def test_parts_that_are_not_settled() -> None:
    for randomizer in (
        sd.Joint([sd.KRR(k=3, eps0=1.0), sd.HadamardResponse(domain=5, eps0=1.0)]),
        sd.Parallel([sd.DiscreteLaplace(top=4, eps0=1.0), sd.Duchi(eps0=1.0)], weights=[0.5, 0.5]),
    ):
        with pytest.raises(sd.NotCertified, match="not settled"):
            sd.shuffle(randomizer, n=100).epsilon(delta=1e-6, analysis="label-stealing")


def test_clamped_laplace_is_laplace() -> None:
    first = sd.shuffle(sd.ClampedLaplace(eps0=2.0, margin=0.1), n=5_000).epsilon(delta=1e-6)
    second = sd.shuffle(sd.Laplace(eps0=2.0), n=5_000).epsilon(delta=1e-6)
    assert first.upper == second.upper


def test_larger_sets_keep_the_blanket() -> None:
    for randomizer in (
        sd.SamplingRAPPOR(d=40, s=7, eps0=1.0),
        sd.Wheel(domain=20, s=2, eps0=1.0),
        sd.PoissonSubsample(sd.DiscreteLaplace(top=5, eps0=1.0), rate=0.5),
        sd.PoissonSubsample(sd.Laplace(eps0=1.0), rate=0.5),
    ):
        with pytest.raises(sd.NotCertified, match="not settled"):
            sd.shuffle(randomizer, n=100).epsilon(delta=1e-6, analysis="label-stealing")
