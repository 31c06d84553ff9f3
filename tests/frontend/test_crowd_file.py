"""Deployment files of crowds: `account` says what each group gets; nothing else takes them."""

import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.deployment import account, load
from shuffledp.errors import ParameterError

TEXT = """title = "two versions"
[[group]]
users = 60
randomizer = { name = "binary-rr", eps0 = 1.0 }
[[group]]
users = 40
randomizer = { name = "duchi", eps0 = 3.0 }
[target]
delta = 1e-3
"""


def written(folder, text=TEXT):
    path = folder / "crowd.toml"
    path.write_text(text)
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_account_writes_certificate_reports_and_figure(tmp_path):
    path, out = written(tmp_path), tmp_path / "out"
    reports = [tmp_path / f"report.{kind}" for kind in ("html", "md")]
    done = run("account", path, "--output", out, "--verify", "--plot", out / "crowd.png",
               *(word for report in reports for word in ("--report", report)))  # fmt: skip
    assert done.exit_code == 0, done.output
    for words in ("two versions", "group 1: duchi", "60", "who is in which group", "upper by",
                  "VERIFIED: all", "written alike"):  # fmt: skip
        assert words in done.output
    assert max(map(len, done.stdout.splitlines())) <= 80 + len(str(out))
    assert sorted(one.name for one in out.iterdir()) == ["crowd.certificate.json", "crowd.png"]
    for report in reports:
        said = report.read_text(encoding="utf-8")
        for words in ("Members of group 1: duchi", "who is in which group", "VERIFIED: all",
                      "Least is promised to the members of group", "crowd-dataset"):  # fmt: skip
            assert words in said, (report, words)
    assert "data:image/svg+xml" in reports[0].read_text(encoding="utf-8")
    groups = [(sd.BinaryRR(eps0=1.0), 60), (sd.Duchi(eps0=3.0), 40)]
    certificate = json.loads((out / "crowd.certificate.json").read_text())
    claims = [c for c in certificate["claims"] if (c["group"], c["situation"]) == (1, "now")]
    upper, lower = (claim["value"] for claim in claims[:2])
    one = sd.shuffle(groups=groups, victim=1).epsilon(delta=1e-3)
    assert one.upper <= upper <= one.upper * (1.0 + 1e-5)
    assert one.lower * (1.0 - 1e-5) <= lower <= one.lower
    done = run("verify", out / "crowd.certificate.json", "--deployment", path)
    assert done.exit_code == 0, done.output


def test_a_certificate_of_something_else_is_not_replaced(tmp_path):
    path, standing = written(tmp_path), tmp_path / "crowd.certificate.json"
    again = ("account", path, "--output", tmp_path)
    assert run(*again).exit_code == 0
    assert run(*again).exit_code == 0
    of_run = {"format": "shuffledp-certificate/1", "release": {"table": "crowd.csv"}}
    standing.write_text(json.dumps(of_run))
    done = run(*again)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "is the certificate of the table of estimates 'crowd.csv'" in done.stderr
    assert json.loads(standing.read_text()) == of_run


def test_account_prints_the_certificate_and_writes_nothing(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    said = json.loads(run("account", path, "--json").stdout)
    assert said["format"] == "shuffledp-certificate/3"
    assert list(tmp_path.iterdir()) == [path]
    other = tmp_path / "other" / "crowd.toml"
    other.parent.mkdir()
    other.write_text(TEXT)
    done = run("account", path, other)
    assert done.exit_code == 2
    assert "wanted different names" in done.stderr


def test_what_is_asked_may_be_delta(tmp_path):
    path = written(tmp_path, TEXT.replace("delta = 1e-3", "epsilon = 0.5"))
    found = account(load(path, groups=True).deployment)
    hidden = [one.bound for one in found.answers if not one.setting.failed]
    assert len(hidden) == 2
    assert all(0.0 < bound.lower <= bound.upper < 1.0 for bound in hidden)


def test_other_commands_refuse_a_crowd_in_one_line(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ParameterError, match="`account` and `verify` alone"):
        load(path)
    for words in (["run", path], ["verify", path], ["account", path, "--report", "c.yaml"]):
        done = run(*words)
        assert done.exit_code == 2, words
        assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("users = 60", "users = 0", "users"),
        ("users = 60", "people = 60", "people"),
        ("[[group]]\nusers = 60", "[[group]]\ncolluding = 0.1\nusers = 60", "colluding"),
        ('"binary-rr"', '"pure-dump"', "pure-dump"),
        ('"binary-rr", eps0', '"generic", eps0', "generic"),
        ("eps0 = 1.0", "eps0 = -1.0", "eps0"),
        ("delta = 1e-3", "delta = 1e-3\n[accounting]\nrounds = 2", "rounds"),
        ("delta = 1e-3", "delta = 1e-3\n[population]\nusers = 5", "population"),
        ("delta = 1e-3", "delta = 2", "delta"),
    ],
)
def test_bad_files_are_refused_with_the_key(tmp_path, old, new, words):
    assert old in TEXT
    path = written(tmp_path, TEXT.replace(old, new, 1))
    done = run("account", path)
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output
