"""Where a round's curve is evaluated follows estimates: bad ones make ends loose, never wrong."""

import math

import pytest

import shuffledp as sd
from shuffledp.rounds.curve import Curve

WRONG = {
    "far too low": lambda source, epsilon: source.rough_log_delta(epsilon) - 5.0,
    "far too high": lambda source, epsilon: 0.2 * source.rough_log_delta(epsilon),
    "flat": lambda source, epsilon: -4.0,
    "too steep": lambda source, epsilon: source.rough_log_delta(epsilon) - 40.0 * epsilon,
    "wild": lambda source, epsilon: -3.0 - 2.0 * math.sin(50.0 * epsilon),
}
MECHANISMS = [
    sd.BinaryRR(eps0=1.0),
    pytest.param(sd.Laplace(eps0=1.0), marks=pytest.mark.long),
]


@pytest.mark.parametrize(
    "wrong",
    [pytest.param(one, marks=[] if one == "flat" else [pytest.mark.long]) for one in WRONG],
)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_wrong_estimates_never_part_from_the_truth(mechanism, wrong, monkeypatch):
    """Against the ends that right estimates give, which other tests hold to exact sums."""
    right = asked(mechanism)
    monkeypatch.setattr(
        Curve, "rough", lambda self, epsilon: min(WRONG[wrong](self.source, epsilon), 0.0)
    )
    for one, two in zip(right, asked(mechanism), strict=True):
        assert two.lower <= one.upper
        assert one.lower <= two.upper
        assert two.upper < math.inf


def asked(mechanism):
    rounds = sd.shuffle(mechanism, n=10).compose(rounds=2)
    return [rounds.epsilon(delta=1e-4), rounds.delta(epsilon=0.3)]
