"""epsilon, delta, their curves, and the lists on the command line."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.mechanism.base import mechanism_class, spelled
from shuffledp.mechanism.parameters import parameters_of

KRR = ["k-rr", "--k", "10", "--eps0", "4"]


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def test_epsilon_json_is_the_librarys_bound():
    result = run("epsilon", *KRR, "-n", 10000, "--delta", 1e-6, "--json")
    want = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10000).epsilon(delta=1e-6)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(json.dumps(want.to_dict()))
    assert result.stderr == ""


@pytest.mark.parametrize("command", ["epsilon", "delta", "calibrate", "calibrate delta"])
@pytest.mark.parametrize("large", [True, False])
def test_a_large_delta_is_warned_of_as_account_does(command, large):
    delta = 0.02 if large else 0.01  # 1/n, which is not above it
    words = {
        "epsilon": ["epsilon", *KRR, "--delta", delta],
        "delta": ["delta", *KRR, "--epsilon", 0.0 if large else 4.0],
        "calibrate": ["calibrate", "k-rr", "--k", 10, "--epsilon", 1, "--delta", delta],
        "calibrate delta": ["calibrate", *KRR, "--epsilon", 0.0 if large else 4.0],
    }[command]
    for more in ((), ("--json",)):
        done = run(*words, "-n", 100, *more)
        assert done.exit_code == 0
        assert done.stderr.startswith("warning[large-delta]: delta = ") == large
        assert ("is above 1/n = 1/100: publishing one" in done.stderr) == large
        assert done.stderr.count("\n") == large
        assert not more or json.loads(done.stdout)


def test_epsilon_text_is_rounded_outward_and_names_theorem_and_assumptions():
    result = run("epsilon", *KRR, "-n", "1e4", "--delta", "1e-6")
    low, high = (float(result.stdout.split()[i]) for i in (0, 4))
    bound = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10000).epsilon(delta=1e-6)
    assert low <= bound.lower <= bound.upper <= high
    assert "[published]" in result.stdout
    assert "neighbouring datasets" in result.stdout


def test_delta_with_one_analysis():
    args = ["-n", 1000, "--epsilon", 1.0, "--analysis", "clone", "--json"]
    found = json.loads(run("delta", *KRR, *args).stdout)
    assert found["upper_theorem"]["key"] == "clone"


def test_delta_below_the_smallest_float_is_printed_as_a_power_of_ten():
    result = run("delta", *KRR, "-n", 100000, "--epsilon", 2.0)
    assert "10^-" in result.stdout


@pytest.mark.parametrize("trust", ["all", "published"])
def test_generic(trust):
    args = ["--eps0", 2, "-n", 1000, "--delta", 1e-6, "--trust", trust, "--json", "--adaptive"]
    found = json.loads(run("epsilon", "generic", *args).stdout)
    assert found["upper_theorem"]["provenance"] == (
        "proved here" if trust == "all" else "published"
    )


@pytest.mark.parametrize("name", sd.randomizer_names())
def test_every_randomizer_has_its_command(name):
    result = run("epsilon", name, "--help")
    assert result.exit_code == 0
    for one in parameters_of(mechanism_class(name)):
        assert f"--{one.name}" in result.stdout
    assert name in run("list", "mechanisms").stdout


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_channel_from_a_file(tmp_path, suffix):
    path = tmp_path / f"m.{suffix}"
    path.write_text("0.75,0.25\n0.25,0.75\n" if suffix == "csv" else "[[0.75,0.25],[0.25,0.75]]")
    args = ["--matrix", path, "-n", 100, "--delta", 1e-3, "--json"]
    found = json.loads(run("epsilon", "channel", *args).stdout)
    want = sd.shuffle(sd.Channel(matrix=[[0.75, 0.25], [0.25, 0.75]]), n=100).epsilon(delta=1e-3)
    assert found["upper"] == want.upper


def test_profile_as_csv():
    result = run("delta", *KRR, "-n", 1000, "--curve", "0:1:3")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [float(r["epsilon"]) for r in rows] == [0.0, 0.5, 1.0]
    assert all(float(r["delta_lower"]) <= float(r["delta_upper"]) for r in rows)
    assert all(float(r["log10_delta_lower"]) <= float(r["log10_delta_upper"]) for r in rows)


def test_curve_over_n_as_csv_and_json():
    args = ["--delta", "1e-6", "--curve", "10:1000:3"]
    rows = list(csv.DictReader(io.StringIO(run("epsilon", *KRR, *args).stdout)))
    assert [int(r["n"]) for r in rows] == [10, 100, 1000]
    found = json.loads(run("epsilon", *KRR, *args, "--json").stdout)
    assert [repr(b["upper"]) for b in found] == [r["epsilon_upper"] for r in rows]


@pytest.mark.parametrize(
    "asked",
    [
        ["delta", *KRR, "-n", 100, "--curve", "0:3:4"],
        ["epsilon", *KRR, "--delta", "1e-3", "--curve", "100:500:4"],
    ],
)
def test_curve_plot(tmp_path, asked):
    path = tmp_path / "c.svg"
    result = run(*asked, "--plot", path)
    assert result.exit_code == 0
    assert path.read_text().startswith("<?xml")
    assert [p.name for p in tmp_path.iterdir()] == ["c.svg"]


@pytest.mark.parametrize("command", [[], ["epsilon"], ["--help"], ["account", "--help"]])
def test_help_is_on_stdout(command):
    result = run(*command)
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("command", sorted(main.places))
def test_help_keeps_its_lines(command):
    """A paragraph that is marked as it stands is not folded, and the mark is not shown."""
    shown = run(command, "--help").stdout
    assert "\\b" not in shown
    assert "\b" not in shown
    wanted = {"account": "  [population]\n", "run": "  [data]\n"}
    assert wanted.get(command, "Usage") in shown


def test_lists_as_json():
    assert {a["key"] for a in json.loads(run("list", "theorems", "--json").stdout)} >= {
        "blanket",
        "local",
    }
    assert "generic" in {r["name"] for r in json.loads(run("list", "mechanisms", "--json").stdout)}


BAD = {
    "eps0 = 0.0": ["epsilon", "k-rr", "--k", 10, "--eps0", 0, "-n", 10, "--delta", 0.1],
    "eps0 = -1.0": ["epsilon", "k-rr", "--k", 10, "--eps0", -1, "-n", 10, "--delta", 0.1],
    "eps0 = nan": ["epsilon", "k-rr", "--k", 10, "--eps0", "nan", "-n", 10, "--delta", 0.1],
    "eps0 = inf": ["epsilon", "binary-rr", "--eps0", "inf", "-n", 10, "--delta", 0.1],
    "eps0 = 'four'": ["epsilon", "binary-rr", "--eps0", "four", "-n", 10, "--delta", 0.1],
    "n = 0": ["epsilon", *KRR, "-n", 0, "--delta", 0.1],
    "n = 2.5": ["epsilon", *KRR, "-n", 2.5, "--delta", 0.1],
    "n = nan": ["epsilon", *KRR, "-n", "nan", "--delta", 0.1],
    "delta = 0.0": ["epsilon", *KRR, "-n", 10, "--delta", 0],
    "delta = 1.0": ["epsilon", *KRR, "-n", 10, "--delta", 1],
    "delta = nan": ["epsilon", *KRR, "-n", 10, "--delta", "nan"],
    "epsilon = -0.5": ["delta", *KRR, "-n", 10, "--epsilon", -0.5],
    "k = 1000000000000": ["epsilon", "k-rr", "--k", 10**12, "--eps0", 1, "-n", 9, "--delta", 0.1],
    "k = 2.5": ["epsilon", "k-rr", "--k", 2.5, "--eps0", 1, "-n", 9, "--delta", 0.1],
    "sigma = 0.0": ["epsilon", "gaussian", "--sigma", 0, "-n", 9, "--delta", 0.1],
    "analysis = 'x'": ["epsilon", *KRR, "-n", 10, "--delta", 0.1, "--analysis", "x"],
    "trust = 'x'": ["epsilon", *KRR, "-n", 10, "--delta", 0.1, "--trust", "x"],
    "'--eps0'": ["epsilon", "k-rr", "--k", 10, "-n", 10, "--delta", 0.1],
    "No such option '--foo'": ["epsilon", *KRR, "-n", 10, "--delta", 0.1, "--foo"],
    "mechanism = 'nope'": ["epsilon", "nope"],
    "what = 'nope'": ["list", "nope"],
    "no such file": ["epsilon", "channel", "--matrix", "no.csv", "-n", 9, "--delta", 0.1],
    "n is missing": ["epsilon", *KRR, "--delta", 0.1],
    "epsilon is missing": ["delta", *KRR, "-n", 10],
    "epsilon = 1.0: wanted none": ["delta", *KRR, "-n", 10, "--epsilon", 1, "--curve"],
    "curve points = 1": ["delta", *KRR, "-n", 10, "--curve", "0:1:1"],
    "curve = '3': wanted FROM:TO": ["delta", *KRR, "-n", 10, "--curve", "3"],
    "curve = 'a'": ["delta", *KRR, "-n", 10, "--curve", "a:b"],
    "curve to = 1.0: wanted more than": ["delta", *KRR, "-n", 10, "--curve", "2:1"],
    "plot = 'x.gif'": ["delta", *KRR, "-n", 10, "--plot", "x.gif"],
    "rounds = 0": ["epsilon", *KRR, "-n", 10, "--delta", 0.1, "--rounds", 0],
    "none with rounds": [
        *("epsilon", *KRR, "-n", 10, "--delta", 0.1, "--rounds", 2, "--analysis", "clone"),
    ],
    "plot = 'y.gif'": ["account", "x.toml", "--plot", "y.gif"],
    "'x.toml': no such file": ["account", "x.toml"],
    "'x.json': no such file": ["verify", "x.json"],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_one_line_on_stderr(message):
    result = run(*BAD[message])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0.5,0.4\n0.5,0.5\n", "sum of matrix row 0"),
        ("0.5,a\n0.5,0.5\n", "wanted a CSV file of numbers"),
        ("1\n", "matrix shape"),
        ("nan,1\n0.5,0.5\n", "matrix row 0"),
        ("-0.5,1.5\n0.5,0.5\n", "matrix row 0"),
        ("0.5,0.5\n1\n", "matrix"),
        ("\xff\xfe".encode("latin-1"), "UTF-8"),
    ],
)
def test_bad_matrix(tmp_path, content, message):
    path = tmp_path / "m.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("epsilon", "channel", "--matrix", path, "-n", 9, "--delta", 0.1)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["krr", "K-RR", "k_rr", "GRR", "randomized-response"])
def test_a_mechanism_by_another_spelling(name):
    args = ["--k", 10, "--eps0", 4, "-n", "10,000", "--delta", "1e-6", "--json"]
    assert run("epsilon", name, *args).stdout == run("epsilon", "k-rr", *args).stdout


def test_no_two_mechanisms_share_a_spelling():
    names = [*sd.randomizer_names(), *sd.protocol_names()]
    every = [one for name in names for one in (name, *mechanism_class(name).aliases)]
    assert len({one.replace("-", "") for one in every}) == len(every)
    assert all(spelled(one.upper()) in names for one in every)


def test_a_typed_delta_is_printed_as_it_was_typed():
    done = run("epsilon", *KRR, "-n", "1,000", "--delta", "0.002")
    assert "delta = 0.002 is above 1/n = 1/1,000" in done.stderr


def test_theorems_are_a_line_each_unless_more_is_asked_for():
    short, long = run("list", "theorems").stdout, run("list", "theorems", "-v").stdout
    rows = json.loads(run("list", "theorems", "--json").stdout)
    assert len(short.splitlines()) == len(rows)
    assert max(map(len, short.splitlines())) <= 80
    assert all(row["theorem"]["source"] in long for row in rows)


def test_a_large_eps_is_warned_of():
    """20.0855 is e^3, typed where 3 was meant."""
    args = ["binary-rr", "-n", 1000, "--delta", "1e-4"]
    done = run("epsilon", *args, "--eps0", 20.0855)
    assert "delta = 0.0001" in done.stdout
    assert done.stderr.startswith("warning[large-eps]: eps <= 20.09: a guess between two values")
    assert run("epsilon", *args, "--eps0", 3).stderr == ""


def test_an_estimate_is_shown_where_all_are():
    done = run("epsilon", *KRR, "-n", 1000, "--delta", "1e-4", "--analysis", "gaussian")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "its number is in the table of --analysis all" in done.stderr


@pytest.mark.parametrize("n", ["1,00", "1,0000", ",100", "1,,000"])
def test_commas_that_group_nothing_are_refused(n):
    result = run("epsilon", *KRR, "-n", n, "--delta", 0.1)
    assert result.exit_code == 2
    assert f"n = '{n}': wanted a whole number" in result.stderr
