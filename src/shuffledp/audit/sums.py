"""Sums of batches read back from a file: only what a mechanism's reports can add up to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp.audit.tables import floats, number, table_of
from shuffledp.errors import rejected
from shuffledp.randomizers import (
    KRR,
    PCKVGRR,
    BinaryRR,
    Channel,
    Duchi,
    HadamardResponse,
    PoissonSubsample,
    Randomizer,
    SubsetSelection,
)
from shuffledp.randomizers.frequency import ItemRandomizer
from shuffledp.statistics.estimates import Aggregate, PartsAggregate, joined

# Sums of floats in another order: far above their rounding, far below any report.
_ROUNDING = 1e-9


def plain_sums(sums: Any) -> list[dict[str, Any]]:
    """Sums of batches as files have them."""
    return [_plain(one) for one in sums]


def _plain(one: Aggregate) -> dict[str, Any]:
    table = {"count": int(one.count), "sums": np.asarray(one.sums).tolist()}
    if isinstance(one, PartsAggregate):
        return table | {"parts": [_plain(part) for part in one.parts]}
    return table


def sums_from(row: Any, mechanism: Randomizer, like: Aggregate, name: str) -> Aggregate:
    """One batch's sums.

    Parameters
    ----------
    row
        What a file says.
    mechanism : Randomizer
        Whose sums they are.
    like : Aggregate
        Sums of another batch of as many users.
    name : str
        For messages.

    Raises
    ------
    ParameterError
        If no reports of so many users add up to them.
    """
    return _aggregate(row, mechanism, like, like.count, name)


def _aggregate(
    row: Any, mechanism: Any, like: Aggregate, users: int | None, name: str
) -> Aggregate:
    many = isinstance(like, PartsAggregate)
    given = table_of(name, row, ("count", "sums", "parts") if many else ("count", "sums"))
    count, sums = number(f"{name}.count", given["count"]), floats(f"{name}.sums", given["sums"])
    if sums.shape != np.shape(like.sums) or (users is not None and count != users):
        wanted = f"{users} users, {np.shape(like.sums)}"
        raise rejected(name, f"{count} users, {sums.shape}", wanted)
    if isinstance(like, PartsAggregate):
        return _joined(given, mechanism, like, count, name)
    if not _possible(mechanism, count, sums, np.asarray(like.sums)):
        wanted = f"what {count:,} reports of {mechanism.name} can add up to"
        raise rejected(f"{name}.sums", given["sums"], wanted)
    return Aggregate(count, sums.astype(np.asarray(like.sums).dtype))


def _joined(
    given: dict[str, Any], mechanism: Any, like: PartsAggregate, count: int, name: str
) -> Aggregate:
    """Sums of parts: no more users than there are, and the same numbers one after another."""
    if not isinstance(given["parts"], list) or len(given["parts"]) != len(like.parts):
        raise rejected(f"{name}.parts", "another number", f"{len(like.parts)}")
    inner = _parts_of(mechanism, len(like.parts))
    rows = zip(given["parts"], inner, like.parts, strict=True)
    parts = [_aggregate(part, own, other, None, f"{name}.parts") for part, own, other in rows]
    if sum(part.count for part in parts) > count:
        raise rejected(f"{name}.parts", "their users", f"at most {count:,} together")
    made = joined(count, parts)
    if made.sums.tolist() != np.asarray(given["sums"], dtype=np.float64).ravel().tolist():
        raise rejected(f"{name}.sums", given["sums"], "those of its parts")
    return made


def _parts_of(mechanism: Any, many: int) -> list[Any]:
    """The mechanisms of the parts."""
    if isinstance(mechanism, PoissonSubsample):
        return [mechanism.randomizer] * many
    return list(mechanism.randomizers)


def _possible(mechanism: Any, count: int, sums: Any, like: Any) -> bool:
    """Whether so many reports can add up to this."""
    if isinstance(mechanism, HadamardResponse):
        return _possible_signs(mechanism, count, sums)
    if isinstance(mechanism, ItemRandomizer | Channel):
        counts = bool(((sums >= 0) & (sums <= count) & (sums == np.floor(sums))).all())
        least, most = _supported(mechanism)
        return counts and least * count <= float(sums.sum()) <= most * count
    # Of a mean: sum v and sum v^2, with (sum v)^2 <= n sum v^2 (Cauchy and Schwarz).
    first, second = sums
    slack = 1.0 + _ROUNDING
    if bool((second < 0.0).any() or (first**2 > count * second * slack + _ROUNDING).any()):
        return False
    if isinstance(mechanism, Duchi):  # two values, one the other's negative
        return bool(np.isclose(second, like[1] * count / max(count, 1), rtol=_ROUNDING))
    integers = bool((like == np.floor(like)).all())
    return not integers or bool((sums == np.floor(sums)).all())


def _possible_signs(mechanism: HadamardResponse, count: int, sums: Any) -> bool:
    """Even less odd ones of all reports of an item's block: item j is in block j mod blocks."""
    signed, inside = sums
    if bool((sums != np.floor(sums)).any() or (np.abs(signed) > inside).any()):
        return False
    blocks = inside[: mechanism.blocks]
    alike = np.resize(blocks, inside.size)
    odd = bool(((inside - signed) % 2.0 != 0.0).any())
    return not odd and float(blocks.sum()) <= count and bool((alike == inside).all())


def _supported(mechanism: Any) -> tuple[float, float]:
    """How many items a report supports, at least and at most, where that is settled."""
    if isinstance(mechanism, PCKVGRR):  # dummies of a padded set are no items
        return (0 if mechanism.padding else 1), 1
    if isinstance(mechanism, KRR | BinaryRR | Channel):
        return 1, 1
    if isinstance(mechanism, SubsetSelection):
        return mechanism.size, mechanism.size
    return 0.0, math.inf
