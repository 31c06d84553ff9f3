"""Mechanisms of which a symmetry or a mixture says what the others' worst inputs are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .levels import is_one_bit
from .registry import RECORDS

__all__ = ["alike_size", "is_mixed", "stand_ins"]

Parameters = Mapping[str, Any]

# Size of the domain: permutations of the inputs carry all pairs, and all third inputs, into each
# other, and act on the outputs.
_ALIKE = {
    "binary-rr": lambda _: 2,
    "k-rr": lambda m: m["k"],
    "rappor": lambda m: m["d"],
    "oue": lambda m: m["d"],
    "subset": lambda m: m["d"],
    "blh": lambda m: m["domain"],
    "olh": lambda m: m["domain"],
    "local-hash": lambda m: m["domain"],
    # Of one item each.
    "wheel": lambda m: m["domain"] if m.get("s") == 1 else 0,
    "sampling-rappor": lambda m: m["d"] if m.get("s") == 1 else 0,
}


def alike_size(mechanism: Parameters) -> int:
    """The size of the domain where permutations of the inputs carry all pairs into each other."""
    name = mechanism["name"]
    return _ALIKE[name](mechanism) if name in _ALIKE else 0


def stand_ins(mechanism: Parameters) -> tuple[int, ...]:
    """Inputs of the others that stand for all by symmetry, the pair's 0 and 1 first; or none.

    Laws of the pair's inputs and any third one are those of one of these.
    """
    record = RECORDS.get(mechanism["name"])
    if record is not None:
        return () if record.others is None else record.others(mechanism)
    return tuple(range(min(alike_size(mechanism), 3)))


def is_mixed(mechanism: Parameters) -> bool:
    """Whether every law is a mixture of those of the two ends."""
    name = mechanism["name"]
    return name == "duchi" or (name == "hybrid" and is_one_bit(mechanism))
