"""Contour: E f(S) in certified brackets, S a sum of independent numbers, by one contour integral.

One round and many rounds are two payoffs f of the same integral; a law of gains taken n times and
several laws of losses, each with its count, are two transforms of it.
"""

from shuffledp.contour.bracket import Effort, expectation
from shuffledp.contour.payoff import ONE_ROUND, ROUNDS, Payoff
from shuffledp.contour.rule import Rule
from shuffledp.contour.stop import Stop
from shuffledp.contour.transform import Nodes, Transform

__all__ = [
    "ONE_ROUND",
    "ROUNDS",
    "Effort",
    "Nodes",
    "Payoff",
    "Rule",
    "Stop",
    "Transform",
    "expectation",
]
