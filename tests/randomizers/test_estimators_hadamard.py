"""Hadamard response: its variance depends on the block, so it has tests of its own."""

import itertools
import math

import numpy as np
import pytest
from flint import arb
from scipy.signal import convolve2d

import shuffledp as sd
from laws import law_of
from randomizers import definitions
from shuffledp.statistics.counts import log_reached
from shuffledp.statistics.estimates import Aggregate

CASES = [
    sd.HadamardResponse(domain=domain, blocks=blocks, eps0=e)
    for e in (1e-3, 0.7, 2.0, 12.0, 30.0)
    for domain, blocks in ((2, 1), (3, 1), (7, 1), (2, 2), (5, 2), (9, 3), (7, 7), (9, 2))
]


def rows_of(r):
    if r.blocks == 1:
        return definitions.hadamard(r.domain, r.eps0)
    return definitions.hadamard_blocks(r.domain, r.blocks, r.eps0)


def moments(row, values):
    values = [arb(float(v)) for v in values]
    mean = sum((p * v for p, v in zip(row, values, strict=True)), start=arb(0))
    second = sum((p * v * v for p, v in zip(row, values, strict=True)), start=arb(0))
    return float(mean), float(second - mean * mean), float(second)


@pytest.mark.parametrize("r", CASES, ids=repr)
def test_unbiased_and_of_the_stated_variance(r):
    """Holders, users of the same block and users of other blocks, over every output."""
    rows, reports = rows_of(r), np.arange(r.columns, dtype=np.uint32)
    single = np.array([r.estimate(reports[i : i + 1]).frequencies for i in range(r.columns)])
    seen = set()
    for x, item in itertools.product(range(r.domain), repeat=2):
        mean, spread, second = moments(rows[x], single[:, item])
        assert abs(mean - (item == x)) <= 1e-11 * (1.0 + math.sqrt(second))
        together = x % r.blocks == item % r.blocks
        wanted = r.variance(float(x == item), block=float(together))
        assert abs(spread - wanted) <= 1e-11 * wanted + 1e-13 * second
        assert spread <= r.variance(float(x == item)) * (1 + 1e-11) + 1e-13 * second
        seen.add((x == item, together))
    assert len(seen) == 1 + (r.blocks > 1) + (r.domain > r.blocks)


@pytest.mark.parametrize("r", CASES, ids=repr)
def test_standard_errors(r):
    """With frequencies and block frequencies put in for their estimates."""
    values = np.arange(30_000) % r.domain
    reports = r.simulate(values, seed=5)
    found = r.estimate(reports)
    whole = r.aggregate(reports).sums[1] / len(values)
    t = math.exp(r.eps0) + 2 * r.blocks - 1
    for item in range(r.domain):
        f = min(1.0, max(0.0, found.frequencies[item]))
        b = min(1.0, max(f, (whole[item] * t - 2) / math.expm1(r.eps0)))
        wanted = math.sqrt(r.variance(f, block=b) / len(values))
        assert found.standard_errors[item] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    truth = np.bincount(values, minlength=r.domain) / len(values)
    exact = [
        r.variance(truth[v], block=truth[v % r.blocks :: r.blocks].sum()) / len(values)
        for v in range(r.domain)
    ]
    assert (np.abs(found.frequencies - truth) <= 5.0 * np.sqrt(exact) + 1e-12).all()


def test_published_variances():
    for e in (0.3, 2.0, 5.0):
        E = math.exp(e)
        r = sd.HadamardResponse(domain=100, eps0=e)
        assert r.variance() == pytest.approx(((E + 1) / (E - 1)) ** 2, rel=1e-12)
        for blocks in (2, 5, 100):
            r = sd.HadamardResponse(domain=100, blocks=blocks, eps0=e)
            s, K = r.half_block, r.columns
            Z = s * E + K - s
            assert 2 * s > math.ceil(100 / blocks) >= s
            other, same = 2 * Z / (s * (E - 1) ** 2), (E + 1) * Z / (s * (E - 1) ** 2)
            assert r.variance(block=0.0) == pytest.approx(other, rel=1e-12)
            assert r.variance(block=1.0) == pytest.approx(same, rel=1e-12)
            assert r.variance(block=0.25) == pytest.approx(0.25 * same + 0.75 * other, rel=1e-12)


def test_large_domains():
    for domain, blocks in ((10**9, 1), (10**9, 10**9), (10**9, 7), (10**9, 5 * 10**8)):
        r = sd.HadamardResponse(domain=domain, blocks=blocks, eps0=3.0)
        assert r.columns < 2**32
        reports = r.simulate(np.full(4000, domain - 1), seed=1)
        assert reports.dtype == np.uint32
        found = r.estimate(r.aggregate(reports, items=[domain - 1, 0]))
        wanted = math.sqrt(r.variance(1.0) / 4000)
        assert abs(found.frequencies[0] - 1.0) < 5 * wanted
        assert law_of(r, (0, domain - 1)).mass.shape[1] <= 9


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


@pytest.mark.many(2)
@pytest.mark.parametrize("tail", [1e-6, 0.025, 0.25])
@pytest.mark.parametrize(("eps0", "blocks"), [(9.0, 2), (4.0, 30), (12.0, 5)])
def test_numbers_of_others_that_are_not_tried_are_no_worse(eps0, blocks, tail):
    """With one holder beyond a limit, for all numbers of others one by one."""
    n = 500
    r = sd.HadamardResponse(domain=2 * blocks, blocks=blocks, eps0=eps0)
    sums = np.array([[40.0, 41.0, 3.0, -10.0, 200.0], [300.0, 301.0, 101.0, 400.0, 320.0]])
    law = r.estimate(Aggregate(n, sums)).law
    most = np.round(n * law.block.ends(0.1 * tail)[1])
    low, high = (np.round(n * end) for end in law.ends(tail))
    for i, side in itertools.product(range(sums.shape[1]), (1, -1)):
        m = low[i] - 1.0 if side > 0 else high[i] + 1.0
        users = np.arange(max(m, 0.0), most[i] + 1.0)
        if m < 0.0 or not users.size:
            continue
        groups = [
            (np.full(users.size, m), law.own if side > 0 else law.own.flipped),
            (users - m, law._same),
            (n - users, law.far),
        ]
        reached = log_reached(np.full(users.size, side * sums[0, i]), groups)
        assert (reached <= math.log(0.9 * tail)).all()
