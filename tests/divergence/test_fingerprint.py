"""Pairs are solved once only where everything a bracket depends on is the same."""

from dataclasses import fields, replace

import numpy as np
import pytest

from shuffledp import Gaussian
from shuffledp.analysis.of_pairs import distinct
from shuffledp.divergence import PairProfile
from shuffledp.pair import InnerMoments, RatioRanges, ShuffledPair
from shuffledp.reductions import blanket_pair

HALF = np.array([0.25, 0.5])


def atoms():
    return ShuffledPair(
        w=HALF,
        a=np.array([1.0, 1.25]),
        b=np.array([0.5, 1.5]),
        n=30,
        outside=np.array([[0.125, 0.125]]),
        tail=(1e-12, 1e-12),
        tail_doubt=(1e-13, 1e-13),
        rel=1e-15,
        leftover=(0.25, 1e-16),
    )


def cells(moments=True):
    inner = InnerMoments(HALF * 0.01, HALF * 0.02, HALF * 0.0, HALF * 1e-9) if moments else None
    low = np.array([0.9, 1.1]), np.array([1.1, 1.3]), np.array([0.4, 1.4]), np.array([0.6, 1.6])
    return replace(atoms(), ranges=RatioRanges(*low, np.array([0.1, 0.2]), inner))


OTHER = {
    "w": np.array([0.25, 0.5 + 1e-10]),
    "a": np.array([1.0, 1.25 + 1e-10]),
    "b": np.array([0.5, 1.5 + 1e-10]),
    "n": 31,
    "outside": np.array([[0.125, 0.125 + 1e-10]]),
    "tail": (1e-12, 2e-12),
    "tail_doubt": (1e-13, 0.0),
    "rel": 2e-15,
    "leftover": (0.25, 2e-16),
}


def changes(pair):
    """The pair with one field changed, for every field, those of its ranges and moments too."""
    for field in fields(pair):
        if field.name != "ranges":
            yield field.name, replace(pair, **{field.name: OTHER[field.name]})
    yield "leftover is None", replace(pair, leftover=None)
    yield "leftover is (0, 0)", replace(pair, leftover=(0.0, 0.0))
    if pair.ranges is None:
        return
    for field in fields(pair.ranges):
        value = getattr(pair.ranges, field.name)
        if isinstance(value, np.ndarray):
            changed = replace(pair.ranges, **{field.name: value * (1.0 + 1e-12)})
            yield field.name, replace(pair, ranges=changed)
    yield "bend is None", replace(pair, ranges=replace(pair.ranges, bend=None))
    yield "moments are None", replace(pair, ranges=replace(pair.ranges, moments=None))
    for field in fields(pair.ranges.moments):
        value = getattr(pair.ranges.moments, field.name) + 1e-12
        moments = replace(pair.ranges.moments, **{field.name: value})
        yield field.name, replace(pair, ranges=replace(pair.ranges, moments=moments))


@pytest.mark.parametrize("make", [atoms, cells])
def test_every_field_counts(make):
    pair = make()
    seen = {PairProfile(pair).fingerprint()}
    for count, (name, other) in enumerate(changes(pair), start=2):
        seen.add(PairProfile(other).fingerprint())
        assert len(seen) == count, name
    assert PairProfile(make()).fingerprint() in seen


def test_atoms_have_no_order_but_cells_do():
    pair = atoms()
    turned = replace(pair, w=pair.w[::-1], a=pair.a[::-1], b=pair.b[::-1])
    assert PairProfile(pair).fingerprint() == PairProfile(turned).fingerprint()
    assert PairProfile(cells()).fingerprint() != PairProfile(cells().swap()).fingerprint()


def test_pairs_that_differ_in_their_errors_are_all_kept():
    """A pair of the same numbers, known less well, may have the larger curve."""
    pair = blanket_pair(Gaussian(sigma=2.0), 0.0, 1.0, n=1000, cells=1 << 16)
    ranges = replace(pair.ranges, a_high=pair.ranges.a_high * 1.01, bend=None)
    pairs = [pair, replace(pair, ranges=ranges), replace(pair, rel=1e-7), pair]
    profiles, witnesses = distinct([(p, {"i": i}) for i, p in enumerate(pairs)])
    assert [w["i"] for w in witnesses] == [0, 1, 2]
    highest = [p.log_delta(0.05, width=1e-6).high for p in profiles]
    assert highest[1] > highest[0]
    assert highest[2] > highest[0]
