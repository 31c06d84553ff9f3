"""One end of a bound: its value, what certifies it, and a lower and an upper one as a Bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from shuffledp import theorems
from shuffledp.amplification.words import HONEST
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.bounds.profile import Profile
from shuffledp.neighbours.one_user import Relation
from shuffledp.rounds.curve import Sharper
from shuffledp.rounds.curve import Source as Curve

Side = Literal["upper", "lower"]

_LOCAL_ACTIVE = "the local guarantee is the active bound: shuffling certifies nothing more"


class End(NamedTuple):
    """One end: its value, what certifies it, its numerical width, and what reproduces it."""

    value: float
    theorem: Theorem | None
    width: float | None
    witness: dict[str, Any]
    assumptions: tuple[str, ...]


class EpsilonAt(NamedTuple):
    """What is asked of eps at a delta.

    Attributes
    ----------
    delta : float
        Target.
    cap : float
        eps by the local guarantee: an upper end may be as large without saying so.
    rtol : float
        Relative width wanted.
    width : float or None
        Relative width of delta that will be asked for at the end.
    """

    delta: float
    cap: float
    rtol: float
    width: float | None = None


class LogDeltaAt(NamedTuple):
    """What is asked of log delta at an eps.

    Attributes
    ----------
    epsilon : float
        eps >= 0 in nats.
    width : float
        Relative width of delta wanted.
    along : bool
        As one of many eps, which may share what they need.
    """

    epsilon: float
    width: float
    along: bool = False


@dataclass(frozen=True)
class Certifier(ABC):
    """One analysis of one source among n users: an end of eps or of log delta.

    Attributes
    ----------
    key : str
        The analysis.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        What certifies it.
    assumptions : tuple of str
        Under which it holds, in words.
    profiles : tuple of Profile
        The curves of pairs, where it is one of pairs.
    """

    key: str
    end: Side
    theorem: Theorem
    assumptions: tuple[str, ...]
    profiles: tuple[Profile, ...] = ()

    @abstractmethod
    def epsilon(self, asked: EpsilonAt) -> End:
        """The end of eps at a delta."""

    @abstractmethod
    def log_delta(self, asked: LogDeltaAt) -> End:
        """The end of log delta at an eps."""

    def rough(self, epsilon: float) -> float:
        """About log delta at this eps; nan where that is not known."""
        del epsilon
        return math.nan

    def nearest(self, epsilons: Sequence[float]) -> Certifier:
        """What of a lower end seems to count at one of these eps."""
        del epsilons
        return self

    def dear(self, log_delta: float) -> bool:
        """Whether an end at this log delta takes seconds and is mostly no better than others."""
        del log_delta
        return False

    def for_rounds(self) -> Sharper | None:
        """A curve of the bound for rounds, where it is not one of profiles."""
        return None

    def exact(self) -> Curve | None:
        """The supremum's own curve, where its two ends are known: rounds rest on it alone."""
        return None


def bound_of(
    quantity: Literal["epsilon", "delta"],
    lower: End,
    upper: End,
    *,
    at: dict[str, float],
    relation: Relation,
    wanted: float,
) -> Bound:
    """Both ends as a Bound, with notes on an active cap and on widths not reached.

    Parameters
    ----------
    quantity : {"epsilon", "delta"}
        What is bounded; ends of delta are logarithms.
    lower, upper : End
        What was found.
    at : dict
        What was held fixed.
    relation : Relation
        For which neighbours they hold.
    wanted : float
        The relative numerical width that was asked for.
    """
    logs = quantity == "delta"
    notes = []
    if upper.theorem is theorems.LOCAL and not logs:
        notes.append(_LOCAL_ACTIVE)
    notes.extend(
        f"numerical width {end.width:.1e} of the {end.witness['analysis']} analysis: "
        f"more than the {wanted:.0e} asked for was not reached in bounded work"
        for end in (upper, lower)
        if end.width is not None and end.width > 1.1 * wanted
    )
    low, high = delta_from_log(lower.value, upper.value) if logs else (lower.value, upper.value)
    refuse_contradiction(low, high)
    return Bound(
        quantity=quantity,
        lower=min(low, high),
        upper=high,
        at=at,
        lower_theorem=lower.theorem,
        upper_theorem=upper.theorem,
        assumptions=upper.assumptions or (relation.sentence, HONEST),
        relation=relation,
        notes=tuple(notes),
        log_lower=lower.value if logs else None,
        log_upper=upper.value if logs else None,
        lower_width=lower.width,
        upper_width=upper.width,
        witness={"upper": dict(upper.witness), "lower": dict(lower.witness)},
    )
