"""Reports of audits."""

import sys

import pytest
from click.testing import CliRunner

import shuffledp as sd
from audit.test_command import CLIENT
from shuffledp.audit import AuditPlan, Saved, ShufflerPlan, audit, audit_shuffler
from shuffledp.cli import main
from shuffledp.review import audit_report, to_html, to_markdown

DEPLOYMENT = """
title = "Four answers"
[population]
users = 40
[randomizer]
name = "k-rr"
k = 4
eps0 = 1.0
[target]
delta = 1e-6
"""
CLAIMED = sd.KRR(k=4, eps0=1.0)
HOSTILE = "<script>alert(1)</script> [x](https://example.org) | ` \u202e"


@pytest.fixture(scope="module")
def saved():
    plan = AuditPlan(randomizer=CLAIMED, reports=400, n=50, deltas=(1e-6,), alpha=0.01)
    program = audit(lambda v: sd.KRR(k=4, eps0=2.5).randomize(v % 4), plan, outside=True)
    parts = {
        "program": program,
        "shuffler": audit_shuffler(list, ShufflerPlan(messages=32, batches=4, alpha=0.01)),
    }
    return Saved(parts, {"command": HOSTILE})


def test_a_report_of_its_own_says_what_the_audit_says_and_escapes_it(saved):
    document = audit_report(saved, date="2026-11-23")
    html, markdown = to_html(document), to_markdown(document)
    for text in (html, markdown):
        assert "passed" not in text
        assert "Refuted" in text
        assert "\u202e" not in text
        for title in ("One report", "Taken, though outside the domain", "The shuffler"):
            assert title in text
        lower = saved.parts["program"].lower.lower
        assert f"{int(lower * 1e6) / 1e6:.6f}" in text
        assert "neighbours in the same order" in text
    assert "<script" not in html
    assert "https" not in html.split("</style>")[1].replace("https://example.org", "")
    assert html.count("<h2") >= 4


def test_not_refuted_is_no_success():
    plan = AuditPlan(randomizer=CLAIMED, reports=200, alpha=1e-9)
    calm = Saved({"program": audit(CLAIMED.randomize, plan)})
    html = to_html(audit_report(calm, date="2026-11-23"))
    assert 'class="status met"' not in html
    assert html.index('class="status none"') < html.index("<strong>Not refuted</strong>")
    assert "no number of reports can" in html


def test_the_commands_own_report(tmp_path):
    toml, page = tmp_path / "d.toml", tmp_path / "a.html"
    toml.write_text(DEPLOYMENT)
    program = tmp_path / "c.py"
    program.write_text(CLIENT.replace("EPS0", "1.0").replace("SEED", "None"))
    command = f"{sys.executable} {program}"
    words = ["audit", str(toml), "--command", command, "-N", "200", "--alpha", "1e-9"]
    output, more = str(tmp_path / "a.json"), str(tmp_path / "a.md")
    options = ["--report", str(page), "--report", more, "--output", output]
    assert CliRunner().invoke(main, [*words, *options]).exit_code == 0
    assert "sha256" in page.read_text()
