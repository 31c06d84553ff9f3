"""Audits as files: for each part its plan, all raw counts, and what followed from them.

A file that is read is taken at its word: its verdict follows from its p-values, and nothing is
computed from its counts. Whoever doubts it asks the program again, with the plan's seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shuffledp.audit.plan import AuditPlan
from shuffledp.audit.result import NOT_REFUTED, REFUTED, Result, from_table, result_from_dict
from shuffledp.audit.shuffler import ShufflerPlan
from shuffledp.errors import ParameterError, ShuffleDPError, rejected, unreadable
from shuffledp.review import audit_report, to_markdown

SAVED_FORMAT = "shuffledp-audit/5"
_PLANS: dict[str, type[Any]] = {"program": AuditPlan, "shuffler": ShufflerPlan}


@dataclass(frozen=True)
class Saved:
    """The parts of an audit.

    Attributes
    ----------
    parts : dict of str to Result
        By their names: program, shuffler.
    source : dict
        Where the reports came from, and what made the file; nothing is computed from it.
    is_read : bool
        Whether a file said it: then its p-values and bounds were not computed from its counts.
    """

    parts: Mapping[str, Result]
    source: Mapping[str, Any] = field(default_factory=dict)
    is_read: bool = False

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


def read_saved(path: str | Path) -> Saved:
    """A saved audit, as its file says it.

    Raises
    ------
    ParameterError
        If it is no file of an audit.
    """
    name = f"audit {str(path)!r}"
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_number)
        if not isinstance(table, dict) or table.get("format") != SAVED_FORMAT:
            raise rejected("file", "another one", f"one of the format {SAVED_FORMAT}")
        parts = {key: _part(key, one) for key, one in table["parts"].items()}
        if not parts:
            raise rejected("parts", "none", f"some of {', '.join(_PLANS)}")
        saved = Saved(parts, dict(table["source"]), is_read=True)
        if saved.verdict != table["verdict"]:
            said = f"{table['verdict']!r} is said, {saved.verdict!r} follows from the p-values"
            raise ParameterError(f"verdict: {said}")
        saved.text()  # what cannot be shown is no audit
    except ShuffleDPError as error:
        raise ParameterError(f"{name}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name}: {unreadable(error)}") from None
    except json.JSONDecodeError as error:
        raise ParameterError(f"{name}: not JSON (line {error.lineno})") from None
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError):
        raise rejected(name, "other content", "a file of an audit") from None
    return saved


def _part(name: str, table: Mapping[str, Any]) -> Result:
    return result_from_dict(table, from_table(_PLANS[name], f"{name}.plan", table["plan"]))


def _no_number(text: str) -> float:
    raise rejected("number", text, "a finite one")
