"""Laplace and Gaussian by cells against cruder laws above and below, and closed forms."""

import math
from itertools import pairwise

import pytest
from flint import arb, ctx

from shuffledp.ball.api import log_delta
from shuffledp.ball.claim import check_claim
from shuffledp.ball.continuous import ContinuousPair, _within, continuous_terms
from shuffledp.ball.contour import PrecisionError, positive_part_by_contour
from shuffledp.ball.densities import Line, Piece
from shuffledp.ball.divergence import log_divergence
from shuffledp.ball.gains import GainLaw
from shuffledp.ball.powers import Difference
from shuffledp.ball.registry import RECORDS
from shuffledp.errors import NotCertified, ParameterError


def noise_of(mechanism):
    return RECORDS[mechanism["name"]].noise(mechanism)


LAPLACE = {"name": "laplace", "eps0": 1.0, "low": 0.0, "high": 1.0, "binary": False}
GAUSSIAN = {"name": "gaussian", "sigma": 2.0, "low": 0.0, "high": 1.0}


def cdf(mechanism, x, y):
    """Distribution function of the noisy input x at y (arb)."""
    if mechanism["name"] == "gaussian":
        return (1 + ((y - x) / (mechanism["sigma"] * arb(2).sqrt())).erf()) / 2
    u = (y - x) * mechanism["eps0"]
    return u.exp() / 2 if u < 0 else 1 - (-u).exp() / 2


def crude_law(mechanism, eps, edges, spread):
    """Blanket gains on cells: means (below), or spread to the ends of the cells (above)."""
    weight, gain = [], []
    slope = {"gaussian": 0, "laplace": 1}[mechanism["name"]]

    def at(y):
        if slope:
            log_a = -(abs(y) - arb.max(abs(y), abs(1 - y)))
            log_b = -(abs(y - 1) - arb.max(abs(y), abs(1 - y)))
            scale = arb(mechanism["eps0"])
        else:
            far = arb.max(abs(y), abs(1 - y)) ** 2
            log_a, log_b = (far - y * y) / 2, (far - (y - 1) ** 2) / 2
            scale = 1 / arb(mechanism["sigma"]) ** 2
        return (scale * log_a).exp() - eps.exp() * (scale * log_b).exp()

    for left, right in pairwise(edges):
        far = 1 if left < 0.5 else 0
        p, q, b = (cdf(mechanism, x, right) - cdf(mechanism, x, left) for x in (0, 1, far))
        mean = (p - eps.exp() * q) / b
        first, last = at(left), at(right)
        if not spread or not abs(last - first) > 1e-20:
            weight.append(b)
            gain.append(mean)
        else:
            share = (mean - first) / (last - first)
            weight += [b * (1 - share), b * share]
            gain += [first, last]
    return weight, gain


@pytest.mark.parametrize(("n", "eps"), [(200, 0.2), (2000, 0.05)])
def test_laplace_between_cruder_laws(n, eps):
    edges = [arb(-60), *(arb(i) / 60 for i in range(61)), arb(61)]

    def law(spread):
        weight, gain = crude_law(LAPLACE, arb(eps), edges, spread)
        weight.append(1 - sum(weight, start=arb(0)))
        gain.append(arb(0))
        return GainLaw(weight, gain, arb(0))

    low = log_divergence(lambda: law(spread=False), n=n, rel=1e-3)[0]
    high = log_divergence(lambda: law(spread=True), n=n, rel=1e-3)[1]
    got = log_delta(LAPLACE, analysis="blanket", n=n, epsilon=eps, x0=0.0, x1=1.0, rel=1e-4)
    assert low <= got[1]
    assert got[0] <= high
    assert high - low < 0.01


def test_gaussian_between_cruder_laws():
    n, eps = 500, 0.06
    edges = [arb(i) / 25 for i in range(-350, 376)]

    def law(spread):
        weight, gain = crude_law(GAUSSIAN, arb(eps), edges, spread)
        weight.append(1 - sum(weight, start=arb(0)))
        gain.append(arb(0))
        tail = cdf(GAUSSIAN, 0, edges[0])
        return GainLaw(weight, gain, arb(0, 4 * tail.upper()))

    low = log_divergence(lambda: law(spread=False), n=n, rel=1e-2)[0]
    high = log_divergence(lambda: law(spread=True), n=n, rel=1e-2)[1]
    got = log_delta(GAUSSIAN, analysis="blanket", n=n, epsilon=eps, x0=0.0, x1=1.0, rel=1e-3)
    assert low <= got[1]
    assert got[0] <= high
    assert high - low < 0.05


@pytest.mark.many(1)
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_narrow_brackets_lie_in_wide_ones(mechanism):
    for analysis, x2 in (("blanket", None), ("dataset", 0.3)):
        question = {"analysis": analysis, "n": 1000, "epsilon": 0.1, "x0": 0.0, "x1": 1.0, "x2": x2}
        wide = log_delta(mechanism, **question, rel=3e-2)
        narrow = log_delta(mechanism, **question, rel=1e-3)
        assert wide[0] <= narrow[1]
        assert narrow[0] <= wide[1]
        assert narrow[1] - narrow[0] <= 1.02e-3


def test_datasets_are_never_above_the_blanket():
    for x2 in (0.0, 0.5, 1.0):
        question = {"n": 300, "epsilon": 0.2, "x0": 0.0, "x1": 1.0, "rel": 1e-3}
        low, _ = log_delta(LAPLACE, analysis="dataset", x2=x2, **question)
        _, high = log_delta(LAPLACE, analysis="blanket", **question)
        assert low <= high


def test_one_user_is_the_local_divergence():
    laplace = log_delta(LAPLACE, analysis="blanket", n=1, epsilon=0.3, x0=0.0, x1=1.0)
    assert math.isclose(laplace[0], math.log(-math.expm1(-0.35)), rel_tol=1e-12)
    with ctx.workprec(100):
        root = arb(2).sqrt()
        first, second = ((arb(0.6) + s * arb(0.25)) / root for s in (-1, 1))
        want = (first.erfc() - arb(0.3).exp() * second.erfc()) / 2
    low, high = log_delta(GAUSSIAN, analysis="local", n=5, epsilon=0.3, x0=0.0, x1=1.0)
    assert low <= float(want.log()) + 1e-14
    assert float(want.log()) - 1e-14 <= high


def test_beyond_eps0_the_laplace_delta_is_zero():
    got = log_delta(LAPLACE, analysis="blanket", n=10, epsilon=1.0, x0=0.0, x1=1.0)
    assert got == (-math.inf, -math.inf)


def test_inputs_are_checked():
    question = {"analysis": "blanket", "n": 10, "epsilon": 0.5, "x0": 0.0}
    with pytest.raises(ParameterError, match="input = 2"):
        log_delta(LAPLACE, **question, x1=2.0)
    with pytest.raises(ParameterError, match="low or high"):
        log_delta(LAPLACE | {"binary": True}, **question, x1=0.5)
    with pytest.raises(ParameterError, match="different"):
        log_delta(LAPLACE, **question, x1=0.0)


@pytest.mark.many(1)
@pytest.mark.parametrize("end", ["upper", "lower"])
def test_claims(end):
    question = {
        "mechanism": LAPLACE, "analysis": "blanket", "n": 1000, "epsilon": 0.1, "x0": 0.0, "x1": 1.0
    }  # fmt: skip
    low, high = log_delta(**question, rel=1e-5)
    sign = 1 if end == "upper" else -1
    safe, wrong = (low + high) / 2 + sign * 1e-4, (low + high) / 2 - sign * 1e-4
    assert check_claim(end=end, log_claimed=safe, **question).answer == "holds"
    verdict = check_claim(end=end, log_claimed=wrong, **question)
    assert verdict.answer == "does not hold"
    assert verdict.epsilon_proved is not None
    assert 0 < sign * (verdict.epsilon_proved - 0.1) < 1e-4


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("sigma", "n", "eps", "analysis"),
    [(0.05, 10, 1.0, "dataset"), (0.07, 10, 5.0, "dataset"), (0.07, 1000, 1.0, "blanket")],
)
def test_a_victim_who_stands_alone_is_seen(sigma, n, eps, analysis):
    """Gains of more sizes than are told apart: what is left is not forgotten.

    All others have the input 0: some output is above 1/2 with 1 under P, with none hardly ever.
    """
    mechanism = GAUSSIAN | {"sigma": sigma}
    question = {"analysis": analysis, "n": n, "epsilon": eps, "x0": 1.0, "x1": 0.0, "x2": 0.0}
    tail = math.erfc(0.5 / sigma / math.sqrt(2.0)) / 2.0
    least = 1.0 - tail - math.exp(eps) * n * tail
    assert least > 0.99
    try:
        low, high = log_delta(mechanism, **question, rel=0.05)
    except NotCertified:
        pass
    else:
        assert high >= math.log(least)
        assert low <= 0.0
    with pytest.raises(NotCertified):
        check_claim(mechanism, **question, end="upper", log_claimed=math.log(0.6))


def test_what_is_left_of_a_law_is_never_forgotten(monkeypatch):
    question = {"analysis": "dataset", "n": 10, "epsilon": 1.0, "x0": 1.0, "x1": 0.0, "x2": 0.0}
    mechanism = GAUSSIAN | {"sigma": 0.3}
    monkeypatch.setattr("shuffledp.ball.continuous._MOST_LAYERS", 2)
    with pytest.raises(NotCertified, match="sizes"):
        log_delta(mechanism, **question, rel=0.05)


@pytest.mark.parametrize("third", [0, 1, 2, 3])
def test_parts_of_a_piece_make_all_of_it_and_nothing_twice(third):
    """Also where a cut is the float next to an end that is no float."""
    flat = Line(arb(0), arb(0))
    with ctx.workprec(200):
        left, right = arb(1) / 3, 1 + arb(1) / 3
        piece = Piece(left, right, (flat, flat, flat))
        cut = (float(left.mid()), 0.5, 1.0, float(right.mid()))[third]
        ways = [(None, cut), (cut, None)], [(None, cut), (cut, cut), (cut, None)]
        for parts in ways:
            found = [part for part in (_within(piece, *ends) for ends in parts) if part is not None]
            total = sum((part.right - part.left for part in found), arb(0))
            assert total.overlaps(arb(1))
            assert total.rad() < 1e-50


def test_a_part_too_small_for_nodes_is_no_crash():
    mechanism = GAUSSIAN | {"sigma": 0.28277567437774576}
    terms, _ = continuous_terms(
        ContinuousPair(lambda: noise_of(mechanism), arb(0), arb(0.5), arb(1)),
        arb(1), n=3, log_cut=-8.0, log_error=math.log(0.1 / 3) - 18.0,
    )  # fmt: skip
    empty = [t for t in terms if isinstance(t, Difference) and not t._part_law.gain]
    assert empty
    with pytest.raises(PrecisionError):
        positive_part_by_contour(empty[0], 0.1, 60_000_000)
