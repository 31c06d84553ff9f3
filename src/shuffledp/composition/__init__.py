"""Composition: rounds of mechanisms -> certified eps, delta and what follows from them."""

from shuffledp.composition import central
from shuffledp.composition.compose import compose
from shuffledp.composition.composed import Composed
from shuffledp.composition.curve import STEPS, Source
from shuffledp.composition.lattice import LatticeRound, direction, on_lattice
from shuffledp.composition.loss import LossLaw, LossPair
from shuffledp.composition.part import WIDTH, Candidate, Part, Round
from shuffledp.composition.propose import one_round_target

__all__ = [
    "STEPS",
    "WIDTH",
    "Candidate",
    "Composed",
    "LatticeRound",
    "LossLaw",
    "LossPair",
    "Part",
    "Round",
    "Source",
    "central",
    "compose",
    "direction",
    "on_lattice",
    "one_round_target",
]
