"""Certificates whose upper end rests on label stealing: verified, forged, edited."""

import copy
import json
import math

import pytest

from frontend.edits import caught, outcome, resigned
from frontend.parts import of_round
from frontend.test_verify_all import TABLES
from laws import log_delta_stealing
from shuffledp.certificate import issue, to_dict
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, load

KINDS = {
    **{name: TABLES[name][0] for name in (
        "rappor", "oue", "subset", "channel", "extremal", "discrete-laplace")},
    "olh": "domain = 10\neps0 = 1.5",
    "generic": "eps0 = 2.0",
    "laplace": "eps0 = 1.0\nbinary = true",
}  # fmt: skip
HEAD = 'title = "t"\n[population]\nusers = 3000\n'


def certificate(folder, name, target="delta = 1e-6", more=""):
    source = folder / "deployment.toml"
    table = f'[randomizer]\nname = "{name}"\n{KINDS[name]}\n'
    source.write_text(f"{HEAD}{table}[target]\n{target}\n[accounting]\nrtol = 1e-5\n{more}")
    found = load(source)
    return to_dict(issue(found, account(found.deployment)))


def upper(content):
    """The upper end of the first scenario."""
    return of_round(content, 0)[0]


@pytest.mark.many(4)
@pytest.mark.parametrize(
    ("name", "target"),
    [
        # Noise at a small delta takes the verifier many seconds.
        pytest.param(
            name, target, marks=[pytest.mark.long] * (name == "laplace" and target[0] == "e")
        )
        for name in KINDS
        for target in ("delta = 1e-6", "epsilon = 0.3")
    ],
)
def test_honest_ends_are_verified(tmp_path, name, target):
    content = certificate(tmp_path, name, target)
    claim = upper(content)
    assert claim["witness"]["analysis"] == "label-stealing"
    assert not caught(outcome(content, tmp_path / "c.json"))
    # Two per cent better than proved.
    forged = copy.deepcopy(content)
    upper(forged)["value"] *= 0.98
    if upper(forged)["log"] is not None:
        upper(forged)["log"] += math.log(0.98)
    found = outcome(resigned(forged), tmp_path / "c.json")
    assert any(c.verdict == "does not hold" and "label-stealing" in c.how for c in found)


@pytest.mark.long
@pytest.mark.parametrize("name", ["rappor", "channel", "generic", "discrete-laplace"])
def test_each_free_number_edited(tmp_path, name):
    """The end stands where the bound with the edited numbers is no larger than claimed."""
    content = certificate(tmp_path, name)
    mechanism = content["deployment"]["content"]["randomizer"]
    free = upper(content)["witness"]["free"]
    stood = fell = 0
    for i in {0, len(free) - 1}:
        for key, value in free[i].items():
            for factor in (0.5, 0.999, 2.0):
                new = copy.deepcopy(content)
                numbers = upper(new)["witness"]["free"]
                is_list = isinstance(value, list)
                edited = [min(factor * w + 0.1, 1.0) for w in value] if is_list else factor * value
                numbers[i][key] = edited
                found = outcome(resigned(new), tmp_path / "c.json")
                holds = log_delta_stealing(
                    mechanism, numbers, n=3000, epsilon=upper(new)["value"]
                ) <= math.log(1e-6)
                assert caught(found) == (not holds)
                stood, fell = stood + holds, fell + (not holds)
    assert stood > 0
    assert fell > 0


@pytest.mark.many(9)
@pytest.mark.parametrize(
    "edit",
    [
        lambda w: w.pop("free"),
        lambda w: w.update(free=[]),
        lambda w: w["free"].append(w["free"][0]),
        lambda w: w["free"][0].pop("alpha"),
        lambda w: w["free"][0].pop("step"),
        lambda w: w["free"][0].pop("join"),
        lambda w: w["free"][0].update(kappa=0.1),
        lambda w: w["free"][0]["share"].__setitem__(0, 1.5),
        lambda w: w["free"][0].update(ceiling=1.0),
        lambda w: w["free"][0].update(alpha=-1.0),
        lambda w: w["free"][0].update(alpha=1.7e308),
        lambda w: w["free"][0].update(alpha=10**400),
        lambda w: w["free"][0]["share"].append(0.0),
        lambda w: w["free"][0]["join"].pop(),
        lambda w: w.update(x0=0),
        lambda w: w.update(swap=True),
        lambda w: w.update(member="3-rr"),
        lambda w: w.update(analysis="blanket"),
    ],
)
def test_other_shapes_of_the_witness_are_refused(tmp_path, edit):
    content = certificate(tmp_path, "rappor")
    edit(upper(content)["witness"])
    assert caught(outcome(resigned(content), tmp_path / "c.json"))


def test_free_numbers_are_of_label_stealing_alone(tmp_path):
    content = certificate(tmp_path, "rappor")
    lower = of_round(content, 0)[1]
    lower["witness"]["free"] = upper(content)["witness"]["free"]
    assert caught(outcome(resigned(content), tmp_path / "c.json"))


@pytest.mark.long
def test_rounds_without_a_curve_use_it_by_basic_composition(tmp_path):
    content = certificate(tmp_path, "channel", more="rounds = 2\n")
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content))
    found = verify(path)
    assert all(check.verdict == "holds" for check in found), found


def test_an_adaptive_family_cannot_rest_on_it(tmp_path):
    content = certificate(tmp_path, "generic")
    forged = copy.deepcopy(content)
    forged["deployment"]["content"]["randomizer"]["adaptive"] = True
    assert caught(outcome(resigned(forged), tmp_path / "c.json"))
