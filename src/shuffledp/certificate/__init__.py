"""Certificates: what was claimed of a deployment and why, as JSON that can be checked.

``shuffledp.certificate.verifier`` checks one; it is apart because it issues nothing.
"""

from __future__ import annotations

from shuffledp.certificate.crowd_issue import issue_crowd
from shuffledp.certificate.crowd_model import CrowdCertificate, crowd_dict, crowd_json, read_any
from shuffledp.certificate.files import read
from shuffledp.certificate.issue import issue
from shuffledp.certificate.model import (
    Certificate,
    Claim,
    ComposedClaim,
    Release,
    Scenario,
    checksum,
    to_dict,
    to_json,
)
from shuffledp.certificate.standing import refuse_other

__all__ = [
    "Certificate",
    "Claim",
    "ComposedClaim",
    "CrowdCertificate",
    "Release",
    "Scenario",
    "checksum",
    "crowd_dict",
    "crowd_json",
    "issue",
    "issue_crowd",
    "read",
    "read_any",
    "refuse_other",
    "to_dict",
    "to_json",
]
