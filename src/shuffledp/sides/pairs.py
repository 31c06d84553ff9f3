"""What stands behind each end: which analyses apply to a source, and the pairs each evaluates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from shuffledp import theorems
from shuffledp.analyses import analysis_named
from shuffledp.divergence import (
    PairProfile,
)
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MultiMessage
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import KRR, BinaryRR, Randomizer
from shuffledp.reductions import (
    VariationRatio,
    blanket_pair,
    clone_pair,
    dataset_pair,
    merged_dataset_pair,
    published_pair,
    repaired_pair,
    stronger_clone_pair,
)
from shuffledp.sides.side import Side
from shuffledp.sides.sources import Family, RatioFamily, Source, ratios, require, theorem_of
from shuffledp.sides.words import words_for

Named = tuple[ShuffledPair, dict[str, Any]]


def make_side(source: Source, key: str, *, n: int, cells: int) -> Side:
    """The profiles of one analysis of a pair; NotCertified where it cannot be made."""
    require(source, key)
    pairs = _MAKERS[key](source, n, cells)
    theorem = theorem_of(source, key)
    # A step that is proved here matters where all others are published.
    seen = key == "blanket" and any(pair.outside.any() for pair, _ in pairs)
    if seen and theorem.provenance == "published":
        theorem = theorem.with_step(theorems.OUTSIDE)
    profiles, witnesses = _distinct(pairs)
    return Side(analysis_named(key), theorem, profiles, witnesses, words_for(source, key))


def _clone_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return [(clone_pair(eps0=source.eps0, n=n), {"analysis": "clone"})]


def _stronger_clone_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return [(stronger_clone_pair(eps0=source.eps0, n=n), {"analysis": "stronger-clone"})]


def _repaired_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    key = "repaired-variation-ratio"
    return [
        (repaired_pair(ratio, n=n), {"analysis": key, **words, **_numbers(ratio)})
        for ratio, words in ratios(source)
    ]


def _message_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return source.pairs(n) if isinstance(source, MultiMessage) else []


def published_ratio_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """The published variation-ratio pairs, whether or not they bound anything."""
    del cells
    key = "variation-ratio"
    return [
        (published_pair(ratio, n=n), {"analysis": key, **words, **_numbers(ratio)})
        for ratio, words in ratios(source)
    ]


def _numbers(ratio: VariationRatio) -> dict[str, Any]:
    p = ratio.p if math.isfinite(ratio.p) else None
    return {"p": p, "beta": float(ratio.total_variation), "q": ratio.q}


def _blanket_pairs(source: Source, n: int, cells: int) -> list[Named]:
    randomizer = _member(source)
    return [
        (
            blanket_pair(randomizer, x0, x1, n=n, cells=cells),
            {"analysis": "blanket", "x0": x0, "x1": x1, "swap": False},
        )
        for x0, x1 in randomizer.worst_pairs().pairs
    ]


def dataset_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """Pairs of the datasets worth trying for a lower bound, each followed by its swap."""
    if isinstance(source, MultiMessage):
        return source.lower_pairs(n)
    if isinstance(source, RatioFamily):
        pair = repaired_pair(source.ratio, n=n)
        witness = {"analysis": "dataset", "member": "attains", **_numbers(source.ratio)}
        return [(pair, {**witness, "swap": False}), (pair.swap(), {**witness, "swap": True})]
    if isinstance(source, Family):
        return _family_pairs(source.eps0, n, cells)
    randomizer = _member(source)
    return _dataset_pairs(randomizer, randomizer.datasets(), n, cells, "dataset")


def _family_pairs(eps0: float, n: int, cells: int) -> list[Named]:
    """Two members of the family of all eps0-LDP randomizers: binary RR, and 3-RR, others at 2.

    To first order none is worse: the integral of (R_x1 - R_x0)^2/R_x over all eps0-LDP randomizers
    and inputs is at most (E - 1)^2 max(1/E, 2/(E + 2)), binary RR's for E <= 2 and 3-RR's above.
    """
    two = BinaryRR(eps0=eps0)
    members = (("binary-rr", two, two.datasets()), ("3-rr", KRR(k=3, eps0=eps0), ((0, 1, 2),)))
    return [
        (pair, {**words, "member": name})
        for name, member, triples in members
        for pair, words in _dataset_pairs(member, triples, n, cells, "dataset")
    ]


def _one_dataset_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """One triple: the first whose x2 is neither x0 nor x1, as in Su et al., or else the first."""
    randomizer = _member(source)
    triples = randomizer.datasets()
    third = next((t for t in triples if t[2] not in (t[0], t[1])), triples[0])
    return _dataset_pairs(randomizer, (third,), n, cells, "one-dataset")


def _merged_dataset_pairs(source: Source, n: int, cells: int) -> list[Named]:
    randomizer = _member(source)
    found = []
    for x0, x1, x2 in randomizer.datasets():
        pair = merged_dataset_pair(randomizer, x0, x1, x2, n=n, cells=cells)
        witness = {"analysis": "variation-ratio-5.1", "x0": x0, "x1": x1, "x2": x2}
        found.append((pair, {**witness, "swap": False}))
        found.append((pair.swap(), {**witness, "swap": True}))
    return found


def _dataset_pairs(
    randomizer: Randomizer,
    triples: Sequence[tuple[Any, Any, Any]],
    n: int,
    cells: int,
    key: str,
) -> list[Named]:
    found = []
    for x0, x1, x2 in triples:
        pair = dataset_pair(randomizer, x0, x1, x2, n=n, cells=cells)
        witness = {"analysis": key, "x0": x0, "x1": x1, "x2": x2}
        found.append((pair, {**witness, "swap": False}))
        found.append((pair.swap(), {**witness, "swap": True}))
    return found


def _member(source: Source) -> Randomizer:
    """The randomizer itself; a family has none of its own."""
    if isinstance(source, MultiMessage):
        raise NotCertified("a multi-message protocol has no one randomizer")
    if isinstance(source, Family | RatioFamily):
        raise NotCertified("a family has no randomizer of its own")
    return source


def _distinct(
    pairs: Sequence[Named],
) -> tuple[tuple[PairProfile, ...], tuple[dict[str, Any], ...]]:
    """Profiles of the pairs, equal laws once."""
    seen: set[tuple[bytes, ...]] = set()
    profiles, witnesses = [], []
    for pair, witness in pairs:
        profile = PairProfile(pair)
        key = profile.fingerprint()
        if key not in seen:
            seen.add(key)
            profiles.append(profile)
            witnesses.append(witness)
    return tuple(profiles), tuple(witnesses)


_MAKERS: dict[str, Callable[[Source, int, int], list[Named]]] = {
    "blanket": _blanket_pairs,
    "stronger-clone": _stronger_clone_pairs,
    "clone": _clone_pairs,
    "multi-message": _message_pairs,
    "repaired-variation-ratio": _repaired_pairs,
    "variation-ratio": published_ratio_pairs,
    "dataset": dataset_pairs,
    "one-dataset": _one_dataset_pairs,
    "variation-ratio-5.1": _merged_dataset_pairs,
}
PAIR_KEYS = frozenset(_MAKERS)
