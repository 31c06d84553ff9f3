"""What a certificate may take for granted, in words, and its neighbouring relation.

As ``statements`` the verifier's own: they follow from the mechanism's table and the analysis that a
claim names, and nothing is read off a certificate.
"""

from __future__ import annotations

import itertools
from typing import Any

from .one_bit import EXACT
from .outputs import Parameters
from .registry import record_of, seen
from .statements import ALONE, upper_statement

__all__ = ["allowed_assumptions", "relation_of"]

Words = tuple[str, ...]
_HONEST = "all n messages are randomized as stated and reach the shuffler"
_SHUFFLER = "the analyst sees the messages in a uniformly random order and nothing else of them"
_ONE_ROUND = "one report per user and one round"
_SAME = "every user runs the same randomizer, chosen before any message is seen"
_SAME_FAMILY = "every user runs the same eps0-LDP randomizer, chosen before any message is seen"
_ADAPTIVE = (
    "every randomizer is eps0-LDP for every history it may depend on; users are shuffled first, "
    "then randomized one after another"
)
_IN_ORDER = (
    "every user runs the same eps0-LDP randomizer, or the i-th message of the shuffled users is "
    "made by the i-th randomizer"
)
_COUNTED = (
    "n counts users who make their messages as stated, all of which reach the shuffler; blanket "
    "messages of colluders or of users who drop out protect nobody: leave those users out of n"
)
_SEEN = (
    "the analyst sees all users' messages in one uniformly random order and nothing else of them, "
    "nor who sent how many"
)
_ONE_RUN = "one run of the protocol"
_TOLD_APART = (
    "exact whatever the other users hold: their data messages can be told apart and say nothing "
    "of the victim"
)
_LEFT_OUT = "the other users' data messages are left out, which only weakens the upper end"
_ROUNDS = (
    "{:,} rounds; each user takes part in every one, with fresh randomness; what is asked in a "
    "round may depend on all earlier outputs"
)


def allowed_assumptions(
    mechanism: Parameters, analysis: str, *, rounds: int = 1, basic: bool = False
) -> tuple[Words, ...]:
    """The lists of assumptions that an upper end may state: one, but for sums of guarantees.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    analysis : str
        As for ``upper_statement``.
    rounds : int
        1: of one round.
    basic : bool
        Whether the rounds are composed by basic composition.
    """
    neighbours = relation_of(mechanism)[1]
    if rounds == 1 or basic:
        one = _of_one_round(mechanism, analysis, neighbours)
        return (one,) if rounds == 1 else (_after(one, rounds),)
    # The sum of the guarantees is a cap on the analysis that is composed, and states its words.
    capped = (analysis,)
    if analysis == "local":
        capped = ("blanket", "clone", "stronger-clone", "label-stealing", EXACT)
    known = [key for key in capped if upper_statement(mechanism, key) is not None]
    each = (_of_one_round(mechanism, key, neighbours, several=True) for key in known)
    lists = [_after(words, rounds) for words in each]
    return tuple(dict.fromkeys(lists))


def _after(words: Words, rounds: int) -> Words:
    return (*(one for one in words if one != _ONE_ROUND), _ROUNDS.format(rounds))


def _of_one_round(
    mechanism: Parameters, analysis: str, neighbours: str, *, several: bool = False
) -> Words:
    record = seen(mechanism)
    if analysis == "local":
        return (neighbours, _HONEST)
    if record.kind == "protocol":
        others = _TOLD_APART if record.told_apart else _LEFT_OUT
        return (neighbours, _COUNTED, _SEEN, _ONE_RUN, others)
    words = (neighbours, _HONEST, _SHUFFLER, _ONE_ROUND)
    if analysis == "label-stealing" and record.kind == "family":
        # Of several rounds, where it is taken if it is less than the clone's, both are assumed.
        return (*words, *((_IN_ORDER,) if several else ()), _SAME_FAMILY)
    if analysis in {"blanket", "label-stealing", ALONE, EXACT}:
        return (*words, _SAME)
    return (*words, _ADAPTIVE if mechanism.get("adaptive") else _IN_ORDER)


# ------------------------------------------------------------------------- neighbouring relation

_REPLACE_ONE: dict[str, Any] = {"key": "replace-one"}


def relation_of(mechanism: Parameters) -> tuple[dict[str, Any], str]:
    """The neighbouring relation that a mechanism's ends are about, as a table and in words.

    Any value for any other; of a record, in so many attributes, in each as its part allows.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here.
    """
    found = _relation(mechanism)
    noun = "value" if found == _REPLACE_ONE else "record"
    return found, f"neighbouring datasets: one user's {noun} {_change(found)} (n is public)"


def _relation(mechanism: Parameters) -> dict[str, Any]:
    inner = record_of(mechanism).parts
    if inner is not None and inner.like:
        return _relation(mechanism["randomizer"])
    if inner is None or not inner.records:
        return _REPLACE_ONE
    parts = [_relation(part) for part in mechanism["randomizers"]]
    most = mechanism.get("hamming") or len(parts)
    if most == len(parts) and all(part == _REPLACE_ONE for part in parts):
        return _REPLACE_ONE
    return {"key": "records", "most": most, "parts": parts}


def _change(relation: dict[str, Any]) -> str:
    """What happens to the one user's data, in words."""
    if relation == _REPLACE_ONE:
        return "replaced by another"
    parts, most = relation["parts"], relation["most"]
    found = "changed" + (f" in at most {most} of its attributes" if most < len(parts) else "")
    if all(part == _REPLACE_ONE for part in parts):
        return found
    runs, start = [], 1
    for part, run in itertools.groupby(parts):
        last = start + len(list(run)) - 1
        name = f"attribute {start}" if start == last else f"attributes {start} to {last}"
        words = _change(part)
        runs.append(f"{name} {words if part == _REPLACE_ONE else f'({words})'}")
        start = last + 1
    return f"{found}: {', '.join(runs)}"
