"""The smallest batch of sums for a target."""

import json
import math

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.calibration import required_users
from shuffledp.cli import main
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.views import certified, log_upper

SUMS = {"view": "sums"}


def test_one_bit_is_what_its_messages_need():
    target = {"epsilon": 0.5, "delta": 1e-6}
    sums = required_users(sd.BinaryRR(eps0=2.0), **target, **SUMS)
    messages = required_users(sd.BinaryRR(eps0=2.0), **target)
    assert (sums.n, sums.beyond) == (messages.n, messages.beyond) == (494, 493)
    assert sums.log_delta <= math.log(1e-6) < sums.log_delta_beyond


@pytest.mark.parametrize(
    "case",
    [
        (sd.RAPPOR(d=4, eps0=2.0), {"relation": "replace-special"}),
        pytest.param((sd.RAPPOR(d=4, eps0=2.0), {"ones": 2}), marks=pytest.mark.long),
        pytest.param((sd.OUE(d=4, eps0=2.0), {}), marks=pytest.mark.long),
        (
            sd.BinaryRR(eps0=3.0),
            {"added": sd.AddedNoise(kind="discrete-gaussian", scale=2.0)},
        ),
        (sd.Gaussian(sigma=3.0), {}),
    ],
)
def test_the_batch_meets_the_target_and_a_smaller_one_does_not(case):
    mechanism, more = case
    found = required_users(mechanism, epsilon=0.4, delta=1e-5, **SUMS, **more)
    assert found.what == "n"
    assert 0 < found.n - found.beyond <= max(1, found.n // 900)
    at, before = (sd.shuffle(mechanism, n, **SUMS, **more) for n in (found.n, found.beyond))
    assert at.delta(epsilon=0.4).upper <= 1.02e-5
    # Of both numbers the certified end was seen, and no data set of the smaller one is far below.
    assert log_upper(at, epsilon=0.4, log_target=math.log(1e-5)) == found.log_delta
    assert found.log_delta <= math.log(1e-5) < found.log_delta_beyond
    assert before.delta(epsilon=0.4).upper >= 0.98e-5


def test_more_noise_needs_fewer_reports_and_enough_noise_none():
    bits = sd.BinaryRR(eps0=3.0)
    plain = required_users(bits, epsilon=0.4, delta=1e-5, **SUMS).n
    sizes = [
        required_users(
            bits,
            epsilon=0.4,
            delta=1e-5,
            added=sd.AddedNoise(kind="discrete-laplace", scale=scale),
            **SUMS,
        ).n
        for scale in (1.0, 4.0)
    ]
    assert plain > sizes[0] > sizes[1] == 1
    # Nothing is left of one report at its own guarantee.
    assert required_users(bits, epsilon=3.0, delta=1e-5, **SUMS).n == 1


def test_the_solvers_end_is_that_of_a_certificate():
    view = sd.shuffle(sd.RAPPOR(d=3, eps0=1.5), 40, **SUMS)
    alone = log_upper(view, epsilon=0.2, log_target=math.log(1e-2))
    other = certified(view, quantity="delta", value=0.2).log_upper
    assert alone == pytest.approx(other, rel=0.01)


def test_what_is_refused():
    bits = sd.RAPPOR(d=4, eps0=9.0)
    target = {"epsilon": 0.1, "delta": 1e-9}
    with pytest.raises(NotCertified, match="n = 50: sums of rappor"):
        required_users(bits, most=50, **target, **SUMS)
    with pytest.raises(NotCertified, match="theory-sums"):
        required_users(bits, trust="published", **target, **SUMS)
    for more, words in (
        ({"ones": 2}, "view = "),
        ({"view": "sum"}, "view = 'sum'"),
        ({"view": "sums", "ones": 9}, "ones = 9"),
    ):
        with pytest.raises(ParameterError, match=words):
            required_users(bits, **target, **more)
    with pytest.raises(ParameterError, match="anything but a randomizer"):
        required_users(sd.PureDUMP(d=4, blankets=1), **target, **SUMS)


def test_on_the_command_line():
    def run(*words):
        return CliRunner().invoke(main, ["calibrate", "binary-rr", *map(str, words)])

    asked = ("--eps0", 2, "--epsilon", 0.5, "--delta", 1e-6, "--view", "sums")
    assert json.loads(run(*asked, "--json").stdout)["value"] == 494
    done = run("--epsilon", 0.5, "--delta", 1e-6, "-n", 100, "--view", "sums")
    assert done.exit_code == 2
    assert "view = 'sums'" in done.stderr
    assert done.stderr.count("\n") == 1
    done = run("--eps0", 2, "--epsilon", 0.5, "--delta", 1e-6, "--added", "discrete-laplace:2")
    assert done.exit_code == 2
