"""The reference of a plan: the noise of a trusted server that gives the same (eps, delta)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.rounds.gaussian import log_delta_gaussian, mu_through

# Relative steps below an estimated mu, the first of which is certified taken: estimate and error
# bound agree to some 1e-9, and the reference is printed to four digits.
_BELOW = (1e-8, 1e-6, 1e-4)


@dataclass(frozen=True)
class Sensitivity:
    """How much a task's exact answers change between neighbours: sum of changes, and L2 norm."""

    l1: float
    l2: float


@dataclass(frozen=True)
class Central:
    """A trusted server's noise: standard deviation of one answer, and which noise it is."""

    error: float
    words: str


def central(change: Sensitivity, *, epsilon: float, delta: float, rounds: int) -> Central:
    """The less of Laplace noise at eps/rounds and Gaussian noise for all rounds together.

    Parameters
    ----------
    change : Sensitivity
        Of the answers of one round.
    epsilon, delta : float
        After all rounds.
    rounds : int
        On the same users, each with noise of its own; the next may depend on answers before it.
    """
    # Laplace noise is (eps/rounds, 0)-DP in each round; what delta would allow is not used.
    laplace = math.sqrt(2.0) * change.l1 * rounds / epsilon
    # Rounds of Gaussian noise with mu are as private as one with mu sqrt(rounds), exactly.
    mu = certified_mu(epsilon, math.log(delta)) / math.sqrt(rounds)
    gaussian = change.l2 / mu if mu > 0.0 else math.inf
    if gaussian < laplace:
        return Central(gaussian, "Gaussian noise" + ", all rounds together" * (rounds > 1))
    return Central(laplace, "Laplace noise" + split_words(rounds))


def split_words(rounds: int) -> str:
    """How a pure guarantee is divided between rounds, in words; nothing for one round."""
    return f", eps/{rounds:,} in each round" if rounds > 1 else ""


def certified_mu(epsilon: float, log_delta: float) -> float:
    """A mu = L2 sensitivity/sigma that is certified to meet the target, about the largest; or 0."""
    about = mu_through(epsilon, log_delta)
    for below in _BELOW:
        mu = about * (1.0 - below)
        if mu > 0.0 and log_delta_gaussian(mu, epsilon).high <= (log_delta):
            return mu
    return 0.0
