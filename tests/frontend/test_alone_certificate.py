"""Certificates whose upper end rests on one distinguished gain: verified, forged, edited."""

import copy
import json
import math

import pytest

from frontend.edits import caught, outcome, remember, resigned
from shuffledp.ball.alone import log_delta_alone
from shuffledp.certificate import decide, issue, to_dict
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
    return content["scenarios"][0]["claims"][0]


@pytest.mark.long
def test_an_honest_end_is_verified_and_is_the_sharp_one(content, tmp_path):
    claim = upper(content)
    assert claim["theorem"]["key"] == claim["witness"]["analysis"] == "lone-jump"
    low = content["scenarios"][0]["claims"][1]["value"]
    assert low < claim["value"] <= 1.012 * low
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content))
    checks = verify(path)
    assert all(check.verdict == "holds" for check in checks), checks
    assert any("lone-jump, its free numbers" in check.how for check in checks)


@pytest.mark.long
@pytest.mark.parametrize(("more", "calls"), [(0.005, 2), (0.02, 1)])
def test_what_is_little_above_is_looked_at_in_finer_cells(
    content, tmp_path, monkeypatch, more, calls
):
    asked = []

    def worse(*args, finer, **kwargs):
        asked.append(finer)
        return log_delta_alone(*args, finer=finer, **kwargs) + (more if finer == 1 else 0.0)

    monkeypatch.setattr(decide, "log_delta_alone", worse)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content))
    verdicts = {check.verdict for check in verify(path)}
    assert asked == [1, 2][:calls]
    assert verdicts == ({"holds"} if calls == 2 else {"holds", "does not hold"})


@pytest.mark.long
def test_an_end_below_what_is_proved_is_refused(content, tmp_path):
    forged = copy.deepcopy(content)
    upper(forged)["value"] *= 0.98
    found = outcome(resigned(forged), tmp_path / "c.json")
    assert any(c.verdict == "does not hold" and "lone-jump" in c.how for c in found)


@pytest.mark.long
@pytest.mark.parametrize("key", ["kappa", "theta", "start", "alpha", "ceiling", "floor", "smooth"])
def test_each_number_edited(content, tmp_path, key):
    """The end stands where the bound with the edited numbers is no larger than claimed."""
    mechanism = content["deployment"]["content"]["randomizer"]
    new = copy.deepcopy(content)
    upper(new)["witness"]["alone"][key] *= 1.5
    found = outcome(resigned(new), tmp_path / "c.json")
    value = min(
        log_delta_alone(
            mechanism, upper(new)["witness"]["alone"], n=10_000, epsilon=upper(new)["value"],
            guess=math.log(1e-6), finer=finer,
        )
        for finer in (1, 2)
    )  # fmt: skip
    assert caught(found) == (value > math.log(1e-6))


@pytest.mark.long
@pytest.mark.parametrize(
    "edit",
    [
        lambda w: w.pop("alone"),
        lambda w: w.update(free=[]),
        lambda w: w["alone"].pop("alpha"),
        lambda w: w["alone"].update(extra=1.0),
        lambda w: w["alone"].update(forward=[]),
        lambda w: w["alone"]["second"].pop(),
        lambda w: w["alone"]["first"].insert(1, 0.0),
        lambda w: w["alone"].pop("others"),
        lambda w: w.update(pairs=[[1.0, 0.0]]),
        lambda w: w.update(pairs="all"),
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
