"""Whether a deployment meets its file's limit, and what a verifier said of its certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.bound import shown_end
from shuffledp.review.claims import DIGITS, WORDS

Kind = Literal["met", "missed", "open"]
_TITLES: dict[Kind, str] = {
    "met": "Target met",
    "missed": "Target missed",
    "open": "Target not shown to be met",
}


@dataclass(frozen=True)
class Case:
    """Both ends in one situation in which the shuffler works, after all rounds.

    Attributes
    ----------
    name : str
        The situation.
    lower, upper : float
        ``upper`` is infinite where nothing is certified.
    log_upper, log_lower : float or None
        Of a delta, where they are known.
    """

    name: str
    lower: float
    upper: float
    log_lower: float | None = None
    log_upper: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The limit of a deployment file against its numbers: "met", "missed" or "open"."""

    kind: Kind
    words: str

    @property
    def title(self) -> str:
        """In three words."""
        return _TITLES[self.kind]


def judged(target: Any, cases: Sequence[Case]) -> Verdict | None:
    """The verdict, or None where the file sets no limit.

    It is met if every upper end is at most the limit, and missed if a lower end is above it.
    Between the two, nobody knows: the limit is not shown to be met.

    Parameters
    ----------
    target : Target
        Of the deployment file.
    cases : sequence of Case
        As it runs, and at the minimum batch if there is one.
    """
    limit = target.at_most
    if limit is None:
        return None
    word = WORDS[target.quantity]
    wanted = f"wanted at most {limit!r}"
    missed = [case for case in cases if case.lower > limit]
    if missed:
        case = max(missed, key=lambda one: one.lower)
        low = _shown(target.quantity, case.lower, case.log_lower, up=False)
        return Verdict("missed", f"{word} >= {low} ({case.name}), {wanted}")
    case = max(cases, key=lambda one: (one.upper, one.log_upper or -math.inf))
    high = _shown(target.quantity, case.upper, case.log_upper, up=True)
    said = f"{word} <= {high} ({case.name})"
    if case.upper <= limit:
        return Verdict("met", f"{said}, {wanted}")
    if math.isinf(case.upper):
        said = f"no finite upper end ({case.name})"
    low = _shown(target.quantity, case.lower, case.log_lower, up=False)
    return Verdict("open", f"{said}, and {word} >= {low}; {wanted}")


def _shown(quantity: str, value: float, log: float | None, *, up: bool) -> str:
    return shown_end(quantity, value, log, up=up, digits=DIGITS[quantity])


@dataclass(frozen=True)
class Verified:
    """What the verifier said of a certificate.

    Attributes
    ----------
    checks : sequence of Check
        Every claim, and what became of it.
    left : sequence of str
        What it did not check.
    by : str
        The verifier and its version.
    """

    checks: Sequence[Any]
    left: Sequence[str]
    by: str

    @property
    def kind(self) -> Kind:
        """As a target: all hold, one does not, or some could not be decided."""
        verdicts = {check.verdict for check in self.checks}
        if "does not hold" in verdicts:
            return "missed"
        return "open" if "undecided" in verdicts else "met"
