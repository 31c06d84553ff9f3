"""PLD and RDP accountants of dp_accounting that know shuffle events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from shuffledp.accounting.event import ShuffleDpEvent, pld_of, rdp_of
from shuffledp.errors import NotCertified
from shuffledp.neighbours import ADD_OR_REMOVE, REPLACE_SPECIAL, REPLACEMENT

Relation = privacy_accountant.NeighboringRelation
Problem = privacy_accountant.PrivacyAccountant.CompositionErrorDetails

# Masses of a PLD are added up in floats: smaller deltas are rounding noise.
_SMALLEST_DELTA = 1e-13
# Our relation -> dp_accounting's name for it.
_NAMES: dict[Any, Any] = {
    REPLACEMENT: Relation.REPLACE_ONE,
    REPLACE_SPECIAL: Relation.REPLACE_SPECIAL,
    ADD_OR_REMOVE: Relation.ADD_OR_REMOVE_ONE,
}


def _wrong_relation(event: ShuffleDpEvent, relation: Any) -> Problem | None:
    """Why the event may not be counted; None where it may."""
    own = event.account.relation
    name = _NAMES.get(own)
    if relation is name:
        return None
    if name is None:
        words = (
            f"`ShuffleDpEvent` is for neighbours with {own.words}, which is not `REPLACE_ONE`; "
            "`shuffledp.compose` and `shuffledp.accounting.certified` carry such relations along."
        )
    else:
        words = f"neighboring_relation must be `{name.name}` for this event. Found {relation}."
    return Problem(invalid_event=event, error_message=words)


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

    def _maybe_compose(
        self,
        event: dp_event.DpEvent,
        count: int,
        do_compose: bool,  # noqa: FBT001 (the base's)
    ) -> Problem | None:
        grid = self._value_discretization_interval
        if isinstance(event, ShuffleDpEvent):
            problem = _wrong_relation(event, self.neighboring_relation)
            one: Any = pld_of(event, grid) if problem is None and do_compose and count else None
        elif isinstance(event, dp_event.RandomizedResponseDpEvent) and count > 1 and do_compose:
            # The base composes it once, whatever the count.
            alone = PLDAccountant(self.neighboring_relation, grid).compose(event)
            self._contains_non_dp_event |= alone._contains_non_dp_event  # noqa: SLF001 (the base's)
            problem, one = None, alone._pld  # noqa: SLF001 (the base's)
        else:
            return super()._maybe_compose(event, count, do_compose)
        if one is not None:
            self._pld = self._pld.compose(one.self_compose(count))
        return problem

    def get_epsilon(self, target_delta: float) -> float:
        """eps at a delta of at least 1e-13.

        Raises
        ------
        NotCertified
            For smaller ones: ``certified(ledger)`` takes any.
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
            self._rdp = self._rdp + count * rdp_of(event, tuple(self._orders.tolist()))
        return problem
