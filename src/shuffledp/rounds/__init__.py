"""Composition: rounds of mechanisms -> certified eps, delta and what follows from them."""

from shuffledp.rounds import central
from shuffledp.rounds.compose import compose
from shuffledp.rounds.composed import Composed
from shuffledp.rounds.curve import STEPS, Source
from shuffledp.rounds.lattice import LatticeRound, direction, on_lattice
from shuffledp.rounds.loss import LossLaw, LossPair
from shuffledp.rounds.part import WIDTH, Candidate, Part, Round
from shuffledp.rounds.propose import one_round_target

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
