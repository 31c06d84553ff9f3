"""Sums with the aggregator's noise, run: what is drawn, estimated and written."""

import csv
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom, chi2

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.protocol.aggregated import aggregated, draw
from shuffledp.protocol.questions import Asked, question
from shuffledp.randomness import SeededSource
from shuffledp.statistics.counts import Counts
from shuffledp.statistics.messages import IntegerNoise, Step

LAPLACE, GAUSSIAN = "discrete-laplace", "discrete-gaussian"


def masses(kind, scale, reach):
    """P(z) for z = -reach .. reach, by its definition."""
    weights = [
        math.exp(-abs(z) / scale if kind == LAPLACE else -z * z / (2 * scale * scale))
        for z in range(-reach, reach + 1)
    ]
    total = math.fsum(weights)
    return np.array([w / total for w in weights])


@pytest.mark.parametrize(
    ("kind", "scale"), [(LAPLACE, 0.05), (LAPLACE, 3.7), (GAUSSIAN, 0.3), (GAUSSIAN, 6.5)]
)
def test_what_is_drawn_has_the_law_that_is_declared(kind, scale):
    size = 40_000
    drawn = draw(sd.AddedNoise(kind=kind, scale=scale), size, SeededSource(5))
    reach = math.ceil(60 * scale) + 3
    law = masses(kind, scale, reach)
    seen = np.bincount(drawn + reach, minlength=law.size)
    often = law * size >= 10
    expected = np.append(law[often], law[~often].sum()) * size
    found = np.append(seen[often], seen[~often].sum())
    kept = expected > 0.01
    assert found[~kept].sum() == 0
    score = (np.square(found - expected)[kept] / expected[kept]).sum()
    assert score < chi2.isf(1e-6, max(kept.sum() - 1, 1))
    z = np.arange(-reach, reach + 1)
    exact = math.fsum(law * z * z)
    assert IntegerNoise(kind, scale).variance == pytest.approx(exact, rel=1e-9)


def noisy(seen, n, support, kind, scale):
    """The law of counts with noise."""
    own, other = Step(support.own, support.own_miss), Step(support.other, support.other_miss)
    ones = np.ones(len(seen))
    rest = ((ones, IntegerNoise(kind, scale)),)
    return Counts(np.asarray(seen, dtype=float), n * ones, n, own, other, rest)


def reached(n, m, rates, law):
    """P(S + Z = w), w = -reach .. n + reach, S = Bin(m, p) + Bin(n - m, q)."""
    first, second = (
        binom.pmf(np.arange(k + 1), k, p) for k, p in ((m, rates[0]), (n - m, rates[1]))
    )
    return np.convolve(np.convolve(first, second), law)


@pytest.mark.parametrize(
    ("mechanism", "kind", "scale", "n"),
    [
        (sd.RAPPOR(d=3, eps0=2.0), LAPLACE, 1.5, 12),
        (sd.OUE(d=3, eps0=2.0), GAUSSIAN, 2.0, 40),
        (sd.BinaryRR(eps0=1.0), LAPLACE, 0.2, 25),
        (sd.BinaryRR(eps0=1.0), LAPLACE, 0.02, 25),
        (sd.BinaryRR(eps0=1.0), GAUSSIAN, 0.05, 25),
        (sd.BinaryRR(eps0=1.0), GAUSSIAN, 0.7, 25),
        (sd.RAPPOR(d=3, eps0=6.0), GAUSSIAN, 5.0, 12),
        (sd.RAPPOR(d=3, eps0=6.0), LAPLACE, 5.0, 12),
    ],
)
def test_limits_hold_every_share_as_often_as_stated(mechanism, kind, scale, n):
    """Of all n + 1 numbers of holders, by enumeration of all that can be seen."""
    tail, rates = 0.02, mechanism.support
    reach = math.ceil(30 * scale) + 3
    seen = np.arange(-reach, n + reach + 1)
    low, high = noisy(seen, n, rates, kind, scale).ends(tail)
    law, least = masses(kind, scale, reach), 1.0
    for m in range(n + 1):
        chance = reached(n, m, (rates.own, rates.other), law)
        missed = [float(chance[side].sum()) for side in (low * n > m + 1e-9, high * n < m - 1e-9)]
        assert max(missed) <= tail
        least = min(least, 1.0 - max(missed))
    # And they are no farther out than that takes: some m is missed nearly as often.
    assert least < 1.0 - 0.3 * tail


@pytest.mark.many(2)
@pytest.mark.parametrize(
    "mechanism",
    [
        sd.RAPPOR(d=3, eps0=2.0),
        sd.OUE(d=3, eps0=2.0),
        sd.KRR(k=2, eps0=1.0),
        sd.Duchi(eps0=1.5, low=2.0, high=6.0),
        sd.Channel(((0.7, 0.3), (0.3, 0.7))),
    ],
)
def test_estimates_have_the_mean_and_the_variance_that_are_printed(mechanism):
    """By repetition with seeds: unbiased, and the noise's variance is part of the errors."""
    noise = sd.AddedNoise(kind=LAPLACE, scale=9.0)
    n, repetitions = 60, 400
    duchi = isinstance(mechanism, sd.Duchi)
    values = np.linspace(2.0, 6.0, n) if duchi else np.arange(n) % 2
    view = sd.shuffle(mechanism, n, view="sums", added=noise).seen
    wanted = aggregated(question(mechanism, None, Asked()), view)
    found = []
    for seed in range(repetitions):
        sums = mechanism.aggregate(mechanism.simulate(values, seed=seed))
        released = wanted.released(sums, SeededSource(seed, stream=2**62))
        assert released.count == n
        found.append(wanted.answer(released, n))
    errors = np.array([one.estimates for one in found]) - wanted.truth(values)
    stated = np.mean([np.square(one.noise) for one in found], axis=0)
    assert np.all(np.abs(errors.mean(axis=0)) <= 4.5 * np.sqrt(stated / repetitions))
    assert errors.var(axis=0) == pytest.approx(stated, rel=0.35)
    # Without the noise's part they would be smaller by far more than that.
    bare = question(mechanism, None, Asked()).answer(sums, n)
    assert np.all(stated > 2.0 * np.square(bare.noise))


FILE = """title = "votes, added up"
view = "sums"
[population]
users = 40
[randomizer]
name = "binary-rr"
eps0 = 1.0
[added]
kind = "discrete-laplace"
scale = 2.5
[target]
delta = 1e-3
[data]
column = "vote"
domain = ["no", "yes"]
"""


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_run_adds_the_noise_and_its_certificate_is_verified(tmp_path):
    path, values, out = tmp_path / "votes.toml", tmp_path / "votes.csv", tmp_path / "found.csv"
    path.write_text(FILE)
    values.write_text("vote\n" + "yes\nno\n" * 20)
    ways = ("run", path, "--input", values, "--output", out)
    refused = run(*ways, "--reports", tmp_path / "reports.parquet")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "nobody sees a report" in refused.stderr
    assert not out.exists()
    done = run(*ways)
    assert done.exit_code == 0, done.output
    assert "discrete Laplace noise" in done.stdout
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["item"] for row in rows] == ["no", "yes"]
    gap = math.tanh(0.5)
    least = IntegerNoise(LAPLACE, 2.5).variance / (40 * gap) ** 2
    assert all(float(row["noise_standard_error"]) ** 2 > least for row in rows)
    certificate = tmp_path / "found.csv.certificate.json"
    told = run("verify", certificate, "--deployment", path, "--table", out)
    assert told.exit_code == 0, told.output
    repeated = run("run", path, "--input", values, "--simulate", "20")
    assert repeated.exit_code == 0, repeated.output
