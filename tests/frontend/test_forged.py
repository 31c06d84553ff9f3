"""Certificates made up by somebody who knows the verifier: what they claim is not true.

Changes of one field are those of ``test_certificates``; here several are made that fit together,
or one that a careless check would pass.
"""

import copy

import pytest

import shuffledp as sd
from adversary.relations import related
from crowds.exact import worst
from frontend.certificates import JOINT, crowd, issued, issued_of, one
from frontend.edits import caught, outcome, remember, resigned
from frontend.parts import of_round, of_rounds
from laws import mechanism_of, ordered_pairs
from shuffledp.certificate import read

pytestmark = pytest.mark.usefixtures("rough_proposals")

UPPER, LOWER, PUBLISHED = ("upper", "all"), ("lower", "all"), ("upper", "published")


def claim(content, end=UPPER, group=0, *, rounds=False):
    """One of what is claimed as it runs now."""
    found = (of_rounds if rounds else of_round)(content, 0, group)
    return next(c for c in found if (c["end"], c["trust"]) == end)


def moved(content, source, target, *keys):
    """Say of one end what is said of another."""
    target.update(copy.deepcopy({key: source[key] for key in keys}))


def table(content):
    """What is said to be deployed."""
    return content["deployment"]["content"]


def each(content, change, **of):
    """Change every claim that has these values."""
    for one_claim in content["claims"]:
        if of.items() <= one_claim.items():
            change(one_claim)


# ------------------------------------------------------------- changes of several fields at once


def other_users(c):
    """Everywhere, so that situations and claims fit."""
    table(c)["population"]["users"] = 140
    each(c, lambda said: said.update(n=said["n"] * (2 if said["n"] > 1 else 1)))


def smaller_delta(c):
    table(c)["target"]["delta"] = 1e-9
    each(c, lambda said: said.update(at=1e-9))


def no_neighbours(c):
    """A lower end of records that differ in both attributes, where one may change."""
    both = [{"name": "k-rr", "k": 3, "eps0": 0.5}, {"name": "binary-rr", "eps0": 0.75}]
    low = claim(c, LOWER)
    unlimited = sd.shuffle(sd.Joint(both), n=low["n"]).epsilon(delta=1e-4)
    assert unlimited.lower > 1.1 * low["value"]
    low["value"] = 0.999 * unlimited.lower


def clones_of_one_attribute(c):
    """The victim's record differs in one attribute, those of others in all."""
    c["local_guarantees"] = [0.75]

    def by_clones(said):
        of = sd.generic(eps0=0.75, n=said["n"]).epsilon(delta=1e-4, analysis="clone")
        said.update(value=1.001 * of.upper, theorem=["clone"])

    each(c, by_clones, end="upper", situation="now")


def other_rounds(c, rounds):
    for place in (0, 1):
        for said in of_rounds(c, place):
            said["rounds"] = rounds


def more_rounds_everywhere(c):
    other_rounds(c, 6)
    table(c)["accounting"]["rounds"] = 6


def own_group_as_if_all(c):
    """The bound of a shuffle of all users with the one group's mechanism."""
    alone = sd.shuffle(sd.BinaryRR(eps0=1.0), 500, trust="published").epsilon(delta=1e-3)
    claim(c, PUBLISHED)["value"] = alone.upper * (1 + 1e-6)


def sizes_everywhere(c):
    table(c)["group"][0]["users"] = 600
    each(c, lambda said: said.update(n=800 if said["situation"] == "now" else 1))


def everybody_fails(c):
    for said in of_round(c, 1, 1):
        best = claim(c, (said["end"], said["trust"]), 1)
        moved(c, best, said, "value", "theorem")


def published_by_proofs_of_ours(c):
    moved(c, claim(c), claim(c, PUBLISHED), "value", "theorem", "assumptions")


# ---------------------------------------------------------------------------------- the table

CHANGES = {
    "one round": {
        "other users": other_users,
        "a smaller delta": smaller_delta,
        "nothing below": lambda c: claim(c, LOWER).update(value=None, theorem=[]),
        "nothing above": lambda c: claim(c).update(value=None, theorem=[], assumptions=[]),
        "fewer assumptions": lambda c: claim(c)["assumptions"].pop(),
        "another theorem": lambda c: claim(c).update(theorem=["stronger-clone"]),
    },
    "family": {
        "a blanket": lambda c: each(c, lambda said: said.update(theorem=["blanket"]), end="upper"),
        "published by proofs of ours": published_by_proofs_of_ours,
        "adaptive": lambda c: table(c)["randomizer"].update(adaptive=True),
    },
    "joint": {"no neighbours": no_neighbours, "clones of one attribute": clones_of_one_attribute},
    "stealing": {
        "published by proofs of ours": published_by_proofs_of_ours,
        "another theorem": lambda c: claim(c).update(theorem=["blanket"]),
    },
    "sums, noise": {
        "more noise": lambda c: table(c)["added"].update(scale=2.6),
        "noise that nobody adds": lambda c: of_round(c, 2)[0].update(
            assumptions=of_round(c, 1)[0]["assumptions"]
        ),
        "normal noise": lambda c: claim(c).update(theorem=["sum-of-normals"]),
    },
    "sums of bits": {
        "no view": lambda c: table(c).pop("view"),
        "a smaller guarantee": lambda c: c.update(local_guarantees=[0.9]),
    },
    "sums": {
        "another relation": lambda c: table(c).update(relation="replace-special"),
        "normal noise": lambda c: claim(c).update(theorem=["sum-of-normals"]),
    },
    "crowd": {
        "own group as if all": own_group_as_if_all,
        "sizes everywhere": sizes_everywhere,
        "everybody fails": everybody_fails,
        "published by proofs of ours": published_by_proofs_of_ours,
        "other group's": lambda c: moved(c, claim(c), claim(c, group=1), "value"),
        "fewer assumptions": lambda c: claim(c)["assumptions"].pop(),
        "members exchanged": lambda c: each(c, lambda said: said.update(group=1 - said["group"])),
        "a group left out": lambda c: c.update(
            claims=[said for said in c["claims"] if said["group"] == 0]
        ),
    },
    "rounds, stolen": {
        "a smaller end": lambda c: claim(c, rounds=True).update(
            value=0.98 * claim(c, rounds=True)["value"]
        ),
        "fewer rounds": lambda c: other_rounds(c, 4),
        "more rounds": more_rounds_everywhere,
        "nothing where the shuffler fails": lambda c: c.update(
            claims=[said for said in c["claims"] if said not in of_rounds(c, 1)]
        ),
    },
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_not_true_is_not_verified(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    path, (_, content) = tmp_path / "c.json", issued(kind)
    assert not caught(outcome(content, path))
    for name, change in CHANGES[kind].items():
        new = copy.deepcopy(content)
        change(new)
        assert caught(outcome(resigned(new), path)), name


# --------------------------------------------------------------------- pairs that are neighbours

TWO = [{"name": "binary-rr", "eps0": 0.5}, {"name": "binary-rr", "eps0": 0.75}]


def test_pairs_that_agree_where_a_channel_is_nested():
    """Nothing says that equal inputs of a channel are dominated by different ones."""
    inner = {"name": "channel", "matrix": [[0.75, 0.25], [0.5, 0.5]]}
    nested = {"name": "joint", "randomizers": [inner, inner]}
    outer = {"name": "joint", "randomizers": [nested, TWO[0]]}
    found = set(ordered_pairs(outer))
    assert {(((a, b), 0), ((a, b), 1)) for a in (0, 1) for b in (0, 1)} <= found
    sampled = {"name": "poisson-subsample", "randomizer": inner, "rate": 0.5}
    found = set(ordered_pairs({"name": "joint", "randomizers": [sampled, TWO[0]]}))
    assert {((0, 0), (0, 1)), ((1, 0), (1, 1))} <= found
    assert not [pair for pair in ordered_pairs({"name": "joint", "randomizers": TWO}) if not pair]


def test_neighbours_by_hamming_distance():
    joint = {"name": "joint", "randomizers": TWO, "hamming": 1}
    sampled = {"name": "poisson-subsample", "randomizer": joint, "rate": 0.5}
    one, inside, every = (
        mechanism_of(table).relation.to_dict()
        for table in (joint, sampled, joint | {"hamming": None})
    )
    assert related(one, (0, 0), (0, 1))
    assert not related(one, (0, 0), (1, 1))
    assert not related(inside, (0, 0), (1, 1))
    assert related(every, (0, 0), (1, 1))


# -------------------------------------------------------------------------- what the words say


def printed(table):
    return [(g["users"], [[float(x) for x in row] for row in g["randomizer"]["matrix"]])
            for g in table["group"]]  # fmt: skip


@pytest.mark.parametrize(("users", "epsilon"), [(1, 0.25), (3, 0.0), (3, 0.5), (4, 0.125)])
def test_what_the_words_of_a_crowd_say_is_so_for_all_data_sets(users, epsilon, tmp_path):
    """From nothing but what is printed: groups, sizes, who changes what, and what is seen."""
    text = crowd(
        (2, 'name = "channel", matrix = [[0.75, 0.25], [0.25, 0.75]]'),
        (users, 'name = "channel", matrix = [[0.625, 0.375], [0.125, 0.875]]'),
        target=f"epsilon = {epsilon}",
    )
    source, content = issued_of(text)
    path = tmp_path / "c.json"
    assert not caught(outcome(content, path, deployment=source))
    groups = printed(content["deployment"]["content"])
    for member in read(path).members:
        k = member.group
        assert "one user's value replaced by another" in member.neighbours
        assert f"one of group {k} and stays in it" in member.neighbours
        now, failed = member.ends
        assert now.setting.n == sum(n for n, _ in groups)
        for scenario, of in ((now, groups), (failed, [(1, groups[k][1])])):
            truth = float(worst(of, k if scenario is now else 0, epsilon))
            for said in scenario.claims:
                assert truth <= said.value if said.end == "upper" else said.value <= truth


def test_of_records_with_a_limit_both_ends_hold(tmp_path):
    _, content = issued_of(one(JOINT, users="users = 40"))
    assert not caught(outcome(content, tmp_path / "c.json"))
