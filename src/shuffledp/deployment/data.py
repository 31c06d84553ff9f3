"""The table ``data`` of a deployment: which column holds the values, and their public domain."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Data(BaseModel):
    """Where the values are; used by ``shuffledp run``, not by the accounting."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    column: str | None = Field(default=None, description="column of the input table")
    domain: list[str] | list[int] | None = Field(
        default=None, description="items in order; a public list, not read off the data"
    )
    nulls: Literal["refuse", "drop", "category"] = Field(
        default="refuse", description="rows without a value: an error, left out, or an own item"
    )
    outside: Literal["refuse", "drop", "category", "clip"] = Field(
        default="refuse", description="values outside the domain: the same, or clip for numbers"
    )

    def settings(self) -> dict[str, Any]:
        """Arguments of ``protocol.Column`` that the file gives."""
        given = {"nulls": self.nulls, "outside": self.outside}
        return given | {"domain": None if self.domain is None else tuple(self.domain)}
