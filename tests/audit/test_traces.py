"""What leaves a shuffler beside the messages: lengths, pauses and fields may not tell who sent."""

import dataclasses
import itertools
import json
import random
import sys

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.audit import (
    AuditPlan,
    Left,
    ShufflerPlan,
    Tally,
    audit_shuffler,
    design,
    limits,
)
from shuffledp.audit.judge import findings
from shuffledp.audit.permutations import matches_law
from shuffledp.audit.shuffler import _count_trace, _line, lines_program
from shuffledp.audit.shuffler_counts import Trace
from shuffledp.audit.sources import Lines
from shuffledp.audit.tally import SPARE
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
    # Fields that are called otherwise in every batch are as many.
    with pytest.raises(ParameterError, match="at most 8"):
        audit_shuffler(lambda m: [Left(x, {m[0]: 0.0}) for x in m], PLAN)


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
    plan = ShufflerPlan(messages=64, batches=8, alpha=1e-4, longest=24)
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


VALUES = [(0.0, 0.0, 1.0, 0.0), (3.0, 1.0, 2.0, 0.0), (1.0, 1.0, 0.0, 0.0), (2.0, 0.0, 2.0, 1.0)]


@pytest.mark.parametrize("values", VALUES)
def test_lemma_7_2_by_enumeration_of_all_orders(values):
    """The larger half is hypergeometric, the extremes are uniform, whatever the values."""
    halves, extremes = np.zeros(3), np.zeros((2, 8))
    for came in itertools.permutations(range(4)):
        trace = Trace()
        _count_trace(trace, 4, np.array(came), np.array(values))
        halves[trace.halves[0]] += 1
        extremes += trace.extremes
    assert halves.tolist() == [4, 16, 4]  # of 24: C(2, k) C(2, 2 - k)/6
    assert extremes[:, ::2].tolist() == [[6.0] * 4] * 2


@pytest.mark.parametrize("common", range(5))
def test_lemma_7_2_c_values_of_two_batches_by_enumeration(common):
    """Of four values so many are the same: matches are no more than fixed places."""
    first = np.arange(4.0)
    second = np.where(np.arange(4) < common, first, first + 10.0)
    found = np.zeros(5)
    for came in itertools.permutations(range(4)):
        found[np.count_nonzero(first == second[list(came)])] += 1
    fixed = np.append(matches_law(4), 0.0)[:5]
    for count in range(5):
        assert found[count:].sum() / 24 <= fixed[count:].sum() + 1e-12


def test_the_p_value_of_how_reports_are_written_pays_for_all_events():
    claimed = sd.KRR(k=2, eps0=1.0)
    plan = AuditPlan(randomizer=claimed, reports=1_000)
    found = design(plan)
    tally = Tally.empty(2, 2)
    tally.counts[:] = [[700, 300, 0], [300, 700, 0]]
    written = np.zeros((2, 3, SPARE), dtype=np.int64)
    written[:, :2, 0] = tally.counts[:, :2]
    written[0, 0, :2] = (450, 250)
    every = findings(plan, dataclasses.replace(tally, written=written), found)
    first, second = (f for f in every if "spare" in f.cell)
    alone = limits.Ratio(250, 1_000, 0, 1_000, 0.5).p_value(1.0 * (1.0 + 1e-12))
    assert first.p == pytest.approx(16 * alone)
    assert second.p == 1.0
    assert "with 1 (mod 8) spare characters" in first.cell


@pytest.mark.parametrize("mark", ["12e4567890123456", "1234567890123456", "00ffe1", "Infinity"])
def test_a_message_written_as_it_is_may_look_like_a_number(mark):
    """An honest shuffler that does not quote what it writes lost such messages."""
    assert _line(mark.encode(), 0.0).message == mark
    assert _line(json.dumps(mark).encode(), 0.0).message == mark
