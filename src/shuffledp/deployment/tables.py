"""What the tables of a deployment file are made of.

A check says what a value was wanted to be; the key's name is where it stands, which
``messages.one_line`` puts before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shuffledp import _check


class Table(BaseModel):
    """A table of the file: strict types, no unknown keys, never changed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def checked(check: Callable[..., Any], **limits: Any) -> BeforeValidator:
    """One of ``shuffledp._check`` for a key."""
    return BeforeValidator(lambda value: check("", value, **limits))


def one_of(*words: str) -> BeforeValidator:
    """A key that is one of these words."""
    return checked(_check.choice, allowed=words)


Count = Annotated[int, checked(_check.count), Field(ge=1)]
