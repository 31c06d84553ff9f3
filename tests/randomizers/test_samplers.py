"""Samplers against the law: every output's probability from the definition, fixed seeds."""

import numpy as np
import pytest
from flint import arb

from randomizers.finite import FINITE, outputs
from randomizers.sources import LEAST_P_VALUE, Script, fits
from shuffledp.randomness import SeededSource

USERS = 50_000


RANDOMIZERS = [randomizer for record in FINITE.values() for randomizer in record.sampled]


def counted(reports, every):
    """How often each of all reports occurs; none is another one."""
    places = {report.tobytes(): i for i, report in enumerate(every.astype(reports.dtype))}
    kinds, counts = np.unique(reports, axis=0, return_counts=True)
    found = np.zeros(len(every), dtype=np.int64)
    found[[places[kind.tobytes()] for kind in kinds]] = counts
    return found


@pytest.mark.many(14)
@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=repr)
def test_sampler_has_the_law(randomizer):
    rows, every = outputs(randomizer)
    for x in {0, len(rows) - 1}:
        reports = randomizer.simulate(np.full(USERS, x), seed=1000 + x)
        counts = counted(reports, every)
        assert fits(counts, [float(p) for p in rows[x]]) > LEAST_P_VALUE
        # The test can fail: another input's law does not fit.
        if randomizer.eps0 > 0.1:
            assert fits(counts, [float(p) for p in rows[(x + 1) % len(rows)]]) < LEAST_P_VALUE


# -------------------------------------------------------------------------------------- coins


class Bytes(Script):
    """Words, of which each byte takes one."""

    def octets(self, size):
        return self.words(size).astype(np.uint8)


@pytest.mark.parametrize("p", [0, 1, 2**71, 77 * 2**64, 2**72 - 1, 77 * 2**64 + 5 * 2**32])
def test_coins_of_dyadic_probabilities_by_enumeration(p):
    """Of p/2^72: every byte, and words around the one that ties with it."""
    first, second = divmod(p, 2**64)
    drawn = Bytes([*range(256), second]).coins(lambda: arb(p) / 2**72, 256)
    assert drawn.tolist() == [byte < first for byte in range(256)]
    for word in {max(second - 1, 0), second, min(second + 1, 2**64 - 1)}:
        assert Bytes([first, word]).coins(lambda: arb(p) / 2**72, 1).tolist() == [word < second]


def test_ties_are_settled_by_further_digits():
    """Of 1/3 = 0.555... to base 16: the third word decides."""
    fives = 0x5555555555555555
    for more in (fives - 1, fives + 1):
        source = Bytes([0x55, fives, more])
        assert source.coins(lambda: arb(1) / 3, 1).tolist() == [more < fives]
        assert not source.left


def test_a_probability_that_is_never_settled():
    with pytest.raises(ValueError, match="not settled"):
        SeededSource(1).coins(lambda: arb(1) / 2 + arb(0, 1e-300), 1)


@pytest.mark.parametrize("k", [2, 3, 200, 256, 257, 60_000, 2**16, 100_000])
def test_uniform_is_uniform(k):
    drawn = SeededSource(k).uniform(k, 200_000)
    assert drawn.dtype == np.min_scalar_type(k - 1)
    assert fits(np.bincount(drawn, minlength=k), np.ones(k)) > LEAST_P_VALUE
    assert drawn.max() <= k - 1


@pytest.mark.parametrize("k", [1, 2, 7, 255, 256])
def test_uniform_by_enumeration(k):
    """Every byte kept stands for a value equally often."""

    class Bytes(Script):
        def _typed(self, kind, size):
            return self.words(size).astype(kind)

    kept = [b for b in range(256) if b < 256 // k * k]
    drawn = Bytes([*range(256), *[kept[0]] * (256 - len(kept))]).uniform(k, 256)
    counts = np.bincount(drawn[: len(kept)], minlength=k)
    assert (counts == 256 // k).all()
