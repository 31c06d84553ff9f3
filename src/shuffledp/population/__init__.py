"""Groups of users with their own mechanisms behind one shuffler.

``front`` is what is asked, ``member`` what is certified of one group's members.
"""

from __future__ import annotations

from shuffledp.population.front import LARGEST_GROUPS, Crowd, crowd

__all__ = ["LARGEST_GROUPS", "Crowd", "crowd"]
