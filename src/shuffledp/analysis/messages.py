"""Multi-message protocols: blanket messages of one known law."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis.of_pairs import Named, OfPairs
from shuffledp.analysis.source import Source
from shuffledp.bound import Theorem
from shuffledp.bounds.mechanisms import message_pair
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MultiMessage


class _Messages(OfPairs):
    """Of a protocol, by its own theorem."""

    def require(self, source: Source) -> None:
        """A multi-message protocol."""
        if not isinstance(source, MultiMessage):
            raise NotCertified(f"analysis = {self.key!r}: wanted a multi-message protocol")

    def theorem_for(self, source: Source) -> Theorem:
        """The protocol's."""
        return source.theorem() if isinstance(source, MultiMessage) else self.theorem


def _pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    found = source.pairs(n) if isinstance(source, MultiMessage) else []
    return [(message_pair(one), one.witness) for one in found]


def _usual(source: Source, n: int) -> bool:
    del n
    return isinstance(source, MultiMessage)


MULTI_MESSAGE = _Messages(
    "multi-message",
    "upper",
    theorems.MULTI_MESSAGE,
    "multi-message protocols: blanket messages of one known law; any inputs of the others",
    pairs=_pairs,
    usual=_usual,
)
