"""Which pairs of inputs an upper end has to hold for, decided from the mechanism alone.

Theorems of docs/theory.md, section 4, docs/theory-parts.md, section 2 and docs/theory-noise.md,
section 1 say that the gains of the pairs named here dominate those of all others in convex order:
the blanket's divergences and the local ones of all pairs are at most theirs. One direction is named
where exchanging the inputs leaves the law as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shuffledp.errors import NotCertified

from .levels import checked_pattern
from .messages import PROTOCOLS
from .registry import RECORDS

__all__ = ["PARTS", "are_neighbours", "ordered_pairs", "without_limit"]

Pair = tuple[Any, Any]
_MOST_PAIRS = 4096
# All pairs are alike by symmetry, or a pair in different blocks dominates.
_SYMMETRIC = {"k-rr", "binary-rr", "rappor", "oue", "local-hash", "blh", "olh", "subset"}
_SYMMETRIC |= {"hadamard-response", "generic"}
# The two ends of the interval of inputs: additive noise that is symmetric and unimodal, and
# mechanisms between two levels that favour disjoint outputs at the ends.
_INTERVAL = {"laplace", "gaussian", "generalized-gaussian", "staircase"}
_INTERVAL |= {"duchi", "piecewise", "hybrid", "clamped-laplace", "truncated-laplace"}
_KNOWN: dict[str, Callable[[Mapping[str, Any]], Pair]] = {
    **dict.fromkeys(_SYMMETRIC, lambda _: (0, 1)),
    **dict.fromkeys(_INTERVAL, lambda m: (m["low"], m["high"])),
    **dict.fromkeys(("discrete-laplace", "discrete-gaussian"), lambda m: (0, m["top"])),
    **dict.fromkeys(PROTOCOLS, lambda _: (0, 1)),  # any two values of a victim
    "privunit": lambda _: (0, 2),  # antipodal
    "wheel": lambda _: (-1, -2),  # the law that dominates all pairs of sets
    "pckv-grr": lambda _: (0, 1),  # the same keys, opposite values
    "sampling-rappor": lambda m: (0, m["s"] % m["d"]),  # fewest items shared
    "extremal": lambda m: _fewest_common(checked_pattern(m)),
    **{name: record.pair for name, record in RECORDS.items()},
}
PARTS = {"joint", "parallel", "poisson-subsample", "hierarchy"}
# Inputs are records, one value for each part.
_RECORDS = {"joint", "parallel"}
_AT_A_DISTANCE = {"metric-laplace", "laplace-ball"}
# Whose theorems are used for them alone, not inside other reports.
_ALONE = {"laplace", "gaussian", "generalized-gaussian", "clamped-laplace", "truncated-laplace"}
_ALONE |= {"discrete-gaussian"}

Parameters = Mapping[str, Any]


def ordered_pairs(mechanism: Parameters) -> list[Pair]:
    """Ordered pairs of inputs that together dominate all neighbouring ones; perhaps more of them.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here, and where there are too many pairs.
    """
    name = mechanism["name"]
    if name in PARTS:
        return _records(mechanism)
    if name == "channel":
        return list(itertools.permutations(range(len(mechanism["matrix"])), 2))
    if name in _KNOWN:
        return [_KNOWN[name](mechanism)]
    raise NotCertified(f"randomizer = {name!r}: the verifier does not know this mechanism")


def are_neighbours(mechanism: Parameters, x0: Any, x1: Any) -> bool:
    """Whether one user may hold the one value or the other, in neighbouring datasets.

    Each part of a record changes as the part itself allows.
    """
    name = mechanism["name"]
    if name == "poisson-subsample":
        return are_neighbours(mechanism["randomizer"], x0, x1)
    if name in _AT_A_DISTANCE:
        raise NotCertified(f"randomizer = {name!r}: the verifier does not know this mechanism")
    if name not in _RECORDS:
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
    found = {key: value for key, value in mechanism.items() if key != "hamming"}
    if found["name"] in _AT_A_DISTANCE:
        found.pop("distance", None)
    if "randomizer" in found:
        found["randomizer"] = without_limit(found["randomizer"])
    if "randomizers" in found:
        found["randomizers"] = [without_limit(part) for part in found["randomizers"]]
    return found


def _fewest_common(pattern: list[list[int]]) -> Pair:
    """The first pair of rows with the fewest favoured outputs in common."""
    rows = [sum(1 << j for j, v in enumerate(row) if v) for row in pattern]
    return min(
        itertools.combinations(range(len(rows)), 2),
        key=lambda pair: (rows[pair[0]] & rows[pair[1]]).bit_count(),
    )


def _records(mechanism: Parameters) -> list[Pair]:
    name = mechanism["name"]
    if name == "hierarchy":
        return [(0, mechanism["domain"] - 1)]
    if name == "poisson-subsample":
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
    name = part["name"]
    if name in _ALONE:
        raise NotCertified(
            f"randomizer = {name!r}: the verifier does not know this mechanism as a part"
        )
    if name == "channel":
        values = range(len(part["matrix"]))
        return [((x, y), x != y) for x, y in itertools.product(values, repeat=2)]
    # Of a record of limited changes these are the pairs within the limit.
    pairs = ordered_pairs(part)
    found = [(pair, True) for pair in pairs]
    same = dict.fromkeys(x0 for x0, _ in pairs) if equal or _holds_channel(part) else {}
    return [*found, *(((x, x), False) for x in same)]


def _holds_channel(part: Parameters) -> bool:
    inner = [*part.get("randomizers", ()), *filter(None, [part.get("randomizer")])]
    return part["name"] == "channel" or any(_holds_channel(one) for one in inner)
