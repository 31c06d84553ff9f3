"""Checks: what a verifier found, a claim at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from shuffledp.values.notebook import Record, Sheet, Shown

__all__ = ["CITED", "Check", "Checks", "Verdict", "said"]

Verdict = Literal["holds", "does not hold", "undecided"]
CITED = (
    "Theorems are cited, not proved again: that each analysis is valid and that the "
    "pairs of inputs looked at dominate all others is what the certificate's sources say."
)


@dataclass(frozen=True)
class Check:
    """One claim and what became of it.

    Attributes
    ----------
    scenario : str
        "now", "minimum batch", "shuffler fails", "aggregator fails", or "file" for what concerns
        all of it.
    claim : str
        What is claimed, in words.
    verdict : {"holds", "does not hold", "undecided"}
        "does not hold" means that the cited analysis does not give this number, or that something
        said beside it is not so.
    how : str
        What was recomputed, and how far off it is.
    """

    scenario: str
    claim: str
    verdict: Verdict
    how: str

    def to_dict(self) -> dict[str, str]:
        """JSON-able form."""
        return dict(vars(self))


class Checks(Shown, list[Check]):
    """What a verifier found, one check a claim; a list that a notebook shows as a table.

    Attributes
    ----------
    left : tuple of str
        What the certificate says and nobody has checked, in words.
    """

    def __init__(self, checks: Iterable[Check], left: Iterable[str] = ()) -> None:
        super().__init__(checks)
        self.left = tuple(left)

    def headline(self) -> str:
        """One line: VERIFIED only where every claim was recomputed and holds."""
        every = self.verdicts
        if not every:
            return "UNDECIDED: there is no claim to recompute"
        failed, undecided = every.count("does not hold"), every.count("undecided")
        if failed:
            return f"NOT VERIFIED: {failed} of {len(every)} claims do not hold"
        if undecided:
            return f"UNDECIDED: {undecided} of {len(every)} claims could not be decided"
        return f"VERIFIED: all {len(every)} claims hold"

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdict of each check."""
        return [check.verdict for check in self]

    def records(self) -> list[Record]:
        """One row for each check."""
        return [check.to_dict() for check in self]

    def sheet(self) -> Sheet:
        """What a notebook shows."""
        rows = tuple(tuple(check.to_dict().values()) for check in self)
        head = ("situation", "claim", "verdict", "how")
        return Sheet(self.headline(), head, rows, (CITED,))


def said(holds: bool) -> Verdict:  # noqa: FBT001 (a yes or no is its whole meaning)
    """A yes or no as a verdict."""
    return "holds" if holds else "does not hold"
