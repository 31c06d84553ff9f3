"""Views: what the analyst sees of the reports, where it is not the multiset of all messages."""

from shuffledp.views.front import MESSAGES_RTOL, VIEWS, shuffle
from shuffledp.views.sums import Sums

__all__ = ["MESSAGES_RTOL", "VIEWS", "Sums", "shuffle"]
