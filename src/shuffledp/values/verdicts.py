"""What a verifier says of all claims together, in one line."""

from __future__ import annotations

from collections.abc import Sequence


def headline(verdicts: Sequence[str]) -> str:
    """One line: VERIFIED only where every claim was recomputed and holds.

    Parameters
    ----------
    verdicts : sequence of {"holds", "does not hold", "undecided"}
        One for each claim.
    """
    if not verdicts:
        return "UNDECIDED: there is no claim to recompute"
    failed, undecided = verdicts.count("does not hold"), verdicts.count("undecided")
    if failed:
        return f"NOT VERIFIED: {failed} of {len(verdicts)} claims do not hold"
    if undecided:
        return f"UNDECIDED: {undecided} of {len(verdicts)} claims could not be decided"
    return f"VERIFIED: all {len(verdicts)} claims hold"
