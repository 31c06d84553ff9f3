"""``shuffledp epsilon --analysis all``: what the library says, as text and as JSON."""

import json

from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main

EVERY = ["--analysis", "all"]
ASK = ["epsilon", "k-rr", "--k", "4", "--eps0", "0.4", "-n", "3000", "--delta", "1e-4", *EVERY]


def test_json_is_the_comparison():
    result = CliRunner().invoke(main, [*ASK, "--json"])
    told = json.loads(result.output)
    found = sd.shuffle(sd.KRR(k=4, eps0=0.4), n=3000).compare(delta=1e-4).to_dict()
    for mine, theirs in zip(told["rows"], found["rows"], strict=True):
        for key in ("analysis", "end", "certified", "epsilon", "factor", "note"):
            assert mine[key] == theirs[key]


def test_generic_and_slow():
    ask = ["epsilon", "binary-rr", "--eps0", "1", "-n", "50", "--delta", "1e-2"]
    result = CliRunner().invoke(main, [*ask, "--analysis", "all-slow", "--json"])
    rows = {row["analysis"]: row for row in json.loads(result.output)["rows"]}
    assert rows["binary-exact"]["epsilon"] is not None
