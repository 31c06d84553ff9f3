"""``shuffledp audit``: commands, files, saved counts, and every way of being given nonsense."""

import hashlib
import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.audits import AuditPlan
from shuffledp.cli import main

DEPLOYMENT = """
title = "Four answers"
[population]
users = 2_000
minimum_batch = 20
[randomizer]
name = "k-rr"
k = 4
eps0 = 1.0
[target]
delta = 1e-6
[audit]
deltas = [1e-6]
"""

# k-RR in plain Python: truth with probability e^eps0/(e^eps0 + 3).
CLIENT = """
import json, math, random, sys
source, grow = random.Random(SEED), math.exp(EPS0)
for line in sys.stdin:
    x = (0, 1, 2, 3).index(json.loads(line))
    keep = source.random() < grow / (grow + 3.0)
    print(x if keep else (x + 1 + source.randrange(3)) % 4)
"""
SHUFFLER = """
import random, sys
lines = sys.stdin.read().splitlines()
if len(lines) >= 20:
    random.SystemRandom().shuffle(lines)
    print("\\n".join(lines))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "d.toml").write_text(DEPLOYMENT)
    (tmp_path / "shuffler.py").write_text(SHUFFLER)
    return tmp_path


def client(folder, *, eps0=1.0, seed="None"):
    path = folder / "client.py"
    path.write_text(CLIENT.replace("EPS0", repr(eps0)).replace("SEED", seed))
    return f"{sys.executable} {path}"


def run(folder, *words):
    words = [client(folder) if word == "CLIENT" else word for word in words]
    return CliRunner().invoke(main, ["audit", str(folder / "d.toml"), *words])


def test_an_honest_client_is_not_refuted_and_its_counts_are_kept(folder):
    out = folder / "audit.json"
    words = ("--command", client(folder), "-N", "2000", "--alpha", "1e-6", "--output", str(out))
    done = run(folder, *words)
    assert done.exit_code == 0
    assert "**not refuted** at level 1e-06: 2,000 reports under each of 4 inputs" in done.output
    assert "passed" not in done.output
    table = json.loads(out.read_text())
    assert np.array(table["parts"]["program"]["tally"]["counts"]).sum() == 8_000
    assert table["source"]["command"] == words[1]
    assert set(table["source"]["deployment"]) == {"file", "sha256"}
    files = table["source"]["command files"]
    digest = hashlib.sha256((folder / "client.py").read_bytes()).hexdigest()
    assert {*words[1].split()} <= {*files}
    assert files[str(folder / "client.py")] == digest


@pytest.mark.parametrize(
    ("eps0", "seed"), [(2.0, "None"), (1.0, "5")], ids=["another eps0", "one seed"]
)
def test_faulty_clients_are_refuted_with_status_1(folder, eps0, seed):
    done = run(folder, "--command", client(folder, eps0=eps0, seed=seed), "-N", "1500")
    assert done.exit_code == 1
    assert "**refuted**" in done.output


def test_a_shuffler_and_a_client_share_the_level(folder):
    shuffler = f"{sys.executable} {folder / 'shuffler.py'}"
    with (folder / "d.toml").open("a") as file:
        file.write("messages = 64\nbatches = 5\n")
    words = ("--alpha", "1e-6", "--shuffler", shuffler)
    alone = run(folder, *words)
    assert alone.exit_code == 0
    assert "not refuted** at level 1e-06" in alone.output
    both = run(folder, *words, "--command", "CLIENT", "-N", "500")
    assert both.exit_code == 0
    assert both.output.count("** at level 5e-07") == 2
    table = json.loads(run(folder, *words, "--command", "CLIENT", "-N", "500", "--json").output)
    assert {part["verdict"] for part in table["parts"].values()} == {"not refuted"}
    assert table["verdict"] == "not refuted"
    cat = run(folder, *words[2:], "--shuffler", "cat")
    assert cat.exit_code == 1
    assert "neighbours in the same order" in cat.output


def test_reports_from_a_file(folder):
    plan = AuditPlan(randomizer=sd.KRR(k=4, eps0=1.0), reports=500)
    order = plan.order()
    reports = sd.KRR(k=4, eps0=1.0).simulate(order, seed=0)
    lines = [
        json.dumps({"value": int(x), "report": int(y)}) for x, y in zip(order, reports, strict=True)
    ]
    path = folder / "reports.jsonl"
    path.write_text("\n".join([*lines, lines[0]]) + "\n")
    done = run(folder, "--reports", str(path), "--alpha", "1e-6")
    assert done.exit_code == 0
    assert "500 reports under each of 4 inputs" in done.output
    path.write_text("\n".join(json.dumps({"value": int(x), "report": int(x)}) for x in order))
    assert run(folder, "--reports", str(path)).exit_code == 1


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit(3)", "status 3"),
        ("import sys; print('no such key', file=sys.stderr); sys.exit(1)", "status 1: no such key"),
        ("print(1)", "reports of a call"),
        ("import sys; [print('x y') for _ in sys.stdin]", "line 1"),
        ("import sys; [print('[[1], 2]') for _ in sys.stdin]", "numbers or lists of them"),
        ("import sys; [print('null') for _ in sys.stdin]", "numbers or lists of them"),
        ("import time; time.sleep(60)", "not done after 0.2 s"),
        ("import sys; sys.stdout.write('1' * 10**8)", "bytes of reports"),
    ],
)
def test_programs_that_do_not_answer_are_an_error_in_one_line(folder, program, words):
    path = folder / "bad.py"
    path.write_text(program)
    command = f"{sys.executable} {path}"
    timeout = "0.2" if "sleep" in program else "60"
    out = folder / "o.json"
    words_of = ("--command", command, "-N", "200", "--timeout", timeout, "--output", str(out))
    done = run(folder, *words_of)
    assert done.exit_code == 2
    assert words in done.output
    assert done.output.count("\n") == 1
    assert not out.exists()
