"""Laws at random over many magnitudes: the kernel's ends against the oracles of ``laws``.

Ratios up to e^30, masses down to 1e-250, n from 1 to 1e15, messages outside the left-over from
1e-12 to all of them, eps next to the last one at which delta is positive, cells and merged atoms.
The long runs draw fresh laws: SEED=... in the environment moves them.
"""

import math
import os
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from divergence.laws import Case, contour_truth, counted_truth, pair_of, random_case, split
from divergence.oracle import ball, positive_part_on_lattice
from shuffledp.divergence import PairProfile
from shuffledp.divergence.gain import atom_gains
from shuffledp.divergence.positive_part import expected_positive_part
from shuffledp.divergence.tilt import find_tilt, log_moment
from shuffledp.numerics.merging import as_cells, merged_to
from shuffledp.pair import RatioRanges, ShuffledPair

U = 2.0**-53
SHIFT = int(os.environ.get("SEED", "0"))
WIDTHS = (3e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
ERRORS = (2 * U, 2 * U, 1e-13, 1e-9, 1e-6)


@pytest.fixture(autouse=True)
def _no_check_of_sums(monkeypatch):
    """Laws moved by more than 1e-9 no longer sum to one; the kernel's promise is wider."""
    monkeypatch.setattr(ShuffledPair, "__post_init__", lambda self: None)


def assert_around(found, low, high):
    """A certified bracket and the truth's own bracket share a point."""
    assert not math.isnan(found.low)
    assert not math.isnan(found.high)
    assert found.low <= found.high
    if found.low > -math.inf:
        assert high > 0
        assert ball(found.low) <= high.log()
    if low > 0:
        assert found.high > -math.inf
        assert ball(found.high) >= low.log()


def check(rng, case, truth, widths):
    """The profile, and the contour by itself, now and then at another tilt."""
    width = rng.choice(widths)
    law = atom_gains(case.pair, case.epsilon)
    if law.low < 0.0 < law.high and float(law.g.max()) > 0.0:
        tilt = find_tilt(law, case.n)
        if rng.random() < 0.2 and not tilt.rare:
            alpha = tilt.alpha * math.exp(rng.uniform(-1, 1))
            log_m, _ = log_moment(law, alpha)
            tilt = replace(tilt, alpha=alpha, log_m=log_m, log_scale=case.n * log_m)
        assert_around(expected_positive_part(law, case.n, tilt, width=width)[0], *truth)
    assert_around(PairProfile(case.pair)._positive_part(case.epsilon, width), *truth)


def few(rng):
    """All count vectors."""
    atoms = rng.choice([1, 2, 2, 3, 3, 4])
    n = rng.choice([1, 2, 3, 5, 8, 13, 20, 30, 60] if atoms < 3 else [1, 2, 3, 5, 7])
    case = random_case(
        rng,
        atoms=atoms,
        n=n,
        gamma=rng.choice([1, 1, 0.5, 0.1, 1e-4, 1e-100]),
        decades=rng.choice([0, 1, 3, 10, 50, 120]),
        reach=rng.choice([1e-12, 1e-6, 1e-2, 0.3, 1, 3, 10, 30]),
        rel=rng.choice((*ERRORS, 1e-3)),
        outside=rng.choice([0, 0, 0.3, 1e-6]),
    )
    return case, counted_truth(case.atoms, n, case.epsilon)


def rare(rng):
    """Up to 1e15 messages, nearly all of them left over."""
    atoms = rng.choice([1, 2, 2, 3])
    n = 10 ** rng.randint(2, 15)
    case = random_case(
        rng,
        atoms=atoms,
        n=n,
        gamma=10.0 ** rng.uniform(-12, 0.0) / n,
        decades=rng.choice([0, 1, 3, 20]),
        reach=rng.choice([1e-6, 1e-2, 0.3, 1, 3, 10, 20]),
        rel=rng.choice(ERRORS),
    )
    return case, counted_truth(case.atoms, n, case.epsilon, most=16 if atoms < 3 else 12)


def last(rng):
    """eps next to where delta ends: gains that are no more than rounding."""
    case, _ = (few if rng.random() < 0.5 else rare)(rng)
    tops = [float(a / b) for _, a, b in case.atoms if a and b]
    top = math.log(max([*tops, 1.0]))
    epsilon = top * (1.0 - 10.0 ** -rng.uniform(0, 17))
    if rng.random() < 0.3:
        epsilon = max(math.nextafter(top, rng.choice([0.0, 1e9])), 0.0)
    case = Case(case.pair, case.atoms, epsilon)
    most = None if case.n <= 60 else 12
    return case, counted_truth(case.atoms, case.n, epsilon, most=most)


def lattice(rng):
    """G on a lattice (eps = 0): powers of a polynomial."""
    atoms = rng.choice([2, 3, 5, 20, 100])
    n = rng.choice([20, 50, 100] if atoms < 20 else [5, 12])
    unit = 1 << 41
    w = [Fraction(int(x * unit) // 2 + 1, unit) for x in split(rng, atoms, rng.choice([0, 1, 3]))]
    most = rng.choice([4, 40, 400])
    a = [Fraction(rng.randint(0, most), 8) for _ in w]
    b = [Fraction(rng.randint(0, most), 8) for _ in w]
    total = max(sum(x * y for x, y in zip(w, r, strict=True)) for r in (a, b))
    shrink = 1
    while total > shrink:
        shrink *= 2
    true = [(p, x / shrink, y / shrink) for p, x, y in zip(w, a, b, strict=True)]
    case = Case(pair_of(true, n), true, 0.0)
    exact = ball(positive_part_on_lattice([(p, x - y) for p, x, y in true], n))
    return case, (exact, exact)


def many(rng, *, smallest=3.0, counts=(2, 3, 5, 10, 40)):
    """n up to 1e15 and no rare event: the contour in balls."""
    atoms = rng.choice(counts)
    n = int(10 ** rng.uniform(smallest, 15))
    case = random_case(
        rng,
        atoms=atoms,
        n=n,
        gamma=rng.choice([1, 0.5, 0.1, 1e-3]),
        decades=rng.choice([0, 1, 3]),
        reach=rng.choice([1e-6, 1e-2, 0.3, 1, 3]),
        rel=rng.choice([2 * U, 2 * U, 1e-13]),
        epsilon=0.0,
    )
    spread = math.sqrt(float(sum(w * (a - b) ** 2 for w, a, b in case.atoms)) / n)
    case = Case(case.pair, case.atoms, min(10 ** rng.uniform(-1, 1.5) * spread, 30.0))
    return case, contour_truth(case.atoms, n, case.epsilon)


KINDS = {"few": few, "rare": rare, "last": last, "lattice": lattice, "many": many}


def run(kind, seed, widths=WIDTHS):
    rng = random.Random(f"{kind} {seed}")
    try:
        case, truth = KINDS[kind](rng)
    except ArithmeticError:
        return False
    if truth is not None:
        check(rng, case, truth, widths)
    return truth is not None


@pytest.mark.many(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", range(2))
def test_random_laws(kind, batch):
    assert sum(run(kind, 10 * batch + i, WIDTHS[:3]) for i in range(8)) >= 2


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", range(100))
def test_many_more_random_laws(kind, batch):
    for i in range(20):
        run(kind, 10**6 * (SHIFT + 1) + 20 * batch + i)


# ------------------------------------------------------------------------- cells of such atoms


def in_cells(rng, case, per):
    """Neighbouring atoms in one cell each, now and then an end of them in the tail."""
    key = (lambda t: t[1] / t[2] if t[2] else 10**400) if rng.random() < 0.8 else (lambda t: 0)
    atoms, cells = sorted(case.atoms, key=key), []
    while atoms:
        size = rng.randint(1, per)
        cells.append(atoms[:size])
        atoms = atoms[size:]
    tail = [Fraction(0), Fraction(0)]
    if len(cells) > 2 and rng.random() < 0.3:
        gone = cells.pop(rng.choice([0, -1]))
        tail = [sum(t[0] * t[i] for t in gone) for i in (1, 2)]
    true = []
    for cell in cells:
        w = sum(t[0] for t in cell)
        true.append((w, *(sum(t[0] * t[i] for t in cell) / w for i in (1, 2))))
    ends = [
        np.array([float(pick(t[i] for t in cell)) * (1.0 + sign * 4 * U) for cell in cells])
        for i in (1, 2)
        for pick, sign in ((min, -1), (max, 1))
    ]
    pair = pair_of(true, case.n, outside=case.pair.outside, rel=4 * U)
    ends = [
        pick(end, ratio)
        for end, pick, ratio in zip(
            ends, (np.minimum, np.maximum) * 2, (pair.a, pair.a, pair.b, pair.b), strict=True
        )
    ]
    lost = tuple(float(x) * (1.0 + 4 * U) for x in tail)
    for name, value in (
        ("ranges", RatioRanges(*ends)),
        ("tail", lost),
        ("tail_doubt", tuple(1e-12 * x for x in lost)),
        ("leftover", case.pair.leftover),
    ):
        object.__setattr__(pair, name, value)
    return pair


def merged(rng, case):
    """Atoms merged into cells that carry their moments."""
    most = max(2, int(len(case.atoms) * rng.uniform(0.2, 0.9)))
    return as_cells(case.pair if rng.random() < 0.3 else merged_to(case.pair, most))


def run_cells(kind, seed):
    rng = random.Random(f"cells {kind} {seed}")
    if kind.startswith("many"):
        case, truth = many(rng, smallest=1.5, counts=(5, 10, 40, 150))
    else:
        case = random_case(
            rng,
            atoms=rng.choice([4, 6]),
            n=rng.choice([1, 2, 3, 5]),
            gamma=rng.choice([1, 0.5, 0.1, 1e-3]),
            decades=rng.choice([0, 1, 3]),
            reach=rng.choice([1e-6, 1e-2, 0.3, 1, 3, 10]),
        )
        truth = counted_truth(case.atoms, case.n, case.epsilon)
    if truth is None:
        return False
    pair = merged(rng, case) if kind.endswith("merged") else in_cells(rng, case, 3)
    alpha = ball(case.epsilon).exp()
    lost = [ball(1 - sum(t[0] * t[i] for t in case.atoms)) for i in (1, 2)]
    seen = lost[0] - alpha * lost[1]
    seen = seen if seen > 0 else arb(0)
    found = PairProfile(pair).log_delta(case.epsilon, width=rng.choice(WIDTHS[:3]))
    assert_around(found, *(x / case.n + seen for x in truth))
    return True


CELLS = ("few cells", "few merged", "many cells", "many merged")


@pytest.mark.many(4)
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("batch", range(2))
def test_cells_of_random_laws(kind, batch):
    assert sum(run_cells(kind, 8 * batch + i) for i in range(6)) >= 1


@pytest.mark.long
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("batch", range(100))
def test_cells_of_many_more_random_laws(kind, batch):
    for i in range(10):
        run_cells(kind, 10**6 * (SHIFT + 1) + 10 * batch + i)
