"""Certificates of several rounds whose values of one round rest on label stealing."""

import copy
import json

import pytest

import shuffledp as sd
from frontend.edits import caught, outcome, remember, resigned
from frontend.parts import of_rounds
from shuffledp.certificate import issue, to_dict
from shuffledp.certificate.composed import values_hold
from shuffledp.certificate.model import Claim
from shuffledp.certificate.recompute import curve_of
from shuffledp.deployment import Deployment, account, load
from shuffledp.deployment.setting import settings_of

KINDS = {
    "channel": "matrix = [[0.7, 0.3], [0.2, 0.8]]",
    "generic": "eps0 = 2.0",
    "hybrid": "eps0 = 2.0",
    "laplace": "eps0 = 1.0",
    "discrete-laplace": "top = 3\neps0 = 2.0",
    "binary-rr": "eps0 = 2.0",
    "rappor": "d = 4\neps0 = 2.0",
    "duchi": "eps0 = 1.5",
}


def certificate(folder, name, target="delta = 1e-6", more=""):
    source = folder / "deployment.toml"
    source.write_text(
        'title = "t"\n[population]\nusers = 3000\n'
        f'[randomizer]\nname = "{name}"\n{KINDS[name]}\n'
        f"[target]\n{target}\n[accounting]\nrtol = 1e-4\nrounds = 5\n{more}"
    )
    found = load(source)
    return to_dict(issue(found, account(found.deployment)))


def upper(content):
    return of_rounds(content, 0)[0]


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("rounds"), "binary-rr")


@pytest.fixture(scope="module")
def two_pairs(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("pairs"), "channel")


@pytest.fixture(scope="module", autouse=True)
def _balls_once():
    """Most of an edited certificate is as it was."""
    with pytest.MonkeyPatch.context() as patch:
        remember(patch)
        yield


@pytest.mark.many(1)
def test_honest_rounds_are_verified_and_sharp(honest, tmp_path):
    claim, lower = of_rounds(honest, 0)[:2]
    assert claim["witness"]["analysis"] == claim["theorem"][0] == "label-stealing"
    assert lower["value"] < claim["value"] < 1.03 * lower["value"]
    found = outcome(honest, tmp_path / "c.json")
    assert not caught(found), found
    assert any("values of one round (label-stealing)" in check.how for check in found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "target", "more"),
    [
        ("generic", "delta = 1e-6", ""),
        ("hybrid", "delta = 1e-6", ""),
        ("discrete-laplace", "delta = 1e-6", ""),
        ("generic", "epsilon = 0.3", ""),
        ("rappor", "delta = 1e-6", ""),
        ("duchi", "epsilon = 0.5", ""),
        ("binary-rr", "epsilon = 0.5", ""),
        ("binary-rr", "delta = 1e-6", 'trust = "published"\n'),
    ],
)
def test_other_rounds_are_verified(tmp_path, name, target, more):
    content = certificate(tmp_path, name, target, more)
    stolen = upper(content)["witness"]["analysis"] == "label-stealing"
    assert stolen == (not more)
    assert ("frees" in upper(content)["witness"]) == stolen
    assert not caught(outcome(content, tmp_path / "c.json"))


@pytest.mark.long
def test_noise_is_verified_with_one_cover_and_edits_are_refused(tmp_path):
    content = certificate(tmp_path, "laplace")
    claim, lower = of_rounds(content, 0)[:2]
    assert claim["witness"]["analysis"] == "label-stealing"
    assert lower["value"] < claim["value"] < 1.05 * lower["value"]
    composed = sd.shuffle(sd.Laplace(eps0=1.0), n=3000).compose(rounds=5).epsilon(delta=1e-6)
    assert composed.lower < claim["value"] < 1.02 * composed.upper
    assert not caught(outcome(content, tmp_path / "c.json"))
    for edit in (
        lambda w: w["values"].__setitem__(5, 0.97 * w["values"][5]),
        lambda w: w["frees"][5][0].update(alpha=3.0 * w["frees"][5][0]["alpha"]),
        lambda w: w["frees"][5][0].update(ceiling=1.0),
    ):
        new = copy.deepcopy(content)
        edit(upper(new)["witness"])
        assert caught(outcome(resigned(new), tmp_path / "c.json"))


@pytest.mark.parametrize(
    "edit",
    [
        lambda w: w.pop("frees"),
        lambda w: w["frees"].pop(),
        lambda w: w["frees"].append(None),
        lambda w: w["frees"].insert(5, None),
        lambda w: w["frees"][5][0].pop("alpha"),
        lambda w: w["frees"][5][0].update(gain=0.1),
        lambda w: w["frees"][5][0].update(alpha=30.0 * w["frees"][5][0]["alpha"]),
        lambda w: w["frees"].__setitem__(5, None),
        lambda w: w.update(free=w["frees"][5]),
        lambda w: w.update(analysis="blanket"),
        lambda w: w["values"].__setitem__(5, 0.98 * w["values"][5]),
        lambda w: w.update(basic=True),
        lambda w: w.update(x0=0),
    ],
)
def test_edited_rounds_are_refused(honest, tmp_path, edit):
    new = copy.deepcopy(honest)
    edit(upper(new)["witness"])
    assert caught(outcome(resigned(new), tmp_path / "c.json"))


@pytest.mark.long
def test_several_pairs_are_verified_and_each_has_numbers(two_pairs, tmp_path):
    claim, lower = of_rounds(two_pairs, 0)[:2]
    assert claim["witness"]["analysis"] == "label-stealing"
    assert {len(one) for one in claim["witness"]["frees"] if one is not None} == {2}
    assert lower["value"] < claim["value"] < 1.03 * lower["value"]
    found = outcome(two_pairs, tmp_path / "c.json")
    assert not caught(found), found


@pytest.mark.many(2)
@pytest.mark.parametrize(
    "edit",
    [
        lambda w: w["frees"][5].pop(),
        lambda w: w["frees"][5].append(w["frees"][5][0]),
        lambda w: w["frees"].__setitem__(5, w["frees"][5][0]),
        lambda w: w["frees"].__setitem__(5, w["frees"][5][:1]),
        lambda w: w["frees"].__setitem__(5, []),
        lambda w: w["frees"][5][1].update(alpha=30.0 * w["frees"][5][1]["alpha"]),
        lambda w: w["frees"][5][0].update(alpha=30.0 * w["frees"][5][0]["alpha"]),
        lambda w: w["frees"][5][1].pop("share"),
    ],
)
def test_edited_numbers_of_pairs_are_refused(two_pairs, tmp_path, edit):
    new = copy.deepcopy(two_pairs)
    edit(upper(new)["witness"])
    assert caught(outcome(resigned(new), tmp_path / "c.json"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("which", "stride"),
    [
        ("honest", 17),
        pytest.param("honest", 1, marks=pytest.mark.long),
        pytest.param("two_pairs", 1, marks=pytest.mark.long),
    ],
)
def test_every_value_of_the_curve_is_looked_at(which, stride, request):
    """Each in turn 2 % smaller: no other one makes up for it."""
    content = request.getfixturevalue(which)
    setting = next(
        one
        for one in settings_of(Deployment.model_validate(content["deployment"]["content"]))
        if one.rounds > 1
    )
    claim = Claim.model_validate_json(json.dumps(upper(content)))
    curve = curve_of(setting, claim, claim.witness, content["local_guarantees"][0])
    dots, values = claim.witness.dots, claim.witness.values
    for k, value in list(enumerate(values))[::stride]:
        changed = [*values[:k], 0.98 * value, *values[k + 1 :]]
        verdict, how = values_hold(curve, dots, changed, "round", lambda _: None)
        assert value == 0.0 or verdict != "holds", (k, how)
        if verdict != "holds" and k:
            assert f"eps = {dots[k]:.6g}" in how


def test_a_smaller_end_is_refused(honest, tmp_path):
    new = copy.deepcopy(honest)
    upper(new)["value"] *= 0.99
    assert caught(outcome(resigned(new), tmp_path / "c.json"))
