"""Audits as files: for each part its plan, all raw counts, and what followed from them.

Whoever doubts a file asks the program again, with the plan's seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shuffledp.audits.result import NOT_REFUTED, REFUTED, Result
from shuffledp.review import audit_report, to_markdown

SAVED_FORMAT = "shuffledp-audit/5"


@dataclass(frozen=True)
class Saved:
    """The parts of an audit.

    Attributes
    ----------
    parts : dict of str to Result
        By their names: program, shuffler.
    source : dict
        Where the reports came from, and what made the file; nothing is computed from it.
    """

    parts: Mapping[str, Result]
    source: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Refuted if any part is."""
        refuted = any(part.verdict == REFUTED for part in self.parts.values())
        return REFUTED if refuted else NOT_REFUTED

    def to_dict(self) -> dict[str, Any]:
        """For files: plans, raw counts, and what follows from them."""
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        head = {"format": SAVED_FORMAT, "source": dict(self.source), "verdict": self.verdict}
        return {**head, "parts": parts}

    def text(self) -> str:
        """For a reader, in Markdown."""
        return to_markdown(audit_report(self))
