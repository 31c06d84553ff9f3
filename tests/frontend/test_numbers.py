"""epsilon, delta and their curves on the command line, and a mechanism's other names."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.mechanism.base import mechanism_class, spelled

KRR = ["k-rr", "--k", "10", "--eps0", "4"]


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def test_epsilon_json_is_the_librarys_bound():
    result = run("epsilon", *KRR, "-n", 10000, "--delta", 1e-6, "--json")
    want = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10000).epsilon(delta=1e-6)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(json.dumps(want.to_dict()))
    assert result.stderr == ""


def test_profile_as_csv():
    result = run("delta", *KRR, "-n", 1000, "--curve", "0:1:3")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [float(r["epsilon"]) for r in rows] == [0.0, 0.5, 1.0]
    assert all(float(r["delta_lower"]) <= float(r["delta_upper"]) for r in rows)
    assert all(float(r["log10_delta_lower"]) <= float(r["log10_delta_upper"]) for r in rows)


def test_curve_over_n_as_csv_and_json():
    args = ["--delta", "1e-6", "--curve", "2500:10000:3"]
    rows = list(csv.DictReader(io.StringIO(run("epsilon", *KRR, *args).stdout)))
    assert [int(r["n"]) for r in rows] == [2500, 5000, 10000]
    found = json.loads(run("epsilon", *KRR, *args, "--json").stdout)
    assert [repr(b["upper"]) for b in found] == [r["epsilon_upper"] for r in rows]


@pytest.mark.parametrize("name", ["krr", "K-RR", "k_rr", "GRR", "randomized-response"])
def test_a_mechanism_by_another_spelling(name):
    args = ["--k", 10, "--eps0", 4, "-n", "10,000", "--delta", "1e-6", "--json"]
    assert run("epsilon", name, *args).stdout == run("epsilon", "k-rr", *args).stdout


def test_no_two_mechanisms_share_a_spelling():
    names = [*sd.randomizer_names(), *sd.protocol_names()]
    every = [one for name in names for one in (name, *mechanism_class(name).aliases)]
    assert len({one.replace("-", "") for one in every}) == len(every)
    assert all(spelled(one.upper()) in names for one in every)
