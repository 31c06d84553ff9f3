"""Label stealing for noise on an interval: an upper end of delta for all pairs and inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, total
from shuffledp.ball.record import Definition
from shuffledp.bounds.covers import Cover, Label, Share, check, labels, reservoir
from shuffledp.bounds.interval_cells import Outputs
from shuffledp.bounds.remainders import remainders
from shuffledp.bounds.stealing import Numbers, check_question
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.draws import Moments
from shuffledp.kernel.positive_sum import Line, alone, line_at, rougher, sharpest, step_of, tilted

__all__ = ["checked", "is_binary", "log_delta_on_interval", "outputs_of"]

# Of this many consecutive edges, one is kept for the first, coarse bound of a label.
_COARSE = 3


class _Numbers(NamedTuple):
    """The free numbers in balls, and the line and step of the sums."""

    share: Share
    line: Line


def is_binary(mechanism: Definition) -> bool:
    """Whether the ends of the interval are the only inputs."""
    found = mechanism.others()
    return found is not None and bool(found.inputs)


def outputs_of(mechanism: Definition) -> Outputs:
    """The normal or Laplace noise of a mechanism, in units of its interval.

    Raises
    ------
    NotCertified
        For mechanisms without such noise.
    """
    noise = mechanism.added_noise()
    normal = noise is not None and bool(noise.shape == 2)
    if noise is None or not (normal or noise.shape == 1):
        raise NotCertified("label stealing: wanted Laplace or normal noise on an interval")
    scale = noise.scale / arb(2).sqrt() if normal else noise.scale
    return Outputs(scale / (noise.high - noise.low), normal=normal)


def log_delta_on_interval(
    at: Outputs,
    cover: Cover,
    numbers: Numbers,
    n: int,
    epsilon: float,
    *,
    two_inputs: bool,
    enough: float = -math.inf,
) -> float:
    """log of the bound, rounded up to a float; ``enough`` if the bound is certainly at most that.

    delta <= tail + lost + max over labels of [J(c, d) + lost_d] (Theorems 2.1, 2.3, Lemma 6.5).

    Parameters
    ----------
    at, cover
        The noise, and the grids and cells.
    numbers : Numbers
        One share and one join: kappa and theta.
    n : int
        Number of users, the victim included, n >= 2.
    epsilon : float
        eps >= 0 in nats.
    two_inputs : bool
        Whether the only inputs are 0 and 1; otherwise they fill the interval.
    enough : float
        A log delta: a bound at most this is not computed any more sharply.

    Raises
    ------
    ParameterError
        If a number is out of range.
    NotCertified
        If the cover does not span all inputs, or a sum has too many nodes.
    """
    check_question(n, epsilon)
    check(at, cover, two_inputs=two_inputs)
    share, line = checked(numbers, at)
    eps, alpha = arb(epsilon), arb(line.alpha)
    pool = reservoir(at, cover, eps, share)
    c = tilted(pool.atoms, alpha)
    paid = pool.unhidden * (1 - pool.mass) ** (n - 1) + pool.lost
    worst, target = arb(0), arb(0) if enough == -math.inf else arb(enough).exp() - paid
    for one in remainders(at, cover, eps, share, pool.mass):
        worst = worst.max((c.mass + one.mass(alpha)) ** n / (2 * alpha * n))
    rough = labels(at, cover, eps, share, _some(cover.edges))
    fine = labels(at, cover, eps, share, cover.edges)
    made = list(zip(rough, fine, strict=True))
    # The order affects only the time: the labels that are likely the worst come first.
    first = {0, len(cover.first.places)} if cover.third else set[int]()
    for i in sorted(range(len(made)), key=lambda i: i not in first):
        worst = worst.max(_of_label(c, made[i], pool.mass, n, line, target.max(worst)))
    met = enough > -math.inf and worst <= target
    return enough if met else float_above((worst + paid).log())


def checked(numbers: Numbers, at: Outputs) -> _Numbers:
    """The split and the line of the sums; ParameterError unless the numbers are in range."""
    if len(numbers.share) != 1 or len(numbers.join) != 1:
        raise ParameterError("share, join: wanted one number each, of noise on an interval")
    (kappa,), (theta,) = numbers.share, numbers.join
    if not (0.0 < kappa < 1.0 and 0.0 <= theta <= 1.0):
        raise ParameterError(
            f"share, join = {kappa!r}, {theta!r}: wanted 0 < share < 1 and join in [0, 1]"
        )
    top = numbers.ceiling
    if top is not None and not (at.normal and 0.0 <= top < math.inf):
        raise ParameterError(f"ceiling = {top!r}: wanted a finite number >= 0, or none")
    line = line_at(numbers.alpha, numbers.smoothing, numbers.step)
    return _Numbers(Share(arb(kappa), arb(theta), None if top is None else arb(top)), line)


def _some(edges: Sequence[float]) -> list[float]:
    """One of every ``_COARSE`` edges, and the last one."""
    return [*edges[:-1:_COARSE], edges[-1]]


def _of_label(
    c: Moments,
    made: tuple[Callable[[], Label], Callable[[], Label]],
    hidden: arb,
    n: int,
    line: Line,
    room: arb,
) -> arb:
    """J + lost of a label, by the first bound that is at most ``room``, or by the sharpest."""
    best = arb("inf")
    for make, at in zip(made, (rougher(line), line), strict=True):
        label = make()
        rest = (1 - hidden - total(mass for mass, _ in label.atoms)).nonnegative_part()
        d = tilted([*label.atoms, (rest, arb(0))], c.alpha)
        best = best.min(sharpest(c, alone(d, n), (_own(at, c, d, n),), paid=label.lost, room=room))
        if best <= room:
            break
    return best


def _own(line: Line, c: Moments, d: Moments, n: int) -> Line:
    """The line with this label's step: longer if its tilted sum is narrower than the widest."""
    square = float(c.mass * c.variance + d.mass * d.variance) / float(c.mass + d.mass)
    width = math.sqrt(n * max(square, 0.0))
    if not 0.0 < width < math.inf:
        return line
    step = max(line.step, step_of(width, line.alpha))
    return replace(line, step=step, last=math.ceil(line.last * line.step / step))
