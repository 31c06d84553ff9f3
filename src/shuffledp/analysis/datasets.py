"""Lower ends: exact for the data sets they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp import theorems
from shuffledp.analysis import words
from shuffledp.analysis.analysis import Analysis, always
from shuffledp.analysis.pairs import Named, of_pairs
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Family, RatioFamily, Source
from shuffledp.analysis.variation_ratio import numbers
from shuffledp.bound import Theorem
from shuffledp.bounds.variation_ratio import repaired_pair
from shuffledp.laws.pairs import Pair, dataset_pair, message_pair
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import KRR, BinaryRR, Randomizer


def lower_theorem(source: Source) -> Theorem:
    """That of the randomizer, the protocol, or the member of the family that is tried."""
    if isinstance(source, MultiMessage):
        return source.lower_theorem()
    if isinstance(source, RatioFamily):
        return theorems.ATTAINED
    return theorems.FAMILY if isinstance(source, Family) else theorems.DATASET


def dataset_pairs(source: Source, n: int) -> list[Named]:
    """Pairs of the data sets worth trying for a lower bound, each followed by its swap.

    Parameters
    ----------
    source : Randomizer, family or protocol
        What each user runs.
    n : int
        Users (messages in the shuffle).
    """
    if isinstance(source, MultiMessage):
        return [(message_pair(one), one.witness) for one in source.lower_pairs(n)]
    if isinstance(source, RatioFamily):
        pair = repaired_pair(source.ratio, n=n, attained=True)
        witness = {"analysis": "dataset", "member": "attains", **numbers(source.ratio)}
        witness["beta"] = float(source.ratio.attained_variation)
        return both_ways(pair, witness)
    if isinstance(source, Family):
        return _family_pairs(source.eps0, n)
    return pairs_of(source, source.datasets(), n)


def _family_pairs(eps0: float, n: int) -> list[Named]:
    """Two members of the family of all eps0-LDP randomizers: binary RR, and 3-RR, others at 2.

    To first order none is worse: the integral of (R_x1 - R_x0)^2/R_x over all eps0-LDP randomizers
    and inputs is at most (E - 1)^2 max(1/E, 2/(E + 2)), binary RR's for E <= 2 and 3-RR's above.
    """
    two = BinaryRR(eps0=eps0)
    members = (("binary-rr", two, two.datasets()), ("3-rr", KRR(k=3, eps0=eps0), ((0, 1, 2),)))
    return [
        (pair, {**named, "member": name})
        for name, member, triples in members
        for pair, named in pairs_of(member, triples, n)
    ]


def pairs_of(
    randomizer: Randomizer,
    triples: Sequence[tuple[Any, Any, Any]],
    n: int,
) -> list[Named]:
    """Pairs of the data sets (x0, x1, x2), where all others hold x2, each followed by its swap.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    triples : sequence of (x0, x1, x2)
        The data sets.
    n : int
        Users.
    """
    found = []
    for x0, x1, x2 in triples:
        pair = dataset_pair(randomizer, x0, x1, x2, n=n)
        found += both_ways(pair, {"analysis": "dataset", "x0": x0, "x1": x1, "x2": x2})
    return found


def both_ways(pair: Pair, witness: dict[str, Any]) -> list[Named]:
    """The pair and its swap, with the witness of each."""
    return [(pair, {**witness, "swap": False}), (pair.swap(), {**witness, "swap": True})]


def _dataset(source: Source, n: int) -> Side:
    """The data sets worth trying, of a protocol too."""
    theorem = lower_theorem(source)
    assumed = source.assumptions() if isinstance(source, MultiMessage) else words.of_all(source)
    return of_pairs("dataset", "lower", theorem, dataset_pairs(source, n), assumed)


DATASET = Analysis(
    "dataset",
    "lower",
    theorems.DATASET,
    "exact for the dataset it names, so a lower bound on the worst case",
    make=_dataset,
    usual=always,
)
