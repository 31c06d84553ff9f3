"""Texts kept as files: ``SNAPSHOTS=write pytest ...`` writes them anew, and git shows what changed.

A kept text has nothing of the machine that made it: folders, checksums and versions of other
packages are replaced by words, and of numbers three digits are kept, as the free numbers of a
bound are proposed in floats. What a number is, and that it is shown outward, other tests hold.
"""

import os
import re
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.])\d*\.\d{4,}(?:e[+-]?\d+)?")
ODD = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"\b[0-9a-f]{16}\.\.\."), "<sha256>..."),
    (re.compile(r"python-flint [0-9][\w.]*"), "python-flint <version>"),
    (re.compile(r"(widths?:?( at most)?) [0-9][0-9.e-]*"), r"\1 <number>"),
    # Columns are as wide as their numbers.
    (re.compile(r"(?<=\S) {2,}"), "  "),
    (re.compile(r"-{4,}"), "----"),
    # Of all analyses at one delta: the seconds of each.
    (re.compile(r"(?m)(  (?:upper|lower|estimate)(?:  \S+){2})  \d+\.\d+$"), r"\1  <seconds>"),
)


def kept_words(text, *folders):
    """The text without what differs from one machine to another."""
    for folder in folders:
        text = text.replace(str(folder), "<folder>")
    text = NUMBER.sub(lambda found: f"{float(found[0]):.3g}", text)
    for pattern, words in ODD:
        text = pattern.sub(words, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def check(path: Path, text):
    """Compare with the file; where the environment says so, write it."""
    if os.environ.get("SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name}: SNAPSHOTS=write pytest ... writes it"
    assert text == path.read_text(encoding="utf-8")
