"""Mechanisms side by side: which apply, calibration, order, and what the command prints."""

import json
import math

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp import compare
from shuffledp.cli import main

N, DELTA = 20_000, 1e-6


def names(found):
    return {row.randomizer.name for row in found.rows}


@pytest.fixture(scope="module")
def at_eps0():
    return sd.compare_randomizers(n=N, delta=DELTA, domain=20, eps0=2.0)


def test_all_frequency_mechanisms_apply(at_eps0):
    wanted = {"k-rr", "rappor", "oue", "blh", "olh", "hadamard-response", "subset"}
    assert wanted <= names(at_eps0)
    assert not names(at_eps0) & {"laplace", "duchi", "wheel", "binary-rr", "channel"}
    assert at_eps0.left_out == ()
    for row in at_eps0.rows:
        values = row.randomizer.parameters()
        assert 20 in {values.get(key) for key in ("k", "d", "domain")}


def test_equal_central_eps_and_order(at_eps0):
    target = min(row.bound.upper for row in at_eps0.given)
    assert at_eps0.epsilon == target
    variances = [row.variance for row in at_eps0.rows]
    assert variances == sorted(variances)
    for row in at_eps0.rows:
        assert row.bound.upper <= target
        # Nearly as much as it may be, but for integers that jump.
        assert row.bound.upper >= 0.97 * target


def test_rows_say_what_the_library_says(at_eps0):
    for row in (*at_eps0.given, *at_eps0.rows):
        r = row.randomizer
        assert row.variance == r.variance()
        assert row.bits == r.message_bits
        again = sd.shuffle(r, n=N).epsilon(delta=DELTA)
        assert again.upper == pytest.approx(row.bound.upper, rel=1e-3)
        assert again.lower <= row.bound.upper
        assert row.bound.lower <= again.upper
    assert all(row.randomizer.eps0 == 2.0 for row in at_eps0.given)
    assert [r.randomizer.name for r in at_eps0.given] == [r.randomizer.name for r in at_eps0.rows]


def test_a_larger_eps0_misses_the_target(at_eps0):
    for row in at_eps0.rows:
        known = {k: v for k, v in row.randomizer.parameters().items() if k != "eps0"}
        if row.randomizer.name in {"olh", "subset"}:
            continue
        more = type(row.randomizer)(**known, eps0=row.randomizer.eps0 * 1.005)
        found = sd.shuffle(more, n=N).epsilon(delta=DELTA, analysis="blanket")
        assert found.upper > at_eps0.epsilon


def test_calibrated_to_a_central_eps():
    found = sd.compare_randomizers(n=N, delta=DELTA, domain=3, epsilon=0.3)
    assert found.epsilon == 0.3
    assert found.given == ()
    assert found.eps0 is None
    assert found.left_out == ()
    for row in found.rows:
        assert 0.29 < row.bound.upper <= 0.3


@pytest.mark.many(3)
@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 4.0])
@pytest.mark.parametrize("build", [lambda e: sd.KRR(k=3, eps0=e), lambda e: sd.OUE(d=9, eps0=e)])
def test_calibration_of_one(build, epsilon):
    """What is returned meets the target, and a thousandth more of eps0 or eps does not."""
    row = compare._calibrated(build, N, DELTA, epsilon, None)
    assert row.bound.upper <= epsilon
    if row.bound.upper < 0.999 * epsilon:
        more = sd.shuffle(build(row.randomizer.eps0 * 1.0012), n=N)
        assert more.epsilon(delta=DELTA).upper > epsilon


def test_sets_of_items():
    found = sd.compare_randomizers(n=N, delta=DELTA, domain=50, items=3, eps0=1.0)
    assert {"wheel", "pckv-grr", "sampling-rappor"} <= names(found)
    assert all(row.randomizer.parameters()["s"] == 3 for row in found.rows)


@pytest.mark.long
def test_means():
    found = sd.compare_randomizers(n=N, delta=DELTA, eps0=1.5)
    assert {"duchi", "piecewise", "hybrid"} <= names(found)
    assert not names(found) & {"k-rr", "privunit"}
    for row in found.rows:
        values = row.randomizer.parameters()
        assert (values.get("low", 0.0), values.get("high", 1.0)) == (0.0, 1.0)


def test_a_target_beyond_reach_of_noise_or_of_eps0():
    found = sd.compare_randomizers(n=5, delta=1e-9, domain=4, epsilon=1e-4)
    assert found.rows == ()
    assert "no eps0 from 0.001 on" in str(found)
    top = compare._calibrated(lambda e: sd.KRR(k=4, eps0=e), 50, 1e-6, 200.0, None)
    assert top.randomizer.eps0 == pytest.approx(30.0, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"domain": 5}, "eps0 and epsilon"),
        ({"domain": 5, "eps0": 1.0, "epsilon": 1.0}, "eps0 and epsilon"),
        ({"domain": 1, "eps0": 1.0}, "domain = 1"),
        ({"domain": 5, "items": 0, "eps0": 1.0}, "items = 0"),
        ({"items": 2, "eps0": 1.0}, "no mechanism applies"),
        ({"domain": 5, "eps0": 31.0}, "eps0 = 31"),
        ({"domain": 5, "epsilon": math.nan}, "epsilon = nan"),
        ({"domain": 5, "items": 5, "eps0": 1.0, "n": 0}, "n = 0"),
        ({"domain": 5, "eps0": 1.0, "delta": 1.0}, "delta = 1.0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.compare_randomizers(**{"n": N, "delta": DELTA, **arguments})


def test_mechanisms_that_do_not_fit_are_left_out_with_the_reason():
    found = sd.compare_randomizers(n=1000, delta=DELTA, domain=5, items=5, eps0=1.0)
    assert names(found) == {"pckv-grr"}
    reasons = dict(found.left_out)
    assert "domain = 5" in reasons["wheel"]
    assert "s = 5" in reasons["sampling-rappor"]


# ---------------------------------------------------------------------------------- the command


def run(*args):
    return CliRunner().invoke(main, ["compare", *map(str, args)])


def test_command_prints_a_table_of_80_columns():
    done = run("--n", "1e4", "--delta", 1e-6, "--eps0", 1, "--domain", 4)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0] == "n = 10,000, delta = 1e-06"
    assert lines[2] == "all at eps0 = 1"
    assert "k-rr" in done.stdout


@pytest.mark.long
def test_json_and_plot(tmp_path):
    file = tmp_path / "c.svg"
    done = run(
        "-n", 5000, "--delta", 1e-6, "--epsilon", 0.2, "--domain", 4, "--json", "--plot", file
    )
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["at_equal_eps0"] == []
    for row in found["at_equal_epsilon"]:
        assert row["bound"]["upper"] <= 0.2
        assert row["standard_error"] == pytest.approx(math.sqrt(row["variance"] / 5000))
        assert sd.randomizer_from_dict(row["randomizer"]).eps0 > 0.0
    text = file.read_text()
    assert "k-rr" in text or "<svg" in text
    # The same picture for the same comparison.
    with_eps0 = tmp_path / "d.png"
    done = run("-n", 5000, "--delta", 1e-6, "--eps0", 1, "--domain", 2, "--plot", with_eps0)
    assert done.exit_code == 0
    assert with_eps0.stat().st_size > 5000


def test_command_refuses_in_one_line():
    for args in (
        ["-n", 10, "--delta", 1e-6],
        ["-n", 10, "--delta", 1e-6, "--eps0", 1, "--domain", 4, "--plot", "x.txt"],
    ):
        done = run(*args)
        assert done.exit_code == 2
        assert done.stderr.count("\n") == 1
