"""What a label-stealing bound has to look at.

docs/theory-stealing.md, section 5, says which pairs of the victim's inputs and which inputs of the
others are enough. The certificate gives free numbers, one set for each pair named here: how large
the reservoir is, and with what probability the victim joins it. Any numbers in range are valid.
"""

from __future__ import annotations

from typing import Literal

from shuffledp.errors import NotCertified
from shuffledp.theorems import Theorem

from .labels import others_of
from .outputs import Parameters
from .pairs import has_parts
from .record import Pair

__all__ = [
    "stealing_numbers",
    "stealing_pairs",
    "stealing_step",
    "written_pairs",
]


def stealing_pairs(mechanism: Parameters) -> list[Pair] | None:
    """Ordered pairs of the victim's inputs that dominate all others; None: no theorem says which.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}; "generic" stands for a family, of which there is one pair.
    """
    found = others_of(mechanism)
    return None if found is None else list(found.pairs)


def stealing_step(mechanism: Parameters) -> Theorem:
    """What says why these are enough, of one mechanism.

    Raises
    ------
    NotCertified
        Where no theorem does.
    """
    found = others_of(mechanism)
    if found is None:
        raise NotCertified(f"label-stealing of {mechanism['name']} is not recomputed")
    return found.step


def written_pairs(mechanism: Parameters) -> list[Pair] | Literal["all"] | None:
    """The pairs as certificates name them: "all" of a list and of parts, none of a family."""
    found = others_of(mechanism)
    if found is not None and found.how == "family":
        return None
    if found is None or found.how == "listed" or has_parts(mechanism):
        return "all"
    return list(found.pairs)


def stealing_numbers(mechanism: Parameters) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the free numbers of one pair: those that have to be given, those that may be."""
    found, contour = others_of(mechanism), ("alpha", "smoothing")
    may = ("ceiling",) if found is not None and found.unbounded else ()
    return (*contour, "step", "share", "join"), may
