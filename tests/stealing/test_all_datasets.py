"""The label-stealing bound against exhaustive enumeration, at any choice of its free numbers."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shuffledp as sd
from laws import mechanism_of, others_of
from shuffledp.arithmetic.balls import ctx
from shuffledp.bounds.stealing import Numbers, log_delta
from shuffledp.bounds.stealing_cases import Case, cases_of
from shuffledp.bounds.stealing_ends import Stealing, numbers_of
from stealing.channels import TOTAL, bounded_by, random_rows, whole
from stealing.exact import Rows, grown, worst

BITS = 96


def bound(case: Case, numbers: Numbers, n: int, epsilon: float) -> float:
    """log delta of one pair."""
    with ctx.workprec(BITS):
        return log_delta([case], [numbers], n, epsilon)


def cases(mechanism: sd.Randomizer | dict[str, Any]) -> list[Case]:
    with ctx.workprec(BITS):
        return cases_of(mechanism_of(mechanism), -40.0)


def any_numbers(rng: random.Random, case: Case) -> Numbers:
    """Shares and contours that are sensible, or absurd."""
    count = 1 if case.parts is None else max(case.parts) + 1
    most = rng.choice([0.05, 0.3, 1.0])
    ends = [0.0, 1.0]

    def row() -> tuple[float, ...]:
        return tuple(
            rng.choice(ends) if rng.random() < 0.1 else most * rng.random() for _ in range(count)
        )

    alpha = math.exp(rng.uniform(-4.0, 2.5))
    smoothing = math.exp(rng.uniform(-4.0, 1.0)) / alpha
    # Steps that are far too long as well; not so many nodes that it would take seconds.
    step = max(math.exp(rng.uniform(-3.0, 2.0)) * alpha, 4.2 / smoothing / 500)
    ceiling = rng.uniform(0.0, 5.0) if case.unbounded and rng.random() < 0.7 else None
    return Numbers(row(), row(), alpha, smoothing, step, ceiling)


# ------------------------------------------------------------------------ all inputs listed


def check_channel(rng: random.Random, settings: int) -> int:
    """One random channel: some pairs, all data sets, numbers at random and proposed ones."""
    inputs, outputs = rng.randint(2, 4), rng.randint(2, 4)
    n = rng.randint(2, 6 if inputs + outputs < 7 else 4)
    rows = random_rows(rng, inputs, outputs, zeros=rng.random() < 0.4)
    table = {"name": "channel", "matrix": [[p / TOTAL for p in row] for row in rows]}
    pairs = list(itertools.permutations(range(inputs), 2))
    chosen = rng.sample(range(len(pairs)), min(2, len(pairs)))
    epsilon, every = math.exp(rng.uniform(-4.0, 0.7)), cases(table)
    proposed = Stealing(mechanism_of(table), n).searched(epsilon)[1] if rng.random() < 0.3 else []
    for i in chosen:
        truth = worst(rows, TOTAL, *pairs[i], n, grown(epsilon))
        for _ in range(settings):
            numbers = any_numbers(rng, every[i])
            assert bounded_by(truth, bound(every[i], numbers, n, epsilon)), (rows, n, epsilon)
        if proposed:
            numbers = numbers_of(proposed[i])
            assert bounded_by(truth, bound(every[i], numbers, n, epsilon)), (rows, n, epsilon)
    return len(chosen)


def test_random_channels() -> None:
    rng = random.Random(1)
    assert sum(check_channel(rng, 1) for _ in range(50)) >= 100


@pytest.mark.long
def test_many_random_channels() -> None:
    rng = random.Random(2)
    for _ in range(500):
        check_channel(rng, 4)


def test_laws_that_share_no_output_leave_no_reservoir() -> None:
    """Inputs that are told apart: nothing is common, and the bound is the trivial one."""
    rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    case = cases({"name": "channel", "matrix": rows})[0]
    numbers = Numbers((0.5,) * 3, (0.5,) * 3, 1.0, 1.0, 0.5)
    assert 0.0 <= bound(case, numbers, 3, 0.1) < 1e-12


# ------------------------------------------------- labels that stand for others: by definition


def rappor(d: int, eps0: float) -> np.ndarray:
    """Every bit flipped with probability 1/(1 + e^(eps0/2))."""
    keep = 1.0 / (1.0 + math.exp(-0.5 * eps0))
    outputs = list(itertools.product((0, 1), repeat=d))
    return np.array(
        [
            [
                math.prod(keep if bit == (j == x) else 1.0 - keep for j, bit in enumerate(bits))
                for bits in outputs
            ]
            for x in range(d)
        ]
    )


def k_rr(k: int, eps0: float) -> np.ndarray:
    rows = np.ones((k, k)) + np.expm1(eps0) * np.eye(k)
    return rows / rows.sum(axis=1, keepdims=True)


def subsets(d: int, k: int, eps0: float) -> np.ndarray:
    """A subset of k items, e^eps0 times as likely if it has the own one."""
    chosen = list(itertools.combinations(range(d), k))
    rows = np.array([[math.exp(eps0) if x in one else 1.0 for one in chosen] for x in range(d)])
    return rows / rows.sum(axis=1, keepdims=True)


def bits(eps0: float, places: Sequence[float]) -> np.ndarray:
    """Duchi's bit: its probability goes from 1/(e^eps0 + 1) to e^eps0/(e^eps0 + 1)."""
    low = 1.0 / (math.exp(eps0) + 1.0)
    ones = [low + (1.0 - 2.0 * low) * x for x in places]
    return np.array([[p, 1.0 - p] for p in ones])


def geometric(top: int, eps0: float) -> np.ndarray:
    """Two-sided geometric noise, clamped: finitely many outputs, nothing lost by it."""
    a = math.exp(-eps0 / top)
    rows = np.array([[a ** abs(y - x) for y in range(top + 1)] for x in range(top + 1)])
    rows *= (1.0 - a) / (1.0 + a)
    for x in range(top + 1):
        rows[x, 0], rows[x, top] = a**x / (1.0 + a), a ** (top - x) / (1.0 + a)
    return rows


def normal(top: int, sigma: float) -> np.ndarray:
    """Discrete normal noise; what lies beyond twelve deviations is 1e-32 of it."""
    places = range(-math.ceil(12 * sigma), top + math.ceil(12 * sigma) + 1)
    rows = np.array(
        [[math.exp(-0.5 * ((y - x) / sigma) ** 2) for y in places] for x in range(top + 1)]
    )
    return rows / rows.sum(axis=1, keepdims=True)


def beside(rate: float, rows: np.ndarray) -> np.ndarray:
    """A report, or a constant message."""
    return np.column_stack([rate * rows, np.full(len(rows), 1.0 - rate)])


def signed_keys(keys: int, s: int, eps0: float) -> np.ndarray:
    """PCKV-GRR of users with s keys and signs: symbols they hold are e^eps0 times as likely."""
    symbols = list(itertools.product(range(keys), (1, -1)))
    held = [
        set(zip(some, signs, strict=True))
        for some in itertools.combinations(range(keys), s)
        for signs in itertools.product((1, -1), repeat=s)
    ]
    rows = np.array([[math.exp(eps0) if y in own else 1.0 for y in symbols] for own in held])
    return rows / rows.sum(axis=1, keepdims=True)


def windows(eps0: float, places: Sequence[float]) -> np.ndarray:
    """Wang's piecewise mechanism, outputs in the cells between all windows' ends."""
    w = math.exp(eps0 / 2)
    starts = [(x + 1.0) / 2.0 * w for x in places]
    ends = sorted({0.0, w + 1.0, *starts, *(s + 1.0 for s in starts)})
    rows = [
        [
            (b - a) * (w / (w + 1.0) if s <= 0.5 * (a + b) <= s + 1.0 else 1.0 / (w + 1.0) / w)
            for a, b in itertools.pairwise(ends)
        ]
        for s in starts
    ]
    return np.array(rows)


def both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Two reports in one, of records of two values."""
    return np.array([np.outer(a, b).ravel() for a in first for b in second])


Setting = tuple[sd.Randomizer, Callable[[], np.ndarray]]
PLACES = (-1.0, -0.4, 0.3, 1.0)
KINDS: dict[str, Setting] = {
    "alike: k-rr": (sd.KRR(k=4, eps0=1.5), lambda: k_rr(4, 1.5)),
    "alike: rappor": (sd.RAPPOR(d=4, eps0=2.0), lambda: rappor(4, 2.0)),
    "alike: subset": (sd.SubsetSelection(d=5, k=2, eps0=2.0), lambda: subsets(5, 2, 2.0)),
    "alike: sampled": (
        sd.PoissonSubsample(sd.RAPPOR(d=4, eps0=2.0), rate=0.5),
        lambda: beside(0.5, rappor(4, 2.0)),
    ),
    "mixed: duchi": (sd.Duchi(eps0=1.5), lambda: bits(1.5, (0.0, 0.3, 0.6, 1.0))),
    "corners: piecewise": (sd.Piecewise(eps0=1.5), lambda: windows(1.5, PLACES)),
    "corners: pckv": (sd.PCKVGRR(domain=2, s=1, eps0=1.5), lambda: signed_keys(2, 1, 1.5)),
    "shifts: geometric": (sd.DiscreteLaplace(top=3, eps0=2.0), lambda: geometric(3, 2.0)),
    "shifts: normal": (sd.DiscreteGaussian(top=1, sigma=0.6), lambda: normal(1, 0.6)),
    "parts: joint": (
        sd.Joint([sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.7)]),
        lambda: both(k_rr(3, 1.0), k_rr(2, 0.7)),
    ),
    "parts: sampled joint": (
        sd.PoissonSubsample(sd.Joint([sd.BinaryRR(eps0=1.0)] * 2), rate=0.5),
        lambda: beside(0.5, both(k_rr(2, 1.0), k_rr(2, 1.0))),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_labels_is_above_all_data_sets_of_its_definition(kind: str) -> None:
    mechanism, definition = KINDS[kind]
    rows, total = whole(definition())
    found = others_of(mechanism.to_dict())
    assert found is not None
    assert found.how == kind.split(":", maxsplit=1)[0] or "sampled" in kind
    ((case),) = cases(mechanism)
    rng = random.Random(kind)
    n = 3 if len(rows) < 7 and len(rows[0]) < 30 else 2
    for epsilon in (0.05, 0.4):
        # Entries were rounded by 2^-60: that much of the exact value may be theirs.
        truth = largest(rows, total, n, epsilon) - Fraction(1, 2**50)
        for _ in range(12):
            assert bounded_by(truth, bound(case, any_numbers(rng, case), n, epsilon))
        plans = Stealing(mechanism, n).searched(epsilon)[1]
        assert bounded_by(truth, bound(case, numbers_of(plans[0]), n, epsilon))


def largest(rows: Rows, total: int, n: int, epsilon: float) -> Fraction:
    """Of all pairs and all data sets."""
    pairs = itertools.permutations(range(len(rows)), 2)
    return max(worst(rows, total, x0, x1, n, grown(epsilon)) for x0, x1 in pairs)


def test_third_inputs_that_differ() -> None:
    """With s tuned to the third input the bound is false: two others that hold 2 and 3."""
    rows, total = whole(rappor(4, 3.0))
    ((case),) = cases(sd.RAPPOR(d=4, eps0=3.0))
    assert case.parts is not None
    # Outputs that x0 and x1 send alike have one number, whatever the third input sends.
    alike = dict[int, set[tuple[str, str]]]()
    for part, b, p, q in zip(case.parts, case.blanket, case.first, case.second, strict=True):
        alike.setdefault(part, set()).add((f"{float(p / b):.9g}", f"{float(q / b):.9g}"))
    assert all(len(ratios) == 1 for ratios in alike.values())
    assert len(case.parts) > len(alike)
    truth = worst(rows, total, 0, 1, 3, grown(0.1))
    rng = random.Random(5)
    assert all(bounded_by(truth, bound(case, any_numbers(rng, case), 3, 0.1)) for _ in range(40))


# ---------------------------------------------------------------------------- the whole family


def check_family(rng: random.Random) -> None:
    """The bound for all eps0-LDP mechanisms, of a random one."""
    inputs = rng.randint(2, 3)
    rows = random_rows(rng, inputs, rng.randint(2, 4), zeros=False)
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    eps0 = math.log(ratio) * (1.0 + 1e-12)
    if eps0 == 0.0:
        return
    n, epsilon = rng.randint(2, 5), eps0 * rng.uniform(0.01, 0.9)
    truth = largest(rows, TOTAL, n, epsilon)
    ((case),) = cases({"name": "generic", "eps0": eps0, "adaptive": False})
    for _ in range(4):
        value = bound(case, any_numbers(rng, case), n, epsilon)
        assert bounded_by(truth, value), (rows, n, epsilon)


def test_all_local_mechanisms() -> None:
    rng = random.Random(3)
    for _ in range(60):
        check_family(rng)


@pytest.mark.long
def test_all_local_mechanisms_many() -> None:
    rng = random.Random(4)
    for _ in range(500):
        check_family(rng)
