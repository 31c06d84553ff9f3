"""What samplers accept as values, and how they refuse the rest: by value and by place."""

import decimal

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.randomizers.values import blocks, real_values, whole_values

GOOD = [
    [3, 0, 4],
    (3.0, 0.0, 4.0),
    [3, 0.0, 4],
    [np.int8(3), np.float32(0), np.uint64(4)],
    np.array([3, 0, 4], dtype=np.int8),
    np.array([3, 0, 4], dtype=np.uint64),
    np.array([3, 0, 4], dtype=np.float32),
    np.array([3, 0, 4.0], dtype=object),
    np.ma.array([3, 0, 4], mask=[0, 0, 0]),
]


@pytest.mark.parametrize("values", GOOD, ids=repr)
def test_whole_values_accepted(values):
    found = whole_values(values, 5)
    assert found.dtype == np.uint8
    assert found.tolist() == [3, 0, 4]


BAD = [
    ([1, 2, True], "values[2] = True"),
    ([np.True_], "values[0] = "),
    (np.array([True]), "values[0] = True"),
    ([1, None], "values[1] = None"),
    (np.array([None, 1], dtype=object), "values[0] = None"),
    ([1.0, 2.5], "values[1] = 2.5"),
    ([1, float("nan")], "values[1] = nan"),
    (np.array([0, np.nan, np.inf]), "values[1] = nan"),
    (np.array([0, np.nan, np.inf]), "(2 of 3 are refused)"),
    ([0, float("inf")], "values[1] = inf"),
    (["1"], "values[0] = '1'"),
    ([1, "a"], "values[1] = 'a'"),
    (np.array(["a"]), "values[0] = 'a'"),
    ([3, -1, 12], "values[1] = -1"),
    ([3, -1, 12], "(2 of 3 are refused)"),
    ([3, -1], "values[1] = -1"),
    (np.array([0, 5]), "values[1] = 5"),
    (np.array([0, 5], dtype=np.uint64), "values[1] = 5"),
    (np.array([2**64 - 1], dtype=np.uint64), "values[0] = 18446744073709551615"),
    ([2**70], "values[0] = "),
    ([10**400], "values[0] = 1000"),
    ([1j], "values[0] = 1j"),
    ([decimal.Decimal(1)], "values[0] = Decimal('1')"),
    (np.array(["2020-01-01"], dtype="datetime64[D]"), "values[0] = "),
    (np.ma.array([1, 2], mask=[0, 1]), "values[1] = None"),
    ([[1, 2]], "values[0] = [1, 2]"),
    (np.zeros((2, 2), dtype=int), "values shape = (2, 2)"),
    (3, "values shape = ()"),
]


@pytest.mark.parametrize(("values", "message"), BAD, ids=lambda v: repr(v)[:40])
def test_whole_values_refused(values, message):
    with pytest.raises(sd.ParameterError) as caught:
        sd.KRR(k=5, eps0=1.0).randomize(values)
    assert message in str(caught.value)
    assert "values" in str(caught.value)
    if "shape" not in message:
        assert "wanted a whole number from 0 to 4" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 1.5], "values[1] = 1.5"),
        ([0.5, float("nan")], "values[1] = nan"),
        ([0.5, None], "values[1] = None"),
        ([False], "values[0] = False"),
        (["0.5"], "values[0] = '0.5'"),
        (np.array([0.0, -1e-300]), "values[1] = -1e-300"),
    ],
)
def test_real_values_refused(values, message):
    with pytest.raises(sd.ParameterError) as caught:
        real_values(values, 0.0, 1.0)
    assert message in str(caught.value)


def test_real_values_accepted():
    assert real_values([0, 1.0, 0.25], 0.0, 1.0).tolist() == [0.0, 1.0, 0.25]
    assert real_values(np.array([2, 3]), 2.0, 3.0, end_points=True).tolist() == [2.0, 3.0]
    with pytest.raises(sd.ParameterError, match=r"values\[1\] = 2.5: wanted 2 or 3"):
        real_values([2.0, 2.5], 2.0, 3.0, end_points=True)


def test_no_values_no_reports():
    assert sd.KRR(k=300, eps0=1.0).randomize([]).dtype == np.uint16
    assert sd.KRR(k=300, eps0=1.0).randomize(np.array([])).size == 0


@pytest.mark.parametrize(
    ("users", "width"), [(0, 1), (1, 1), (200_000, 1), (1000, 10**6), (7, 10**9)]
)
def test_blocks_cover_all_users_once(users, width):
    found = [i for block in blocks(users, width) for i in range(users)[block]]
    assert found == list(range(users))


def test_reports_are_of_the_smallest_type():
    for k, kind in ((2, np.uint8), (256, np.uint8), (257, np.uint16), (65537, np.uint32)):
        assert sd.KRR(k=k, eps0=1.0).randomize([0]).dtype == kind
