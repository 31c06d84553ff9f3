"""Ends of sums as certificates say them: against every pair of data sets, in 200-bit arithmetic."""

import math
import random

import pytest

import shuffledp as sd
from shuffledp.views.datasets import local_guarantee
from views.every import Exact


@pytest.mark.parametrize("make", [sd.RAPPOR, sd.OUE])
def test_the_local_guarantee_is_the_largest_log_ratio(make):
    """Of one user: nothing is left at it, something just below it; and of several rounds."""
    for d, ones, relation in (
        (2, 1, "replace-one"),
        (3, 2, "replace-one"),
        (3, 2, "replace-special"),
        (2, 1, "replace-special"),
        (3, 3, "replace-one"),
    ):
        mechanism = make(d=d, eps0=1.7)
        view = sd.shuffle(mechanism, 1, view="sums", ones=ones, relation=relation)
        eps0 = local_guarantee(view.seen)
        # One of d items for another: the mechanism's own, to the bit.
        assert eps0 == mechanism.eps0 or ones > 1 or relation != "replace-one"
        (_, beyond), (below, _) = Exact(view)(eps0 * (1.0 + 1e-12), eps0 * (1.0 - 1e-6))
        assert beyond < 1e-11
        assert below > 1e-9
        assert local_guarantee(view.compose(rounds=3).seen) == pytest.approx(3 * eps0, rel=1e-12)


@pytest.mark.parametrize("ones", [1, 2])
def test_the_local_guarantee_is_no_smaller_next_to_eps0_0(ones):
    """Where both values of a bit are nearly alike rounding is as large as what is left."""
    rng = random.Random("small")
    for _ in range(100):
        mechanism = sd.OUE(d=3, eps0=math.exp(rng.uniform(-18.0, 0.0)))
        relation = "replace-special" if ones == 1 else "replace-one"
        view = sd.shuffle(mechanism, 1, view="sums", ones=ones, relation=relation)
        found = local_guarantee(view.seen)
        # One user at a delta that is far below rounding: nothing caps the end but the guarantee.
        assert Exact(view)(found)[0][1] < 1e-40


def test_ends_are_close():
    for mechanism, more, apart in (
        (sd.RAPPOR(d=9, eps0=3.0), {}, 1.015),
        (sd.RAPPOR(d=9, eps0=3.0), {"relation": "replace-special"}, 1.002),
        (sd.BinaryRR(eps0=1.5), {}, 1.002),
        (sd.Gaussian(sigma=1.0), {}, 1.01),
    ):
        view = sd.shuffle(mechanism, 60, view="sums", **more)
        found = view.epsilon(delta=1e-4)
        assert found.upper <= apart * found.lower


def test_of_symmetric_bits_every_coordinate_counts_of_others_those_that_fall():
    bits, others = sd.RAPPOR(d=4, eps0=2.0), sd.OUE(d=4, eps0=2.0)
    for mechanism, falling in ((bits, 4), (others, 2)):
        view = sd.shuffle(mechanism, 9, view="sums", ones=2)
        assert (view.seen.changed, view.seen.falling) == (4, falling)
    assert sd.shuffle(bits, 9, view="sums", ones=2).compose(rounds=5).seen.changed == 20


@pytest.mark.parametrize("rounds", [1, 2])
def test_bits_without_a_local_guarantee(rounds):
    """An output that only one of the values sends: in no round is less left than it tells."""
    matrix = ((1.0, 0.0), (0.5, 0.5))
    view = sd.shuffle(sd.Channel(matrix), 8, view="sums").compose(rounds=rounds)
    assert math.isinf(local_guarantee(view.seen))
    found = view.seen.bound("delta", 0.5)
    # All others hold the value that never sends a 1: the victim's 1 stands alone.
    seen = 1.0 - 0.5**rounds
    assert seen <= found.upper
    assert found.lower <= seen * (1.0 + 1e-12)
    # Polygons end at 0: of several rounds no lower end is claimed.
    assert found.lower >= 0.9 * seen or rounds > 1
    assert view.seen.bound("epsilon", 0.01).upper == math.inf
