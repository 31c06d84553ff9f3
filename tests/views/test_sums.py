"""Sums of reports: against all data sets in 200-bit arithmetic, and what is printed with them."""

import math
import random
from pathlib import Path

import mpmath
import pytest
from flint import arb

import shuffledp as sd
from shuffledp.errors import NotCertified, ParameterError
from views.every import Exact

# The page's table: eps0 of a bit, the draft's number, and both ends.
DAP = [
    (5.0, 0.317, 0.29731, 0.29751),
    (6.5, 0.906, 0.70011, 0.70147),
    (7.0, 1.528, 0.95044, 0.95199),
]

PAGE = (Path(__file__).parents[2] / "docs" / "howto-sums.md").read_text(encoding="utf-8")


# ------------------------------------------------------------ every pair of neighbouring datasets


CASES = [
    (sd.RAPPOR(d=2, eps0=2.0), 3, 1, "replace-one"),
    (sd.RAPPOR(d=3, eps0=2.0), 2, 2, "replace-one"),
    (sd.OUE(d=2, eps0=2.0), 3, 1, "replace-special"),
]


@pytest.mark.parametrize(
    ("mechanism", "n", "ones", "relation"),
    CASES,
)
def test_between_the_ends_of_every_pair_of_datasets(mechanism, n, ones, relation):
    view = sd.shuffle(mechanism, n, view="sums", ones=ones, relation=relation, rtol=2e-3)
    for share in (0.1, 0.5):
        epsilon = share * mechanism.eps0
        ((low, high),) = Exact(view)(epsilon)
        found = view.delta(epsilon=epsilon)
        assert arb(found.lower) <= high
        assert low <= arb(found.upper)


def random_case(rng):
    d = rng.randint(2, 4)
    n = rng.randint(1, 4 if d < 4 else 3)
    ones = rng.choice((1, 1, 2, 3))
    make = rng.choice((sd.RAPPOR, sd.OUE))
    mechanism = make(d=d, eps0=math.exp(rng.uniform(-3.0, 2.0)))
    return mechanism, n, min(ones, d), rng.choice(("replace-one", "replace-special"))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in range(1, 13))]
)
def test_random_sums_against_every_pair_of_datasets(seed):
    rng = random.Random(f"sums {seed}")
    for _ in range(1 if seed == 0 else 10):
        mechanism, n, ones, relation = random_case(rng)
        view = sd.shuffle(mechanism, n, view="sums", ones=ones, relation=relation, rtol=2e-3)
        epsilon = rng.choice((0.05, 0.3, 0.7, 0.95)) * mechanism.eps0
        exact = Exact(view)
        ((low, high),) = exact(epsilon)
        found = view.delta(epsilon=epsilon)
        assert arb(found.lower) <= high, (mechanism, n, ones, relation)
        assert low <= arb(found.upper), (mechanism, n, ones, relation)
        if not low > 0:
            continue
        target = min(float(low.mid()), 0.5)
        ends = view.epsilon(delta=target)
        # delta falls in eps: at the upper end it is below the target, at the lower one above.
        assert exact(ends.upper)[0][0] <= target
        assert exact(ends.lower)[0][1] >= target or ends.lower == 0.0


# ------------------------------------------------------------------------------ what is known


@pytest.mark.long
@pytest.mark.parametrize(("eps0", "printed", "lower", "upper"), DAP)
def test_bits_of_a_histogram_of_the_ppm_draft(eps0, printed, lower, upper):
    """n = 1e5, delta = 1e-9, each bit flipped with probability 1/(e^eps0 + 1), two change."""
    found = sd.shuffle(sd.RAPPOR(d=10, eps0=2.0 * eps0), 10**5, view="sums").epsilon(delta=1e-9)
    assert lower <= found.lower <= found.upper <= upper
    assert found.lower < lower + 2e-5
    assert upper < found.upper + 2e-5
    assert all(f" {end} |" in PAGE for end in (printed, lower, upper))
    # What the draft prints is an upper bound of another kind.
    assert upper < printed


@pytest.mark.parametrize(
    ("d", "eps0", "n"), [(3, 4.0, 1), pytest.param(10, 8.0, 40, marks=pytest.mark.long)]
)
def test_never_above_the_messages_that_are_added_up(d, eps0, n):
    mechanism = sd.OUE(d=d, eps0=eps0)
    sums = sd.shuffle(mechanism, n, view="sums", rtol=1e-2).epsilon(delta=1e-6)
    messages = sd.shuffle(mechanism, n).epsilon(delta=1e-6)
    assert sums.upper <= messages.upper <= eps0
    assert sums.upper_theorem.key == "sums-of-messages"


@pytest.mark.parametrize(
    ("sigma", "n", "rounds"), [(0.01, 10, 1), (0.03, 1, 1), (0.03, 1, 7), (1.0, 10**6, 52)]
)
def test_normal_noise_of_any_size(sigma, n, rounds):
    """Against the Gaussian mechanism's delta in 60 digits, at both ends; eps may be 649."""
    found = sd.shuffle(sd.Gaussian(sigma=sigma), n, view="sums").compose(rounds=rounds)
    bound = found.epsilon(delta=1e-6)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.mpf(rounds) / n) / mpmath.mpf(sigma)

        def delta(eps):
            z = mpmath.mpf(eps) / mu
            return mpmath.ncdf(mu / 2 - z) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - z)

        assert delta(bound.upper) <= mpmath.mpf(1e-6) <= delta(bound.lower)
        at = found.delta(epsilon=bound.upper)
        truth = mpmath.log(delta(bound.upper))
        assert at.log_lower <= truth <= at.log_upper
    assert bound.upper <= bound.lower * (1.0 + 1e-10)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: sd.shuffle(sd.KRR(k=5, eps0=1.0), 9, view="sums"), NotCertified, "k-rr: no sum"),
        (lambda: sd.shuffle(sd.RAPPOR(d=5, eps0=1.0), 9, view="sum"), ParameterError, "view = "),
        (
            lambda: sd.shuffle(sd.RAPPOR(d=5, eps0=1.0), 9, view="sums", ones=6),
            ParameterError,
            "ones = 6",
        ),
        (
            lambda: sd.shuffle(sd.RAPPOR(d=5, eps0=1.0), 9, ones=2),
            ParameterError,
            'view = .messages.: wanted "sums"',
        ),
        (
            lambda: sd.shuffle(sd.Gaussian(sigma=1.0), 9, view="sums", relation="replace-special"),
            ParameterError,
            "relation = 'replace-special'",
        ),
        (
            lambda: sd.shuffle(sd.OUE(d=5, eps0=1.0), 9, view="sums", trust="published"),
            NotCertified,
            "theory-sums.md",
        ),
        (lambda: sd.shuffle(sd.OUE(d=5, eps0=1.0), 0, view="sums"), ParameterError, "n = 0"),
        (
            lambda: sd.shuffle(sd.Duchi(eps0=1.0), 9, view="sums", relation="replace-special"),
            ParameterError,
            "relation = 'replace-special': wanted \"replace-one\" for sums of duchi",
        ),
        (
            lambda: sd.shuffle(sd.PureDUMP(d=5, blankets=1), 9, view="sums"),
            ParameterError,
            "mechanism = ",
        ),
    ],
)
def test_what_is_refused(ask, error, words):
    with pytest.raises(error, match=words):
        ask()
