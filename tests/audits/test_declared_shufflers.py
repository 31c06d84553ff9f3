"""Shufflers that add dummies: faults are found, uniform orders left alone."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest

from shuffledp.audits import ShufflerPlan, audit_shuffler, limits

PLAN = ShufflerPlan(messages=64, batches=30, minimum=20, alpha=0.01, dummies=24)
NAMES = itertools.count()


def made(count):
    return [f"dummy {next(NAMES)}" for _ in range(count)]


def uniform(generator, count=24):
    return lambda m: generator.sample(both := [*m, *made(count)], len(both)) if len(m) > 19 else []


def spread(messages):
    """A uniform order of the messages, and a dummy after every second one of the first."""
    out = random.Random(messages[0]).sample(messages, len(messages))
    dummies = made(24)
    for place, dummy in enumerate(dummies):
        out.insert(min(len(out), 2 + 3 * place), dummy)
    return out if len(messages) > 19 else []


def at_the_end(messages):
    out = random.Random(messages[0]).sample(messages, len(messages))
    return [*out, *made(24)] if len(messages) > 19 else []


FAULTS = {
    "all at the end": (at_the_end, "dummies in the first half of what leaves"),
    "evenly spread": (spread, "runs in which dummies leave"),
    "one more": (uniform(random.Random(1), 25), "messages that did not come in with the batch"),
    "one less": (uniform(random.Random(2), 23), "dummies that were not added"),
    "none": (uniform(random.Random(3), 0), "dummies that were not added"),
    "messages in order": (
        lambda m: [*m[:40], *made(24), *m[40:]] if len(m) > 19 else [],
        "neighbours in the same order",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_with_dummies_are_found(fault):
    program, cell = FAULTS[fault]
    found = audit_shuffler(program, PLAN)
    assert cell in {f.cell for f in found.refutations}


def test_uniform_orders_with_dummies_are_refuted_no_more_often_than_the_level():
    plan = ShufflerPlan(messages=32, batches=8, alpha=0.5, dummies=5)
    refuted = 0
    for seed in range(25):
        found = audit_shuffler(uniform(random.Random(seed), 5), plan)
        refuted += found.verdict == "refuted"
    assert limits.upper_tail(refuted, 25, 0.5) > 1e-3


@pytest.mark.parametrize(("n", "d"), [(3, 2), (4, 3), (2, 5), (5, 1)])
def test_lemma_7_3_by_enumeration(n, d):
    """Of all places of the dummies: those in the first half, and their runs, with p-values."""
    halves, runs = Counter(), Counter()
    for places in itertools.combinations(range(n + d), d):
        halves[sum(p < (n + d) // 2 for p in places)] += 1
        runs[sum(p - 1 not in places for p in places)] += 1
    total = math.comb(n + d, d)
    for found, law in ((halves, (n + d, d, (n + d) // 2)), (runs, (n + d, n + 1, d))):
        size, marked, draws = law
        values = sorted(found)
        p = {v: limits.drawn(v, n=size, marked=marked, draws=draws) for v in values}
        for value in values:
            tails = [
                sum(found[k] for k in values if (k >= value) == up or k == value) for up in (0, 1)
            ]
            exact = min(Fraction(1), 2 * min(Fraction(t, total) for t in tails))
            assert exact <= Fraction(p[value])
            assert p[value] <= (float(exact) * (1 + 1e-5) if exact < Fraction(1, 2) else 1.0)
