"""One analysis: its theorem, its end, for what it holds, and the function that makes its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shuffledp.analysis.side import End, Side
from shuffledp.analysis.source import Source
from shuffledp.bound import Theorem

# Of a source and n: the end as a function of delta or eps. NotCertified where it does not apply.
Make = Callable[[Source, int], Side]
# Of a source and n: yes or no.
When = Callable[[Source, int], bool]


def never(source: Source, n: int) -> bool:
    """An analysis that is tried only when its name is given."""
    del source, n
    return False


def always(source: Source, n: int) -> bool:
    """An analysis that is tried for every source."""
    del source, n
    return True


@dataclass(frozen=True)
class Analysis:
    """One way to bound the privacy of a shuffled randomizer.

    Attributes
    ----------
    key : str
        What ``analysis="..."`` takes.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        What it rests on.
    validity : str
        For what it holds.
    make : callable
        Of a source and n (users): its end. NotCertified, with the reason, where it does not apply.
    slow : bool
        Its cost grows with n; ``compare`` runs it only when asked to.
    other_end : str or None
        The analysis that gives the other end where this one is named.
    usual : callable
        Of a source and n: whether it is tried where no analysis is named.
    closing : callable
        Of a source and n: whether it, which takes a second or several, is tried unasked where the
        ends that the others give are apart.
    """

    key: str
    end: End
    theorem: Theorem
    validity: str
    make: Make = field(kw_only=True, repr=False)
    slow: bool = field(default=False, kw_only=True)
    other_end: str | None = field(default=None, kw_only=True)
    usual: When = field(default=never, kw_only=True, repr=False)
    closing: When = field(default=never, kw_only=True, repr=False)
