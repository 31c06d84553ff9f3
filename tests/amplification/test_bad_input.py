"""Every bad argument of the public API: one line naming it, its value and what was wanted."""

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.randomizers.base import randomizer_class, randomizer_from_dict

NAN, INF = math.nan, math.inf
NOT_EPS0 = [0.0, -1.0, 300.5, NAN, INF, -INF, "1", True, None, [1.0], 1 + 0j, b"1"]
NOT_COUNT = [0, -3, 2.5, True, "3", NAN, INF, None, 10**15 + 1, [4]]
NOT_DOMAIN = [1, 0, -3, 2.5, True, "3", NAN, None, 10**9 + 1]
NOT_DELTA = [0.0, 1.0, -0.1, 1.5, NAN, INF, "1e-6", None, True]
NOT_EPSILON = [-1e-9, -1.0, NAN, INF, "0.1", None, True]

KRR = sd.KRR(k=3, eps0=1.0)
GOOD = [[0.5, 0.5], [0.25, 0.75]]

CASES = []


def case(name, value, wanted, call):
    shown = repr(value)
    CASES.append(pytest.param(name, shown, wanted, call, id=f"{name}={shown[:30]}-{len(CASES)}"))


for v in NOT_EPS0:
    for build in (
        lambda v: sd.KRR(k=3, eps0=v),
        lambda v: sd.BinaryRR(eps0=v),
        lambda v: sd.RAPPOR(d=3, eps0=v),
        lambda v: sd.OUE(d=3, eps0=v),
        lambda v: sd.LocalHash(domain=3, l=2, eps0=v),
        lambda v: sd.BLH(domain=3, eps0=v),
        lambda v: sd.HadamardResponse(domain=3, eps0=v),
        lambda v: sd.Laplace(eps0=v),
        lambda v: sd.generic(eps0=v, n=10),
    ):
        case("eps0", v, "a finite number >= 1e-09 and <= 300", lambda v=v, b=build: b(v))
for v in [*NOT_EPS0, 31.0]:
    case("eps0", v, "a finite number >= 1e-09 and <= 30", lambda v=v: sd.OLH(domain=3, eps0=v))
for v in NOT_DOMAIN:
    for name, build in (
        ("k", lambda v: sd.KRR(k=v, eps0=1.0)),
        ("d", lambda v: sd.RAPPOR(d=v, eps0=1.0)),
        ("d", lambda v: sd.OUE(d=v, eps0=1.0)),
        ("domain", lambda v: sd.LocalHash(domain=v, l=2, eps0=1.0)),
        ("domain", lambda v: sd.BLH(domain=v, eps0=1.0)),
        ("domain", lambda v: sd.OLH(domain=v, eps0=1.0)),
        ("domain", lambda v: sd.HadamardResponse(domain=v, eps0=1.0)),
    ):
        case(name, v, "a whole number from 2 to 1,000,000,000", lambda v=v, b=build: b(v))
for v in [1, 0, -2, 2.5, "2", None, True]:
    case("l", v, "a whole number from 2", lambda v=v: sd.LocalHash(domain=3, l=v, eps0=1.0))
for v in NOT_COUNT:
    for build in (
        lambda v: sd.shuffle(KRR, n=v),
        lambda v: sd.generic(eps0=1.0, n=v),
        lambda v: sd.shuffle(KRR, n=5).with_n(v),
    ):
        case("n", v, "a whole number from 1 to 1,000,000,000,000,000", lambda v=v, b=build: b(v))
for v in NOT_DELTA:
    case(
        "delta", v, "a finite number > 0 and < 1", lambda v=v: sd.shuffle(KRR, n=5).epsilon(delta=v)
    )
    case(
        "delta",
        v,
        "a finite number > 0 and < 1",
        lambda v=v: sd.generic(eps0=1.0, n=5).epsilon(delta=v),
    )
for v in NOT_EPSILON:
    case("epsilon", v, "a finite number >= 0", lambda v=v: sd.shuffle(KRR, n=5).delta(epsilon=v))
    case("epsilon", v, "a finite number >= 0", lambda v=v: sd.shuffle(KRR, n=5).profile([0.1, v]))
for v in [0.0, 1e-13, 0.2, -1e-6, NAN, "1e-6", True]:
    wanted = "a finite number >= 1e-12 and <= 0.1"
    case("rtol", v, wanted, lambda v=v: sd.shuffle(KRR, n=5, rtol=v))
    case("rtol", v, wanted, lambda v=v: sd.generic(eps0=1.0, n=5, rtol=v))
for v in ["none", "", None, 1, "ALL"]:
    case("trust", v, "one of all, published", lambda v=v: sd.shuffle(KRR, n=5, trust=v))
for v in ["blankets", "", 3, "Clone"]:
    wanted = "one of binary-exact, label-stealing, blanket"
    case("analysis", v, wanted, lambda v=v: sd.shuffle(KRR, n=5).delta(epsilon=0.1, analysis=v))
for v in [1, "yes", None]:
    case("adaptive", v, "True or False", lambda v=v: sd.generic(eps0=1.0, n=5, adaptive=v))
for v in ["k-rr", None, 3, sd.KRR]:
    case("mechanism", v, "a randomizer such as KRR", lambda v=v: sd.shuffle(v, n=5))
for v in [0.0, -1.0, NAN, INF, "1", None, True, 1e101]:
    case("sigma", v, "a finite number > 0 and <= 1e+100", lambda v=v: sd.Gaussian(sigma=v))
for make in (lambda **k: sd.Laplace(eps0=1.0, **k), lambda **k: sd.Gaussian(sigma=1.0, **k)):
    for v in [NAN, INF, "0", None, True, 1e101]:
        case("low", v, "a finite number", lambda v=v, m=make: m(low=v))
        case("high", v, "a finite number", lambda v=v, m=make: m(high=v))
    case("high", 0.0, "a number above low = 0", lambda m=make: m(high=0.0))
    case("high", -1.0, "a number above low = 0", lambda m=make: m(high=-1.0))
case("(high - low)/sigma", 1e5, "a finite number > 0 and <= 10000", lambda: sd.Gaussian(sigma=1e-5))
for v in [1, "no", None]:
    case("binary", v, "True or False", lambda v=v: sd.Laplace(eps0=1.0, binary=v))
for v in ["krrr", "", None, 7]:
    case("randomizer name", v, "a mechanism such as ", lambda v=v: randomizer_class(v))
case(
    "k-rr parameter",
    "d",
    "one of k, eps0",
    lambda: randomizer_from_dict({"name": "k-rr", "d": 3, "eps0": 1.0}),
)
case(
    "randomizer", ["eps0"], 'a table with a key "name"', lambda: randomizer_from_dict({"eps0": 1.0})
)

MATRIX = "a matrix of probabilities >= 0 with at least 2 rows"
for v in [5, None, "abc", [1.0, 2.0], [["x", "y"], [1, 2]]]:
    case("matrix", v, MATRIX, lambda v=v: sd.Channel(matrix=v))
case("matrix", [[1.0], [0.5, 0.5]], MATRIX, lambda: sd.Channel(matrix=[[1.0], [0.5, 0.5]]))
case("matrix shape", (1, 2), MATRIX, lambda: sd.Channel(matrix=[[0.5, 0.5]]))
case(
    "matrix row 1",
    [-0.5, 1.5],
    "finite probabilities >= 0",
    lambda: sd.Channel(matrix=[[0.5, 0.5], [-0.5, 1.5]]),
)
case(
    "matrix row 0",
    [NAN, 1.0],
    "finite probabilities >= 0",
    lambda: sd.Channel(matrix=[[NAN, 1.0], [0.5, 0.5]]),
)
case(
    "matrix row 0",
    [INF, 1.0],
    "finite probabilities >= 0",
    lambda: sd.Channel(matrix=[[INF, 1.0], [0.5, 0.5]]),
)
case(
    "sum of matrix row 1",
    1.5,
    "1 (within 1e-9), or normalize=True",
    lambda: sd.Channel(matrix=[[0.5, 0.5], [0.5, 1.0]]),
)
case(
    "sum of matrix row 0",
    0.0,
    "1 (within 1e-9), or normalize=True",
    lambda: sd.Channel(matrix=[[0.0, 0.0], [0.5, 0.5]]),
)


@pytest.mark.parametrize(("name", "shown", "wanted", "call"), CASES)
def test_message_names_argument_value_and_what_was_wanted(name, shown, wanted, call):
    with pytest.raises(sd.ParameterError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"{name} = "), message
    assert shown[:40] in message or _same_number(shown, message), message
    assert f": wanted {wanted}" in message, message
    assert "\n" not in message
    assert isinstance(caught.value, ValueError)


def _same_number(shown, message):
    """1e5 may come back as 99999.99999999999 after a division."""
    try:
        given = float(message.split(" = ", 1)[1].split(":")[0])
        return math.isclose(given, float(shown), rel_tol=1e-9)
    except ValueError:
        return False


def test_missing_parameter_of_a_file():
    with pytest.raises(sd.ParameterError, match=r"^eps0 is missing: k-rr wanted k, eps0$"):
        randomizer_from_dict({"name": "k-rr", "k": 3})


@pytest.mark.parametrize("analysis", ["clone", "stronger-clone"])
def test_clones_need_a_local_guarantee(analysis):
    for randomizer in (sd.Gaussian(sigma=2.0), sd.Channel(matrix=[[1.0, 0.0], [0.5, 0.5]])):
        for ask in ({"epsilon": 0.1}, {"delta": 1e-3}):
            accountant = sd.shuffle(randomizer, n=5)
            method = accountant.delta if "epsilon" in ask else accountant.epsilon
            with pytest.raises(
                sd.NotCertified, match=f"analysis = '{analysis}': wanted an eps0-LDP"
            ):
                method(**ask, analysis=analysis)


def test_a_family_has_no_blanket():
    with pytest.raises(sd.NotCertified, match="analysis = 'blanket': wanted a randomizer"):
        sd.generic(eps0=1.0, n=5).delta(epsilon=0.1, analysis="blanket")


def test_numbers_of_numpy_are_numbers():
    plain = sd.shuffle(sd.KRR(k=3, eps0=1.0), n=100).epsilon(delta=1e-6).upper
    same = sd.shuffle(sd.KRR(k=np.int64(3), eps0=np.float64(1.0)), n=np.int32(100))
    assert same.epsilon(delta=np.float64(1e-6)).upper == plain
    assert sd.shuffle(KRR, n=100.0).epsilon(delta=1e-6).upper == plain


def column(*values):
    return np.array(values, dtype=float)
