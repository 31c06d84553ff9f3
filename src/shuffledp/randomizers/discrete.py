"""Helpers of randomizers over a finite domain 0 .. k-1."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.pair import Array
from shuffledp.randomizers.law import JointLaw, without_empty


def distinct(inputs: tuple[Any, ...], domain: int) -> tuple[list[int], list[int]]:
    """The distinct inputs in order of appearance, and for each input which of them it is."""
    checked = [_check.count("input", x, low=0, high=domain - 1) for x in inputs]
    seen = list(dict.fromkeys(checked))
    return seen, [seen.index(x) for x in checked]


def third_inputs(domain: int) -> tuple[tuple[int, int, int], ...]:
    """(0, 1, x2) for x2 = 0, 1 and, where there is one, another value."""
    return tuple((0, 1, x2) for x2 in range(min(domain, 3)))


def independent_hits(
    inputs: tuple[Any, ...], domain: int, log_hit: float, log_miss: float, base: Array
) -> JointLaw:
    """Law of mechanisms whose output is a set of supported inputs, each in it independently.

    Under a base measure every input of the domain is supported ("hit") with probability e^log_hit,
    independently; R_x is the base measure times base[1] if x is hit, times base[0] if it is not
    (base[1]/base[0] = e^eps0). The blanket is base[0], but base[1] on the one event that
    the whole domain is hit.

    Parameters
    ----------
    inputs : tuple of int
        Inputs of the law.
    domain : int
        Number of inputs in all.
    log_hit, log_miss : float
        log probability of a hit and of a miss.
    base : ndarray, shape (2,)
        Density of R_x against the base measure without and with a hit.
    """
    seen, index = distinct(inputs, domain)
    m, rest = len(seen), domain - len(seen)
    columns, floors, weights = [], [], []
    all_rest = math.exp(rest * log_hit)
    for pattern in itertools.product((0, 1), repeat=m):
        hits = sum(pattern)
        weight = math.exp(hits * log_hit + (m - hits) * log_miss)
        parts = [(weight, base[0])]
        if hits == m:
            parts = [(weight * -math.expm1(rest * log_hit), base[0]), (weight * all_rest, base[1])]
        for share, floor in parts:
            columns.append([base[bit] for bit in pattern])
            floors.append(floor)
            weights.append(share)
    density = np.array(columns).T[index]
    weight = np.array(weights)
    return without_empty(density * weight, np.array(floors) * weight)
