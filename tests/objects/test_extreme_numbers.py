"""Numbers at the ends of what is allowed, in every front door: ends in order or one line.

Warnings are errors (pyproject.toml), so none is given either.
"""

import inspect
import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shuffledp as sd
from objects.examples import ARGUMENTS, NAMES, class_of
from shuffledp.amplification.evaluation import Evaluation
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.multimessage import protocol_names
from shuffledp.randomizers.concentrated import pure_rho


def spread(low, high):
    """Numbers of every order of magnitude from 10^low to 10^high."""
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


TINY = (5e-324, 1e-300, 1e-100, 1e-16, 1e-8)
positive = st.sampled_from((*TINY, 1e-3, 1.0, 30.0, 300.0, 700.0)) | spread(-300, 2.8)
scales = positive | spread(-300, 300)
chances = st.sampled_from((*TINY, 0.25, 1.0 - 2.0**-53, 1.0)) | spread(-300, 0)
counts = st.sampled_from((1, 2, 3, 1000, 10**6, 10**9)) | spread(0, 9).map(int)
users = st.sampled_from((1, 2, 3, 100, 10**6, 10**15)) | spread(0, 15).map(int)
deltas = st.sampled_from((*TINY, 1e-6, 0.5, 1.0 - 1e-16)) | spread(-300, -0.01)
epsilons = st.sampled_from((0.0, *TINY, 1.0, 300.0, 700.0, 1e3)) | spread(-300, 3)
EXTREMES = {
    **dict.fromkeys(("eps0", "margin", "distance", "width", "radius", "high", "shape"), positive),
    **dict.fromkeys(("sigma", "scale"), scales),
    **dict.fromkeys(("p", "f", "rate", "c"), chances),
    **dict.fromkeys(("k", "d", "domain", "s", "l"), counts),
    **dict.fromkeys(("blankets", "blocks", "top", "branching"), counts),
    "low": positive.map(lambda x: -x),
}  # fmt: skip
# Seconds each at some eps0: in the long tests only.
SLOW = {"laplace", "gaussian", "generalized-gaussian", "laplace-ball", "gaussian-ball",
        "metric-laplace", "clamped-laplace", "truncated-laplace", "discrete-laplace",
        "discrete-gaussian", "joint", "parallel", "poisson-subsample", "hierarchy"}  # fmt: skip
QUICK = sorted({*NAMES} - SLOW)


@st.composite
def mechanisms(draw, names):
    """A mechanism that says yes to its arguments, some of them extreme."""
    name = draw(st.sampled_from(names))
    taken = inspect.signature(class_of(name)).parameters
    arguments = dict(ARGUMENTS[name])
    extreme = [key for key in taken if key in EXTREMES]
    for key in draw(st.lists(st.sampled_from(extreme), unique=True)) if extreme else []:
        arguments[key] = draw(EXTREMES[key])
    try:
        return class_of(name)(**arguments)
    except (ParameterError, NotCertified) as error:
        assert_one_line(error)
    assume(condition=False)
    return None


def assert_one_line(error):
    assert str(error).isprintable() or "\n" not in str(error)
    assert "nan" not in str(error).split()


def ask(question):
    """A bound whose ends are in order, or a refusal in one line."""
    try:
        bound = question()
    except (ParameterError, NotCertified) as error:
        assert_one_line(error)
        return
    assert 0.0 <= bound.lower <= bound.upper
    if bound.quantity == "delta":
        assert bound.upper <= 1.0
        assert bound.log_lower <= bound.log_upper <= 0.0


def both(accountant, delta, epsilon, *, inverse):
    if inverse:
        ask(lambda: accountant.epsilon(delta=delta))
    else:
        ask(lambda: accountant.delta(epsilon=epsilon))


@pytest.mark.parametrize("eps0", [5e-324, 1e-310])
@pytest.mark.parametrize("name", [n for n in QUICK if "eps0" in ARGUMENTS[n]])
def test_the_smallest_local_guarantees(name, eps0):
    """Halves and squares of them are no floats any more."""
    try:
        mechanism = class_of(name)(**{**ARGUMENTS[name], "eps0": eps0})
    except (ParameterError, NotCertified) as error:
        assert_one_line(error)
        return
    both(sd.shuffle(mechanism, 1, rtol=1e-2), 1e-6, 0.0, inverse=False)


def test_noise_on_an_interval_among_the_last_floats():
    """Next to nothing but losses: a tilt's proposal has no logarithm there."""
    noise = sd.Gaussian(sigma=1.0, low=0.0, high=5e-324)
    both(sd.shuffle(noise, 10**8, rtol=1e-2), 5e-324, 0.0, inverse=True)


def test_rounds_of_a_protocol_that_hides_nothing():
    """A pole next to 0, where smoothing as wide as its kernel allows leaves the floats."""
    protocol = sd.BalcerCheu(p=5e-324)
    both(sd.shuffle(protocol, 1, rtol=1e-2).compose(rounds=10**6), 1e-6, 0.0, inverse=False)


def test_inputs_among_the_last_floats():
    """A piece of the staircase is narrower than any float."""
    both(sd.shuffle(sd.Staircase(eps0=1.0, low=-5e-324, high=1.0), 1), 1e-6, 0.0, inverse=False)


@pytest.mark.long
@settings(max_examples=200)
@given(mechanisms(QUICK), users, deltas, epsilons, st.booleans())
def test_mechanisms(mechanism, n, delta, epsilon, inverse):
    both(sd.shuffle(mechanism, n, rtol=1e-2), delta, epsilon, inverse=inverse)


@pytest.mark.long
@settings(max_examples=60)
@given(positive, users, deltas, epsilons, st.booleans(), st.booleans())
def test_any_randomizer(eps0, n, delta, epsilon, adaptive, inverse):
    try:
        accountant = sd.generic(eps0=eps0, n=n, adaptive=adaptive, rtol=1e-2)
    except ParameterError as error:
        assert_one_line(error)
        assert eps0 > 300.0
        return
    both(accountant, delta, epsilon, inverse=inverse)


@settings(max_examples=10)
@given(scales | st.just(math.inf), chances, scales, users, deltas, epsilons, st.booleans())
def test_variation_ratios(p, beta, q, n, delta, epsilon, inverse):
    try:
        accountant = sd.variation_ratio(p=p, beta=beta, q=q, n=n, rtol=1e-2)
    except (ParameterError, NotCertified) as error:
        assert_one_line(error)
        return
    both(accountant, delta, epsilon, inverse=inverse)


@pytest.mark.long
@settings(max_examples=200)
@given(mechanisms(NAMES), users, deltas, epsilons, st.booleans())
def test_all_mechanisms(mechanism, n, delta, epsilon, inverse):
    both(sd.shuffle(mechanism, n, rtol=1e-2), delta, epsilon, inverse=inverse)


@pytest.mark.long
@settings(max_examples=25)
@given(
    mechanisms(NAMES),
    users,
    deltas,
    epsilons,
    st.sampled_from((1, 2, 17, 1000, 10**6)),
    st.booleans(),
)
def test_rounds(mechanism, n, delta, epsilon, rounds, inverse):
    try:
        accountant = sd.shuffle(mechanism, n, rtol=1e-2).compose(rounds=rounds)
    except (ParameterError, NotCertified) as error:
        assert_one_line(error)
        return
    both(accountant, delta, epsilon, inverse=inverse)


@pytest.mark.parametrize("name", protocol_names())
def test_protocols_have_no_shuffle_index(name):
    protocol = class_of(name)(**ARGUMENTS[name])
    with pytest.raises(ParameterError, match="one message a user"):
        sd.shuffle_index(protocol)


# -------------------------------------------------------------------------- eps next to zero

BESIDE = sd.Parallel((sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.5)), weights=(0.25, 0.75))


@pytest.mark.parametrize("epsilon", [5e-324, 1e-160, 1e-12, 1e-9])
@pytest.mark.parametrize(
    "accountant", [sd.shuffle(BESIDE, 10**6, rtol=1e-2), sd.generic(eps0=1.0, n=10**6, rtol=1e-3)]
)
def test_next_to_zero_brackets_are_no_narrower_than_asked(accountant, epsilon, monkeypatch):
    """It took minutes: delta was bracketed as narrowly as eps itself would have asked for."""
    zero = accountant.delta(epsilon=0.0)
    widths = []
    bracket = Evaluation._upper_at

    def noted(self, epsilon, analysis, width):
        widths.append(width)
        return bracket(self, epsilon, analysis, width)

    monkeypatch.setattr(Evaluation, "_upper_at", noted)
    found = accountant.delta(epsilon=epsilon)
    assert found.lower <= zero.upper
    assert found.upper >= zero.lower - 2.0 * epsilon
    assert len(widths) == 1
    assert widths[0] >= 1e-3 * accountant.rtol


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-12, 1e-9])
def test_next_to_zero_against_all_reports(epsilon):
    """Two users of binary RR: a sum over all outputs, in fractions; 1 + eps < e^eps < 1 + 2 eps."""
    rows = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    mechanism = sd.Channel(matrix=[[float(one) for one in row] for row in rows])

    def law(x, y):
        """How likely are no, one and two ones."""
        (a, b), (c, d) = rows[x], rows[y]
        return a * c, a * d + b * c, b * d

    def delta(grow):
        return max(
            sum(max(p - grow * q, 0) for p, q in zip(law(x0, x2), law(x1, x2), strict=True))
            for x0, x1, x2 in itertools.product((0, 1), repeat=3)
        )

    bound = sd.shuffle(mechanism, n=2).delta(epsilon=epsilon)
    assert Fraction(bound.lower) <= delta(1 + Fraction(epsilon))
    assert Fraction(bound.upper) >= delta(1 + 2 * Fraction(epsilon))


BOTTOM = pytest.mark.parametrize("eps0", [5e-324, 1e-310, 1e-200])


@BOTTOM
def test_rounds_at_the_bottom_of_the_floats(eps0):
    """Neither an error nor an upper end of 0: products of two numbers of this size are 0."""
    rounds = sd.shuffle(sd.BinaryRR(eps0=eps0), n=2).compose(rounds=2)
    assert 0.0 <= rounds.epsilon(delta=1e-6).lower <= rounds.epsilon(delta=1e-6).upper <= 2 * eps0
    # One round alone has delta(0) = (e^eps0 - 1)/(e^eps0 + 1)/2.
    assert rounds.delta(epsilon=0.0).upper >= max(eps0 / 4.0, 5e-324)
    assert rounds.gdp().lower <= rounds.gdp().upper
    power = rounds.tradeoff(alpha=0.1)
    assert power.lower <= 0.9 <= power.upper * (1.0 + 1e-12)


@pytest.mark.long
@BOTTOM
@pytest.mark.parametrize("make", [sd.BinaryRR, sd.Laplace], ids=["binary", "laplace"])
def test_renyi_at_the_bottom_of_the_floats(make, eps0):
    rounds = sd.shuffle(make(eps0=eps0), n=2).compose(rounds=2)
    assert 0.0 <= rounds.renyi(order=2.0).lower <= rounds.renyi(order=2.0).upper
    assert rounds.renyi(order=2.0).upper > 0.0
    assert rounds.zcdp().upper > 0.0


def test_squares_below_the_floats_are_rounded_up():
    assert pure_rho(0.0) == 0.0
    assert pure_rho(math.inf) == math.inf
    for eps0 in (5e-324, 1e-200, 1e-162, 1e-150, 0.3, 300.0):
        assert 2 * Fraction(pure_rho(eps0)) > Fraction(eps0) ** 2
        assert sd.BinaryRR(eps0=eps0).local_renyi(1.5) >= 5e-324
