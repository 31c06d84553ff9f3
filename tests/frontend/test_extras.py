"""Extras: what one brings is enough for its commands, and nothing else is needed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shuffledp.deployment.files import tomllib

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
ALL = {"matplotlib", "pydantic", "pyarrow", "duckdb"}
ALONE = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from shuffledp.cli import main
main(sys.argv[1:])
"""


def brought(extra):
    """What an extra installs, other extras of ours included, by the names of the imports."""
    found = set()
    for word in EXTRAS[extra]:
        ours = re.fullmatch(r"shuffledp\[(.*)\]", word)
        if ours:
            found |= set().union(*(brought(name) for name in ours[1].split(",")))
        else:
            found.add(re.match(r"[A-Za-z0-9_-]+", word)[0])
    return found


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    (out / "d.toml").write_text(
        'title = "t"\n[population]\nusers = 200\n[randomizer]\nname = "k-rr"\nk = 3\n'
        "eps0 = 2.0\n[target]\ndelta = 1e-4\n"
    )
    alone("account", ["account", out / "d.toml", "--output", out])
    return out / "d.certificate.json"


def alone(extra, args):
    """A command with nothing but the core and this extra."""
    code = ALONE.format(blocked=sorted(ALL - brought(extra)))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, args)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_curve_is_drawn_with_plot_alone(tmp_path):
    krr = ["k-rr", "--k", 3, "--eps0", 1, "-n", 50]
    alone("plot", ["delta", *krr, "--curve", "0:1:3", "--plot", tmp_path / "x.svg"])
    assert (tmp_path / "x.svg").exists()


@pytest.mark.long
def test_verify_needs_its_own_extra_alone(certificate):
    assert "VERIFIED" in alone("verify", ["verify", certificate])


def test_a_deployment_runs_with_run_alone(tmp_path):
    (tmp_path / "d.toml").write_text(
        'title = "t"\n[population]\nusers = 200\n[randomizer]\nname = "k-rr"\nk = 3\n'
        'eps0 = 2.0\n[target]\ndelta = 1e-4\n[data]\ncolumn = "v"\ndomain = ["a", "b", "c"]\n'
    )
    (tmp_path / "v.csv").write_text("v\n" + "a\nb\nc\na\n" * 50)
    files = ["--input", tmp_path / "v.csv", "--output", tmp_path / "o.csv"]
    alone("run", ["run", tmp_path / "d.toml", *files])
    assert (tmp_path / "o.csv").exists()
