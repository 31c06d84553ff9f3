"""Helpers of randomizers over a finite domain 0 .. k-1."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.randomizers.base import WorstTriples
from shuffledp.theorems import ALIKE_TRIPLES, ALL_TRIPLES

U = UNIT_ROUNDOFF
_LOG_SMALLEST = -700.0
# Inputs of which all ordered pairs are evaluated by label stealing: 132 of them, in seconds; and
# where every input gives every output, 4,032 of them, most of which are excluded together.
_MOST_INPUTS, _MOST_TOGETHER = 12, 64


def distinct(inputs: tuple[Any, ...], domain: int) -> tuple[list[int], list[int]]:
    """The distinct inputs in order of appearance, and for each input which of them it is."""
    checked = [_check.count("input", x, low=0, high=domain - 1) for x in inputs]
    seen = list(dict.fromkeys(checked))
    return seen, [seen.index(x) for x in checked]


def third_inputs(domain: int) -> tuple[tuple[int, int, int], ...]:
    """(0, 1, x2) for x2 = 0, 1 and, where there is one, another value."""
    return tuple((0, 1, x2) for x2 in range(min(domain, 3)))


def alike_triples(domain: int) -> WorstTriples:
    """Victims 0 and 1 among others that hold 0, 1 or a third value: all triples are alike."""
    others = tuple(range(min(domain, 3)))
    return WorstTriples(((0, 1, others),), ALIKE_TRIPLES, stand_ins=domain > 2)


def all_triples(items: int, *, whole: bool) -> WorstTriples | None:
    """Every ordered pair with every input of the others; None where they are too many.

    ``whole``: every input gives every output.
    """
    if items > (_MOST_TOGETHER if whole else _MOST_INPUTS):
        return None
    others = tuple(range(items))
    triples = ((x0, x1, others) for x0, x1 in itertools.permutations(others, 2))
    return WorstTriples(tuple(triples), ALL_TRIPLES)


def _exp(exponents: list[Any]) -> np.ndarray:
    """e^x, but 0 below e^-700, where a float cannot keep a small relative error.

    A blanket of 0 is valid: such outputs are counted in full, as seen for sure.
    """
    x = np.array(exponents)
    return np.where(x > _LOG_SMALLEST, np.exp(np.maximum(x, _LOG_SMALLEST)), 0.0)
