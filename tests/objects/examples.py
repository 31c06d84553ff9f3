"""One of every mechanism and protocol, and another value of each of their fields."""

import numpy as np

import shuffledp as sd
from shuffledp.multimessage.base import protocol_class, protocol_names
from shuffledp.randomizers.base import randomizer_class, randomizer_names


def logistic(z):
    """log of the standard logistic density."""
    return -np.abs(z) - 2.0 * np.log1p(np.exp(-np.abs(z)))


def logistic_below(z):
    """Its distribution function."""
    return np.where(z < 0.0, np.exp(np.minimum(z, 0.0)), 1.0) / (1.0 + np.exp(-np.abs(z)))


ROWS = ((0.75, 0.125, 0.125), (0.25, 0.5, 0.25))
TWO = (sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.5))
# The arguments of one of each; its parameters' other values.
ARGUMENTS = {
    "balcer-cheu": {"p": 0.75},
    "balcer-et-al": {"blankets": 3},
    "balls-into-bins": {"d": 8, "s": 2, "blankets": 3},
    "binary-rr": {"eps0": 1.0},
    "blh": {"domain": 20, "eps0": 1.0},
    "channel": {"matrix": ROWS},
    "cheu-zhilyaev": {"d": 4, "f": 0.25, "blankets": 3},
    "clamped-laplace": {"eps0": 1.0},
    "discrete-gaussian": {"top": 4, "sigma": 3.0},
    "discrete-laplace": {"top": 4, "eps0": 1.0},
    "duchi": {"eps0": 1.0},
    "extremal": {"pattern": ((1, 0, 1), (0, 1, 1)), "eps0": 1.0},
    "gaussian": {"sigma": 1.0},
    "gaussian-ball": {"d": 3, "sigma": 2.0},
    "generalized-gaussian": {"shape": 3.0, "scale": 2.0},
    "hadamard-response": {"domain": 9, "eps0": 1.0},
    "hierarchy": {"domain": 20, "eps0": 1.0},
    "hybrid": {"eps0": 1.0},
    "joint": {"randomizers": TWO},
    "k-rr": {"k": 10, "eps0": 4.0},
    "laplace": {"eps0": 1.0},
    "laplace-ball": {"d": 3, "scale": 1.0},
    "local-hash": {"domain": 20, "l": 3, "eps0": 1.0},
    "metric-laplace": {"scale": 1.0},
    "mix-dump": {"d": 4, "f": 0.25, "blankets": 3},
    "olh": {"domain": 20, "eps0": 1.0},
    "oue": {"d": 10, "eps0": 1.0},
    "parallel": {"randomizers": TWO, "weights": (0.25, 0.75)},
    "pckv-grr": {"domain": 10, "s": 2, "eps0": 1.0},
    "pi-rappor": {"domain": 20, "eps0": 1.0},
    "piecewise": {"eps0": 1.0},
    "poisson-subsample": {"randomizer": TWO[0], "rate": 0.5},
    "privunit": {"d": 4, "c": 0.25, "eps0": 1.0},
    "projective-geometry": {"domain": 20, "eps0": 1.0},
    "pure-dump": {"d": 4, "blankets": 3},
    "rappor": {"d": 10, "eps0": 1.0},
    "sampling-rappor": {"d": 10, "s": 2, "eps0": 1.0},
    "staircase": {"eps0": 1.0},
    "subset": {"d": 30, "eps0": 1.0},
    "truncated-laplace": {"eps0": 1.0},
    "wheel": {"domain": 20, "s": 2, "eps0": 1.0},
}
# Other values by parameter; of several the first that the mechanism takes, given the rest.
OTHERS = {
    "base": ("rappor",),
    "binary": (True,),
    "blankets": (5,),
    "blocks": (3,),
    "branching": (2,),
    "c": (0.5,),
    "clamped": (True,),
    "d": (12,),
    "distance": (0.25,),
    "domain": (12,),
    "eps0": (2.5,),
    "f": (0.125,),
    "hamming": (1,),
    "high": (2.0,),
    "k": (3,),
    "l": (4,),
    "low": (-2.0,),
    "margin": (1.0,),
    "matrix": (((0.5, 0.5), (0.25, 0.75)),),
    "p": (0.0625,),
    "padding": (True,),
    "pattern": (((1, 0), (0, 1)),),
    "q": (7,),
    "radius": (2.0,),
    "randomizer": (sd.KRR(k=4, eps0=2.0),),
    "randomizers": ((sd.KRR(k=4, eps0=2.0), sd.KRR(k=2, eps0=1.0)),),
    "rate": (0.25,),
    "s": (1,),
    "scale": (4.0,),
    "shape": (2.5,),
    "sigma": (4.0,),
    "top": (6,),
    "weights": ((0.5, 0.5),),
    "width": (0.25,),
}
# What another value of one field asks of another.
WITH = {("discrete-gaussian", "margin"): {"clamped": True, "margin": 3}}


def class_of(name):
    """The class of a mechanism or a protocol."""
    return protocol_class(name) if name in protocol_names() else randomizer_class(name)


NAMES = sorted((*randomizer_names(), *protocol_names()))
DENSITY = sd.Density(cdf=logistic_below, logpdf=logistic, log_concave=True, eps0=1.0)


def example(name):
    """One of them."""
    return class_of(name)(**ARGUMENTS[name])
