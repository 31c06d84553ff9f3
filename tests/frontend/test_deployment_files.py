"""Deployment and plan files: what is written comes back, and what `run` refuses `account` does."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.deployment.files import tomllib
from shuffledp.deployment.text import deployment_text, given_only

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
