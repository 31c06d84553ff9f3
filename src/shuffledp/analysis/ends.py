"""Ends: a lower and an upper end that were found, put together into a Bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shuffledp import theorems
from shuffledp.analysis.side import Found
from shuffledp.analysis.words import HONEST
from shuffledp.bound import Bound, refuse_contradiction
from shuffledp.neighbours import Relation

_LOCAL_ACTIVE = "the local guarantee is the active bound: shuffling certifies nothing more"


@dataclass(frozen=True)
class Ends:
    """Both ends, what was held fixed, and for which neighbours they hold."""

    lower: Found
    upper: Found
    at: dict[str, float]
    relation: Relation

    def bound(
        self,
        quantity: Literal["epsilon", "delta"],
        ends: tuple[float, float],
        *,
        wanted: float,
        logs: bool = False,
    ) -> Bound:
        """The Bound, with notes on an active cap and on widths not reached.

        Parameters
        ----------
        quantity : {"epsilon", "delta"}
            What is bounded.
        ends : tuple of two floats
            Lower and upper end, rounded outward.
        wanted : float
            The relative numerical width that was asked for.
        logs : bool
            The values found are logarithms of the ends.
        """
        lower, upper = self.lower, self.upper
        notes = []
        if upper.theorem is theorems.LOCAL and quantity == "epsilon":
            notes.append(_LOCAL_ACTIVE)
        notes.extend(
            f"numerical width {side.width:.1e} of the {side.witness['analysis']} analysis: "
            f"more than the {wanted:.0e} asked for was not reached in bounded work"
            for side in (upper, lower)
            if side.width is not None and side.width > 1.1 * wanted
        )
        low, high = ends
        refuse_contradiction(low, high)
        return Bound(
            quantity=quantity,
            lower=min(low, high),
            upper=high,
            at=self.at,
            lower_theorem=lower.theorem,
            upper_theorem=upper.theorem,
            assumptions=upper.assumptions or (self.relation.sentence, HONEST),
            relation=self.relation,
            notes=tuple(notes),
            log_lower=lower.value if logs else None,
            log_upper=upper.value if logs else None,
            lower_width=lower.width,
            upper_width=upper.width,
            witness={"upper": dict(upper.witness), "lower": dict(lower.witness)},
        )
