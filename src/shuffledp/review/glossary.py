"""The words of a report, for who does not know them: ``glossary.txt``, a line for each."""

from __future__ import annotations

from importlib.resources import files

_TEXT = files("shuffledp.review").joinpath("glossary.txt").read_text("utf-8")
# A term, and what it means.
TERMS: tuple[tuple[str, str], ...] = tuple(
    (term, words) for term, _, words in (line.partition(" :: ") for line in _TEXT.splitlines())
)
