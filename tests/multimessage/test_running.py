"""Samplers against the definitions, estimators by enumeration of all messages."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from multimessage.definitions import laws
from randomizers.sources import LEAST_P_VALUE, fits
from shuffledp.randomness import SeededSource

PROTOCOLS = [
    sd.BalcerCheu(p=0.75),
    sd.BalcerCheu(p=1e-3),
    sd.BalcerEtAl(blankets=3),
    sd.CheuZhilyaev(d=3, f=0.3, blankets=2),
    sd.BallsIntoBins(d=7, s=3, blankets=2),
    sd.BallsIntoBins(d=300, s=100, blankets=2, rate=0.3),
    sd.PureDUMP(d=5, blankets=2),
    sd.PureDUMP(d=300, blankets=2, rate=0.7),
    sd.MixDUMP(d=4, f=0.3, blankets=2),
    sd.MixDUMP(d=2, f=0.3, blankets=1, rate=0.5),
]


def places(protocol, messages):
    """Messages as places in the definitions' rows."""
    if isinstance(protocol, sd.CheuZhilyaev):
        rows = np.unpackbits(messages, axis=1, count=protocol.d)
        return rows @ (1 << np.arange(protocol.d)[::-1])
    return messages


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_samplers_have_the_laws(protocol):
    data, blanket = laws(protocol)
    users = 60_000
    for x in {0, len(data) - 1}:
        messages = protocol.randomize_with(np.full(users, x), SeededSource(11 + x))
        place = places(protocol, messages)
        found = np.bincount(place[:users], minlength=len(blanket))
        assert fits(found, [float(p) for p in data[x]]) > LEAST_P_VALUE
        sent = np.bincount(place[users:], minlength=len(blanket))
        sent[-1] = protocol.blanket_total(users) - (len(messages) - users)
        assert fits(sent, [float(p) for p in blanket]) > LEAST_P_VALUE
        # The test can fail: the other law does not fit.
        assert fits(found, [float(p) for p in blanket]) < LEAST_P_VALUE


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_shuffled_is_a_uniform_order_of_the_same_messages(protocol):
    values = np.zeros(2000, dtype=int)
    mixed = protocol.simulate(values, seed=3)
    ordered = protocol.randomize_with(values, SeededSource(3))
    assert len(mixed) == len(ordered)
    assert sorted(map(bytes, mixed)) == sorted(map(bytes, ordered))
    assert not np.array_equal(mixed, ordered)
    assert len(protocol.randomize(values)) >= 2000


SMALL = [
    (sd.BalcerCheu(p=0.75), (0, 1, 1)),
    (sd.BalcerEtAl(blankets=2), (1, 0)),
    (sd.CheuZhilyaev(d=3, f=0.3, blankets=1), (0, 1)),
    (sd.CheuZhilyaev(d=3, f=0.3, blankets=2), (1,)),
    (sd.BallsIntoBins(d=5, s=2, blankets=1), (0, 1)),
    (sd.BallsIntoBins(d=4, s=2, blankets=1, rate=0.25), (0, 0)),
    (sd.PureDUMP(d=3, blankets=1), (0, 2)),
    (sd.PureDUMP(d=3, blankets=2, rate=0.25), (1,)),
    (sd.PureDUMP(d=2, blankets=1, rate=0.5), (1, 0, 0)),
    (sd.MixDUMP(d=3, f=0.25, blankets=1), (0, 2)),
    (sd.MixDUMP(d=3, f=0.25, blankets=1, rate=0.5), (2, 2)),
]


@pytest.mark.parametrize(("protocol", "values"), SMALL, ids=repr)
def test_estimators_are_unbiased_and_of_the_stated_variance(protocol, values):
    """Over all messages of all users: mean and variance of every item's estimate, exactly."""
    data, blanket = laws(protocol)
    n = len(values)
    rows = [data[x] for x in values] + [blanket] * protocol.blanket_total(n)
    absent = len(blanket) - 1
    moments, given = 0.0, 0.0
    for output in itertools.product(range(len(blanket)), repeat=len(rows)):
        p = Fraction(1)
        for row, y in zip(rows, output, strict=True):
            p *= row[y]
        if p == 0:
            continue
        sent = np.array([y for y in output if y != absent])
        if isinstance(protocol, sd.CheuZhilyaev):
            bits = sent[:, None] >> np.arange(protocol.d)[::-1] & 1
            sent = np.packbits(bits.astype(np.uint8), axis=1)
        found = protocol.estimate(sent, n=n)
        value = np.atleast_1d(found.mean if hasattr(found, "mean") else found.frequencies)
        moments = moments + float(p) * np.array([value, value**2])
        if hasattr(found, "frequencies") and not isinstance(protocol, sd.MixDUMP):
            given = given + float(p) * found.standard_errors**2
    if isinstance(protocol, sd.BalcerCheu | sd.BalcerEtAl):
        truth = np.array([np.mean(values)])
    else:
        truth = np.bincount(values, minlength=moments.shape[1])[: moments.shape[1]] / n
    assert moments[0] == pytest.approx(truth, abs=1e-12)
    spread = moments[1] - moments[0] ** 2
    wanted = [protocol.variance(f) / n for f in truth]
    assert spread == pytest.approx(wanted, rel=1e-10, abs=1e-14)
    if np.ndim(given):
        # Standard errors are given the number of messages; their mean square is the variance.
        assert given == pytest.approx(wanted, rel=1e-10)
