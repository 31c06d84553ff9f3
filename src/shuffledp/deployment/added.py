"""The table ``added`` of a deployment: noise that the aggregator adds to every coordinate's sum."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shuffledp import _check
from shuffledp.deployment.tables import Table, checked, one_of
from shuffledp.views.noise import KINDS, LARGEST_SCALE, SMALLEST_SCALE


class AddedTable(Table):
    """Noise on the integers that the aggregator adds to the sum of every coordinate."""

    kind: Annotated[Literal["discrete-laplace", "discrete-gaussian"], one_of(*KINDS)] = Field(
        description="discrete-laplace: exp(-|z|/scale); discrete-gaussian: exp(-z^2/(2 scale^2))"
    )
    scale: Annotated[float, checked(_check.real, low=SMALLEST_SCALE, high=LARGEST_SCALE)] = Field(
        description="in units of the sums, from 0.05 to 2,000"
    )
