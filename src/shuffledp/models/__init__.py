"""What stands between users and analyst, and how many users change at once, as declared values."""

from shuffledp.models.chained import Chained
from shuffledp.models.setting import MOST_CHANGED, Setting
from shuffledp.models.shuffler import ASSIGNMENTS, PERFECT, Shuffler

__all__ = ["ASSIGNMENTS", "MOST_CHANGED", "PERFECT", "Chained", "Setting", "Shuffler"]
