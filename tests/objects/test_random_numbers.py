"""Numbers all over the range of promise, in every front door: ends in order or one line.

Warnings are errors (pyproject.toml), so none is given either.
"""

import inspect
import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shuffledp as sd
from objects.examples import ARGUMENTS, NAMES, class_of
from shuffledp.errors import NotCertified, ParameterError

pytestmark = pytest.mark.usefixtures("rough_proposals")


def spread(low, high):
    """Numbers of every order of magnitude from 10^low to 10^high."""
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


positive = st.sampled_from((1e-3, 1.0, 30.0, 50.0)) | spread(-3, 1.7)
scales = positive | spread(-3, 3)
chances = st.sampled_from((1e-6, 0.25, 1.0)) | spread(-6, 0)
counts = st.sampled_from((1, 2, 3, 1000, 10**6, 10**9)) | spread(0, 9).map(int)
users = st.sampled_from((1, 2, 3, 100, 10**6, 10**12)) | spread(0, 12).map(int)
deltas = st.sampled_from((1e-100, 1e-6, 0.5)) | spread(-100, -0.01)
epsilons = st.sampled_from((0.0, 1e-6, 1.0, 50.0)) | spread(-6, 1.7)
EXTREMES = {
    **dict.fromkeys(("eps0", "margin", "distance", "width", "radius", "high", "shape"), positive),
    **dict.fromkeys(("sigma", "scale"), scales),
    **dict.fromkeys(("p", "f", "rate", "c"), chances),
    **dict.fromkeys(("k", "d", "domain", "s", "l"), counts),
    **dict.fromkeys(("blankets", "blocks", "top", "branching"), counts),
    "low": positive.map(lambda x: -x),
}  # fmt: skip


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


@pytest.mark.long
@settings(max_examples=200)
@given(mechanisms(NAMES), users, deltas, epsilons, st.booleans())
def test_all_mechanisms(mechanism, n, delta, epsilon, inverse):
    both(sd.shuffle(mechanism, n, rtol=1e-2), delta, epsilon, inverse=inverse)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9])
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
