"""Audits in reports: on their own, and as a section of a deployment's."""

import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.audit import (
    AuditPlan,
    EstimatesPlan,
    Saved,
    ShufflerPlan,
    audit,
    audit_domain,
    audit_estimates,
    audit_shuffler,
    plan_from_dict,
    result_of,
    tally_from_dict,
    unknown,
)
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
    program = audit(sd.KRR(k=4, eps0=2.5).randomize, plan)
    batches = EstimatesPlan(audit=plan, batches=5, users=20, alpha=0.01)
    parts = {
        "program": program,
        "outside": audit_domain(lambda v: v % 4, plan, program.tally, alpha=0.01),
        "estimates": audit_estimates(CLAIMED.randomize, batches),
        "shuffler": audit_shuffler(list, ShufflerPlan(messages=32, batches=4, alpha=0.01)),
        "unknown": unknown(CLAIMED.randomize, (0, 1), reports=400, epsilons=(0.1,), claimed=2.0),
    }
    return Saved(parts, {"command": HOSTILE}, not_checked=("nothing",))


def test_a_report_of_its_own_says_what_the_audit_says_and_escapes_it(saved):
    document = audit_report(saved, date="2026-11-23")
    html, markdown = to_html(document), to_markdown(document)
    for text in (html, markdown):
        assert "passed" not in text
        assert "Refuted" in text
        assert "At most" not in text
        assert "\u202e" not in text
        for title in ("One report", "Values outside the domain", "Estimates", "The shuffler"):
            assert title in text
        lower = saved.parts["program"].lower.lower
        assert f"{int(lower * 1e4) / 1e4:.4f}" in text
        assert "neighbours in the same order" in text
        assert "Not checked" in text
    assert "<script" not in html
    assert "https" not in html.split("</style>")[1].replace("https://example.org", "")
    assert html.count("<h2") >= 7


def test_not_refuted_is_no_success_and_an_unfinished_audit_says_so():
    plan = AuditPlan(randomizer=CLAIMED, reports=200, alpha=1e-9)
    calm = Saved({"program": audit(CLAIMED.randomize, plan)}, {}, stopped=True)
    html = to_html(audit_report(calm, date="2026-11-23"))
    assert 'class="status met"' not in html
    assert 'class="status none"><strong>Not refuted' in html
    assert "no number of reports can" in html
    assert "Not done." in html


@pytest.mark.long
def test_the_section_of_a_deployments_report(saved, tmp_path):
    toml, report = tmp_path / "d.toml", tmp_path / "r.html"
    toml.write_text(DEPLOYMENT)
    audited = tmp_path / "a.json"
    audited.write_text(json.dumps(saved.to_dict()))
    words = ["account", str(toml), "--figure", "none", "--out", str(tmp_path)]
    done = CliRunner().invoke(main, [*words, "--report", str(report), "--audit", str(audited)])
    assert done.exit_code == 0
    text = report.read_text()
    assert "Audit of the program" in text
    assert "Made with another deployment file" in text
    # Its bounds after shuffling are of 50 messages, the deployment's of 40.
    assert "are of 50 messages, which are not this deployment&#x27;s" in text
    assert "Central eps after shuffling" not in text
    toml.write_text(DEPLOYMENT.replace("40", "50"))
    done = CliRunner().invoke(main, [*words, "--report", str(report), "--audit", str(audited)])
    assert "Central eps after shuffling 50 messages" in report.read_text()
    assert text.index("Verification") < text.index("Audit of the program")
    assert text.index("The program is refuted.") < text.index("What is certified")
    alone = CliRunner().invoke(main, [*words, "--audit", str(audited)])
    assert alone.exit_code == 2
    assert "--report beside it" in alone.output
    toml.write_text(DEPLOYMENT.replace("k = 4", "k = 5"))
    other = CliRunner().invoke(main, [*words, "--report", str(report), "--audit", str(audited)])
    assert other.exit_code == 2
    assert "an audit of a deployment that is reported on" in other.output


def test_the_commands_own_report(tmp_path):
    toml, page = tmp_path / "d.toml", tmp_path / "a.html"
    toml.write_text(DEPLOYMENT)
    words = ["audit", "--deployment", str(toml), "--own", "-N", "200", "--alpha", "1e-9"]
    output, more = str(tmp_path / "a.json"), str(tmp_path / "a.md")
    options = ["--delta", "1e-6", "--report", str(page), "--report", more, "--output", output]
    assert CliRunner().invoke(main, [*words, *options]).exit_code == 0
    assert "sha256" in page.read_text()
    report = str(tmp_path / "r.md")
    words = ["account", str(toml), "--figure", "none", "--out", str(tmp_path), "--report", report]
    assert CliRunner().invoke(main, [*words, "--audit", output]).exit_code == 0
    text = (tmp_path / "r.md").read_text()
    assert "Audit of the program" in text
    assert "another deployment file" not in text
    assert "The program is refuted" not in text
    # With the same file it has this file's messages, and the level is divided as always.
    table = json.loads((tmp_path / "a.json").read_text())
    for key, value, said in (
        ("n", 10**12, "n = 1000000000000: wanted 40"),
        ("spend", [0, 0, 0], "spend"),
    ):
        edited = json.loads(json.dumps(table["parts"]["program"]["plan"])) | {key: value}
        plan = plan_from_dict(edited)
        part = result_of(plan, tally_from_dict(table["parts"]["program"]["tally"], plan))
        forged = Saved({"program": part}, table["source"]).to_dict()
        (tmp_path / "a.json").write_text(json.dumps(forged))
        found = CliRunner().invoke(main, [*words, "--audit", output])
        assert found.exit_code == 2
        assert said in found.stderr
        assert found.stderr.count("\n") == 1
