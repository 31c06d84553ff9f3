"""One record a mechanism or protocol: what tests that go over all of them need to know of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import shuffledp as sd

End = Literal["largest", "smallest"]
ENDS = get_args(End)


@dataclass(frozen=True)
class Entry:
    """A mechanism's record.

    Attributes
    ----------
    arguments : dict
        Of one of it.
    strong : dict
        Of another, whose reports are hardly private; frozen answers have it too.
    verified : sequence of str
        Parameters as a deployment's file has them, one for each case of its law; none if the
        verifier does not know it.
    verified_slowly, calibrated_slowly : bool
        Several seconds each: with wider ends, or among the long tests.
    family : callable
        Its parameter of privacy -> the mechanism.
    find, low, high : {"largest", "smallest"}, float, float
        Which end of that parameter calibration looks for, and, of the smallest, between which.
    apart : float, optional
        How far apart the values that meet a target and miss it may be, where brackets are wide.
    audited : sequence
        Mechanisms for each case of its reports' reading.
    """

    arguments: dict[str, Any]
    family: Callable[[float], Any]
    strong: dict[str, Any] = field(default_factory=dict)
    verified: Sequence[str] = ()
    verified_slowly: bool = False
    find: End = "largest"
    low: float = 0.05
    high: float = 100.0
    calibrated_slowly: bool = False
    apart: float | None = None
    audited: Sequence[Any] = ()

    def __post_init__(self):
        assert self.find in ENDS, self.find


ROWS = ((0.75, 0.125, 0.125), (0.25, 0.5, 0.25))
TWO = (sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.5))


def rr(e):
    """Rows of ternary randomized response."""
    stay = math.exp(e) / (math.exp(e) + 2)
    rest = (1 - stay) / 2
    return [[stay, rest, rest], [rest, stay, rest], [rest, rest, 1 - 2 * rest]]


def whole(m):
    """At least m, and one."""
    return max(1, math.ceil(m))


CATALOGUE = {
    "balcer-cheu": Entry(
        {"p": 0.75},
        family=lambda f: sd.BalcerCheu(p=1.0 - f),
        find="smallest",
        low=1e-6,
        high=0.5,
    ),
    "balcer-et-al": Entry(
        {"blankets": 3},
        family=lambda m: sd.BalcerEtAl(blankets=whole(m)),
        find="smallest",
        low=1.0,
        high=1e4,
    ),
    "balls-into-bins": Entry(
        {"d": 8, "s": 2, "blankets": 3},
        family=lambda m: sd.BallsIntoBins(
            d=20, s=2, blankets=whole(m), rate=min(1.0, m / whole(m))
        ),
        find="smallest",
        low=1e-6,
        high=1e4,
    ),
    "binary-rr": Entry(
        {"eps0": 1.0},
        strong={"eps0": 4.0},
        verified=["eps0 = 1.0"],
        family=lambda e: sd.BinaryRR(eps0=e),
        audited=[sd.BinaryRR(eps0=1.0)],
    ),
    "blh": Entry(
        {"domain": 20, "eps0": 1.0},
        strong={"domain": 20, "eps0": 4.0},
        verified=["domain = 10\neps0 = 1.5"],
        family=lambda e: sd.BLH(domain=20, eps0=e),
        audited=[sd.BLH(domain=10, eps0=1.0)],
    ),
    "channel": Entry(
        {"matrix": ROWS},
        verified=["matrix = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]"],
        family=lambda e: sd.Channel(matrix=rr(e)),
        calibrated_slowly=True,
        audited=[sd.Channel(matrix=((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)))],
    ),
    "cheu-zhilyaev": Entry(
        {"d": 4, "f": 0.25, "blankets": 3},
        family=lambda f: sd.CheuZhilyaev(d=20, f=f, blankets=1),
        find="smallest",
        low=1e-6,
        high=0.49,
    ),
    "clamped-laplace": Entry(
        {"eps0": 1.0},
        verified=["eps0 = 1.0\nlow = -1.0\nhigh = 2.0"],
        verified_slowly=True,
        family=lambda e: sd.ClampedLaplace(eps0=e),
        calibrated_slowly=True,
        audited=[sd.ClampedLaplace(eps0=1.0), sd.ClampedLaplace(eps0=1.0, margin=0.5)],
    ),
    "discrete-gaussian": Entry(
        {"top": 4, "sigma": 3.0},
        strong={"top": 10, "sigma": 5.0},
        verified=["top = 3\nsigma = 4.0"],
        verified_slowly=True,
        family=lambda s: sd.DiscreteGaussian(top=4, sigma=s),
        find="smallest",
        calibrated_slowly=True,
        audited=[sd.DiscreteGaussian(top=5, sigma=3.0)],
    ),
    "discrete-laplace": Entry(
        {"top": 4, "eps0": 1.0},
        strong={"top": 10, "eps0": 4.0},
        verified=["top = 6\neps0 = 1.5", "top = 1\neps0 = 1.5\nclamped = true"],
        family=lambda e: sd.DiscreteLaplace(top=4, eps0=e),
        audited=[
            sd.DiscreteLaplace(top=5, eps0=2.0),
            sd.DiscreteLaplace(top=5, eps0=2.0, clamped=True),
        ],
    ),
    "duchi": Entry(
        {"eps0": 1.0},
        strong={"eps0": 4.0},
        verified=["eps0 = 1.3"],
        family=lambda e: sd.Duchi(eps0=e),
        audited=[sd.Duchi(eps0=1.0)],
    ),
    "gaussian": Entry(
        {"sigma": 1.0},
        strong={"sigma": 2.0},
        verified=["sigma = 2.0"],
        verified_slowly=True,
        family=lambda s: sd.Gaussian(sigma=s),
        find="smallest",
        calibrated_slowly=True,
        audited=[sd.Gaussian(sigma=0.7)],
    ),
    "gaussian-ball": Entry(
        {"d": 3, "sigma": 2.0},
        family=lambda s: sd.GaussianBall(d=10, sigma=s),
        find="smallest",
        calibrated_slowly=True,
        apart=0.03,
        audited=[sd.GaussianBall(d=3, sigma=1.0)],
    ),
    "generalized-gaussian": Entry(
        {"shape": 3.0, "scale": 2.0},
        verified=["shape = 0.8\nscale = 2.0", "shape = 1.5\nscale = 3.0"],
        verified_slowly=True,
        family=lambda s: sd.GeneralizedGaussian(shape=1.5, scale=s),
        find="smallest",
        calibrated_slowly=True,
        audited=[
            sd.GeneralizedGaussian(shape=0.5, scale=0.3),
            sd.GeneralizedGaussian(shape=3.0, scale=1.0),
        ],
    ),
    "hadamard-response": Entry(
        {"domain": 9, "eps0": 1.0},
        strong={"domain": 15, "eps0": 4.0},
        verified=["domain = 6\neps0 = 2.0", "domain = 6\neps0 = 2.0\nblocks = 2"],
        family=lambda e: sd.HadamardResponse(domain=20, eps0=e),
        audited=[
            sd.HadamardResponse(domain=10, eps0=1.0),
            sd.HadamardResponse(domain=10, eps0=1.0, blocks=3),
        ],
    ),
    "hierarchy": Entry(
        {"domain": 20, "eps0": 1.0},
        verified=['domain = 30\neps0 = 1.0\nbase = "k-rr"'],
        family=lambda e: sd.Hierarchy(domain=16, eps0=e),
        calibrated_slowly=True,
        audited=[sd.Hierarchy(domain=20, eps0=1.0)],
    ),
    "hybrid": Entry(
        {"eps0": 1.0},
        verified=["eps0 = 1.3", "eps0 = 0.4"],
        family=lambda e: sd.Hybrid(eps0=e),
        calibrated_slowly=True,
        audited=[sd.Hybrid(eps0=2.0), sd.Hybrid(eps0=0.3)],
    ),
    "joint": Entry(
        {"randomizers": TWO},
        verified=[
            (
                'randomizers = [{ name = "k-rr", k = 4, eps0 = 1.0 }, '
                '{ name = "channel", matrix = [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]] }]'
            )
        ],
        family=lambda e: sd.Joint((sd.BinaryRR(eps0=e), sd.KRR(k=3, eps0=e))),
        audited=[sd.Joint([sd.KRR(k=4, eps0=1.0), sd.Laplace(eps0=1.0)])],
    ),
    "k-rr": Entry(
        {"k": 10, "eps0": 4.0},
        strong={"k": 2, "eps0": 4.0},
        verified=["k = 5\neps0 = 2.0"],
        family=lambda e: sd.KRR(k=10, eps0=e),
        audited=[sd.KRR(k=10, eps0=2.0), sd.KRR(k=200, eps0=2.0)],
    ),
    "laplace": Entry(
        {"eps0": 1.0},
        strong={"eps0": 4.0},
        verified=["eps0 = 1.0", "eps0 = 1.0\nlow = 0.1\nhigh = 0.7\nbinary = true"],
        verified_slowly=True,
        family=lambda e: sd.Laplace(eps0=e),
        audited=[sd.Laplace(eps0=1.0), sd.Laplace(eps0=3.0, low=-2.0, high=5.0)],
    ),
    "laplace-ball": Entry(
        {"d": 3, "scale": 1.0},
        family=lambda s: sd.LaplaceBall(d=2, scale=s),
        find="smallest",
        calibrated_slowly=True,
        audited=[sd.LaplaceBall(d=2, scale=0.5), sd.LaplaceBall(d=3, scale=0.5, distance=0.4)],
    ),
    "local-hash": Entry(
        {"domain": 20, "l": 3, "eps0": 1.0},
        verified=["domain = 9\nl = 3\neps0 = 1.0"],
        family=lambda e: sd.LocalHash(domain=20, l=4, eps0=e),
        audited=[sd.LocalHash(domain=3, l=5, eps0=2.0)],
    ),
    "metric-laplace": Entry(
        {"scale": 1.0},
        family=lambda s: sd.MetricLaplace(scale=s, distance=0.5),
        find="smallest",
        calibrated_slowly=True,
        audited=[sd.MetricLaplace(scale=0.5, distance=0.3)],
    ),
    "mix-dump": Entry(
        {"d": 4, "f": 0.25, "blankets": 3},
        family=lambda m: sd.MixDUMP(d=20, f=0.01, blankets=whole(m), rate=min(1.0, m / whole(m))),
        find="smallest",
        low=1e-6,
        high=1e4,
    ),
    "olh": Entry(
        {"domain": 20, "eps0": 1.0},
        strong={"domain": 1000, "eps0": 4.0},
        verified=["domain = 10\neps0 = 1.5"],
        family=lambda e: sd.OLH(domain=20, eps0=e),
        audited=[sd.OLH(domain=10, eps0=1.5)],
    ),
    "oue": Entry(
        {"d": 10, "eps0": 1.0},
        strong={"d": 10, "eps0": 4.0},
        verified=["d = 6\neps0 = 2.0"],
        family=lambda e: sd.OUE(d=20, eps0=e),
        audited=[sd.OUE(d=11, eps0=2.0)],
    ),
    "parallel": Entry(
        {"randomizers": TWO, "weights": (0.25, 0.75)},
        verified=[
            (
                'weights = [0.25, 0.75]\nrandomizers = [{ name = "duchi", eps0 = 0.5 }, '
                '{ name = "pckv-grr", domain = 4, s = 2, eps0 = 1.0 }]'
            )
        ],
        family=lambda e: sd.Parallel(
            (sd.KRR(k=3, eps0=e), sd.KRR(k=5, eps0=e)), weights=(0.5, 0.5)
        ),
        audited=[
            sd.Parallel([sd.KRR(k=4, eps0=1.0), sd.RAPPOR(d=4, eps0=1.0)], weights=[0.3, 0.7])
        ],
    ),
    "pckv-grr": Entry(
        {"domain": 10, "s": 2, "eps0": 1.0},
        verified=["domain = 7\ns = 3\neps0 = 1.4", "domain = 4\ns = 3\neps0 = 1.4\npadding = true"],
        family=lambda e: sd.PCKVGRR(domain=20, s=2, eps0=e),
        audited=[
            sd.PCKVGRR(domain=5, s=2, eps0=1.0),
            sd.PCKVGRR(domain=5, s=2, eps0=1.0, padding=True),
        ],
    ),
    "pi-rappor": Entry(
        {"domain": 20, "eps0": 1.0},
        strong={"domain": 1000, "eps0": 4.0},
        verified=["domain = 30\neps0 = 1.5", "domain = 6\neps0 = 0.5\nq = 5"],
        family=lambda e: sd.PIRAPPOR(domain=20, eps0=e),
        audited=[sd.PIRAPPOR(domain=10, eps0=1.5), sd.PIRAPPOR(domain=6, q=5, eps0=1.0)],
    ),
    "piecewise": Entry(
        {"eps0": 1.0},
        verified=["eps0 = 1.3\nlow = 0.0\nhigh = 10.0"],
        family=lambda e: sd.Piecewise(eps0=e),
        audited=[sd.Piecewise(eps0=1.0), sd.Piecewise(eps0=4.0)],
    ),
    "poisson-subsample": Entry(
        {"randomizer": TWO[0], "rate": 0.5},
        verified=['rate = 0.3\nrandomizer = { name = "piecewise", eps0 = 1.0 }'],
        family=lambda e: sd.PoissonSubsample(sd.KRR(k=4, eps0=e), rate=0.5),
        audited=[sd.PoissonSubsample(sd.KRR(k=4, eps0=1.0), rate=0.4)],
    ),
    "privunit": Entry(
        {"d": 4, "c": 0.25, "eps0": 1.0},
        verified=["d = 3\nc = 0.3\neps0 = 1.2", "d = 2\nc = 0.7\neps0 = 1.2"],
        family=lambda e: sd.PrivUnit(d=10, c=0.05, eps0=e),
        audited=[sd.PrivUnit.best(d=5, eps0=2.0), sd.PrivUnit(d=5, eps0=2.0, c=0.7)],
    ),
    "projective-geometry": Entry(
        {"domain": 20, "eps0": 1.0},
        strong={"domain": 1000, "eps0": 4.0},
        verified=["domain = 30\neps0 = 1.5", "domain = 6\neps0 = 0.5\nq = 5"],
        family=lambda e: sd.ProjectiveGeometry(domain=20, eps0=e),
        audited=[
            sd.ProjectiveGeometry(domain=10, eps0=1.5),
            sd.ProjectiveGeometry(domain=7, q=2, eps0=1.0),
            sd.ProjectiveGeometry(domain=11, q=7, eps0=1.0),
        ],
    ),
    "pure-dump": Entry(
        {"d": 4, "blankets": 3},
        family=lambda m: sd.PureDUMP(d=20, blankets=whole(m), rate=min(1.0, m / whole(m))),
        find="smallest",
        low=1e-6,
        high=1e4,
    ),
    "rappor": Entry(
        {"d": 10, "eps0": 1.0},
        strong={"d": 10, "eps0": 4.0},
        verified=["d = 6\neps0 = 2.0"],
        family=lambda e: sd.RAPPOR(d=20, eps0=e),
        calibrated_slowly=True,
        audited=[sd.RAPPOR(d=8, eps0=2.0)],
    ),
    "sampling-rappor": Entry(
        {"d": 10, "s": 2, "eps0": 1.0},
        verified=["d = 9\ns = 3\neps0 = 1.5", "d = 4\ns = 3\neps0 = 1.5"],
        family=lambda e: sd.SamplingRAPPOR(d=20, s=2, eps0=e),
        audited=[sd.SamplingRAPPOR(d=10, s=2, eps0=2.0)],
    ),
    "staircase": Entry(
        {"eps0": 1.0},
        strong={"eps0": 4.0},
        verified=["eps0 = 1.2\nlow = -1.0\nhigh = 4.0"],
        family=lambda e: sd.Staircase(eps0=e),
        calibrated_slowly=True,
        audited=[sd.Staircase(eps0=1.5)],
    ),
    "subset": Entry(
        {"d": 30, "eps0": 1.0},
        strong={"d": 128, "eps0": 4.0},
        verified=["d = 7\neps0 = 1.0"],
        family=lambda e: sd.SubsetSelection(d=20, eps0=e),
        audited=[sd.SubsetSelection(d=10, eps0=1.0), sd.SubsetSelection(d=2, eps0=1.0)],
    ),
    "truncated-laplace": Entry(
        {"eps0": 1.0},
        verified=["eps0 = 1.0\nmargin = 0.5", "eps0 = 0.7"],
        verified_slowly=True,
        family=lambda e: sd.TruncatedLaplace(eps0=e),
        audited=[sd.TruncatedLaplace(eps0=2.0), sd.TruncatedLaplace(eps0=2.0, margin=0.3)],
    ),
    "wheel": Entry(
        {"domain": 20, "s": 2, "eps0": 1.0},
        strong={"domain": 20, "s": 4, "eps0": 4.0},
        verified=["domain = 12\ns = 2\neps0 = 1.1"],
        family=lambda e: sd.Wheel(domain=20, s=2, eps0=e),
        audited=[sd.Wheel(domain=20, s=1, eps0=1.0), sd.Wheel(domain=20, s=3, eps0=1.0)],
    ),
}
