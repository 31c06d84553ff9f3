"""Reports of audits."""

import pytest

import shuffledp as sd
from shuffledp.audits import AuditPlan, Saved, ShufflerPlan, audit, audit_shuffler
from shuffledp.review import audit_report, to_html, to_markdown

CLAIMED = sd.KRR(k=4, eps0=1.0)
HOSTILE = "<script>alert(1)</script> [x](https://example.org) | ` \u202e"


@pytest.fixture(scope="module")
def saved():
    plan = AuditPlan(randomizer=CLAIMED, reports=400, n=50, deltas=(1e-6,), alpha=0.01)
    program = audit(lambda v: sd.KRR(k=4, eps0=2.5).randomize(v % 4), plan)
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
        for title in ("One report", "The shuffler"):
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
