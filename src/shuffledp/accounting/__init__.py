"""Shuffled mechanisms and batches inside dp_accounting: events, accountants (extra: dp-accounting).

Interoperability: PLD and RDP accountants add up in float arithmetic. ``certified`` turns the same
events into a composition whose ends are certified.
"""

from shuffledp.accounting.accountants import ShufflePLDAccountant, ShuffleRdpAccountant
from shuffledp.accounting.event import ShuffleDpEvent, certified

__all__ = [
    "ShuffleDpEvent",
    "ShufflePLDAccountant",
    "ShuffleRdpAccountant",
    "certified",
]
