"""Columns: values to inputs, and what each policy does with values that are none."""

import numpy as np
import pyarrow as pa
import pytest

import shuffledp as sd
from shuffledp.errors import ParameterError
from shuffledp.protocol import Column

THREE = sd.KRR(k=3, eps0=1.0)
FOUR = sd.KRR(k=4, eps0=1.0)
NUMBER = sd.Laplace(eps0=1.0, low=-1.0, high=3.0)


def test_items_become_their_place_in_the_domain():
    column = Column(name="x", domain=("a", "b", "c"))
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        found = column.encode(pa.array(["c", "a", "b", "a"], type=pa.string()).cast(kind), THREE)
        assert found.values.tolist() == [2, 0, 1, 0]
        assert (found.nulls, found.outside) == (0, 0)


def test_whole_numbers_and_whole_floats_as_items():
    column = Column(name="x", domain=(10, 20, 30))
    assert column.encode(pa.array([30, 10]), THREE).values.tolist() == [2, 0]
    assert column.encode(pa.array([30.0, 10.0]), THREE).values.tolist() == [2, 0]
    with pytest.raises(ParameterError, match=r"30\.5"):
        column.encode(pa.array([30.5]), THREE)


def test_policies_for_items():
    rows = pa.array(["a", None, "z", "b", None])
    drop = Column(name="x", domain=("a", "b", "c"), nulls="drop", outside="drop")
    found = drop.encode(rows, THREE)
    assert found.values.tolist() == [0, 1]
    assert (found.nulls, found.outside) == (2, 1)
    other = Column(name="x", domain=("a", "b"), nulls="category", outside="category")
    assert other.items == ("a", "b", "(none)", "(other)")
    assert other.encode(rows, FOUR).values.tolist() == [0, 2, 3, 1, 2]
    with pytest.raises(ParameterError, match=r"column 'x' = None.*2 rows"):
        Column(name="x", domain=("a", "b", "c")).encode(rows, THREE)
    with pytest.raises(ParameterError, match=r"column 'x' = 'z'.*1 rows"):
        Column(name="x", domain=("a", "b", "c"), nulls="drop").encode(rows, THREE)


def test_numbers():
    column = Column(name="x", nulls="drop", outside="clip")
    found = column.encode(pa.array([-5.0, None, 2.5, float("nan"), 9.0]), NUMBER)
    assert found.values.tolist() == [-1.0, 2.5, 3.0]
    assert found.nulls == 2
    drop = Column(name="x", outside="drop").encode(pa.array([-5.0, 0.0]), NUMBER)
    assert (drop.values.tolist(), drop.outside) == ([0.0], 1)
    for rows, word in (([4.0], "4.0"), ([None], "None")):
        with pytest.raises(ParameterError, match=word):
            Column(name="x").encode(pa.array(rows, type=pa.float64()), NUMBER)
    with pytest.raises(ParameterError, match="'ten'"):
        Column(name="x").encode(pa.array(["ten"]), NUMBER)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"name": ""}, "column"),
        ({"name": "x", "nulls": "ignore"}, "nulls"),
        ({"name": "x", "outside": "ignore"}, "outside"),
        ({"name": "x", "nulls": "category"}, "domain is missing"),
        ({"name": "x", "domain": ("a", "b"), "outside": "clip"}, "clip"),
        ({"name": "x", "domain": ("a",)}, "1 items"),
        ({"name": "x", "domain": ("a", "a")}, "'a'"),
        ({"name": "x", "domain": ("a", 1)}, "all text or all whole numbers"),
    ],
)
def test_bad_columns(settings, word):
    with pytest.raises(ParameterError, match=word):
        Column(**settings)


def test_domain_and_mechanism_have_to_fit():
    with pytest.raises(ParameterError, match="3 items"):
        Column(name="x", domain=("a", "b", "c")).check(FOUR)
    with pytest.raises(ParameterError, match="wanted no domain"):
        Column(name="x", domain=("a", "b", "c")).check(NUMBER)


def test_empty_batches():
    column = Column(name="x", domain=("a", "b", "c"))
    assert column.encode(pa.array([], type=pa.string()), THREE).values.size == 0
    assert Column(name="x").encode(pa.array([], type=pa.int32()), NUMBER).values.size == 0
    assert np.array_equal(
        Column(name="x", domain=("a", "b", "c"), nulls="drop").encode(pa.nulls(3), THREE).values,
        [],
    )
