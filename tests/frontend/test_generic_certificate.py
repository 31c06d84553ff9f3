"""Certificates of ``generic``: the lower end names the member of the family it is of."""

import pytest

from frontend.test_verify_all import claims
from frontend.test_verify_forged import certificate, first, verdicts


def lower(found):
    return first(found, "lower ep")


@pytest.mark.parametrize(
    ("eps0", "users", "member"), [(1.5, 5000, "3-rr"), (0.3, 5000, "binary-rr")]
)
def test_the_member_is_written_down_and_checked(tmp_path, eps0, users, member):
    content = certificate(tmp_path, "generic", f"eps0 = {eps0}", users=users)
    (claim,) = claims(content, 0, "lower")
    assert claim["witness"]["member"] == member
    assert {c.verdict for c in verdicts(tmp_path, content)} == {"holds"}
    # The other member has less to show for it.
    claim["witness"]["member"] = "binary-rr" if member == "3-rr" else "3-rr"
    claim["witness"]["x2"] = 0 if member == "3-rr" else 2
    assert lower(verdicts(tmp_path, content)).verdict == "does not hold"


def test_a_certificate_without_a_member_is_refused(tmp_path):
    """A reader could not tell whose lower end it is."""
    content = certificate(tmp_path, "generic", "eps0 = 0.3", users=5000)
    (claim,) = claims(content, 0, "lower")
    del claim["witness"]["member"]
    assert lower(verdicts(tmp_path, content)).verdict == "does not hold"
    content = certificate(tmp_path, "generic", "eps0 = 1.5", users=5000)
    (claim,) = claims(content, 0, "lower")
    del claim["witness"]["member"]
    assert lower(verdicts(tmp_path, content)).verdict != "holds"


def test_one_mechanism_has_no_members(tmp_path):
    content = certificate(tmp_path, "k-rr", "k = 4\neps0 = 1.0")
    (claim,) = claims(content, 0, "lower")
    assert "member" not in claim["witness"]
    claim["witness"]["member"] = "binary-rr"
    found = lower(verdicts(tmp_path, content))
    assert found.verdict != "holds"
    assert "member" in found.how
