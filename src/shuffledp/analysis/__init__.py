"""The analyses: each is one object, and `registry` lists them all."""

from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.registry import analyses, analysis_named, closing, usual
from shuffledp.analysis.side import End, Found, Side
from shuffledp.analysis.source import Family, RatioFamily, Source
from shuffledp.analysis.words import HONEST, IN_ORDER, ONE_ROUND, SAME, own_assumptions

__all__ = [
    "HONEST",
    "IN_ORDER",
    "ONE_ROUND",
    "SAME",
    "Analysis",
    "End",
    "Family",
    "Found",
    "RatioFamily",
    "Side",
    "Source",
    "analyses",
    "analysis_named",
    "closing",
    "own_assumptions",
    "usual",
]
