"""``shuffledp init``: files that ``account`` accepts, true comments, nothing written over."""

import importlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from frontend.test_verify_all import TABLES
from multimessage.test_deployments import PROTOCOLS
from shuffledp import ParameterError
from shuffledp.cli import main
from shuffledp.deployment import load, parse
from shuffledp.deployment.files import tomllib
from shuffledp.deployment.model import Accounting, Population, Target, checked_randomizer
from shuffledp.deployment.template import commented_text

module = importlib.import_module("shuffledp.cli.init")
MECHANISMS = [
    *(f'name = "{name}"\n{text}' for name, texts in TABLES.items() for text in texts),
    *PROTOCOLS.values(),
    'name = "generic"\neps0 = 2.0\nadaptive = true',
    'name = "joint"\nrandomizers = [{ name = "channel", matrix = [[0.9, 0.1], [0.1, 0.9]] }]',
]
OFF = re.compile(r"^# (\w+ = .*)$", re.MULTILINE)
KRR = ["init", "k-rr", "--k", "5", "--eps0", "2", "--users", "1000", "--delta", "1e-6"]


def run(*args, **more):
    return CliRunner().invoke(main, [str(a) for a in args], **more)


def accepted(text):
    return parse(tomllib.loads(text), where="t.toml")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda text: text.split('"')[1])
def test_every_mechanism_is_written_and_read_back(mechanism):
    table = checked_randomizer(tomllib.loads(mechanism))
    tables = {
        "title": 'A "title" \\ # with = signs',
        "population": {"users": 1000},
        "randomizer": table,
        "target": {"delta": 1e-6},
    }
    text = commented_text(tables, said={"eps0": "a word"}, summary="a mechanism")
    found = accepted(text)
    assert found.title == tables["title"]
    assert found.randomizer == checked_randomizer(table)
    assert max(map(len, OFF.sub("", text).splitlines())) <= 160


def variants():
    """Populations and targets at the edges of what a file may say."""
    yield {"users": 1}, {"delta": 0.5}
    yield {"users": 3, "dropout": 0.6}, {"epsilon": 0.0}
    yield {"users": 100, "participation": 0.02, "colluding": 0.5}, {"epsilon": 2.0, "at_most": 0.1}
    yield {"users": 100, "colluding": 0.99}, {"delta": 1e-12, "at_most": 3.0}
    yield {"users": 10**12, "minimum_batch": 1}, {"delta": 1e-300}


@pytest.mark.parametrize(("population", "target"), list(variants()))
def test_what_is_switched_off_may_be_switched_on(population, target):
    tables = {
        "title": "t",
        "population": population,
        "randomizer": {"name": "k-rr", "k": 5, "eps0": 1.0},
        "target": target,
    }
    text = commented_text(tables, said={}, summary="a mechanism")
    plain = accepted(text)
    lines = OFF.findall(text)
    assert len(lines) >= 4
    for line in lines:
        accepted(text.replace(f"# {line}", line, 1))
        key = line.split(" ")[0]
        if key not in {"minimum_batch", "at_most"}:
            # What is switched off is what holds if it is not said.
            on = accepted(text.replace(f"# {line}", line, 1))
            assert on.population.arriving == plain.population.arriving
            assert on.population.colluding == plain.population.colluding
            assert on.accounting == plain.accounting
    everything = accepted(OFF.sub(r"\1", text))
    assert everything.accounting.model_fields_set == {"rounds", "trust", "rtol"}


def test_every_key_of_the_file_is_explained():
    tables = {
        "title": "t",
        "population": {"users": 1000},
        "randomizer": {"name": "binary-rr", "eps0": 1.0},
        "target": {"delta": 1e-6},
    }
    text = commented_text(tables, said={}, summary="a mechanism")
    for model in (Population, Target, Accounting):
        for key in model.model_fields:
            if key not in {"dropout", "epsilon"}:  # of two, one is there
                assert re.search(rf"^(# )?{key} = ", text, re.MULTILINE), key


def test_no_deployment_no_file():
    tables = {
        "title": "t",
        "population": {"users": 0},
        "randomizer": {"name": "binary-rr", "eps0": 1.0},
        "target": {"delta": 1e-6},
    }
    with pytest.raises(ParameterError, match=r"population\.users = 0"):
        commented_text(tables, said={}, summary="")


# --------------------------------------------------------------------------- the command line


def test_options_become_a_file_that_account_accepts(tmp_path):
    out = tmp_path / "d.toml"
    more = ["--minimum-batch", "100", "--dropout", "0.1", "--at-most", "2", "--rounds", "2"]
    result = run(*KRR, *more, "--title", "T", "--column", "page", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout == f"wrote {out}\nnext: shuffledp account {out}\n"
    found = load(out).deployment
    assert found.title == "T"
    assert found.population.minimum_batch == 100
    assert found.population.dropout == 0.1
    assert found.target.at_most == 2.0
    assert found.accounting.rounds == 2
    assert found.data.column == "page"
    assert found.randomizer == {"name": "k-rr", "k": 5, "eps0": 2.0}
    shown = run("account", out, "--json")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stderr == ""


def test_a_title_is_made_where_none_is_given():
    result = run(*KRR, "--out", "-")
    found = accepted(result.stdout)
    assert found.title == "k-rr, k = 5, eps0 = 2, 1,000 users"
    assert result.stdout.startswith("# ")
    assert "Domain size" in result.stdout


def test_nothing_is_written_over(tmp_path):
    there, link, folder = tmp_path / "d.toml", tmp_path / "l.toml", tmp_path / "f"
    there.write_text("mine")
    link.symlink_to(tmp_path / "nowhere.toml")
    folder.mkdir()
    for out in (there, link, folder):
        result = run(*KRR, "--out", out)
        assert result.exit_code == 2
        assert f"out = {str(out)!r}: wanted a new name; that file is there already" in result.stderr
        assert result.stderr.count("\n") == 1
    assert there.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.toml", "f", "l.toml"]
    missing = run(*KRR, "--out", tmp_path / "no" / "d.toml")
    assert missing.exit_code == 2
    assert "wanted a new file" in missing.stderr


def test_a_file_that_cannot_be_finished_is_removed(tmp_path):
    out = tmp_path / "d.toml"
    with pytest.raises(TypeError):
        module._save(None, str(out))
    assert not out.exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (KRR[:-2], "wanted exactly one of delta, epsilon"),
        ([*KRR, "--epsilon", "1"], "target has both"),
        ([*KRR[:6], "--delta", "1e-6"], "users is missing: wanted --users"),
        ([*KRR, "--minimum-batch", "2000"], "population.minimum_batch = 2000: wanted at most"),
        ([*KRR, "--title", "a\nb"], "title = 'a\\nb': wanted a line of text"),
        ([*KRR, "--rounds", "0"], "accounting.rounds = 0"),
        ([*KRR[:3], "1", *KRR[4:]], "k = 1"),
    ],
)
def test_what_account_would_refuse_is_refused(args, message, tmp_path):
    result = run(*args, "--out", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ the questions


def test_without_a_terminal_it_is_a_question_for_help(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("init")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage:")
    assert list(tmp_path.iterdir()) == []


def answered(monkeypatch, tmp_path, *answers):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_on_terminal", lambda: True)
    return run("init", input="".join(f"{answer}\n" for answer in answers))


def test_answers_become_a_file(monkeypatch, tmp_path):
    given = ["k-rr", "5", "2", "1000", "", "100", "0.1", "1e-6", "0.7", "12", "My title", ""]
    result = answered(monkeypatch, tmp_path, *given)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "wrote deployment.toml\nnext: shuffledp account deployment.toml\n"
    found = load(tmp_path / "deployment.toml").deployment
    assert found.title == "My title"
    assert found.randomizer == {"name": "k-rr", "k": 5, "eps0": 2.0}
    assert (found.population.users, found.population.minimum_batch) == (1000, 100)
    assert found.population.colluding == 0.1
    assert (found.target.delta, found.target.at_most, found.accounting.rounds) == (1e-6, 0.7, 12)


def test_what_is_wrong_is_asked_again(monkeypatch, tmp_path):
    (tmp_path / "deployment.toml").write_text("mine")
    given = [
        *("krrr", "k-rr"),
        *("5", "-2", "5", "2"),
        *("many", "1000", "", "2000", "", "1000", "", "", ""),
        *("2", "", "", ""),
        *("0", "1"),
        "",
        *("", "other.toml"),
    ]
    result = answered(monkeypatch, tmp_path, *given)
    assert result.exit_code == 0, result.stderr
    for words in (
        "mechanism = 'krrr': wanted a mechanism such as k-rr",
        "eps0 = -2.0: wanted",
        "users = 'many': wanted a whole number",
        "population.minimum_batch = 2000: wanted at most 1,000",
        "target.delta = 2.0",
        "accounting.rounds = 0",
        "out = 'deployment.toml': wanted a new name",
    ):
        assert words in result.stderr, words
    assert (tmp_path / "deployment.toml").read_text() == "mine"
    assert load(tmp_path / "other.toml").deployment.population.minimum_batch is None


def test_answers_that_end_early_leave_nothing(monkeypatch, tmp_path):
    result = answered(monkeypatch, tmp_path, "k-rr", "5")
    assert result.exit_code == 128 + signal.SIGINT
    assert list(tmp_path.iterdir()) == []


def test_a_protocol_and_a_flag(monkeypatch, tmp_path):
    given = ["generic", "2", "y", "1000", "", "", "", "", "", "", "", "-"]
    result = answered(monkeypatch, tmp_path, *given)
    assert result.exit_code == 0, result.stderr
    assert accepted(result.stdout).randomizer == {"name": "generic", "eps0": 2.0, "adaptive": True}
    given = ["balcer-et-al", "2", "1000", "", "", "", "", "", "", "-"]
    result = answered(monkeypatch, tmp_path, *given)
    assert result.exit_code == 0, result.stderr
    assert accepted(result.stdout).randomizer["name"] == "balcer-et-al"


def test_on_a_real_terminal(tmp_path):
    """Keys typed into a pseudo-terminal, one line each."""
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "shuffledp", "init"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, close_fds=True
    )
    os.close(theirs)
    for line in ["binary-rr", "1", "1000", "", "100", "", "", "", "", "", ""]:
        os.write(mine, f"{line}\n".encode())
    shown, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([mine], [], [], 1.0)[0]:
            continue
        try:
            found = os.read(mine, 4096)
        except OSError:
            break
        if not found:
            break
        shown += found
    assert process.wait(timeout=30) == 0, shown.decode()
    os.close(mine)
    assert b"wrote deployment.toml" in shown
    assert load(tmp_path / "deployment.toml").deployment.randomizer["name"] == "binary-rr"
