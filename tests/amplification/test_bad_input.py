"""Every bad argument of the public API: one line naming it, its value and what was wanted."""

import math

import pytest

import shuffledp as sd
from objects.examples import ARGUMENTS, class_of
from shuffledp.mechanism.base import mechanism_class

NAN, INF = math.nan, math.inf
# What is no number of any parameter; ends of ranges are those of the schema (tests/objects).
NO_NUMBER = [NAN, INF, -INF, "1", True, b"1", 1 + 0j]
KRR = sd.KRR(k=3, eps0=1.0)
FEW = sd.shuffle(KRR, n=5)


def refused(name, value, wanted, call):
    """The one line, with these three in it."""
    with pytest.raises(sd.ParameterError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"{name} = "), message
    assert repr(value)[:40] in message, message
    assert f": wanted {wanted}" in message, message
    assert "\n" not in message
    assert isinstance(caught.value, ValueError)


NUMBERS = [
    (name, key)
    for name, arguments in ARGUMENTS.items()
    for key, value in arguments.items()
    if type(value) in (int, float)
]


@pytest.mark.parametrize(("name", "key"), NUMBERS)
def test_what_is_no_number_of_a_mechanism(name, key):
    for value in NO_NUMBER:
        refused(key, value, "", lambda v=value: class_of(name)(**{**ARGUMENTS[name], key: v}))


COUNT = "a whole number from 1 to 1,000,000,000,000,000"
SHARE, EPSILON = "a finite number > 0 and < 1", "a finite number >= 0"
ACCURACY = "a finite number >= 1e-12 and <= 0.1"
ASKED = [
    ("n", [0, -3, 2.5, None, 10**15 + 1, [4]], COUNT, lambda v: sd.shuffle(KRR, n=v)),
    ("n", [0, 2.5], COUNT, lambda v: sd.generic(eps0=1.0, n=v)),
    ("n", [0, 2.5], COUNT, FEW.with_n),
    ("delta", [0.0, 1.0, -0.1, None], SHARE, lambda v: FEW.epsilon(delta=v)),
    ("delta", [0.0, 1.0], SHARE, lambda v: sd.generic(eps0=1.0, n=5).epsilon(delta=v)),
    ("epsilon", [-1e-9, -1.0, None], EPSILON, lambda v: FEW.delta(epsilon=v)),
    ("epsilon", [-1e-9, -1.0], EPSILON, lambda v: FEW.profile([0.1, v])),
    ("rtol", [0.0, 1e-13, 0.2], ACCURACY, lambda v: sd.shuffle(KRR, n=5, rtol=v)),
    ("rtol", [0.0, 0.2], ACCURACY, lambda v: sd.generic(eps0=1.0, n=5, rtol=v)),
]


@pytest.mark.parametrize(("name", "values", "wanted", "call"), ASKED)
def test_numbers_of_a_question(name, values, wanted, call):
    for value in [*values, NAN, INF, "1", True]:
        refused(name, value, wanted, lambda v=value: call(v))


MATRIX = "a matrix of probabilities >= 0 with at least 2 rows"
CHANCES, SUM = "finite probabilities >= 0", "1 (within 1e-9), or normalize=True"
WORDS = [
    ("trust", "none", "one of all, published", lambda v: sd.shuffle(KRR, n=5, trust=v)),
    ("analysis", "Clone", "one of binary-exact, label-stealing, blanket",
     lambda v: FEW.delta(epsilon=0.1, analysis=v)),
    ("adaptive", "yes", "True or False", lambda v: sd.generic(eps0=1.0, n=5, adaptive=v)),
    ("mechanism", sd.KRR, "a randomizer such as KRR", lambda v: sd.shuffle(v, n=5)),
    ("binary", "no", "True or False", lambda v: sd.Laplace(eps0=1.0, binary=v)),
    ("mechanism name", "krrr", "a mechanism such as ", mechanism_class),
    ("k-rr parameter", "d", "one of k, eps0",
     lambda v: sd.mechanism_from_dict({"name": "k-rr", v: 3, "eps0": 1.0})),
    ("mechanism", ["eps0"], 'a table with a key "name"',
     lambda v: sd.mechanism_from_dict(dict.fromkeys(v, 1.0))),
    ("high", -1.0, "a number above low = 0", lambda v: sd.Laplace(eps0=1.0, high=v)),
    ("matrix", [["x", "y"], [1, 2]], MATRIX, lambda v: sd.Channel(matrix=v)),
    ("matrix", [[1.0], [0.5, 0.5]], MATRIX, lambda v: sd.Channel(matrix=v)),
    ("matrix shape", (1, 2), MATRIX, lambda _: sd.Channel(matrix=[[0.5, 0.5]])),
    ("matrix row 1", [-0.5, 1.5], CHANCES, lambda v: sd.Channel(matrix=[[0.5, 0.5], v])),
    ("matrix row 0", [NAN, 1.0], CHANCES, lambda v: sd.Channel(matrix=[v, [0.5, 0.5]])),
    ("sum of matrix row 1", 1.5, SUM, lambda _: sd.Channel(matrix=[[0.5, 0.5], [0.5, 1.0]])),
    ("sum of matrix row 0", 0.0, SUM, lambda _: sd.Channel(matrix=[[0.0, 0.0], [0.5, 0.5]])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "wanted", "call"), WORDS)
def test_words_tables_and_matrices(name, value, wanted, call):
    refused(name, value, wanted, lambda: call(value))
