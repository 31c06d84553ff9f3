"""The neighbouring relation of every mechanism and composition: its value, its form, its words."""

import json

import pytest

import shuffledp as sd
from shuffledp.neighbours import (
    REPLACEMENT,
    AddOrRemove,
    EachRound,
    Records,
    ReplaceSpecial,
    Within,
    each_round,
    records,
    relation_from_dict,
)

RELATIONS = [
    REPLACEMENT,
    AddOrRemove(),
    ReplaceSpecial(),
    Within(0.1),
    Within(2.0, of="vector"),
    Records((REPLACEMENT,) * 3, 1),
    Records((Within(0.25), REPLACEMENT, Records((REPLACEMENT,) * 2, 1)), 2),
    EachRound((("k-rr", REPLACEMENT), ("metric-laplace", Within(1e-9)))),
]


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_form_in_files_and_back(relation):
    assert relation_from_dict(json.loads(json.dumps(relation.to_dict()))) == relation
    assert hash(relation) == hash(relation_from_dict(relation.to_dict()))
    assert relation.words in relation.sentence


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "key"),
        ({"key": "any"}, "relation = 'any'"),
        ({"key": "replace-one", "distance": 1.0}, "exactly the entries key"),
        ({"key": "within-distance", "distance": 1.0}, "exactly the entries distance, key, of"),
        ({"key": "within-distance", "distance": -1.0, "of": "value"}, "distance = -1"),
        ({"key": "records", "most": 3, "parts": [{"key": "replace-one"}]}, "most = 3"),
        ({"key": "records", "most": 1, "parts": []}, "parts"),
    ],
)
def test_other_forms_are_refused(given, message):
    with pytest.raises(sd.ParameterError, match=message):
        relation_from_dict(given)


def test_words_say_no_more_than_the_number():
    """A distance that is printed with fewer digits would be another, perhaps a larger one."""
    assert "0.12345678901" in Within(0.12345678901).words
    assert "at most 0.3 " not in Within(0.1 + 0.2).words + " "


def test_whole_domains_are_replacement():
    assert records([REPLACEMENT, REPLACEMENT]) == REPLACEMENT
    assert records([REPLACEMENT, REPLACEMENT], most=2) == REPLACEMENT
    assert sd.Joint([sd.BinaryRR(eps0=1.0)] * 2, hamming=2).relation == REPLACEMENT
    assert sd.MetricLaplace(scale=1.0).relation == REPLACEMENT
    assert sd.LaplaceBall(d=2, scale=1.0).relation == REPLACEMENT
    assert each_round([("a", REPLACEMENT), ("b", REPLACEMENT)]) == REPLACEMENT
    with pytest.raises(sd.ParameterError, match="same neighbouring relation"):
        each_round([("a", REPLACEMENT), ("b", AddOrRemove())])
