"""Which pairs of inputs an upper end has to hold for, decided from the mechanism alone.

Theorems of docs/theory.md, section 4, docs/theory-parts.md, section 2 and docs/theory-noise.md,
section 1 say that the gains of the pairs named here dominate those of all others in convex order:
the blanket's divergences and the local ones of all pairs are at most theirs. One direction is named
where exchanging the inputs leaves the law as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from shuffledp.errors import NotCertified

from .outputs import Parameters
from .record import Pair, Parts
from .registry import not_known, record_of, seen

__all__ = ["are_neighbours", "ordered_pairs", "without_limit"]

_MOST_PAIRS = 4096
# How far apart neighbours' values may be: of mechanisms that nothing is known of here.
_LIMIT = "distance"


def ordered_pairs(mechanism: Parameters) -> list[Pair]:
    """Ordered pairs of inputs that together dominate all neighbouring ones; perhaps more of them.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here, and where there are too many pairs.
    """
    record = record_of(mechanism)
    if record.pair is not None:
        return [record.pair(mechanism)]
    if record.listed is not None:
        count = record.listed(mechanism)
        if count * (count - 1) > _MOST_PAIRS:
            words = f"{count * (count - 1):,} ordered pairs of inputs"
            raise NotCertified(f"{mechanism['name']}: {words}, too many to verify")
        return list(itertools.permutations(range(count), 2))
    if record.parts is not None:
        return _of_parts(mechanism, record.parts)
    raise not_known(mechanism["name"])


def are_neighbours(mechanism: Parameters, x0: Any, x1: Any) -> bool:
    """Whether one user may hold the one value or the other, in neighbouring datasets.

    Each part of a record changes as the part itself allows.
    """
    inner = seen(mechanism).parts
    if inner is not None and inner.like:
        return are_neighbours(mechanism["randomizer"], x0, x1)
    if _LIMIT in mechanism:
        raise not_known(mechanism["name"])
    if inner is None or not inner.records:
        return True
    parts = mechanism["randomizers"]
    rows = (x0, x1)
    if any(not isinstance(row, Sequence) or len(row) != len(parts) for row in rows):
        return False
    differing = [(p, a, b) for p, a, b in zip(parts, x0, x1, strict=True) if a != b]
    most = mechanism.get("hamming") or len(parts)
    return len(differing) <= most and all(are_neighbours(p, a, b) for p, a, b in differing)


def without_limit(mechanism: Parameters) -> dict[str, Any]:
    """The mechanism with every two values neighbours: what other users hold is not limited."""
    found = {key: value for key, value in mechanism.items() if key not in {"hamming", _LIMIT}}
    if "randomizer" in found:
        found["randomizer"] = without_limit(found["randomizer"])
    if "randomizers" in found:
        found["randomizers"] = [without_limit(part) for part in found["randomizers"]]
    return found


def _of_parts(mechanism: Parameters, inner: Parts) -> list[Pair]:
    """Of one part the pair may change; of records every part's, within the limit."""
    name = mechanism["name"]
    if inner.like:
        return [pair for pair, differs in _options(mechanism["randomizer"]) if differs]
    parts = mechanism["randomizers"]
    most = mechanism.get("hamming") or len(parts)
    options = [_options(part, equal=most < len(parts)) for part in parts]
    if math.prod(len(option) for option in options) > 16 * _MOST_PAIRS:
        raise NotCertified(f"{name}: too many pairs of records to verify")
    found = []
    for chosen in itertools.product(*options):
        if 0 < sum(differs for _, differs in chosen) <= most:
            x0, x1 = (tuple(pair[i] for pair, _ in chosen) for i in (0, 1))
            found.append((x0, x1))
    if len(found) > _MOST_PAIRS:
        raise NotCertified(f"{name}: {len(found):,} pairs of records, too many to verify")
    return found


def _options(part: Parameters, *, equal: bool = False) -> list[tuple[Pair, bool]]:
    """Pairs of values of one part, and whether they differ.

    Pairs of equal values are dominated by that of the first value of the pair named, and but for
    channels by that pair itself: then they are left out where the part may differ.
    """
    record, name = seen(part), part["name"]
    if not record.inside:
        raise NotCertified(
            f"randomizer = {name!r}: the verifier does not know this mechanism as a part"
        )
    if record.pair is None and record.listed is not None:
        values = range(record.listed(part))
        return [((x, y), x != y) for x, y in itertools.product(values, repeat=2)]
    # Of a record of limited changes these are the pairs within the limit.
    pairs = ordered_pairs(part)
    found = [(pair, True) for pair in pairs]
    same = dict.fromkeys(x0 for x0, _ in pairs) if equal or _holds_listed(part) else {}
    return [*found, *(((x, x), False) for x in same)]


def _holds_listed(part: Parameters) -> bool:
    """Whether all pairs of some part in it are looked at."""
    record = seen(part)
    inner = [*part.get("randomizers", ()), *filter(None, [part.get("randomizer")])]
    whole = record.pair is None and record.listed is not None
    return whole or any(_holds_listed(one) for one in inner)
