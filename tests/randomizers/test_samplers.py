"""Samplers against the law: every output's probability from the definition, fixed seeds."""

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sd
from randomizers.finite import FINITE, outputs
from randomizers.sources import LEAST_P_VALUE, Script, fits
from shuffledp.randomizers.levels import LENGTH, coin
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


@pytest.mark.parametrize("digits", [b"\x80", b"\x00\x01", b"\xff\xff\xfe", b"\x4d\x00\x07"])
def test_coins_by_enumeration(digits):
    """Of all 256^m strings of bytes exactly the given number is true."""
    wanted = int.from_bytes(digits, "big")
    first = digits[0]

    class Bytes(Script):
        def octets(self, size):
            return self.words(size).astype(np.uint8)

    true = 0
    for byte in range(256):
        if byte != first or len(digits) == 1:
            true += 256 ** (len(digits) - 1) * int(Bytes([byte]).coins(digits[:1], 1)[0])
    assert true == first * 256 ** (len(digits) - 1)
    if len(digits) > 1:
        second = digits[1]
        drawn = np.arange(256)
        source = Bytes([first] * 256 + list(drawn) + [0] * 4)
        found = source.coins(digits[:2], 256)
        assert found.sum() == second
        true += second * 256 ** (len(digits) - 2)
    if len(digits) > 2:
        true += digits[2]
    assert true == wanted


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


# ------------------------------------------------------- where probabilities are rounded


@pytest.mark.parametrize("eps0", [1e-3, 0.3, 2.0, 30.0, 50.0])
def test_probabilities_are_rounded_towards_more_noise(eps0):
    """To 1280 digits, from above: the noise is never less than the law's."""
    precision, ctx.prec = ctx.prec, 1500
    try:
        unit = arb(2) ** (8 * LENGTH)
        for share, exact in (
            (sd.OUE(d=3, eps0=eps0)._flip(), 1 / (arb(eps0).exp() + 1)),
            (sd.RAPPOR(d=3, eps0=eps0)._flip(), 1 / ((arb(eps0) / 2).exp() + 1)),
        ):
            rounded = arb(int.from_bytes(coin(share), "big")) / unit
            assert exact <= rounded <= exact + 2 / unit
    finally:
        ctx.prec = precision
