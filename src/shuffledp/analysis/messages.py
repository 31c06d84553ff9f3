"""Multi-message protocols: blanket messages of one known law."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.pairs import of_pairs
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import message_pair
from shuffledp.multimessage import MultiMessage


def _messages(source: Source, n: int) -> Side:
    """Of a protocol, by its own theorem."""
    if not isinstance(source, MultiMessage):
        raise NotCertified("analysis = 'multi-message': wanted a multi-message protocol")
    pairs = [(message_pair(one), one.witness) for one in source.pairs(n)]
    return of_pairs("multi-message", "upper", source.theorem(), pairs, source.assumptions())


def _usual(source: Source, n: int) -> bool:
    del n
    return isinstance(source, MultiMessage)


MULTI_MESSAGE = Analysis(
    "multi-message",
    "upper",
    theorems.MULTI_MESSAGE,
    "multi-message protocols: blanket messages of one known law; any inputs of the others",
    make=_messages,
    usual=_usual,
)
