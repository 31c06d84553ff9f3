"""Certificates made up by somebody who knows the verifier: what they claim is not true.

Changes of one field are those of ``test_certificates``; here several are made that fit together,
or one that a careless check would pass.
"""

import copy
import json
import math

import pytest

import shuffledp as sd
from crowds.exact import worst
from frontend.certificates import JOINT, crowd, issued, issued_of, one
from frontend.edits import caught, outcome, remember, resigned
from frontend.parts import of_round, of_rounds
from laws import are_neighbours, log_delta_stealing, ordered_pairs
from shuffledp.certificate import read
from shuffledp.certificate.composed import values_hold
from shuffledp.certificate.model import Claim
from shuffledp.certificate.recompute import curve_of
from shuffledp.deployment import Deployment
from shuffledp.deployment.setting import settings_of

pytestmark = pytest.mark.usefixtures("rough_proposals")

UPPER, LOWER, PUBLISHED = ("upper", "all"), ("lower", "all"), ("upper", "published")


def claim(content, end=UPPER, group=0, *, rounds=False):
    """One of what is claimed as it runs now."""
    found = (of_rounds if rounds else of_round)(content, 0, group)
    return next(c for c in found if (c["end"], c["trust"]) == end)


def moved(content, source, target, *keys):
    """Say of one end what is said of another."""
    target.update(copy.deepcopy({key: source[key] for key in keys}))


def witness(content, end=UPPER, group=0, *, rounds=False):
    return claim(content, end, group, rounds=rounds)["witness"]


def free(content):
    """Free numbers of label stealing, one a pair of inputs."""
    return witness(content)["free"]


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
    low["witness"] |= {"x0": [0, 0], "x1": [1, 1], "x2": [0, 0]}


def clones_of_one_attribute(c):
    """The victim's record differs in one attribute, those of others in all."""
    c["local_guarantees"] = [0.75]

    def by_clones(said):
        of = sd.generic(eps0=0.75, n=said["n"]).epsilon(delta=1e-4, analysis="clone")
        said.update(value=1.001 * of.upper, witness={"analysis": "clone"}, theorem=["clone"])

    each(c, by_clones, end="upper", situation="now")


def others_exchanged(c):
    """All others hold the other input."""
    said = witness(c, LOWER)
    (first, some), (second, rest) = said["others"]
    said["others"] = [[first, rest], [second, some]]


def one_user_more(c):
    witness(c, LOWER)["others"][0][1] += 1


def one_value(c):
    witness(c, rounds=True)["values"][7] *= 0.98


def other_alpha(c):
    witness(c, rounds=True)["frees"][5][0]["alpha"] *= 30.0


def scaled_values(c):
    """A smaller curve, and the eps that it would give."""
    said = claim(c, rounds=True)
    said["witness"]["values"] = [0.9 * v for v in said["witness"]["values"]]
    said["value"] *= 0.9


def wider_dots_below(c):
    said = witness(c, LOWER, rounds=True)
    said["dots"] = [1.125 * e for e in said["dots"]]


def ends_below_moved(c, low, high):
    """The values of a lower end's curve; and of what continued chords start from."""
    said = witness(c, LOWER, rounds=True)
    said["ends"] = [
        [[low * v for v in first], [high * v for v in second]] for first, second in said["ends"]
    ]


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
        moved(c, best, said, "value", "witness", "theorem")


def published_by_proofs_of_ours(c):
    moved(c, claim(c), claim(c, PUBLISHED), "value", "theorem", "assumptions", "witness")


# ---------------------------------------------------------------------------------- the table

CHANGES = {
    "one round": {
        "other users": other_users,
        "a smaller delta": smaller_delta,
        "nothing below": lambda c: claim(c, LOWER).update(value=None, theorem=[]),
        "fewer assumptions": lambda c: claim(c)["assumptions"].pop(),
        "another analysis": lambda c: claim(c).update(witness={"analysis": "blanket"}),
        "no user who changes": lambda c: witness(c, LOWER).update(x1=witness(c, LOWER)["x0"]),
    },
    "family": {
        "a blanket": lambda c: each(
            c, lambda said: said.update(witness={"analysis": "blanket"}, theorem=["blanket"]),
            end="upper",
        ),
        "published by proofs of ours": published_by_proofs_of_ours,
        "adaptive": lambda c: table(c)["randomizer"].update(adaptive=True),
        "free numbers below": lambda c: witness(c, LOWER).update(free=free(c)),
    },
    "joint": {"no neighbours": no_neighbours, "clones of one attribute": clones_of_one_attribute},
    "stealing": {
        "published by proofs of ours": published_by_proofs_of_ours,
        "alpha of no use": lambda c: free(c)[0].update(alpha=1.7e308),
        "alpha of 400 digits": lambda c: free(c)[0].update(alpha=10**400),
        "one pair twice": lambda c: free(c).append(free(c)[0]),
        "a pair less": lambda c: free(c).pop(),
        "a share above one": lambda c: free(c)[0]["share"].__setitem__(0, 1.5),
        "another analysis": lambda c: claim(c).update(witness={"analysis": "blanket"}),
        "free numbers below": lambda c: witness(c, LOWER).update(free=free(c)),
    },
    "bits": {
        "others exchanged": others_exchanged,
        "one user more": one_user_more,
        "no user who changes": lambda c: witness(c, LOWER).update(x1=witness(c, LOWER)["x0"]),
        "others above": lambda c: witness(c).update(others=witness(c, LOWER)["others"]),
    },
    "sums, noise": {
        "more noise": lambda c: table(c)["added"].update(scale=2.6),
        "noise that nobody adds": lambda c: of_round(c, 2)[0].update(
            assumptions=of_round(c, 1)[0]["assumptions"]
        ),
        "one report's own": lambda c: claim(c).update(witness={"analysis": "sums-local"}),
        "normal noise": lambda c: claim(c).update(theorem=["sum-of-normals"]),
    },
    "sums of bits": {
        "no view": lambda c: table(c).pop("view"),
        "a smaller guarantee": lambda c: c.update(local_guarantees=[0.9]),
        "one report's own": lambda c: claim(c).update(witness={"analysis": "sums-local"}),
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
        "other group's": lambda c: moved(c, claim(c), claim(c, group=1), "value", "witness"),
        "one user more": one_user_more,
        "no user who changes": lambda c: witness(c, LOWER).update(x1=witness(c, LOWER)["x0"]),
        "a pair less": lambda c: free(c).pop(),
        "all of the blanket": lambda c: [numbers.update(gain=1.0) for numbers in free(c)],
        "no share": lambda c: free(c)[0]["shares"].__setitem__(0, 0.0),
        "fewer assumptions": lambda c: claim(c)["assumptions"].pop(),
        "members exchanged": lambda c: each(c, lambda said: said.update(group=1 - said["group"])),
        "a group left out": lambda c: c.update(
            claims=[said for said in c["claims"] if said["group"] == 0]
        ),
        **{f"{key} = {number}": lambda c, k=key, x=number: free(c)[0].update({k: x})
           for key in ("alpha", "gain", "smoothing") for number in (1e308, 1e-308)},
    },
    "rounds, stolen": {
        "scaled values": scaled_values,
        "wider dots below": wider_dots_below,
        "higher values below": lambda c: ends_below_moved(c, 1.05, 1.0),
        "lower values above": lambda c: ends_below_moved(c, 1.0, 0.99),
        "fewer rounds": lambda c: other_rounds(c, 4),
        "more rounds": more_rounds_everywhere,
        "nothing where the shuffler fails": lambda c: c.update(
            claims=[said for said in c["claims"] if said not in of_rounds(c, 1)]
        ),
        # Below, one data set is kept in all rounds: the best of one round says nothing.
        "a search's best": lambda c: witness(c, LOWER, rounds=True).update(
            analysis="binary-exact-lower"
        ),
        "one value": one_value,
        "shorter dots": lambda c: witness(c, rounds=True).update(
            dots=[0.96875 * e for e in witness(c, rounds=True)["dots"]]
        ),
        "dots out of order": lambda c: witness(c, rounds=True)["dots"].reverse(),
        "fewer values": lambda c: witness(c, rounds=True)["values"].__setitem__(
            slice(5, None), [0.0]
        ),
        "free numbers missing": lambda c: witness(c, rounds=True)["frees"].pop(),
        "free numbers shifted": lambda c: witness(c, rounds=True)["frees"].insert(
            5, witness(c, rounds=True)["frees"].pop()
        ),
        "free numbers of no use": other_alpha,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_not_true_is_not_verified(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    path, (_, content) = tmp_path / "c.json", issued(kind)
    assert not caught(outcome(content, path))
    for name, change in CHANGES[kind].items():
        new = copy.deepcopy(content)
        change(new)
        assert caught(outcome(resigned(new), path)), name


def test_a_value_of_several_that_is_too_small_is_named(tmp_path):
    """Of a curve of one coordinate; and the end that rests on it, where only that is moved."""
    path = tmp_path / "c.json"
    for spot, said in (("values", True), ("value", False)):
        _, content = issued("sums")
        upper, lower = of_round(content, 0)
        if spot == "value":
            upper["value"] = 0.5 * (upper["value"] + lower["value"])
        else:
            upper["witness"]["values"][0] *= 0.97
        words = [c.how for c in outcome(resigned(content), path) if c.verdict == "does not hold"]
        assert len(words) == 1
        assert ("one coordinate at eps" in words[0]) is said


@pytest.mark.long
def test_every_value_of_the_curve_is_looked_at():
    """Each in turn 2 % smaller: no other one makes up for it."""
    _, content = issued("rounds, stolen")
    deployment = Deployment.model_validate(content["deployment"]["content"])
    setting = next(found for found in settings_of(deployment) if found.rounds > 1)
    said = Claim.model_validate_json(json.dumps(claim(content, rounds=True)))
    curve = curve_of(setting, said, said.witness)
    dots, values = said.witness.dots, said.witness.values
    for k, value in enumerate(values):
        changed = [*values[:k], 0.98 * value, *values[k + 1 :]]
        verdict, how = values_hold(curve, dots, changed, "round", lambda _: None)
        assert value == 0.0 or verdict != "holds", (k, how)
        if verdict != "holds" and k:
            assert f"eps = {dots[k]:.6g}" in how


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "jump"),
    [
        ('name = "rappor"\nd = 6\neps0 = 2.0', False),
        ('name = "discrete-laplace"\ntop = 6\neps0 = 1.5', False),
        ('name = "gaussian"\nsigma = 0.7', True),
    ],
)
def test_an_end_stands_where_its_bound_with_edited_numbers_is_no_larger(tmp_path, mechanism, jump):
    users = 10_000 if jump else 3000
    _, content = issued_of(
        one(mechanism, users=f"users = {users}", target="delta = 1e-6", rtol=1e-5)
    )
    mechanism_table, stood = table(content)["randomizer"], []
    for key, value in free(content)[0].items():
        for factor in (0.5, 0.999, 2.0):
            new = copy.deepcopy(content)
            numbers = free(new)
            is_list = isinstance(value, list)
            numbers[0][key] = (
                [min(factor * w + 0.1, 1.0) for w in value] if is_list else factor * value
            )
            log = log_delta_stealing(
                mechanism_table,
                numbers,
                n=users,
                epsilon=claim(new)["value"],
                guess=math.log(1e-6),
                jump=jump,
            )
            stood.append(log <= math.log(1e-6))
            assert caught(outcome(resigned(new), tmp_path / "c.json")) is not stood[-1]
    assert 0 < sum(stood) < len(stood)


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
    assert are_neighbours(joint, (0, 0), (0, 1))
    assert not are_neighbours(joint, (0, 0), (1, 1))
    assert not are_neighbours(joint, (0, 0), 1)
    sampled = {"name": "poisson-subsample", "randomizer": joint, "rate": 0.5}
    assert not are_neighbours(sampled, (0, 0), (1, 1))
    assert are_neighbours(joint | {"hamming": None}, (0, 0), (1, 1))


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


def test_a_common_blanket_is_recomputed(tmp_path):
    """Of the three that may win; here it is put in the place of the one that did."""
    _, content = issued("crowd")
    said, path = claim(content), tmp_path / "c.json"
    said.update(witness={"analysis": "common-blanket"}, value=0.9, theorem=["common-blanket"])
    assert not caught(outcome(resigned(content), path))
    said["value"] = claim(content, LOWER)["value"] * 1.001
    (fault,) = [c for c in outcome(resigned(content), path) if c.verdict == "does not hold"]
    assert "common-blanket" in fault.how


def test_a_wheel_s_dominating_law_is_no_data_set(tmp_path):
    _, content = issued_of(one('name = "wheel"\ndomain = 12\ns = 2\neps0 = 1.1'))
    low = claim(content, LOWER)
    low["value"] *= 1.0001
    low["witness"] |= {"x0": -1, "x1": -2, "x2": -1}
    assert caught(outcome(resigned(content), tmp_path / "c.json"))


def test_of_records_with_a_limit_both_ends_hold(tmp_path):
    _, content = issued_of(one(JOINT, users="users = 40"))
    assert not caught(outcome(content, tmp_path / "c.json"))
