"""Clones of the victim among the others' reports: pairs for every eps0-LDP randomizer."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis import words
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.pairs import of_pairs
from shuffledp.analysis.side import Side
from shuffledp.analysis.source import Source, of_reports, pure_eps0
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair

_ANY = "any eps0-LDP randomizers chosen in one order, adaptive too (shuffle, then randomize)"


def _clone(source: Source, n: int) -> Side:
    pair = clone_pair(eps0=pure_eps0(source, "clone"), n=n)
    pairs = [(pair, {"analysis": "clone"})]
    return of_pairs("clone", "upper", theorems.CLONE, pairs, words.of_any(source))


def _stronger_clone(source: Source, n: int) -> Side:
    key = "stronger-clone"
    pair = stronger_clone_pair(eps0=pure_eps0(source, key), n=n)
    pairs = [(pair, {"analysis": key})]
    return of_pairs(key, "upper", theorems.STRONGER_CLONE, pairs, words.of_any(source))


STRONGER_CLONE = Analysis(
    "stronger-clone",
    "upper",
    theorems.STRONGER_CLONE,
    _ANY,
    make=_stronger_clone,
    usual=of_reports,
)
CLONE = Analysis("clone", "upper", theorems.CLONE, _ANY, make=_clone, usual=of_reports)
