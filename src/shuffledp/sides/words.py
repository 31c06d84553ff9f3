"""What a side takes for granted, in words."""

from __future__ import annotations

from shuffledp.analyses import analysis_named
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer
from shuffledp.sides.sources import RATIOS, Family, RatioFamily, Source

HONEST = "all n messages are randomized as stated and reach the shuffler"


_SHUFFLER = "the analyst sees the messages in a uniformly random order and nothing else of them"


ONE_ROUND = "one report per user and one round"


def own_assumptions(source: Source) -> tuple[str, ...]:
    """What the mechanism itself takes for granted, in words."""
    return source.assumptions() if isinstance(source, Randomizer) else ()


def words_for(source: Source, key: str) -> tuple[str, ...]:
    """The assumptions under which the analysis holds for this source."""
    if isinstance(source, MultiMessage):
        return source.assumptions()
    words = (source.relation.sentence, HONEST, _SHUFFLER, ONE_ROUND, *own_assumptions(source))
    if analysis_named(key).end == "lower":
        return words
    adaptive = not isinstance(source, Randomizer) and source.adaptive
    if isinstance(source, RatioFamily):
        return (*words, _RATIO_ADAPTIVE if adaptive else _RATIO)
    if isinstance(source, Family) and key == "label-stealing":
        return (*words, _SAME_FAMILY)
    if not analysis_named(key).any_randomizer or (isinstance(source, Randomizer) and key in RATIOS):
        return (*words, SAME)
    return (*words, _ADAPTIVE if adaptive else IN_ORDER)


SAME = "every user runs the same randomizer, chosen before any message is seen"


_SAME_FAMILY = "every user runs the same eps0-LDP randomizer, chosen before any message is seen"


_ADAPTIVE = (
    "every randomizer is eps0-LDP for every history it may depend on; users are "
    "shuffled first, then randomized one after another"
)


IN_ORDER = (
    "every user runs the same eps0-LDP randomizer, or the i-th message of the "
    "shuffled users is made by the i-th randomizer"
)


_RATIO = (
    "p, beta and q hold for the victim's two laws and every other user's law on one alphabet, "
    "chosen before any message is seen"
)


_RATIO_ADAPTIVE = (
    "p, beta and q hold at every position and for every history; users are shuffled first, then "
    "randomized one after another"
)
