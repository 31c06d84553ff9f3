"""Noise on an interval -> the cases that its label-stealing bound is the largest of."""

from __future__ import annotations

from typing import Any

from shuffledp.errors import NotCertified
from shuffledp.randomizers import Randomizer
from shuffledp.stealing.cases import Case
from shuffledp.stealing.noise import IntervalCase


def cases_of(randomizer: Randomizer, log_delta: float) -> list[tuple[Case, dict[str, Any]]]:
    """The cases, each with words for its pair of inputs.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    log_delta : float
        About how small delta is: outputs are computed in enough detail for it.

    Raises
    ------
    NotCertified
        Where it is not settled what the others' worst inputs are.
    """
    noise = randomizer.interval_density(log_delta)
    if noise is None:
        raise NotCertified("analysis = 'label-stealing': no description of the noise")
    return [(IntervalCase(noise), {"x0": "one end", "x1": "the other"})]
