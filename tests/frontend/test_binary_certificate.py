"""Certificates of one-bit reports: all data sets searched again in balls, forgeries seen."""

import copy
from fractions import Fraction

import pytest

from bounds import exact_bits as exact
from frontend.edits import caught, outcome, resigned
from frontend.parts import of_round, of_rounds
from frontend.searches import certificate_of, ends, honest_is_verified_and_better_is_not
from laws import bits_of
from shuffledp.certificate.curves import AllDataSets

KINDS = {
    "binary-rr": "eps0 = 3.0",
    "duchi": "eps0 = 1.3\nlow = -2.0\nhigh = 5.0",
    "k-rr": "k = 2\neps0 = 4.0",
    "channel": "matrix = [[0.8, 0.2], [0.35, 0.65], [0.5, 0.5]]",
    "extremal": "pattern = [[1, 0], [0, 1], [1, 0]]\neps0 = 2.0",
}
USERS = 400


def certificate(folder, name, target="delta = 1e-6", more=""):
    return certificate_of(folder, name, KINDS[name], users=USERS, target=target, more=more)


@pytest.mark.many(4)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("target", ["delta = 1e-6", "epsilon = 0.3"])
def test_honest_ends_are_verified_and_better_ones_not(tmp_path, name, target):
    content = certificate(tmp_path, name, target)
    upper, lower = ends(content)
    assert upper["witness"]["analysis"] == "binary-exact"
    # Where all others alike are the worst, "dataset" says the same.
    assert lower["witness"]["analysis"] in {"binary-exact-lower", "dataset"}
    assert lower["value"] > 0.9999 * upper["value"]
    honest_is_verified_and_better_is_not(content, tmp_path / "c.json", change=1e-4)


@pytest.mark.long
def test_the_data_set_edited(tmp_path):
    content = certificate(tmp_path, "channel")
    witness = ends(content)[1]["witness"]
    assert witness["analysis"] == "binary-exact-lower"
    assert sum(count for _, count in witness["others"]) == USERS - 1
    (first, some), (second, rest) = witness["others"]
    edits = [
        {"others": [[first, some + 1], [second, rest]]},
        {"others": [[first, some], [2, rest]]},
        {"others": [[first, rest], [second, some]]},
        {"others": None},
        {"x0": witness["x1"], "x1": witness["x0"]},
        {"x0": witness["x1"]},
        {"x1": 2},
        {"swap": True},
        {"pairs": [[0, 1]]},
        {"analysis": "dataset", "x2": 0, "others": None},
        {"analysis": "binary-exact"},
    ]
    for edit in edits:
        forged = copy.deepcopy(content)
        changed = ends(forged)[1]["witness"]
        changed.update(edit)
        if changed.get("others") is None:
            del changed["others"]
        assert caught(outcome(resigned(forged), tmp_path / "c.json")), edit
    forged = copy.deepcopy(content)
    ends(forged)[0]["witness"]["others"] = witness["others"]
    assert caught(outcome(resigned(forged), tmp_path / "c.json"))


def test_published_leaves_the_upper_end_out(tmp_path):
    content = certificate(tmp_path, "binary-rr")
    claims = of_round(content, 0)
    assert [c["trust"] for c in claims] == ["all", "all", "published"]
    assert claims[2]["witness"]["analysis"] == "blanket"
    forged = copy.deepcopy(content)
    of_round(forged, 0)[2].update({**claims[0], "trust": "published"})
    assert caught(outcome(resigned(forged), tmp_path / "c.json"))


@pytest.mark.long
@pytest.mark.parametrize("forged", ["binary-exact-lower", "binary-exact"])
def test_rounds_rest_on_the_supremum_above_alone(tmp_path, forged):
    """Below, one data set is kept in all rounds: a search's best of one round says nothing."""
    content = certificate(tmp_path, "binary-rr", more="rounds = 3\n")
    composed = of_rounds(content, 0)
    best = composed[0]
    (lower,) = (claim for claim in composed if claim["end"] == "lower")
    assert (best["end"], best["witness"]["analysis"]) == ("upper", "binary-exact")
    assert lower["witness"]["analysis"] == "dataset"
    lower["witness"]["analysis"] = forged
    assert caught(outcome(resigned(content), tmp_path / "c.json"))


def test_balls_agree_with_sixty_digits():
    shares = (Fraction(1, 8), Fraction(5, 8))
    matrix = [[float(1 - x), float(x)] for x in shares]
    for n, high, epsilon in ((1, 0, 0.3), (6, 2, 0.0), (30, 29, 0.7), (55, 20, 0.2)):
        law = exact.ones_law([shares[1]] * high + [shares[0]] * (n - 1 - high))
        for x0, x1 in ((0, 1), (1, 0)):
            bits = bits_of({"name": "channel", "matrix": matrix})
            held = (x0, high if x0 == 1 else n - 1 - high)
            found = AllDataSets(bits, n, "", held=held).bracket(swap=False)(epsilon, 0.0)
            log = exact.log(exact.divergence(shares[x0], shares[x1], law, epsilon))
            assert found[0] <= log <= found[1] <= found[0] + 1e-14 * abs(found[0])
