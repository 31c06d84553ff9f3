"""Programs without a declared law: bounds by sample splitting."""

import json
import math
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp as sd
from audit import programs
from shuffledp.audit import limits, unknown
from shuffledp.audit.blackbox import unknown_from_dict
from shuffledp.cli import main


@pytest.mark.parametrize(
    ("mechanism", "pair", "least"),
    [
        (sd.KRR(k=10, eps0=1.0), (0, 1), 0.8),
        (sd.RAPPOR(d=6, eps0=2.0), (0, 1), 1.5),
        (sd.Laplace(eps0=1.0), (0.0, 1.0), 0.7),
        (sd.DiscreteLaplace(top=3, eps0=1.5), (0, 3), 1.3),
    ],
)
def test_bounds_are_below_what_runs_and_near_it(mechanism, pair, least):
    found = unknown(programs.honest(mechanism), pair, reports=60_000, alpha=1e-3)
    assert least < found.epsilon <= mechanism.eps0


def test_delta_at_given_eps():
    mechanism = sd.Gaussian(sigma=1.0)
    found = unknown(
        programs.honest(mechanism), (0.0, 1.0), reports=60_000, epsilons=(0.5, 1.0), alpha=1e-3
    )
    for epsilon, delta in found.delta:
        at = epsilon - 0.5
        tail = [0.5 * math.erfc(x / math.sqrt(2)) for x in (at, at + 1.0)]
        exact = tail[0] - math.exp(epsilon) * tail[1]
        assert 0.7 * exact < delta <= exact


def test_programs_that_send_the_value():
    found = unknown(np.array, (0, 1), reports=2_000)
    assert found.epsilon > 5.0
    rows = unknown(lambda v: np.column_stack([v, v]), (3, 4), reports=2_000)
    assert rows.epsilon > 5.0
    nothing = unknown(lambda v: np.zeros(len(v)), (3, 4), reports=2_000)
    assert nothing.epsilon == 0.0


def test_texts_and_numbers_that_are_none():
    texts = unknown(lambda v: np.array([f"x{x}" for x in v]), (0, 1), reports=2_000)
    assert texts.epsilon > 5.0
    nan = unknown(lambda v: np.where(np.asarray(v) == 0, np.nan, 1.0), (0, 1), reports=2_000)
    assert nan.epsilon > 5.0
    calls = iter(range(10_000))
    mixed = unknown(
        lambda v: np.asarray(v) if next(calls) < 4 else np.array(["?"] * len(v)),
        (0, 1),
        reports=2_000,
    )
    assert mixed.epsilon == 0.0


def test_a_claim_is_refuted_where_the_bound_is_above_it():
    program = programs.honest(sd.KRR(k=10, eps0=2.0))
    found = unknown(program, (0, 1), reports=20_000, alpha=1e-3, claimed=1.0)
    assert found.verdict == "refuted"
    assert unknown(program, (0, 1), reports=20_000, alpha=1e-3, claimed=2.0).verdict != "refuted"
    again = unknown_from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found


def test_a_command_without_a_declared_law(tmp_path):
    path = tmp_path / "c.py"
    path.write_text(
        "import random, sys\n"
        "for line in sys.stdin:\n"
        "    keep = random.random() < 0.7\n"
        "    print('\"yes\"' if (line.strip() == '1') == keep else '\"no\"')\n"
    )
    out = str(tmp_path / "u.json")
    words = ["audit", "--command", f"{sys.executable} {path}", "--pair", "1, 0", "-N", "3000"]
    done = CliRunner().invoke(main, [*words, "--epsilon", "0.2", "--output", out])
    assert done.exit_code == 0
    assert "Nothing is declared, so nothing can be refuted" in done.output
    assert 0.6 < json.loads((tmp_path / "u.json").read_text())["parts"]["unknown"]["epsilon"] < 0.85
    refuted = CliRunner().invoke(main, [*words, "--claimed", "0.1"])
    assert refuted.exit_code == 1
    assert CliRunner().invoke(main, ["audit", "--check", out]).exit_code == 0
    mixed = [*words[:3], "--pair", '1, "a"', "-N", "400"]
    assert CliRunner().invoke(main, mixed).exit_code == 0
    for pair in ("1", "1,1", "x,y", "1,2,3"):
        bad = CliRunner().invoke(main, [*words[:3], "--pair", pair])
        assert bad.exit_code == 2
        assert "pair" in bad.output


def test_bounds_are_wrong_no_more_often_than_the_level():
    """The event is chosen on other reports: many outputs to choose from do not help."""
    wrong = 0
    generator = np.random.default_rng(0)
    for _ in range(15):
        found = unknown(
            lambda v: generator.integers(0, 200, len(v)), (0, 1), reports=400, alpha=0.5
        )
        wrong += found.epsilon > 0.0
    assert limits.upper_tail(wrong, 15, 0.5) > 1e-3
