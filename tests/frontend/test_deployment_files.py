"""Deployment and plan files: what is written comes back, and what `run` refuses `account` does."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.deployment import load
from shuffledp.deployment.files import tomllib
from shuffledp.deployment.text import deployment_text, given_only
from shuffledp.errors import ParameterError

TABLES = {
    "title": "t",
    "population": {"users": 1000, "colluding": 0.1},
    "target": {"delta": 1e-6, "at_most": 1.0},
}
TEXT = (
    'title = "{title}"\n[population]\nusers = 40\n[randomizer]\n{randomizer}\n'
    "[target]\ndelta = 1e-3\n[data]\ncolumn = 'x'\n{data}\n"
)
RR = 'name = "k-rr"\nk = 3\neps0 = 1.0'


def written(title, source):
    return deployment_text({**TABLES, "title": title, "randomizer": source.to_dict()})


def call(*words):
    return CliRunner().invoke(main, [str(w) for w in words])


LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)


@given(title=LINES.filter(lambda s: bool(s.strip())))
@settings(max_examples=200, deadline=None)
def test_titles_come_back_whatever_their_letters(title):
    """Above U+FFFF a letter has five digits or more: U+1F600 was read as U+1F60 and a 0."""
    assert tomllib.loads(written(title, sd.KRR(k=5, eps0=2.0)))["title"] == title


@pytest.mark.parametrize(
    "source",
    [
        sd.KRR(k=5, eps0=2.0),
        sd.Staircase(eps0=1.0),
        sd.Joint([sd.KRR(k=3, eps0=0.1), sd.BinaryRR(eps0=1e-9)], hamming=1),
        sd.Parallel([sd.OLH(domain=4, eps0=1.0), sd.BinaryRR(eps0=1.0)], weights=[0.3, 0.7]),
        sd.Channel(matrix=[[0.1, 0.9], [1 / 3, 2 / 3]]),
    ],
)
def test_mechanisms_come_back(source):
    found = tomllib.loads(written("\U0001f600", source))
    assert found["randomizer"] == json.loads(json.dumps(given_only(source.to_dict())))
    assert found["title"] == "\U0001f600"


@pytest.mark.parametrize("title", ["", "   ", "two\\nlines", "a\\u2028b"])
def test_a_title_is_a_line(tmp_path, title):
    path = tmp_path / "d.toml"
    path.write_text(TEXT.format(title=title, randomizer=RR, data="").strip())
    done = call("account", path, "--output", tmp_path)
    assert done.exit_code == 2
    assert "title = " in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.toml"]


@pytest.mark.parametrize(
    ("randomizer", "data", "words"),
    [
        (RR, 'domain = ["a", "b", "a"]', "data.domain = 'a': wanted every item once"),
        (RR, "domain = [1, 2, 1]", "data.domain = 1: wanted every item once"),
        (RR, 'domain = ["a"]', "1 items"),
        (RR, 'domain = ["a", "b"]', "wanted 3 items"),
        (RR, 'domain = ["a", "b", "c"]\nnulls = "category"', "'4 items': wanted 3 items"),
        ('name = "laplace"\neps0 = 1.0', 'domain = ["a", "b"]', "no domain"),
        ('name = "balcer-et-al"\nblankets = 2', 'domain = ["a", "b", "c"]', "wanted 2 items"),
    ],
)
def test_account_refuses_a_domain_that_run_would(tmp_path, randomizer, data, words):
    path = tmp_path / "d.toml"
    path.write_text(TEXT.format(title="t", randomizer=randomizer, data=data))
    (tmp_path / "x.csv").write_text("x\na\nb\n")
    for command in (
        ("account", path, "--output", tmp_path),
        ("run", path, "--input", tmp_path / "x.csv", "--output", tmp_path / "e.csv"),
    ):
        done = call(*command)
        assert done.exit_code == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.toml", "x.csv"]


def test_a_domain_of_two_columns_is_checked_too(tmp_path):
    path = tmp_path / "d.toml"
    text = TEXT.format(title="t", randomizer=RR, data="").split("[data]")[0]
    path.write_text(text + '[[data.columns]]\ncolumn = "x"\ndomain = ["a", "a"]\n')
    with pytest.raises(ParameterError, match="every item once"):
        load(path)


@pytest.mark.parametrize("mark", [pytest.param("", marks=pytest.mark.long), "\ufeff"])
def test_a_byte_order_mark_is_passed_over_everywhere(tmp_path, mark):
    """A matrix by --matrix, by Channel.from_csv, and a certificate."""
    matrix = tmp_path / "m.csv"
    matrix.write_text(f"{mark}0.75,0.25\n0.25,0.75\n", encoding="utf-8")
    assert sd.Channel.from_csv(matrix).matrix == ((0.75, 0.25), (0.25, 0.75))
    done = call("epsilon", "channel", "--matrix", matrix, "--n", 100, "--delta", "1e-3", "--json")
    assert done.exit_code == 0, done.output
    same = sd.shuffle(sd.Channel(matrix=[[0.75, 0.25], [0.25, 0.75]]), n=100).epsilon(delta=1e-3)
    assert json.loads(done.stdout)["upper"] == same.upper
    (tmp_path / "d.toml").write_text(
        mark + TEXT.format(title="t", randomizer=RR, data=""), encoding="utf-8"
    )
    assert call("account", tmp_path / "d.toml", "--output", tmp_path).exit_code == 0
    path = tmp_path / "d.certificate.json"
    path.write_text(mark + path.read_text(encoding="utf-8"), encoding="utf-8")
    checked = call("verify", path, "--deployment", tmp_path / "d.toml")
    assert checked.exit_code == 0, checked.output


HEX = "0x" + "f" * 5_000


@pytest.mark.parametrize("command", ["account", "run"])
def test_integers_that_python_does_not_read_are_one_line(tmp_path, capsys, command):
    path = tmp_path / "d.toml"
    path.write_text(f"[population]\nusers = {'1' * 5_000}\n")
    more = ["--input", "in.csv", "--output", "e.csv"] if command == "run" else []
    with pytest.raises(SystemExit) as stop:
        main.main([command, str(path), *more])
    assert stop.value.code == 2
    found = capsys.readouterr().err
    assert found.count("\n") == 1
    assert "not valid TOML" in found


def test_an_integer_too_long_to_be_written_is_shown():
    with pytest.raises(ParameterError, match="n = 0xfff"):
        sd.shuffle(sd.KRR(k=5, eps0=1.0), n=int(HEX, 16))
    with pytest.raises(ParameterError, match="matrix = a list with an integer too long"):
        sd.Channel(matrix=[[int(HEX, 16), 0], [0, 1]])


@pytest.mark.parametrize("name", ["channel", "extremal"])
def test_a_matrix_of_what_is_no_float_is_one_line(tmp_path, capsys, name):
    key, number = ("matrix" if name == "channel" else "pattern"), f"1{'0' * 400}"
    more = {} if name == "channel" else {"eps0": 1.0}
    eps0 = [word for pair in more.items() for word in (f"--{pair[0]}", str(pair[1]))]
    rows = f"[[{number}, 0], [0, 1]]"
    (tmp_path / "m.json").write_text(rows)
    table = json.dumps({"name": name, key: [[int(number), 0], [0, 1]], **more})
    text = f"title = 't'\n[population]\nusers = 9\n[randomizer]\nname = '{name}'\n{key} = {rows}\n"
    text += "".join(f"{key} = {value}\n" for key, value in more.items())
    (tmp_path / "d.toml").write_text(f"{text}[target]\ndelta = 1e-6\n")
    asked = ["-n", "100", "--delta", "1e-6"]
    for words in (
        ["account", str(tmp_path / "d.toml")],
        ["epsilon", name, f"--{key}", str(tmp_path / "m.json"), *eps0, *asked],
        ["epsilon", "poisson-subsample", "--randomizer", table, "--rate", "0.5", *asked],
    ):
        with pytest.raises(SystemExit) as stop:
            main.main(words)
        assert stop.value.code == 2
        found = capsys.readouterr().err
        assert found.count("\n") == 1
        assert f"{key} = [[1000" in found


@pytest.mark.parametrize(
    ("mechanism", "values"),
    [
        (sd.GaussianBall(d=2, sigma=1.0), [[10**400, 0]]),
        (sd.PCKVGRR(domain=4, s=1, eps0=1.0), [[[10**400, 0]]]),
    ],
)
def test_values_that_are_no_floats_are_refused(mechanism, values):
    with pytest.raises(ParameterError, match="values"):
        mechanism.randomize(values)
