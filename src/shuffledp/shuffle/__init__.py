"""A randomizer among n users behind a shuffler: eps and delta of all messages."""

from shuffledp.shuffle.front import generic, settings, shuffle
from shuffledp.shuffle.shuffled import Shuffled, Trust

__all__ = ["Shuffled", "Trust", "generic", "settings", "shuffle"]
