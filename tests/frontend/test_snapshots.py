"""What the command line and its reports say, word for word: ``snapshots/*.txt``.

``SNAPSHOTS=write`` in the environment writes the files anew; a reviewer reads the difference.
Every scenario is a list of commands in an empty folder with these files.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import snapshots
from frontend.certificates import BITS, KRR, RAPPOR, crowd, one, sums
from shuffledp.cli import main

KEPT = Path(__file__).with_name("snapshots")
CLEAR = """title = "Letters"
[population]
users = 60
minimum_batch = 20
[randomizer]
name = "k-rr"
k = 3
eps0 = 300.0
[target]
delta = 1e-6
at_most = 0.5
[data]
column = "x"
domain = ["a", "b", "c"]
nulls = "drop"
"""
FILES = {
    "responses.toml": one(KRR, users="users = 4000\nminimum_batch = 2000\ncolluding = 0.1",
                          target="delta = 1e-6\nat_most = 8"),
    "family.toml": one('name = "generic"\neps0 = 1.0', users="users = 300",
                       target="epsilon = 0.5\nat_most = 1e-9"),
    "rounds.toml": one('name = "generic"\neps0 = 1.0', users="users = 5000", target="delta = 1e-3",
                       more="rounds = 2", rtol=1e-3),
    "crowd.toml": crowd((60, 'name = "binary-rr", eps0 = 1.0'), (40, 'name = "duchi", eps0 = 3.0'),
                        target="delta = 1e-3\nat_most = 0.01"),
    "sums.toml": sums(RAPPOR, head='relation = "replace-special"',
                      more='[dap]\nvdaf = "Prio3SumVec"\nbits = 1\nlength = 3\nchunk_length = 2\n'
                           "min_batch_size = 20\n"),
    "votes.toml": sums(BITS, more='[added]\nkind = "discrete-laplace"\nscale = 2.5\n'
                                  '[dap]\nvdaf = "Prio3Count"\nmin_batch_size = 20\n'),
    "shuffler.toml": one(KRR, head="changed = 2", users="users = 90", target="epsilon = 0.9",
                         more="[shuffler]\ndistance = 1e-6\nshards = 2\ndummies = 5"),
    "letters.toml": CLEAR,
    "x.csv": "x\n" + "a\n" * 20 + "b\n" * 10 + '""\n' * 5,
}  # fmt: skip
K = "k-rr --k 10 --eps0 4"
SCENARIOS = {
    "help": ["--help", "account --help", "verify --help", "run --help", "audit --help",
             "plan --help", "calibrate k-rr --help", "epsilon laplace --help"],
    "lists": ["list theorems", "list mechanisms"],
    "numbers": [
        f"epsilon {K} -n 1e4 --delta 1e-6",
        f"epsilon {K} -n 100 --delta 0.02",
        "epsilon binary-rr -n 1000 --delta 1e-4 --eps0 20.0855",
        f"delta {K} -n 100000 --epsilon 2",
        f"delta {K} -n 1000 --epsilon 1 --analysis clone",
        f"epsilon {K} --delta 1e-6 --curve 10:1000:3",
        f"delta {K} -n 1000 --curve 0:1:3",
        "epsilon rappor --d 8 --eps0 2 -n 40 --delta 1e-3 --view sums",
        "epsilon k-rr --k 4 --eps0 0.4 -n 300 --delta 1e-3 --analysis all",
    ],
    "calibrate": [
        "calibrate k-rr --k 4 -n 2000 --epsilon 1 --delta 1e-6",
        "calibrate k-rr --k 4 --eps0 2 -n 2000 --epsilon 0.5",
        "calibrate binary-rr --eps0 2 --epsilon 0.5 --delta 1e-6 --view sums",
    ],
    "plan": [
        "plan frequencies --values 6 -n 20_000 --delta 1e-6 --epsilon 1 --most-bits 3",
        "plan k-rr --k 5 --eps0 2 -n 1000 --delta 1e-6 --participation 0.9 --epsilon 2",
        "plan frequencies --values 3 -n 1 --epsilon 1e-4 --delta 1e-12 --most-bits 2",
    ],
    "account": ["account responses.toml", "verify responses.certificate.json -v",
                "account family.toml", "account letters.toml --no-warn all"],
    "account of other settings": ["account crowd.toml --verify", "account sums.toml --verify",
                                  "account votes.toml --verify", "account shuffler.toml"],
    "run": ["run letters.toml --input x.csv --output e.csv --reports r.parquet",
            "verify e.csv.certificate.json --table e.csv -v",
            "run --from-reports r.parquet"],
    "refused": [
        f"epsilon {K} --delta 0.1", f"epsilon {K} -n 2.5 --delta 0.1",
        f"epsilon {K} -n 1,00 --delta 0.1", f"epsilon {K} -n 10 --delta 1",
        f"epsilon {K} -n 10 --delta 0.1 --analysis x", f"epsilon {K} -n 10 --delta 0.1 --foo",
        f"epsilon {K} -n 10 --delta 0.1 --rounds 2 --analysis clone",
        f"epsilon {K} -n 1000 --delta 1e-4 --analysis gaussian",
        "epsilon binary-rr --eps0 four -n 10 --delta 0.1", "epsilon nope", "list nope",
        "epsilon k-rr --k 1000000000000 --eps0 1 -n 9 --delta 0.1",
        "epsilon k-rr --k 10 -n 10 --delta 0.1",
        "epsilon channel --matrix no.csv -n 9 --delta 0.1",
        "epsilon channel --matrix x.csv -n 9 --delta 0.1",
        f"delta {K} -n 10", f"delta {K} -n 10 --epsilon 1 --curve", f"delta {K} -n 10 --curve 2:1",
        f"delta {K} -n 10 --curve 3", f"delta {K} -n 10 --plot x.gif",
        "calibrate k-rr --k 4 --epsilon 1 --delta 1e-6",
        "calibrate k-rr --k 4 --eps0 2 -n 5 --epsilon 1 --delta 1e-6",
        "calibrate k-rr --k 4 --eps0 2 --find n --delta 1e-6",
        "calibrate k-rr --k 4 --eps0 2 --find k -n 5 --epsilon 1 --delta 1e-6",
        "calibrate k-rr --k 4 -n 5 --epsilon 1e-6 --delta 1e-9",
        "calibrate pure-dump --d 5 -n 2 --epsilon 1e-9 --delta 1e-300",
        "plan histogram -n 20_000 --delta 1e-6 --epsilon 1",
        "plan frequencies --values 5 --items 6 -n 20_000 --delta 1e-6 --epsilon 1",
        "plan frequencies --values 5 -n 20_000 --delta 1e-6",
        "plan frequencies --values 5 -n 20_000 --delta 1e-6 --epsilon 1 --participation 85%",
        "plan k-rr --k 5 --eps0 2 --delta 1e-6", "plan k-rr --k 5 --eps0 2 -n 9 --most-bits 3",
        "account none.toml", "account letters.toml --plot y.gif",
        "account letters.toml --report r.txt",
        "account letters.toml --report letters.toml", "account letters.toml --no-warn nothing",
        "account letters.toml --report r.md --report ./r.md",
        "verify none.json", "verify letters.toml", "verify letters.toml x.csv --table t",
        "run letters.toml --input no.parquet --output e.csv",
        "run letters.toml --input x.csv --output no/e.csv",
        "run letters.toml --input x.csv --output e.csv --memory lots",
        "run letters.toml --input x.csv --output e.csv --confidence 1",
        "run letters.toml --input x.csv --output e.csv --simulate 9",
        "audit letters.toml", "audit letters.toml --command cat --reports x",
        "audit letters.toml --command /no/such/program", "audit letters.toml --command cat -N 3",
        "audit letters.toml --command cat --alpha 0.9", "audit --reports x --pair 0,1",
        "audit letters.toml --command cat --pair 0,1", "audit letters.toml --reports x.jsonl",
        "audit --command cat --pair 0,1 --timeout nan",
        "page --port 65536",
    ],
}  # fmt: skip


def said(words):
    """What one command prints, as a reader sees it."""
    done = CliRunner().invoke(main, words, env={"SOURCE_DATE_EPOCH": "86400"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    shown = f"$ shuffledp {' '.join(words)}\n{done.stdout}"
    if done.stderr:
        shown += "".join(f"stderr: {line}\n" for line in done.stderr.splitlines())
    return done, shown + (f"exit status {done.exit_code}\n" if done.exit_code else "")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "refused"])
def test_what_is_said(place, name):
    shown = []
    for line in SCENARIOS[name]:
        done, text = said(line.split())
        assert done.exit_code == 0, text
        shown.append(text)
    snapshots.check(KEPT / f"{name}.txt", snapshots.kept_words("\n".join(shown), place))


def test_what_is_refused_is_one_line_and_leaves_nothing(place):
    """The argument, its value and what was wanted."""
    before, shown = sorted(place.rglob("*")), []
    for line in SCENARIOS["refused"]:
        done, text = said(line.split())
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), text
        assert sorted(place.rglob("*")) == before, line
        shown.append(text.replace("exit status 2\n", ""))
    snapshots.check(KEPT / "refused.txt", snapshots.kept_words("\n".join(shown), place))


REPORTS = {
    "report": "account responses.toml --verify --report report.md",
    "report of rounds": "account rounds.toml --no-warn large-delta --report report.md",
    "report of a crowd": "account crowd.toml --report report.md",
    "report of sums": "account votes.toml --report report.md",
    "registry entry": "account responses.toml --report report.yaml",
}


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_reported(place, name):
    done, text = said(REPORTS[name].split())
    assert done.exit_code == 0, text
    (written,) = place.glob("report.*")
    text = written.read_text(encoding="utf-8")
    assert not re.search(
        r"\d{4}-\d\d-\d\d", text.replace("1970-01-02", "").replace("1900-01-01", "")
    )
    snapshots.check(KEPT / f"{name}.txt", snapshots.kept_words(text, place))
