"""Multi-message protocols: each user sends a data message and blanket messages of a known law."""

from shuffledp.multimessage.base import MultiMessage, protocol_names
from shuffledp.multimessage.protocols import (
    BalcerCheu,
    BalcerEtAl,
    BallsIntoBins,
    CheuZhilyaev,
    MixDUMP,
    PureDUMP,
)

__all__ = [
    "BalcerCheu",
    "BalcerEtAl",
    "BallsIntoBins",
    "CheuZhilyaev",
    "MixDUMP",
    "MultiMessage",
    "PureDUMP",
    "protocol_names",
]
