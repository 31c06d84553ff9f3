"""Noise given by functions: cells against balls, small n by quadrature, and every refusal."""

import functools
import itertools
import math

import numpy as np
import pytest
from flint import arb
from scipy import special, stats

import shuffledp as sd
from enumerated import ball
from laws import blanket_pair, dataset_pair
from randomizers.noise import in_order, some
from randomizers.sources import LEAST_P_VALUE
from shuffledp.randomizers import density_law

TINY = arb(10) ** -60
CELLS = 4096  # as the engine asks for


def logistic(scale=0.5, **more):
    return sd.Density(
        logpdf=lambda z: (
            special.log_expit(z / scale) + special.log_expit(-z / scale) - math.log(scale)
        ),
        cdf=lambda z: special.expit(z / scale),
        **{"log_concave": True, **more},
    )


def student(**more):
    """Three degrees of freedom; the distribution function from the side that keeps its digits."""

    def cdf(z):
        far = 0.5 * special.betainc(1.5, 0.5, 3.0 / (3.0 + z * z))
        near = 0.5 - 0.5 * special.betainc(0.5, 1.5, z * z / (3.0 + z * z))
        tail = np.where(np.abs(z) > 1.0, far, near)
        return np.where(z < 0.0, tail, 1.0 - tail)

    top = math.log(2.0 / (math.pi * math.sqrt(3.0)))
    return sd.Density(logpdf=lambda z: top - 2.0 * np.log1p(z * z / 3.0), cdf=cdf, **more)


def gumbel(**more):
    given = {
        "logpdf": lambda z: -z - np.exp(-z),
        "cdf": lambda z: np.exp(-np.exp(-z)),
        "sf": lambda z: -np.expm1(-np.exp(-z)),
        "symmetric": False,
        "log_concave": True,
    }
    return sd.Density(**{**given, **more})


def two_peaks(**more):
    """Normal noise of deviation 1/2 around -1 or 1: it turns at 0 and a little inside of -1, 1."""
    return sd.Density(
        pdf=lambda z: (np.exp(-2.0 * (z - 1.0) ** 2) + np.exp(-2.0 * (z + 1.0) ** 2)) * PEAK,
        cdf=lambda z: 0.5 * (special.ndtr(2.0 * (z - 1.0)) + special.ndtr(2.0 * (z + 1.0))),
        **{"turns": (TURN,), **more},
    )


PEAK = 1.0 / math.sqrt(2.0 * math.pi)
TURN = 0.9993267172345966  # z = tanh 4z
MADE = {"logistic": logistic, "student": student, "gumbel": gumbel, "two peaks": two_peaks}


@functools.cache
def made(name):
    return MADE[name]()


def exact_log(name, z):
    z = ball(z)
    if name == "logistic":
        return (-2 * z).exp().log1p() * -2 - 2 * z + arb(2).log()
    if name == "student":
        return (2 / (arb.pi() * arb(3).sqrt())).log() - 2 * (z * z / 3).log1p()
    if name == "gumbel":
        return -z - (-z).exp()
    return (((-2 * (z - 1) ** 2).exp() + (-2 * (z + 1) ** 2).exp()) / (2 * arb.pi()).sqrt()).log()


def exact_mass(name, a, b):
    a, b = ball(a), ball(b)
    if name == "logistic":
        return 1 / (1 + (-2 * b).exp()) - 1 / (1 + (-2 * a).exp())
    if name == "student":

        def cdf(z):
            root = arb(3).sqrt()
            return (z / root / (1 + z * z / 3) + (z / root).atan()) / arb.pi()

        return cdf(b) - cdf(a)
    if name == "gumbel":
        return (-(-b).exp()).exp() - (-(-a).exp()).exp()

    def upper(z):
        return (arb(2).sqrt() * z).erf() / 4

    return upper(b - 1) - upper(a - 1) + upper(b + 1) - upper(a + 1)


@pytest.mark.parametrize("name", MADE)
def test_masses_on_every_kind_of_cell(name):
    randomizer = made(name)
    places = np.array([0.0, 0.375, 1.0])
    law = randomizer.law((0.0, 0.375, 1.0), cells=CELLS)
    edges = density_law._cut_points(randomizer._shape, places, CELLS)
    assert law.blanket.size == edges.size - 1
    assert law.rel < 1e-7
    for j in some(60, law.blanket.size):
        for i, x in enumerate(places):
            exact = exact_mass(name, ball(edges[j]) - x, ball(edges[j + 1]) - x)
            if exact > TINY:
                assert abs(ball(float(law.mass[i, j])) - exact) <= ball(law.rel) * exact, (j, x)
    for i in range(3):
        assert abs(math.fsum(law.mass[i]) + law.tail - 1.0) <= law.rel + law.tail + 1e-13


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("x2", [None, 0.375])
def test_ranges_hold_inside_the_cells(name, x2):
    """Ratios at points inside; the blanket's density is at most that of any input."""
    randomizer = made(name)
    inputs = (0.0, 1.0) if x2 is None else (0.0, 1.0, x2)
    law = randomizer.law(inputs, cells=CELLS)
    edges = density_law._cut_points(randomizer._shape, np.array(inputs), CELLS)
    make = blanket_pair if x2 is None else dataset_pair
    pair = make(randomizer, *inputs, n=10, cells=CELLS)
    reference = law.blanket if x2 is None else law.mass[2]
    kept = in_order(pair.w, reference)
    seen = 0
    for i in some(70, pair.w.size):
        j = kept[i]
        left, right = edges[j], edges[j + 1]
        for y in left + (right - left) * np.array([1e-3, 0.2, 0.5, 0.7, 0.999]):
            rows = [exact_log(name, ball(y) - x) for x in (0.0, 1.0)]
            base = blanket_log(law, j, name, y) if x2 is None else exact_log(name, ball(y) - x2)
            for row, low, high in (
                (rows[0], pair.ranges.a_low[i], pair.ranges.a_high[i]),
                (rows[1], pair.ranges.b_low[i], pair.ranges.b_high[i]),
            ):
                ratio = (row - base).exp()
                assert ball(float(low)) <= ratio <= ball(float(high)), (j, float(y))
                seen += 1
    assert seen > 200


def blanket_log(edges, j, name, y):
    """log of the blanket's density at y: an end's or a constant, and below every input's."""
    at = [exact_log(name, ball(y) - x) for x in (0.0, 1.0)]
    ends = float(edges.blanket_left[j]), float(edges.blanket_right[j])
    rows = [(float(edges.left[k][j]), float(edges.right[k][j])) for k in (0, 1)]
    found = at[rows.index(ends)] if ends in rows else ball(ends[0])
    assert ends in rows or ends[0] == ends[1]
    for x in np.linspace(0.0, 1.0, 41):
        assert found <= exact_log(name, ball(y) - x) + arb(10) ** -12
    return found


def test_ratios_that_turn_inside_a_cell():
    """Student noise: f(y)/f(y - 1) is largest and smallest inside of cells, not at their edges."""
    pair = dataset_pair(made("student"), 0.0, 1.0, 1.0, n=10, cells=CELLS)
    law = made("student").law((0.0, 1.0, 1.0), cells=CELLS)
    edges = density_law._cut_points(made("student")._shape, np.array([0.0, 1.0, 1.0]), CELLS)
    kept = in_order(pair.w, law.mass[2])
    for y in ((1.0 - math.sqrt(13.0)) / 2.0, (1.0 + math.sqrt(13.0)) / 2.0):
        i = kept.index(int(np.searchsorted(edges, y)) - 1)
        ratio = (exact_log("student", ball(y)) - exact_log("student", ball(y) - 1)).exp()
        ends = [exact_log("student", ball(v)) - exact_log("student", ball(v) - 1) for v in
                (edges[kept[i]], edges[kept[i] + 1])]  # fmt: skip
        assert (ratio.log() - ends[0]) * (ratio.log() - ends[1]) > 0
        assert ball(float(pair.ranges.a_low[i])) <= ratio <= ball(float(pair.ranges.a_high[i]))


def test_ranges_where_the_blanket_is_a_constant():
    """There a density may vary as its slopes around say, and ranges are as much wider."""
    edges = made("gumbel").law((0.0, 1.0), cells=CELLS)
    constant = edges.blanket_left == edges.blanket_right
    assert 1 <= np.count_nonzero(constant & (edges.err < 1.0)) <= 4
    for j in np.flatnonzero(constant & (edges.err < 1.0)):
        change = np.abs(edges.left[:, j] - edges.right[:, j]).max()
        assert change <= edges.err[j] <= 20.0 * change


@pytest.mark.many(2)
@pytest.mark.parametrize("name", MADE)
def test_hardly_any_of_the_blanket_is_given_away(name):
    law = made(name).law((0.0, 1.0), cells=8000)
    y = np.linspace(-40.0, 41.0, 200_001)
    density = made(name)._shape.logs
    lowest = np.min([density(y - x) for x in np.linspace(0.0, 1.0, 101)], axis=0)
    gamma = float(np.trapezoid(np.exp(lowest), y))
    assert gamma * (1 - 1e-3) <= law.blanket.sum() <= gamma * (1 + 1e-3)


def test_a_density_is_the_mechanism_it_describes():
    """Gaussian and Laplace noise by their functions: the brackets overlap, and are as narrow."""
    top = math.log(2.0 * math.pi) / 2.0
    same = [
        (sd.Gaussian(sigma=1.0), lambda z: -0.5 * z * z - top, special.ndtr),
        (sd.Laplace(eps0=2.0), lambda z: -2.0 * np.abs(z), stats.laplace(scale=0.5).cdf),
    ]
    for known, logpdf, cdf in same:
        mine = sd.Density(logpdf=logpdf, cdf=cdf, log_concave=True)
        for analysis in ("blanket", "dataset"):
            a, b = (
                sd.shuffle(r, n=200, rtol=1e-4).delta(epsilon=0.4, analysis=analysis)
                for r in (known, mine)
            )
            if analysis == "blanket":
                assert a.upper == pytest.approx(b.upper, rel=2e-3)
            else:
                assert a.lower == pytest.approx(b.lower, rel=2e-3)


@functools.cache
def grid_of(name):
    y = np.linspace(-14.0, 15.0, 1201)
    return y, {x: np.exp(made(name)._shape.logs(y - x)) for x in (0.0, 0.5, 1.0)}


def small_delta(name, x0, x1, x2, n, epsilon):
    """Integral over all outputs of n = 1, 2, 3 users."""
    y, f = grid_of(name)
    step, grow = y[1] - y[0], math.exp(epsilon)
    if n == 1:
        return float(np.maximum(f[x0] - grow * f[x1], 0.0).sum() * step)
    gain = f[x0] - grow * f[x1]
    if n == 2:
        both = np.outer(gain, f[x2])
        return float(np.maximum(both + both.T, 0.0).sum() * step**2 / 2)
    near = slice(200, 1000, 6)
    gain, other, step = gain[near], f[x2][near], step * 6
    first = gain[:, None, None] * other[:, None] * other
    return float(
        np.maximum(first + first.transpose(1, 0, 2) + first.transpose(1, 2, 0), 0.0).sum()
        * step**3
        / 3
    )


@pytest.mark.many(1)
@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("n", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_small_n_by_integration(name, n):
    epsilon = 0.3
    bound = sd.shuffle(made(name), n=n, rtol=1e-3).delta(epsilon=epsilon)
    exact = [
        small_delta(name, x0, x1, x2, n, epsilon)
        for x0, x1 in itertools.permutations((0.0, 0.5, 1.0), 2)
        for x2 in (0.0, 0.5, 1.0)
    ]
    slack = {1: 1e-4, 2: 1e-4, 3: 2e-3}[n] * (10 if name == "student" else 1)
    assert max(exact) <= bound.upper * (1.0 + slack)
    assert bound.lower <= max(exact) * (1.0 + slack)
    assert n > 1 or bound.lower >= max(exact) * (1.0 - slack)


def test_what_is_taken_for_granted_is_printed():
    bound = sd.shuffle(made("logistic"), n=50, rtol=1e-2).delta(epsilon=0.5)
    words = " | ".join(bound.assumptions)
    assert "logpdf, cdf belong to one density, to a relative error of 1e-14" in words
    assert "symmetric and log-concave" in words
    assert "assumed" not in words
    assert bound.upper_theorem.provenance == "proved here"
    other = sd.shuffle(made("gumbel"), n=50, rtol=1e-2)
    bound = other.delta(epsilon=0.5)
    words = " | ".join(bound.assumptions)
    assert "among the 6 ordered pairs of 3 inputs that were evaluated: assumed" in words
    assert bound.upper_theorem.provenance == "assumed"
    assert "assumed" in str(bound)
    published = sd.shuffle(made("gumbel"), n=50, rtol=1e-2, trust="published")
    assert published.delta(epsilon=0.5).upper == 1.0
    inside = sd.Joint(randomizers=(made("logistic"), sd.KRR(k=3, eps0=1.0)))
    assert made("logistic").assumptions()[0] in inside.assumptions()


def test_it_is_code_and_not_a_description():
    assert "density" not in sd.randomizer_names()
    for call in (made("logistic").to_dict, made("logistic").parameters):
        with pytest.raises(sd.NotCertified, match="cannot be written to a file"):
            call()
    with pytest.raises(sd.ParameterError, match="made of code"):
        sd.randomizer_from_dict({"name": "density"})


def test_the_local_guarantee_is_checked():
    assert logistic(eps0=2.0).eps0 == 2.0
    assert sd.shuffle(logistic(eps0=2.0), n=1, rtol=1e-2).epsilon(delta=1e-9).upper <= 2.0
    with pytest.raises(sd.ParameterError, match="eps0"):
        logistic(eps0=1.9)


def changed(**other):
    def build():
        given = {
            "logpdf": lambda z: special.log_expit(2 * z) + special.log_expit(-2 * z) + math.log(2),
            "cdf": lambda z: special.expit(2 * z),
            "log_concave": True,
        }
        return sd.Density(**{**given, **other})

    return build


def wavy(z):
    return special.expit(2 * z) * (1.0 + 1e-3 * np.sin(40.0 * z) * np.exp(-z * z))


REFUSED = {
    "cdf that falls": (changed(cdf=wavy, rel=1e-9), "cdf"),
    "cdf of another scale": (changed(cdf=lambda z: special.expit(2.001 * z)), "density says"),
    "cdf shifted": (changed(cdf=lambda z: special.expit(2 * z + 1e-9)), "cdf"),
    "cdf without small digits": (changed(cdf=lambda z: 0.5 + 0.5 * np.tanh(z)), "density says"),
    "cdf above 1": (changed(cdf=lambda z: 1.1 * special.expit(2 * z)), "probability"),
    "cdf that is nan": (changed(cdf=lambda z: z * math.nan), "probability"),
    "cdf of one number": (changed(cdf=lambda _: 0.5), "shape"),
    "cdf that fails": (changed(cdf=float), "array"),
    "cdf is no function": (changed(cdf=0.5), "cdf"),
    "not normalised": (changed(logpdf=lambda z: -2 * np.abs(z)), "density says"),
    "nan": (changed(logpdf=lambda z: np.where(z > 3, math.nan, 0.0)), "nan"),
    "infinite": (changed(logpdf=lambda z: np.where(z > 3, math.inf, 0.0)), "inf"),
    "neither density": (changed(logpdf=None), "logpdf"),
    "both densities": (changed(pdf=lambda z: 0 * z), "logpdf"),
    "negative density": (changed(logpdf=None, pdf=lambda z: -np.exp(-z * z)), "pdf"),
    "not symmetric": (lambda: gumbel(symmetric=True), "symmetric"),
    "cdf not symmetric": (lambda: gumbel(symmetric=True, sf=None), "cdf"),
    "not log-concave": (lambda: student(log_concave=True), "concave"),
    "a peak elsewhere": (lambda: two_peaks(turns=(0.0,)), "turns"),
    "a valley at 0": (lambda: two_peaks(log_concave=True), "concave"),
    "no sf": (changed(symmetric=False), "sf is missing"),
    "turns": (changed(turns=0.5, log_concave=False), "turns"),
    "rel": (changed(rel=1e-3), "rel"),
    "reach": (changed(reach=0.5), "reach"),
    "grid": (changed(grid=1), "grid"),
    "interval": (changed(low=1.0, high=1.0), "high"),
    "symmetric": (changed(symmetric="yes"), "symmetric"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    build, words = REFUSED[case]
    with pytest.raises(sd.ParameterError, match=words):
        build()


def test_too_few_digits_to_certify():
    with pytest.raises(sd.NotCertified, match="rel"):
        logistic(rel=1e-9)


def test_reach_stops_where_the_functions_do():
    """A distribution function without small digits will do for large deltas."""
    rough = sd.Density(
        logpdf=lambda z: special.log_expit(2 * z) + special.log_expit(-2 * z) + math.log(2),
        cdf=lambda z: np.where(np.abs(z) <= 12.0, special.expit(2 * z), math.nan),
        log_concave=True,
        reach=12.0,
    )
    law = rough.law((0.0, 1.0))
    edges = density_law._cut_points(rough._shape, np.array([0.0, 1.0]), 1 << 15)
    for x in (0.0, 1.0):
        outside = special.expit(2 * (edges[0] - x)) + special.expit(-2 * (edges[-1] - x))
        assert 1e-10 < outside <= law.tail <= 2e-9
    bounds = [sd.shuffle(r, n=100, rtol=1e-2).delta(epsilon=0.5) for r in (rough, made("logistic"))]
    assert bounds[0].upper == pytest.approx(bounds[1].upper, rel=1e-3)


LAWS = {
    "logistic": stats.logistic(scale=0.5),
    "student": stats.t(3),
    "gumbel": stats.gumbel_r(),
}


@pytest.mark.many(1)
@pytest.mark.parametrize("name", LAWS)
def test_sampler_and_estimator(name):
    randomizer, law = made(name), LAWS[name]
    noise = randomizer.simulate(np.full(20_000, 0.25), seed=5) - 0.25
    assert stats.kstest(noise, law.cdf).pvalue > LEAST_P_VALUE
    assert randomizer.variance() == pytest.approx(law.var(), rel=1e-5)
    found = randomizer.estimate(randomizer.simulate(np.full(20_000, 0.75), seed=6))
    assert abs(found.mean - 0.75) <= 5.5 * found.standard_error


def test_reports_are_points_of_a_lattice():
    randomizer = made("logistic")
    reports = randomizer.simulate(np.linspace(0.0, 1.0, 500), seed=1)
    cells = reports * 2.0**randomizer.lattice.bits - 0.5
    assert np.array_equal(cells, np.round(cells))


def test_no_variance():
    cauchy = sd.Density(
        pdf=lambda z: 1.0 / (math.pi * (1.0 + z * z)),
        cdf=lambda z: (
            np.where(z < 0.0, np.arctan(1.0 / np.maximum(-z, 1e-300)), math.pi - np.arctan2(1.0, z))
            / math.pi
        ),
    )
    with pytest.raises(sd.NotCertified, match="variance"):
        cauchy.variance()
    bound = sd.shuffle(cauchy, n=100, rtol=1e-2).delta(epsilon=0.1)
    assert 0.0 < bound.lower < bound.upper < 1.0
