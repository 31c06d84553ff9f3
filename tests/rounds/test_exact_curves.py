"""Rounds from the largest divergence of all data sets itself: valid, sharp, and verified."""

import itertools
import json
import math
import pickle

import numpy as np
import pytest

import shuffledp as sd
from frontend.parts import of_rounds
from shuffledp.amplification.analyses import analysis_named
from shuffledp.certificate import checksum, issue, to_json
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, load
from shuffledp.deployment.rounds import after_rounds
from shuffledp.rounds import compose

ROWS = ((0.6, 0.4), (0.2, 0.8), (0.3, 0.7))
TELLING = ((1.0, 0.0), (0.3, 0.7))


def histograms(rows, inputs):
    """The law of the multiset of reports of users with these inputs, by enumeration."""
    found = {}
    for reports in itertools.product(range(len(rows[0])), repeat=len(inputs)):
        key = tuple(sorted(reports))
        chance = math.prod(rows[x][y] for x, y in zip(inputs, reports, strict=True))
        found[key] = found.get(key, 0.0) + chance
    return found


def neighbours(rows, n):
    """Laws of both data sets, of every ordered pair of neighbours among n users."""
    inputs = range(len(rows))
    for others in itertools.combinations_with_replacement(inputs, n - 1):
        laws = [histograms(rows, (x, *others)) for x in inputs]
        keys = sorted(set().union(*laws))
        arrays = [np.array([law.get(key, 0.0) for key in keys]) for law in laws]
        yield from itertools.permutations(arrays, 2)


def twice(rows, n, epsilon):
    """delta of two rounds, the second's data sets chosen after each output of the first."""
    pairs = list(neighbours(rows, n))
    worst, a = 0.0, math.exp(epsilon)
    for p, q in pairs:
        total = 0.0
        for one, other in zip(p, q, strict=True):
            total += max(np.maximum(one * u - a * other * v, 0.0).sum() for u, v in pairs)
        worst = max(worst, total)
    return worst


def krr(k, eps0):
    rest = 1.0 / (math.exp(eps0) + k - 1)
    return [[rest * (math.exp(eps0) if x == y else 1.0) for y in range(k)] for x in range(k)]


CASES = {
    "binary-rr": (sd.BinaryRR(eps0=1.5), krr(2, 1.5), 5),
    "channel": (sd.Channel(matrix=ROWS), ROWS, 3),
    "telling": (sd.Channel(matrix=TELLING), TELLING, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_two_adaptive_rounds_of_all_data_sets(name):
    """1e-12 is far above the rounding of the enumeration's sums."""
    randomizer, rows, n = CASES[name]
    one = sd.shuffle(randomizer, n=n)
    side = analysis_named("binary-exact").make(one.source, n)
    curve = side.exact()
    if name == "telling":
        # At large eps its search says nothing, and what is left of delta there is a floor.
        assert curve is None
        return
    assert curve is not None
    for epsilon in (0.0, 0.4):
        single = max(
            float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in neighbours(rows, n)
        )
        found = curve.log_delta(epsilon, width=1e-6)
        assert math.exp(found.low) <= single * (1.0 + 1e-12)
        assert single * (1.0 - 1e-12) <= math.exp(found.high) <= single * 1.0001
        worst = twice(rows, n, epsilon)
        for bound in (
            one.compose(rounds=2).delta(epsilon=epsilon),
            after_rounds(one, rounds=2, quantity="delta", value=epsilon),
        ):
            assert bound.lower <= worst * (1.0 + 1e-12)
            assert worst * (1.0 - 1e-12) <= bound.upper <= 1.2 * worst


@pytest.mark.parametrize("epsilon", [0.005, 0.02, 0.05])
def test_wide_brackets_of_many_users_hold_what_narrow_ones_find(epsilon):
    """The worst number of others with one value is not met by a search that stops early."""
    one = sd.shuffle(sd.BinaryRR(eps0=5.0), n=10_000)
    curve = analysis_named("binary-exact").make(one.source, one.n).exact()
    wide, narrow = (curve.log_delta(epsilon, width=width) for width in (1e-2, 1e-5))
    assert wide.low < narrow.low <= wide.high
    assert wide.low <= narrow.high <= narrow.low + 1e-5


@pytest.mark.parametrize(
    ("randomizer", "n", "rounds", "key", "gap"),
    [
        pytest.param(
            sd.BinaryRR(eps0=3.0), 1000, 10, "binary-exact", 0.005, marks=pytest.mark.long
        ),
        (sd.Duchi(eps0=0.3), 20, 100, "binary-exact", 0.022),
        pytest.param(
            sd.BinaryRR(eps0=5.0), 2000, 20, "binary-exact", 0.017, marks=pytest.mark.long
        ),
    ],
)
def test_both_ends_are_near_and_say_what_they_rest_on(randomizer, n, rounds, key, gap):
    bound = sd.shuffle(randomizer, n=n).compose(rounds=rounds).epsilon(delta=1e-6)
    assert 0.0 < bound.lower <= bound.upper <= (1.0 + gap) * bound.lower
    assert bound.upper_theorem is not None
    assert bound.upper_theorem.key == key
    assert "composition" in bound.upper_theorem.title
    assert not any("one round" in words for words in bound.assumptions)


def test_where_all_data_sets_are_too_many_pairs_and_labels_do():
    part = sd.shuffle(sd.BinaryRR(eps0=1.0), n=100_000).as_round()
    assert part.sharper is not None
    assert part.upper_theorem is not None
    assert part.upper_theorem.key == "label-stealing"


@pytest.mark.parametrize("name", CASES)
def test_rounds_of_them_are_values(name):
    randomizer, _, n = CASES[name]
    part = sd.shuffle(randomizer, n=n).as_round()
    again = pickle.loads(pickle.dumps(part))
    assert again == part
    here, there = (compose([(one, 3)]).delta(epsilon=0.3) for one in (part, again))
    assert (here.lower, here.upper) == (there.lower, there.upper)


# ------------------------------------------------------------------------------ certificates

TABLES = {
    "binary-exact": ('name = "binary-rr"\neps0 = 3.0', 60),
}


def certified(folder, key):
    table, users = TABLES[key]
    source = folder / "deployment.toml"
    source.write_text(
        f'title = "t"\n[population]\nusers = {users}\n[randomizer]\n{table}\n'
        "[target]\ndelta = 1e-3\n[accounting]\nrounds = 4\n"
    )
    deployment = load(source)
    path = folder / "certificate.json"
    path.write_text(to_json(issue(deployment, account(deployment.deployment))))
    return path


def upper(content):
    return next(c for c in of_rounds(content, 0) if c["end"] == "upper")


def verdicts(folder, content):
    content["checksum"] = checksum(content)
    path = folder / "changed.json"
    path.write_text(json.dumps(content))
    found = verify(path)
    return {
        c.verdict
        for c in found
        if c.scenario == "now" and c.claim.startswith("upper") and c.claim.endswith("rounds")
    }


@pytest.mark.parametrize("key", TABLES)
def test_certificates_of_rounds_hold_and_values_below_the_curve_do_not(tmp_path, key):
    path = certified(tmp_path, key)
    assert [c for c in verify(path) if c.verdict != "holds"] == []
    honest = json.loads(path.read_text())
    witness = upper(honest)["witness"]
    assert witness["analysis"] == key
    assert "frees" not in witness
    for place in (0, len(witness["values"]) // 2):
        changed = json.loads(path.read_text())
        upper(changed)["witness"]["values"][place] *= 0.999
        assert "holds" not in verdicts(tmp_path, changed), place
    better = json.loads(path.read_text())
    upper(better)["value"] *= 0.98
    assert verdicts(tmp_path, better) == {"does not hold"}


@pytest.mark.parametrize("key", TABLES)
def test_certificates_of_rounds_name_the_analysis_that_was_searched(tmp_path, key):
    """The blanket's values are larger: as its own these numbers do not hold."""
    changed = json.loads(certified(tmp_path, key).read_text())
    upper(changed)["witness"]["analysis"] = "blanket"
    assert verdicts(tmp_path, changed) == {"does not hold"}


@pytest.mark.parametrize("n", [4, 40, 400])
def test_lower_ends_of_outputs_that_tell_the_value_stay(n):
    """Their delta does not fall below a floor: a certificate's lower end was lost."""
    one = sd.shuffle(sd.Channel(matrix=TELLING), n=n)
    stated = after_rounds(one, rounds=2, quantity="delta", value=0.5)
    assert 0.75 < stated.lower <= stated.upper
    bound = one.compose(rounds=2).delta(epsilon=0.5)
    assert 0.9 < bound.upper < 0.95


def test_published_ends_are_not_below_those_of_all_theorems():
    """Of two exact curves the one of narrower values."""
    randomizer = sd.Channel(matrix=((0.9, 0.1), (0.3, 0.7), (0.5, 0.5)))
    ends = [
        sd.shuffle(randomizer, n=4, trust=trust).compose(rounds=2).epsilon(delta=1e-3)
        for trust in ("all", "published")
    ]
    assert ends[0].upper <= ends[1].upper * (1.0 + 1e-9)
    assert ends[0].lower >= ends[1].lower * (1.0 - 1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("quantity", "value"), [("epsilon", 1e-3), ("delta", 0.5)])
def test_rounds_of_a_mechanism_that_says_nothing(quantity, value):
    """Its eps0 is 0: places of the lattice are closer than a rounding of e^eps."""
    one = sd.shuffle(sd.Channel(matrix=[[0.3, 0.7], [0.3, 0.7]]), n=3)
    bound = after_rounds(one, rounds=2, quantity=quantity, value=value)
    assert bound.lower <= bound.upper <= 1e-9
