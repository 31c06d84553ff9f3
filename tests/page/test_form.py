"""The form knows what the command line knows: no list of its own, no other words."""

import inspect
import json

import pytest

import shuffledp as sd
from shuffledp.accounts.sources import source_from_dict
from shuffledp.cli.text import bound_text
from shuffledp.deployment.files import parse, tomllib
from shuffledp.mechanism.base import mechanism_class
from shuffledp.mechanism.parameters import parameters_of
from shuffledp.page.form import catalogue, question
from shuffledp.page.work import MOST_POINTS, reply

NAMES = [*sd.randomizer_names(), *sd.protocol_names()]
BASE = {"n": "1000", "delta": "1e-6"}


def entry(name):
    return next(found for found in catalogue()["mechanisms"] if found["name"] == name)


def test_every_mechanism_and_every_parameter_is_there():
    assert [found["name"] for found in catalogue()["mechanisms"]] == [*NAMES, "generic"]
    for name in NAMES:
        known = parameters_of(mechanism_class(name))
        shown = {p["key"]: p for p in entry(name)["parameters"]}
        assert list(shown) == [one.name for one in known]
        for key, _, default, _, _ in known:
            assert shown[key]["required"] is (default is inspect.Parameter.empty)
            assert shown[key]["help"]
            if shown[key]["default"]:
                assert shown[key]["default"] == str(default)
    json.dumps(catalogue(), allow_nan=False)


@pytest.mark.parametrize("name", [*NAMES, "generic"])
def test_what_the_page_begins_with_is_a_mechanism(name):
    fields = {p["key"]: p["start"] for p in entry(name)["parameters"] if p["required"]}
    assert all(fields.values()), fields
    found = question({"mechanism": name, **fields, **BASE})
    assert source_from_dict(found.asked.description).to_dict()["name"] == name


def test_what_is_missing_odd_or_unknown_is_named():
    full = {"mechanism": "k-rr", "k": "4", "eps0": "1", **BASE}
    for change, words in (
        ({"mechanism": ""}, "mechanism is missing"),
        ({"mechanism": "rrr"}, "mechanism = 'rrr': wanted a mechanism such as k-rr"),
        ({"k": ""}, "Missing option '--k'"),
        ({"k": "four"}, "k = 'four': wanted a whole number"),
        ({"n": ""}, "n is missing"),
        ({"delta": "small"}, "delta = 'small': wanted a number"),
        ({"rounds": "0"}, "rounds = 0: wanted a whole number from 1"),
        ({"trust": "me"}, "trust = 'me': wanted one of all, published"),
        ({"sigma": "1"}, "sigma = '1': wanted no such field"),
        ({"points": str(MOST_POINTS + 1)}, "points = 62: wanted a whole number from 2"),
    ):
        status, body = reply("curve", full | change)
        assert status == 400
        assert words in body["error"]
        assert "\n" not in body["error"]


def test_sums_are_what_the_command_line_says():
    full = {"mechanism": "rappor", "d": "8", "eps0": "2", "n": "40", "delta": "1e-3"}
    summed = full | {"view": "sums", "relation": "replace-special"}
    view = sd.shuffle(sd.RAPPOR(d=8, eps0=2.0), 40, view="sums", relation="replace-special")
    found = reply("epsilon", summed)[1]
    assert found["view"] == "sums"
    assert bound_text(view.epsilon(delta=1e-3)) == found["text"]
    assert found["command"].endswith("--view sums --relation replace-special")
    assert "sum of each coordinate" in found["text"]
    written = parse(tomllib.loads(reply("deployment", summed)[1]["toml"]), where="page")
    assert (written.view, written.ones, written.relation) == ("sums", 1, "replace-special")
    assert reply("epsilon", full)[1]["view"] == "messages"
