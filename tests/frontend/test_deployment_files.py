"""Deployment and plan files: what is written comes back, and what `run` refuses `account` does."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.deployment.files import tomllib
from shuffledp.deployment.text import deployment_text, given_only

TABLES = {
    "title": "t",
    "population": {"users": 1000, "colluding": 0.1},
    "target": {"delta": 1e-6, "at_most": 1.0},
}


def written(title, source):
    return deployment_text({**TABLES, "title": title, "randomizer": source.to_dict()})


LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)


@given(title=LINES.filter(lambda s: bool(s.strip())))
@settings(max_examples=200, deadline=None)
def test_titles_come_back_whatever_their_letters(title):
    """Above U+FFFF a letter has five digits or more: U+1F600 was read as U+1F60 and a 0."""
    assert tomllib.loads(written(title, sd.KRR(k=5, eps0=2.0)))["title"] == title


@pytest.mark.parametrize(
    "source",
    [
        sd.KRR(k=5, eps0=2.0),
        sd.Staircase(eps0=1.0),
        sd.Joint([sd.KRR(k=3, eps0=0.1), sd.BinaryRR(eps0=1e-9)], hamming=1),
        sd.Parallel([sd.OLH(domain=4, eps0=1.0), sd.BinaryRR(eps0=1.0)], weights=[0.3, 0.7]),
        sd.Channel(matrix=[[0.1, 0.9], [1 / 3, 2 / 3]]),
    ],
)
def test_mechanisms_come_back(source):
    found = tomllib.loads(written("\U0001f600", source))
    assert found["randomizer"] == json.loads(json.dumps(given_only(source.to_dict())))
    assert found["title"] == "\U0001f600"
