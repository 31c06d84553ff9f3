"""The neighbouring relation of every mechanism and composition: what is printed is what holds.

Ends are compared with all pairs of datasets that are neighbours by the relation as it is printed,
read from its form in files, whatever the class of the mechanism says.
"""

import itertools
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
import strategies
from adversary.channels import rows_of
from adversary.neighbours import Neighbours, powers
from adversary.relations import pairs_of, related, rounds_of
from adversary.test_all_neighbours import QUICK, bounds
from shuffledp.neighbours import (
    ADD_OR_REMOVE,
    REPLACE_SPECIAL,
    REPLACEMENT,
    each_round,
    of_group,
    records,
    together,
    within,
)

pytestmark = pytest.mark.usefixtures("rough_proposals")
RELATIONS = [
    REPLACEMENT,
    ADD_OR_REMOVE,
    REPLACE_SPECIAL,
    within(0.1),
    within(2.0, of="vector"),
    records((REPLACEMENT,) * 3, most=1),
    records((within(0.25), REPLACEMENT, records((REPLACEMENT,) * 2, most=1)), most=2),
    of_group(1, within(0.1)),
    together(2, of_group(0)),
    each_round((("k-rr", REPLACEMENT), ("metric-laplace", within(1e-9)))),
]


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_forms_in_files_tell_relations_apart(relation):
    form = json.loads(json.dumps(relation.to_dict()))
    same = [one for one in RELATIONS if json.loads(json.dumps(one.to_dict())) == form]
    assert same == [relation]
    assert relation.words in relation.sentence


def test_whole_domains_are_replacement():
    assert records([REPLACEMENT, REPLACEMENT]) == REPLACEMENT
    assert records([REPLACEMENT, REPLACEMENT], most=2) == REPLACEMENT
    assert sd.Joint([sd.BinaryRR(eps0=1.0)] * 2, hamming=2).relation == REPLACEMENT
    assert sd.MetricLaplace(scale=1.0).relation == REPLACEMENT
    assert sd.LaplaceBall(d=2, scale=1.0).relation == REPLACEMENT
    assert each_round([("a", REPLACEMENT), ("b", REPLACEMENT)]) == REPLACEMENT
    with pytest.raises(sd.ParameterError, match="same neighbouring relation"):
        each_round([("a", REPLACEMENT), ("b", ADD_OR_REMOVE)])


# --------------------------------------- brute force over exactly the relation that is printed


def sizes(mechanism):
    """Numbers of inputs and of outputs."""
    if isinstance(mechanism, sd.PoissonSubsample):
        inputs, outputs = sizes(mechanism.randomizer)
        return inputs, outputs + 1
    if isinstance(mechanism, sd.Joint | sd.Parallel):
        parts = [sizes(part) for part in mechanism.randomizers]
        combine = math.prod if isinstance(mechanism, sd.Joint) else sum
        return math.prod(size[0] for size in parts), combine(size[1] for size in parts)
    rows = rows_of(mechanism)
    return len(rows), len(rows[0])


def fits(parts, largest):
    """Whether a record of these parts has so few values and reports that all can be looked at."""
    found = [sizes(part) for part in parts]
    return max(math.prod(size[i] for size in found) for i in (0, 1)) <= largest


@st.composite
def leaves(draw):
    kind = draw(st.sampled_from(["binary-rr", "3-rr", "channel"]))
    eps0 = draw(st.sampled_from([0.3, 1.0, 2.0]))
    if kind == "channel":
        return sd.Channel(matrix=[draw(strategies.rows(2)), draw(strategies.rows(2))])
    return sd.KRR(k=3, eps0=eps0) if kind == "3-rr" else sd.BinaryRR(eps0=eps0)


@st.composite
def nestings(draw, leaf=leaves, *, depth=3, largest=12):
    """Reports in reports in reports, with limits anywhere."""
    kinds = ["leaf", "joint", "joint", "parallel", "subsample"]
    kind = draw(st.sampled_from(kinds[: 1 if depth == 0 else None]))
    if kind == "leaf":
        return draw(leaf())
    inner = nestings(leaf, depth=depth - 1, largest=largest)
    if kind == "subsample":
        rate = draw(st.sampled_from([0.25, 0.5, 1.0]))
        return sd.PoissonSubsample(draw(inner), rate=rate)
    parts = [draw(inner) for _ in range(draw(st.integers(1, 3)))]
    while len(parts) > 1 and not fits(parts, largest):
        parts.pop()
    if kind == "parallel":
        return sd.Parallel(parts, weights=[1.0 / len(parts)] * len(parts))
    hamming = draw(st.sampled_from([None, *range(1, len(parts) + 1)]))
    return sd.Joint(parts, hamming=hamming)


def inside(mechanism, n, *, lower=True, analyses=(None, "blanket", "stronger-clone", "dataset")):
    """Both ends of delta and eps against all pairs of datasets the printed relation makes."""
    rows = rows_of(mechanism)
    accountant = sd.shuffle(mechanism, n=n, rtol=1e-3)
    known = {}

    def exact(bound):
        form = bound.to_dict()["neighbouring_relation"]
        words = form.pop("words")
        assert words in bound.assumptions[0]
        assert bound.relation == mechanism.relation
        assert form == bound.relation.to_dict()
        key = json.dumps(form)
        if key not in known:
            known[key] = Neighbours(rows, n, pairs_of(mechanism, form))
        return known[key]

    for epsilon in (0.0, 0.2, 0.9):
        for name, bound in bounds(accountant.delta, analyses, epsilon=epsilon):
            most, least = exact(bound).worst(epsilon)
            assert Fraction(bound.upper) >= most, (name, epsilon)
            assert not lower or Fraction(bound.lower) <= least, (name, epsilon)
    for delta in (0.1, 1e-4, 1e-12):
        for name, bound in bounds(accountant.epsilon, analyses, delta=delta):
            if bound.upper < 60.0:
                assert exact(bound).worst(bound.upper)[1] <= Fraction(delta), (name, delta)
            if lower and 0.0 < bound.lower < 60.0:
                assert exact(bound).worst(bound.lower)[0] >= Fraction(delta), (name, delta)


@settings(max_examples=6)
@given(nestings(), st.integers(1, 2))
def test_random_nestings_against_all_neighbours(mechanism, n):
    inside(mechanism, n)


@pytest.mark.long
@settings(max_examples=100)
@given(nestings(largest=18), st.integers(1, 3))
def test_more_random_nestings(mechanism, n):
    if n < 3 or max(sizes(mechanism)) <= 6:
        inside(mechanism, n, analyses=(None, *QUICK))


@st.composite
def metric_leaves(draw):
    if draw(st.booleans()):
        return sd.BinaryRR(eps0=draw(st.sampled_from([0.3, 1.0])))
    distance = draw(st.sampled_from([0.25, 0.5, 1.0]))
    return sd.MetricLaplace(scale=draw(st.sampled_from([0.5, 2.0])), distance=distance)


@settings(max_examples=2)
@given(nestings(metric_leaves, depth=2), st.integers(1, 2))
def test_nestings_of_neighbours_at_a_distance(mechanism, n):
    """Reports are put into cells, so that upper ends alone are to hold."""
    inside(mechanism, n, lower=False, analyses=(None,))


@settings(max_examples=12)
@given(nestings(metric_leaves, depth=2))
def test_datasets_of_lower_ends_are_neighbours(mechanism):
    form = mechanism.relation.to_dict()
    for x0, x1, _ in mechanism.datasets():
        assert related(form, x0, x1)


# ------------------------------------------------------------------------------- rounds


def together(first, second, epsilon):
    """Exact divergence of two rounds at e^epsilon from below and above: all pairs of pairs."""
    found = []
    for alpha in powers(epsilon):
        top, bottom = alpha.numerator, alpha.denominator
        worst = 0
        for (p, q), (r, s) in itertools.product(first.exact, second.exact):
            both = itertools.product(zip(p, q, strict=True), zip(r, s, strict=True))
            worst = max(worst, sum(max(bottom * a * c - top * b * d, 0) for (a, b), (c, d) in both))
        found.append(Fraction(worst, bottom * first.scale * second.scale))
    return found


ROUNDS = {
    "joint and k-rr": (
        sd.Joint([sd.BinaryRR(eps0=0.7), sd.BinaryRR(eps0=1.0)], hamming=1),
        sd.KRR(k=3, eps0=0.8),
    ),
    "one relation": (
        sd.Joint([sd.BinaryRR(eps0=0.7)] * 2, hamming=1),
        sd.PoissonSubsample(sd.Joint([sd.BinaryRR(eps0=1.2)] * 2, hamming=1), rate=0.5),
    ),
}


@pytest.mark.parametrize("pair", ROUNDS.values(), ids=ROUNDS)
def test_rounds_against_all_neighbours_of_each_round(pair):
    n = 2
    composed = sd.compose([sd.shuffle(m, n=n) for m in pair])
    for epsilon in (0.0, 0.3, 1.0):
        bound = composed.delta(epsilon=epsilon)
        form = bound.to_dict()["neighbouring_relation"]
        assert form.pop("words") in bound.assumptions[0]
        own = rounds_of(form, [m.name for m in pair])
        datasets = [Neighbours(rows_of(m), n, pairs_of(m, own[m.name])) for m in pair]
        most, least = together(*datasets, epsilon)
        assert Fraction(bound.upper) >= most
        assert Fraction(bound.lower) <= least
