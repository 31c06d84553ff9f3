"""The search returns what was asked and met the target, whatever the curve does."""

import math
import random

import pytest

from shuffledp.search import least_epsilon, search


def rough(seed):
    """A curve that falls in eps but for its own width, and what was asked of it."""
    source, asked = random.Random(seed), {}
    scale, width = 10.0 ** source.uniform(-4, 1), source.choice((0.0, 1e-3, 0.3, 3.0))

    def log_upper(epsilon):
        if epsilon not in asked:
            asked[epsilon] = -((epsilon / scale) ** 2) + width * source.random()
        return asked[epsilon]

    return log_upper, asked, scale


@pytest.mark.parametrize("seed", range(60))
def test_what_is_found_met_the_target(seed):
    log_upper, asked, scale = rough(seed)
    target = -random.Random(~seed).uniform(4.0, 40.0)
    found = least_epsilon(log_upper, target, start=scale, cap=60.0 * scale, rtol=1e-3)
    assert asked[found.value] == found.log_delta <= target
    assert asked[found.beyond] == found.log_delta_beyond > target
    assert found.beyond < found.value <= found.beyond * (1.0 + 1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_where_nothing_meets_it(seed):
    log_upper, asked, scale = rough(seed)
    assert least_epsilon(log_upper, -40.0, start=scale, cap=3.0 * scale, rtol=1e-3) is None
    assert max(asked) == pytest.approx(3.0 * scale)


def test_whole_numbers_end_next_to_each_other():
    found = search(lambda k: math.log(k / 1000.0), math.log(0.1234), private=1, open_end=10**6,
                   apart=1e-9, whole=True)  # fmt: skip
    assert (found.value, found.beyond) == (123, 124)
