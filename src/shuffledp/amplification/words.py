"""What an end takes for granted, in words."""

from __future__ import annotations

from shuffledp.laws.sources import Family, RatioFamily, Source
from shuffledp.randomizers import Randomizer

HONEST = "all n messages are randomized as stated and reach the shuffler"
SHUFFLER = "the analyst sees the messages in a uniformly random order and nothing else of them"
ONE_ROUND = "one report per user and one round"
SAME = "every user runs the same randomizer, chosen before any message is seen"
SAME_FAMILY = "every user runs the same eps0-LDP randomizer, chosen before any message is seen"
IN_ORDER = (
    "every user runs the same eps0-LDP randomizer, or the i-th message of the "
    "shuffled users is made by the i-th randomizer"
)
ADAPTIVE = (
    "every randomizer is eps0-LDP for every history it may depend on; users are "
    "shuffled first, then randomized one after another"
)
RATIO = (
    "p, beta and q hold for the victim's two laws and every other user's law on one alphabet, "
    "chosen before any message is seen"
)
RATIO_ADAPTIVE = (
    "p, beta and q hold at every position and for every history; users are shuffled first, then "
    "randomized one after another"
)


def own_assumptions(source: Source) -> tuple[str, ...]:
    """What the mechanism itself takes for granted, in words."""
    return source.assumptions() if isinstance(source, Randomizer) else ()


def of_all(source: Source) -> tuple[str, ...]:
    """What every end of this source takes for granted: neighbours, reports, shuffler, one round."""
    return (source.relation.sentence, HONEST, SHUFFLER, ONE_ROUND, *own_assumptions(source))


def of_any(source: Source) -> tuple[str, ...]:
    """What a bound takes for granted that holds for every member of a family, and in any order."""
    adaptive = isinstance(source, Family | RatioFamily) and source.adaptive
    if isinstance(source, RatioFamily):
        chosen = RATIO_ADAPTIVE if adaptive else RATIO
    else:
        chosen = ADAPTIVE if adaptive else IN_ORDER
    return (*of_all(source), chosen)
