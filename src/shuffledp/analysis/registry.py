"""All analyses: upper bounds, then lower bounds; in each, the tightest first."""

from __future__ import annotations

from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.binary import BINARY_EXACT, BINARY_EXACT_LOWER
from shuffledp.analysis.blanket import BLANKET
from shuffledp.analysis.clones import CLONE, STRONGER_CLONE
from shuffledp.analysis.datasets import DATASET
from shuffledp.analysis.local import LOCAL
from shuffledp.analysis.messages import MULTI_MESSAGE
from shuffledp.analysis.side import End
from shuffledp.analysis.source import Source
from shuffledp.analysis.stealing import LABEL_STEALING, LONE_JUMP
from shuffledp.analysis.variation_ratio import REPAIRED_VARIATION_RATIO, VARIATION_RATIO
from shuffledp.errors import rejected

_ALL = (
    BINARY_EXACT,
    LABEL_STEALING,
    BLANKET,
    VARIATION_RATIO,
    REPAIRED_VARIATION_RATIO,
    STRONGER_CLONE,
    CLONE,
    MULTI_MESSAGE,
    LONE_JUMP,
    LOCAL,
    BINARY_EXACT_LOWER,
    DATASET,
)
_BY_KEY = {analysis.key: analysis for analysis in _ALL}


def analyses() -> tuple[Analysis, ...]:
    """All analyses: upper bounds, then lower bounds; in each, the tightest first."""
    return _ALL


def analysis_named(key: str) -> Analysis:
    """The analysis with this key; ParameterError names the known ones."""
    if not isinstance(key, str) or key not in _BY_KEY:
        raise rejected("analysis", key, "one of " + ", ".join(_BY_KEY))
    return _BY_KEY[key]


def usual(source: Source, n: int, end: End) -> tuple[Analysis, ...]:
    """The analyses of one end of which the best is taken where none is named, tightest first.

    Parameters
    ----------
    source : Randomizer, family or protocol
        What each user runs.
    n : int
        Users (messages in the shuffle).
    end : {"upper", "lower"}
        Which end.
    """
    return tuple(one for one in _ALL if one.end == end and one.usual(source, n))


def closing(source: Source, n: int) -> tuple[Analysis, ...]:
    """Those that take a second or several, and are tried unasked where the usual ends are apart.

    Parameters
    ----------
    source : Randomizer, family or protocol
        What each user runs.
    n : int
        Users (messages in the shuffle).
    """
    return tuple(one for one in _ALL if one.closing(source, n) and not one.usual(source, n))
