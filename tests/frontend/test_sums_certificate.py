"""Deployments whose analyst sees sums: files, certificates, `verify` and reports."""

import json

import pytest
from click.testing import CliRunner

from frontend import edits
from frontend.edits import caught, outcome, place, remember, resigned
from frontend.parts import of_round, situations
from frontend.test_every_field import FREE, IN_THE_FILE, weaker
from shuffledp.certificate import curves, issue, to_dict, verifier
from shuffledp.cli import main
from shuffledp.deployment import account, load
from shuffledp.errors import ParameterError

RAPPOR = 'name = "rappor"\nd = 3\neps0 = 2.0'
OUE = 'name = "oue"\nd = 4\neps0 = 1.5'
NORMAL = 'name = "gaussian"\nsigma = 2.0\nlow = 0.0\nhigh = 1.0'
BINARY = 'name = "binary-rr"\neps0 = 1.0'
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
    f"claims[].witness.{x}"
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
    known, plain = {}, curves.AllDataSets.decide

    def decide(one, epsilon, target):
        key = (one.asked, epsilon, target)
        if key not in known:
            known[key] = plain(one, epsilon, target)
        return known[key]

    made = curves.AllDataSets.__init__

    def init(one, bits, n, words, **asked):
        made(one, bits, n, words, **asked)
        law = [str(bits.law(x)) for x in bits.inputs]
        one.asked = repr((law, n, words, asked))

    monkeypatch.setattr(curves.AllDataSets, "__init__", init)
    monkeypatch.setattr(curves.AllDataSets, "decide", decide)


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
        if spot.startswith("claims") and (i + tried) % 7:
            continue
        tried += 1
        found = outcome(new if where[:1] == ("checksum",) else resigned(new), path)
        if caught(found) or weaker(where, what, content) or spot in {*WITNESS, *FREE}:
            continue
        assert spot.startswith(IN_THE_FILE), (spot, what)
        assert caught(outcome(resigned(new), path, deployment=source)), (spot, what)
    assert tried > 60


def test_what_the_view_says_is_compared(tmp_path, quick):
    """Each alone, with a checksum that is right."""
    _, content = made(tmp_path, KINDS["items"])
    path = tmp_path / "certificate.json"
    assert {c["relation"]["key"] for c in content["claims"]} == {"replace-one"}
    assert situations(content)[-1] == "aggregator fails"

    def changed(change):
        new = json.loads(json.dumps(content))
        change(new)
        return outcome(resigned(new), path)

    for change in (
        lambda c: c["deployment"]["content"].update(relation="replace-special"),
        lambda c: c["deployment"]["content"].update(ones=3),
        lambda c: c["deployment"]["content"].pop("view"),
        lambda c: of_round(c, 2)[0].update(situation="shuffler fails"),
        lambda c: of_round(c, 0)[0]["assumptions"].pop(2),
        lambda c: of_round(c, 0)[0].update(theorem=["sum-of-normals"]),
        lambda c: of_round(c, 0)[0].update(trust="published"),
        lambda c: of_round(c, 0)[0]["witness"].pop("values"),
        lambda c: of_round(c, 0)[0].update(witness={"analysis": "sums-local"}),
        lambda c: of_round(c, 0)[0].update(
            witness={"analysis": "local"}
        ),
        lambda c: c.update(local_guarantees=[1.9]),
        lambda c: c.update(local_guarantees=[None]),
    ):  # fmt: skip
        assert caught(changed(change))


def test_the_aggregators_noise_is_compared_and_counts_for_nothing_where_it_fails(tmp_path, quick):
    _, content = made(tmp_path, KINDS["noise added"])
    path = tmp_path / "certificate.json"
    said = [of_round(content, k)[0]["assumptions"] for k in range(3)]
    assert ["added-noise" in ids for ids in said] == [True, True, False]
    # Of one report alone, whose noise nobody adds.
    assert of_round(content, 2)[0]["value"] >= 0.99
    for change in (
        lambda c: c["deployment"]["content"]["added"].update(scale=2.4),
        lambda c: c["deployment"]["content"]["added"].update(kind="discrete-gaussian"),
        lambda c: c["deployment"]["content"].pop("added"),
        lambda c: of_round(c, 0)[0]["assumptions"].pop(3),
        lambda c: of_round(c, 2)[0].update(assumptions=of_round(c, 1)[0]["assumptions"]),
    ):
        new = json.loads(json.dumps(content))
        change(new)
        assert caught(outcome(resigned(new), path))


def test_a_value_that_is_too_small_and_an_end_that_is_are_found_out(tmp_path, quick):
    _, content = made(tmp_path, KINDS["items"])
    path = tmp_path / "certificate.json"
    for spot in ("values", "value"):
        new = json.loads(json.dumps(content))
        claim, lower = of_round(new, 0)
        if spot == "value":
            claim["value"] = 0.5 * (claim["value"] + lower["value"])
        else:
            claim["witness"]["values"][0] *= 0.97
        words = [c.how for c in outcome(resigned(new), path) if c.verdict == "does not hold"]
        assert len(words) == 1
        assert ("one coordinate at eps" in words[0]) == (spot == "values")


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
    done = run("account", path, "--output", tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


DAP = '[dap]\nvdaf = "Prio3SumVec"\nbits = 3\nmin_batch_size = 20\n'


def test_a_dap_task_is_held_against_what_is_accounted_for(tmp_path):
    path = tmp_path / "task.toml"
    plain = text(KINDS["one coordinate"])
    path.write_text(plain + DAP)
    done = run("account", path, "--output", tmp_path, "--verify")
    assert done.exit_code == 0, done.output
    assert "VERIFIED: all" in done.output
    assert "DAP task with Prio3SumVec of 3 bits" in " ".join(done.output.split())
    content = json.loads((tmp_path / "task.certificate.json").read_text())
    assert content["deployment"]["content"]["dap"]["min_batch_size"] == 20
    new = json.loads(json.dumps(content))
    new["deployment"]["content"]["dap"].update(vdaf="Prio3MultihotCountVec", max_weight=3)
    assert caught(outcome(resigned(new), tmp_path / "certificate.json", deployment=path))


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
    done = run("account", path, "--output", tmp_path / "out")
    assert done.exit_code == 2
    assert words in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_what_knows_messages_alone_refuses_the_file(tmp_path):
    path = tmp_path / "deployment.toml"
    path.write_text(text(KINDS["items"]))
    with pytest.raises(ParameterError, match='view = "sums", which `account`, `run` and `verify`'):
        load(path)
    done = run("audit", path, "--reports", path, "--shuffler", "none")
    assert done.exit_code == 2
    assert 'view = "sums", which `account`, `run` and `verify` alone' in done.stderr
    with pytest.raises(ParameterError, match="wanted messages"):
        load(path, sums=True).deployment.accountant(5)


def test_account_verify_and_reports_say_what_is_seen(tmp_path):
    path = tmp_path / "items.toml"
    path.write_text(text(KINDS["items"]))
    reports = [tmp_path / f"report.{kind}" for kind in ("html", "md")]
    done = run("account", path, "--output", tmp_path, "--verify",
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


def test_messages_say_nothing_of_a_view(tmp_path):
    path = tmp_path / "messages.toml"
    path.write_text(text(KINDS["items"]).replace('view = "sums"\n', ""))
    source = load(path)
    content = to_dict(issue(source, account(source.deployment)))
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
    done = run("account", path, "--output", tmp_path, "--verify",
               "--report", report)  # fmt: skip
    assert done.exit_code == 0, done.output
    for text in (" ".join(done.stdout.split()), " ".join(report.read_text().split())):
        assert "Prio3Count of 1 bit and" in text
        assert "aggregator fails: the analyst sees the sum of each coordinate over all n" in text
        assert "aggregator fails: every user" not in text
