"""The weakest channel of three inputs: a post-processing of every matrix in the box, exactly."""

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sd
from audit import programs
from shuffledp.audit import AuditPlan, collected, design, garble, lift
from shuffledp.audit.judge import pair_limits

ROOT = Path(__file__).resolve().parents[2]


def determinant(m):
    return sum(
        m[0][i] * (m[1][j] * m[2][k] - m[1][k] * m[2][j])
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    )


def solved(m, right):
    """M^-1 right, by Cramer's rule in fractions."""
    total = determinant(m)
    columns = []
    for c in range(3):
        column = []
        for a in range(3):
            swapped = [[right[r][c] if k == a else m[r][k] for k in range(3)] for r in range(3)]
            column.append(determinant(swapped) / total)
        columns.append(column)
    return [[columns[c][a] for c in range(3)] for a in range(3)]


@st.composite
def boxes(draw):
    """Shares of three groups under three inputs, half-widths, and corners of the box."""
    counts = [draw(st.lists(st.integers(1, 50), min_size=3, max_size=3)) for _ in range(3)]
    for i in range(3):
        counts[i][i] += draw(st.integers(20, 200))
    center = np.array([np.array(row) / sum(row) for row in counts])
    radius = center * draw(st.floats(1e-6, 0.1))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6))
    return center, radius, signs


@given(boxes())
def test_it_is_a_post_processing_of_every_matrix_of_the_box(case):
    center, radius, signs = case
    mixed = garble.mixing(center, radius)
    if mixed is None:
        return
    weakest = [[Fraction(float(v)) for v in row] for row in center @ mixed]
    for rows in itertools.product((0, 1, 2), repeat=3):
        truth = []
        for i in range(3):
            # Two entries at an end of the box, the third makes up for them if it can.
            a, b = [j for j in range(3) if j != rows[i]]
            row = [Fraction(0)] * 3
            for j, sign in ((a, signs[2 * i]), (b, signs[2 * i + 1])):
                row[j] = Fraction(float(center[i, j])) + sign * Fraction(float(radius[i, j]))
            row[rows[i]] = 1 - row[a] - row[b]
            truth.append(row)
        inside = all(
            abs(truth[i][j] - Fraction(float(center[i, j]))) <= Fraction(float(radius[i, j]))
            for i in range(3)
            for j in range(3)
        )
        if inside:
            assert min(v for row in solved(truth, weakest) for v in row) >= 0


def test_wide_boxes_and_inputs_that_look_alike_have_none():
    center = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    assert garble.mixing(center, np.full((3, 3), 1e-3)) is not None
    assert garble.mixing(center, np.full((3, 3), 0.2)) is None
    assert garble.mixing(np.full((3, 3), 1 / 3), np.full((3, 3), 1e-6)) is None


def test_a_third_input_brings_the_bound_nearer_to_the_truth():
    claimed = sd.KRR(k=10, eps0=2.0)
    plan = AuditPlan(randomizer=claimed, reports=100_000)
    found = design(plan)
    tally = collected(plan, programs.honest(claimed), found=found)
    ((pair, channel),) = garble.boxes(plan, tally, found)
    assert pair == (0, 1)
    lower = sd.shuffle(channel, n=10_000).epsilon(delta=1e-6, analysis="dataset").lower
    truth = sd.shuffle(claimed, n=10_000).epsilon(delta=1e-6).lower
    assert 0.92 * truth < lower < truth
    # As docs/theory-audit.md says, after Theorem 5.3.
    points = pair_limits(plan, tally, found, tests=1)
    hulls = [(p.pair, lift.weakest_channel(p.points)) for p in points]
    nested, _ = lift.central_lower(hulls, n=10_000, delta=1e-6)
    shown = [f"{np.floor(v * 1000) / 1000:.3f}" for v in (nested, lower, truth)]
    text = (Path(__file__).resolve().parents[2] / "docs" / "theory-audit.md").read_text(
        encoding="utf-8"
    )
    assert "grows from {} to {}, where {} is the truth".format(*shown) in text
    # Noise on a line has no third input of its own; neighbours at a distance have no third at all.
    for mechanism in (sd.Laplace(eps0=1.0), sd.MetricLaplace(scale=0.5, distance=0.3)):
        plan = AuditPlan(randomizer=mechanism, reports=2_000)
        counted = collected(plan, programs.honest(mechanism))
        assert garble.boxes(plan, counted, design(plan)) == []
