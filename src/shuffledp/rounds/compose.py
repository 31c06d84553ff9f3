"""The function ``compose``: any mechanisms become one ``Composed``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shuffledp import _check
from shuffledp.errors import ParameterError, rejected
from shuffledp.neighbours import each_round
from shuffledp.rounds.composed import Composed
from shuffledp.rounds.round import Round
from shuffledp.values.described import by_name

LARGEST_ROUNDS = 10**9


@by_name
def compose(mechanisms: Iterable[Any], *, rounds: int = 1, rtol: float | None = None) -> Composed:
    """Rounds of different mechanisms on the same users, in any order, adaptively.

    If the neighbouring relations differ, the result is about datasets that are neighbours in every
    round by that round's relation. Combinations that no two datasets can satisfy (one user's data
    replaced in one round, removed in another) are refused.

    Parameters
    ----------
    mechanisms : iterable
        Shuffled mechanisms (``shuffle``, ``generic``), central ones (``central``), compositions, or
        pairs (mechanism, rounds) of these.
    rounds : int
        How often the whole list is run, 1 <= rounds <= 1e9.
    rtol : float, optional
        Requested relative width of eps, 1e-6 to 0.1; the default balances width and time.

    Raises
    ------
    ParameterError
        If an argument is outside its domain, or the mechanisms protect different neighbours.

    Examples
    --------
    >>> import shuffledp as sd
    >>> weekly = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    >>> once = sd.shuffle(sd.Laplace(eps0=1.0), n=10_000)
    >>> both = sd.compose([(weekly, 52), once])
    >>> 3.1 < both.epsilon(delta=1e-6).upper < 3.3
    True
    """
    if rtol is not None:
        rtol = _check.real("rtol", rtol, low=1e-6, high=0.1)
    times = _check.count("rounds", rounds, high=LARGEST_ROUNDS)
    if not isinstance(mechanisms, Iterable):
        raise rejected("mechanisms", mechanisms, "a list, as [mechanism] or [(mechanism, rounds)]")
    counts: dict[Any, tuple[Round, int]] = {}
    for item in mechanisms:
        mechanism, own = item if isinstance(item, tuple) and len(item) == 2 else (item, 1)
        own = _check.count("rounds", own, high=LARGEST_ROUNDS)
        for part, count in _parts_of(mechanism):
            known = counts.get(part.key, (part, 0))
            counts[part.key] = (known[0], known[1] + count * own * times)
    if not counts:
        raise ParameterError("mechanisms = []: wanted at least one mechanism")
    parts = tuple(sorted(counts.values(), key=lambda item: (item[0].label, repr(item[0].key))))
    found = Composed(parts, rtol)
    _check.count("rounds", found.rounds, high=LARGEST_ROUNDS)
    each_round((part.label, part.relation) for part, _ in parts)
    return found


def _parts_of(mechanism: Any) -> Iterable[tuple[Round, int]]:
    if isinstance(mechanism, Composed):
        return mechanism.parts
    if isinstance(mechanism, Round):
        return ((mechanism, 1),)
    make: Callable[[], Round] | None = getattr(mechanism, "as_round", None)
    if make is not None:
        return ((make(), 1),)
    raise rejected(
        "mechanism", mechanism, "a shuffled or central mechanism, or (mechanism, rounds)"
    )
