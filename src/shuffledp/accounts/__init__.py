"""One account of a setting: mechanisms, users, what is seen, the shuffler, who changes, rounds."""

from shuffledp.accounts.account import Account
from shuffledp.accounts.front import generic, shuffle
from shuffledp.accounts.shuffler import ASSIGNMENTS, PERFECT, Shuffler
from shuffledp.accounts.supported import MOST_CHANGED, VIEWS

__all__ = [
    "ASSIGNMENTS",
    "MOST_CHANGED",
    "PERFECT",
    "VIEWS",
    "Account",
    "Shuffler",
    "generic",
    "shuffle",
]
