"""The table ``data`` of a deployment: which column holds the values, and their public domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from shuffledp.deployment.messages import one_line
from shuffledp.deployment.tables import Count, Table
from shuffledp.errors import ParameterError, rejected

_MOST_ITEMS = 100_000_000


def checked_items(name: str, items: Sequence[Any]) -> tuple[str | int, ...]:
    """Items of a domain, as every reader of it wants them: of one kind, none twice.

    Parameters
    ----------
    name : str
        What they are called, for the message.
    items : sequence
        Text or whole numbers, at least two.
    """
    found = tuple(items)
    if not 2 <= len(found) <= _MOST_ITEMS:
        raise rejected(name, f"{len(found)} items", f"2 to {_MOST_ITEMS:,} items")
    if {type(item) for item in found} not in ({str}, {int}):
        raise rejected(name, found[0], "all text or all whole numbers")
    if len(set(found)) != len(found):
        seen: set[str | int] = set()
        # add returns None: the first item that was there before.
        twice = next(item for item in found if item in seen or seen.add(item))
        raise rejected(name, twice, "every item once")
    return found


def _items(items: Any) -> Any:
    return items if items is None else list(checked_items("data.domain", items))


class _Column(Table):
    domain: Annotated[list[str] | list[int] | None, AfterValidator(_items)] = Field(
        default=None, description="items in order; a public list, not read off the data"
    )
    nulls: Literal["refuse", "drop", "category"] = Field(
        default="refuse", description="rows without a value: an error, left out, or an own item"
    )
    outside: Literal["refuse", "drop", "category", "clip"] = Field(
        default="refuse", description="values outside the domain: the same, or clip for numbers"
    )

    def item_count(self) -> int:
        """How many items reports are about, those for missing and other values included."""
        more = (self.nulls == "category") + (self.outside == "category")
        return len(self.domain or ()) + more


class Attribute(_Column):
    """One column of a record, for the mechanism joint."""

    column: str = Field(description="column of the input table")


class Csv(Table):
    """How a CSV file is written, where it is not as usual."""

    delimiter: str | None = Field(default=None, description="one character; a comma by default")
    encoding: str | None = Field(default=None, description="utf-8, utf-16 or latin-1")
    header: bool | None = Field(default=None, description="whether the first line names columns")


class Data(_Column):
    """Where the values are; used by ``shuffledp run``, not by the accounting."""

    column: str | None = Field(default=None, description="column of the input table")
    columns: list[Attribute] | None = Field(
        default=None, description="for the mechanism joint: a table for each of its parts, in order"
    )
    unit: str | None = Field(
        default=None,
        description="column that names the user, where users have several rows: the first is used",
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
        default=None, ge=1, le=8, description="for additive noise: number of moments to estimate"
    )
    simplex: bool = Field(
        default=False, description="post-process frequencies to the nearest probabilities"
    )
    top: Count | None = Field(default=None, description="number of estimates to show, the largest")
    csv: Csv | None = Field(default=None, description="how CSV is written: a table")

    def check_sums(self, name: str) -> None:
        """ParameterError for what `run` cannot do where nobody sees the mechanism's reports."""
        if name == "gaussian":
            raise ParameterError(
                'data: wanted no such table with view = "sums" for gaussian: `run` rounds every '
                "report, and a sum of rounded numbers is not what is accounted for"
            )
        for key in ("columns", "alphabet", "ranges", "moments"):
            if getattr(self, key) is not None:
                raise ParameterError(
                    f'data.{key}: wanted none with view = "sums", which tell shares and means alone'
                )
        if self.hashed:
            raise ParameterError(
                'data.hashed = true: wanted a listed domain with view = "sums", a sum for each item'
            )

    def left_out(self) -> tuple[bool, bool]:
        """Whether rows may be left out: for want of a value, for one outside the domain."""
        every = [self] if self.columns is None else self.columns
        return (
            any(one.nulls == "drop" for one in every),
            any(one.outside == "drop" for one in every),
        )


def data_of(table: Any) -> Data:
    """The table as a file says it; ParameterError says in one line what is wrong."""
    try:
        return Data.model_validate(table)
    except ValidationError as error:
        raise ParameterError(one_line(error, Data)) from None
