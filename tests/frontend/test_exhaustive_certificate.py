"""Certificates of few users: every data set enumerated again in balls, forgeries seen."""

import copy
import itertools
import math
import random
from decimal import Decimal

import pytest

from exhaustive import every
from exhaustive.test_exhaustive import log, random_rows, whole
from frontend.edits import caught, outcome, resigned
from frontend.searches import certificate_of, ends, honest_is_verified_and_better_is_not
from randomizers import definitions
from shuffledp.ball.exhaustive import (
    all_datasets_hold,
    finite_inputs,
    log_delta_of_datasets,
    written_fault,
)
from shuffledp.errors import NotCertified, ParameterError

KINDS = {
    "k-rr": "k = 3\neps0 = 2.0",
    "channel": "matrix = [[0.58, 0.21, 0.21], [0.2, 0.59, 0.21], [0.21, 0.21, 0.58]]",
    "subset": "d = 4\nk = 2\neps0 = 1.0",
    "rappor": "d = 2\neps0 = 1.5",
}
USERS = {"k-rr": 12, "channel": 5, "subset": 5, "rappor": 10}


def certificate(folder, name, target="delta = 1e-4", more=""):
    return certificate_of(folder, name, KINDS[name], users=USERS[name], target=target, more=more)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("target", ["delta = 1e-4", "epsilon = 0.3"])
def test_honest_ends_are_verified_and_better_ones_not(tmp_path, name, target):
    content = certificate(tmp_path, name, target)
    upper, lower = ends(content)
    assert upper["witness"] == {
        **dict.fromkeys(("x0", "x1", "x2", "pairs")),
        "analysis": "exhaustive",
        "swap": False,
    }
    assert upper["theorem"]["provenance"] == "published"
    assert lower["witness"]["analysis"] in {"exhaustive-lower", "dataset"}
    # An account's ends are moved apart by its rtol.
    assert lower["value"] > 0.9999 * upper["value"]
    honest_is_verified_and_better_is_not(content, tmp_path / "c.json", change=1e-3)


def test_the_data_set_edited(tmp_path):
    content = certificate(tmp_path, "channel", "epsilon = 0.6")
    witness = ends(content)[1]["witness"]
    assert witness["analysis"] == "exhaustive-lower"
    held = witness["others"]
    assert sum(count for _, count in held) == USERS["channel"] - 1
    assert len(held) > 1
    edits = [
        {"others": [[held[0][0], held[0][1] + 1], *held[1:]]},
        {"others": held[1:]},
        {"others": held[::-1]},
        {"others": [*held, [3, 0]]},
        {"others": [*held[:-1], [7, held[-1][1]]]},
        {"others": []},
        {"others": None},
        {"x0": witness["x1"], "x1": witness["x0"]},
        {"x0": witness["x1"]},
        {"x1": 3 - witness["x0"] - witness["x1"]},
        {"x1": 9},
        {"swap": True},
        {"pairs": [[0, 1]]},
        {"analysis": "binary-exact-lower"},
        {"analysis": "exhaustive"},
    ]
    for edit in edits:
        forged = copy.deepcopy(content)
        changed = ends(forged)[1]["witness"]
        changed.update(edit)
        if changed["others"] is None:
            del changed["others"]
        assert caught(outcome(resigned(forged), tmp_path / "c.json")), edit
    forged = copy.deepcopy(content)
    ends(forged)[0]["witness"]["others"] = held
    assert caught(outcome(resigned(forged), tmp_path / "c.json"))


def test_rounds_rest_on_it_and_on_no_other_search(tmp_path):
    content = certificate(tmp_path, "rappor", more="rounds = 3\n")
    claim = content["scenarios"][0]["composed"][0]
    assert claim["witness"]["analysis"] == "exhaustive"
    for other in ("binary-exact", "exhaustive-lower", "blanket"):
        forged = copy.deepcopy(content)
        forged["scenarios"][0]["composed"][0]["witness"]["analysis"] = other
        assert caught(outcome(resigned(forged), tmp_path / "c.json"))


def test_balls_refuse_what_they_do_not_know():
    with pytest.raises(NotCertified, match="finitely many"):
        all_datasets_hold({"name": "laplace"}, n=3, epsilon=0.1, log_claimed=-1.0)
    krr = {"name": "k-rr", "k": 4, "eps0": 1.0}
    with pytest.raises(NotCertified, match="too many"):
        all_datasets_hold(krr, n=200, epsilon=0.1, log_claimed=-1.0)
    with pytest.raises(NotCertified, match="3,000"):
        all_datasets_hold(krr, n=10**7, epsilon=0.1, log_claimed=-1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        all_datasets_hold(krr, n=3, epsilon=-0.1, log_claimed=-1.0)
    wrong = (
        [(0, 3), (1, 3)],
        [(1, 1), (0, 8)],
        [(0, 10), (1, -1)],
        [(0, 4), (5, 5)],
        [(2, 4), (3, 5)],
    )
    for others in wrong:
        with pytest.raises(ParameterError):
            log_delta_of_datasets(krr, x0=0, x1=1, others=others, n=10, epsilon=0.1)
    assert written_fault(krr, 0, 1, [(2, 5), (3, 4)]) == ""
    assert written_fault(krr, 0, 2, [(0, 9)])
    assert written_fault(krr, 0, 1, [(3, 9)])


def test_balls_agree_with_whole_numbers():
    """The largest of all data sets is between a claim that holds and one that does not."""
    kinds = {
        "k-rr": ({"k": 3, "eps0": 1.0}, whole(definitions.k_rr(3, 1.0)), 4),
        "rappor": ({"d": 2, "eps0": 2.0}, whole(definitions.rappor(2, 2.0)), 4),
        "subset": ({"d": 4, "k": 2, "eps0": 1.0}, whole(definitions.subset(4, 2, 1.0)), 3),
        "hadamard-response": ({"domain": 3, "eps0": 1.0}, whole(definitions.hadamard(3, 1.0)), 3),
        "oue": ({"d": 2, "eps0": 1.0}, whole(definitions.oue(2, 1.0)), 4),
        "binary-rr": ({"eps0": 1.0}, whole(definitions.binary_rr(1.0)), 6),
    }
    for name, (parameters, rows, n) in kinds.items():
        mechanism = {"name": name, **parameters}
        assert finite_inputs(mechanism)[0] == len(rows)
        exactly = every.largest(rows, n, 0.25)
        near = float(log(exactly))
        assert all_datasets_hold(mechanism, n=n, epsilon=0.25, log_claimed=near + 1e-12)[0]
        assert not all_datasets_hold(mechanism, n=n, epsilon=0.25, log_claimed=near - 1e-12)[0]


@pytest.mark.parametrize("seed", range(4))
def test_balls_of_one_data_set(seed):
    rng = random.Random(seed)
    rows = random_rows(rng, 3, 3 + seed % 2)
    mechanism = {"name": "channel", "matrix": [[entry / 1024 for entry in row] for row in rows]}
    for x0, x1 in itertools.permutations(range(3), 2):
        others = sorted(rng.randrange(3) for _ in range(4))
        held = [(x, others.count(x)) for x in sorted(set(others))]
        exactly = every.divergence(rows, x0, x1, others, 0.1)
        low, high = log_delta_of_datasets(mechanism, x0=x0, x1=x1, others=held, n=5, epsilon=0.1)
        if exactly > 0:
            assert Decimal(low) <= log(exactly) <= Decimal(high) <= Decimal(low) + Decimal("1e-13")
        else:
            assert low == -math.inf
