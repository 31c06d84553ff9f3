"""Work: who is told of it, and what is kept of it beside values, not in them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

# What is told in a few words what is being computed.
Report = Callable[[str], None]

Value = TypeVar("Value")
Kept = TypeVar("Kept")


def silent(message: str) -> None:
    """Tell nobody what is being computed."""
    del message


class Beside(Generic[Value, Kept]):
    """What is worked out of a value, as long as the value lives.

    The value does not hold it, so ``replace``, ``copy`` and ``pickle`` do not see it; an equal
    value begins anew. What is kept must be a function of the value alone, or of the value and a
    question: then it saves time and changes no answer.

    Parameters
    ----------
    make : callable
        From a value to what is kept of it, which must not refer to the value itself (it would
        never be freed).
    """

    def __init__(self, make: Callable[[Value], Kept]) -> None:
        self._make = make
        self._kept: dict[int, Kept] = {}

    def of(self, value: Value) -> Kept:
        """What is kept of the value; made where there is nothing yet."""
        found = self._kept.get(id(value))
        if found is None:
            found = self._kept.setdefault(id(value), self._make(value))
            # An identity is free for another object once this one is gone.
            weakref.finalize(value, self._kept.pop, id(value), None).atexit = False
        return found


class Answers(dict[Any, Any]):
    """Answers by question."""

    def answer(self, question: Any, find: Callable[[], Any]) -> Any:
        """The answer, found once."""
        if question not in self:
            self[question] = find()
        return self[question]
