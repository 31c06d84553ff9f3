"""The mechanisms that the verifier knows: each has one record, in the module of its definition."""

from __future__ import annotations

from typing import Any

from shuffledp.errors import NotCertified

from . import (
    family,
    hashing,
    hyperplanes,
    items,
    lattice,
    matrices,
    means,
    noises,
    parts,
    protocols,
    responses,
    sets,
    sphere,
    vectors,
)
from .outputs import Parameters
from .record import Record

__all__ = ["RECORDS", "not_known", "record_of", "seen"]

RECORDS: dict[str, Record] = {
    **family.RECORDS,
    **hashing.RECORDS,
    **hyperplanes.RECORDS,
    **items.RECORDS,
    **lattice.RECORDS,
    **matrices.RECORDS,
    **means.RECORDS,
    **noises.RECORDS,
    **parts.RECORDS,
    **protocols.RECORDS,
    **responses.RECORDS,
    **sets.RECORDS,
    **sphere.RECORDS,
    **vectors.RECORDS,
}
_NOTHING = Record(ranges={})


def record_of(mechanism: Parameters) -> Record:
    """Of a table that a file may have.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here.
    """
    found = seen(mechanism)
    if found is _NOTHING or found.unnamed:
        raise not_known(mechanism["name"])
    return found


def not_known(name: Any) -> NotCertified:
    """To be raised of a mechanism, or of a use of it, that nothing is known of here."""
    return NotCertified(f"randomizer = {name!r}: the verifier does not know this mechanism")


def seen(mechanism: Parameters) -> Record:
    """The same, and of other mechanisms a record that says nothing."""
    return RECORDS.get(mechanism["name"], _NOTHING)
