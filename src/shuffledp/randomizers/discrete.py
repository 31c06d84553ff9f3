"""Helpers of randomizers over a finite domain 0 .. k-1."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.randomizers.base import WorstTriples
from shuffledp.randomizers.law import JointLaw, without_empty
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


def independent_hits(
    inputs: tuple[Any, ...],
    domain: int,
    *,
    log_hit: float,
    log_miss: float,
    log_base: tuple[float, float],
) -> JointLaw:
    """Law of mechanisms whose output is a set of supported inputs, each in it independently.

    Under a base measure every input of the domain is supported ("hit") with probability e^log_hit,
    independently; R_x is the base measure times e^log_base[1] if x is hit, e^log_base[0] if it is
    not (their ratio is e^eps0). The blanket has the smaller factor, but the larger one on the one
    event that the whole domain is hit.

    Parameters
    ----------
    inputs : tuple of int
        Inputs of the law.
    domain : int
        Number of inputs in all.
    log_hit, log_miss : float
        log probability of a hit and of a miss.
    log_base : tuple of two floats
        log density of R_x against the base measure without and with a hit.
    """
    seen, index = distinct(inputs, domain)
    m, rest = len(seen), domain - len(seen)
    log_mass, log_blanket, size = [], [], 0.0
    for pattern in itertools.product((0, 1), repeat=m):
        hits = sum(pattern)
        weight = hits * log_hit + (m - hits) * log_miss
        parts = [(weight, log_base[0])]
        if hits == m:
            # All others hit too, or not. The whole domain hit has all ratios one, like no input
            # hit; a mass below e^-700 is less than what rounding does to that class.
            whole = weight + rest * log_hit
            parts = [(whole, log_base[1])] if whole + log_base[1] > _LOG_SMALLEST else []
            if rest:
                parts.append((weight + math.log(-math.expm1(rest * log_hit)), log_base[0]))
        for log_share, floor in parts:
            log_mass.append([log_share + log_base[bit] for bit in pattern])
            log_blanket.append(log_share + floor)
            size = max(size, rest * abs(log_hit) if floor == log_base[1] else 0.0)
    size += m * (abs(log_hit) + abs(log_miss)) + max(abs(log_base[0]), abs(log_base[1]))
    mass, blanket = _exp(log_mass).T, _exp(log_blanket)
    # Exponents are rounded: their absolute error is the entries' relative error.
    return without_empty(mass[index], blanket, (32.0 + 8.0 * min(size, 1e4)) * U)


def _exp(exponents: list[Any]) -> np.ndarray:
    """e^x, but 0 below e^-700, where a float cannot keep a small relative error.

    A blanket of 0 is valid: such outputs are counted in full, as seen for sure.
    """
    x = np.array(exponents)
    return np.where(x > _LOG_SMALLEST, np.exp(np.maximum(x, _LOG_SMALLEST)), 0.0)
