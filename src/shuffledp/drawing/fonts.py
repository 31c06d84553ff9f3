"""Letters of any script in a figure: a font that has them, or word that none does."""

from __future__ import annotations

import contextlib
import unicodedata
import warnings
from collections.abc import Iterator
from functools import lru_cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

# It has a box for every character there is.
_NO_FONT = "Last Resort"


def fit_fonts(figure: Figure) -> str:
    """Give every text of a figure fonts that have its characters.

    Parameters
    ----------
    figure : Figure
        Its texts are changed where the default font does not have all of their characters.

    Returns
    -------
    str
        Characters that no installed font has, each once, in order: boxes are drawn for them.
    """
    unshown: dict[str, None] = {}
    for text in figure.findobj(Text):
        if not isinstance(text, Text):
            continue
        missing = _missing(text.get_text(), findfont(text.get_fontproperties()))
        if not missing:
            continue
        families, left = _families(missing)
        if families:
            text.set_fontfamily([*text.get_fontfamily(), *families])
        unshown |= dict.fromkeys(left)
    return "".join(unshown)


@contextlib.contextmanager
def boxes_in_silence() -> Iterator[None]:
    """No warning with a path for every character without a glyph: ``fit_fonts`` says them all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph .* missing from .*font.*")
        yield


def _missing(words: str, path: str) -> str:
    """The characters that a font does not have."""
    known = _characters(path)
    return "".join(c for c in dict.fromkeys(words) if not _blank(c) and ord(c) not in known)


def _blank(character: str) -> bool:
    """Ends of lines and spaces, for which nothing is drawn."""
    return character.isspace() or unicodedata.category(character) == "Cc"


@lru_cache(maxsize=256)
def _families(missing: str) -> tuple[tuple[str, ...], str]:
    """Installed families for these characters, the one with the most first, and what is left."""
    chosen: list[str] = []
    while missing:
        shown, family = max(
            ((_shown(missing, path), family) for family, path in _installed()), default=(0, "")
        )
        if shown == 0:
            break
        chosen.append(family)
        missing = _missing(missing, findfont(FontProperties(family=[family])))
    return tuple(chosen), missing


def _shown(words: str, path: str) -> int:
    return len(words) - len(_missing(words, path))


@lru_cache(maxsize=1)
def _installed() -> tuple[tuple[str, str], ...]:
    """Upright fonts of ordinary weight: (family, path)."""
    return tuple(
        (font.name, font.fname)
        for font in fontManager.ttflist
        if font.style == "normal" and not font.name.startswith(_NO_FONT)
    )


@lru_cache(maxsize=512)
def _characters(path: str) -> frozenset[int]:
    """Code points a font has glyphs for; none where it cannot be read."""
    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
