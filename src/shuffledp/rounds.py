"""A shuffled mechanism as one round of a composition."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp import theorems
from shuffledp.composition import Candidate, Round
from shuffledp.divergence import PairProfile
from shuffledp.sides import ONE_ROUND, Side, Source, dataset_pairs

_NO_SINGLE_PAIR = (
    "no single pair of inputs is the worst at every eps: the maximum over {count} pairs at each eps "
    "is what is composed"
)


def round_of(
    source: Source,
    sides: Sequence[Side],
    *,
    label: str,
    eps0: float,
    n: int,
    cells: int,
    key: object,
) -> Round:
    """One round, from the sides of its upper bounds in order of preference.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    sides : sequence of Side
        Analyses that apply, the tightest first.
    label : str
        For a reader.
    eps0 : float
        Local guarantee in nats: no round leaks more.
    n : int
        Messages in the shuffle.
    cells : int
        For continuous outputs: about how many cells.
    key : hashable
        Equal for equal rounds, whose repetitions are counted together.
    """
    first = sides[0]
    assumptions = [words for words in first.assumptions if words != ONE_ROUND]
    if len(first.profiles) > 1:
        assumptions.append(_NO_SINGLE_PAIR.format(count=len(first.profiles)))
    pairs = [
        (pair, witness) for pair, witness in dataset_pairs(source, n, cells) if not witness["swap"]
    ]
    return Round(
        label=label,
        groups=[side.profiles for side in sides],
        candidates=tuple(
            Candidate(PairProfile(pair), PairProfile(pair.swap()), witness)
            for pair, witness in pairs
        ),
        eps0=eps0,
        key=key,  # type: ignore[arg-type]
        assumptions=tuple(assumptions),
        upper_theorem=first.theorem,
        lower_theorem=theorems.DATASET,
        at={"n": n},
    )
