"""Hadamard response: its variance depends on the block, so it has tests of its own."""

import math

import numpy as np
import pytest
from scipy.signal import convolve2d

import shuffledp as sd
from shuffledp.statistics.estimates import Aggregate


def powers(even, odd, n):
    """Laws of (even less odd + n, even plus odd) of 0 to n users, no row or column left out."""
    one = np.array([[0.0, odd], [1.0 - even - odd, 0.0], [0.0, even]])
    laws = [np.ones((1, 1))]
    for _ in range(n):
        laws.append(convolve2d(laws[-1], one))
    return laws


def laws_in_blocks(r, n):
    """(holders, law of the sums) for all numbers of holders and of other users of the block."""
    up = r.half_block / (r.half_block * math.expm1(r.eps0) + r.columns)
    grow = math.exp(r.eps0)
    half = 0.5 * (grow + 1.0) * up
    own, same, far = (powers(*p, n) for p in ((grow * up, up), (half, half), (up, up)))
    for m in range(n + 1):
        for others in range(n - m + 1):
            yield m, convolve2d(convolve2d(own[m], same[others]), far[n - m - others])


@pytest.mark.many(4)
@pytest.mark.parametrize("blocks", [2, 3, 40])
@pytest.mark.parametrize("eps0", [0.1, 2.0, 5.5, 7.0, 9.0, 12.0])
def test_every_number_of_holders_and_of_others_of_the_block_is_covered(blocks, eps0):
    """Exactly, over all sums, for all truths, on either side and on both."""
    r = sd.HadamardResponse(domain=2 * blocks, blocks=blocks, eps0=eps0)
    for n in (2, 8, 12):
        signed, whole = np.meshgrid(np.arange(-n, n + 1.0), np.arange(n + 1.0), indexing="ij")
        estimate = r.estimate(Aggregate(n, np.array([signed.ravel(), whole.ravel()])))
        ends = {
            tail: [np.round(n * end).reshape(signed.shape) for end in estimate.law.ends(tail)]
            for tail in (0.0005, 0.025, 0.1, 0.25, 0.475)
        }
        for m, law in laws_in_blocks(r, n):
            for tail, (low, high) in ends.items():
                below, above = law[low > m].sum(), law[high < m].sum()
                assert max(below, above) <= tail
                assert below + above <= 2.0 * tail


@pytest.mark.parametrize(("eps0", "n", "m", "others"), [(9.0, 12, 3, 8), (7.0, 9, 0, 8)])
def test_intervals_of_a_shared_block_cover_and_are_not_much_wider(eps0, n, m, others):
    """Cases that limits with the largest number of others missed too often."""
    r = sd.HadamardResponse(domain=4, blocks=2, eps0=eps0)
    signed, whole = np.meshgrid(np.arange(-n, n + 1.0), np.arange(n + 1.0), indexing="ij")
    found = r.estimate(Aggregate(n, np.array([signed.ravel(), whole.ravel()])))
    low, high = (end.reshape(signed.shape) for end in found.interval(confidence=0.95))
    laws = list(laws_in_blocks(r, n))
    known = [law for holders, law in laws if holders == m]
    for out in (low > m / n + 1e-12, high < m / n - 1e-12):
        assert known[others][out].sum() <= 0.025
    # Some truth is missed nearly as often as may be: 0.9 of a tail is for the signed sum.
    assert max(law[low > k / n + 1e-12].sum() for k, law in laws) >= 0.75 * 0.025
