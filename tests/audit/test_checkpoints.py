"""Audits that are stopped: counts are kept, continue to the same result, and say that they do."""

import copy
import dataclasses
import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from audit import programs
from audit.test_saved import BATCHES, MIXED, PAIR, PLAN, K, mixer, written
from shuffledp.audit import (
    AuditPlan,
    Checkpoint,
    Tally,
    UnknownPlan,
    audit_estimates,
    audit_shuffler,
    audit_unknown,
    collected,
    design,
    judge,
    limits,
    read_saved,
    result_of,
    tally_from_dict,
)
from shuffledp.audit.blackbox import unknown_from_dict, unknown_of
from shuffledp.audit.categories import Categories
from shuffledp.audit.estimates import estimates_start
from shuffledp.audit.plan import BOXES
from shuffledp.audit.saved import digest_of
from shuffledp.audit.shuffler_counts import shuffler_start
from shuffledp.cli import main
from shuffledp.errors import ParameterError


class StoppedError(Exception):
    """The machine is turned off."""


def stopping(program, calls):
    left = iter(range(calls))

    def run(values):
        if next(left, None) is None:
            raise StoppedError
        return program(values)

    return run


def interrupted(program, path, plan=PLAN):
    """What five calls leave behind."""
    with pytest.raises(StoppedError):
        collected(plan, stopping(program, 5), keep=remembering(path))
    return json.loads(path.read_text())


def remembering(path):
    """What is kept after every two calls, as a file has it."""
    return lambda tally: path.write_text(json.dumps(tally.to_dict()))


def test_an_interrupted_audit_continues_to_the_same_counts(tmp_path):
    path = tmp_path / "kept.json"
    straight = collected(PLAN, programs.honest(K))
    inner = programs.honest(K)
    start = tally_from_dict(interrupted(inner, path), PLAN)
    assert start.counts.sum() == 4 * PLAN.call_size
    # The fifth call is made again: seeds of this program go by the call.
    rest = programs.honest(K, start=4)
    assert collected(PLAN, rest, start=start) == straight


def test_an_interrupted_audit_can_be_judged_and_keeps_its_level(tmp_path):
    path, bare = tmp_path / "kept.json", dataclasses.replace(PLAN, n=None)
    refuted = 0
    for seed in range(5):
        program = programs.honest(K, start=100 * seed)
        result = result_of(bare, tally_from_dict(interrupted(program, path, bare), bare))
        refuted += result.verdict == "refuted"
        assert not result.complete
        assert "(of 400)" in result.text()
    assert refuted == 0
    counts = interrupted(programs.honest(sd.KRR(k=4, eps0=3.0)), path, bare)
    assert result_of(bare, tally_from_dict(counts, bare)).verdict == "refuted"
    counts["counts"][0][0] += 1
    with pytest.raises(ParameterError, match=r"tally\.counts"):
        tally_from_dict(counts, bare)


def test_a_program_without_a_law_continues(tmp_path):
    tables = []
    done = audit_unknown(programs.honest(K), PAIR, keep=lambda t: tables.append(json.dumps(t)))
    assert len(tables) == 4
    stopped = {"plan": PAIR.to_dict(), "tally": json.loads(tables[1])}
    start = unknown_from_dict(stopped)
    assert sum(map(sum, start.second)) == 1_000
    assert start.epsilon < 1.0
    # Six calls were made: seeds of this program go by the call.
    assert audit_unknown(programs.honest(K, start=6), PAIR, start=start) == done
    stopped["tally"]["second"][0][0] += 1
    with pytest.raises(ParameterError, match=r"unknown\.tally\.second"):
        unknown_from_dict(stopped)


def test_estimates_and_shufflers_continue(tmp_path):
    kept = []
    audit_estimates(programs.honest(K), BATCHES, keep=lambda sums: kept.append([*sums]))
    table = {"plan": BATCHES.to_dict(), "tally": []}
    table["tally"] = [{"count": s.count, "sums": s.sums.tolist()} for s in kept[3]]
    start = estimates_start(json.loads(json.dumps(table)))[1]
    again = audit_estimates(programs.honest(K, start=4), BATCHES, start=start)
    assert again.sums == tuple(kept[-1])

    def program(messages):
        return mixer(messages[0])(messages)

    tables = []
    done = audit_shuffler(program, MIXED, keep=lambda t: tables.append(copy.deepcopy(t.to_dict())))
    plan = done.to_dict()["plan"]
    start = shuffler_start({"plan": plan, "tally": json.loads(json.dumps(tables[0]))})[1]
    assert start.done == 2
    assert audit_shuffler(program, MIXED, start=start).to_dict() == done.to_dict()


def test_checkpoints_are_whole_files_of_one_audit(tmp_path):
    path, now = tmp_path / "c.json", [0.0]
    kept = Checkpoint(path, {"by": "x"}, clock=lambda: now[0])
    kept.keep("program", {"a": 1}, [1])
    assert json.loads(path.read_text())["parts"]["program"]["tally"] == [1]
    kept.keep("program", {"a": 1}, [2])
    assert json.loads(path.read_text())["parts"]["program"]["tally"] == [1]
    now[0] = 11.0
    kept.keep("program", {"a": 1}, [3])
    assert json.loads(path.read_text())["parts"]["program"]["tally"] == [3]
    again = Checkpoint(path, {"by": "x"})
    assert again.start("program", {"a": 1})["tally"] == [3]
    assert again.start("shuffler", {}) is None
    with pytest.raises(ParameterError, match="another plan"):
        again.start("program", {"a": 2})
    with pytest.raises(ParameterError, match="another program"):
        Checkpoint(path, {"by": "y"})
    again.remove()
    assert not path.exists()
    path.write_text("{")
    with pytest.raises(ParameterError, match="not JSON"):
        Checkpoint(path, {"by": "x"})


def test_the_command_continues_from_its_checkpoint(tmp_path):
    (tmp_path / "d.toml").write_text(
        'title = "t"\n[population]\nusers = 100\nminimum_batch = 20\n'
        '[randomizer]\nname = "k-rr"\nk = 4\neps0 = 1.0\n[target]\ndelta = 1e-6\n'
    )
    words = ["audit", "--deployment", str(tmp_path / "d.toml"), "--own", "-N", "200"]
    words += ["--alpha", "1e-6", "--delta", "1e-6", "--checkpoint", str(tmp_path / "c.json")]
    options = [*words, "--estimates", "5", "--outside"]
    calls, honest = [], sd.KRR.randomize

    def broken(self, values):
        calls.append(len(values))
        if len(calls) == 12:  # among the batches of estimates
            raise KeyboardInterrupt
        return honest(self, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sd.KRR, "randomize", broken)
        stopped = CliRunner().invoke(main, options)
    assert stopped.exit_code != 0
    table = json.loads((tmp_path / "c.json").read_text())
    assert set(table["parts"]) == {"program", "outside"}
    judged = CliRunner().invoke(main, ["audit", "--check", str(tmp_path / "c.json")])
    assert judged.exit_code == 0
    assert "**Not done.**" in judged.output
    other = CliRunner().invoke(main, [*words, "--estimates", "6"])
    assert other.exit_code == 2
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0
    assert "continues from" in done.output
    assert not (tmp_path / "c.json").exists()


def test_of_a_stopped_audit_every_input_has_its_own_number():
    plan = AuditPlan(randomizer=sd.KRR(k=2, eps0=1.0), reports=1_000)
    found, tally = design(plan), Tally.empty(2, 2)
    tally.counts[:] = [[120, 30, 0], [40, 50, 0]]
    every = judge.findings(plan, tally, found)
    assert {(f.subject, f.reports) for f in every if f.kind == "law"} == {
        ("input 0", 150),
        ("input 1", 90),
    }
    pair = found.pairs[0]
    share = pair.shares[pair.best]
    ratio = limits.Ratio(120, 150, 40, 90, share)
    (tested,) = (f for f in every if f.kind == "guarantee" and f.count == 120)
    assert tested.p == ratio.p_value(1.0 * (1.0 + 1e-12))
    (main, *_) = judge.pair_limits(plan, tally, found, len(every))
    level = plan.alpha * plan.spend[1] * pair.weights[pair.best]
    low, high = ratio.ends(level)
    assert (high, low) in main.points
    lows, highs = judge.cell_limits(plan, tally, found)
    each = plan.alpha * plan.spend[2] * (1.0 - BOXES) / 8.0
    assert lows[1, 0] == limits.lower_limit(40, 90, each)
    assert highs[0, 1] == limits.upper_limit(30, 150, each)


def test_of_a_stopped_black_box_every_value_has_its_own_number():
    cells = Categories("outputs", (0, 1))
    first, second = [[800, 200, 0], [200, 800, 0]], [[240, 60, 0], [20, 80, 0]]
    plan = UnknownPlan(pair=(0, 1), reports=2_000)
    found = unknown_of(plan, cells, first, second)
    assert found.counts in {(240, 20), (80, 60)}
    sizes = (300, 100) if found.counts == (240, 20) else (100, 300)
    bounds = {
        limits.Ratio(found.counts[0], sizes[0], found.counts[1], sizes[1], share).epsilon(0.05)
        for share in (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
    }
    assert found.epsilon in bounds


def test_what_is_judged_of_a_checkpoint_says_so_wherever_it_is_written(tmp_path):
    kept, bare = [], dataclasses.replace(PLAN, n=None)
    collected(bare, programs.honest(K), keep=lambda t: kept.append(t.to_dict()))
    plan, tally = bare.to_dict(), kept[0]
    parts = {"program": {"plan": plan, "tally": tally}}
    table = {"format": "shuffledp-audit/2", "stopped": True, "parts": parts}
    path = written(tmp_path, table | {"sha256": digest_of(parts)})
    out, again = tmp_path / "o.json", tmp_path / "p.json"
    for source, target in ((path, out), (out, again)):
        words = ["audit", "--check", str(source), "--output", str(target)]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0
        assert "**Not done.**" in done.output
    assert out.read_text() == again.read_text()
    table = json.loads(out.read_text())
    assert table["stopped"] is True
    for where in (table, table["parts"]["program"]):
        edited = json.loads(out.read_text())
        (edited if where is table else edited["parts"]["program"])["stopped"] = False
        with pytest.raises(ParameterError, match="stopped"):
            read_saved(written(tmp_path, edited))
    single = result_of(bare, tally_from_dict(tally, bare)).to_dict()
    assert read_saved(written(tmp_path, single)).stopped
    del single["stopped"]
    with pytest.raises(ParameterError, match="not all of the plan"):
        read_saved(written(tmp_path, single))
