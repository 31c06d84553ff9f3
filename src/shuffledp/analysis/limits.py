"""What delta tends to for many users: a normal limit, and the shuffle index."""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis, Curve
from shuffledp.analysis.source import Family, RatioFamily, Source
from shuffledp.errors import NotCertified
from shuffledp.index import (
    NOT_CERTIFIED,
    asymptotic_log_delta,
    band_epsilon,
    gaussian_epsilon,
    gaussian_log_delta,
    shuffle_index,
)
from shuffledp.multimessage import MultiMessage
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import KRR, BinaryRR, Randomizer
from shuffledp.reductions import blanket_pair


def blanket_pairs(source: Source, key: str, n: int, cells: int) -> list[ShuffledPair]:
    """The blanket of every worst pair, of a family that of its stand-in.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    key : str
        The analysis that asks.
    n : int
        Users.
    cells : int
        For continuous outputs: about how many cells.
    """
    randomizer = _member(source, key)
    return [
        blanket_pair(randomizer, x0, x1, n=n, cells=cells)
        for x0, x1 in randomizer.worst_pairs().pairs
    ]


def _member(source: Source, key: str) -> Randomizer:
    """The randomizer; for all eps0-LDP ones binary RR, whose blanket is their stronger clone."""
    if isinstance(source, Family):
        return BinaryRR(eps0=source.eps0)
    if isinstance(source, RatioFamily | MultiMessage):
        raise NotCertified(f"analysis = {key!r}: wanted a randomizer or eps0")
    return source


def _gaussian(source: Source, n: int, cells: int) -> Curve:
    pairs = blanket_pairs(source, "gaussian", n, cells)
    return Curve(
        lambda d: max(gaussian_epsilon(pair, delta=d, cap=source.eps0) for pair in pairs),
        lambda e: max(gaussian_log_delta(pair, epsilon=e) for pair in pairs),
        NOT_CERTIFIED,
    )


def _index(source: Source, n: int, cells: int) -> Curve:
    key = "shuffle-index"
    return _band(key, shuffle_index(_member(source, key), cells=cells).lower.value, n)


def _index_lower(source: Source, n: int, cells: int) -> Curve:
    """By the least chi of a data set of any member."""
    key = "shuffle-index-lower"
    members = [_member(source, key)]
    if isinstance(source, Family):
        members.append(KRR(k=3, eps0=source.eps0))
    chi = min(shuffle_index(member, cells=cells).upper.value for member in members)
    return _band(key, chi, n)


def _band(key: str, chi: float, n: int) -> Curve:
    def log_delta_at(epsilon: float) -> float:
        if epsilon == 0.0:
            raise NotCertified(f"analysis = {key!r}: the formula needs eps > 0")
        return asymptotic_log_delta(chi=chi, n=n, epsilon=epsilon)

    return Curve(lambda d: band_epsilon(chi=chi, n=n, delta=d), log_delta_at, NOT_CERTIFIED)


GAUSSIAN = Analysis(
    "gaussian",
    "estimate",
    theorems.GAUSSIAN,
    "large n; finite variance of the blanket's gains",
    kind="asymptotic",
    approximation=_gaussian,
)
SHUFFLE_INDEX = Analysis(
    "shuffle-index",
    "estimate",
    theorems.SHUFFLE_INDEX,
    "large n, eps well above n^-1/2; follows the upper bounds",
    kind="asymptotic",
    approximation=_index,
)
SHUFFLE_INDEX_LOWER = Analysis(
    "shuffle-index-lower",
    "estimate",
    theorems.SHUFFLE_INDEX_LOWER,
    "large n, eps well above n^-1/2; follows the lower bounds",
    kind="asymptotic",
    approximation=_index_lower,
)
