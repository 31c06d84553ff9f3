"""Pairs that are excluded together: never one whose own bound is above the target."""

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sd
from laws import mechanism_of
from shuffledp.bounds.stealing_cases import Numbers, cases_of

N, EPS, ALPHA = 2_000, 0.3, 0.05


def channel(rng, inputs, outputs, spiky):
    rows = rng.dirichlet(np.full(outputs, spiky), size=inputs) + 1e-3
    return {"name": "channel", "matrix": [list(map(float, row / row.sum())) for row in rows]}


def numbers_for(rng, outputs, smoothing=0.01):
    share, join = (tuple(map(float, rng.uniform(0.3, 0.9, outputs))) for _ in range(2))
    return Numbers(share, join, ALPHA, smoothing / ALPHA, 0.01)


def bounds(case, free, n, epsilon, alpha):
    """(c0 + d0)^n/(2 alpha n) and the tail, from the definition; the largest of all labels."""
    grow, found = arb(epsilon).exp(), arb(0)
    rows = zip(case.blanket, case.first, case.second, free.share, free.join, strict=True)
    outputs = [(share * b, p - grow * q, arb(s)) for b, p, q, share, s in rows]
    hidden = sum((beta for beta, _, _ in outputs), arb(0))
    lost = sum(((1 - s) * max(g, arb(0)) for _, g, s in outputs), arb(0))
    c0 = sum((beta * (alpha * s * g / beta).exp() for beta, g, s in outputs), arb(0))
    for label in case.labels:
        left = [r - beta for r, (beta, _, _) in zip(label.other, outputs, strict=True)]
        pairs = zip(left, outputs, strict=True)
        d0 = sum((t * (alpha * (1 - s) * g / t).exp() for t, (_, g, s) in pairs), arb(0))
        found = found.max((c0 + d0) ** n / (2 * alpha * n) + lost * (1 - hidden) ** (n - 1))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_none_is_excluded_whose_own_bound_is_larger(seed):
    rng = np.random.default_rng(seed)
    outputs = 5
    mechanism = channel(rng, 4, outputs, spiky=0.3 if seed % 2 else 3.0)
    free = numbers_for(rng, outputs)
    excluded = 0
    with ctx.workprec(128):
        cases = cases_of(mechanism_of(mechanism), -40.0)
        # Any tilt would do; the one that is used is 1.2 times that of the numbers.
        own = [bounds(case, free, N, EPS, arb(1.2) * ALPHA) for case in cases]
        for target in [factor * value for value in own for factor in (0.999, 1.02, 1.5, 4.0)]:
            met = cases.surely_met(free, N, EPS, target)
            excluded += len(met)
            assert all(own[i] <= target for i in met)
    assert excluded > 0


@pytest.mark.parametrize(
    "size",
    [
        30,  # more pairs have numbers of their own than start from silent outputs
        64,  # the first pair's own numbers would hide in outputs that no other pair can share
    ],
)
def test_pairs_of_many_inputs_are_bounded_together(size):
    rng = np.random.default_rng(2)
    counts = 1 + rng.multinomial(4096 - size, rng.dirichlet(np.ones(size), size=size))
    rows = tuple(tuple(float(x) for x in row) for row in counts / 4096.0)
    bound = sd.shuffle(sd.Channel(matrix=rows), n=10**5).epsilon(delta=1e-6)
    assert 0.0 < bound.lower <= bound.upper < bound.lower * 1.001
    assert bound.upper_theorem.ids[0] == "label-stealing"
