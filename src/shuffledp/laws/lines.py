"""Lines of the mechanisms that add noise, from their records."""

from __future__ import annotations

from shuffledp.ball.noises import check_inputs
from shuffledp.bounds.line import Line
from shuffledp.laws.integers import integer_line
from shuffledp.randomizers import GaussianBall, MetricLaplace, Randomizer
from shuffledp.randomizers.base import Input

__all__ = ["integers_of", "line_of"]

# The victim's inputs: with them alone the reference is the blanket.
_PAIR = 2


def line_of(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Line | None:
    """The line of a mechanism at the working precision; None of mechanisms that add no noise.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    inputs : tuple
        The victim's two values, and the others' value where that is the reference.
    """
    if isinstance(randomizer, GaussianBall) and len(inputs) > _PAIR:
        # Of three inputs on a diameter: of two alone the blanket asks for all other inputs.
        return line_of(randomizer.line, inputs)
    if isinstance(randomizer, MetricLaplace) and not any(isinstance(x, tuple) for x in inputs):
        return line_of(randomizer.unrestricted(), inputs)
    noise = randomizer.added_noise()
    if noise is None:
        return None
    x0, x1, *others = check_inputs(noise, inputs)
    return Line(noise, x0, x1, others[0] if others else None)


def integers_of(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Line | None:
    """The line of noise on integers, where these are too many for classes; None of others.

    Parameters
    ----------
    randomizer, inputs
        As for ``line_of``.
    """
    return integer_line(randomizer, inputs)
