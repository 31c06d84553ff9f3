"""A guarantee of one group's members says so, in its relation and in what it takes for granted."""

from itertools import product

import pytest

import shuffledp as sd
from laws import law_of
from shuffledp.neighbours import REPLACEMENT

GROUPS = [(sd.BinaryRR(eps0=0.1), 2), (sd.BinaryRR(eps0=6.0), 2)]


def exact_delta(epsilon, changing):
    """The largest delta over all data sets in which one user of these is another's."""
    laws = [list(law_of(m, (0, 1)).mass) for m, count in GROUPS for _ in range(count)]

    def ones(inputs):
        found = [1.0]
        for law, x in zip(laws, inputs, strict=True):
            longer = [0.0] * (len(found) + 1)
            for k, mass in enumerate(found):
                longer[k] += mass * law[x][0]
                longer[k + 1] += mass * law[x][1]
            found = longer
        return found

    worst = 0.0
    for inputs in product((0, 1), repeat=len(laws)):
        for user in changing:
            other = tuple(1 - x if k == user else x for k, x in enumerate(inputs))
            pairs = zip(ones(inputs), ones(other), strict=True)
            worst = max(worst, sum(max(p - 2.718281828459045**epsilon * q, 0.0) for p, q in pairs))
    return worst


@pytest.mark.parametrize(("victim", "changing"), [(0, (0, 1)), (1, (2, 3)), (None, (0, 1, 2, 3))])
def test_ends_hold_for_whom_they_name(victim, changing):
    bound = sd.shuffle(groups=GROUPS, victim=victim).delta(epsilon=0.3)
    assert bound.lower - 1e-12 <= exact_delta(0.3, changing) <= bound.upper + 1e-12
    named = [k for k in (0, 1) if f"the user is one of group {k} and" in bound.relation.words]
    assert named == ([] if victim is None else [victim])
    assert bound.assumptions[0] == bound.relation.sentence
    assert not any(words == REPLACEMENT.sentence for words in bound.assumptions[1:])


def test_of_another_group_it_would_be_false():
    bound = sd.shuffle(groups=GROUPS, victim=0).delta(epsilon=0.3)
    assert bound.upper < 0.4 < exact_delta(0.3, (2, 3))


def test_rounds_of_several_relations_say_it_of_each():
    """The group was left out where another mechanism's rounds are not of its members alone."""
    crowds = [sd.shuffle(groups=GROUPS, victim=k) for k in (0, 1)]
    for others, wanted in (
        ([crowds[0], sd.shuffle(GROUPS[0][0], n=10)], [0]),
        ([sd.shuffle(GROUPS[0][0], n=10), crowds[1]], [1]),
        (crowds, [0, 1]),
    ):
        words = sd.compose(others).relation.words
        named = [k for k in (0, 1) if f"the user is one of group {k} and stays in it" in words]
        assert named == wanted
