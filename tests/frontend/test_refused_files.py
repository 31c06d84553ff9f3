"""Deployment files that are none: one line with the key and what was wanted, nothing written."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from frontend.certificates import BITS, KRR, NORMAL, RAPPOR, crowd, one, sums
from shuffledp import ParameterError
from shuffledp.cli import main
from shuffledp.deployment import load
from shuffledp.deployment.files import parse

# ------------------------------------------------------------------------- one key, one value

GOOD = {
    "title": "A test",
    "population": {"users": 1000, "minimum_batch": 100, "dropout": 0.1, "colluding": 0.1},
    "randomizer": {"name": "k-rr", "k": 5, "eps0": 2.0},
    "target": {"delta": 1e-6},
}
ODD_MATRIX = {"name": "channel", "matrix": [[0.5, 0.4], [1, 0]]}
VALUES = [
    ("population.users", "3", "population.users = '3': wanted a whole number"),
    ("population.users", True, "population.users = True"),
    ("population.users", 0, "population.users = 0"),
    ("population.users", math.nan, "population.users = nan"),
    ("population.users", None, "population.users is missing"),
    ("population.user", 3, "did you mean users?"),
    ("population.minimum_batch", 1001, "population.minimum_batch = 1001: wanted at most 900"),
    ("population.minimum_batch", 901, "no batch would be released"),
    ("population.dropout", 1.0, "population.dropout = 1.0"),
    ("population.dropout", "0.1", "population.dropout = '0.1'"),
    ("population.dropout", 0.9999, "wanted at least one report that arrives"),
    ("population.participation", 0.5, "participation or dropout, not both"),
    ("population.colluding", 0.995, "wanted at least one honest message in a batch of 100"),
    ("population", 3, "population = 3: wanted a table"),
    ("randomizer.eps0", math.nan, "randomizer.eps0 = nan"),
    ("randomizer.k", 10**12, "randomizer.k = 1000000000000"),
    ("randomizer.k", None, "randomizer.k is missing"),
    ("randomizer.q", 1, "k-rr parameter = 'q': wanted one of k, eps0"),
    ("randomizer.name", "krrr", "randomizer.name = 'krrr': wanted a mechanism such as k-rr"),
    ("randomizer.name", None, "randomizer.name is missing"),
    ("randomizer", 7, "randomizer = 7"),
    ("randomizer", ODD_MATRIX, "sum of matrix row 0 = 0.9"),
    ("randomizer", {"name": "generic"}, "randomizer.eps0 is missing"),
    (
        "randomizer",
        {"name": "generic", "eps0": 1.0, "k": 2},
        "generic parameter = 'k': wanted one of eps0, adaptive",
    ),
    ("target.delta", 1.0, "target.delta = 1.0"),
    ("target.delta", None, "wanted exactly one of delta, epsilon"),
    ("target.epsilon", 1.0, "wanted exactly one of delta, epsilon"),
    ("target.at_most", 0.0, "target.at_most = 0.0: wanted a finite number > 0"),
    ("accounting.rounds", 10**12, "accounting.rounds = 1000000000000: wanted a whole number"),
    ("accounting.trust", "some", "accounting.trust = 'some': wanted one of all, published"),
    ("accounting.rtol", 2, "accounting.rtol = 2"),
    ("title", 3, "title = 3: wanted a text"),
    ("title", "  ", "title = "),
    ("title", "two\nlines", "title = "),
    ("title", "a\u2028b", "title = "),
    ("extra", 3, "extra = 3: wanted no such key"),
    ("target", None, "target is missing"),
]


@pytest.mark.parametrize(("path", "value", "message"), VALUES)
def test_a_value_that_is_none(path, value, message):
    table = json.loads(json.dumps(GOOD))
    *way, last = path.split(".")
    inner = table
    for key in way:
        inner = inner.setdefault(key, {})
    inner[last] = value
    if value is None:
        del inner[last]
    with pytest.raises(ParameterError) as error:
        parse(table, where="f.toml")
    assert message in str(error.value)
    assert str(error.value).startswith("f.toml: ")
    assert "\n" not in str(error.value)


# -------------------------------------------------------------------- tables that do not fit

SUMS = sums(RAPPOR, more="[accounting]\nrounds = 1")
DAP = """[dap]
dp_strategy = "NoDifferentialPrivacy"
vdaf = "Prio3SumVec"
bits = 1
length = 3
chunk_length = 2
min_batch_size = 20
"""
TASK = sums(RAPPOR, head='relation = "replace-special"', more=DAP)
CROWD = crowd((60, 'name = "binary-rr", eps0 = 1.0'), (40, 'name = "duchi", eps0 = 3.0'))
DATA = one('name = "k-rr"\nk = 3\neps0 = 1.0', users="users = 40", more="[data]\ncolumn = 'x'\n")
ITEMS = "column = 'x'\ndomain = "
LAPLACE = '[added]\nkind = "discrete-laplace"\nscale = 1.0\n'
FILES = [
    # The analyst sees sums.
    (SUMS, ('view = "sums"', 'view = "some"'), "view = 'some'"),
    (SUMS, ('view = "sums"', "ones = 2"), 'ones = 2: wanted view = "sums"'),
    (SUMS, ('view = "sums"', 'view = "sums"\nones = 9'), "ones = 9"),
    (SUMS, ('view = "sums"', 'view = "sums"\nrelation = "none"'), "relation = 'none'"),
    (SUMS, (RAPPOR, KRR), "k-rr: no sum of its reports"),
    (SUMS, (RAPPOR, 'name = "generic"\neps0 = 1.0'),
     "view = 'sums': wanted 'messages' for a family"),
    (SUMS, (RAPPOR, 'name = "pure-dump"\nd = 5\nblankets = 1.0'),
     "randomizer.name = 'pure-dump': wanted one message a user"),
    (SUMS, ("rounds = 1", 'trust = "published"'), "accounting.trust = 'published'"),
    (SUMS, ("rounds = 1", 'rounds = 1\n[data]\ncolumn = "x"\nranges = [[0, 1]]'), "data.ranges: "),
    (SUMS, ("rounds = 1", "rounds = 5_000_000"), "rounds"),
    (SUMS, ("[target]", LAPLACE.replace("discrete-", "") + "[target]"), "added.kind = 'laplace'"),
    (SUMS, ("[target]", LAPLACE.replace("1.0", "0.0") + "[target]"), "added.scale = 0.0"),
    (SUMS, ('view = "sums"', "added = { kind = 'discrete-laplace', scale = 1.0 }"),
     'added: wanted such a table with view = "sums"'),
    (SUMS, (RAPPOR, f"{NORMAL}\n{LAPLACE}"), "none where numbers with normal noise"),
    # A DAP task that is another than what is accounted for.
    (TASK, ("length = 3", "length = 4"), "dap.length = 4: wanted 3"),
    (TASK, ("bits = 1", "bits = 4"), "dap.bits = 4: wanted 1"),
    (TASK, ("size = 20", "size = 21"), "wanted population.minimum_batch, which is 20"),
    (TASK, ("Prio3SumVec", "Prio3Histogram"), "seldom holds exactly one 1"),
    (TASK, ("Prio3SumVec", "Prio3Count"), "dap.vdaf = 'Prio3Count': wanted Prio3SumVec or"),
    (
        TASK,
        ('"NoDifferentialPrivacy"', '{ dp_strategy = "PureDpDiscreteLaplace" }'),
        "dap.dp_strategy = 'PureDpDiscreteLaplace': wanted NoDifferentialPrivacy: noise of the",
    ),
    (TASK, ("Prio3SumVec", "Prio3MultihotCountVec"), "dap.max_weight = None: wanted 3"),
    (TASK, ("bits = 1", "bits = 1\nmax_weight = 3"), "none with Prio3SumVec"),
    (TASK, ("bits = 1", "bits = 1\nchunk = 3"), "chunk"),
    (TASK, ('view = "sums"\nrelation = "replace-special"', ""), "dap: wanted such a table with"),
    (TASK, ("minimum_batch = 20", ""), "which is none"),
    (sums(NORMAL, more=DAP), ("", ""), "dap: wanted no"),
    # Groups.
    (CROWD, ("users = 60", "users = 0"), "users"),
    (CROWD, ("users = 60", "people = 60"), "people"),
    (CROWD, ("[[group]]\nusers = 60", "[[group]]\ncolluding = 0.1\nusers = 60"), "colluding"),
    (CROWD, ('"binary-rr"', '"pure-dump"'), "pure-dump"),
    (CROWD, ('"binary-rr", eps0', '"generic", eps0'), "generic"),
    (CROWD, ("eps0 = 1.0", "eps0 = -1.0"), "eps0"),
    (CROWD, ("delta = 1e-3", "delta = 1e-3\n[accounting]\nrounds = 2"), "rounds"),
    (CROWD, ("delta = 1e-3", "delta = 1e-3\n[population]\nusers = 5"), "population"),
    # A domain that a run would refuse, refused by all who read the file.
    (DATA, ("column = 'x'", f"{ITEMS}['a', 'b', 'a']"), "data.domain = 'a': wanted every item"),
    (DATA, ("column = 'x'", f"{ITEMS}[1, 2, 1]"), "data.domain = 1: wanted every item once"),
    (DATA, ("column = 'x'", f"{ITEMS}['a']"), "1 items"),
    (DATA, ("column = 'x'", f"{ITEMS}['a', 'b']"), "wanted 3 items"),
    (DATA, ("column = 'x'", f"{ITEMS}['a', 'b', 'c']\nnulls = 'category'"),
     "'4 items': wanted 3 items"),
    (DATA, ("[data]\ncolumn = 'x'", f"[[data.columns]]\n{ITEMS}['a', 'a']"), "every item once"),
    # Numbers that Python does not read or that no float holds.
    (DATA, ("users = 40", f"users = {'1' * 5_000}"), "not valid TOML"),
    (DATA, ("eps0 = 1.0", f"eps0 = 1{'0' * 400}"), "eps0"),
    (one(BITS), (BITS, f'name = "channel"\nmatrix = [[1{"0" * 400}, 0], [0, 1]]'),
     "matrix = [[1000"),
    (DATA, ("users = 40", f"users = 0x{'f' * 6_000}"), "users = 0xfff"),
    (DATA, (DATA, "title = "), "not valid TOML"),
    (DATA, (DATA, ""), "title is missing"),
]  # fmt: skip


def written(folder, text, change=("", "")):
    path = folder / "deployment.toml"
    assert change[0] in text
    path.write_text(text.replace(*change, 1) if change[0] else text)
    return path


@pytest.mark.parametrize(("text", "change", "words"), FILES, ids=range(len(FILES)))
def test_a_file_that_does_not_fit_together(tmp_path, text, change, words):
    with pytest.raises(ParameterError) as error:
        load(written(tmp_path, text, change), sums=True, widened=True, groups=True)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500 + len(str(tmp_path))


COMMANDS = {
    "account": ["account", "deployment.toml", "--output", "out"],
    "run": ["run", "deployment.toml", "--input", "x.csv", "--output", "e.csv"],
    "simulate": ["run", "deployment.toml", "--input", "x.csv", "--simulate", "9"],
    "verify": ["verify", "c.json", "--deployment", "deployment.toml"],
    "audit": ["audit", "deployment.toml", "--command", "cat"],
}


@pytest.mark.many(10)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("row", [i for i, (of, _, _) in enumerate(FILES) if of is DATA])
def test_every_command_refuses_it_in_one_line_and_writes_nothing(
    tmp_path, monkeypatch, command, row
):
    monkeypatch.chdir(tmp_path)
    text, change, words = FILES[row]
    written(tmp_path, text, change)
    Path("x.csv").write_text("x\na\nb\n")
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(main, COMMANDS[command])
    assert isinstance(done.exception, SystemExit)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
    assert words in done.stderr or command == "verify"
    assert sorted(tmp_path.iterdir()) == before
