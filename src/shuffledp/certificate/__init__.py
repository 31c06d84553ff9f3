"""Certificates: what was claimed of a deployment and why, as JSON that can be checked.

``shuffledp.certificate.verifier`` checks one; it is apart because it needs python-flint.
"""

from __future__ import annotations

from shuffledp.certificate.issue import issue
from shuffledp.certificate.model import Certificate, Claim, Scenario, checksum, read, to_json

__all__ = ["Certificate", "Claim", "Scenario", "checksum", "issue", "read", "to_json"]
