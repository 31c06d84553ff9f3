"""Whether a deployment meets its file's limit, and what a verifier said of its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.bound import WORDS
from shuffledp.certificate.members import Ends

Kind = Literal["met", "missed", "open"]
_TITLES: dict[Kind, str] = {
    "met": "Target met",
    "missed": "Target missed",
    "open": "Target not shown to be met",
}


@dataclass(frozen=True)
class Verdict:
    """The limit of a deployment file against its numbers: "met", "missed" or "open"."""

    kind: Kind
    words: str

    @property
    def title(self) -> str:
        """In three words."""
        return _TITLES[self.kind]


def judged(target: Any, found: Sequence[tuple[str, Ends]]) -> Verdict | None:
    """The verdict, or None where the file sets no limit.

    It is met if every upper end is at most the limit, and missed if a lower end is above it.
    Between the two, nobody knows: the limit is not shown to be met.

    Parameters
    ----------
    target : Target
        Of the deployment file.
    found : sequence of (name, Ends)
        After all rounds, as it runs, and at the minimum batch if there is one.
    """
    limit = target.at_most
    if limit is None:
        return None
    word = WORDS[target.quantity]
    wanted = f"wanted at most {limit!r}"
    missed = [(ends.lower.value, k) for k, (_, ends) in enumerate(found) if _above(ends, limit)]
    if missed:
        name, ends = found[max(missed)[1]]
        return Verdict("missed", f"{word} >= {ends.shown('lower')} ({name}), {wanted}")
    name, ends = max(found, key=lambda one: one[1].height)
    said = f"no finite upper end ({name})"
    if ends.upper.value is not None:
        said = f"{word} <= {ends.shown('upper')} ({name})"
        if ends.upper.value <= limit:
            return Verdict("met", f"{said}, {wanted}")
    return Verdict("open", f"{said}, and {word} >= {ends.shown('lower')}; {wanted}")


def _above(ends: Ends, limit: float) -> bool:
    return (ends.lower.value or 0.0) > limit


def checked(checks: Any) -> Kind:
    """What a verifier found, as a target: all hold, one does not, or some were not decided."""
    if "does not hold" in checks.verdicts:
        return "missed"
    return "open" if "undecided" in checks.verdicts else "met"
