"""A randomizer among n users behind a shuffler: eps and delta of all messages."""

from shuffledp.amplification.front import generic, settings, shuffle
from shuffledp.amplification.shuffled import Shuffled

__all__ = ["Shuffled", "generic", "settings", "shuffle"]
