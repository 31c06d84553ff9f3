"""The label-stealing bound against exhaustive enumeration, at any choice of its free numbers."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.randomizers import JointLaw
from shuffledp.stealing import any_local, cases_of
from shuffledp.stealing.bound import log_bound
from shuffledp.stealing.cases import FiniteCase
from shuffledp.stealing.choices import Constant, Cut, Tuned
from shuffledp.stealing.positive_sum import Contour
from stealing.exact import Rows, grown, worst

TOTAL = 24


def random_rows(rng: random.Random, inputs: int, outputs: int, *, zeros: bool) -> Rows:
    """Rows of whole numbers that sum to TOTAL."""
    rows = []
    for _ in range(inputs):
        cuts = sorted(rng.choices(range(TOTAL + 1), k=outputs - 1))
        row = [b - a for a, b in zip([0, *cuts], [*cuts, TOTAL], strict=True)]
        rows.append(row)
    if not zeros:
        rows = [[max(p, 1) for p in row] for row in rows]
        for row in rows:
            row[row.index(max(row))] -= sum(row) - TOTAL
    return rows


def law_of(rows: Rows, inputs: tuple[int, ...]) -> JointLaw:
    """The law of these inputs, each output a class."""
    table = np.array(rows, dtype=float) / TOTAL
    used = table.max(axis=0) > 0.0
    return JointLaw(table[list(inputs)][:, used], table.min(axis=0)[used])


def random_contour(rng: random.Random, top: float, n: int) -> Contour:
    """Any contour for gains up to ``top``."""
    alpha = math.exp(rng.uniform(-3.0, 1.5)) / max(top, 1e-3)
    smoothing = math.exp(rng.uniform(-4.0, 0.0)) / alpha
    step = math.exp(rng.uniform(-3.0, 1.0)) * alpha
    return Contour(alpha, smoothing, step, rng.randint(1, 400))


def bounded_by(truth: Fraction, log_value: float) -> bool:
    """Whether an exact number is at most e^log_value."""
    return truth <= 0 or log_value >= 0.0 or truth <= Fraction(math.exp(log_value))


def check_channel(rng: random.Random, settings: int) -> int:
    """One random channel: all pairs, all data sets, random free numbers."""
    inputs, outputs = rng.randint(2, 4), rng.randint(2, 4)
    n = rng.randint(2, 6 if inputs + outputs < 7 else 4)
    rows = random_rows(rng, inputs, outputs, zeros=rng.random() < 0.4)
    done = 0
    for x0 in range(inputs):
        for x1 in range(inputs):
            if x0 == x1:
                continue
            epsilon = math.exp(rng.uniform(-5.0, 0.7))
            truth = worst(rows, TOTAL, x0, x1, n, grown(epsilon))
            case = FiniteCase(law_of(rows, (x0, x1, *range(inputs))), stand_ins=False)
            for _ in range(settings):
                weights = [rng.random() * rng.choice([0, 1, 1]) for _ in range(inputs)]
                choice = Tuned(*(rng.uniform(0.0, 0.97) for _ in range(3)), tuple(weights))
                gains = case.certified_gains(epsilon, choice)
                top = max(
                    float(law.gain.max(initial=0.0)) for law in (gains.reservoir, *gains.types)
                )
                if rng.random() < 0.3:
                    ceiling = rng.uniform(0.1, 1.0) * max(top, 1e-3)
                    gains = gains._replace(
                        reservoir=gains.reservoir.cut(ceiling),
                        types=[law.cut(ceiling) for law in gains.types],
                    )
                value = log_bound(gains, n, random_contour(rng, top, n))
                assert bounded_by(truth, value), (rows, n, x0, x1, epsilon, choice)
                done += 1
    return done


def test_laws_that_share_no_output_leave_no_reservoir() -> None:
    """Inputs that are told apart: nothing is common, and the bound is the trivial one."""
    rows = [[TOTAL, 0, 0], [0, TOTAL, 0], [0, 0, TOTAL]]
    case = FiniteCase(law_of(rows, (0, 1, 0, 1, 2)), stand_ins=False)
    gains = case.certified_gains(0.1, Tuned(0.5, 0.5, 0.5, (0.3, 0.3, 0.4)))
    assert not gains.reservoir.gain.size
    value = log_bound(gains, 3, Contour(1.0, 1.0, 0.5, 10))
    assert math.exp(value) >= worst(rows, TOTAL, 0, 1, 3, grown(0.1))


def test_random_channels() -> None:
    rng = random.Random(1)
    assert sum(check_channel(rng, 3) for _ in range(40)) > 300


@pytest.mark.long
def test_many_random_channels() -> None:
    rng = random.Random(2)
    assert sum(check_channel(rng, 4) for _ in range(2500)) > 30_000


def local_rows(rng: random.Random, inputs: int, outputs: int) -> tuple[Rows, float]:
    """A channel without zeros and its local guarantee."""
    rows = random_rows(rng, inputs, outputs, zeros=False)
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    return rows, math.log(ratio) * (1.0 + 1e-12)


def check_family(rng: random.Random) -> None:
    """The bound for all eps0-LDP mechanisms, of a random one."""
    inputs = rng.randint(2, 3)
    rows, eps0 = local_rows(rng, inputs, rng.randint(2, 4))
    if eps0 == 0.0:
        return
    n = rng.randint(2, 5)
    epsilon = eps0 * rng.uniform(0.01, 0.9)
    truth = max(
        worst(rows, TOTAL, x0, x1, n, grown(epsilon))
        for x0 in range(inputs)
        for x1 in range(inputs)
        if x0 != x1
    )
    case = any_local(eps0)
    for _ in range(4):
        gains = case.certified_gains(epsilon, Constant(rng.uniform(0.01, 0.97), rng.random()))
        top = max(float(law.gain.max(initial=0.0)) for law in (gains.reservoir, *gains.types))
        value = log_bound(gains, n, random_contour(rng, top, n))
        assert bounded_by(truth, value), (rows, n, epsilon)


def test_all_local_mechanisms() -> None:
    rng = random.Random(3)
    for _ in range(60):
        check_family(rng)


@pytest.mark.long
def test_all_local_mechanisms_many() -> None:
    rng = random.Random(4)
    for _ in range(4000):
        check_family(rng)


def whole(matrix: np.ndarray) -> tuple[Rows, int]:
    """Rows of floats as whole numbers with one sum: rounded down, the rest on the first output."""
    total = 2**60
    rows = [[int(Fraction(float(p)) * total) for p in row] for row in matrix]
    for row in rows:
        row[0] += total - sum(row)
    return rows, total


def rappor(d: int, eps0: float) -> np.ndarray:
    """RAPPOR of d bits as a channel: every bit flipped with probability 1/(1 + e^(eps0/2))."""
    keep = 1.0 / (1.0 + math.exp(-0.5 * eps0))
    outputs = [[(y >> j) & 1 for j in range(d)] for y in range(2**d)]
    return np.array(
        [
            [
                math.prod(keep if bit == (j == x) else 1.0 - keep for j, bit in enumerate(bits))
                for bits in outputs
            ]
            for x in range(d)
        ]
    )


@pytest.mark.parametrize("weights", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.3, 0.3, 0.4)])
def test_third_inputs_that_differ(weights: tuple[float, ...]) -> None:
    """RAPPOR with four items: the others may hold 2 and 3 at once, s must not favour either."""
    d, n = 4, 3
    rows, total = whole(rappor(d, 2.0))
    randomizer = sd.RAPPOR(d=d, eps0=2.0)
    ((case, _),) = cases_of(randomizer, -20.0)
    rng = random.Random(5)
    for epsilon in (0.05, 0.3, 0.8):
        # Entries were rounded by 2^-60: that much of the exact value may be theirs.
        truth = worst(rows, total, 0, 1, n, grown(epsilon)) - Fraction(1, 2**50)
        for _ in range(40):
            shares = [rng.uniform(0.05, 0.97) for _ in range(3)]
            gains = case.certified_gains(epsilon, Tuned(*shares, weights))
            top = max(float(law.gain.max()) for law in (gains.reservoir, *gains.types))
            value = log_bound(gains, n, random_contour(rng, top, n))
            assert bounded_by(truth, value)


@pytest.mark.parametrize(("top", "eps0"), [(2, 1.0), (3, 2.0), (4, 3.0)])
def test_lattice_noise_all_datasets(top: int, eps0: float) -> None:
    """Discrete Laplace noise, clamped: finitely many outputs, nothing lost by it."""
    rate = math.exp(-eps0 / top)
    inner = [
        [(1 - rate) / (1 + rate) * rate ** abs(y - x) for y in range(top + 1)]
        for x in range(top + 1)
    ]
    for x, row in enumerate(inner):
        row[0], row[top] = rate**x / (1 + rate), rate ** (top - x) / (1 + rate)
    rows, total = whole(np.array(inner))
    ((case, _),) = cases_of(sd.DiscreteLaplace(top=top, eps0=eps0), -20.0)
    rng = random.Random(6)
    n = 3
    for epsilon in (0.1, 0.5):
        truth = max(
            worst(rows, total, x0, x1, n, grown(epsilon))
            for x0 in range(top + 1)
            for x1 in range(top + 1)
            if x0 != x1
        ) - Fraction(1, 2**50)
        for _ in range(40):
            choice = Cut(rng.uniform(0.02, 0.97), rng.random(), math.inf)
            gains = case.certified_gains(epsilon, choice)
            highest = max(float(law.gain.max()) for law in (gains.reservoir, *gains.types))
            value = log_bound(gains, n, random_contour(rng, highest, n))
            assert bounded_by(truth, value)
