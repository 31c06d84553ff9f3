"""Certificates: what was claimed of a deployment and why, as JSON that can be checked.

``shuffledp.certificate.verifier`` checks one; it is apart because it issues nothing.
"""

from __future__ import annotations

from shuffledp.certificate.files import read
from shuffledp.certificate.issue import account, issue
from shuffledp.certificate.model import (
    Certificate,
    Claim,
    Members,
    Release,
    checksum,
    to_dict,
    to_json,
)

__all__ = [
    "Certificate",
    "Claim",
    "Members",
    "Release",
    "account",
    "checksum",
    "issue",
    "read",
    "to_dict",
    "to_json",
]
