"""Runs of integers, held against the masses of every integer."""

from functools import reduce

import pytest

import shuffledp as sd
from shuffledp.arithmetic.balls import arb, ctx

MECHANISMS = [
    sd.DiscreteLaplace(top=6, eps0=2.0),
    sd.DiscreteLaplace(top=7, eps0=0.5),
    sd.DiscreteGaussian(top=5, sigma=3.0),
    sd.DiscreteGaussian(top=8, sigma=1.5),
]
EDGES = [
    [],
    [-1.2, 0.4, 3.0],
    [-4.0, -2.5, 0.0, 1.0, 2.7, 5.1, 8.0],
    [float(y) for y in range(-20, 30)],
]


def masses_of(mechanism, inputs):
    """(reference, P, Q) of every integer that may be sent: the definition, but for e^-60."""
    top, laplace = mechanism.top, isinstance(mechanism, sd.DiscreteLaplace)
    far = 1000 if laplace else 60

    def weight(k):
        if laplace:
            return (-arb(mechanism.eps0) * abs(k) / top).exp()
        return (-((arb(k) / mechanism.sigma) ** 2) / 2).exp()

    whole = sum((weight(k) for k in range(-far - top, far + top + 1)), arb(0))
    rows = {y: [weight(y - x) / whole for x in range(top + 1)] for y in range(-far, far + top + 1)}
    return [
        (
            reduce(arb.min, row) if len(inputs) == 2 else row[inputs[2]],
            *(row[x] for x in inputs[:2]),
        )
        for row in rows.values()
    ]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("edges", EDGES, ids=len)
def test_runs_hold_the_masses_of_their_integers(mechanism, edges):
    """Every cell is a run of integers: masses add up, ratios are between its corners."""
    top = mechanism.top
    with ctx.workprec(120):
        for inputs in ((0, top), (top, 0), (0, top, top // 2), (1, 0, top)):
            slack = 1 + arb(2) ** -60
            rows = masses_of(mechanism, inputs)
            cells = mechanism.line(inputs).cells(edges)
            start = 0
            for cell in cells:
                sums, end = [arb(0)] * 3, start
                while end < len(rows) and any(
                    mass * slack < whole for mass, whole in zip(sums, cell[:3], strict=True)
                ):
                    sums = [x + y for x, y in zip(sums, rows[end], strict=True)]
                    end += 1
                assert end > start
                for mass, whole in zip(sums, cell[:3], strict=True):
                    assert abs(mass / whole - 1) < arb(2) ** -59
                for reference, p, q in rows[start:end]:
                    assert cell.bottom.u < p / reference * slack
                    assert cell.bottom.v * slack > q / reference
                    assert cell.top.u * slack > p / reference
                    assert cell.top.v < q / reference * slack
                start = end
            assert sum((row[0] for row in rows[start:]), arb(0)) < arb(2) ** -60


def test_more_integers_than_classes_are_cells_of_runs():
    """The lattice is so fine that the answer is that of normal noise."""
    fine = sd.shuffle(sd.DiscreteLaplace(top=20_000, eps0=2.0), n=1000)
    smooth = sd.shuffle(sd.Laplace(eps0=2.0), n=1000)
    ours, theirs = (a.epsilon(delta=1e-5).lower for a in (fine, smooth))
    assert ours == pytest.approx(theirs, rel=1e-3)
