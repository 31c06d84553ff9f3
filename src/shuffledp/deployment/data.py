"""The table ``data`` of a deployment: which column holds the values, and their public domain."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Column(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    domain: list[str] | list[int] | None = Field(
        default=None, description="items in order; a public list, not read off the data"
    )
    nulls: Literal["refuse", "drop", "category"] = Field(
        default="refuse", description="rows without a value: an error, left out, or an own item"
    )
    outside: Literal["refuse", "drop", "category", "clip"] = Field(
        default="refuse", description="values outside the domain: the same, or clip for numbers"
    )

    type: Literal["text", "integer", "number"] | None = Field(
        default=None,
        description="what values are read as, where they are stored as something else: text of "
        "whole numbers, booleans and dates; numbers of text",
    )

    def settings(self) -> dict[str, Any]:
        """Arguments of ``protocol.Column`` that the file gives."""
        given = {"nulls": self.nulls, "outside": self.outside, "type": self.type}
        return given | {"domain": None if self.domain is None else tuple(self.domain)}


class Attribute(_Column):
    """One column of a record, for the mechanism joint."""

    column: str = Field(description="column of the input table")


class Data(_Column):
    """Where the values are; used by ``shuffledp run``, not by the accounting."""

    column: str | None = Field(default=None, description="column of the input table")
    columns: list[Attribute] | None = Field(
        default=None, description="for the mechanism joint: a table for each of its parts, in order"
    )
    hashed: bool = Field(
        default=False, description="an open domain: text is hashed to the mechanism's items"
    )
    candidates: list[str] | None = Field(
        default=None, description="with hashed: the text to count; the collector may change it"
    )
    alphabet: str | None = Field(
        default=None, description="an open domain of short text, for a prefix tree: its letters"
    )
    length: int = Field(default=0, ge=0, description="with alphabet: letters of the longest text")
    ranges: list[list[int]] | None = Field(
        default=None,
        description="for the mechanism hierarchy: pairs low, high; low <= value < high",
    )
    moments: int | None = Field(
        default=None, ge=1, le=8, description="for additive noise: estimate so many moments"
    )

    def settings(self) -> dict[str, Any]:
        """Arguments of ``protocol.Column`` that the file gives."""
        return super().settings() | {
            "hashed": self.hashed,
            "alphabet": self.alphabet,
            "length": self.length,
        }
