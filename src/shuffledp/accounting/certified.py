"""Events of ours, composed, with certified ends."""

from __future__ import annotations

from typing import Any

from dp_accounting import dp_event

from shuffledp.accounting.event import ShuffleDpEvent
from shuffledp.errors import ParameterError, rejected
from shuffledp.rounds import Composed, compose

Parts = list[tuple[Any, int]]


def certified(event: dp_event.DpEvent) -> Composed:
    """The composition of an event made of shuffle events with certified ends.

    Parameters
    ----------
    event : DpEvent
        ShuffleDpEvent, or ComposedDpEvent and SelfComposedDpEvent of such; an
        accountant's ``ledger``, for one.

    Raises
    ------
    ParameterError
        If there is any other event inside, or events for neighbours of several relations.
    """
    parts = _flat(event, 1)
    if not parts:
        raise ParameterError("event: wanted at least one ShuffleDpEvent")
    return compose(parts)


def _flat(event: dp_event.DpEvent, count: int) -> Parts:
    if isinstance(event, ShuffleDpEvent):
        return [(part, each * count) for part, each in event.composed().parts]
    if isinstance(event, dp_event.NoOpDpEvent):
        return []
    if isinstance(event, dp_event.SelfComposedDpEvent):
        return _flat(event.event, count * event.count)
    if isinstance(event, dp_event.ComposedDpEvent):
        return [part for inner in event.events for part in _flat(inner, count)]
    wanted = "ShuffleDpEvent, ComposedDpEvent or SelfComposedDpEvent"
    raise rejected("event", event, wanted)
