"""What stands behind each end: which analyses apply to a source, and the pairs each evaluates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp import theorems
from shuffledp.analyses import Analysis, analysis_named
from shuffledp.bound import Theorem
from shuffledp.divergence import EpsilonInterval, PairProfile
from shuffledp.errors import NotCertified
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import BinaryRR, Randomizer
from shuffledp.reductions import blanket_pair, clone_pair, dataset_pair, stronger_clone_pair

NEIGHBOURS = "neighbouring datasets: one user's value replaced by another (n is public)"
HONEST = "all n messages are randomized as stated and reach the shuffler"
_SHUFFLER = "the analyst sees the messages in a uniformly random order and nothing else of them"
ONE_ROUND = "one report per user and one round"

Named = tuple[ShuffledPair, dict[str, Any]]


@dataclass(frozen=True)
class Family:
    """Everything eps0-LDP, for ``generic``: no randomizer of its own."""

    eps0: float
    adaptive: bool


Source = Randomizer | Family


@dataclass(frozen=True)
class Side:
    """The profiles of one analysis and what each of them stands for."""

    analysis: Analysis
    theorem: Theorem
    profiles: tuple[PairProfile, ...]
    witnesses: tuple[dict[str, Any], ...]
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """One end: its value, what certifies it, its numerical width, and what reproduces it."""

    value: float
    theorem: Theorem | None
    width: float | None
    witness: dict[str, Any]
    assumptions: tuple[str, ...]


def found_epsilon(side: Side, value: float, interval: EpsilonInterval) -> Found:
    """An end of eps that this side gave."""
    if interval.high == interval.low:
        width = 0.0
    else:
        width = interval.high / interval.low - 1.0 if interval.low > 0.0 else math.inf
    witness = side.witnesses[interval.which]
    return Found(value, side.theorem, width, witness, side.assumptions)


def found_log_delta(
    side: Side, index: int, high: float, low: float, *, end: Literal["low", "high"] = "high"
) -> Found:
    """An end of log delta that this side's profile ``index`` gave."""
    value = low if end == "low" else high
    width = 0.0 if high == low else (math.expm1(min(high - low, 700.0)))
    return Found(value, side.theorem, width, side.witnesses[index], side.assumptions)


def require(source: Source, key: str) -> None:
    """Raise NotCertified, with the reason, where the analysis does not apply to the source."""
    if key == "blanket" and isinstance(source, Family):
        msg = "analysis = 'blanket': wanted a randomizer; a family of them has no common blanket"
        raise NotCertified(msg)
    if key in {"clone", "stronger-clone"} and not math.isfinite(source.eps0):
        msg = f"analysis = {key!r}: wanted an eps0-LDP randomizer; this one has no finite eps0"
        raise NotCertified(msg)


def theorem_of(source: Source, key: str) -> Theorem:
    """What certifies the analysis for this source, the step that names its worst pairs included."""
    theorem = analysis_named(key).theorem
    if isinstance(source, Family):
        return theorems.FAMILY if key == "dataset" else theorem
    if key == "blanket":
        return theorem.with_step(source.worst_pairs().theorem)
    return theorem


def make_side(source: Source, key: str, *, n: int, cells: int) -> Side:
    """The profiles of one analysis; NotCertified where it cannot be made."""
    assumptions: tuple[str, ...] = (NEIGHBOURS, HONEST, _SHUFFLER, ONE_ROUND)
    if key == "blanket":
        pairs = _blanket_pairs(source, n, cells)
        assumptions += ("every user runs the same randomizer, chosen before any message is seen",)
    elif key == "dataset":
        pairs = dataset_pairs(source, n, cells)
    else:
        make = clone_pair if key == "clone" else stronger_clone_pair
        pairs = [(make(eps0=source.eps0, n=n), {"analysis": key})]
        adaptive = isinstance(source, Family) and source.adaptive
        assumptions += (
            "every randomizer is eps0-LDP for every history it may depend on; users are "
            "shuffled first, then randomized one after another"
            if adaptive
            else "every user runs the same eps0-LDP randomizer, or the i-th message of the "
            "shuffled users is made by the i-th randomizer",
        )
    profiles, witnesses = _distinct(pairs)
    return Side(analysis_named(key), theorem_of(source, key), profiles, witnesses, assumptions)


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
    randomizer = _member(source)
    found = []
    for x0, x1, x2 in randomizer.datasets():
        pair = dataset_pair(randomizer, x0, x1, x2, n=n, cells=cells)
        witness = {"analysis": "dataset", "x0": x0, "x1": x1, "x2": x2}
        found.append((pair, {**witness, "swap": False}))
        found.append((pair.swap(), {**witness, "swap": True}))
    return found


def _member(source: Source) -> Randomizer:
    """The randomizer, or for a family the member its lower bound comes from."""
    return BinaryRR(eps0=source.eps0) if isinstance(source, Family) else source


def _distinct(
    pairs: Sequence[Named],
) -> tuple[tuple[PairProfile, ...], tuple[dict[str, Any], ...]]:
    """Profiles of the pairs, equal laws once."""
    seen: dict[bytes, None] = {}
    profiles, witnesses = [], []
    for pair, witness in pairs:
        profile = PairProfile(pair)
        key = profile.fingerprint()
        if key not in seen:
            seen[key] = None
            profiles.append(profile)
            witnesses.append(witness)
    return tuple(profiles), tuple(witnesses)
