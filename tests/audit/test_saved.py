"""Saved audits: read as they were written; other files are refused in one line."""

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp as sd
from audit import programs
from shuffledp.audit import AuditPlan, Saved, ShufflerPlan, audit, audit_shuffler, read_saved
from shuffledp.cli import main

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


def written(tmp_path, table):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(table))
    return path


def test_what_is_written_is_read_again(whole, tmp_path):
    saved = read_saved(written(tmp_path, whole))
    assert list(saved.parts) == ["program", "shuffler"]
    assert json.loads(json.dumps(saved.to_dict())) == whole
    assert saved.verdict == whole["verdict"] == "not refuted"
    shown = CliRunner().invoke(main, ["audit", str(written(tmp_path, whole))])
    assert (shown.exit_code, shown.stdout) == (0, saved.text())
    # What was not checked is said of a file, and of nothing that was computed now.
    assert "Not checked: p-values and bounds" in saved.text()
    assert "Not checked" not in Saved(saved.parts, saved.source).text()
