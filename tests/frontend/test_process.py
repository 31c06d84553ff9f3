"""The command as a process: no traceback, and extras that are missing are named."""

import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-W", "error", "-m", "shuffledp"]
WITHOUT_EXTRAS = """
import sys
for name in ("matplotlib", "pyarrow"):
    sys.modules[name] = None

from shuffledp.cli import main
main(sys.argv[1:])
"""


def run(*args, base=COMMAND, **kwargs):
    words = [*base, *map(str, args)]
    return subprocess.run(words, capture_output=True, text=True, check=False, **kwargs)


def test_bad_input_without_traceback():
    done = run("epsilon", "k-rr", "--k", 10, "--eps0", 1e308, "-n", 10, "--delta", 1e-6)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.long
def test_the_core_works_without_extras_and_names_the_one_that_is_missing(tmp_path):
    base = [sys.executable, "-W", "error", "-c", WITHOUT_EXTRAS]
    krr = ["k-rr", "--k", "3", "--eps0", "1", "-n", "50"]
    assert run("epsilon", *krr, "--delta", 0.01, base=base).returncode == 0
    assert run("delta", *krr, "--epsilon", 0.1, base=base).returncode == 0
    assert run("delta", *krr, "--curve", "0:1:3", base=base).returncode == 0
    for args, needs in [
        (["delta", *krr, "--plot", tmp_path / "x.png"], "needs matplotlib, which is"),
        (["run", "x.toml", "--input", "x.csv", "--output", "y.csv"], "needs pyarrow, which is"),
    ]:
        done = run(*args, base=base)
        assert done.returncode == 2
        assert needs in done.stderr
        assert "pip install '.[all]'" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_reader_that_stops_early_gets_no_traceback():
    args = ["delta", "k-rr", "--k", "3", "--eps0", "1", "-n", "12", "--curve", "0:1:1000"]
    with subprocess.Popen(
        [*COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
