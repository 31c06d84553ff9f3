"""ShuffleDpEvent: an account as an event of dp_accounting, and such events with certified ends."""

from __future__ import annotations

import functools

import attr
import numpy as np
from dp_accounting import dp_event

from shuffledp.accounts import Account
from shuffledp.errors import ParameterError, rejected
from shuffledp.rounds import Composed, compose
from shuffledp.training import SGD


def _is_account(event: object, field: object, value: object) -> None:
    del event, field
    if not isinstance(value, Account | Composed | SGD):
        raise rejected("account", value, "what shuffle or compose returned, or an SGD")


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffleDpEvent(dp_event.DpEvent):
    """Everything that an account releases: all its rounds, of a run of DP-SGD all its epochs.

    The accountants count it under its own relation alone.

    Attributes
    ----------
    account : Account, Composed or SGD
        What ``shuffle`` or ``compose`` returned, or a run of training; messages or crowds behind
        one perfect shuffler, with one user who changes.
    """

    account: Account | Composed | SGD = attr.ib(validator=_is_account)

    def composed(self) -> Composed:
        """All of it as a composition, whose ends are certified."""
        if isinstance(self.account, Composed):
            return self.account
        if isinstance(self.account, SGD):
            return self.account.composed()
        found = self.account.compose(rounds=1)
        if not isinstance(found, Composed):
            raise rejected("account", found, "messages behind one perfect shuffler")
        return found


@functools.lru_cache(maxsize=64)
def pld_of(event: ShuffleDpEvent, grid: float) -> object:
    """A PLD that dominates the event, on a grid in nats, with a law for each direction."""
    return event.composed().pld(discretization=grid)


@functools.lru_cache(maxsize=64)
def rdp_of(event: ShuffleDpEvent, orders: tuple[float, ...]) -> np.ndarray:
    """Upper ends of the event's Renyi divergence in nats at these orders."""
    return np.array(event.composed().rdp(orders))


def certified(event: dp_event.DpEvent) -> Composed:
    """The composition of an event made of shuffle events, with certified ends.

    Parameters
    ----------
    event : DpEvent
        ShuffleDpEvent, or ComposedDpEvent and SelfComposedDpEvent of such: an accountant's
        ``ledger``, for instance.

    Raises
    ------
    ParameterError
        If there is any other event inside, or if the events' neighbouring relations differ.
    """
    parts = _parts(event, 1)
    if not parts:
        raise ParameterError("event: wanted at least one ShuffleDpEvent")
    return compose(parts)


def _parts(event: dp_event.DpEvent, count: int) -> list[tuple[object, int]]:
    if isinstance(event, ShuffleDpEvent):
        return [(part, each * count) for part, each in event.composed().parts]
    if isinstance(event, dp_event.NoOpDpEvent):
        return []
    if isinstance(event, dp_event.SelfComposedDpEvent):
        return _parts(event.event, count * event.count)
    if isinstance(event, dp_event.ComposedDpEvent):
        return [part for inner in event.events for part in _parts(inner, count)]
    wanted = "ShuffleDpEvent, ComposedDpEvent or SelfComposedDpEvent"
    raise rejected("event", event, wanted)
