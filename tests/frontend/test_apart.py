"""What is said of a number that is not the one that is claimed."""

import math

import pytest

from shuffledp.certificate.apart import apart
from shuffledp.review.meaning import local_of


@pytest.mark.parametrize(
    ("between", "words"),
    [
        (math.log1p(3.2e-7), "delta 3.2e-07 above the claim"),
        (-math.log1p(3.2e-7), "delta 3.2e-07 below the claim"),
        (math.log(640.0), "delta 6.4e+02 times the claim"),
        (-math.log(9.2e37), "delta less than the claim, which is 9.2e+37 times as large"),
        (5000.0, "delta 1.0e+304 times the claim"),
    ],
)
def test_a_part_of_the_claim_or_how_many_times_it(between, words):
    assert apart("delta", -20.0 + between, -20.0) == words


def test_of_nothing_there_is_no_part():
    assert apart("the bound is", -math.inf, -5.0) == "the bound is 0"
    assert apart("delta", -math.inf, -math.inf) == "delta 0"
    assert apart("delta", -5.0, -math.inf) == "delta above the claim, which is 0"


def test_whose_a_local_guarantee_is():
    assert local_of(1) == ""
    assert local_of(2) == " for each of the 2 users who may change"
