"""Label stealing of noise on an interval: an upper end of delta for all pairs and inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, total
from shuffledp.ball.record import Definition
from shuffledp.bounds.covers import Label, Share, check, labels, reservoir
from shuffledp.bounds.interval_cells import Outputs
from shuffledp.bounds.remainders import remainders
from shuffledp.bounds.stealing import Numbers, check_question
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.draws import Moments
from shuffledp.kernel.positive_sum import Line, line_at, rougher, sharpest, tilted
from shuffledp.propose.covers import Cover
from shuffledp.propose.stealing import step_of

__all__ = ["checked", "is_binary", "log_delta_on_interval", "outputs_of"]

# Every so many edges one is kept for a first look at a label.
_COARSE = 3


class _Numbers(NamedTuple):
    """Free numbers in balls, and where to sum."""

    share: Share
    line: Line


def is_binary(mechanism: Definition) -> bool:
    """Whether the ends of the interval are all inputs there are."""
    found = mechanism.others()
    return found is not None and bool(found.inputs)


def outputs_of(mechanism: Definition) -> Outputs:
    """Normal or Laplace noise in units of the interval.

    Raises
    ------
    NotCertified
        For mechanisms that add no such noise.
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
    """A float certainly not below log of the bound; any up to ``enough`` where it is no more.

    delta <= tail + lost + max over labels of [J(c, d) + lost_d] (Theorems 2.1, 2.3, Lemma 6.5).

    Parameters
    ----------
    at, cover
        The noise, and grids and cells.
    numbers : Numbers
        One share and one join: kappa and theta.
    n : int
        Users, the victim included, n >= 2.
    epsilon : float
        eps >= 0 in nats.
    two_inputs : bool
        Whether 0 and 1 are all inputs there are; else they fill the interval.
    enough : float
        What is certainly no more than that, in logs, need not be told any sharper.

    Raises
    ------
    ParameterError
        For numbers out of range.
    NotCertified
        For a cover that does not reach over all inputs, and where a sum has too many nodes.
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
    # The order decides the time alone: the likely worst labels, others at an end, come first.
    first = {0, len(cover.first.places)} if cover.third else set[int]()
    for i in sorted(range(len(made)), key=lambda i: i not in first):
        worst = worst.max(_of_label(c, made[i], pool.mass, n, line, target.max(worst)))
    met = enough > -math.inf and worst <= target
    return enough if met else float_above((worst + paid).log())


def checked(numbers: Numbers, at: Outputs) -> _Numbers:
    """The split and the line of sums, if the numbers are in range."""
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
    """Every so many edges, the last one included."""
    return [*edges[:-1:_COARSE], edges[-1]]


def _of_label(
    c: Moments,
    made: tuple[Callable[[], Label], Callable[[], Label]],
    hidden: arb,
    n: int,
    line: Line,
    room: arb,
) -> arb:
    """J + lost of a label by the first bound that fits into the room, or by the sharpest."""
    best = arb("inf")
    for make, at in zip(made, (rougher(line), line), strict=True):
        label = make()
        rest = (1 - hidden - total(mass for mass, _ in label.atoms)).nonnegative_part()
        d = tilted([*label.atoms, (rest, arb(0))], c.alpha)
        best = best.min(sharpest(c, d, n, (_own(at, c, d, n),), paid=label.lost, room=room))
        if best <= room:
            break
    return best


def _own(line: Line, c: Moments, d: Moments, n: int) -> Line:
    """The step of this label: longer where its tilted sum is narrower than the widest one's."""
    square = float(c.mass * c.variance + d.mass * d.variance) / float(c.mass + d.mass)
    width = math.sqrt(n * max(square, 0.0))
    if not 0.0 < width < math.inf:
        return line
    step = max(line.step, step_of(width, line.alpha))
    return replace(line, step=step, last=math.ceil(line.last * line.step / step))
