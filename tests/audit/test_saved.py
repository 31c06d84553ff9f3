"""Saved audits: every part judged again from its counts, edits are seen."""

import contextlib
import copy
import dataclasses
import json
import random

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from audit import programs
from shuffledp.audit import (
    AuditPlan,
    EstimatesPlan,
    Saved,
    ShufflerPlan,
    UnknownPlan,
    audit,
    audit_domain,
    audit_estimates,
    audit_shuffler,
    audit_unknown,
    counted,
    read_saved,
    result_of,
)
from shuffledp.audit.saved import digest_of
from shuffledp.cli import main
from shuffledp.errors import ParameterError

K = sd.KRR(k=4, eps0=1.0)
PLAN = AuditPlan(randomizer=K, reports=400, alpha=0.01, n=100, deltas=(1e-6,))
BATCHES = EstimatesPlan(audit=PLAN, batches=8, users=50, alpha=0.01)
MIXED = ShufflerPlan(messages=64, batches=6, shards=4, minimum=20, alpha=0.01, longest=40)
PAIR = UnknownPlan(pair=(0, 1), reports=2_000, epsilons=(0.5,), claimed=1.0)


def mixer(seed=0):
    generator = random.Random(seed)
    return lambda m: generator.sample(m, len(m)) if len(m) >= 20 else []


@pytest.fixture(scope="module")
def whole():
    program = programs.honest(K)
    main_part = audit(program, PLAN)
    parts = {
        "program": main_part,
        "outside": audit_domain(lambda v: np.asarray(v) % 4, PLAN, main_part.tally, alpha=0.01),
        "estimates": audit_estimates(program, BATCHES),
        "shuffler": audit_shuffler(mixer(), MIXED),
        "unknown": audit_unknown(program, PAIR),
    }
    return json.loads(json.dumps(Saved(parts, {"by": "a test"}).to_dict()))


def written(tmp_path, table):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(table))
    return path


def test_every_part_is_judged_again_from_its_counts_alone(whole, tmp_path):
    saved = read_saved(written(tmp_path, whole))
    assert list(saved.parts) == ["program", "outside", "estimates", "shuffler", "unknown"]
    assert json.loads(json.dumps(saved.to_dict())) == whole
    assert saved.verdict == whole["verdict"] == "refuted"
    assert "## Not checked" in saved.text()
    # Of a stopped audit nothing but plans and counts is read: all else comes out the same.
    bare = {k: {"plan": p["plan"], "tally": p["tally"]} for k, p in whole["parts"].items()}
    stopped = whole | {"stopped": True, "parts": bare}
    del stopped["verdict"]
    assert stopped["sha256"] == digest_of(bare)
    again = read_saved(written(tmp_path, stopped))
    assert json.loads(json.dumps(again.to_dict()))["parts"] == whole["parts"]


EDITS = {
    "a verdict": lambda t: t.update(verdict="not refuted"),
    "a part's verdict": lambda t: t["parts"]["outside"].update(verdict="not refuted"),
    "a central bound": lambda t: t["parts"]["program"]["central"][0].update(lower=0.0),
    "a p-value": lambda t: t["parts"]["program"]["findings"][5].update(p=0.123),
    "two counts": lambda t: _moved(t["parts"]["program"]["tally"]["counts"][0]),
    "counts after an input": lambda t: _moved(t["parts"]["program"]["tally"]["after"][0][0]),
    "a value's counts": lambda t: _moved(t["parts"]["outside"]["tally"][0]),
    "a sum": lambda t: _moved(t["parts"]["estimates"]["tally"][3]["sums"]),
    "a place": lambda t: _moved(t["parts"]["shuffler"]["tally"]["positions"][0]),
    "a block": lambda t: t["parts"]["shuffler"]["tally"]["blocks"]["4"][0].__setitem__(0, 9),
    "messages kept in order": lambda t: t["parts"]["shuffler"]["tally"].update(kept=190),
    "counts of a black box": lambda t: _moved(t["parts"]["unknown"]["tally"]["second"][0]),
    "the event": lambda t: t["parts"]["unknown"].update(event="another"),
    "a finding less": lambda t: t["parts"]["shuffler"]["findings"].pop(),
    "a key more": lambda t: t["parts"]["program"].update(certified=True),
    "the level": lambda t: t["parts"]["program"]["plan"].update(alpha=0.5),
    "the mechanism": lambda t: t["parts"]["program"]["plan"]["randomizer"].update(eps0=2.0),
    "another claim": lambda t: t["parts"]["unknown"]["plan"].update(claimed=0.1),
}


def _moved(row):
    """One report from the fullest cell to the emptiest: sums stay."""
    most, least = row.index(max(row)), row.index(min(row))
    row[most] -= 1
    row[least] += 1


# The others are as slow, and refused by the same comparison.
QUICK = {"a verdict", "a central bound", "two counts", "a sum", "a place", "the mechanism"}
CASES = [e if e in QUICK else pytest.param(e, marks=pytest.mark.long) for e in EDITS]


@pytest.mark.parametrize("edit", CASES)
def test_what_does_not_follow_from_the_counts_is_said(whole, tmp_path, edit):
    table = copy.deepcopy(whole)
    EDITS[edit](table)
    path = written(tmp_path, table)
    done = CliRunner().invoke(main, ["audit", "--check", str(path)])
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    # With a checksum made anew what is said of the counts still does not follow from them.
    if edit != "a place" and digest_of(table["parts"]) != whole["sha256"]:
        written(tmp_path, table | {"sha256": digest_of(table["parts"])})
        with pytest.raises(ParameterError):
            read_saved(path)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**18), st.floats(), st.text(max_size=4),
    st.just([]), st.just({}), st.just([[1]]),
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=60)
@given(data=st.data())
def test_no_edit_of_plans_and_counts_is_a_traceback(whole, tmp_path_factory, data):
    table = copy.deepcopy(whole)
    table["parts"]["program"]["plan"]["n"] = None
    name = data.draw(st.sampled_from(sorted(set(table["parts"]) - {"estimates"})))
    where = table["parts"][name]
    where = where[data.draw(st.sampled_from(["plan", "tally"]))]
    for _ in range(data.draw(st.integers(0, 2))):
        keys = list(where if isinstance(where, dict) else range(len(where)))
        inner = [k for k in keys if isinstance(where[k], dict | list) and where[k]]
        if not inner:
            break
        where = where[data.draw(st.sampled_from(inner))]
    keys = list(where) if isinstance(where, dict) else list(range(len(where)))
    key = data.draw(st.sampled_from(keys))
    where[key] = data.draw(LEAVES)
    table["sha256"] = digest_of(table["parts"])
    path = written(tmp_path_factory.mktemp("edited"), table)
    said = ""
    with contextlib.suppress(ParameterError):
        read_saved(path)
        said = "judged"
    assert said in {"", "judged"}


def test_a_part_alone_and_an_unknown_part(whole, tmp_path):
    for name in ("shuffler", "estimates", "unknown"):
        alone = {"program": whole["parts"][name]}
        table = whole | {"parts": {name: alone["program"], "weather": {"rain": 1}}}
        table["verdict"] = whole["parts"][name]["verdict"]
        table["sha256"] = digest_of(table["parts"])
        saved = read_saved(written(tmp_path, table))
        assert any("weather" in words for words in saved.not_checked)
    parts = {"outside": whole["parts"]["outside"]}
    path = written(tmp_path, whole | {"parts": parts, "sha256": digest_of(parts)})
    with pytest.raises(ParameterError, match="program beside it"):
        read_saved(path)


def test_values_outside_with_fewer_reports_are_refused(whole, tmp_path):
    bare = {k: {"plan": p["plan"], "tally": p["tally"]} for k, p in whole["parts"].items()}
    table = json.loads(json.dumps(whole | {"stopped": True, "parts": bare}))
    del table["verdict"]
    table["parts"]["outside"]["tally"][0][1] += 1
    table["sha256"] = digest_of(table["parts"])
    path = written(tmp_path, table)
    with pytest.raises(ParameterError, match=r"outside\.tally"):
        read_saved(path)


def test_what_says_a_result_is_compared_whatever_it_calls_itself(whole, tmp_path):
    """A result beside "stopped" is compared like any other; without a verdict it is refused."""
    table = json.loads(json.dumps(whole)) | {"stopped": True}
    assert read_saved(written(tmp_path, table)).stopped
    for edited in (table | {"verdict": "not refuted"}, table | {"stopped": "no"}):
        with pytest.raises(ParameterError):
            read_saved(written(tmp_path, edited))
    del table["verdict"]
    path = written(tmp_path, table)
    found = CliRunner().invoke(main, ["audit", "--check", str(path)])
    assert found.exit_code == 2
    assert "stopped" in found.stderr
    assert found.stderr.count("\n") == 1


def test_keys_that_are_none_of_an_audit_are_refused(whole, tmp_path):
    path = written(tmp_path, whole | {"certified": True})
    with pytest.raises(ParameterError, match="keys = 'certified'"):
        read_saved(path)
    text = json.dumps(whole)
    path.write_text(text[:-1] + ', "verdict": "not refuted"}')
    with pytest.raises(ParameterError, match="keys = 'verdict': wanted each of them once"):
        read_saved(path)
    path.write_text(text[:-1] + ', "x": ' + "9" * 5_000 + "}")
    with pytest.raises(ParameterError, match="not JSON"):
        read_saved(path)
    for number in ("NaN", "-Infinity", "1e999"):
        path.write_text(text.replace('"by": "a test"', f'"by": {number}'))
        with pytest.raises(ParameterError, match="wanted a finite one"):
            read_saved(path)
    path.write_text('{"format": "shuffledp-audit/1", "plan": ' + "[" * 900 + "]" * 900 + "}")
    with pytest.raises(ParameterError):
        read_saved(path)


def test_reports_of_a_command_are_counted_in_calls(tmp_path):
    plan = dataclasses.replace(PLAN, n=None)
    order = plan.order()
    alone = result_of(plan, counted(plan, order, programs.honest(K)(order)))
    saved = Saved({"program": alone}, {"reports": {"file": "r.jsonl"}})
    found = read_saved(written(tmp_path, saved.to_dict()))
    assert any("in which order" in words for words in found.not_checked)
    table = Saved({"program": alone}, {"command": "./client"}).to_dict()
    with pytest.raises(ParameterError, match="calls of the plan, as source says"):
        read_saved(written(tmp_path, table))
    other = EstimatesPlan(
        batches=5, audit=dataclasses.replace(plan, randomizer=sd.KRR(k=4, eps0=2.0))
    )
    parts = {"program": alone, "estimates": audit_estimates(programs.honest(K), other)}
    with pytest.raises(ParameterError, match="another mechanism"):
        read_saved(written(tmp_path, Saved(parts).to_dict()))


def _numbers(table, path=()):
    """The place of every number of a file."""
    if isinstance(table, dict | list):
        entries = table.items() if isinstance(table, dict) else enumerate(table)
        for key, value in entries:
            yield from _numbers(value, (*path, key))
    elif isinstance(table, int | float) and not isinstance(table, bool):
        yield path


def test_a_number_beyond_the_floats_is_no_result_and_is_named(whole, tmp_path):
    """Of every name that a result has; what was said was that an OverflowError is no audit."""
    names = {}
    for path in _numbers(whole):
        if not {"plan", "tally"} & set(path):
            names.setdefault([key for key in path if isinstance(key, str)][-1], path)
    assert {"p", "claimed", "lower", "mean"} <= set(names)
    for path in names.values():
        edited = copy.deepcopy(whole)
        target = edited
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = 10**400
        with pytest.raises(ParameterError, match=r"parts\..* = 1000.* is said") as caught:
            read_saved(written(tmp_path, edited))
        assert "\n" not in str(caught.value)


def test_a_file_whose_work_doubles_with_each_input_is_refused_at_once(tmp_path):
    """500 bytes, 32 inputs of a mechanism whose reports support some of them: it never ended."""
    plan = AuditPlan(randomizer=sd.RAPPOR(d=40, eps0=1.0), inputs=tuple(range(32))).to_dict()
    parts = {"program": {"plan": plan, "tally": {}}}
    table = {"format": "shuffledp-audit/2", "stopped": True, "source": {}, "parts": parts}
    table["sha256"] = digest_of(parts)
    done = CliRunner().invoke(main, ["audit", "--check", str(written(tmp_path, table))])
    assert done.exit_code == 2
    assert "inputs = (0, 1, 2" in done.stderr
    assert "at most 8 different inputs of rappor" in done.stderr
    assert done.stderr.count("\n") == 1
