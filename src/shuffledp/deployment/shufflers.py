"""The table ``shuffler`` of a deployment, and what it asks a reader to believe."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from shuffledp import _check
from shuffledp.accounts.shuffler import Shuffler
from shuffledp.deployment.tables import Count, Table, checked, one_of
from shuffledp.errors import ParameterError, rejected


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
    shards: Count = Field(
        default=1, description="each user is in one of so many, shuffled on its own"
    )
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
        """Of all shards together the orders have to be nearer to uniform ones than 1/2."""
        if self.apart and Fraction(self.distance) * self.shards >= Fraction(1, 2):
            wanted = f"less than 0.5 for all {self.shards:,} shards together"
            raise rejected("shuffler.distance", self.distance, wanted)
        return self

    @property
    def apart(self) -> bool:
        """Whether a shard alone hides its users."""
        return self.shards > 1 and self.assignment == "public"

    def hidden(self, batch: int, colluding: Fraction) -> int:
        """Honest messages and dummies among which a user's message is, of a batch of so many.

        Parameters
        ----------
        batch : int
            Messages that arrive, of all shards.
        colluding : Fraction
            Share of each shard that hides nobody; rounded up.
        """
        honest = self.honest(batch, colluding)
        return honest + self.dummies

    def honest(self, batch: int, colluding: Fraction) -> int:
        """The same without dummies."""
        if batch < self.shards:
            raise ParameterError(
                f"shuffler.shards = {self.shards:,}: wanted at most {batch:,}, a message in every "
                "one"
            )
        shard = batch // self.shards if self.apart else batch
        return shard - math.ceil(colluding * shard)

    def how(self, batch: int, colluding: Fraction) -> str:
        """Where the number of messages comes from, after that of the batch: " / 4 shards .."."""
        words = f" / {self.shards:,} shards" if self.apart else ""
        shard = batch // self.shards if self.apart else batch
        gone = math.ceil(colluding * shard)
        words += f" - {gone:,} colluding" if gone else ""
        words += f" + {self.dummies:,} dummies" if self.dummies else ""
        return f"{words} = {self.hidden(batch, colluding):,}"

    def assumptions(self) -> tuple[str, ...]:
        """What is believed of it, in words."""
        even = "none has less than its even share of a batch, rounded down"
        return Shuffler(**self.model_dump()).believed(even)
