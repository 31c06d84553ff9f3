"""Characters of a text that somebody else may have written, so that none of them is hidden."""

from __future__ import annotations

import unicodedata

# Joiners are part of words and signs in some scripts; every other format character is shown.
_JOINERS = "\u200c\u200d"
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(words: str) -> str:
    """Control characters and those that turn the direction of what follows, as their numbers.

    Words of a file that somebody else may have written must not reorder or hide what stands beside
    them, nor tell a terminal to.
    """
    return "".join(
        f"[U+{ord(c):04X}]" if unicodedata.category(c) in _HIDDEN and c not in _JOINERS else c
        for c in words
    )
