"""The certified bound at given numbers against the theorem's right side by plain quadrature."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.bounds.stealing import Numbers, log_delta
from shuffledp.bounds.stealing_cases import Case, Label

Pairs = list[tuple[float, float]]


def row(values: Sequence[float]) -> list[arb]:
    return [arb(x) for x in values]


def law(rng: random.Random, count: int) -> list[float]:
    shares = [rng.uniform(0.2, 1.0) for _ in range(count)]
    return [x / sum(shares) for x in shares]


def split(
    masses: Sequence[tuple[float, float, float]], ceiling: float | None
) -> tuple[Pairs, float]:
    """(mass, part of g, g's own) of outputs -> (mass, gain) and what is lost."""
    atoms, lost = [], 0.0
    for mass, share, g in masses:
        if mass <= 0.0:
            lost += share * max(g, 0.0)
            continue
        gain = share * g / mass
        if ceiling is not None:
            lost += mass * max(gain - ceiling, 0.0)
            gain = min(gain, ceiling)
        atoms.append((mass, gain))
    return atoms, lost


def sums(c: Pairs, d: Pairs, n: int, free: Numbers) -> float:
    """(1/2 pi) int F w of theory-crowds.md, 3.1, of the two smoothings that the bound tries."""
    return min(sum_at(c, d, n, free.alpha, h) for h in (free.smoothing, 0.15 / free.alpha))


def sum_at(c: Pairs, d: Pairs, n: int, alpha: float, h: float) -> float:
    t = np.linspace(0.0, 7.0 / h, 200_001)
    w = np.exp(h * h * (alpha**2 - t**2) / 2) / (alpha**2 + t**2)
    weights = np.where((t == 0) | (t == t[-1]), 0.5, 1.0) * (t[1] - t[0]) / math.pi
    first, second = (abs(sum(m * np.exp((alpha + 1j * t) * x) for m, x in law)) for law in (c, d))
    led = (first[0] + first**2 / first[0]) / 2
    z = led + (second[0] + second**2 / second[0]) / 2
    return float((z ** (n - 1) * np.minimum(led, z / n) * w) @ weights)


def expected(
    case: dict[str, list[float]],
    labels: list[tuple[list[float], ...]],
    free: Numbers,
    n: int,
    eps: float,
) -> float:
    """Theorem 2.3's right side, labels (first, second, other, hidden), in floats."""
    a = math.exp(eps)
    count = len(case["blanket"])
    parts = list(range(count)) if len(free.share) > 1 else [0] * count
    g = [p - a * q for p, q in zip(case["first"], case["second"], strict=True)]
    share, join = ([values[k] for k in parts] for values in (free.share, free.join))
    masses = [(k * b, s, x) for k, b, s, x in zip(share, case["blanket"], join, g, strict=True)]
    c, lost = split(masses, free.ceiling)
    hidden = sum(m for m, _ in c)
    unhidden = sum((1 - s) * max(x, 0.0) for s, x in zip(join, g, strict=True))
    worst = 0.0
    for first, second, other, taken in labels:
        kept = list(range(len(other))) if len(free.share) > 1 else [0] * len(other)
        rows = zip(first, second, other, taken, kept, strict=True)
        masses = [(r - free.share[k] * b, 1 - free.join[k], p - a * q) for p, q, r, b, k in rows]
        d, seen = split(masses, free.ceiling)
        d.append((1 - hidden - sum(m for m, _ in d), 0.0))
        worst = max(worst, sums(c, d, n, free) + seen)
    return worst + lost + unhidden * (1 - hidden) ** (n - 1)


def bound(case: Case, free: Numbers, n: int, eps: float) -> float:
    with ctx.workprec(96):
        return math.exp(log_delta([case], [free], n, eps))


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(8))
def test_parts_have_their_own_numbers(seed: int) -> None:
    """Section 5.1: t = R_x - share B, outputs without blanket or labelled part are lost."""
    rng = random.Random(seed)
    count, n, eps = 4, rng.randint(2, 40), rng.uniform(0.05, 0.4)
    rows = [law(rng, count) for _ in range(4)]
    least = [min(column) for column in zip(*rows, strict=True)]
    least[0] = 0.0 if seed % 2 else least[0]
    share = [rng.random() for _ in range(count)]
    if seed % 3 == 0:
        rows[3][1], share[1] = least[1], 1.0
    free = Numbers(
        tuple(share), tuple(rng.random() for _ in range(count)), rng.uniform(0.2, 1.0), 0.05, 0.01
    )
    values = {"blanket": least, "first": rows[0], "second": rows[1]}
    labels = [(rows[0], rows[1], rows[j], least) for j in range(4)]
    # Rows that are all equal to some outputs' blanket leave nothing certainly positive there.
    made = [Label(*map(row, one)) for one in labels]
    case = Case(
        *(row(values[key]) for key in ("blanket", "first", "second")), made, tuple(range(count))
    )
    wanted = expected(values, labels, free, n, eps)
    # Moments may be sharper by a little, with a smoothing of their own.
    assert 0.995 * wanted <= bound(case, free, n, eps) <= wanted * (1 + 1e-4)


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(8))
def test_constants_serve_labels_of_their_own(seed: int) -> None:
    """Sections 5.2 to 5.8: labels of other outputs than the reservoir's, a ceiling, and a rest."""
    rng = random.Random(seed)
    n, eps = rng.randint(2, 40), rng.uniform(0.05, 0.4)
    first, second = law(rng, 3), law(rng, 3)
    blanket = [0.3 * min(p, q) for p, q in zip(first, second, strict=True)]
    labels = []
    for count in (2, 5):
        rows = [law(rng, count) for _ in range(3)]
        labels.append((*rows, rows[2] if seed % 2 else [0.4 * x for x in rows[2]]))
    ceiling = rng.uniform(0.05, 0.5) if seed % 2 else None
    kappa, theta = rng.uniform(0.1, 0.6), rng.uniform(0.1, 0.9)
    free = Numbers((kappa,), (theta,), rng.uniform(0.2, 1.0), 0.05, 0.01, ceiling)
    values = {"blanket": blanket, "first": first, "second": second}
    made = [Label(*map(row, one)) for one in labels]
    rows = [row(values[key]) for key in ("blanket", "first", "second")]
    case = Case(*rows, made, unbounded=ceiling is not None)
    wanted = expected(values, labels, free, n, eps)
    found = bound(case, free, n, eps)
    assert 0.995 * wanted <= found <= wanted * (1 + 1e-4)
    # Outputs that are left out: at least what is seen there is added, once hidden and once not.
    far = 0.01
    more = bound(Case(*rows, made, beyond=arb(far), unbounded=ceiling is not None), free, n, eps)
    hidden = kappa * sum(blanket)
    least = far * (theta + (1 - theta) + (1 - theta) * (1 - hidden - kappa * far) ** (n - 1))
    assert more >= found + least * (1 - 1e-9) - 1e-9
    assert more <= found * 1.2 + 2 * far


def test_the_worst_pair_and_label_count_and_what_is_enough_need_not_be_sharp() -> None:
    rng = random.Random(3)
    rows = [law(rng, 3) for _ in range(3)]
    least = [min(column) for column in zip(*rows, strict=True)]
    parts = (0, 1, 2)

    def case(x0: int, x1: int, others: Sequence[int]) -> Case:
        labels = [Label(*map(row, (rows[x0], rows[x1], rows[x], least))) for x in others]
        return Case(row(least), row(rows[x0]), row(rows[x1]), labels, parts)

    n, eps, free = 30, 0.1, Numbers((0.3,) * 3, (0.3,) * 3, 0.7, 0.1, 0.05)
    pairs = [(0, 1), (1, 0), (0, 2), (2, 1)]
    with ctx.workprec(96):
        alone = [log_delta([case(*pair, [x])], [free], n, eps) for pair in pairs for x in range(3)]
        together = log_delta([case(*pair, range(3)) for pair in pairs], [free] * 4, n, eps)
        assert together == pytest.approx(max(alone), abs=1e-9)
        for more in (1e-3, 0.5):
            every = [case(*pair, range(3)) for pair in pairs]
            assert log_delta(every, [free] * 4, n, eps, enough=together + more) == together + more
            assert log_delta(every, [free] * 4, n, eps, enough=together - more) >= together - 1e-9


def test_what_is_seen_for_sure_is_paid_in_full() -> None:
    """An output without a labelled part, one without a reservoir, and an empty reservoir."""
    n, eps, a = 50, 0.1, math.exp(0.1)
    first, second, other = [0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.0, 0.5, 0.5]
    least = [0.0, 0.2, 0.3]
    case = Case(
        row(least),
        row(first),
        row(second),
        [Label(row(first), row(second), row(other), row(least))],
        (0, 1, 2),
    )
    positive = 0.5 - a * 0.1
    for join in (0.0, 0.3, 1.0):
        # Output 0 has neither: s g_+ is lost in the reservoir, (1 - s) g_+ in the label.
        free = Numbers((0.4,) * 3, (join, 0.5, 0.5), 0.5, 0.1, 0.01)
        tail = (1 - join) * positive * (1 - 0.2) ** (n - 1)
        wanted = expected(
            {"blanket": least, "first": first, "second": second},
            [(first, second, other, least)],
            free,
            n,
            eps,
        )
        found = bound(case, free, n, eps)
        assert found >= positive + tail
        assert 0.995 * wanted <= found <= wanted * (1 + 1e-4)
    # Nobody is in the reservoir: all of g_+ is paid.
    free = Numbers((0.0,) * 3, (0.2,) * 3, 0.5, 0.1, 0.01)
    assert bound(case, free, n, eps) == pytest.approx(positive, rel=1e-9)
