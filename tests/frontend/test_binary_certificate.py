"""Certificates of one-bit reports: all data sets searched again in balls, forgeries seen."""

import copy
from fractions import Fraction

import pytest

from bounds import exact_bits as exact
from frontend.edits import caught, outcome, resigned
from frontend.searches import certificate_of, ends, honest_is_verified_and_better_is_not
from shuffledp.certificate.one_bit import holds_for_all, log_delta_others
from shuffledp.errors import NotCertified, ParameterError

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
        if changed["others"] is None:
            del changed["others"]
        assert caught(outcome(resigned(forged), tmp_path / "c.json")), edit
    forged = copy.deepcopy(content)
    ends(forged)[0]["witness"]["others"] = witness["others"]
    assert caught(outcome(resigned(forged), tmp_path / "c.json"))


def test_published_leaves_the_upper_end_out(tmp_path):
    content = certificate(tmp_path, "binary-rr")
    claims = content["scenarios"][0]["claims"]
    assert [c["trust"] for c in claims] == ["all", "all", "published"]
    assert claims[2]["witness"]["analysis"] == "blanket"
    forged = copy.deepcopy(content)
    forged["scenarios"][0]["claims"][2] = {**claims[0], "trust": "published"}
    assert caught(outcome(resigned(forged), tmp_path / "c.json"))


@pytest.mark.long
@pytest.mark.parametrize("forged", ["binary-exact-lower", "binary-exact"])
def test_rounds_rest_on_the_supremum_above_alone(tmp_path, forged):
    """Below, one data set is kept in all rounds: a search's best of one round says nothing."""
    content = certificate(tmp_path, "binary-rr", more="rounds = 3\n")
    composed = content["scenarios"][0]["composed"]
    best = composed[0]
    (lower,) = (claim for claim in composed if claim["end"] == "lower")
    assert (best["end"], best["witness"]["analysis"]) == ("upper", "binary-exact")
    assert lower["witness"]["analysis"] == "dataset"
    lower["witness"]["analysis"] = forged
    assert caught(outcome(resigned(content), tmp_path / "c.json"))


def test_balls_refuse_what_they_do_not_know():
    rappor = {"name": "rappor", "d": 2, "eps0": 1.0}
    with pytest.raises(NotCertified, match="one-bit"):
        holds_for_all(rappor, n=10, epsilon=0.1, log_claimed=-1.0)
    bits = {"name": "binary-rr", "eps0": 1.0}
    for others in ([(0, 3), (1, 3)], [(0, 9)], [(0, -1), (1, 10)], [(0, 4), (2, 5)]):
        with pytest.raises(ParameterError):
            log_delta_others(bits, x0=0, x1=1, others=others, n=10, epsilon=0.1)


def test_balls_agree_with_sixty_digits():
    shares = (Fraction(1, 8), Fraction(5, 8))
    matrix = [[float(1 - x), float(x)] for x in shares]
    for n, high, epsilon in ((1, 0, 0.3), (6, 2, 0.0), (30, 29, 0.7), (55, 20, 0.2)):
        law = exact.ones_law([shares[1]] * high + [shares[0]] * (n - 1 - high))
        for x0, x1 in ((0, 1), (1, 0)):
            found = log_delta_others(
                {"name": "channel", "matrix": matrix},
                x0=x0,
                x1=x1,
                others=[(1, high), (0, n - 1 - high)],
                n=n,
                epsilon=epsilon,
            )
            log = exact.log(exact.divergence(shares[x0], shares[x1], law, epsilon))
            assert found[0] <= log <= found[1] <= found[0] + 1e-14 * abs(found[0])
