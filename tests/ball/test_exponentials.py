"""Sums of exponentials made by products of matrices, against each of them alone."""

import math
import random

import pytest
from flint import acb, arb, ctx

from shuffledp.ball import exponentials
from shuffledp.ball.exponentials import Transform, squared_moduli


def measure(atoms, seed):
    rng = random.Random(seed)
    # Floats, which balls hold exactly.
    weights = [arb(rng.random() * math.exp(-30 * rng.random())) for _ in range(atoms)]
    gains = [arb(rng.gauss(0.0, 1.0)) for _ in range(atoms)]
    return weights, gains


def alone(weights, gains, t):
    pairs = zip(weights, gains, strict=True)
    return sum((w * (acb(0, t) * g).exp() for w, g in pairs), acb(0))


@pytest.mark.parametrize("starts", [[0], [5, 40, 1000]])
@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_the_transform_at_their_nodes(starts, turned):
    weights, gains = measure(7, 1)
    if turned:
        # Gains off the real line, as of a path around a singularity.
        gains = [acb(g, arb(k / 64)) for k, g in enumerate(gains)]
    step = arb(0.043)
    with ctx.workprec(128):
        rows = Transform(weights, gains, step, 20).rows(starts)
    for i, start in enumerate(starts):
        for j in range(20):
            with ctx.workprec(300):
                exact = alone(weights, gains, step * (start + j))
            assert rows[i, j].overlaps(exact)
            assert rows[i, j].rad() < 1e-28


@pytest.mark.parametrize("count", [1, 5, 20, 63, 64])
def test_rows_that_follow_each_other_are_as_precise_as_others(count):
    weights, gains = measure(4, 2)
    step = arb(0.037)
    # Up to 150 in a row, with a gap.
    starts = [count * k for k in range(150)] + [200 * count + 1 + count * k for k in range(3)]
    with ctx.workprec(128):
        rows = Transform(weights, gains, step, count).rows(starts)
    worst = 0.0
    for i, start in enumerate(starts):
        for j in {0, count // 2, count - 1}:
            with ctx.workprec(300):
                exact = alone(weights, gains, step * (start + j))
            assert rows[i, j].overlaps(exact)
            worst = max(worst, float(rows[i, j].rad()))
    # Of 128 bits fewer than 40 are lost, whatever the row.
    assert worst < 2.0**-88


@pytest.mark.parametrize("nodes", [0, 1, 3, 62, 63, 64, 500, 5000])
@pytest.mark.parametrize("kept", [1 << 18, 30, 1])
def test_squares_at_every_node_whatever_is_kept_at_a_time(monkeypatch, nodes, kept):
    monkeypatch.setattr(exponentials, "_KEPT", kept)
    weights, gains = measure(5, nodes)
    step = arb(0.11)
    with ctx.workprec(200):
        found = list(squared_moduli(weights, gains, step, nodes))
    assert len(found) == nodes + 1
    for j in {0, 1, nodes // 2, nodes - 1, nodes} & set(range(nodes + 1)):
        with ctx.workprec(300):
            phi = alone(weights, gains, step * j)
            exact = phi.real * phi.real + phi.imag * phi.imag
        assert found[j].overlaps(exact)
        assert found[j].rad() < 1e-30


def test_precision_that_changes_between_questions_changes_nothing():
    weights, gains = measure(5, 3)
    plain = [str(x) for x in squared_moduli(weights, gains, arb(0.11), 300)]
    asked = squared_moduli(weights, gains, arb(0.11), 300)
    mixed, before = [], ctx.prec
    for j in range(301):
        with ctx.workprec(20 + 7 * (j % 50)):
            one = next(asked)
            assert ctx.prec == 20 + 7 * (j % 50)
        mixed.append(str(one))
    assert mixed == plain
    assert ctx.prec == before
    assert next(asked, None) is None
