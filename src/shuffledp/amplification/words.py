"""The assumptions that an end rests on, as sentences."""

from __future__ import annotations

from shuffledp.laws.sources import Family, RatioFamily, Source
from shuffledp.randomizers import Randomizer
from shuffledp.statements import say

HONEST, SHUFFLER, ONE_ROUND = say("honest"), say("shuffler"), say("one-round")
SAME, SAME_FAMILY = say("same"), say("same-family")
IN_ORDER, ADAPTIVE = say("in-order"), say("adaptive")
RATIO, RATIO_ADAPTIVE = say("ratio"), say("ratio-adaptive")


def own_assumptions(source: Source) -> tuple[str, ...]:
    """The mechanism's own assumptions, as sentences."""
    return source.assumptions() if isinstance(source, Randomizer) else ()


def of_all(source: Source) -> tuple[str, ...]:
    """The assumptions of every end of this source: neighbours, reports, shuffler, one round."""
    return (source.relation.sentence, HONEST, SHUFFLER, ONE_ROUND, *own_assumptions(source))


def of_any(source: Source) -> tuple[str, ...]:
    """The assumptions of a bound that holds for every member of a family, in any order of users."""
    adaptive = isinstance(source, Family | RatioFamily) and source.adaptive
    if isinstance(source, RatioFamily):
        chosen = RATIO_ADAPTIVE if adaptive else RATIO
    else:
        chosen = ADAPTIVE if adaptive else IN_ORDER
    return (*of_all(source), chosen)
