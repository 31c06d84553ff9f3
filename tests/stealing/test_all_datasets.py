"""The label-stealing bound against exhaustive enumeration, at any choice of its free numbers."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import shuffledp as sd
from enumerated import dataset_delta, exponential
from laws import mechanism_of
from randomizers import definitions
from shuffledp.arithmetic.balls import ctx
from shuffledp.bounds.stealing import Numbers, log_delta
from shuffledp.bounds.stealing_cases import Case, cases_of
from shuffledp.propose.stealing_solve import FiniteStealing, numbers_of
from stealing.channels import TOTAL, Rows, any_numbers, bounded_by, random_rows, whole

pytestmark = pytest.mark.usefixtures("rough_proposals")
BITS = 96


def worst(rows: Rows, total: int, x0: int, x1: int, n: int, epsilon: float) -> Fraction:
    """The largest divergence over all inputs of the other n - 1 users, at an a just above e^eps."""
    _, a = exponential(epsilon)
    datasets = itertools.combinations_with_replacement(range(len(rows)), n - 1)
    return max(dataset_delta(rows, x0, x1, others, a) for others in datasets) / total**n


def bound(case: Case, numbers: Numbers, n: int, epsilon: float) -> float:
    """log delta of one pair."""
    with ctx.workprec(BITS):
        return log_delta([case], [numbers], n, epsilon)


def cases(mechanism: sd.Randomizer | dict[str, Any]) -> list[Case]:
    with ctx.workprec(BITS):
        return cases_of(mechanism_of(mechanism), -40.0)


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
    proposed = (
        FiniteStealing(partial(cases_of, mechanism_of(table)), n).searched(epsilon)[1]
        if rng.random() < 0.3
        else []
    )
    for i in chosen:
        truth = worst(rows, TOTAL, *pairs[i], n, epsilon)
        for _ in range(settings):
            numbers = any_numbers(rng, every[i])
            assert bounded_by(truth, bound(every[i], numbers, n, epsilon)), (rows, n, epsilon)
        if proposed:
            numbers = numbers_of(proposed[i])
            assert bounded_by(truth, bound(every[i], numbers, n, epsilon)), (rows, n, epsilon)
    return len(chosen)


def test_random_channels() -> None:
    rng = random.Random(1)
    assert sum(check_channel(rng, 1) for _ in range(8)) == 16


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


# -------------------------------------------------------- labels that stand for others


def largest(rows: Rows, total: int, n: int, epsilon: float) -> Fraction:
    """Of all pairs and all data sets."""
    pairs = itertools.permutations(range(len(rows)), 2)
    return max(worst(rows, total, x0, x1, n, epsilon) for x0, x1 in pairs)


def test_third_inputs_that_differ() -> None:
    """With s tuned to the third input the bound is false: two others that hold 2 and 3."""
    rows, total = whole(np.array(definitions.rappor(4, 3.0), dtype=float))
    ((case),) = cases(sd.RAPPOR(d=4, eps0=3.0))
    assert case.parts is not None
    # Outputs that x0 and x1 send alike have one number, whatever the third input sends.
    alike = dict[int, set[tuple[str, str]]]()
    for part, b, p, q in zip(case.parts, case.blanket, case.first, case.second, strict=True):
        alike.setdefault(part, set()).add((f"{float(p / b):.9g}", f"{float(q / b):.9g}"))
    assert all(len(ratios) == 1 for ratios in alike.values())
    assert len(case.parts) > len(alike)
    truth = worst(rows, total, 0, 1, 3, 0.1)
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
    for _ in range(20):
        check_family(rng)


@pytest.mark.long
def test_all_local_mechanisms_many() -> None:
    rng = random.Random(4)
    for _ in range(500):
        check_family(rng)
