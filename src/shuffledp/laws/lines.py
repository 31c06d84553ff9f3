"""Lines of the mechanisms that add noise, from their records."""

from __future__ import annotations

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.densities import Noise, check_inputs
from shuffledp.ball.power import PowerNoise
from shuffledp.bounds.line import AddedNoise, Line
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
    added = randomizer.added_noise() or randomizer.added_power()
    if added is None:
        return None
    noise = _of_power(added) if isinstance(added, PowerNoise) else _of_noise(added)
    x0, x1, *others = check_inputs(added, inputs)
    return Line(noise, x0, x1, others[0] if others else None)


def integers_of(randomizer: Randomizer, inputs: tuple[Input, ...]) -> Line | None:
    """The line of noise on integers, where these are too many for classes; None of others.

    Parameters
    ----------
    randomizer, inputs
        As for ``line_of``.
    """
    return integer_line(randomizer, inputs)


def _of_power(noise: PowerNoise) -> AddedNoise:
    return AddedNoise(noise.shape, noise.scale, noise.low, noise.high)


def _of_noise(noise: Noise) -> AddedNoise:
    """Laplace noise of scale 1/unit, or normal noise of variance 1/unit."""
    ends = None if noise.left is None or noise.right is None else (noise.left, noise.right)
    if noise.kinked:
        return AddedNoise(arb(1), 1 / noise.unit, noise.low, noise.high, ends)
    return AddedNoise(arb(2), (2 / noise.unit).sqrt(), noise.low, noise.high, ends)
