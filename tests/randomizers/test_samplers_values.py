"""What samplers accept as values, and how they refuse the rest: by value and by place."""

import decimal

import numpy as np
import pytest

import shuffledp as sd

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
