"""Clones: pairs of laws whose divergence bounds that of every eps0-LDP randomizer."""

from __future__ import annotations

from functools import partial

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, OutputClass
from shuffledp.bounds.pairs import LawPair, Laws

__all__ = ["clone_pair", "stronger_clone_pair"]


def clone_pair(*, eps0: float, n: int) -> LawPair:
    """Standard clone (Feldman, McMillan, Talwar 2021, Theorem 3.2).

    Each other user is a clone of x0 or of x1 with probability e^-eps0/2 each; the victim's message
    is binary randomized response between the two.
    """
    return LawPair(("clone", eps0), n, Laws(partial(_clones, eps0, stronger=False)))


def stronger_clone_pair(*, eps0: float, n: int) -> LawPair:
    """Generic stronger clone: (e^eps0, 1) and (1, e^eps0) with mass 1/(e^eps0 + 1) each.

    Proved in docs/theory.md, section 5, for every eps0-LDP randomizer, adaptive ones included.
    """
    return LawPair(("stronger-clone", eps0), n, Laws(partial(_clones, eps0, stronger=True)))


def _clones(eps0: float, log_cut: float, *, stronger: bool) -> Law:
    """Two classes of outputs.

    The others' mass of each is e^-eps0/2, or 1/(e^eps0 + 1) if stronger.
    """
    del log_cut
    e, grow = arb(eps0), arb(eps0).exp()
    low = 1 / (grow + 1)
    high = grow * low
    mass = low if stronger else 1 / (2 * grow)
    levels = ((e, arb(0)), (arb(0), e))
    return [
        OutputClass(mass, (high, low), levels[0]),
        OutputClass(mass, (low, high), levels[1]),
    ]
