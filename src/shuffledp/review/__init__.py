"""A report that a reviewer can sign: a certificate in plain words, as HTML or Markdown.

It says nothing that the certificate does not: numbers are the certificate's, rounded outward as on
the command line, and a verdict is only one that the verifier gave.
"""

from __future__ import annotations

from shuffledp.review.audits import audit_report
from shuffledp.review.cautions import BY_DEFAULT, NAMES, Caution, cautions, check_names, verdict_of
from shuffledp.review.content import report, summary
from shuffledp.review.entry import Entry
from shuffledp.review.html import to_html
from shuffledp.review.markdown import to_markdown
from shuffledp.review.terminal import to_text, wrapped
from shuffledp.review.verdict import judged

__all__ = [
    "BY_DEFAULT",
    "NAMES",
    "Caution",
    "Entry",
    "audit_report",
    "cautions",
    "check_names",
    "judged",
    "report",
    "summary",
    "to_html",
    "to_markdown",
    "to_text",
    "verdict_of",
    "wrapped",
]
