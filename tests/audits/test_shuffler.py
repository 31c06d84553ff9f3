"""Shufflers: a uniform one is left alone, and what orders, leaks or repeats is found."""

import random

import numpy as np
import pytest

from shuffledp.audits import ShufflerPlan, audit_shuffler, limits
from shuffledp.errors import ParameterError
from shuffledp.protocol.shuffler import shuffle_reports
from shuffledp.randomness import SeededSource

PLAN = ShufflerPlan(messages=128, batches=60, shards=8, minimum=50, alpha=0.01)


def uniform(seed=0):
    generator = random.Random(seed)

    def program(messages):
        if len(messages) < 50:
            return []
        return generator.sample(messages, len(messages))

    return program


def windows(size):
    def program(messages):
        if len(messages) < 50:
            return []
        parts = [messages[i : i + size] for i in range(0, len(messages), size)]
        generator = random.Random(messages[0])
        return [m for part in parts for m in generator.sample(part, len(part))]

    return program


def rotated(messages):
    """A cyclic shift: every message's place is uniform, and nothing is mixed."""
    at = random.Random(messages[0]).randrange(len(messages))
    return [] if len(messages) < 50 else messages[at:] + messages[:at]


def same_seed(messages):
    return [] if len(messages) < 50 else random.Random(5).sample(messages, len(messages))


def few_swaps(messages):
    """Random exchanges of two messages, half as many as there are messages."""
    if len(messages) < 50:
        return []
    generator, out = random.Random(messages[0]), list(messages)
    for _ in range(len(out) // 2):
        i, j = generator.randrange(len(out)), generator.randrange(len(out))
        out[i], out[j] = out[j], out[i]
    return out


def by_content(messages):
    """Sorted by content: the order says nothing that the messages do not say."""
    return [] if len(messages) < 50 else sorted(messages)


FAULTS = {
    "not shuffled": lambda m: list(m) if len(m) >= 50 else [],
    "backwards": lambda m: list(m)[::-1] if len(m) >= 50 else [],
    "windows of 16": windows(16),
    "halves": windows(64),
    "rotated": rotated,
    "the same permutation again": same_seed,
    "too few exchanges": few_swaps,
    "one lost": lambda m: uniform(len(m))(m)[1:],
    "one twice": lambda m: [*(found := uniform(len(m))(m)), *found[:1]],
    "a timestamp added": lambda m: [x + "@1" for x in uniform(len(m))(m)],
    "small batches leave": lambda m: random.Random(m[0]).sample(m, len(m)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_shufflers_are_refuted(fault):
    result = audit_shuffler(FAULTS[fault], PLAN)
    assert result.verdict == "refuted"


def test_messages_of_an_earlier_batch_are_seen():
    kept, inner = [], uniform()

    def replays(messages):
        out = inner(messages)
        if len(out) > 50:
            kept.append(out[0])
            out = [*out[:-1], kept[-2]] if len(kept) > 1 else out
        return out

    result = audit_shuffler(replays, PLAN)
    assert result.tally.wrong["messages that did not come in with the batch"] > 0
    assert {f.cell for f in result.refutations} >= {"messages that did not come in with the batch"}


def test_sorting_by_content_is_not_refuted():
    assert audit_shuffler(by_content, PLAN).verdict == "not refuted"


def test_our_own_shuffler_is_not_refuted():
    source = SeededSource(3)

    def program(messages):
        if len(messages) < 50:
            return []
        return shuffle_reports(np.array(messages), source).tolist()

    assert audit_shuffler(program, PLAN).verdict == "not refuted"


def test_uniform_shufflers_are_refuted_no_more_often_than_the_level():
    plan = ShufflerPlan(messages=32, batches=8, alpha=0.5)
    refuted = 0
    for seed in range(30):
        generator = random.Random(seed)
        result = audit_shuffler(lambda m: generator.sample(m, len(m)), plan)  # noqa: B023
        refuted += result.verdict == "refuted"
    assert limits.upper_tail(refuted, 30, 0.5) > 1e-3


@pytest.mark.parametrize(
    ("argument", "value"),
    [("messages", 3), ("batches", 1), ("shards", 100), ("minimum", 10_000), ("alpha", 0.9)],
)
def test_bad_plans_are_refused_by_name(argument, value):
    with pytest.raises(ParameterError, match=argument):
        ShufflerPlan(**{"messages": 128, argument: value})
