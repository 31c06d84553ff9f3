"""Certificates made up by somebody who knows the verifier: what they claim is not true."""

import json

import pytest

import shuffledp as sd
from frontend.test_verify_all import claims
from laws import are_neighbours, ordered_pairs
from shuffledp.certificate import checksum, issue, to_json
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, load

BITS = [{"name": "binary-rr", "eps0": 0.5}, {"name": "binary-rr", "eps0": 0.75}]
LIMITED = (
    "hamming = 1\n"
    'randomizers = [{ name = "binary-rr", eps0 = 0.5 }, { name = "binary-rr", eps0 = 0.75 }]'
)
TARGET = 1e-4


def certificate(folder, name, table, *, users=40, trust="all"):
    source = folder / "d.toml"
    source.write_text(
        f'title = "t"\n[population]\nusers = {users}\n[randomizer]\nname = "{name}"\n{table}\n'
        f'[target]\ndelta = {TARGET}\n[accounting]\nrtol = 1e-4\ntrust = "{trust}"\n'
    )
    deployment = load(source)
    return json.loads(to_json(issue(deployment, account(deployment.deployment))))


def verdicts(folder, content):
    content["checksum"] = checksum(content)
    path = folder / "c.json"
    path.write_text(json.dumps(content))
    return verify(path)


def first(found, words):
    return next(c for c in found if c.scenario == "now" and c.claim.startswith(words))


def test_a_lower_end_from_datasets_that_are_no_neighbours(tmp_path):
    content = certificate(tmp_path, "joint", LIMITED)
    assert {c.verdict for c in verdicts(tmp_path, content)} == {"holds"}
    (claim,) = claims(content, 0, "lower")
    unlimited = sd.shuffle(sd.Joint(BITS), n=40).epsilon(delta=TARGET)
    assert unlimited.lower > claim["value"] * 1.1
    claim["value"] = unlimited.lower * 0.999
    claim["witness"] |= {"x0": [0, 0], "x1": [1, 1], "x2": [0, 0]}
    found = first(verdicts(tmp_path, content), "lower ep")
    assert found.verdict == "does not hold"
    assert "pairs of inputs" in found.how


def test_clones_of_the_others_need_a_guarantee_of_every_two_records(tmp_path):
    """The victim's record differs in one attribute, those of others in all."""
    content = certificate(tmp_path, "joint", LIMITED)
    content["local_guarantees"] = [0.75]
    too_small = sd.generic(eps0=0.75, n=40).epsilon(delta=TARGET, analysis="clone").upper
    honest = certificate(tmp_path, "generic", "eps0 = 0.75", trust="published")
    for claim in claims(content, 0, "upper"):
        claim["value"] = too_small * 1.001
        claim["witness"] = {"analysis": "clone"}
        claim["theorem"] = ["clone"]
        words = claims(honest, 0, "upper")[0]["assumptions"]
        claim["assumptions"] = [claim["assumptions"][0], *words[1:]]
    found = verdicts(tmp_path, content)
    assert first(found, "upper ep").verdict == "does not hold"
    assert first(found, "upper ep").how.startswith("clone: delta 1.4e+02 times the claim")


def test_a_family_has_no_blanket(tmp_path):
    content = certificate(tmp_path, "generic", "eps0 = 1.0")
    for claim in claims(content, 0, "upper"):
        claim["witness"] = {"analysis": "blanket"}
        claim["theorem"] = ["blanket"]
    found = first(verdicts(tmp_path, content), "upper ep")
    assert found.verdict == "does not hold"
    assert "cannot rest on blanket" in found.how


def test_the_law_that_dominates_wheels_is_no_dataset(tmp_path):
    content = certificate(tmp_path, "wheel", "domain = 12\ns = 2\neps0 = 1.1")
    (claim,) = claims(content, 0, "lower")
    claim["value"] *= 1.0001
    claim["witness"] |= {"x0": -1, "x1": -2, "x2": -1}
    assert first(verdicts(tmp_path, content), "lower ep").verdict != "holds"


@pytest.mark.parametrize("same", [[0, 0], [1, 1]])
def test_a_user_is_no_neighbour_of_himself(tmp_path, same):
    content = certificate(tmp_path, "binary-rr", "eps0 = 1.0")
    (claim,) = claims(content, 0, "lower")
    claim["witness"] |= {"x0": same[0], "x1": same[1]}
    assert first(verdicts(tmp_path, content), "lower ep").verdict == "does not hold"


def test_pairs_that_agree_where_a_channel_is_nested():
    """Nothing says that equal inputs of a channel are dominated by different ones."""
    inner = {"name": "channel", "matrix": [[0.75, 0.25], [0.5, 0.5]]}
    nested = {"name": "joint", "randomizers": [inner, inner]}
    outer = {"name": "joint", "randomizers": [nested, BITS[0]]}
    found = set(ordered_pairs(outer))
    assert {(((a, b), 0), ((a, b), 1)) for a in (0, 1) for b in (0, 1)} <= found
    sampled = {"name": "poisson-subsample", "randomizer": inner, "rate": 0.5}
    found = set(ordered_pairs({"name": "joint", "randomizers": [sampled, BITS[0]]}))
    assert {((0, 0), (0, 1)), ((1, 0), (1, 1))} <= found
    assert not [pair for pair in ordered_pairs({"name": "joint", "randomizers": BITS}) if not pair]


def test_neighbours_by_hamming_distance():
    joint = {"name": "joint", "randomizers": BITS, "hamming": 1}
    assert are_neighbours(joint, (0, 0), (0, 1))
    assert not are_neighbours(joint, (0, 0), (1, 1))
    assert not are_neighbours(joint, (0, 0), 1)
    sampled = {"name": "poisson-subsample", "randomizer": joint, "rate": 0.5}
    assert not are_neighbours(sampled, (0, 0), (1, 1))
    assert are_neighbours(joint | {"hamming": None}, (0, 0), (1, 1))
