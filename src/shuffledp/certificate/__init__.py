"""Certificates: what was claimed of a deployment and why, as JSON that can be checked.

``shuffledp.certificate.verifier`` checks one; it is apart because it needs python-flint.
"""

from __future__ import annotations

from shuffledp.certificate.issue import issue
from shuffledp.certificate.model import (
    Certificate,
    Claim,
    ComposedClaim,
    Release,
    Scenario,
    checksum,
    read,
    to_dict,
    to_json,
)

__all__ = [
    "Certificate",
    "Claim",
    "ComposedClaim",
    "Release",
    "Scenario",
    "checksum",
    "issue",
    "read",
    "to_dict",
    "to_json",
]
