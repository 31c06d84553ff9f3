"""Every registered mechanism and protocol: calibrate, evaluate again, and the next value fails."""

import math

import pytest

import shuffledp as sd
from shuffledp.calibration import calibrate

N, EPSILON, DELTA, RTOL = 2000, 1.0, 1e-5, 2e-3


def rr(e):
    stay = math.exp(e) / (math.exp(e) + 2)
    rest = (1 - stay) / 2
    return [[stay, rest, rest], [rest, stay, rest], [rest, rest, 1 - 2 * rest]]


RING = ((1, 1, 0), (0, 1, 1), (1, 0, 1))
# Several seconds each.
SLOWER = {"channel", "clamped-laplace", "extremal", "hybrid", "rappor", "staircase", "hierarchy"}
LARGEST = {
    "binary-rr": lambda e: sd.BinaryRR(eps0=e),
    "blh": lambda e: sd.BLH(domain=20, eps0=e),
    "channel": lambda e: sd.Channel(matrix=rr(e)),
    "clamped-laplace": lambda e: sd.ClampedLaplace(eps0=e),
    "discrete-laplace": lambda e: sd.DiscreteLaplace(top=4, eps0=e),
    "duchi": lambda e: sd.Duchi(eps0=e),
    "extremal": lambda e: sd.Extremal(pattern=RING, eps0=e),
    "hadamard-response": lambda e: sd.HadamardResponse(domain=20, eps0=e),
    "hierarchy": lambda e: sd.Hierarchy(domain=16, eps0=e),
    "hybrid": lambda e: sd.Hybrid(eps0=e),
    "joint": lambda e: sd.Joint((sd.BinaryRR(eps0=e), sd.KRR(k=3, eps0=e))),
    "k-rr": lambda e: sd.KRR(k=10, eps0=e),
    "laplace": lambda e: sd.Laplace(eps0=e),
    "local-hash": lambda e: sd.LocalHash(domain=20, l=4, eps0=e),
    "olh": lambda e: sd.OLH(domain=20, eps0=e),
    "oue": lambda e: sd.OUE(d=20, eps0=e),
    "parallel": lambda e: sd.Parallel(
        (sd.KRR(k=3, eps0=e), sd.KRR(k=5, eps0=e)), weights=(0.5, 0.5)
    ),
    "pckv-grr": lambda e: sd.PCKVGRR(domain=20, s=2, eps0=e),
    "pi-rappor": lambda e: sd.PIRAPPOR(domain=20, eps0=e),
    "piecewise": lambda e: sd.Piecewise(eps0=e),
    "poisson-subsample": lambda e: sd.PoissonSubsample(sd.KRR(k=4, eps0=e), rate=0.5),
    "privunit": lambda e: sd.PrivUnit(d=10, c=0.05, eps0=e),
    "projective-geometry": lambda e: sd.ProjectiveGeometry(domain=20, eps0=e),
    "rappor": lambda e: sd.RAPPOR(d=20, eps0=e),
    "sampling-rappor": lambda e: sd.SamplingRAPPOR(d=20, s=2, eps0=e),
    "staircase": lambda e: sd.Staircase(eps0=e),
    "subset": lambda e: sd.SubsetSelection(d=20, eps0=e),
    "truncated-laplace": lambda e: sd.TruncatedLaplace(eps0=e),
    "wheel": lambda e: sd.Wheel(domain=20, s=2, eps0=e),
}
SMALLEST = {
    "discrete-gaussian": lambda s: sd.DiscreteGaussian(top=4, sigma=s),
    "gaussian": lambda s: sd.Gaussian(sigma=s),
    "gaussian-ball": lambda s: sd.GaussianBall(d=10, sigma=s),
    "generalized-gaussian": lambda s: sd.GeneralizedGaussian(shape=1.5, scale=s),
    "laplace-ball": lambda s: sd.LaplaceBall(d=2, scale=s),
    "metric-laplace": lambda s: sd.MetricLaplace(scale=s, distance=0.5),
}
SLOW = {
    "discrete-gaussian",
    "gaussian",
    "gaussian-ball",
    "generalized-gaussian",
    "laplace-ball",
    "metric-laplace",
}


def whole(m):
    return max(1, math.ceil(m))


PROTOCOLS = {
    "balcer-cheu": (lambda f: sd.BalcerCheu(p=1.0 - f), 1e-6, 0.5),
    "balcer-et-al": (lambda m: sd.BalcerEtAl(blankets=whole(m)), 1.0, 1e4),
    "balls-into-bins": (
        lambda m: sd.BallsIntoBins(d=20, s=2, blankets=whole(m), rate=min(1.0, m / whole(m))),
        1e-6,
        1e4,
    ),
    "cheu-zhilyaev": (lambda f: sd.CheuZhilyaev(d=20, f=f, blankets=1), 1e-6, 0.49),
    "mix-dump": (
        lambda m: sd.MixDUMP(d=20, f=0.01, blankets=whole(m), rate=min(1.0, m / whole(m))),
        1e-6,
        1e4,
    ),
    "pure-dump": (
        lambda m: sd.PureDUMP(d=20, blankets=whole(m), rate=min(1.0, m / whole(m))),
        1e-6,
        1e4,
    ),
}


def test_no_registered_name_is_left_out():
    assert {*LARGEST, *SMALLEST} == set(sd.randomizer_names())
    assert set(PROTOCOLS) == set(sd.protocol_names())


# Where brackets of log delta are about .5 wide, a value a little inside meets the target.
WIDE = {"gaussian-ball": 0.03}


def evaluated(source):
    """log of the certified upper end, by a new object of the accuracy that is usual."""
    return sd.shuffle(source, n=N).log_upper(EPSILON)


def check(family, find, **ends):
    found = calibrate(family, n=N, epsilon=EPSILON, delta=DELTA, find=find, rtol=RTOL, **ends)
    goal = math.log(DELTA)
    assert evaluated(family(found.value)) <= goal
    if found.beyond is None:
        assert found.value in ends.values()
        return
    assert evaluated(family(found.beyond)) > goal
    near = WIDE.get(found.randomizer.name, 1.05 * RTOL)
    assert abs(found.beyond / found.value - 1.0) <= near
    assert (found.beyond > found.value) == (find == "largest")
    assert found.randomizer == family(found.value)


@pytest.mark.many(4)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] if n in SLOWER else []) for n in LARGEST]
)
def test_largest_eps0(name):
    check(LARGEST[name], "largest")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] if n in SLOW else []) for n in SMALLEST]
)
def test_smallest_noise(name):
    check(SMALLEST[name], "smallest", low=0.05, high=100.0)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_smallest_noise_of_a_protocol(name):
    family, low, high = PROTOCOLS[name]
    check(family, "smallest", low=low, high=high)


@pytest.mark.long
@pytest.mark.parametrize("name", ["k-rr", "oue", "channel", "laplace"])
def test_several_rounds(name):
    family = LARGEST[name]
    found = calibrate(family, n=N, epsilon=EPSILON, delta=DELTA, rounds=5, rtol=5e-3)
    bound = sd.shuffle(family(found.value), n=N).compose(rounds=5).epsilon(delta=DELTA)
    assert bound.upper <= EPSILON
    assert bound.upper >= EPSILON * (0.95 if name == "laplace" else 0.98)


@pytest.mark.long
def test_gaussian_sigma_ends_in_seconds():
    """A search that begins where delta is far below the smallest float finds its way back."""
    found = calibrate(
        lambda s: sd.Gaussian(sigma=s),
        n=100_000,
        epsilon=1.0,
        delta=1e-8,
        find="smallest",
        low=0.05,
        high=1e4,
        rtol=0.05,
        start=20.0,
    )
    assert 0.5 < found.value < 0.56
