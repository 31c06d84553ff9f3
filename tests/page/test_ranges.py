"""Without the classes the same tables of mechanisms are taken, and no other."""

import copy
import json

import pytest

from frontend.edits import edits
from shuffledp.cli.mechanisms import source_from_dict
from shuffledp.deployment import mechanisms
from shuffledp.errors import ShuffleDPError
from shuffledp.page.browser import mechanisms as stand_in
from shuffledp.page.form import catalogue, question

KNOWN = stand_in.mechanism_names()
ODD = [
    *(
        -1,
        0,
        1,
        2,
        3,
        9,
        10**9 + 1,
        10**16,
        10**400,
        -0.0,
        1e-320,
        1e-3,
        0.5,
        1.0,
        1.5,
        31.0,
        301.0,
    ),
    *(1e15, 1e101, True, False, None, "", "x", "k-rr", [], [1.0], [0.5, 0.5], [[1.0]], {}, [[]]),
    *([[0, 1], [1, 0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0], [1.0]], {"name": "k-rr"}, [{}]),
    {"name": "generic", "eps0": 1.0, "adaptive": False},
    {"name": "pure-dump", "d": 4, "blankets": 3, "rate": 1.0},
]


def table(name):
    """What a certificate says of it, with what the page begins with."""
    (entry,) = (found for found in catalogue()["mechanisms"] if found["name"] == name)
    fields = {p["key"]: p["start"] for p in entry["parameters"] if p["required"]}
    asked = question({"mechanism": name, **fields, "n": "10", "delta": "1e-3"})
    found = mechanisms.described(source_from_dict(asked.description).to_dict())
    return json.loads(json.dumps(found))


def taken(module, value):
    """Whether the table is taken, and as it is."""
    try:
        found = module.described(copy.deepcopy(value))
    except ShuffleDPError:
        return False
    return json.dumps(found) == json.dumps(value)


def whole(value):
    return isinstance(value, dict) and isinstance(value.get("name"), str)


@pytest.mark.parametrize("name", KNOWN)
def test_the_same_tables_are_taken(name):
    good = table(name)
    assert taken(mechanisms, good)
    assert taken(stand_in, good)
    changes = 0
    for path, what, changed in edits(good):
        if whole(changed) and changed["name"] in KNOWN:
            changes += 1
            assert taken(stand_in, changed) == taken(mechanisms, changed), (path, what)
    assert changes


@pytest.mark.parametrize("name", KNOWN)
def test_nothing_odd_is_taken_that_the_class_refuses(name):
    good = table(name)
    for key in good:
        for other in ODD if key != "name" else ():
            changed = {**good, key: other}
            assert taken(mechanisms, changed) or not taken(stand_in, changed), (key, other)
