"""The label-stealing bound in balls: against the floats that claim it, and against enumeration."""

import math
import random

import pytest

import shuffledp as sd
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball import stealing, triples
from shuffledp.ball.triples import log_delta_stealing
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.stealing import any_local, cases_of
from shuffledp.stealing.bound import completed
from shuffledp.stealing.choices import Constant, Cut, Tuned
from shuffledp.stealing.positive_sum import Contour, PositiveSums, tilt
from stealing.exact import grown, worst
from stealing.test_all_datasets import TOTAL, bounded_by, random_rows

MECHANISMS = {
    "binary-rr": (sd.BinaryRR(eps0=2.0), {"eps0": 2.0}),
    "k-rr": (sd.KRR(k=4, eps0=1.0), {"k": 4, "eps0": 1.0}),
    "rappor": (sd.RAPPOR(d=20, eps0=3.0), {"d": 20, "eps0": 3.0}),
    "oue": (sd.OUE(d=2, eps0=1.0), {"d": 2, "eps0": 1.0}),
    "local-hash": (sd.OLH(domain=100, eps0=2.0), {"domain": 100, "l": 8, "eps0": 2.0}),
    "subset": (sd.SubsetSelection(d=6, k=2, eps0=1.0), {"d": 6, "k": 2, "eps0": 1.0}),
    "duchi": (sd.Duchi(eps0=1.0), {"eps0": 1.0, "low": -1.0, "high": 1.0}),
    "hybrid": (sd.Hybrid(eps0=0.5), {"eps0": 0.5, "low": -1.0, "high": 1.0}),
    "wheel": (
        sd.Wheel(domain=10, s=1, eps0=2.0, p=0.125),
        {"domain": 10, "s": 1, "eps0": 2.0, "p": 0.125},
    ),
    "sampling-rappor": (
        sd.SamplingRAPPOR(d=9, s=1, eps0=2.0),
        {"d": 9, "s": 1, "eps0": 2.0},
    ),
    "pi-rappor": (
        sd.PIRAPPOR(domain=20, q=4, eps0=1.0),
        {"domain": 20, "eps0": 1.0, "q": 4},
    ),
    "projective-geometry": (
        sd.ProjectiveGeometry(domain=20, q=2, eps0=2.0),
        {"domain": 20, "eps0": 2.0, "q": 2},
    ),
    "poisson-subsample": (
        sd.PoissonSubsample(sd.RAPPOR(d=5, eps0=2.0), rate=0.25),
        {"randomizer": {"name": "rappor", "d": 5, "eps0": 2.0}, "rate": 0.25},
    ),
    "discrete-laplace": (
        sd.DiscreteLaplace(top=5, eps0=2.0),
        {"top": 5, "eps0": 2.0, "clamped": False},
    ),
}
NOISE = {
    "laplace": (
        sd.Laplace(eps0=1.0, binary=True),
        {"eps0": 1.0, "low": 0.0, "high": 1.0, "binary": True},
    ),
    "discrete-gaussian": (
        sd.DiscreteGaussian(top=3, sigma=4.0),
        {"top": 3, "sigma": 4.0, "clamped": False, "margin": 0},
    ),
}


LABELS = (
    sd.Piecewise(eps0=1.0),
    sd.Hybrid(eps0=2.0),
    sd.Staircase(eps0=2.0),
    sd.PCKVGRR(domain=5, s=4, eps0=2.0),
    sd.PCKVGRR(domain=4, s=2, eps0=1.0, padding=True),
    sd.SamplingRAPPOR(d=9, s=2, eps0=2.0),
    sd.PoissonSubsample(sd.Staircase(eps0=1.0), rate=0.5),
    sd.DiscreteLaplace(top=20, eps0=2.0),
    sd.Hierarchy(domain=30, eps0=2.0, branching=3),
    sd.Parallel([sd.RAPPOR(d=5, eps0=2.0), sd.Duchi(eps0=1.0)], weights=[0.25, 0.75]),
    sd.Joint([sd.OLH(domain=5, eps0=1.0), sd.Piecewise(eps0=1.0)]),
    sd.PoissonSubsample(sd.Joint([sd.BinaryRR(eps0=1.0)] * 2), rate=0.5),
)


@pytest.mark.many(8)
@pytest.mark.parametrize("randomizer", LABELS, ids=lambda r: r.name)
def test_balls_confirm_labels_laws_of_their_own(randomizer):
    epsilon, log_delta, free = claimed(randomizer, 20_000)
    found = log_delta_stealing(randomizer.to_dict(), free, n=20_000, epsilon=epsilon)
    assert log_delta - 1e-4 < found <= log_delta


def test_balls_leave_many_integers_and_inner_noise():
    free = [{"alpha": 1.0, "smoothing": 0.04, "kappa": 0.1, "theta": 0.1}]
    noise = {"name": "discrete-laplace", "top": 200, "eps0": 1.0, "clamped": False}
    with pytest.raises(NotCertified, match="so many integers"):
        log_delta_stealing(noise, free, n=100, epsilon=0.1)
    inner = sd.PoissonSubsample(sd.Laplace(eps0=1.0), rate=0.5).to_dict()
    assert triples.stealing_pairs(inner) is None


def claimed(randomizer, n, delta=1e-6):
    """eps, a bound of log delta there, and the free numbers it rests on."""
    accountant = sd.shuffle(randomizer, n=n)
    epsilon = accountant.epsilon(delta=delta, analysis="label-stealing").upper
    found = accountant.delta(epsilon=epsilon, analysis="label-stealing")
    return epsilon, found.log_upper, found.witness["upper"]["free"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_balls_confirm_what_floats_claim(name):
    randomizer, parameters = MECHANISMS[name]
    epsilon, log_delta, free = claimed(randomizer, 20_000)
    found = log_delta_stealing({"name": name, **parameters}, free, n=20_000, epsilon=epsilon)
    # Floats choose wider steps, of which the aliases are 3e-5 of delta.
    assert log_delta - 1e-4 < found <= log_delta


@pytest.mark.parametrize("name", NOISE)
def test_balls_confirm_noise_with_covers_of_their_own(name):
    randomizer, parameters = NOISE[name]
    epsilon, log_delta, free = claimed(randomizer, 5_000)
    found = log_delta_stealing(
        {"name": name, **parameters}, free, n=5_000, epsilon=epsilon, guess=log_delta
    )
    assert log_delta - 0.1 < found <= log_delta


def test_balls_confirm_the_family():
    accountant = sd.generic(eps0=1.5, n=10_000)
    epsilon = accountant.epsilon(delta=1e-6, analysis="label-stealing").upper
    found = accountant.delta(epsilon=epsilon, analysis="label-stealing")
    value = log_delta_stealing(
        {"name": "generic", "eps0": 1.5, "adaptive": False},
        found.witness["upper"]["free"],
        n=10_000,
        epsilon=epsilon,
    )
    assert found.log_upper - 1e-4 < value <= found.log_upper


def sums(measures, n, at):
    """log J of every type along a given contour, in balls."""
    with ctx.workprec(256):
        reservoir = sum((mass for mass, _ in measures.reservoir), arb(0))
        common = stealing.tilted(measures.reservoir, at.alpha)
        line = stealing.Line(common, at.alpha, at.smoothing, at.step)
        line.nodes = at.nodes
        return [
            stealing.log_sum(
                line, stealing.tilted(stealing._with_left_over(law, reservoir), at.alpha), n
            )
            for law in measures.types
        ]


@pytest.mark.parametrize("name", [*MECHANISMS, "generic"])
def test_the_same_sum_in_floats_is_above_and_close(name):
    """Same free numbers, same contour: floats are rounded outward, by next to nothing."""
    rng = random.Random(name)
    n, epsilon = 1000, 0.1
    if name == "generic":
        case, parameters = any_local(1.0), {"eps0": 1.0, "adaptive": False}
    else:
        randomizer, parameters = MECHANISMS[name]
        case = cases_of(randomizer, -20.0)[0][0]
    kappa, theta = rng.uniform(0.01, 0.5), rng.uniform(0.01, 0.5)
    free = {"kappa": kappa, "theta": theta}
    choice = Constant(kappa, theta)
    if name == "discrete-laplace":
        choice = Cut(kappa, theta, math.inf)
    elif name != "generic":
        weights = tuple(rng.uniform(0.1, 1.0) for _ in range(case.types))
        choice = Tuned(kappa, 0.3 * kappa, 0.7 * kappa, weights)
        free = {**choice._asdict(), "weights": list(weights)}
    at = Contour(0.5, 0.08, 0.3, 140)
    gains = case.certified_gains(epsilon, choice)
    common = tilt(gains.reservoir, at.alpha)
    floats = [
        PositiveSums(common, n).log(tilt(completed(law, gains.reservoir), at.alpha), 1e-15, at)
        for law in gains.types
    ]
    mechanism = {"name": name, **parameters}
    with ctx.workprec(256):
        pair = triples.stealing_pairs(mechanism)[0]
        measures = triples._maker(mechanism, arb(epsilon), None)(pair, free)
    balls = sums(measures, n, at)
    # The same types, in another order.
    assert len(balls) == len(floats)
    for low, high in zip(sorted(balls), sorted(floats), strict=True):
        assert low <= high < low + 1e-6


def test_no_choice_of_numbers_is_below_the_truth():
    """Any channel, any free numbers: at least the largest exact divergence of all data sets."""
    rng = random.Random(5)
    for _ in range(12):
        inputs, outputs, n = rng.randint(2, 3), rng.randint(2, 4), rng.randint(2, 5)
        rows = random_rows(rng, inputs, outputs, zeros=rng.random() < 0.4)
        # Entries that floats hold exactly.
        scale = 32 / TOTAL
        matrix = [[p * scale / 32 for p in row] for row in rows]
        mechanism = {"name": "channel", "matrix": matrix}
        pairs = triples.stealing_pairs(mechanism)
        epsilon = math.exp(rng.uniform(-4.0, 0.7))
        free = [
            {
                "alpha": math.exp(rng.uniform(-3.0, 0.5)),
                "smoothing": math.exp(rng.uniform(-3.0, 1.0)),
                **{key: rng.uniform(0.0, 0.97) for key in ("gain", "loss", "silent")},
                "weights": [rng.random() * rng.choice([0, 1, 1]) for _ in range(inputs)],
            }
            for _ in pairs
        ]
        found = log_delta_stealing(mechanism, free, n=n, epsilon=epsilon)
        truth = max(worst(rows, TOTAL, x0, x1, n, grown(epsilon)) for x0, x1 in pairs)
        assert bounded_by(truth * (1 - 2**-40), found)


def test_numbers_out_of_range_are_refused():
    good = {"alpha": 0.1, "smoothing": 0.4, "gain": 0.1, "loss": 0.1, "silent": 0.1}
    good["weights"] = [1.0, 0.0]
    mechanism = {"name": "binary-rr", "eps0": 1.0}
    for bad in (
        {"gain": 1.0},
        {"loss": -0.1},
        {"silent": math.nan},
        {"alpha": 0.0},
        {"alpha": math.inf},
        {"smoothing": -1.0},
        {"weights": [1.0]},
        {"weights": [-1.0, 2.0]},
        {"gain": True},
    ):
        with pytest.raises(ParameterError):
            log_delta_stealing(mechanism, [{**good, **bad}], n=10, epsilon=0.5)
    for n, numbers in ((1, [good]), (10, []), (10, [good, good])):
        with pytest.raises(ParameterError):
            log_delta_stealing(mechanism, numbers, n=n, epsilon=0.5)
    with pytest.raises(NotCertified):
        log_delta_stealing({"name": "wheel"}, [good], n=10, epsilon=0.5)
