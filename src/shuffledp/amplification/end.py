"""One end of a bound with its theorem and witness; a lower and an upper end make a Bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from shuffledp import theorems
from shuffledp.amplification.words import HONEST
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.neighbours import Relation
from shuffledp.propose.profile import Profile
from shuffledp.rounds.curve import Source as Curve
from shuffledp.search import least_epsilon

Side = Literal["upper", "lower"]

# How near both ends of eps are where log delta is known nearly exactly.
_EXACT = 1e-12
# A width up to this many times the one asked for is not worth a note.
_MISSED = 3.0
_LOCAL_ACTIVE = "the local guarantee is the active bound: shuffling certifies nothing more"


class End(NamedTuple):
    """One end: value, theorem, relative numerical width, witness, assumptions."""

    value: float
    theorem: Theorem | None
    width: float | None
    witness: dict[str, Any]
    assumptions: tuple[str, ...]


class EpsilonAt(NamedTuple):
    """The question: eps at a given delta.

    Attributes
    ----------
    delta : float
        Target delta.
    cap : float
        eps of the local guarantee: the largest upper end that is returned.
    rtol : float
        Relative width of eps wanted.
    width : float or None
        Relative width of delta wanted at the resulting eps.
    """

    delta: float
    cap: float
    rtol: float
    width: float | None = None


class LogDeltaAt(NamedTuple):
    """The question: log delta at a given eps.

    Attributes
    ----------
    epsilon : float
        eps >= 0 in nats.
    width : float
        Relative width of delta wanted.
    along : bool
        Whether the question is one of many eps that may share their free numbers.
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
        Key of the analysis.
    end : {"upper", "lower"}
        Which end it certifies.
    theorem : Theorem
        Theorem that certifies the end.
    assumptions : tuple of str
        Its assumptions, as sentences.
    profiles : tuple of Profile
        Privacy profiles of its pairs of laws; empty if the analysis uses none.
    """

    key: str
    end: Side
    theorem: Theorem
    assumptions: tuple[str, ...]
    profiles: tuple[Profile, ...] = ()
    #: Whether an end of delta is a bracket that can be as narrow as asked; others are made once.
    has_width: ClassVar[bool] = True

    @abstractmethod
    def epsilon(self, asked: EpsilonAt) -> End:
        """The certified end of eps at a delta."""

    @abstractmethod
    def log_delta(self, asked: LogDeltaAt) -> End:
        """The certified end of log delta at an eps."""

    def rough(self, epsilon: float) -> float:
        """An estimate of log delta at this eps; nan if there is none."""
        del epsilon
        return math.nan

    def nearest(self, epsilons: Sequence[float]) -> Certifier:
        """A lower end restricted to the profiles that seem the largest at one of these eps."""
        del epsilons
        return self

    def dear(self, log_delta: float) -> bool:
        """Whether this end takes seconds at this log delta and is seldom the best one."""
        del log_delta
        return False

    def for_rounds(self) -> Curve | None:
        """A curve of the bound for rounds; None if the bound comes from profiles."""
        return None

    def exact(self) -> Curve | None:
        """The supremum's curve with both ends, or None; with it, rounds need no other analysis."""
        return None


def exact_ends(
    log_delta: Callable[[float], LogInterval], quantity: Literal["epsilon", "delta"], value: float
) -> tuple[float, float]:
    """Both ends of eps, 1e-12 apart, or of log delta, where log delta is known nearly exactly.

    Parameters
    ----------
    log_delta : callable
        eps in nats -> certified bracket of log delta.
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float
        What is held fixed: delta for "epsilon", eps for "delta".
    """
    if quantity == "delta":
        return log_delta(value)
    # The target is the rounded logarithm of delta.
    target = math.log(value)
    room = 4.0 * math.ulp(target)
    high_of = lambda epsilon: log_delta(epsilon).high  # noqa: E731
    found = least_epsilon(high_of, target - room, start=1.0, cap=math.inf, rtol=_EXACT)
    if found is None:
        return 0.0, math.inf
    low = found.beyond or 0.0
    # What misses the target by its rounding alone is no lower end.
    while low > 0.0 and not log_delta(low).low >= target + room:
        low = max(low * (1.0 - _EXACT) - 1e-300, 0.0)
    return low, found.value


def bound_of(
    quantity: Literal["epsilon", "delta"],
    lower: End,
    upper: End,
    *,
    at: dict[str, float],
    relation: Relation,
    wanted: float,
) -> Bound:
    """Both ends as a Bound, with notes on an active cap and on widths that were not reached.

    Parameters
    ----------
    quantity : {"epsilon", "delta"}
        What is bounded; the ends of delta are given as logarithms.
    lower, upper : End
        The two ends.
    at : dict
        The values held fixed, by name.
    relation : Relation
        The neighbouring relation of the ends.
    wanted : float
        The relative numerical width wanted.
    """
    logs = quantity == "delta"
    notes = []
    if upper.theorem is theorems.LOCAL and not logs:
        notes.append(_LOCAL_ACTIVE)
    notes.extend(
        f"numerical width {end.width:.1e} of the {end.witness['analysis']} analysis: "
        f"more than the {wanted:.0e} asked for was not reached in bounded work"
        for end in (upper, lower)
        if end.width is not None and end.width > _MISSED * wanted
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
