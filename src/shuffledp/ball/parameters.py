"""Which parameters a mechanism's table has: all of them, as its class writes them."""

from __future__ import annotations

import json
from typing import Any

from shuffledp.errors import ParameterError

from .outputs import Parameters
from .registry import record_of

__all__ = ["check_parameters"]


def check_parameters(table: Parameters) -> None:
    """Raise unless the table is the one that its mechanism has, in every number and every part.

    Raises
    ------
    ParameterError
        For a parameter too many or too few, out of range, or of another kind.
    NotCertified
        For mechanisms that nothing is known of.
    """
    wanted: dict[str, Any] = record_of(table).to_dict()
    odd = sorted(set(wanted) ^ set(table))
    odd = odd or [key for key in wanted if _written(wanted[key]) != _written(table[key])]
    if odd:
        key, name = odd[0], table["name"]
        what = f"wanted {wanted[key]!r}" if key in wanted else "wanted no such parameter"
        raise ParameterError(f"{name}: {key} = {table.get(key)!r}: {what}")


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
