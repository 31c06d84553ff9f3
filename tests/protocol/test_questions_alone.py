"""Every number of every question by itself: unbiased, its error right, its exact error right."""

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.protocol import Asked, question

RNG = np.random.default_rng(8)
N, RUNS = 1000, 150
SIZE = np.clip(RNG.gamma(3.0, 12.0, N), 0.0, 100.0)
LETTER = RNG.choice(4, N, p=[0.6, 0.3, 0.1, 0.0])
AGE = RNG.binomial(31, 0.4, N)
RECORD = np.zeros(N, [("part0", "i8"), ("part1", "f8")])
RECORD["part0"], RECORD["part1"] = LETTER, SIZE
ENDS = {"low": 0.0, "high": 100.0}
RANGES = Asked(ranges=((0, 8), (5, 20), (31, 32)))
CASES = {
    "frequencies": (sd.OUE(d=4, eps0=2.0), LETTER, Asked()),
    "mean": (sd.Laplace(eps0=5.0, **ENDS), SIZE, Asked()),
    # Little noise, so that what the values scatter by matters.
    "moments": (sd.Laplace(eps0=20.0, **ENDS), SIZE, Asked(moments=3)),
    "moments-gaussian": (sd.Gaussian(sigma=8.0, **ENDS), SIZE, Asked(moments=2)),
    "one moment": (sd.Gaussian(sigma=8.0, **ENDS), SIZE, Asked(moments=1)),
    "ranges": (sd.Hierarchy(domain=32, eps0=3.0), AGE, RANGES),
    "ranges-k-rr": (sd.Hierarchy(domain=32, eps0=3.0, base="k-rr", branching=2), AGE, RANGES),
    "record": (
        sd.Joint((sd.KRR(k=4, eps0=2.0), sd.Laplace(eps0=5.0, **ENDS))), RECORD, Asked()
    ),
    "dummies": (sd.MixDUMP(d=4, f=0.1, blankets=1, rate=0.5), LETTER, Asked()),
    "bits": (sd.BalcerCheu(p=0.9), LETTER % 2, Asked()),
}  # fmt: skip


@pytest.fixture(scope="module")
def found():
    """Of every case: errors and said standard errors of every run."""
    made = {}
    for name, (mechanism, values, asked) in CASES.items():
        wanted = question(mechanism, None, asked)
        truth = wanted.truth(values)
        errors, noise = [], []
        for seed in range(RUNS):
            reports = mechanism.simulate(values, seed=seed)
            answer = wanted.answer(wanted.sums(reports), N)
            errors.append(answer.estimates - truth)
            noise.append(answer.noise)
        made[name] = np.array(errors), np.array(noise)
    return made


@pytest.mark.parametrize("name", CASES)
def test_errors_are_right_number_by_number(found, name):
    """A standard deviation of 150 runs is known to about 6%."""
    errors, noise = found[name]
    measured = errors.std(axis=0, ddof=1)
    assert np.allclose(np.sqrt((noise**2).mean(axis=0)), measured, rtol=0.3)


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_number_by_number(found, name):
    errors, noise = found[name]
    share = np.mean(np.abs(errors) < 1.959964 * noise, axis=0)
    assert np.all(np.abs(share - 0.95) < 4.5 * math.sqrt(0.95 * 0.05 / RUNS))


def test_intervals_of_all_at_once():
    """Five numbers: each has a fifth of the error, 0.005 on each side, 2.5758 standard errors."""
    mechanism, values, asked = CASES["record"]
    sums = mechanism.aggregate(mechanism.simulate(values, seed=0))
    answer = question(mechanism, None, asked).answer(sums, N)
    alone = mechanism.randomizers[0].estimate(sums.parts[0]).law
    for found, tail, z in (
        (answer.interval_of_all(confidence=0.95), 0.005, 2.5758293),
        (answer.interval(confidence=0.95), 0.025, 1.9599640),
    ):
        low, high = found
        assert np.allclose((high - low)[4] / answer.noise[4], 2 * z, rtol=1e-6)
        exact = alone.ends(tail)
        assert np.allclose(low[:4], np.minimum(exact[0], answer.estimates[:4]), atol=1e-12)
        assert np.allclose(high[:4], np.maximum(exact[1], answer.estimates[:4]), atol=1e-12)


def test_sampling_errors_are_those_of_the_values():
    """What the values scatter by, over the root of n: within what the noise leaves of it."""
    for name, exact in (
        ("moments", [SIZE.std(), (SIZE**2).std(), (SIZE**3).std()]),
        ("frequencies", np.sqrt(f := np.bincount(LETTER, minlength=4) / N) * np.sqrt(1 - f)),
    ):
        mechanism, values, asked = CASES[name]
        about = question(mechanism, None, asked)
        answer = about.answer(about.sums(mechanism.simulate(values, seed=1)), N)
        wanted = np.asarray(exact) / math.sqrt(N)
        assert np.allclose(answer.sampling[: len(wanted)], wanted, rtol=0.25, atol=1e-3)
