"""``shuffledp calibrate``: one syntax for mechanisms, parts and protocols."""

import json
import math

import pytest
from click.testing import CliRunner

from shuffledp.cli import main


def run(*args):
    return CliRunner().invoke(main, ["calibrate", *map(str, args)])


def solved(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


TARGET = ("--epsilon", 1, "--delta", 1e-6)
SLOW = {"--randomizers", "discrete-gaussian"}
PARTS = '[{"name": "k-rr", "k": 3}, {"name": "duchi"}]'
SOLVED = [
    ("eps0", ("generic", "-n", 2000)),
    ("sigma", ("discrete-gaussian", "--top", 3, "-n", 2000)),
    ("eps0", ("joint", "--randomizers", PARTS, "-n", 20_000)),
    ("eps0", ("parallel", "--randomizers", PARTS, "--weights", "0.5,0.5", "-n", 2000)),
    ("eps0", ("poisson-subsample", "--randomizer", '{"name": "k-rr", "k": 3}', "--rate", 0.5,
              "-n", 2000)),
    ("rate", ("poisson-subsample", "--randomizer", '{"name": "k-rr", "k": 3, "eps0": 6}',
              "-n", 2000)),
    ("distance", ("metric-laplace", "--scale", 0.1, "-n", 300)),
    ("blankets", ("pure-dump", "--d", 50, "-n", 100)),
    ("blankets", ("balcer-et-al", "-n", 50)),
    ("rate", ("pure-dump", "--d", 50, "--blankets", 40, "-n", 100)),
    ("f", ("cheu-zhilyaev", "--d", 5, "--blankets", 2, "-n", 2000)),
    ("p", ("balcer-cheu", "-n", 2000)),
]  # fmt: skip


@pytest.mark.many(3)
@pytest.mark.parametrize(
    ("key", "args"),
    [pytest.param(*s, marks=[pytest.mark.long] * (not SLOW.isdisjoint(s[1]))) for s in SOLVED],
)
def test_one_syntax_for_mechanisms_parts_and_protocols(key, args):
    """The value meets the target by `delta` with the same words, and the next one does not."""
    found = solved(*args, *TARGET, "--find", key)
    assert found["what"] == key
    assert found["beyond"] is not None
    for value, met in ((found["value"], True), (found["beyond"], False)):
        words = [str(word) for word in args]
        own = [f"--{key}", repr(value)]
        if key == "eps0" and any(word.startswith(("[", "{")) for word in words):
            own = []
            words = [
                w.replace("}", f', "eps0": {value!r}}}') if w.startswith(("[", "{")) else w
                for w in words
            ]
        done = CliRunner().invoke(main, ["delta", *words, *own, "--epsilon", "1", "--json"])
        assert done.exit_code == 0, done.stderr
        assert (json.loads(done.stdout)["log_upper"] <= math.log(1e-6)) is met
