"""The named analyses: which theorem, which end, for which randomizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shuffledp import theorems
from shuffledp.bound import Theorem
from shuffledp.errors import rejected


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
        What certifies it.
    validity : str
        For what it holds.
    """

    key: str
    end: Literal["upper", "lower"]
    theorem: Theorem
    validity: str


_ALL = (
    Analysis(
        "blanket",
        "upper",
        theorems.BLANKET,
        "one randomizer for all users, any inputs of the others; not adaptive; "
        "no local guarantee needed",
    ),
    Analysis(
        "stronger-clone",
        "upper",
        theorems.STRONGER_CLONE,
        "any eps0-LDP randomizers chosen in one order, adaptive too (shuffle, then randomize)",
    ),
    Analysis(
        "clone",
        "upper",
        theorems.CLONE,
        "any eps0-LDP randomizers chosen in one order, adaptive too (shuffle, then randomize)",
    ),
    Analysis("local", "upper", theorems.LOCAL, "always; what is left if the shuffler fails"),
    Analysis(
        "dataset",
        "lower",
        theorems.DATASET,
        "exact for the dataset it names, so a lower bound on the worst case",
    ),
)


def analyses() -> tuple[Analysis, ...]:
    """All analyses, tightest upper bounds first."""
    return _ALL


def analysis_named(key: str) -> Analysis:
    """The analysis with this key; ParameterError names the known ones."""
    for analysis in _ALL:
        if analysis.key == key:
            return analysis
    raise rejected("analysis", key, "one of " + ", ".join(a.key for a in _ALL))
