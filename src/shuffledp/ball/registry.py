"""The mechanisms that are known by one record each; of the older ones tables say the same."""

from __future__ import annotations

from . import hyperplanes
from .record import Record

__all__ = ["RECORDS"]

RECORDS: dict[str, Record] = {**hyperplanes.RECORDS}
