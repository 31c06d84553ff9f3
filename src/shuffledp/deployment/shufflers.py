"""The table ``shuffler`` of a deployment: an ``accounts.Shuffler`` as a file says it."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from shuffledp import _check
from shuffledp.accounts.shuffler import Shuffler
from shuffledp.deployment.tables import Count, Table, checked, one_of
from shuffledp.errors import rejected


def _distance(value: object) -> float:
    found = _check.real("", value, low=0.0, high=0.5)
    if found == 0.5:
        raise rejected("", found, "less than 0.5")
    return found


def _yes(value: object) -> bool:
    if not isinstance(value, bool):
        raise rejected("", value, "true or false")
    return value


class ShufflerTable(Table):
    """Whoever stands between users and analyst, where it is not one perfect shuffler."""

    distance: Annotated[float, BeforeValidator(_distance)] = Field(
        default=0.0, description="total variation of the order from a uniform one, in [0, 0.5)"
    )
    shards: Count = Field(default=1, description="number of shards, each shuffled on its own")
    assignment: Annotated[Literal["public", "secret"], one_of("public", "secret")] = Field(
        default="public", description="whether the analyst knows who is in which shard"
    )
    dummies: Annotated[int, checked(_check.count, low=0), Field(ge=0)] = Field(
        default=0, description="reports added, to every shard where these are public"
    )
    fills: Annotated[bool, BeforeValidator(_yes)] = Field(
        default=False, description="whether a report stands in the place of an absent user's"
    )

    @model_validator(mode="after")
    def _all_orders(self) -> ShufflerTable:
        """Refuse orders of all shards that are together 1/2 or more from uniform ones."""
        apart = Shuffler(**self.model_dump()).apart
        if apart and Fraction(self.distance) * self.shards >= Fraction(1, 2):
            wanted = f"less than 0.5 for all {self.shards:,} shards together"
            raise rejected("shuffler.distance", self.distance, wanted)
        return self
