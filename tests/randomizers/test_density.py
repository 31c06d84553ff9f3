"""A density given as a function: ratios, the reference of the blanket, and bounds."""

import itertools

import pytest
from flint import arb
from scipy import stats

import shuffledp as sd
from shuffledp.arithmetic.balls import arb_series, ctx
from shuffledp.ball.given import tabulate
from shuffledp.functions import absolute, exp, maximum, where
from shuffledp.laws import pairs
from shuffledp.propose.profile import Profile

INPUTS = (0.0, 0.5, 1.0)


def laplace(y, x):
    return exp(-4.0 * absolute(y - x))


def normal(y, x):
    return exp(-8.0 * (y - x) * (y - x))


def triangle(y, x):
    return maximum(0.0, 1.0 - absolute(y - x))


def steps(y, x):
    return where(0.3 - absolute(y - x), 2.5, 1.0)


def skewed(y, x):
    """Gumbel noise whose scale depends on the input, times a wave: neither monotone nor a shift."""
    z = (y - x) * (1.0 + x / 2.0)
    return exp(-z - exp(-z)) * (1.5 + (3.0 * y).sin())


MADE = {
    "laplace": (laplace, (-2.0, 3.0)),
    "normal": (normal, (-1.5, 2.0)),
    "triangle": (triangle, (-1.0, 2.0)),
    "steps": (steps, (-1.0, 2.0)),
}


def density(name, **more):
    function, outputs = MADE[name]
    return sd.Density(pdf=function, outputs=outputs, **more)


@pytest.mark.many(2)
@pytest.mark.parametrize("name", [*MADE, "skewed"])
def test_ratios_inside_cells(name):
    """At points inside: each ratio is in its range; the ranges are narrow where there is mass."""
    function, outputs = MADE.get(name, (skewed, (-2.0, 8.0)))
    with ctx.workprec(128):
        table = tabulate(function, INPUTS, outputs)
    seen = 0
    with ctx.workprec(200):
        for piece in table.pieces[:: max(1, len(table.pieces) // 60)]:
            for part, (i, j) in itertools.product((0.001, 0.4, 0.999), ((0, 1), (0, 2), (2, 1))):
                y = arb(piece.left + part * (piece.right - piece.left))
                values = [function(arb_series([y], prec=1), arb(INPUTS[k])) for k in (i, j)]
                p, q = (v[0] if isinstance(v, arb_series) else arb(v) for v in values)
                low, high = piece.ratio(i, j)
                if q > 0:
                    assert low <= p / q + arb(10) ** -30
                    assert p / q <= high + arb(10) ** -30
                if low > 0 and table.mass(piece, j) > 1e-3:
                    assert (high / low).log() < 0.05
                    seen += 1
    assert seen > 20


def test_the_reference_of_the_blanket_is_below_every_density():
    randomizer = density("normal")
    with ctx.workprec(128):
        cells = randomizer.cells((0.0, 1.0)).cells
        table = randomizer.table(128)
        assert len(cells) == len(table.pieces)
        for cell, piece in zip(cells, table.pieces, strict=True):
            for i in range(3):
                assert not cell.mass > table.mass(piece, i)
        mass = sum((cell.mass for cell in cells), arb(0))
    # int min_x f(y - x) is twice the tail of normal noise of deviation 1/4 beyond 1/2.
    assert float(mass) == pytest.approx(2.0 * stats.norm.sf(2.0), rel=1e-3)


@pytest.mark.many(2)
@pytest.mark.parametrize("n", [2, 3, 10_000])
def test_bounds_are_those_of_laplace_noise(n):
    """With outputs so wide that hardly any noise is beyond."""
    own = sd.Density(pdf=laplace, outputs=(-8.0, 9.0), points=2)
    known = sd.Laplace(eps0=4.0, binary=True)
    for epsilon in (0.05, 0.5, 3.0):
        for make, inputs in (
            (pairs.blanket_pair, (0.0, 1.0)),
            (pairs.dataset_pair, (0.0, 1.0, 1.0)),
        ):
            one, two = (Profile(make(r, *inputs, n=n)).log_delta(epsilon) for r in (own, known))
            assert one.low <= two.high + 1e-9
            assert two.low <= one.high + 1e-9
            assert one.width < 0.2 or one.high < -30.0
