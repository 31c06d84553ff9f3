"""Samplers against the law: every output's probability from the definition, fixed seeds."""

import itertools
from decimal import Decimal

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sd
from randomizers import definitions
from randomizers.sources import LEAST_P_VALUE, Counting, Script, fits
from shuffledp.randomizers.chances import LENGTH, digits_up, word_up
from shuffledp.randomizers.krr import respond
from shuffledp.randomness import SeededSource

USERS = 200_000


def outputs(randomizer):
    """Full output distributions, and the place of each report in them."""
    e = randomizer.eps0
    if isinstance(randomizer, sd.KRR):
        return definitions.k_rr(randomizer.k, e), lambda reports: reports
    if isinstance(randomizer, sd.BinaryRR):
        return definitions.binary_rr(e), lambda reports: reports
    if isinstance(randomizer, sd.RAPPOR):
        return definitions.rappor(randomizer.d, e), lambda reports: bits(reports, randomizer.d)
    if isinstance(randomizer, sd.OUE):
        return definitions.oue(randomizer.d, e), lambda reports: bits(reports, randomizer.d)
    if isinstance(randomizer, sd.HadamardResponse):
        if randomizer.blocks == 1:
            return definitions.hadamard(randomizer.domain, e), lambda reports: reports
        rows = definitions.hadamard_blocks(randomizer.domain, randomizer.blocks, e)
        return rows, lambda reports: reports
    if isinstance(randomizer, sd.SubsetSelection):
        chosen = list(itertools.combinations(range(randomizer.d), randomizer.k))
        places = {subset: i for i, subset in enumerate(chosen)}
        rows = definitions.subset(randomizer.d, randomizer.k, e)
        return rows, lambda reports: np.array([places[tuple(r)] for r in reports.tolist()])
    if isinstance(randomizer, sd.LocalHash):
        l = randomizer.l
        rows = definitions.hash_family(randomizer.domain, l, e)
        return rows, lambda reports: reports @ (l ** np.arange(reports.shape[1])[::-1])
    if isinstance(randomizer, sd.PIRAPPOR):
        q = randomizer.q
        rows = definitions.affine(randomizer.domain, q, e)
        return rows, lambda reports: reports @ (q ** np.arange(reports.shape[1])[::-1])
    if isinstance(randomizer, sd.ProjectiveGeometry):
        rows = definitions.projective(randomizer.domain, randomizer.q, e)
        return rows, lambda reports: reports
    raise TypeError(randomizer)


def bits(reports, d):
    """Bits as one number, the first bit the highest: the order of itertools.product."""
    return np.unpackbits(reports, axis=1, count=d) @ (1 << np.arange(d)[::-1])


RANDOMIZERS = [
    sd.PIRAPPOR(domain=2, q=2, eps0=0.5),
    sd.PIRAPPOR(domain=9, q=3, eps0=1.0),
    sd.PIRAPPOR(domain=30, eps0=2.0),
    sd.PIRAPPOR(domain=7, q=4, eps0=1.0),
    sd.ProjectiveGeometry(domain=2, q=2, eps0=0.5),
    sd.ProjectiveGeometry(domain=20, q=3, eps0=1.0),
    sd.ProjectiveGeometry(domain=31, q=2, eps0=3.0),
    sd.ProjectiveGeometry(domain=50, eps0=2.0),
    sd.ProjectiveGeometry(domain=11, q=9, eps0=2.0),
    sd.BinaryRR(eps0=0.7),
    sd.KRR(k=2, eps0=3.0),
    sd.KRR(k=7, eps0=1.0),
    sd.KRR(k=300, eps0=4.0),
    sd.KRR(k=5, eps0=1e-4),
    sd.RAPPOR(d=4, eps0=2.0),
    sd.RAPPOR(d=9, eps0=1.0),
    sd.OUE(d=2, eps0=0.5),
    sd.OUE(d=9, eps0=1.5),
    sd.BLH(domain=2, eps0=1.0),
    sd.BLH(domain=100, eps0=1.0),
    sd.OLH(domain=8, eps0=1.0),
    sd.LocalHash(domain=5, l=6, eps0=2.0),
    sd.HadamardResponse(domain=2, eps0=1.0),
    sd.HadamardResponse(domain=20, eps0=1.5),
    sd.HadamardResponse(domain=20, blocks=3, eps0=1.5),
    sd.HadamardResponse(domain=5, blocks=5, eps0=1.0),
    sd.HadamardResponse(domain=9, blocks=2, eps0=3.0),
    sd.SubsetSelection(d=2, eps0=1.0),
    sd.SubsetSelection(d=6, k=5, eps0=2.0),
    sd.SubsetSelection(d=9, eps0=1.0),
    sd.SubsetSelection(d=7, k=4, eps0=0.5),
    sd.SubsetSelection(d=9, eps0=4.0),
]


@pytest.mark.many(3)
@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=repr)
def test_sampler_has_the_law(randomizer):
    rows, place = outputs(randomizer)
    for x in {0, len(rows) // 2, len(rows) - 1}:
        reports = randomizer.simulate(np.full(USERS, x), seed=1000 + x)
        counts = np.bincount(place(reports), minlength=len(rows[x]))
        assert fits(counts, [float(p) for p in rows[x]]) > LEAST_P_VALUE
        # The test can fail: another input's law does not fit.
        if randomizer.eps0 > 0.1:
            assert fits(counts, [float(p) for p in rows[(x + 1) % len(rows)]]) < LEAST_P_VALUE


@pytest.mark.many(8)
@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=repr)
def test_system_randomness_has_the_same_law(randomizer):
    rows, place = outputs(randomizer)
    reports = randomizer.randomize(np.zeros(USERS, dtype=np.int32))
    counts = np.bincount(place(reports), minlength=len(rows[0]))
    # Not seeded, so a threshold that will not be crossed in the life of the machine.
    assert fits(counts, [float(p) for p in rows[0]]) > 1e-12


# ------------------------------------------------------------------------------- k-RR in detail


@pytest.mark.parametrize("k", [2, 3, 10, 2**20, 10**9])
@pytest.mark.parametrize("eps0", [1e-300, 1e-4, 1.0, 12.0, 44.0, 300.0])
def test_k_rr_by_words(k, eps0):
    """Which words mean what: the realised law is k-RR whose gamma is not below the law's."""
    gamma = arb(k) / (arb(eps0).exp() + (k - 1))
    count = int((gamma * arb(2) ** 64).ceil().unique_fmpz() or 2**64)
    count = min(count, 2**64)
    share = count // k
    truth = k - 1
    cases = {0: 0, max(share - 1, 0): 0, share: 1, share * k - 1: k - 1} if share else {}
    for word, value in cases.items():
        assert respond(np.array([truth]), k, eps0, Script([word])) == value
    if count < 2**64:
        assert respond(np.array([0]), k, eps0, Script([count])) == 0
        assert respond(np.array([truth]), k, eps0, Script([count])) == truth
    for word in {share * k, count - 1} - set(cases):
        if word < count:
            # Left over from the division: a fresh uniform value.
            assert respond(np.array([truth]), k, eps0, Script([word, 1 % k])) == 1 % k
            assert respond(np.array([truth]), k, eps0, Script([word, 0])) == 0
    # The rounding makes gamma larger, by at most 2^-64.
    assert arb(count) / arb(2) ** 64 >= gamma or count == 2**64
    assert arb(count - 1) / arb(2) ** 64 < gamma


def test_k_rr_takes_one_word_for_each_user():
    source = Counting(3)
    respond(np.zeros(300_000, dtype=np.uint8), 100, 1.0, source)
    assert source.drawn == 300_000


def test_same_seed_same_reports():
    values = np.arange(200_000) % 10
    mechanism = sd.KRR(k=10, eps0=1.0)
    assert np.array_equal(mechanism.simulate(values, seed=1), mechanism.simulate(values, seed=1))
    assert not np.array_equal(
        mechanism.simulate(values, seed=1), mechanism.simulate(values, seed=2)
    )


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


def test_coins_have_their_probability():
    source = SeededSource(5)
    drawn = source.coins(bytes([77, 200, 3]), 400_000)
    p = (77 * 65536 + 200 * 256 + 3) / 2**24
    assert fits([drawn.sum(), (~drawn).sum()], [p, 1 - p]) > LEAST_P_VALUE


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


@pytest.mark.parametrize("eps0", [1e-300, 1e-9, 0.3, 2.0, 30.0, 299.9, 300.0])
def test_probabilities_are_rounded_towards_more_noise(eps0):
    """To 1280 digits, from above: the noise is never less than the law's."""
    precision, ctx.prec = ctx.prec, 1500
    try:
        unit = arb(2) ** (8 * LENGTH)
        for found, exact in (
            (sd.OUE(d=3, eps0=eps0)._flip(), 1 / (arb(eps0).exp() + 1)),
            (sd.RAPPOR(d=3, eps0=eps0)._flip(), 1 / ((arb(eps0) / 2).exp() + 1)),
        ):
            rounded = arb(int.from_bytes(digits_up(found), "big")) / unit
            assert exact <= rounded <= exact + 2 / unit
            assert arb(word_up(found)) / arb(2) ** 64 >= exact
            assert arb(word_up(found) - 1) / arb(2) ** 64 <= exact
    finally:
        ctx.prec = precision


def test_rounding_at_the_ends():
    assert digits_up(Decimal(1)) == b"\xff" * LENGTH
    assert digits_up(Decimal(0)) == b"\x00" * LENGTH
    assert word_up(Decimal(1)) == 2**64
    assert word_up(Decimal(0)) == 0
    assert word_up(Decimal("1e-300")) == 1
