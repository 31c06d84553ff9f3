"""Certificates whose upper end rests on one distinguished gain: verified, forged, edited."""

import copy
import json
import math

import pytest

from frontend.edits import caught, outcome, remember, resigned
from frontend.parts import of_round
from laws import log_delta_stealing
from shuffledp.certificate import issue, to_dict
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, load

TEXT = """title = "t"
[population]
users = 10_000
[randomizer]
name = "gaussian"
sigma = 0.7
[target]
delta = 1e-6
[accounting]
rtol = 1e-5
"""


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """An honest certificate, and the file it is of."""
    source = tmp_path_factory.mktemp("alone") / "deployment.toml"
    source.write_text(TEXT)
    found = load(source)
    return to_dict(issue(found, account(found.deployment)))


@pytest.fixture(scope="module", autouse=True)
def _balls_once():
    """Most of an edited certificate is as it was."""
    with pytest.MonkeyPatch.context() as patch:
        remember(patch)
        yield


def upper(content):
    return of_round(content, 0)[0]


@pytest.mark.long
def test_an_honest_end_is_verified_and_is_the_sharp_one(content, tmp_path):
    claim = upper(content)
    assert claim["theorem"][0] == claim["witness"]["analysis"] == "lone-jump"
    low = of_round(content, 0)[1]["value"]
    assert low < claim["value"] <= 1.012 * low
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content))
    checks = verify(path)
    assert all(check.verdict == "holds" for check in checks), checks
    assert any("lone-jump, its free numbers" in check.how for check in checks)


@pytest.mark.long
def test_an_end_below_what_is_proved_is_refused(content, tmp_path):
    forged = copy.deepcopy(content)
    upper(forged)["value"] *= 0.98
    found = outcome(resigned(forged), tmp_path / "c.json")
    assert any(c.verdict == "does not hold" and "lone-jump" in c.how for c in found)


@pytest.mark.long
@pytest.mark.parametrize("key", ["share", "join", "alpha", "smoothing", "step", "ceiling"])
def test_each_number_edited(content, tmp_path, key):
    """The end stands where the bound with the edited numbers is no larger than claimed."""
    mechanism = content["deployment"]["content"]["randomizer"]
    new = copy.deepcopy(content)
    (free,) = upper(new)["witness"]["free"]
    free[key] = [1.5 * x for x in free[key]] if isinstance(free[key], list) else 1.5 * free[key]
    found = outcome(resigned(new), tmp_path / "c.json")
    value = log_delta_stealing(
        mechanism, [free], n=10_000, epsilon=upper(new)["value"], guess=math.log(1e-6), jump=True
    )
    assert caught(found) == (value > math.log(1e-6))


@pytest.mark.long
@pytest.mark.parametrize(
    "edit",
    [
        lambda w: w.pop("free"),
        lambda w: w.update(free=[]),
        lambda w: w.update(free=[*w["free"], *w["free"]]),
        lambda w: w["free"][0].pop("alpha"),
        lambda w: w["free"][0].pop("ceiling"),
        lambda w: w["free"][0].update(extra=1.0),
        lambda w: w["free"][0].update(share=[0.1, 0.1]),
        lambda w: w.update(x0=0),
        lambda w: w.update(swap=True),
        lambda w: w.update(analysis="label-stealing"),
        lambda w: w.update(analysis="blanket"),
    ],
)
def test_other_shapes_of_the_witness_are_refused(content, tmp_path, edit):
    new = copy.deepcopy(content)
    edit(upper(new)["witness"])
    assert caught(outcome(resigned(new), tmp_path / "c.json"))
