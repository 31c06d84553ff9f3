"""Saved audits: every part judged again from its counts, damage and other verdicts are seen."""

import contextlib
import copy
import json
import random

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from audit import programs
from shuffledp.audit import AuditPlan, Saved, ShufflerPlan, audit, audit_shuffler, read_saved
from shuffledp.audit.saved import digest_of
from shuffledp.cli import main
from shuffledp.errors import ParameterError

K = sd.KRR(k=4, eps0=1.0)
PLAN = AuditPlan(randomizer=K, reports=400, alpha=0.01, n=100, deltas=(1e-6,))
MIXED = ShufflerPlan(messages=64, batches=6, shards=4, minimum=20, alpha=0.01, dummies=5)


def mixer(messages, generator=random.Random(0)):  # noqa: B008
    """A uniform order with five dummies."""
    out = [*messages, *(f"dummy {generator.random()}" for _ in range(5))]
    return generator.sample(out, len(out)) if len(messages) >= 20 else []


@pytest.fixture(scope="module")
def whole():
    inner = programs.honest(K)
    program = audit(lambda v: inner(np.asarray(v) % 4), PLAN, outside=True)
    parts = {"program": program, "shuffler": audit_shuffler(mixer, MIXED)}
    return json.loads(json.dumps(Saved(parts, {"by": "a test"}).to_dict()))


def written(tmp_path, table, *, signed=False):
    path = tmp_path / "a.json"
    if signed:
        table["sha256"] = digest_of(table["parts"])
    path.write_text(json.dumps(table))
    return path


def test_every_part_is_judged_again_from_its_counts_alone(whole, tmp_path):
    saved = read_saved(written(tmp_path, whole))
    assert list(saved.parts) == ["program", "shuffler"]
    assert json.loads(json.dumps(saved.to_dict())) == whole
    assert saved.verdict == whole["verdict"] == "not refuted"
    assert "## Not checked" in saved.text()
    # Nothing but plans and counts is used: all else comes out the same.
    edited = copy.deepcopy(whole)
    for part in edited["parts"].values():
        part.update(findings=[], bounds=[], verdict="refuted")
    again = read_saved(written(tmp_path, edited, signed=True))
    assert json.loads(json.dumps(again.to_dict()))["parts"] == whole["parts"]


EDITS = {
    "a verdict": lambda t: t.update(verdict="refuted"),
    "a p-value": lambda t: t["parts"]["program"]["findings"][5].update(p=0.123),
    "a count": lambda t: t["parts"]["program"]["tally"]["counts"][0].__setitem__(0, 1),
    "a place": lambda t: t["parts"]["shuffler"]["tally"]["positions"][0].__setitem__(0, 9),
    "the level": lambda t: t["parts"]["program"]["plan"].update(alpha=0.5),
    "a key more": lambda t: t.update(certified=True),
    "no parts": lambda t: t.update(parts={}, sha256=digest_of({})),
}


@pytest.mark.parametrize("edit", EDITS)
def test_damage_is_said_in_one_line(whole, tmp_path, edit):
    table = copy.deepcopy(whole)
    EDITS[edit](table)
    done = CliRunner().invoke(main, ["audit", str(written(tmp_path, table))])
    assert done.exit_code == 2
    assert done.output.count("\n") == 1


def test_a_verdict_that_does_not_follow_from_the_counts_is_said(whole, tmp_path):
    table = copy.deepcopy(whole)
    row = table["parts"]["program"]["tally"]["counts"][0]
    row[:] = [row[0] + row[3], row[1], row[2], 0, 0]
    path = written(tmp_path, table, signed=True)
    with pytest.raises(ParameterError, match="'refuted' follows from the counts"):
        read_saved(path)


@pytest.mark.parametrize("change", [lambda row: row[:-1], lambda row: [-1, *row[1:]], lambda _: 3])
def test_counts_of_another_shape_are_refused_by_name(whole, tmp_path, change):
    table = copy.deepcopy(whole)
    counts = table["parts"]["program"]["tally"]["counts"]
    counts[0] = change(counts[0])
    with pytest.raises(ParameterError, match=r"tally\.counts"):
        read_saved(written(tmp_path, table, signed=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "shuffledp-audit/3"),
        ('{"format": "shuffledp-audit/2"}', "shuffledp-audit/3"),
        ('{"format": "shuffledp-audit/3"}', "the keys"),
        ('{"format": NaN}', "a finite one"),
        ("[" * 100_000, "a file of an audit"),
        ("9" * 5_000, "a file of an audit"),
    ],
)
def test_files_that_are_no_audit(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_text(text)
    done = CliRunner().invoke(main, ["audit", str(path)])
    assert done.exit_code == 2
    assert said in done.output
    assert done.output.count("\n") == 1


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
    where = table["parts"][data.draw(st.sampled_from(["program", "shuffler"]))]
    where = where[data.draw(st.sampled_from(["plan", "tally"]))]
    for _ in range(data.draw(st.integers(0, 2))):
        keys = list(where if isinstance(where, dict) else range(len(where)))
        inner = [k for k in keys if isinstance(where[k], dict | list) and where[k]]
        if not inner:
            break
        where = where[data.draw(st.sampled_from(inner))]
    keys = list(where) if isinstance(where, dict) else list(range(len(where)))
    where[data.draw(st.sampled_from(keys))] = data.draw(LEAVES)
    path = written(tmp_path_factory.mktemp("edited"), table, signed=True)
    with contextlib.suppress(ParameterError):
        read_saved(path)


def test_a_file_whose_work_doubles_with_each_input_is_refused_at_once(tmp_path):
    """500 bytes, 32 inputs of a mechanism whose reports support some of them: it never ended."""
    plan = AuditPlan(randomizer=sd.RAPPOR(d=40, eps0=1.0), inputs=tuple(range(32))).to_dict()
    parts = {"program": {"plan": plan, "tally": {}}}
    table = {"format": "shuffledp-audit/3", "source": {}, "verdict": "refuted", "parts": parts}
    done = CliRunner().invoke(main, ["audit", str(written(tmp_path, table, signed=True))])
    assert done.exit_code == 2
    assert "at most 8 different inputs of rappor" in done.stderr
    assert done.stderr.count("\n") == 1
