"""Audits as files: everything that was counted, judged again by whoever reads it.

A file has, for each part, its plan, its raw counts, and what followed from them. Whoever reads it
computes the latter again and compares; what cannot be computed again is said (``not_checked``). A
checkpoint is the same file without what follows: an audit continues from it, or is judged as far
as it went.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shuffledp.audit.blackbox import unknown_from_dict
from shuffledp.audit.domain import domain_from_dict
from shuffledp.audit.estimates import estimates_from_dict
from shuffledp.audit.plan import SPEND, plan_from_dict
from shuffledp.audit.possible import in_one_call, tally_from_dict
from shuffledp.audit.result import FORMAT, result_of
from shuffledp.audit.shuffler import ALWAYS_BESIDE, shuffler_from_dict
from shuffledp.audit.words import in_markdown, one_line
from shuffledp.errors import NotCertified, ParameterError, rejected, unreadable

SAVED_FORMAT = "shuffledp-audit/2"
PROGRAM, OUTSIDE, ESTIMATES = "program", "outside", "estimates"
SHUFFLER, UNKNOWN = "shuffler", "unknown"
# In the order in which they are made and read.
PARTS = (PROGRAM, OUTSIDE, ESTIMATES, SHUFFLER, UNKNOWN)
# Numbers that other versions of SciPy compute a little otherwise.
_CLOSE = 1e-6
_NEVER_CHECKED = (
    "that the counts are those of the program that is named, and that its reports were independent"
)


@dataclass(frozen=True)
class Saved:
    """The parts of an audit.

    Attributes
    ----------
    parts : dict of str to result
        By their names: program, outside, estimates, shuffler, unknown.
    source : dict
        Where the reports came from, and what made the file; nothing is computed from it.
    stopped : bool
        Whether this is a checkpoint of an audit that is not done.
    not_checked : tuple of str
        What a file says that could not be computed again.
    """

    parts: Mapping[str, Any]
    source: Mapping[str, Any] = field(default_factory=dict)
    stopped: bool = False
    not_checked: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Refuted if any part is."""
        refuted = any(part.verdict == "refuted" for part in self.parts.values())
        return "refuted" if refuted else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        """For files: plans, raw counts, and what follows from them."""
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        return {
            "format": SAVED_FORMAT,
            **({"stopped": True} if self.stopped else {}),
            "source": dict(self.source),
            "verdict": self.verdict,
            "sha256": digest_of(parts),
            "parts": parts,
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        said = [part.text() for part in self.parts.values()]
        if self.stopped:
            said.insert(0, STOPPED_TEXT)
        if self.not_checked:
            words = "\n".join(f"- {in_markdown(words)}" for words in self.not_checked)
            said.append(f"## Not checked\n\n{words}\n")
        return "\n".join(said)


STOPPED = (
    "This audit is judged as far as it went. That holds at the stated level if when it stopped "
    "does not depend on the counts, and once: a look at it and a later result err with both levels "
    "together"
)
STOPPED_TEXT = f"**Not done.** {STOPPED}.\n"


# The keys of a file; one without a verdict is a checkpoint.
_KEYS = {"format", "stopped", "source", "verdict", "sha256", "parts"}
# What plans and counts of other kinds than an audit's lead to.
_NO_AUDIT = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
# Sources whose reports are asked for in the plan's order, call by call.
_IN_CALLS = ("command", "own")
# Sources that a program's part is made from.
_OF_PROGRAMS = (*_IN_CALLS, "reports")


def read_saved(path: str | Path) -> Saved:
    """Judge a saved audit, or a checkpoint, again from its raw counts.

    Raises
    ------
    ParameterError
        If it is no file of an audit, if its counts are impossible, or if what it says does not
        follow from them.
    """
    name = f"audit {str(path)!r}"
    table = read_table(path)
    stopped = bool(table.get("stopped", False))
    given = table["parts"]
    source = table.get("source", {})
    try:
        _check_digest(table)
        parts = _judged(given)
        _check_parts(parts, source, stopped=stopped)
        if "verdict" in table or not stopped:
            _compare(table, parts)
    except (NotCertified, ParameterError) as error:
        raise ParameterError(f"{name}: {error}") from None
    except _NO_AUDIT as error:
        raise rejected(name, type(error).__name__, "a file of an audit") from None
    left = [_NEVER_CHECKED, *_not_begun(parts, source)]
    for key, part in parts.items():
        left += _left_of(key, part)
    left += [
        f"the part {one_line(repr(key))}, which is no audit" for key in given if key not in PARTS
    ]
    return Saved(parts, source, stopped, tuple(left))


def _check_digest(table: Mapping[str, Any]) -> None:
    if "sha256" in table and table["sha256"] != digest_of(table["parts"]):
        raise ParameterError("plans and counts are not those that were saved (sha256)")


def _check_parts(parts: Mapping[str, Any], source: Mapping[str, Any], *, stopped: bool) -> None:
    """Counts that belong together: all of their plans' if the file does not say otherwise."""
    short = [key for key, part in parts.items() if not part.complete]
    if short and not stopped:
        raise ParameterError(
            f"stopped: wanted true, not all of the plan of {short[0]!r} is counted"
        )
    _check_source(parts, source, stopped=stopped)
    if PROGRAM not in parts:
        return
    main = parts[PROGRAM]
    if any(key in source for key in _IN_CALLS) and in_one_call(main.tally):
        raise rejected("tally", "those of one call", "calls of the plan, as source says")
    if "command files" in source and main.tally.written is None:
        raise rejected("tally.written", None, "how a command wrote its reports")
    if ESTIMATES in parts and parts[ESTIMATES].plan.audit.randomizer != main.plan.randomizer:
        raise rejected("estimates", "another mechanism", repr(main.plan.randomizer))


def _check_source(parts: Mapping[str, Any], source: Mapping[str, Any], *, stopped: bool) -> None:
    """What a file says it is of has its part; lines of a command have lengths and pauses."""
    for keys, wanted in (((SHUFFLER,), (SHUFFLER,)), (_OF_PROGRAMS, (PROGRAM, UNKNOWN))):
        named = any(key in source for key in keys)
        if named and not stopped and not any(key in parts for key in wanted):
            words = f"the part {' or '.join(wanted)}, as source says"
            raise rejected("parts", ", ".join(parts), words)
    if SHUFFLER in source and SHUFFLER in parts:
        tally = parts[SHUFFLER].tally
        if tally.whole and not set(ALWAYS_BESIDE) <= set(tally.traces):
            words = f"{' and '.join(ALWAYS_BESIDE)} too: every line of a command has them"
            raise rejected("shuffler.tally.traces", ", ".join(tally.traces) or "none", words)


def _not_begun(parts: Mapping[str, Any], source: Mapping[str, Any]) -> list[str]:
    """Of an audit that stopped, what its source names and nothing is counted of."""
    named = {SHUFFLER: SHUFFLER in source, PROGRAM: any(key in source for key in _OF_PROGRAMS)}
    missing = [key for key, there in named.items() if there and key not in parts]
    if UNKNOWN in parts and PROGRAM in missing:
        missing.remove(PROGRAM)
    return [f"the part {key!r}, which source names and nothing is counted of" for key in missing]


def _compare(table: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Everything that is said against what follows from the counts."""
    again = {key: part.to_dict() for key, part in parts.items()}
    saved = {key: table["parts"][key] for key in parts}
    differences = _differences("parts", saved, again)
    said, judged = table.get("verdict"), Saved(parts).verdict
    if said != judged:
        differences.insert(
            0, f"verdict: {_brief(said)} is said, {_brief(judged)} follows from the counts"
        )
    if differences:
        more = f"; and {len(differences) - 1:,} more" if len(differences) > 1 else ""
        raise ParameterError(f"{differences[0]}{more}")


def read_table(path: str | Path) -> dict[str, Any]:
    """What a file says; a bare result of Python's (``AuditResult.to_dict``) is its only part."""
    name = f"audit {str(path)!r}"
    try:
        text = Path(path).read_text(encoding="utf-8")
        table = json.loads(
            text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite
        )
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name}: {unreadable(error)}") from None
    except json.JSONDecodeError as error:
        raise ParameterError(f"{name}: not JSON (line {error.lineno})") from None
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise ParameterError(f"{name}: not JSON ({error})") from None
    except RecursionError:
        raise ParameterError(f"{name}: nested too deeply") from None
    if isinstance(table, dict) and table.get("format") == FORMAT:
        stopped = table.get("stopped", False)
        if not isinstance(stopped, bool):
            raise rejected(f"{name}: stopped", stopped, "true or false")
        verdict = table.get("verdict")
        return {"parts": {PROGRAM: table}, "verdict": verdict, "stopped": stopped}
    if not isinstance(table, dict) or table.get("format") != SAVED_FORMAT:
        raise rejected(name, "another file", f"one of the format {SAVED_FORMAT}")
    _check_table(name, table)
    return table


def _finite(text: str) -> float:
    """A number that JSON has: Python reads NaN, Infinity and 1e999 as well."""
    value = float(text)
    if not math.isfinite(value):
        raise rejected("number", text, "a finite one")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table whose keys occur once: of two with one name a reader may see either."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        raise rejected("keys", next(k for k in names if names.count(k) > 1), "each of them once")
    return made


def _check_table(name: str, table: dict[str, Any]) -> None:
    """The form of a saved audit."""
    if unknown := sorted(set(table) - _KEYS):
        raise rejected(f"{name}: keys", ", ".join(unknown), f"none but {', '.join(sorted(_KEYS))}")
    parts = table.get("parts")
    if not isinstance(parts, dict) or not any(key in PARTS for key in parts):
        raise rejected(name, "no parts", "some of " + ", ".join(PARTS))
    for key, part in parts.items():
        if key in PARTS and not (isinstance(part, dict) and "plan" in part and "tally" in part):
            raise rejected(name, f"no plan or no tally of {key!r}", "a plan and its tally")
    if not isinstance(table.get("sha256"), str):
        raise rejected(f"{name}: sha256", table.get("sha256"), "the SHA-256 of plans and counts")
    if not isinstance(table.get("source", {}), dict):
        raise rejected(f"{name}: source", table["source"], "a table")
    if table.get("stopped", False) not in (True, False):
        raise rejected(f"{name}: stopped", table["stopped"], "true or false")
    if table.get("stopped", False) and "verdict" not in table:
        # What says a result is compared with its counts: only a checkpoint has nothing to compare.
        every = [(key, part) for key, part in parts.items() if key in PARTS]
        said = {f"{k}.{key}" for k, part in every for key in part if key not in ("plan", "tally")}
        if said:
            wanted = "nothing but plans and counts in a checkpoint"
            raise rejected(f"{name}: stopped", ", ".join(sorted(said)), wanted)


def digest_of(parts: Mapping[str, Any]) -> str:
    """SHA-256 of all plans and raw counts: shows damage, which some tests would not notice.

    It is no signature: whoever changes counts on purpose writes it anew.
    """
    bare = {name: [part["plan"], part["tally"]] for name, part in parts.items() if name in PARTS}
    content = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def _judged(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every part, from its plan and counts alone."""
    parts: dict[str, Any] = {}
    if PROGRAM in given:
        table = given[PROGRAM]
        for key in ("plan", "tally"):
            if not isinstance(table.get(key), dict):
                raise rejected("audit", f"no {key}", "a plan and its tally")
        plan = plan_from_dict(table["plan"])
        if plan.spend != SPEND:
            raise rejected("plan.spend", plan.spend, f"{SPEND}, the parts that files are judged by")
        parts[PROGRAM] = result_of(plan, tally_from_dict(table["tally"], plan))
    if OUTSIDE in given:
        if PROGRAM not in parts:
            raise rejected("audit", f"{OUTSIDE} alone", f"{PROGRAM} beside it")
        main = parts[PROGRAM]
        parts[OUTSIDE] = domain_from_dict(given[OUTSIDE], main.plan, main.tally)
    for key, judge in (
        (ESTIMATES, estimates_from_dict),
        (SHUFFLER, shuffler_from_dict),
        (UNKNOWN, unknown_from_dict),
    ):
        if key in given:
            parts[key] = judge(given[key])
    return parts


def _left_of(key: str, part: Any) -> list[str]:
    if key == PROGRAM and in_one_call(part.tally):
        return ["in which order the reports were made, and whether in one call: their file says so"]
    if key == OUTSIDE and part.refused:
        return [f"that the program refused {len(part.refused)} values outside the domain"]
    if key == SHUFFLER:
        measured = ["how the times and lengths of messages were measured"]
        unseen = [name for name in ALWAYS_BESIDE if name not in part.tally.traces]
        missing = [f"whether the {' or '.join(unseen)} of a line tells something: not looked at"]
        left = [*(measured if part.tally.traces else []), *(missing if unseen else [])]
        return [*part.plan.uncovered, *left]
    return []


def _differences(where: str, saved: Any, again: Any) -> list[str]:
    """Where what a file says is not what follows from its counts."""
    if isinstance(again, dict) and isinstance(saved, dict):
        found = []
        for key in dict.fromkeys([*again, *saved]):
            place = f"{where}.{one_line(key)}"
            if key not in saved:
                found.append(f"{place} is missing")
            elif key not in again:
                found.append(f"{place} does not belong there")
            else:
                found += _differences(place, saved[key], again[key])
        return found
    if isinstance(again, list | tuple) and isinstance(saved, list) and len(again) == len(saved):
        pairs = enumerate(zip(saved, again, strict=True))
        return [d for i, (a, b) in pairs for d in _differences(f"{where}[{i}]", a, b)]
    if _same(saved, again):
        return []
    return [f"{where} = {_brief(saved)} is said, {_brief(again)} follows from the counts"]


def _same(saved: Any, again: Any) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (saved, again))
    if numbers and (isinstance(saved, float) or isinstance(again, float)):
        try:
            return math.isclose(saved, again, rel_tol=_CLOSE, abs_tol=1e-12)
        except OverflowError:  # a whole number beyond the floats is none of them
            return False
    return type(saved) is type(again) and bool(saved == again)


def _brief(value: Any) -> str:
    words = json.dumps(value, default=str)
    return words if len(words) <= 40 else words[:37] + "..."
