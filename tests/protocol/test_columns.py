"""Columns: values to inputs, and what each policy does with values that are none."""

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import shuffledp as sd
from shuffledp.errors import ParameterError
from shuffledp.protocol import Column, PrefixTree

THREE = sd.KRR(k=3, eps0=1.0)
FOUR = sd.KRR(k=4, eps0=1.0)
TREE = PrefixTree(bits=6, eps0=1.0).randomizer
NUMBER = sd.Laplace(eps0=1.0, low=-1.0, high=3.0)


def test_items_become_their_place_in_the_domain():
    column = Column(name="x", domain=("a", "b", "c"))
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        found = column.encode(pa.array(["c", "a", "b", "a"], type=pa.string()).cast(kind), THREE)
        assert found.inputs.tolist() == [2, 0, 1, 0]
        assert (found.nulls.sum(), found.outside.sum()) == (0, 0)


def test_policies_for_items():
    rows = pa.array(["a", None, "z", "b", None])
    drop = Column(name="x", domain=("a", "b", "c"), nulls="drop", outside="drop")
    found = drop.encode(rows, THREE)
    assert found.inputs.tolist() == [0, 1]
    assert (found.nulls.sum(), found.outside.sum()) == (2, 1)
    other = Column(name="x", domain=("a", "b"), nulls="category", outside="category")
    assert other.items == ("a", "b", "(none)", "(other)")
    assert other.encode(rows, FOUR).inputs.tolist() == [0, 2, 3, 1, 2]
    with pytest.raises(ParameterError, match=r"column 'x', row 2: .*\(2 of the first 5 rows"):
        Column(name="x", domain=("a", "b", "c")).encode(rows, THREE)
    with pytest.raises(ParameterError, match=r"column 'x', row 3: .*\(1 of the first 5 rows"):
        Column(name="x", domain=("a", "b", "c"), nulls="drop").encode(rows, THREE)


def test_numbers():
    column = Column(name="x", nulls="drop", outside="clip")
    found = column.encode(pa.array([-5.0, None, 2.5, float("nan"), 9.0]), NUMBER)
    assert found.inputs.tolist() == [-1.0, 2.5, 3.0]
    assert found.nulls.sum() == 2
    drop = Column(name="x", outside="drop").encode(pa.array([-5.0, 0.0]), NUMBER)
    assert (drop.inputs.tolist(), drop.outside.sum()) == ([0.0], 1)
    for rows, word in (([4.0], "row 1: wanted a number from -1 to 3"), ([None], "a value in")):
        with pytest.raises(ParameterError, match=word):
            Column(name="x").encode(pa.array(rows, type=pa.float64()), NUMBER)
    with pytest.raises(ParameterError, match=r"row 2: wanted a number from -1 to 3 \(1 of"):
        Column(name="x", outside="clip").encode(pa.array(["1", "ten"]), NUMBER)


SECRET = "HIV-positive Jane Doe"


@pytest.mark.parametrize(
    ("column", "rows", "mechanism"),
    [
        (Column(name="x", domain=("a", "b", "c")), pa.array(["a", SECRET]), THREE),
        (Column(name="x"), pa.array([SECRET]), THREE),
        (Column(name="x"), pa.array([SECRET]), NUMBER),
        (Column(name="x"), pa.array(["1", SECRET]), NUMBER),
        (Column(name="x", domain=(1, 2, 3)), pa.array(["1", SECRET]), THREE),
        (Column(name="x", outside="clip"), pa.array(["1", SECRET]), NUMBER),
        (Column(name="x", alphabet="ab", length=3), pa.array(["a", SECRET]), TREE),
    ],
)
def test_refusals_do_not_say_the_value(column, rows, mechanism):
    with pytest.raises(ParameterError) as refused:
        column.encode(rows, mechanism, before=1000)
    assert "Jane" not in str(refused.value)
    assert "column 'x'" in str(refused.value)


def test_values_are_read_as_what_is_wanted():
    days = [dt.date(2024, 1, 31), None, dt.date(2024, 2, 1)]
    months = ("2024-01-31", "2024-02-01", "x")
    for rows, domain in (
        (pa.array([30, 7, None]), ("7", "30", "x")),
        (pa.array([True, False, None]), ("false", "true", "x")),
        (pa.array([days[2], days[0], None]), months),
        (pa.array([days[2], days[0], None], pa.date64()), months),
        (pa.array(["30", " 7 ", None]), (7, 30, 8)),
        (pa.array(["+30", "7.0", None]), (7, 30, 8)),
        (pa.array(["123456789012345678", "7.0", None]), (7, 123456789012345678, 8)),
        (pa.array([True, False, None]), (0, 1, 2)),
        (pa.array([30, 7, None], pa.uint64()), (7, 30, 8)),
        (pa.array([30.0, 7.0, None]), (7, 30, 8)),
        (pa.array([decimal.Decimal("30.0"), decimal.Decimal("7.0"), None]), (7, 30, 8)),
    ):
        found = Column(name="x", domain=domain, nulls="drop").encode(rows, THREE)
        assert found.inputs.tolist() == [1, 0]
        assert found.nulls.sum() == 1
    numbers = Column(name="x", nulls="drop", outside="drop")
    text = pa.array(["1e0", " -.5", "+2.", "nan", "inf", "0x1", "1,5", "", None, "3.01"])
    found = numbers.encode(text, NUMBER)
    assert found.inputs.tolist() == [1.0, -0.5, 2.0]
    assert (found.nulls.sum(), found.outside.sum()) == (2, 5)
    assert numbers.encode(pa.array([True, False]), NUMBER).inputs.tolist() == [1.0, 0.0]
    since = sd.Laplace(eps0=1.0, low=0.0, high=2.0**31)
    assert numbers.encode(pa.array(days[:1]), since).inputs.tolist() == [19_753 * 86_400.0]
