"""PLD and RDP accountants of dp_accounting that know shuffle events."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from shuffledp.accounting.event import ShuffleDpEvent
from shuffledp.errors import NotCertified
from shuffledp.neighbours.one_user import REPLACEMENT, AddOrRemove, ReplaceSpecial

Relation = privacy_accountant.NeighboringRelation
Problem = privacy_accountant.PrivacyAccountant.CompositionErrorDetails

_SMALLEST_DELTA = 1e-13

# Our relation -> dp_accounting's name for it.
_NAMES: dict[Any, Any] = {
    REPLACEMENT: Relation.REPLACE_ONE,
    ReplaceSpecial(): Relation.REPLACE_SPECIAL,
    AddOrRemove(): Relation.ADD_OR_REMOVE_ONE,
}


def _wrong_relation(event: ShuffleDpEvent, relation: Any) -> Problem | None:
    """Why the event may not be counted; None where it may."""
    kind, own = type(event).__name__, event.relation
    name = _NAMES.get(own)
    if name is None:
        words = (
            f"`{kind}` is for neighbours with {own.words}, which is not `REPLACE_ONE`; "
            "`shuffledp.compose` and `shuffledp.accounting.certified` carry such relations along."
        )
        return Problem(invalid_event=event, error_message=words)
    if relation is not name:
        words = f"neighboring_relation must be `{name.name}` for `{kind}`. Found {relation}."
        return Problem(invalid_event=event, error_message=words)
    return None


class ShufflePLDAccountant(PLDAccountant):
    """dp_accounting's PLD accountant, shuffle events included.

    Differences from the class it extends: the relation is REPLACE_ONE by default; the count of
    RandomizedResponseDpEvent is not lost; a delta below 1e-13, where PLDs are rounding noise, is
    refused.
    """

    def __init__(
        self,
        neighboring_relation: Any = Relation.REPLACE_ONE,
        value_discretization_interval: float = 1e-4,
    ) -> None:
        super().__init__(neighboring_relation, value_discretization_interval)
        self._known: dict[Hashable, Any] = {}

    def _maybe_compose(
        self,
        event: dp_event.DpEvent,
        count: int,
        do_compose: bool,  # noqa: FBT001 (the base's)
    ) -> Problem | None:
        if isinstance(event, ShuffleDpEvent):
            problem = _wrong_relation(event, self.neighboring_relation)
            if problem is None and do_compose and count:
                self._pld = self._pld.compose(self._one(event).self_compose(count))
            return problem
        if isinstance(event, dp_event.RandomizedResponseDpEvent):
            return self._randomized_response(event, count, do_compose=do_compose)
        return super()._maybe_compose(event, count, do_compose)

    def _one(self, event: ShuffleDpEvent) -> Any:
        """The PLD of one event, made once."""
        key = event.whole
        if key not in self._known:
            grid = self._value_discretization_interval
            self._known[key] = event.pld(grid)
        return self._known[key]

    def _randomized_response(
        self, event: dp_event.RandomizedResponseDpEvent, count: int, *, do_compose: bool
    ) -> Problem | None:
        # The base composes it once, whatever the count.
        problem = super()._maybe_compose(event, count, False)  # noqa: FBT003 (the base's)
        if problem is not None or not do_compose or event.num_buckets == 1 or count == 0:
            return problem
        if event.noise_parameter == 0:
            self._contains_non_dp_event = True
            return None
        one = privacy_loss_distribution.from_randomized_response(
            noise_parameter=event.noise_parameter,
            num_buckets=event.num_buckets,
            value_discretization_interval=self._value_discretization_interval,
            neighboring_relation=self._neighboring_relation,
        )
        self._pld = self._pld.compose(one.self_compose(count))
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """eps at a delta of at least 1e-13.

        Raises
        ------
        NotCertified
            For smaller ones: masses are added up in float arithmetic. ``certified(ledger)`` takes
            any.
        """
        if not target_delta >= _SMALLEST_DELTA:
            raise NotCertified(
                f"target_delta = {target_delta!r}: a PLD is rounding noise there; wanted at least "
                f"{_SMALLEST_DELTA:g}, or shuffledp.accounting.certified(accountant.ledger)"
            )
        return super().get_epsilon(target_delta)


class ShuffleRdpAccountant(RdpAccountant):
    """dp_accounting's RDP accountant, shuffle events included; REPLACE_ONE by default."""

    def __init__(
        self,
        orders: Sequence[float] | None = None,
        neighboring_relation: Any = Relation.REPLACE_ONE,
    ) -> None:
        super().__init__(orders, neighboring_relation)
        self._known: dict[Hashable, Any] = {}

    def _maybe_compose(
        self,
        event: dp_event.DpEvent,
        count: int,
        do_compose: bool,  # noqa: FBT001 (the base's)
    ) -> Problem | None:
        if not isinstance(event, ShuffleDpEvent):
            return super()._maybe_compose(event, count, do_compose)
        problem = _wrong_relation(event, self._neighboring_relation)
        if problem is None and do_compose and count:
            key = event.whole
            if key not in self._known:
                self._known[key] = np.array(event.rdp(self._orders.tolist()))
            self._rdp = self._rdp + count * self._known[key]
        return problem
