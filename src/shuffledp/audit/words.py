"""Words that an audited program, or a file of an audit, puts into what is printed.

A field's name, a line of an error, an output: whoever wrote the program chose them. They are shown
on one line, of characters that can be written and that hide nothing, and no longer than a line; in
Markdown nothing in them is markup.
"""

from __future__ import annotations

import re
import unicodedata
import zlib

# Characters of a name that are shown: more than any that is meant to be read.
_LONGEST = 80
# Letters, marks, numbers, signs, and the space: what is neither hidden nor unassigned.
_SEEN = {"L", "M", "N", "P", "S"}
# What means something inside a line of CommonMark; "_" only where it is not inside of a word.
_MARKUP = re.compile(r"[\\`*\[\]<>|&~]|(?<![^\W_])_|_(?![^\W_])")


def one_line(words: str) -> str:
    r"""Words on one line, as they are where all of them can be seen; else ``\n``, ``\ud800``.

    Longer ones are cut, with a checksum: different ones stay different.
    """
    short = words[:_LONGEST]
    text = "".join(_shown(c) for c in short)[: 2 * _LONGEST]
    if len(words) <= _LONGEST and text == words:
        return text
    if len(words) > _LONGEST or len(text) == 2 * _LONGEST:
        data = words.encode("utf-8", "surrogatepass")
        return f"{text}... ({len(words):,} characters, crc {zlib.crc32(data):08x})"
    return text


def in_markdown(words: str) -> str:
    """Words of which nothing is read as markup."""
    return _MARKUP.sub(lambda found: "\\" + found[0], one_line_only(words))


def one_line_only(words: str) -> str:
    """The same characters as ``one_line``, and all of them."""
    return "".join(_shown(c) for c in words)


def _shown(character: str) -> str:
    if character == " " or unicodedata.category(character)[0] in _SEEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
