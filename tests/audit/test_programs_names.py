"""What an audited program says or names is shown on one line, and its files are not lost."""

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp.audit import UnknownPlan
from shuffledp.audit.sources import Lines
from shuffledp.cli import main
from shuffledp.errors import ParameterError


def run(*words):
    return CliRunner().invoke(main, ["audit", *map(str, words)])


@pytest.mark.parametrize("option", ["--output", "--text", "--report", "--checkpoint"])
@pytest.mark.parametrize("source", ["--command", "--shuffler"])
@pytest.mark.parametrize("way", ["{0} {1}", "{0} -u {1}", "sh -c '{0} {1}'", "cat --x={1}"])
def test_the_audited_program_is_not_written_over(tmp_path, option, source, way):
    path = tmp_path / "c.md"
    path.write_text("print(1)\n")
    beside = ["--pair", "0,1"] if source == "--command" else []
    words = (source, way.format(sys.executable, path), *beside, "-N", "200", option, path)
    done = run(*words)
    assert done.exit_code == 2
    assert "is read too" in done.output
    assert path.read_text() == "print(1)\n"


@pytest.mark.parametrize("pair", ["NaN,0", "NaN,1e999", "0,1e999", "[0,-Infinity],1", "[" * 2000])
def test_pairs_that_are_not_finite_are_refused_before_anything_runs(tmp_path, pair):
    ran = tmp_path / "ran"
    words = ("--command", f"touch {ran}", "--pair", pair, "-N", "200", "--json")
    done = run(*words)
    assert done.exit_code == 2
    assert "pair = " in done.output
    assert done.output.count("\n") == 1
    assert not ran.exists()


@pytest.mark.parametrize("value", [float("nan"), (0.0, float("inf")), np.float64("nan"), [1e999]])
def test_plans_have_no_values_that_files_have_not(value):
    with pytest.raises(ParameterError, match="pair"):
        UnknownPlan(pair=(0, value))


@pytest.mark.parametrize("timeout", ["nan", "inf", "-1", "0", "1e9"])
@pytest.mark.parametrize("source", [("--command", "cat", "--pair", "0,1"), ("--shuffler", "cat")])
def test_a_time_that_is_none_is_refused(timeout, source):
    done = run(*source, "--timeout", timeout)
    assert done.exit_code == 2
    assert "timeout = " in done.output
    assert done.output.count("\n") == 1
    with pytest.raises(ParameterError, match="timeout"):
        Lines(("cat",), float(timeout))
