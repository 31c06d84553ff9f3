"""What leaves a shuffler beside the messages: lengths, pauses and fields may not tell who sent."""

import random
import sys

import pytest

from shuffledp.audit import Left, ShufflerPlan, audit_shuffler, limits
from shuffledp.audit.shuffler import lines_program
from shuffledp.audit.sources import Lines
from shuffledp.errors import ParameterError

PLAN = ShufflerPlan(messages=128, batches=40, shards=8, alpha=0.01)


def mixed(messages):
    """A uniform order, another one for every batch."""
    return random.Random(messages[0]).sample(messages, len(messages))


def beside(value):
    """A uniform order, and beside each message a value of where it came in."""

    def program(messages):
        came = {m: place for place, m in enumerate(messages)}
        return [Left(m, {"beside": value(came[m])}) for m in mixed(messages)]

    return program


SIDES = {
    "the time it came in": float,
    "the half it came from": lambda place: place >= 64,
    "a mark of the first": lambda place: place == 0,
    "who sent it, in no order": lambda place: place * 37 % 128,
    "who sent it, as words": lambda place: f"user {place * 37 % 128}",
    "a longer line late": lambda place: place // 100,
    "the shard": lambda place: f"shard-{place // 16}",
}


@pytest.mark.parametrize("side", SIDES)
def test_what_survives_beside_the_messages_is_found(side):
    result = audit_shuffler(beside(SIDES[side]), PLAN)
    assert {f.kind for f in result.refutations} == {"traces"}
    assert "beside" in result.text()


def test_what_says_nothing_of_where_messages_came_in_is_left_alone():
    plan = ShufflerPlan(messages=32, batches=6, alpha=0.5)
    refuted = 0
    for seed in range(15):
        generator = random.Random(seed)

        def program(messages, generator=generator):
            out = generator.sample(messages, len(messages))
            traces = [
                {"pause": generator.random(), "length": generator.choice([0, 1]), "n": f"{n:03d}"}
                for n in range(len(out))
            ]
            return [Left(m, t) for m, t in zip(out, traces, strict=True)]

        result = audit_shuffler(program, plan)
        assert set(result.tally.traces) == {"pause", "length", "n"}
        refuted += result.verdict == "refuted"
    assert limits.upper_tail(refuted, 15, 0.5) > 1e-3
    assert audit_shuffler(beside(lambda place: 3), PLAN).verdict == "not refuted"


def test_more_fields_than_are_looked_at_are_refused():
    many = {str(i): 0.0 for i in range(9)}
    with pytest.raises(ParameterError, match="at most 8"):
        audit_shuffler(lambda m: [Left(x, many) for x in m], PLAN)


LINES = {
    "as they came": ("for m in out: print(m)", "not refuted"),
    "in envelopes": (
        'for i, m in enumerate(out): print(\'{"message": %s, "n": %d}\' % (m, i))',
        "not refuted",
    ),
    "with spaces": ("for m in out: print(m + ' ' * (came[m] // 8))", "refuted"),
    "with a time": (
        'for m in out: print(\'{"message": %s, "time": %d}\' % (m, came[m] + 1000))',
        "refuted",
    ),
    "after pauses": (
        "import time\nfor m in out:\n  time.sleep(0.002 * (came[m] > 40)); print(m, flush=True)",
        "refuted",
    ),
}


@pytest.mark.parametrize("way", LINES)
def test_lines_of_a_command(way, tmp_path):
    program, verdict = LINES[way]
    path = tmp_path / "s.py"
    path.write_text(
        "import random, sys\nlines = sys.stdin.read().splitlines()\n"
        "came = {m: i for i, m in enumerate(lines)}\n"
        "out = random.SystemRandom().sample(lines, len(lines))\n" + program + "\n"
    )
    run = Lines((sys.executable, str(path)))
    plan = ShufflerPlan(messages=64, batches=10, alpha=1e-4, longest=24)
    result = audit_shuffler(lines_program(run.timed), plan)
    assert result.verdict == verdict
    assert {f.kind for f in result.refutations} <= {"traces"}
    assert {"length", "pause"} <= set(result.tally.traces)


def test_messages_of_a_batch_are_different_and_as_long_as_asked():
    plan, seen = ShufflerPlan(messages=500, batches=3, longest=40), []

    def program(messages):
        seen.append(messages)
        return []

    audit_shuffler(program, plan)
    assert {len(m) for batch in seen for m in batch} == set(range(16, 41))
    assert all(len(set(batch)) == 500 for batch in seen)
