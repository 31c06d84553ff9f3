"""Audits as files: everything that was counted, judged again by whoever reads it.

A file has, for each part, its plan, its raw counts, and what followed from them. Whoever reads it
computes the latter again: nothing but plans, counts and the source is used. What cannot be computed
again is said (``not_checked``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shuffledp.audit.judge import result_of
from shuffledp.audit.plan import plan_from_dict
from shuffledp.audit.result import NOT_REFUTED, REFUTED, Result, table_of
from shuffledp.audit.shuffler import shuffler_from_dict
from shuffledp.audit.tally import tally_from_dict
from shuffledp.errors import ParameterError, ShuffleDPError, rejected, unreadable
from shuffledp.review import audit_report, to_markdown

SAVED_FORMAT = "shuffledp-audit/3"
PROGRAM, SHUFFLER = "program", "shuffler"
_NEVER_CHECKED = (
    "that the counts are those of the program that is named, and that its reports were independent"
)


@dataclass(frozen=True)
class Saved:
    """The parts of an audit.

    Attributes
    ----------
    parts : dict of str to Result
        By their names: program, shuffler.
    source : dict
        Where the reports came from, and what made the file; nothing is computed from it.
    read : bool
        Whether it was read from a file: then it is said what could not be computed again.
    """

    parts: Mapping[str, Result]
    source: Mapping[str, Any] = field(default_factory=dict)
    read: bool = False

    @property
    def verdict(self) -> str:
        """Refuted if any part is."""
        refuted = any(part.verdict == REFUTED for part in self.parts.values())
        return REFUTED if refuted else NOT_REFUTED

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What a file says that could not be computed again."""
        left = [words for part in self.parts.values() for words in part.not_checked]
        return (_NEVER_CHECKED, *left) if self.read else ()

    def to_dict(self) -> dict[str, Any]:
        """For files: plans, raw counts, and what follows from them."""
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        head = {"format": SAVED_FORMAT, "source": dict(self.source), "verdict": self.verdict}
        return {**head, "sha256": digest_of(parts), "parts": parts}

    def text(self) -> str:
        """For a reader, in Markdown."""
        return to_markdown(audit_report(self))


def read_saved(path: str | Path) -> Saved:
    """Judge a saved audit again from its raw counts.

    Raises
    ------
    ParameterError
        If it is no file of an audit, if it was damaged, or if its verdict does not follow.
    """
    name = f"audit {str(path)!r}"
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_number)
        if not isinstance(table, dict) or table.get("format") != SAVED_FORMAT:
            raise rejected("file", "another one", f"one of the format {SAVED_FORMAT}")
        table_of("audit", table, ("format", "source", "verdict", "sha256", "parts"))
        if table["sha256"] != digest_of(table["parts"]):
            raise ParameterError("its content is not what was saved (sha256)")
        saved = Saved(_judged(table["parts"]), dict(table["source"]), read=True)
        if saved.verdict != table["verdict"]:
            said = f"{table['verdict']!r} is said, {saved.verdict!r} follows from the counts"
            raise ParameterError(f"verdict: {said}")
    except ShuffleDPError as error:
        raise ParameterError(f"{name}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name}: {unreadable(error)}") from None
    except json.JSONDecodeError as error:
        raise ParameterError(f"{name}: not JSON (line {error.lineno})") from None
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError):
        raise rejected(name, "other content", "a file of an audit") from None
    return saved


def _no_number(text: str) -> float:
    raise rejected("number", text, "a finite one")


def digest_of(parts: Mapping[str, Any]) -> str:
    """SHA-256 of all that a file says of its parts.

    It shows damage. It is no signature: whoever changes counts on purpose writes it anew.
    """
    content = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def program_from_dict(table: Any) -> Result:
    """Judge saved counts of a program again."""
    plan = plan_from_dict(table["plan"])
    tally, found = tally_from_dict(table["tally"], plan)
    return result_of(plan, tally, found=found)


_JUDGES: dict[str, Callable[[Any], Result]] = {
    PROGRAM: program_from_dict,
    SHUFFLER: shuffler_from_dict,
}


def _judged(given: Mapping[str, Any]) -> dict[str, Result]:
    """Every part, from its plan and counts alone."""
    if not given or set(given) - set(_JUDGES):
        raise rejected("parts", ", ".join(given) or "none", f"some of {', '.join(_JUDGES)}")
    return {name: judge(given[name]) for name, judge in _JUDGES.items() if name in given}
