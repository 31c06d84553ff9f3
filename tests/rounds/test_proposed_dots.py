"""Where a round's curve is evaluated follows estimates: bad ones make ends loose, never wrong."""

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.numerics import LogInterval
from shuffledp.rounds.curve import Curve, Estimates

WRONG = {
    "far too low": lambda source, epsilon: source.rough_log_delta(epsilon) - 5.0,
    "far too high": lambda source, epsilon: 0.2 * source.rough_log_delta(epsilon),
    "flat": lambda source, epsilon: -4.0,
    "too steep": lambda source, epsilon: source.rough_log_delta(epsilon) - 40.0 * epsilon,
    "wild": lambda source, epsilon: -3.0 - 2.0 * math.sin(50.0 * epsilon),
}
MECHANISMS = [
    sd.KRR(k=3, eps0=1.0),
    pytest.param(sd.Laplace(eps0=1.0), marks=pytest.mark.long),
]


@pytest.fixture(params=WRONG)
def wrong_estimates(request, monkeypatch):
    made = WRONG[request.param]

    def answer(self, epsilon, *, width=1.0):
        value = min(made(self.source, epsilon), 0.0)
        return LogInterval(value, value)

    monkeypatch.setattr(Estimates, "log_delta", answer)


@pytest.mark.many(1)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_wrong_estimates_never_part_from_the_truth(mechanism, wrong_estimates):
    """Against the ends that right estimates give, which other tests hold to exact sums."""
    found = {}
    for estimates in ("right", "wrong"):
        with pytest.MonkeyPatch.context() as patch:
            if estimates == "right":
                patch.undo()
                patch.setattr(Estimates, "log_delta", _right)
            rounds = sd.shuffle(mechanism, n=100).compose(rounds=3)
            found[estimates] = [rounds.epsilon(delta=1e-4), rounds.delta(epsilon=0.3)]
    for right, wrong in zip(found["right"], found["wrong"], strict=True):
        assert wrong.lower <= right.upper
        assert right.lower <= wrong.upper
        assert wrong.upper < math.inf


def _right(self, epsilon, *, width=1.0):
    value = min(self.source.rough_log_delta(epsilon), 0.0)
    return LogInterval(value, value)


def test_halving_between_neighbouring_floats_ends():
    """Points that could not be told apart made a chord of no length: a division by zero."""

    class Flat:
        def log_delta(self, epsilon, *, width=1.0):
            return LogInterval(-2.0 - epsilon, -2.0 - epsilon)

        def rough_log_delta(self, epsilon):
            return -2.0 - epsilon

        def log_floor(self):
            return -math.inf

    near = [0.0, 1e-200, math.nextafter(1e-200, 1.0)]
    values = Curve(Flat(), eps0=1.0, width=1e-3).values(-10.0, refine=3, march=near)
    assert np.all(np.diff(values.eps) > 0.0)


@pytest.mark.long
def test_one_delta_is_not_followed_to_the_end_of_the_curve(monkeypatch):
    """Every eps was followed down to e^-60 of delta: ten times the work that one eps takes."""
    asked = []
    plain = Curve.at

    def counted(self, epsilon):
        groups = getattr(self.source, "groups", [[None]])
        if not isinstance(groups[0][0], Estimates):
            asked.append(epsilon)
        return plain(self, epsilon)

    monkeypatch.setattr(Curve, "at", counted)
    one = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    found = one.compose(rounds=10).delta(epsilon=1.3)
    # One round's delta is below 1e-20 from there on.
    assert one.delta(epsilon=max(asked)).upper > math.exp(-45.0)
    assert found.upper <= found.lower * 1.02
