"""Views: what the analyst sees of the reports, where it is not the multiset of all messages."""

from shuffledp.views.datasets import local_guarantee
from shuffledp.views.front import VIEWS, shuffle
from shuffledp.views.noise import AddedNoise
from shuffledp.views.sums import Sums, certified, log_upper, summed

__all__ = [
    "VIEWS",
    "AddedNoise",
    "Sums",
    "certified",
    "local_guarantee",
    "log_upper",
    "shuffle",
    "summed",
]
