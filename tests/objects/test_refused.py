"""What mechanisms refuse beyond single parameters: one table for all, by name, value and place."""

import dataclasses
import math

import numpy as np
import pytest

import shuffledp as sd
from objects.examples import ARGUMENTS, NAMES, class_of, example
from shuffledp.randomizers import randomizer_names

BIT = sd.BinaryRR(eps0=1.0)
BITS = sd.Parallel([BIT, BIT], weights=[0.5, 0.5])
LATTICE = sd.DiscreteLaplace(top=3, eps0=1.0)
BALL = sd.GaussianBall(d=2, sigma=1.0)
PAIRS = sd.PCKVGRR(domain=5, s=2, eps0=1.0)
ARCS = sd.Wheel(domain=50, s=2, eps0=1.0)
TREE = sd.Hierarchy(domain=9, branching=2, eps0=1.0)


def chosen(reports, choice):
    """Reports of a mechanism that says which part was drawn."""
    reports["choice"] = choice
    return reports


def estimates():
    return TREE.estimate(TREE.simulate([1] * 100, seed=1))


MADE = [
    *((lambda q=q, kind=kind: kind(domain=10, eps0=1.0, q=q), "^q = ")
      for q in (1, 4, 9, 2.5, True, 2**31 + 11, 46337 * 46327)
      for kind in (sd.PIRAPPOR, sd.ProjectiveGeometry)),
    *((lambda w=w: sd.Parallel([BIT] * 2, weights=w), "weights")
      for w in ([0.5], [0.5, 0.6], [1.0, 0.0], [1.5, -0.5], "ab", None)),
    (lambda: sd.Joint([]), "number of randomizers = 0"),
    (lambda: sd.Joint("k-rr"), "randomizers = 'k-rr'"),
    (lambda: sd.Joint([BIT], hamming=2), "hamming = 2"),
    (lambda: sd.PoissonSubsample(3, rate=0.5), "randomizers = 3"),
    (lambda: sd.HadamardResponse(domain=7, eps0=1.0, blocks=8), "blocks"),
    (lambda: sd.SubsetSelection(d=7, k=7, eps0=1.0), "k = 7"),
    (lambda: sd.SamplingRAPPOR(d=5, s=5, eps0=1.0), "s = 5"),
    (lambda: sd.SamplingRAPPOR(d=500, s=50, eps0=20.0), "eps0 = 20.0"),
    (lambda: sd.PCKVGRR(domain=2, s=3, eps0=1.0), "s = 3"),
    (lambda: sd.Wheel(domain=5, s=3, eps0=1.0), "domain = 5"),
    (lambda: sd.Wheel(domain=50, s=3, eps0=1.0, p=0.34), "p = 0.34"),
    (lambda: sd.Hierarchy(domain=9, eps0=1.0, base="laplace"), "base = 'laplace'"),
    (lambda: sd.DiscreteGaussian(top=3, sigma=1e6), "integers"),
    (lambda: sd.GeneralizedGaussian(shape=2.0, scale=1e-5), r"\(high - low\)/scale"),
    (lambda: sd.MetricLaplace(scale=1e-3), "scale"),
    (lambda: sd.MetricLaplace(scale=1.0, distance=1.5), "distance"),
    (lambda: sd.GaussianBall(d=2, sigma=0.01), "radius/sigma"),
    (lambda: sd.LaplaceBall(d=17, scale=1.0), "d = 17"),
    (lambda: sd.LaplaceBall(d=2, scale=1e-3), "2 radius/scale"),
    (lambda: sd.LaplaceBall(d=2, scale=1.0, distance=2.5), "distance"),
    (lambda: sd.Laplace.from_scale(1.0, low=2.0), "high"),
    (lambda: sd.Density(pdf=3.0, outputs=(-2.0, 3.0)), "a function"),
    (lambda: sd.Density(pdf=abs, outputs=(1.0, 1.0)), "an interval"),
    (lambda: sd.BallsIntoBins(d=5, s=3, blankets=1), "s = 3"),
    (lambda: sd.MixDUMP(d=4, f=0.75, blankets=1), "f = 0.75"),
    (lambda: sd.PureDUMP(d=5, blankets=10**9).pairs(10**9), "blanket messages"),
    (lambda: sd.mechanism_from_dict({"name": "dump"}), "mechanism name = 'dump'"),
    (lambda: sd.mechanism_from_dict({"name": "pure-dump", "d": 3}), "blankets is missing"),
    (lambda: sd.mechanism_from_dict({"name": "pure-dump", "d": 3, "blankets": 1, "f": 0.1}),
     "parameter = 'f'"),
]  # fmt: skip
VALUES = [
    (lambda: LATTICE.randomize([0, 4]), r"values\[1\] = 4"),
    (lambda: BALL.randomize([[2.0, 0.0]]), r"length of values\[0\]"),
    (lambda: BALL.randomize([[0.0, math.nan]]), r"values\[0\]"),
    (lambda: BALL.randomize([0.0, 0.1]), "values shape"),
    (lambda: sd.PrivUnit(d=2, c=0.3, eps0=1.0).randomize([[1.0, 1.0]]), r"length of values\[0\]"),
    (lambda: PAIRS.randomize([[0, 1]]), "values shape"),
    (lambda: PAIRS.randomize([[[0, 1.0], [0, -1.0]]]), r"keys of values\[0\]"),
    (lambda: PAIRS.randomize([[[0, 1.0], [5, 0.0]]]), r"values\[0, 1\] = \[5.0, 0.0\]"),
    (lambda: PAIRS.randomize([[[0, 1.0], [1, 1.5]]]), r"values\[0, 1\]"),
    (lambda: PAIRS.randomize([[["a", 1.0], [1, 0.0]]]), "values = "),
    (lambda: ARCS.randomize([[4, 4]]), "different items"),
    (lambda: sd.SamplingRAPPOR(d=5, s=2, eps0=1.0).randomize([[0, 5]]), "row by row.* = 5"),
    (lambda: sd.Joint([BIT]).simulate([0, 1], seed=1), r"values\[0\] = 0"),
    (lambda: sd.Joint([BIT]).simulate([(2,)], seed=1), r"values\[0\] = 2"),
    (lambda: TREE.simulate([9], seed=1), r"values\[0\] = 9"),
]
REPORTS = [
    (lambda: sd.KRR(k=5, eps0=1.0).aggregate(np.array([0, 5, 9])), r"\[1\] = 5: .*\(2 of 3 are"),
    (lambda: sd.KRR(k=5, eps0=1.0).aggregate(np.array([0.0, 1.0])), "integer type"),
    (lambda: sd.KRR(k=5, eps0=1.0).aggregate(np.array([[0, 1]])), "reports shape"),
    (lambda: sd.RAPPOR(d=9, eps0=1.0).aggregate(np.zeros((3, 1), np.uint8)), r"wanted \(n, 2\)"),
    (lambda: sd.RAPPOR(d=9, eps0=1.0).aggregate(np.array([[0, 1]], np.uint8)), "last byte of"),
    (lambda: sd.LocalHash(domain=5, l=3, eps0=1.0).aggregate(np.zeros((2, 3), int)), "shape"),
    (lambda: sd.LocalHash(domain=5, l=3, eps0=1.0).aggregate(np.full((1, 4), 3)), "wanted numbers"),
    (lambda: sd.HadamardResponse(domain=7, eps0=1.0).aggregate(np.array([15, 16])), r"reports\["),
    (lambda: sd.SubsetSelection(d=7, k=2, eps0=1.0).aggregate(np.array([[2, 2]])), "increasing"),
    (lambda: sd.PIRAPPOR(domain=9, q=3, eps0=1.0).aggregate(np.array([[0, 1, 3]])), "report"),
    (lambda: sd.ProjectiveGeometry(domain=9, q=3, eps0=1.0).aggregate(np.array([13])), "report"),
    (lambda: LATTICE.aggregate(np.array([0.5])), r"reports\[0\] = 0.5"),
    (lambda: sd.DiscreteLaplace(top=4, eps0=1.0, clamped=True).aggregate(np.array([5])), "= 5"),
    (lambda: sd.Duchi(eps0=1.0).aggregate(np.array([77])), r"reports\[0\] = 77"),
    (lambda: sd.Piecewise(eps0=1.0).aggregate(np.array([77.0])), r"reports\[0\] = 77"),
    (lambda: sd.ClampedLaplace(eps0=1.0).aggregate(np.array([7.0])), r"reports\[0\]"),
    (lambda: sd.GeneralizedGaussian(shape=2.0, scale=1.0).aggregate(np.array([math.nan])), "nan"),
    (lambda: BALL.aggregate(np.array([[math.inf, 0.0]])), r"reports\[0\]"),
    (lambda: sd.Joint([BIT]).aggregate(np.zeros(3)), "reports fields"),
    (lambda: BITS.aggregate(chosen(BITS.simulate([(0, 1)], seed=1), 2)), r"choice\[0\] = 2"),
    (lambda: TREE.estimate(TREE.simulate([1], seed=1)), "at least one at every level"),
    (lambda: estimates().range(5, 3), "high = 3"),
    (lambda: estimates().range(0, 10), "high = 10"),
]
LAWS = [
    (LATTICE, (0, 4)),
    (sd.KRR(k=3, eps0=1.0), (0, 3)),
    (TREE, (0, 9)),
    (sd.Joint([BIT]), (0, 1)),
    (sd.Joint([BIT]), ((0, 1), (1, 0))),
    *((ARCS, inputs) for inputs in ((-1, 1), (-3, -1), ("0", 1), (0, 25))),
]


@pytest.mark.parametrize(("call", "words"), [*MADE, *VALUES, *REPORTS])
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(sd.ParameterError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("mechanism", "inputs"), LAWS)
def test_inputs_that_no_law_knows(mechanism, inputs):
    with pytest.raises(sd.ParameterError, match="input"):
        mechanism.output_law(inputs)


INTERVALS = [
    name for name in NAMES if "high" in {field.name for field in dataclasses.fields(class_of(name))}
]

ITEMS = [name for name in randomizer_names() if hasattr(example(name), "items")]


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_and_values_beyond_them(name):
    for wrong in ({"low": 5.0, "high": 5.0}, {"low": 5.0, "high": 1.0}, {"high": math.nan}):
        with pytest.raises(sd.ParameterError, match="high"):
            class_of(name)(**{**ARGUMENTS[name], **wrong})
    mechanism = example(name)
    for bad in (mechanism.high + 1.0, math.nan):
        with pytest.raises(sd.ParameterError, match=r"values\[1\] = "):
            mechanism.randomize([mechanism.low, bad])


@pytest.mark.parametrize("name", ITEMS)
def test_items_beyond_the_domain(name):
    mechanism = example(name)
    sets = name in {"sampling-rappor", "wheel", "pckv-grr", "parallel"}
    for bad in (-1, mechanism.items):
        with pytest.raises(sd.ParameterError, match="values"):
            mechanism.randomize([[0, bad]] if sets else [0, bad])
