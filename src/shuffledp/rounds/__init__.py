"""Composition: rounds of mechanisms give certified eps, delta and other measures of privacy."""

from shuffledp.rounds import central
from shuffledp.rounds.compose import compose
from shuffledp.rounds.composed import Composed
from shuffledp.rounds.curve import Source, UpperValues
from shuffledp.rounds.loss import LossLaw, LossPair
from shuffledp.rounds.round import WIDTH, Candidate, Round

__all__ = [
    "WIDTH",
    "Candidate",
    "Composed",
    "LossLaw",
    "LossPair",
    "Round",
    "Source",
    "UpperValues",
    "central",
    "compose",
]
