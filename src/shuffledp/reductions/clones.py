"""The clones: pairs that hold for every eps0-LDP randomizer, adaptive ones included."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import _check
from shuffledp.pair import UNIT_ROUNDOFF, ShuffledPair

# Two elementary functions at 8 u each, and a few more roundings.
_REL = 24 * UNIT_ROUNDOFF


def clone_pair(*, eps0: float, n: int) -> ShuffledPair:
    """Standard clone (Feldman, McMillan, Talwar 2021, Theorem 3.2).

    Each other user is a clone of x0 or of x1 with probability e^-eps0/2 each; the victim's message
    is binary randomized response between the two.
    """
    eps0 = _check.local_epsilon("eps0", eps0)
    grow = math.exp(eps0)
    half = 0.5 * math.exp(-eps0)
    big = 2.0 * grow / (1.0 + math.exp(-eps0))
    small = 2.0 / (1.0 + math.exp(-eps0))
    leftover = -math.expm1(-eps0)
    return ShuffledPair(
        w=np.array([half, half]),
        a=np.array([big, small]),
        b=np.array([small, big]),
        n=_check.count("n", n),
        rel=_REL,
        leftover=(leftover, _REL * leftover),
    )


def stronger_clone_pair(*, eps0: float, n: int) -> ShuffledPair:
    """Generic stronger clone: (e^eps0, 1) and (1, e^eps0) with mass 1/(e^eps0 + 1) each.

    Proved in docs/theory.md, section 5, for every eps0-LDP randomizer, adaptive ones included.
    """
    eps0 = _check.local_epsilon("eps0", eps0)
    grow = math.exp(eps0)
    mass = 1.0 / (grow + 1.0)
    leftover = math.expm1(eps0) * mass
    return ShuffledPair(
        w=np.array([mass, mass]),
        a=np.array([grow, 1.0]),
        b=np.array([1.0, grow]),
        n=_check.count("n", n),
        rel=_REL,
        leftover=(leftover, _REL * leftover),
    )
