"""E f(S - shift) of a sum of independent draws: one tilted trapezoidal sum, in balls.

f(y) = y_+ (gap 0: one round) or (1 - e^-y)_+ (gap 1: several rounds). The numbers that decide how
near the two ends are come from outside, in a `Contour`: any are valid. Every number here is
certified. Proofs: theory.md, sections 6.1 to 6.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.arithmetic.balls import acb, arb, total
from shuffledp.errors import ParameterError
from shuffledp.kernel.blocks import BLOCK, MOST_WORK, Nodes
from shuffledp.kernel.contour import Contour, Kernel
from shuffledp.kernel.draws import Summand, TiltedSum

__all__ = ["expect"]


def expect(
    draws: Sequence[Summand],
    contour: Contour,
    *,
    gap: int = 0,
    shift: arb | None = None,
    work: float = MOST_WORK,
) -> tuple[arb, arb]:
    """Both ends of E f(S - shift), S the sum of all draws.

    By Poisson's formula, the trapezoidal sum is E of the smoothed payoff plus aliases e^(-k alpha
    L) E (smoothed payoff)(S - shift + kL), k != 0. For the upper end the aliases are >= 0 and need
    no bound; for the lower end they are bounded at two other tilts.

    Parameters
    ----------
    draws : independent summands.
    contour : where to sum.
    gap : 0 for f(y) = y_+, 1 for f(y) = (1 - e^-y)_+.
    shift : subtracted from the sum; 0 by default.
    work : largest number of nodes times atoms.

    Raises
    ------
    NotCertified
        If the contour asks for more nodes than this.
    """
    if gap not in {0, 1}:
        raise ParameterError(f"gap = {gap!r}: wanted 0 or 1")
    offset = arb(0) if shift is None else shift
    kernel = Kernel(contour, gap)
    sums = [summand.tilted(kernel.alpha) for summand in draws]
    log_scale = total([x.log_scale for x in sums]) - kernel.alpha * offset
    nodes = Nodes(kernel, contour, sums, work)
    above, smoothing = _trapezoidal(kernel, nodes, sums, offset)
    scale = log_scale.exp()
    upper = scale * (above + nodes.left_out)
    if gap == 0 and offset.is_zero():
        # The smoothed payoff at 0 is h/sqrt(2 pi), while y_+ is 0 there.
        mass = arb(1)
        for summand in draws:
            mass *= summand.mass_at_zero()
        upper -= mass * kernel.h / (2 * arb.pi()).sqrt()
    aliases = _aliases(kernel, contour, draws, arb(contour.below), offset)
    aliases += _aliases(kernel, contour, draws, arb(contour.above), offset)
    lower = scale * (above - smoothing - nodes.left_out) - aliases
    return lower.lower(), upper.upper()


def _trapezoidal(
    kernel: Kernel, nodes: Nodes, sums: Sequence[TiltedSum], shift: arb
) -> tuple[arb, arb]:
    """The sum over nodes for the payoff above, and its excess over that for the payoff below."""
    above, less, drift = arb(0), arb(0), total([x.drift for x in sums]) - shift
    places = (first + k for first in nodes.starts for k in range(BLOCK))
    for j, value in zip(places, nodes.values(sums), strict=True):
        t = nodes.step * j
        s = acb(kernel.alpha, t)
        kappa = s * (s + kernel.gap)
        weighted = value * (kernel.h2 * kappa / 2 + acb(0, t * drift)).exp()
        if j == 0:
            weighted /= 2  # nodes j and -j are conjugate: all but 0 count twice
        above += (weighted / kappa).real
        less += weighted.real
    share = nodes.step / arb.pi()
    return above * share, less * share * kernel.bend


def _aliases(
    kernel: Kernel, contour: Contour, draws: Sequence[Summand], tilt: arb, shift: arb
) -> arb:
    """Upper bound of all aliases on one side, by f(y) <= C(b) e^(b y) at a tilt b."""
    log_moment = total([summand.log_moment(tilt) for summand in draws]) - tilt * shift
    ratio = (-abs(tilt - kernel.alpha) * arb(contour.period)).exp()
    return log_moment.exp() * kernel.peak(tilt) * ratio / (1 - ratio)
