"""What an assumption prints of a number is that number: rounded, it would be another claim."""

import math

import pytest

import shuffledp as sd
from shuffledp._check import exact
from shuffledp.rounds import central


@pytest.mark.parametrize(
    "number", [0.1, 1.0, 0.99999996, 100_000.4, 1e6 + 1, 1e-7 / 3, 5e-324, 1e300 / 3, math.inf]
)
def test_the_printed_decimal_is_the_float(number):
    assert float(exact(number)) == number


CLOSE = 0.99999996


@pytest.mark.parametrize(
    "assumptions",
    [
        central.approximate(epsilon=CLOSE, delta=1e-6).assumptions,
        central.gaussian(sigma=CLOSE).assumptions,
        sd.SGD(
            n=100, noise=CLOSE, clip=1.0, epochs=1, batch=10, sampler="shuffle"
        ).assumptions(),
        sd.SGD(n=100, noise=CLOSE, clip=1.0, epochs=1).assumptions(),
    ],
    ids=["approximate", "gaussian", "sgd", "shuffled-sgd"],
)  # fmt: skip
def test_assumptions_print_what_was_accounted_for(assumptions):
    assert str(CLOSE) in " ".join(assumptions)
