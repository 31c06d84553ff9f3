"""Deployments whose analyst sees sums: files, certificates, `verify` and reports."""

import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from frontend import edits
from frontend.edits import caught, outcome, place, remember, resigned
from frontend.test_every_field import FREE, IN_THE_FILE, PARAMETERS, weaker
from shuffledp import theorems
from shuffledp.ball.views import view_assumptions, view_of, view_relation, view_statement
from shuffledp.certificate import issue, sums, to_dict, verifier
from shuffledp.certificate.one_bit import Coordinates
from shuffledp.cli import main
from shuffledp.deployment import account, load
from shuffledp.errors import ParameterError
from shuffledp.views import SUMS_ALONE

RAPPOR = 'name = "rappor"\nd = 3\neps0 = 2.0'
OUE = 'name = "oue"\nd = 4\neps0 = 1.5'
NORMAL = 'name = "gaussian"\nsigma = 2.0\nlow = 0.0\nhigh = 1.0'
BINARY = 'name = "binary-rr"\neps0 = 1.0'
KRR2 = {"name": "k-rr", "k": 2, "eps0": 1.0}
NOISE = {"name": "gaussian", "sigma": 1.0, "low": 0.0, "high": 1.0}
EPS, DELTA = "delta = 1e-4", "epsilon = 0.7"
# (randomizer, keys before the tables, target, rounds)
KINDS = {
    "items": (RAPPOR, "", EPS, 1),
    "a delta": (OUE, "ones = 2", DELTA, 1),
    "one coordinate": (RAPPOR, 'relation = "replace-special"', EPS, 1),
    "one bit": (BINARY, "", DELTA, 1),
    "rounds": (BINARY, "", EPS, 2),
    "normal": (NORMAL, "", EPS, 1),
    "normal, rounds": (NORMAL, "", DELTA, 3),
    "noise added": (BINARY, "", EPS, 1, ("discrete-laplace", 2.5)),
    "noise added, items": (RAPPOR, "", EPS, 1, ("discrete-gaussian", 1.5)),
}
# Other data sets, or other values of one coordinate, from which the same number is proved again.
WITNESS = {
    f"scenarios[].{kind}[].witness.{x}"
    for kind in ("claims", "composed")
    for x in ("others", "swap", "dots", "dots[]", "values", "values[]", "ends", "ends[]",
              "ends[][]", "ends[][][]")
}  # fmt: skip


def text(kind):
    randomizer, top, target, rounds, *added = kind
    noise = "".join(f'[added]\nkind = "{name}"\nscale = {scale}\n' for name, scale in added)
    return (
        f'title = "A title"\nview = "sums"\n{top}\n[population]\nusers = 60\nparticipation = 0.9\n'
        "minimum_batch = 20\ncolluding = 0.02\n"
        f"[randomizer]\n{randomizer}\n[target]\n{target}\n[accounting]\nrounds = {rounds}\n"
        f"{noise}"
    )


def made(folder, kind):
    path = folder / "deployment.toml"
    path.write_text(text(kind))
    source = load(path, sums=True)
    return path, to_dict(issue(source, account(source.deployment)))


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def quick(monkeypatch):
    remember(monkeypatch)
    known = {}

    class Remembered(Coordinates):
        def __init__(self, mechanism, **asked):
            super().__init__(mechanism, **asked)
            self.key = json.dumps([mechanism, asked], sort_keys=True)

        def hold(self, epsilons, logs):
            key = (self.key, tuple(epsilons), tuple(logs))
            if key not in known:
                known[key] = super().hold(epsilons, logs)
            return known[key]

    monkeypatch.setattr(sums, "Coordinates", Remembered)


# Of the others the ordinary tests see parts: the ends hold in ``tests/views``.
IN_LONG = {"a delta", "rounds", "items", "normal, rounds", "noise added", "noise added, items"}


@pytest.mark.many(1)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=pytest.mark.long) if k in IN_LONG else k for k in KINDS],
)
def test_every_end_holds_and_every_field_changed_alone_is_noticed(kind, tmp_path, quick):
    source, content = made(tmp_path, KINDS[kind])
    path = tmp_path / "certificate.json"
    honest = outcome(content, path, deployment=source)
    assert not caught(honest), [check for check in honest if check.verdict != "holds"]
    tried = 0
    # Of a certificate with many values, some of the edits: all of them are looked at in long runs.
    for i, (where, what, new) in enumerate(edits.edits(content)):
        spot = place(where)
        if spot.startswith("scenarios") and (i + tried) % 7:
            continue
        tried += 1
        found = outcome(new if where[:1] == ("checksum",) else resigned(new), path)
        if caught(found) or weaker(where, what, content) or spot in {*WITNESS, *FREE}:
            continue
        assert spot in IN_THE_FILE or spot.startswith(PARAMETERS), (spot, what)
        assert caught(outcome(resigned(new), path, deployment=source)), (spot, what)
    assert tried > 60


def test_what_the_view_says_is_compared(tmp_path, quick):
    """Each alone, with a checksum that is right."""
    _, content = made(tmp_path, KINDS["items"])
    path = tmp_path / "certificate.json"
    assert content["view"] == {"key": "sums", "ones": 1, "changed": 2, "words": SUMS_ALONE}
    assert content["neighbouring_relation"]["key"] == "replace-one"
    assert [s["name"] for s in content["scenarios"]][-1] == "aggregator fails"

    def changed(change):
        new = json.loads(json.dumps(content))
        change(new)
        return outcome(resigned(new), path)

    for change in (
        lambda c: c.pop("view"),
        lambda c: c["view"].update(changed=1),
        lambda c: c["view"].update(words="the analyst sees next to nothing"),
        lambda c: c["deployment"]["content"].update(relation="replace-special"),
        lambda c: c["deployment"]["content"].update(ones=3),
        lambda c: c["deployment"]["content"].pop("view"),
        lambda c: c["scenarios"][2].update(name="shuffler fails"),
        lambda c: c["scenarios"][0]["claims"][0]["assumptions"].pop(2),
        lambda c: c["scenarios"][0]["claims"][0]["theorem"].update(provenance="published"),
        lambda c: c["scenarios"][0]["claims"][0].update(trust="published"),
        lambda c: c["scenarios"][0]["claims"][0]["witness"].pop("values"),
        lambda c: c["scenarios"][0]["claims"][0].update(witness={"analysis": "sums-local"}),
        lambda c: c["scenarios"][0]["claims"][0].update(
            witness={"analysis": "local", "x0": None, "x1": None, "x2": None, "swap": False,
                     "pairs": None}
        ),
        lambda c: c.update(local_guarantee=1.9),
        lambda c: c.update(local_guarantee=None),
    ):  # fmt: skip
        assert caught(changed(change))


def test_the_aggregators_noise_is_compared_and_counts_for_nothing_where_it_fails(tmp_path, quick):
    _, content = made(tmp_path, KINDS["noise added"])
    path = tmp_path / "certificate.json"
    assert content["view"]["added"] == {"kind": "discrete-laplace", "scale": 2.5}
    said = [" ".join(s["claims"][0]["assumptions"]) for s in content["scenarios"]]
    assert ["adds discrete Laplace noise" in words for words in said] == [True, True, False]
    # Of one report alone, whose noise nobody adds.
    assert content["scenarios"][2]["claims"][0]["value"] >= 0.99
    for change in (
        lambda c: c["view"].pop("added"),
        lambda c: c["view"]["added"].update(scale=2.6),
        lambda c: c["deployment"]["content"]["added"].update(scale=2.4),
        lambda c: c["deployment"]["content"]["added"].update(kind="discrete-gaussian"),
        lambda c: (c["view"].pop("added"), c["deployment"]["content"].pop("added")),
        lambda c: c["scenarios"][0]["claims"][0]["assumptions"].pop(3),
        lambda c: c["scenarios"][2].update(claims=c["scenarios"][1]["claims"]),
    ):
        new = json.loads(json.dumps(content))
        change(new)
        assert caught(outcome(resigned(new), path))


def test_a_value_that_is_too_small_and_an_end_that_is_are_found_out(tmp_path, quick):
    _, content = made(tmp_path, KINDS["items"])
    path = tmp_path / "certificate.json"
    for spot in ("values", "value"):
        new = json.loads(json.dumps(content))
        claim, lower = new["scenarios"][0]["claims"]
        if spot == "value":
            claim["value"] = 0.5 * (claim["value"] + lower["value"])
        else:
            claim["witness"]["values"][0] *= 0.97
        words = [c.how for c in outcome(resigned(new), path) if c.verdict == "does not hold"]
        assert len(words) == 1
        assert ("too small" in words[0]) == (spot == "values")


def test_words_of_the_verifier_are_those_of_the_library():
    bits, normal = view_of(KRR2, 1, "replace-one"), view_of(NOISE, 1, "replace-one")
    for view, analysis, end, theorem in (
        (bits, "sums", "upper", theorems.SUMS),
        (bits, "sums-local", "upper", theorems.SUMS_LOCAL),
        (bits, "sums-dataset", "lower", theorems.SUMS_DATASET),
        (normal, "sum-of-normals", "upper", theorems.SUM_OF_NORMALS),
        (normal, "sum-of-normals", "lower", theorems.SUM_OF_NORMALS),
    ):
        said = view_statement(view, analysis, end)
        assert said is not None
        assert said.to_dict() == theorem.to_dict()
        other = normal if view is bits else bits
        assert view_statement(other, analysis, end) is None
    assert view_statement(bits, "sums", "lower") is None
    noisy = view_of(KRR2, 1, "replace-one", {"kind": "discrete-gaussian", "scale": 2.0})
    for analysis, end, theorem in (
        ("sums", "upper", theorems.SUMS_ADDED),
        ("sums-dataset", "lower", theorems.SUMS_ADDED_DATASET),
        ("sums-local", "upper", theorems.SUMS_LOCAL),
    ):
        assert view_statement(noisy, analysis, end).to_dict() == theorem.to_dict()
    for kind, scale in (("discrete-laplace", 2.0), ("discrete-gaussian", 0.3)):
        noise = sd.AddedNoise(kind=kind, scale=scale)
        view = sd.shuffle(sd.OUE(d=4, eps0=2.0), 30, view="sums", ones=2, added=noise)
        there = view_of(view.mechanism.to_dict(), 2, "replace-one", noise.to_dict())
        assert view_assumptions(there, rounds=1) == view.assumptions()
    for mechanism, relation, ones in (
        (sd.RAPPOR(d=4, eps0=2.0), "replace-one", 1),
        (sd.RAPPOR(d=4, eps0=2.0), "replace-special", 1),
        (sd.OUE(d=4, eps0=2.0), "replace-special", 3),
        (sd.OUE(d=4, eps0=2.0), "replace-one", 4),
        (sd.Gaussian(sigma=0.5, low=-0.25, high=1.0), "replace-one", 1),
        (sd.Gaussian(sigma=0.5, low=100000.4, high=100001.6), "replace-one", 1),
        (sd.Duchi(eps0=2.0), "replace-one", 1),
        (sd.KRR(k=2, eps0=2.0), "replace-one", 1),
        (sd.Channel(((0.25, 0.75), (0.5, 0.5))), "replace-one", 1),
    ):
        there = view_of(mechanism.to_dict(), ones, relation)
        for rounds in (1, 3):
            view = sd.shuffle(mechanism, 30, view="sums", ones=ones, relation=relation)
            view = view.compose(rounds=rounds)
            assert view_assumptions(there, rounds=rounds) == view.assumptions()
            assert there.changed * rounds == view.changed
            assert there.alike * rounds == view.falling
        table, words = view_relation(there)
        assert (table, words) == (view.relation.to_dict(), view.relation.sentence)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('view = "sums"', 'view = "some"'), "view = 'some'"),
        (('view = "sums"', "ones = 2"), 'ones = 2: wanted view = "sums"'),
        (('view = "sums"', 'view = "sums"\nones = 9'), "ones = 9"),
        (('view = "sums"', 'view = "sums"\nrelation = "none"'), "relation = 'none'"),
        ((RAPPOR, 'name = "k-rr"\nk = 5\neps0 = 1.0'), "k-rr: no sum of its reports"),
        ((RAPPOR, 'name = "generic"\neps0 = 1.0'), 'view = "sums": generic'),
        ((RAPPOR, 'name = "pure-dump"\nd = 5\nblankets = 1.0'), 'view = "sums": pure-dump'),
        (("rounds = 1", 'trust = "published"'), "accounting.trust = 'published'"),
        (("rounds = 1", 'rounds = 1\n[data]\ncolumn = "x"\nranges = [[0, 1]]'), "data.ranges: "),
        (("rounds = 1", "rounds = 5_000_000"), "rounds"),
        (
            ("[target]", '[added]\nkind = "laplace"\nscale = 1.0\n[target]'),
            "added.kind = 'laplace'",
        ),
        (
            ("[target]", '[added]\nkind = "discrete-laplace"\nscale = 0.0\n[target]'),
            "added.scale = 0.0",
        ),
        (
            ('view = "sums"', "added = { kind = 'discrete-laplace', scale = 1.0 }"),
            'added: wanted such a table with view = "sums"',
        ),
        (
            (RAPPOR, NORMAL + '\n[added]\nkind = "discrete-laplace"\nscale = 1.0'),
            "none where numbers with normal noise",
        ),
    ],
)
def test_what_is_refused_is_refused_in_a_line(change, words, tmp_path):
    path = tmp_path / "deployment.toml"
    path.write_text(text(KINDS["items"]).replace(*change))
    done = run("account", path, "--out", tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


DAP = '[dap]\nvdaf = "Prio3SumVec"\nbits = 3\nmin_batch_size = 20\n'


def test_a_dap_task_is_held_against_what_is_accounted_for(tmp_path):
    path = tmp_path / "task.toml"
    plain = text(KINDS["one coordinate"])
    path.write_text(plain + DAP)
    done = run("account", path, "--out", tmp_path, "--figure", "none", "--verify")
    assert done.exit_code == 0, done.output
    assert "VERIFIED: all" in done.output
    assert "DAP task with Prio3SumVec of 3 bits" in " ".join(done.output.split())
    content = json.loads((tmp_path / "task.certificate.json").read_text())
    assert content["deployment"]["content"]["dap"]["min_batch_size"] == 20
    new = json.loads(json.dumps(content))
    new["deployment"]["content"]["dap"].update(vdaf="Prio3MultihotCountVec", max_weight=3)
    assert caught(outcome(resigned(new), tmp_path / "certificate.json"))


@pytest.mark.parametrize(
    ("old", "now", "words"),
    [
        ("bits = 3", "bits = 4", "dap.bits = 4: wanted 3"),
        ("size = 20", "size = 21", "wanted population.minimum_batch, which is 20"),
        ("Prio3SumVec", "Prio3Histogram", "seldom holds exactly one 1"),
        ("Prio3SumVec", "Prio3Count", "dap.vdaf = 'Prio3Count': wanted Prio3SumVec or"),
        ("Prio3SumVec", "Prio3MultihotCountVec", "dap.max_weight = None: wanted 3"),
        ("bits = 3", "bits = 3\nmax_weight = 3", "none with Prio3SumVec"),
        ("bits = 3", "bits = 3\nchunk = 3", "chunk"),
        ('view = "sums"\nrelation = "replace-special"', "", "dap: wanted such a table with view"),
        ("minimum_batch = 20", "", "which is none"),
        (RAPPOR, NORMAL, "dap: wanted no"),
    ],
)
def test_a_dap_task_that_is_another_is_refused(old, now, words, tmp_path):
    path = tmp_path / "task.toml"
    whole = text(KINDS["one coordinate"]) + DAP
    if now == NORMAL:
        whole = text(KINDS["normal"]) + DAP
    path.write_text(whole.replace(old, now, 1) if now != NORMAL else whole)
    done = run("account", path, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert words in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_what_knows_messages_alone_refuses_the_file(tmp_path):
    path = tmp_path / "deployment.toml"
    path.write_text(text(KINDS["items"]))
    with pytest.raises(ParameterError, match='view = "sums", which `account`, `run`, `simulate`'):
        load(path)
    done = run("audit", "--deployment", path, "--reports", path, "--shuffler", "none")
    assert done.exit_code == 2
    assert 'view = "sums", which `account`, `run`, `simulate` and `verify` alone' in done.stderr
    with pytest.raises(ParameterError, match="wanted messages"):
        load(path, sums=True).deployment.accountant(5)


def test_account_verify_and_reports_say_what_is_seen(tmp_path):
    path = tmp_path / "items.toml"
    path.write_text(text(KINDS["items"]))
    reports = [tmp_path / f"report.{kind}" for kind in ("html", "md")]
    done = run("account", path, "--out", tmp_path, "--figure", "none", "--verify",
               *(word for report in reports for word in ("--report", report)))  # fmt: skip
    assert done.exit_code == 0, done.output
    for words in ("view", "sum of each coordinate", "aggregator fails", "VERIFIED: all"):
        assert words in done.output
    for report in reports:
        said = report.read_text()
        for words in ("sums of the reports", "aggregator fails", "sum of each coordinate",
                      "2 coordinates", "whatever the aggregator does"):  # fmt: skip
            assert words in said, (report, words)
        assert "shuffled messages, and nothing else" not in said
    checks = verifier.verify(tmp_path / "items.certificate.json", deployment=path)
    assert all(check.verdict == "holds" for check in checks)
    assert any(check.claim.startswith("view: ") for check in checks)


def test_messages_say_nothing_of_a_view(tmp_path):
    path = tmp_path / "messages.toml"
    path.write_text(text(KINDS["items"]).replace('view = "sums"\n', ""))
    source = load(path)
    content = to_dict(issue(source, account(source.deployment)))
    assert "view" not in content
    assert not {"view", "ones", "relation"} & set(content["deployment"]["content"])


def test_one_bit_is_one_bit_and_what_only_the_failure_asks_is_said_of_it(tmp_path):
    path = tmp_path / "votes.toml"
    path.write_text(
        'title = "t"\nview = "sums"\n[population]\nusers = 20\nminimum_batch = 20\n'
        '[randomizer]\nname = "binary-rr"\neps0 = 1.0\n[target]\ndelta = 1e-2\n'
        '[added]\nkind = "discrete-laplace"\nscale = 1.0\n'
        '[dap]\nvdaf = "Prio3Count"\nbits = 1\nmin_batch_size = 20\n'
    )
    report = tmp_path / "report.md"
    done = run("account", path, "--out", tmp_path, "--figure", "none", "--verify",
               "--report", report)  # fmt: skip
    assert done.exit_code == 0, done.output
    for text in (" ".join(done.stdout.split()), " ".join(report.read_text().split())):
        assert "Prio3Count of 1 bit and" in text
        assert "aggregator fails: the analyst sees the sum of each coordinate over all n" in text
        assert "aggregator fails: every user" not in text
