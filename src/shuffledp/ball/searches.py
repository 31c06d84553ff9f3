"""Analyses that look at data sets one by one: what the verifier has for each, in one place.

Such an analysis has an upper end, of all data sets, and a lower one, of the data set that its
witness names: the victim's two inputs, and how many of the others hold which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import binary, exhaustive

__all__ = ["LOWER", "SEARCHES", "Search", "search_of"]

Parameters = Mapping[str, Any]
Others = Sequence[tuple[Any, int]]


@dataclass(frozen=True)
class Search:
    """One such analysis: a new one is a module with its functions, and its line in ``SEARCHES``.

    Attributes
    ----------
    upper, lower : str
        The analyses' names, which are their theorems' too.
    applies : callable
        Table of a mechanism -> whether it is for this mechanism.
    holds : callable
        (table, n, epsilon, log_claimed) -> whether delta is at most that for all data sets, and the
        log delta that decided.
    bracket : callable
        (table, x0, x1, others, n, epsilon) -> log delta of one data set, both ends.
    fault : callable
        (table, x0, x1, others) -> what is wrong with how a data set is written, which is in one
        way; empty if nothing is.
    """

    upper: str
    lower: str
    applies: Callable[[Parameters], bool]
    holds: Callable[..., tuple[bool, float]]
    bracket: Callable[..., tuple[float, float]]
    fault: Callable[[Parameters, Any, Any, Others], str]


def _bits_fault(mechanism: Parameters, x0: Any, x1: Any, others: Others) -> str:
    """Of one-bit reports: the two inputs that matter, the others in the order of the victim's."""
    inputs = binary.binary_inputs(mechanism) or ()
    known = [json.dumps(list(inputs)), json.dumps(list(inputs[::-1]))]
    pair = [x0, x1]
    if json.dumps(pair) not in known or json.dumps([x for x, _ in others]) != json.dumps(pair):
        return (
            f"witness: wanted the inputs {known[0]} as x0 and x1, and of the others in that order"
        )
    return ""


SEARCHES = (
    Search(
        "binary-exact",
        "binary-exact-lower",
        lambda mechanism: binary.binary_inputs(mechanism) is not None,
        binary.holds_for_all,
        binary.log_delta_others,
        _bits_fault,
    ),
    Search(
        "exhaustive",
        "exhaustive-lower",
        lambda mechanism: exhaustive.finite_inputs(mechanism) is not None,
        exhaustive.all_datasets_hold,
        exhaustive.log_delta_of_datasets,
        exhaustive.written_fault,
    ),
)
# Those of a data set that its witness names.
LOWER = frozenset(search.lower for search in SEARCHES)


def search_of(analysis: str) -> Search | None:
    """The one that an analysis is an end of; None for other analyses."""
    return next((s for s in SEARCHES if analysis in {s.upper, s.lower}), None)
