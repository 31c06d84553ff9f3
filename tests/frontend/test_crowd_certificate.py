"""Certificates of crowds: every field, forged ones, and all data sets by the printed words."""

import copy
import json

import pytest

import shuffledp as sd
from crowds.exact import worst
from frontend import edits
from frontend.edits import at, caught, outcome, place, resigned
from frontend.test_every_field import IN_THE_FILE, weaker
from shuffledp.certificate import issue, read, recompute, to_dict
from shuffledp.certificate.verifier import not_checked, verify
from shuffledp.deployment import account, load, model
from shuffledp.population.crowd import LARGEST_GROUPS

# (groups as (users, randomizer), target, accounting)
KINDS = {
    "bits": (
        [(300, 'name = "binary-rr", eps0 = 1.0'), (200, 'name = "duchi", eps0 = 3.0')],
        "delta = 1e-3\nat_most = 2.0", "",
    ),
    "responses": (
        [(400, 'name = "k-rr", k = 5, eps0 = 1.0'), (300, 'name = "k-rr", k = 5, eps0 = 2.0'),
         (1, 'name = "k-rr", k = 5, eps0 = 0.5')],
        "epsilon = 0.2", "",
    ),
    "matrices": (
        [(200, 'name = "channel", matrix = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]'),
         (300, 'name = "channel", matrix = [[0.75, 0.125, 0.125], [0.25, 0.25, 0.5]]')],
        "delta = 1e-4", "",
    ),
    "one mechanism": (
        [(60, 'name = "k-rr", k = 4, eps0 = 1.0'), (40, 'name = "k-rr", k = 4, eps0 = 1.0')],
        "delta = 1e-4", "",
    ),
    "apart": (
        [(60, 'name = "rappor", d = 4, eps0 = 1.0'), (40, 'name = "laplace", eps0 = 1.0')],
        "delta = 1e-3", '\n[accounting]\ntrust = "published"\nrtol = 1e-3',
    ),
}  # fmt: skip
# Other data sets, or other free numbers, from which the same number is proved again.
WITNESS = {
    f"claims[].witness.{x}"
    for x in ("x0", "x1", "x2", "swap", "others[]", "others[][]", "free", "free[]",
              *(f"free[].{key}" for key in ("alpha", "smoothing", "gain", "loss", "theta",
                                            "shares[]", "step", "share[]", "join[]")))
}  # fmt: skip
FREE = {"deployment.file", "shuffledp_version", "claims[].numerical_width"}


def text(kind):
    members, target, more = KINDS[kind]
    tables = "".join(f"[[group]]\nusers = {n}\nrandomizer = {{ {m} }}\n" for n, m in members)
    return f'title = "A title"\n{tables}[target]\n{target}\n{more}\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Each kind's file and certificate, worked out once."""
    known = {}

    def make(kind):
        if kind not in known:
            path = tmp_path_factory.mktemp("crowd") / "deployment.toml"
            path.write_text(text(kind))
            source = load(path, groups=True)
            found = issue(source, account(source.deployment))
            known[kind] = path, to_dict(found)
        return known[kind][0], copy.deepcopy(known[kind][1])

    return make


@pytest.fixture
def quick(monkeypatch):
    """A verifier that remembers its balls."""
    edits.remember(monkeypatch)
    known, plain = {}, recompute._of_crowd

    def of_crowd(crowd, witness):
        made = plain(crowd, witness)
        decide = made.decide

        def kept(*asked):
            key = repr([crowd.groups, crowd.victim, witness, asked])
            if key not in known:
                known[key] = decide(*asked)
            return known[key]

        made.decide = kept
        return made

    monkeypatch.setattr(recompute, "_of_crowd", of_crowd)


def all_claims(content):
    return [(claim["group"], claim["situation"], claim) for claim in content["claims"]]


def found_claim(content, group, end, trust="all"):
    (one,) = (c for k, name, c in all_claims(content)
              if (k, name, c["end"], c["trust"]) == (group, "now", end, trust))  # fmt: skip
    return one


def let_pass(where, what, content):
    """Whether a changed certificate may be as true as it was: less is claimed, or proved anew."""
    if isinstance(what, float) and what == 0.0 == at(content, where):
        return True  # -0.0 in the place of 0.0: the same number
    if where[0] == "local_guarantees" and len(where) > 1:
        return isinstance(what, float) and what > at(content, where)
    return weaker(where, what, content) or place(where) in {*WITNESS, *FREE}


@pytest.mark.parametrize(
    ("kind", "every"),
    [("bits", 61), *(pytest.param(k, 1, marks=pytest.mark.long) for k in KINDS)],
)
def test_every_end_holds_and_every_field_changed_alone_is_noticed(
    kind, every, tmp_path, made, quick
):
    source, content = made(kind)
    path = tmp_path / "certificate.json"
    honest = outcome(content, path, deployment=source)
    assert not caught(honest), [check for check in honest if check.verdict != "holds"]
    tried = 0
    for i, (where, what, new) in enumerate(edits.edits(content)):
        # A share in the ordinary tests, less of what is claimed than of the rest.
        if i % (3 * every if where[:1] == ("claims",) else every):
            continue
        tried += 1
        forged = new if where[:1] == ("checksum",) else resigned(new)
        found = outcome(forged, path)
        if caught(found) or let_pass(where, what, content):
            continue
        spot = place(where)
        assert spot.startswith(IN_THE_FILE), (where, what)
        assert caught(outcome(forged, path, deployment=source)), (where, what)
    assert tried > 15


# Each takes seconds: half of them always.
@pytest.mark.parametrize(
    "kind",
    ["responses", *(pytest.param(k, marks=pytest.mark.long) for k in KINDS
                    if k not in {"bits", "responses"})],
)  # fmt: skip
def test_honest_certificates_are_verified(kind, tmp_path, made):
    source, content = made(kind)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    checks = verify(path, deployment=source)
    assert {check.verdict for check in checks} == {"holds"}
    analyses = {c["witness"]["analysis"] for _, _, c in all_claims(content) if c["witness"]}
    wanted = {
        "responses": {"crowd-stealing", "crowd-dataset"},
        "matrices": {"crowd-stealing", "crowd-dataset"},
        "one mechanism": {"dataset", "blanket"},
        "apart": {"blanket"},
    }[kind]
    assert wanted <= analyses
    assert read(path).records()
    assert "group" in read(path).sheet().head


@pytest.mark.long
def test_forged_numbers_and_witnesses_do_not_pass(tmp_path, made, quick):
    """Each alone, and with a checksum that is right."""
    _, content = made("bits")
    path = tmp_path / "certificate.json"

    def changed(change):
        new = copy.deepcopy(content)
        change(new)
        return outcome(resigned(new), path)

    def between(claims):
        upper, lower = (found_claim(claims, 1, end) for end in ("upper", "lower"))
        return upper, lower

    def upper_inside(new):
        upper, lower = between(new)
        upper["value"] = 0.5 * (upper["value"] + lower["value"])

    def lower_inside(new):
        upper, lower = between(new)
        lower["value"] = 0.5 * (upper["value"] + lower["value"])

    def own_group_as_if_all(new):
        """The bound of a shuffle of all users with the one group's mechanism."""
        claim = found_claim(new, 0, "upper", "published")
        alone = sd.shuffle(sd.BinaryRR(eps0=1.0), 500, trust="published").epsilon(delta=1e-3)
        claim["value"] = alone.upper * (1 + 1e-6)

    def other_group_s(new):
        one, other = (found_claim(new, k, "upper") for k in (0, 1))
        other.update(copy.deepcopy({k: one[k] for k in ("value", "witness")}))

    def sizes(new):
        new["deployment"]["content"]["group"][0]["users"] = 600

    def sizes_everywhere(new):
        new["deployment"]["content"]["group"][0]["users"] = 600
        for claim in new["claims"]:
            claim["n"] = 800 if claim["situation"] == "now" else 1

    def data_set_of_more(new):
        found_claim(new, 0, "lower")["witness"]["others"][0][1] += 1

    def same_inputs(new):
        witness = found_claim(new, 0, "lower")["witness"]
        witness["x1"] = witness["x0"]

    def other_input(new):
        found_claim(new, 1, "lower")["witness"]["others"][1][0] = 0.25

    def fewer_pairs(new):
        found_claim(new, 0, "upper")["witness"]["free"].pop()

    def bigger_reservoir(new):
        for numbers in found_claim(new, 0, "upper")["witness"]["free"]:
            numbers["gain"] = 1.0

    def no_share(new):
        found_claim(new, 0, "upper")["witness"]["free"][0]["shares"][0] = 0.0

    def published_by_stealing(new):
        claim = found_claim(new, 0, "upper", "published")
        best = found_claim(new, 0, "upper")
        keys = ("value", "witness", "theorem", "assumptions")
        claim.update(copy.deepcopy({k: best[k] for k in keys}))

    def published_by_name(new):
        claim = found_claim(new, 0, "upper")
        claim["theorem"] = ["crowd-dataset"]

    def fewer_assumptions(new):
        found_claim(new, 0, "upper")["assumptions"].pop()

    def stealing_without_alike(new):
        claim = found_claim(new, 0, "upper")
        claim["assumptions"] = found_claim(new, 0, "upper", "published")["assumptions"]

    def everybody_fails(new):
        for claim in new["claims"]:
            if claim["group"] == 1 and claim["situation"] == "shuffler fails":
                best = found_claim(new, 1, claim["end"])
                claim.update(copy.deepcopy({k: best[k] for k in ("value", "witness", "theorem")}))

    def members_exchanged(new):
        for claim in new["claims"]:
            claim["group"] = 1 - claim["group"]

    def a_group_left_out(new):
        new["claims"] = [claim for claim in new["claims"] if claim["group"] == 0]

    def changes_group(new):
        found_claim(new, 0, "upper")["relation"]["group"] = 1

    forged = [
        upper_inside, lower_inside, own_group_as_if_all, other_group_s, sizes, sizes_everywhere,
        data_set_of_more, same_inputs, other_input, fewer_pairs, bigger_reservoir, no_share,
        published_by_stealing, published_by_name, fewer_assumptions, stealing_without_alike,
        everybody_fails, members_exchanged, a_group_left_out, changes_group,
    ]  # fmt: skip
    assert not caught(outcome(content, path))
    for change in forged:
        assert caught(changed(change)), change.__name__


def test_a_common_blanket_is_recomputed(tmp_path, made):
    """Of the three that may win; here it is put in the place of the one that did."""
    _, content = made("bits")
    claim, path = found_claim(content, 0, "upper"), tmp_path / "certificate.json"
    claim.update(witness={"analysis": "common-blanket"}, value=0.9)
    claim["theorem"] = ["common-blanket"]
    assert not caught(outcome(resigned(content), path))
    claim["value"] = found_claim(content, 0, "lower")["value"] * 1.001
    words = [c for c in outcome(resigned(content), path) if c.verdict == "does not hold"]
    assert len(words) == 1
    assert "common-blanket" in words[0].how


SMALL = """title = "six users"
[[group]]
users = 2
randomizer = {{ name = "channel", matrix = [[0.75, 0.25], [0.25, 0.75]] }}
[[group]]
users = {users}
randomizer = {{ name = "channel", matrix = [[0.625, 0.375], [0.125, 0.875]] }}
[target]
epsilon = {epsilon}
"""


@pytest.mark.parametrize(("users", "epsilon"), [(1, 0.25), (3, 0.0), (3, 0.5), (4, 0.125)])
def test_what_the_words_say_is_so_for_all_data_sets(users, epsilon, tmp_path):
    """From nothing but what is printed: groups, sizes, who changes what, and what is seen."""
    path, out = tmp_path / "six.toml", tmp_path / "six.json"
    path.write_text(SMALL.format(users=users, epsilon=epsilon))
    source = load(path, groups=True)
    out.write_text(json.dumps(to_dict(issue(source, account(source.deployment)))))
    assert not caught(verify(out, deployment=path))
    content = json.loads(out.read_text())
    printed = [
        (group["users"], [[float(x) for x in row] for row in group["randomizer"]["matrix"]])
        for group in content["deployment"]["content"]["group"]
    ]
    for member in read(out).members:
        k = member.group
        assert "one user's value replaced by another" in member.neighbours
        assert f"one of group {k} and stays in it" in member.neighbours
        now, failed = member.ends
        assert now.setting.n == sum(n for n, _ in printed)
        for scenario, crowd in ((now, printed), (failed, [(1, printed[k][1])])):
            victim = k if scenario is now else 0
            truth = float(worst(crowd, victim, epsilon))
            for claim in scenario.claims:
                if claim.end == "upper":
                    assert truth <= claim.value
                else:
                    assert claim.value <= truth


def test_a_file_has_as_many_groups_as_the_library():
    assert model.LARGEST_GROUPS == LARGEST_GROUPS


def test_what_is_not_checked_is_said(tmp_path, made):
    source, content = made("bits")
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    words = " ".join(not_checked(path))
    for said in ("A title", "deployment.toml", "rtol", "2.0 was wanted", "widths", "written alike"):
        assert said in words
    assert "lower end" not in words
    left = " ".join(not_checked(path, deployment=source))
    for said in ("A title", "deployment.toml", "rtol", "2.0 was wanted"):
        assert said not in left
    assert caught(verify(path, table_hash="0" * 64))
    found_claim(content, 1, "lower")["witness"]["others"][0][1] += 1
    assert caught(outcome(resigned(content), path))


def test_a_plain_file_is_not_this_one_s(tmp_path, made):
    _, content = made("bits")
    path, plain = tmp_path / "certificate.json", tmp_path / "plain.toml"
    path.write_text(json.dumps(content))
    plain.write_text(
        'title = "t"\n[population]\nusers = 9\n[randomizer]\nname = "binary-rr"\neps0 = 1.0\n'
        "[target]\ndelta = 1e-3\n"
    )
    checks = verify(path, deployment=plain)
    failed = {check.claim for check in checks if check.verdict != "holds"}
    assert failed == {"made from this deployment file", "says what that file says"}


@pytest.mark.parametrize("number", [1e308, 1e-308])
@pytest.mark.parametrize("name", ["alpha", "gain", "smoothing"])
def test_numbers_of_a_witness_that_leave_the_floats_prove_nothing(number, name, tmp_path, made):
    """`verify` ended with a division by zero."""
    _, content = made("bits")
    new = copy.deepcopy(content)
    numbers = found_claim(new, 0, "upper")["witness"]["free"][0]
    assert name in numbers
    numbers[name] = number
    assert caught(outcome(resigned(new), tmp_path / "certificate.json"))
